"""Ranges of one ordered column: how far every strategy is from the truth, beside known optima, and on the 18 histograms
of DPBench. `python -m benchmarks ranges` prints the tables; the histograms are read from ../shared/data if it is there.
"""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.limits import Limit
from benchmarks.report import paragraph, table
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import system_entropy
from dalenius.synth.strategies.choosing import StrategyPlan, plan_cells, ranked
from dalenius.synth.strategies.optimised import optimised
from dalenius.synth.strategies.partitions import release_partitioned, spread_out
from dalenius.synth.strategies.smoothing import smooth
from dalenius.synth.strategies.strategy import Strategy
from dalenius.synth.strategies.trees import Haar, Hierarchical, Identity
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Ranges

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "dpbench"
EPSILON = PureDP(Fraction(1, 10))
QUESTIONS, RUNS, HELD_RUNS, REGRET = 2000, 100, 40, 1.3
SEED = 20_261
"""Of the random ranges; those that settings were chosen on had the seed 0."""
CHOSEN = "chosen"
OPTIMA = (("prefixes", 64), ("prefixes", 256), ("prefixes", 1024), ("all ranges", 1024))


@dataclass(frozen=True)
class Optimum:
    """Errors on a workload, in standard deviations of the Gaussian noise of a single count."""

    workload: str
    cells: int
    identity: float
    tree: float
    haar: float
    found: float
    bound: float
    singular_bound: float
    seconds: float


@dataclass(frozen=True)
class Set:
    """Root mean square errors on one histogram: of every strategy, and of what the plan chose."""

    name: str
    people: int
    errors: Mapping[str, float]
    chosen: float

    @property
    def best(self) -> str:
        return min(self.errors, key=self.errors.__getitem__)

    @property
    def regret(self) -> float:
        return self.chosen / self.errors[self.best]


def optima() -> list[Optimum]:
    """The optimum of the matrix mechanism beside plain strategies and bounds."""
    found = []
    for name, cells in OPTIMA:
        grid = CellDomain({"x": cells})
        workload = Ranges.prefixes(grid) if name == "prefixes" else Ranges.all(grid)
        start = time.perf_counter()
        best = optimised(workload)
        seconds = time.perf_counter() - start
        plain = [_gaussian(strategy, workload) for strategy in (Identity(cells), Hierarchical(cells, 2), Haar(cells))]
        found.append(
            Optimum(name, cells, plain[0], plain[1], plain[2], best.error, best.bound, best.singular_bound, seconds)
        )
    return found


def histograms() -> dict[str, NDArray[np.int64]]:
    """The one-dimensional histograms of DPBench, or nothing where they are not at hand."""
    path = DATA / "histograms_1d.csv.gz"
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        names, *rows = csv.reader(lines)
    columns = np.array(rows, dtype=np.int64).T[1:]
    return dict(zip(names[1:], columns, strict=True))


def held_out() -> dict[str, NDArray[np.int64]]:
    """Its two-dimensional ones as 64 x 64 cells, row by row: nothing was fitted to them."""
    path = DATA / "histograms_2d.npz"
    if not path.exists():
        return {}
    with np.load(path) as stored:
        return {name: stored[name].astype(np.int64).reshape(64, 4, 64, 4).sum(axis=(1, 3)).ravel() for name in stored}


def sets(found: Mapping[str, NDArray[np.int64]], runs: int) -> list[Set]:
    """All strategies on all histograms, with the same random ranges for each; the choice is by public facts alone."""
    if not found:
        return []
    cells = len(next(iter(found.values())))
    ends = np.sort(np.random.default_rng(SEED).integers(0, cells, (QUESTIONS, 2)), axis=1)
    workload = Ranges(CellDomain({"x": cells}), ends)
    plain = {one.strategy.title: one.error for one in ranked(workload, EPSILON, AddRemove())}
    plan = plan_cells(workload, EPSILON, AddRemove())
    return [_measured(name, truth, workload, plain, plan, runs) for name, truth in found.items()]


def _measured(
    name: str, truth: NDArray[np.int64], workload: Ranges, plain: Mapping[str, float], plan: StrategyPlan, runs: int
) -> Set:
    exact = Exact(truth, sensitivity=Sensitivity(l1=1), neighbours=AddRemove())
    answers, entropy = workload.answers(truth), system_entropy()
    squares: dict[str, list[float]] = {}

    def note(what: str, histogram: NDArray[np.float64]) -> None:
        squares.setdefault(what, []).append(float(((workload.answers(histogram) - answers) ** 2).mean()))

    for _ in range(runs):
        for what, tree in _smoothed_trees(len(truth)).items():
            note(what, smooth(tree.release(exact, _purse(), entropy, price=EPSILON)).histogram)
        buckets = release_partitioned(exact, len(truth), _purse(), entropy, price=EPSILON)
        note("buckets", buckets.histogram)
        if isinstance(buckets.buckets.strategy, Hierarchical):
            note("buckets, smoothed", spread_out(smooth(buckets.buckets), buckets.bounds).histogram)
        note(CHOSEN, plan.release(exact, _purse(), entropy).histogram)
    errors = {what: float(np.sqrt(np.mean(each))) for what, each in squares.items()}
    return Set(name, int(truth.sum()), {**plain, **errors}, errors[CHOSEN])


def _smoothed_trees(cells: int) -> dict[str, Hierarchical]:
    return {
        "8, smoothed": Hierarchical(cells, 8),
        "16 rootless, smoothed": Hierarchical.rootless(cells, 16),
        "16 for many, smoothed": Hierarchical.for_smoothing(cells, 16),
        "16 for few, smoothed": Hierarchical.for_smoothing(cells, 16, sparse=True),
    }


def _purse() -> Allowance:
    whole = Charge.covering(divergence=EPSILON.epsilon, delta=Fraction(0), order=None)
    return Allowance(whole, neighbours=AddRemove())


def _gaussian(strategy: Strategy, workload: Ranges) -> float:
    return float(np.sqrt(strategy.added[1] * strategy.variances(workload).mean()))


def limits(best: list[Optimum], found: list[Set], held: list[Set]) -> list[Limit]:
    """What must hold: a certified optimum, and a choice that is never far from the best strategy."""
    gap = 100 * max(one.found / one.bound - 1 for one in best)
    return [
        Limit("optimised strategy above its bound, worst workload", gap, 0.5, " %"),
        _regret("sets", found),
        _regret("sets that nothing was fitted to", held),
    ]


def _regret(kind: str, found: list[Set]) -> Limit:
    worst = max(found, key=lambda one: one.regret, default=None)
    where = f"the worst of {len(found)} {kind}, {worst.name}" if worst else kind
    return Limit(f"chosen beside the best strategy, {where}", worst.regret if worst else None, REGRET, " ×")


def section(best: list[Optimum], found: list[Set], held: list[Set]) -> str:
    figures = [
        [it.workload, str(it.cells), *(f"{x:.2f}" for x in (it.identity, it.tree, it.haar, it.found)),
         f"{it.bound:.3f}", f"{it.singular_bound:.2f}", f"{it.seconds:.1f} s"]
        for it in best
    ]  # fmt: skip
    head = ["workload", "cells", "histogram", "binary tree", "Haar", "optimised", "no strategy below", "by SVD", "time"]
    text = """Root mean square error of an answer, in standard deviations of the Gaussian noise that a single count gets
    at the same price. The optimised strategy is one of integers, with the sensitivity of its integers."""
    return f"""# Ranges

{table(head, figures)}

{paragraph(text)}

{_sets_section([*found, *held])}
"""


def _sets_section(found: list[Set]) -> str:
    if not found:
        return "The histograms of DPBench are not at hand: not measured."
    shown = [*_smoothed_trees(1), "buckets", "buckets, smoothed", CHOSEN]
    plain = found[0].errors.keys() - {*shown}
    rows = [
        [it.name, f"{it.people:,}", f"{min(it.errors[name] for name in plain):.0f}",
         *(f"{it.errors[name]:.0f}" if name in it.errors else "–" for name in shown), f"{it.regret:.2f}"]
        for it in found
    ]  # fmt: skip
    text = f"""{QUESTIONS:,} random ranges at epsilon = {EPSILON.epsilon} pure, the root mean square in people over
    {RUNS} runs. In sample: the weights of the trees, the border between many and few people and the handicaps of
    buckets were set by looking at the 18 sets in capital letters, though with other random ranges and other noise than
    here. Out of sample: the others, two dimensions row by row, on which nothing was set, with {HELD_RUNS} runs. The
    best plain strategy has the same error on all sets, which is stated exactly. Columns named by a number are
    trees of that branching. What is chosen depends on the expected error over the ranges and on a noisy number of
    people, which it pays for; the ratio is its error over that of the best column of that set, in the same runs."""
    head = ["set", "people", "best plain", *shown, "ratio"]
    return f"""{table(head, rows)}

{paragraph(text)}
"""


def measured() -> tuple[list[Optimum], list[Set], list[Set]]:
    """The optima, and the regret on the histograms of DPBench and on others that nothing was chosen on."""
    return optima(), sets(histograms(), RUNS), sets(held_out(), HELD_RUNS)
