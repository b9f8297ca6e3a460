"""Every release from a histogram, on neighbours that hurt: the same calls, and no input moves further than declared.

Each case runs as its users run it: it pays, it releases, and what it hands out is compared. Neighbours are units with
as many rows as one may have, all in one cell or in different ones, over data that are ordinary, empty or enormous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest

from costs import cases
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge, price
from dalenius.checks.replay.replaying import Replayed, replay
from dalenius.errors import MechanismFinished
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP, Loss, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import fresh_entropy
from dalenius.synth import strategies
from dalenius.synth.online.multiplicative_weights import InformationProjection, MultiplicativeWeights
from dalenius.synth.online.rounds import OnlinePlan, OnlineSession
from dalenius.synth.online.update_rules import UpdateRule
from dalenius.synth.strategies.choosing import release_best
from dalenius.synth.strategies.optimised import Explicit, optimised
from dalenius.synth.strategies.partitions import release_partitioned
from dalenius.synth.strategies.strategy import Strategy
from dalenius.synth.strategies.trees import Haar, Hierarchical, Identity
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import MatrixWorkload, Ranges
from dalenius.textbook import release as textbook
from dalenius.textbook.release import boosting as boosting_room
from dalenius.textbook.release import projection
from dalenius.textbook.release.boosting import QueryBoosting
from dalenius.textbook.release.game import synthetic_from
from dalenius.textbook.release.generators import BruteForceGenerator, LinearGenerator
from dalenius.textbook.release.iterative_construction import IterativeConstruction
from dalenius.textbook.release.median import Median
from dalenius.textbook.release.nets import Net, NetMechanism
from dalenius.textbook.release.per_query import LaplaceEach, PerQuery
from dalenius.textbook.release.perceptron import PerceptronUpdate
from dalenius.textbook.release.projection import ProjectedLaplace
from dalenius.textbook.release.repeats import Repeats
from dalenius.textbook.release.small_databases import small_database
from dalenius.textbook.release.syntheticizer import release_synthetic

CELLS, ROWS, PEOPLE = 6, 3, 10**5
GRID = CellDomain({"x": CELLS})
PREFIXES = Ranges.prefixes(GRID)
SHARES = MatrixWorkload(GRID, np.array([[0, 1, 2, 3, 4, 5], [5, 0, 5, 0, 5, 0], [1, 1, 1, 1, 1, 1]]), denominator=5)
BETA = Fraction(1, 10)
PURE, RENYI = Charge(divergence=10**15, order=None), Charge(divergence=2 * 10**15, order=Fraction(6))


class Terms(NamedTuple):
    neighbours: Neighbours
    rows: int


@dataclass(frozen=True)
class Private:
    """A histogram of units with at most `rows` rows, sealed as the rooms of this package seal it."""

    counts: Any
    neighbours: Neighbours
    rows: int = ROWS

    @property
    def terms(self) -> Terms:
        """What a plan may depend on."""
        return Terms(self.neighbours, self.rows)

    @property
    def sealed(self) -> Exact[Any]:
        moved = self.rows * self.neighbours.add_remove_steps
        return Exact(self.counts, sensitivity=Sensitivity(l1=moved, linf=self.rows), neighbours=self.neighbours)

    def paid(self, amount: Loss | Charge) -> Allowance:
        """What was charged for exactly this."""
        given = amount if isinstance(amount, Charge) else price(amount, order=RENYI.order)
        return Allowance(given, neighbours=self.neighbours)


Run = Callable[[Private], Any]
Stating = Callable[[Private], Loss | Charge]


@dataclass(frozen=True)
class Case:
    """A release, what it costs, and for which neighbours it is made."""

    run: Run
    charge: Stating
    relations: tuple[Neighbours, ...] = (AddRemove(), Replace())


# ---- the releases


def per_query(kind: str) -> Case:
    @cache
    def plan(private: Terms) -> PerQuery:
        terms: dict[str, Any] = {"epsilon": 1, "neighbours": private.neighbours, "rows": private.rows}
        if kind == "gaussian":
            return PerQuery.gaussian(PREFIXES, delta="1e-6", **terms)
        if kind == "textbook":
            return PerQuery.textbook(SHARES, **(terms | {"epsilon": "0.5", "delta": "1e-6"}))
        return PerQuery.laplace(SHARES, delta="1e-6" if kind == "delta" else 0, **terms)

    def run(private: Private) -> Any:
        found = plan(private.terms)
        told = found.release(private.sealed, private.paid(found.loss()), fresh_entropy(), beta=BETA)
        return told, synthetic_from(told, found.workload, people=PEOPLE, rounds=20)

    return Case(run, lambda private: plan(private.terms).loss())


def projected() -> Case:
    @cache
    def plan(private: Terms) -> ProjectedLaplace:
        each = PerQuery.laplace(PREFIXES, epsilon=1, neighbours=private.neighbours, rows=private.rows)
        return ProjectedLaplace(noisy=each, people=PEOPLE)

    def run(private: Private) -> Any:
        found = plan(private.terms)
        with patch.object(projection, "MOST_STEPS", 100):
            return found.release(private.sealed, private.paid(found.loss()), fresh_entropy(), beta=BETA)

    return Case(run, lambda private: plan(private.terms).loss())


def net(kind: str) -> Case:
    @cache
    def plan(private: Terms) -> NetMechanism:
        terms: dict[str, Any] = {"people": PEOPLE, "epsilon": 1, "neighbours": private.neighbours, "rows": private.rows}
        if kind == "small":
            return small_database(PREFIXES, alpha=Fraction(1, 2), **terms)
        return NetMechanism.calibrated(Net.of_size(CELLS, 3, alpha=1), PREFIXES, **terms)

    def run(private: Private) -> Any:
        found = plan(private.terms)
        paid = private.paid(found.loss(rows=private.rows))
        return found.release(private.sealed, paid, fresh_entropy(), beta=BETA)

    return Case(run, lambda private: plan(private.terms).loss(rows=private.rows))


def rules() -> dict[str, UpdateRule]:
    half = Fraction(1, 2)
    return {
        "weights": MultiplicativeWeights(cells=CELLS, people=PEOPLE, alpha=half),
        "projection": InformationProjection(cells=CELLS, people=PEOPLE, alpha=half),
        "perceptron": PerceptronUpdate(cells=CELLS, people=PEOPLE, alpha=half, most_in_a_cell=PEOPLE // 4),
        "median": Median(net=Net.of_size(CELLS, 3, alpha=half), people=PEOPLE),
    }


def construction(rule: str) -> Case:
    @cache
    def plan(private: Terms) -> IterativeConstruction:
        return IterativeConstruction.calibrated(
            rules()[rule], PREFIXES, epsilon=2, beta=BETA, neighbours=private.neighbours, rows=private.rows
        )

    def run(private: Private) -> Any:
        found = plan(private.terms)
        return found.release(private.sealed, private.paid(found.loss()), fresh_entropy())

    return Case(run, lambda private: plan(private.terms).loss())


def session(kind: str) -> Case:
    @cache
    def plan(private: Terms) -> OnlinePlan:
        terms: dict[str, Any] = {"epsilon": 1, "queries": 40, "neighbours": private.neighbours, "rows": private.rows}
        if kind == "practical":
            return OnlinePlan.practical(cells=CELLS, people=PEOPLE, updates=3, delta="1e-6", denominator=5, **terms)
        return OnlinePlan.calibrated(rules()[kind], beta=BETA, denominator=5, **terms)

    def run(private: Private) -> Any:
        found = plan(private.terms)
        running, told = found.start(private.sealed, private.paid(found.loss()), fresh_entropy()), list[Any]()
        try:
            for number in range(20):
                chosen = number if not told else number + abs(int(told[-1].people))
                told.append(running.ask(SHARES.weights(chosen % SHARES.count)))
        except MechanismFinished as finished:
            told.append(str(finished))
        return told, running.left, running.asked, running.hypothesis

    return Case(run, lambda private: plan(private.terms).loss())


def repeats() -> Case:
    def noise(private: Private) -> Any:
        each = PerQuery.laplace(SHARES, epsilon=3, neighbours=private.neighbours, rows=private.rows)
        assert isinstance(each.mechanism, LaplaceEach)
        return each.mechanism.noise

    def charge(private: Private) -> Charge:
        one = price(noise(private).loss(sensitivity=5 * private.rows), order=RENYI.order)
        return one * 3

    def run(private: Private) -> Any:
        asked, paid = Repeats(noise(private), people=PEOPLE, beta=BETA, denominator=5), private.paid(charge(private))
        order = [0, 1, 0, 2, 1, 2]
        return [asked.ask(SHARES.weights(place), private.sealed, paid, fresh_entropy()) for place in order]

    return Case(run, charge)


def strategy(make: Callable[[], Strategy], amount: Charge) -> Case:
    def run(private: Private) -> Any:
        found = make().release(private.sealed, private.paid(amount), fresh_entropy(), rows=private.rows)
        return found.histogram, found.answers(PREFIXES)

    return Case(run, lambda private: amount)


def best(amount: Charge, people: int | None) -> Case:
    """For Laplace noise over many cells a tree is best, which needs the number of people."""
    cells = 24 if amount.order else 64
    grid = CellDomain({"x": cells})

    def run(private: Private) -> Any:
        wide = replace(
            private, counts=np.concatenate([private.counts, np.zeros(cells - CELLS, dtype=private.counts.dtype)])
        )
        paid = private.paid(amount)
        found = release_best(wide.sealed, Ranges.all(grid), paid, fresh_entropy(), people=people, rows=private.rows)
        return found.histogram, found.strategy.cells, type(found.strategy)

    return Case(run, lambda private: amount)


def partitioned(amount: Charge) -> Case:
    def run(private: Private) -> Any:
        found = release_partitioned(private.sealed, CELLS, private.paid(amount), fresh_entropy(), rows=private.rows)
        return found.histogram, found.bounds, found.answers(PREFIXES)

    return Case(run, lambda private: amount)


def synthetic(bought: PureDP | ZCDP) -> Case:
    def run(private: Private) -> Any:
        paid = private.paid(bought)
        found = release_synthetic(
            private.sealed, PREFIXES, paid, fresh_entropy(), people=PEOPLE, price=bought, rows=private.rows
        )
        return found.rows, found.worst

    return Case(run, lambda private: bought, (Replace(),))


@cache
def boosted_plan(kind: str) -> QueryBoosting:
    base: Any
    if kind == "brute force":
        base = BruteForceGenerator(
            workload=PREFIXES, people=4, draws=8, scale=Fraction(20), tolerance=200, beta=BETA, neighbours=Replace()
        )
    else:
        base = LinearGenerator.calibrated(
            PREFIXES, people=PEOPLE, draws=5, epsilon=1, delta="1e-6", beta=BETA, neighbours=Replace()
        )
    return QueryBoosting(workload=PREFIXES, base=base, rounds=3, gap=400, eta=Fraction(1, 3))


def boosted(kind: str) -> Case:
    def run(private: Private) -> Any:
        boosting = boosted_plan(kind)
        sealed = private.sealed
        paid = private.paid(boosting.loss(sensitivity=sealed.sensitivity))
        found = measure(boosting, sealed, paid, fresh_entropy())
        return found.rounds, found.answers, found.failed

    return Case(run, lambda private: boosted_plan(kind).loss(sensitivity=private.sealed.sensitivity), (Replace(),))


def wobbly() -> Strategy:
    return Explicit(np.vstack([np.eye(CELLS, dtype=np.int64) * 7, np.arange(CELLS)[None, :] - 3]))


CASES: dict[str, Case] = {
    **{f"noise on every answer, {kind}": per_query(kind) for kind in ("laplace", "delta", "textbook", "gaussian")},
    "projected noise": projected(),
    "a net": net("net"),
    "small databases": net("small"),
    **{f"construction by {name}": construction(name) for name in rules()},
    **{f"online by {name}": session(name) for name in ("practical", "weights", "projection")},
    "repeats": repeats(),
    "a histogram": strategy(lambda: Identity(CELLS), PURE),
    "a tree, Laplace": strategy(lambda: Hierarchical(CELLS, 2), PURE),
    "a tree, Gaussian": strategy(lambda: Hierarchical(CELLS, 3, weights=[1, 2, 2]), RENYI),
    "Haar": strategy(lambda: Haar(CELLS), RENYI),
    "a matrix": strategy(wobbly, PURE),
    "the optimum": strategy(lambda: optimised(PREFIXES).strategy, RENYI),
    "the best, Laplace": best(PURE, None),
    "the best, Gaussian": best(RENYI, None),
    "the best of a public number": best(PURE, PEOPLE),
    "a partition, Laplace": partitioned(PURE),
    "a partition, Gaussian": partitioned(RENYI),
    "synthetic, Laplace": synthetic(PureDP(1)),
    "synthetic, Gaussian": synthetic(ZCDP(Fraction(1, 2))),
    "boosting by brute force": boosted("brute force"),
    "boosting by linear programs": boosted("linear programs"),
}

# ---- neighbours

SOME = "ordinary", "all rows in the first cell"
ORDINARY = np.array([30_000, 20_000, 10_000, 25_000, 5_000, 10_000])
DATA: dict[str, Any] = {
    "ordinary": ORDINARY,
    "nobody": np.zeros(CELLS, dtype=np.int64),
    "all in one cell": np.array([0, 0, PEOPLE, 0, 0, 0]),
    "enormous": np.array([2**62, 2**62 - 2, 0, 0, 0, 0]),
}
UNITS: dict[str, Any] = {
    "all rows in the first cell": np.array([ROWS, 0, 0, 0, 0, 0]),
    "all rows in the last cell": np.array([0, 0, 0, 0, 0, ROWS]),
    "rows in several cells": np.array([1, 1, 0, 0, 0, 1]),
}


def pair(case: Case, data: str, unit: str, relation: Neighbours) -> tuple[Private, Private]:
    """Without and with a unit; or with one whose rows are elsewhere in its place."""
    before = DATA[data] if isinstance(relation, AddRemove) else DATA[data] + UNITS[unit][::-1]
    return Private(before, relation), Private(DATA[data] + UNITS[unit], relation)


def compared(case: Case, data: str, unit: str, relation: Neighbours) -> Replayed:
    one, other = pair(case, data, unit, relation)
    return replay(case.run, one, other, charged=charged(case, one))


def charged(case: Case, private: Private) -> Any:
    found = case.charge(private)
    return found if isinstance(found, Charge) else price(found, order=RENYI.order)


@cases("name", CASES, fast=2)
def test_a_release_is_alike_on_neighbours(name: str) -> None:
    case = CASES[name]
    for relation in case.relations:
        for data in DATA:
            for unit in UNITS:
                found = compared(case, data, unit, relation)
                assert not found.findings, (data, unit, relation, [str(each) for each in found.findings])
                assert found.calls
                assert found.error is None, (data, unit, relation)


def test_the_table_holds_every_release_of_the_rooms() -> None:
    """A new release that is not replayed is found by its door: each file that measures is in a case."""
    doors = {
        file.stem
        for room in (textbook, strategies)
        for file in Path(room.__path__[0]).glob("*.py")
        if "measure(" in file.read_text()
    }
    known = {
        "iterative_construction", "nets", "per_query", "projection", "repeats", "syntheticizer", "choosing",
        "partitions", "strategy",
    }  # fmt: skip
    assert doors == known


def test_the_best_is_found_with_a_noisy_number_of_people_unless_it_is_public() -> None:
    told = {name: len(compared(CASES[name], *SOME, AddRemove()).calls) for name in CASES if name.startswith("the best")}
    assert told == {"the best, Laplace": 2, "the best, Gaussian": 1, "the best of a public number": 1}


# ---- inside of boosting, where draws and noisy answers of all rounds are one call at the door


def boosting_inputs(case: str, counts: Any, given: list[Any] | None = None) -> tuple[list[Any], list[Any]]:
    """What every draw and every base generator is given, and what they give; outputs of another run are handed back."""
    boosting: QueryBoosting = boosted_plan(case)
    met: list[Any] = []
    gave: list[Any] = []

    def handed(output: Callable[[], Any], exact: Any) -> Any:
        met.append(np.array(exact, dtype=object))
        gave.append(given[len(gave)] if given is not None else output())
        return gave[-1]

    class Base:
        def __getattr__(self, name: str) -> Any:
            return getattr(boosting.base, name)

        def synopsis(self, asked: Any, answers: Any, entropy: Any) -> Any:
            return handed(lambda: boosting.base.synopsis(asked, answers, entropy), answers)

    right = QueryBoosting._drawn
    with patch.object(
        QueryBoosting, "_drawn", lambda self, scores, entropy: handed(lambda: right(self, scores, entropy), scores)
    ):
        replace(boosting, base=Base()).release(counts, fresh_entropy())
    return met, gave


def furthest(case: str) -> list[Fraction]:
    """How far one unit moved what each step was given, in what was paid for: 1 is as far as it may."""
    one, other = pair(CASES["boosting by " + case], *SOME, Replace())
    met, gave = boosting_inputs(case, one.counts)
    again, _ = boosting_inputs(case, other.counts, gave)
    found = []
    for place, (first, second) in enumerate(zip(met, again, strict=True)):
        allowed = ROWS if place % 2 else 2 * ROWS * (place // 2)
        moved = int(np.abs(first - second).max())
        found.append(Fraction(moved, allowed) if allowed else Fraction(moved))
    return found


@pytest.mark.parametrize("case", ["brute force", "linear programs"])
def test_every_step_of_boosting_is_given_what_it_was_paid_for(case: str) -> None:
    assert max(furthest(case)) <= 1
    assert len(furthest(case)) == 6


@pytest.mark.parametrize("case", ["brute force", "linear programs"])
def test_steeper_scores_in_boosting_are_noticed(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that fall from right to wrong at once, as unattenuated weights do."""
    monkeypatch.setattr(boosting_room, "attenuated", lambda apart, tolerance, gap: np.where(apart % 2 == 0, gap, -gap))
    assert max(furthest(case)) > 1


# ---- planted bugs, each of which must be found


def halved(name: str) -> Case:
    """The same, of units that have twice the rows that they are sealed for."""
    case = CASES[name]
    return replace(case, run=lambda private: case.run(replace(private, rows=1)))


@pytest.mark.parametrize("name", CASES)
def test_units_with_more_rows_than_sealed_are_noticed(name: str) -> None:
    case = halved(name)
    kinds = {
        each.kind for each in compared(case, "ordinary", "all rows in the first cell", case.relations[-1]).findings
    }
    assert kinds & {"sensitivity", "charge"}, kinds


def test_a_stop_that_looks_at_the_data_is_noticed() -> None:
    case = CASES["construction by weights"]

    def run(private: Private) -> Any:
        enough = int(np.asarray(private.counts).sum()) > PEOPLE
        return [case.run(private) for _ in range(1 + enough)]

    found = compared(replace(case, run=run), "ordinary", "all rows in the first cell", AddRemove())
    assert "calls" in {each.kind for each in found.findings}


def test_a_size_that_depends_on_the_data_is_noticed() -> None:
    """A strategy over the cells that are not empty."""

    def run(private: Private) -> Any:
        kept = replace(private, counts=private.counts[private.counts > 0])
        found = Identity(len(kept.counts)).release(kept.sealed, kept.paid(PURE), fresh_entropy(), rows=ROWS)
        return found.histogram

    found = compared(Case(run, lambda private: PURE), "all in one cell", "all rows in the first cell", AddRemove())
    assert not found.passed


def test_rounds_that_nobody_claimed_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rounds that begin anew with every question, as if a restart cost nothing."""
    right = OnlineSession._answered

    def answered(self: OnlineSession, question: Any, running: Any) -> Any:
        told = right(self, question, running)
        self._running, self.begun, self._claim = None, 0, lambda: 1
        return told

    monkeypatch.setattr(OnlineSession, "_answered", answered)
    found = compared(CASES["online by practical"], "ordinary", "all rows in the first cell", AddRemove())
    assert "charge" in {each.kind for each in found.findings}


def test_a_measurement_that_nobody_paid_for_is_noticed() -> None:
    case = CASES["a tree, Laplace"]
    twice = replace(case, run=lambda private: (case.run(private), case.run(private)))
    found = compared(twice, "ordinary", "rows in several cells", AddRemove())
    assert {"charge"} == {each.kind for each in found.findings}
