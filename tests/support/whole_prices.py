"""Whatever takes an allowance, with the least that it can be had for: what the law of whole prices runs over."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np

import dalenius
from checks import SeededEntropy
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge, price
from dalenius.accounting.composition import repeated
from dalenius.learn.rows import ONE, Entries, SealedRows, sealed
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, Sparse
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP, Loss, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy
from dalenius.synth.online.multiplicative_weights import MultiplicativeWeights
from dalenius.synth.online.rounds import OnlinePlan
from dalenius.synth.strategies.choosing import plan_cells, release_best
from dalenius.synth.strategies.partitions import release_partitioned
from dalenius.synth.tables.adaptive import Adaptive
from dalenius.tabular.counts import SealedCounts
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Marginals, Ranges
from dalenius.textbook.learning.by_rounds import LinearLearner
from dalenius.textbook.learning.experts import Hedge, LossTable
from dalenius.textbook.learning.finite_class import FiniteClass
from dalenius.textbook.learning.mixture import MixtureLearner
from dalenius.textbook.learning.perceptron import Perceptron
from dalenius.textbook.learning.queries import Conjunction, Oracle
from dalenius.textbook.release.iterative_construction import IterativeConstruction
from dalenius.textbook.release.nets import Net, NetMechanism
from dalenius.textbook.release.per_query import PerQuery
from dalenius.textbook.release.projection import ProjectedLaplace
from dalenius.textbook.release.repeats import Repeats
from dalenius.textbook.release.syntheticizer import release_synthetic

ORDER = Fraction(21, 10)
"""That of a population with a budget of (50, 1e-9)."""
REPLACED, PRESENT = Replace("row"), AddRemove("row")
Run: TypeAlias = Callable[[Allowance, Entropy], object]


class ReadEntropy(SeededEntropy):
    """Reproducible bytes, and whether any were read."""

    read_any = False

    def read(self, count: int) -> bytes:
        self.read_any = True
        return super().read(count)


@dataclass(frozen=True)
class Case:
    """Something that takes an allowance, for a loss or for so many units of a ledger of some order."""

    run: Run
    least: Loss | int | Callable[[Fraction | None], int]
    neighbours: Neighbours = REPLACED
    orders: tuple[Fraction | None, ...] = (None, ORDER)

    def allowance(self, order: Fraction | None, *, short: int = 0) -> Allowance:
        """What the case can just be had for, or so many units less."""
        if isinstance(self.least, Loss):
            whole = price(self.least, order=order)
        else:
            units = self.least if isinstance(self.least, int) else self.least(order)
            whole = Charge(divergence=units, order=order)
        return Allowance(whole - Charge(divergence=short, order=order, epsilon=0), neighbours=self.neighbours)


# ---- all that there is


def takers() -> dict[str, FunctionType]:
    """Every public function, method and constructor of the library that is given an allowance or a budget part."""
    found: dict[str, FunctionType] = {}
    for module in _modules():
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) == module.__name__ and not name.startswith("_"):
                found |= {f"{module.__name__}.{path}": function for path, function in takers_of(name, thing)}
    return found


def takers_of(name: str, thing: Any) -> Iterator[tuple[str, FunctionType]]:
    """Those of one function or class; what a protocol says is written elsewhere, and no budget part or allowance is
    sold."""
    if inspect.isfunction(thing) and _takes(thing):
        yield name, thing
    if not inspect.isclass(thing) or getattr(thing, "_is_protocol", False) or issubclass(thing, Allowance | BudgetPart):
        return
    for own, member in vars(thing).items():
        function = getattr(member, "__func__", member)
        public = own == "__init__" or not own.startswith("_")
        if public and inspect.isfunction(function) and _takes(function):
            yield f"{name}.{own}", function


Place: TypeAlias = tuple[str, int]
"""A file, and the first line of a function in it."""


def measurers() -> dict[str, Place]:
    """Every function of the library in which something is measured or drawn, whatever its parameters are called and
    whoever may see it; budget parts themselves hand draws on."""
    found: dict[str, Place] = {}
    for module in _modules():
        if module.__file__ and module.__name__ != Allowance.__module__:
            text = Path(module.__file__).read_text(encoding="utf-8")
            found |= {f"{module.__name__}.{name}": (module.__file__, line) for name, line in measuring(text)}
    return found


def measuring(text: str) -> Iterator[tuple[str, int]]:
    """The functions of a module in which something is measured or drawn, each with its first line."""
    tree = ast.parse(text)
    names = {"measure"} | {
        each.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names
        if each.name == "measure" and each.asname
    }  # fmt: skip
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            _draws(n, names) for n in _own(function)
        ):
            yield function.name, min([function.lineno, *(each.lineno for each in function.decorator_list)])


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function, and not in one inside of it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
            yield from _own(node)


def _draws(node: ast.AST, names: set[str]) -> bool:
    """Whether something is measured there, or drawn: noise is drawn from entropy, and all else from an allowance."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "draw":
        return [ast.unparse(each) for each in node.args] != ["entropy"]
    return isinstance(node, ast.Name) and node.id in names


def _takes(function: FunctionType) -> bool:
    kinds = [str(each.annotation) for each in inspect.signature(function).parameters.values()]
    return any(word in kind for kind in kinds for word in ("Allowance", "BudgetPart"))


def _modules() -> Iterator[ModuleType]:
    for module in pkgutil.walk_packages(dalenius.__path__, "dalenius."):
        if not module.name.endswith("__main__"):
            yield importlib.import_module(module.name)


# ---- cases

GRID = CellDomain({"x": 4})
PREFIXES = Ranges.prefixes(GRID)
COUNTS = np.array([40_000, 10_000, 30_000, 20_000])
PEOPLE = int(COUNTS.sum())
WIDE = CellDomain({"x": 64})
TABLE = CellDomain({"a": 2, "b": 3})


def histogram(counts: Any = COUNTS, neighbours: Neighbours = REPLACED) -> Exact[Any]:
    bounds = Sensitivity(l1=neighbours.add_remove_steps, linf=1)
    return Exact(np.asarray(counts), sensitivity=bounds, neighbours=neighbours)


def rows() -> SealedRows:
    features = np.array([[ONE, -ONE], [-ONE, ONE]] * 10, dtype=np.int16)
    entries = Entries(features, np.array([1, 0] * 10), np.ones(20, dtype=np.int64))
    return sealed(entries, 2 * ONE**2, PRESENT)


def people() -> SealedCounts:
    return SealedCounts.from_rows(TABLE, np.array([[0, 1], [1, 2]] * 20), neighbours=PRESENT)


NOISE = DiscreteLaplace.calibrated(sensitivity=2, epsilon="0.5", neighbours=REPLACED)
LINE = AboveThreshold.calibrated(sensitivity=1, epsilon=1, neighbours=REPLACED)
LINES = Sparse.calibrated(sensitivity=1, epsilon=1, cutoff=3, neighbours=REPLACED)
NUMBERS = NumericSparse.calibrated(sensitivity=1, epsilon=1, cutoff=3, neighbours=REPLACED)
ITERATIVE = IterativeConstruction.calibrated(
    MultiplicativeWeights(cells=4, people=PEOPLE, alpha=Fraction(1, 8)),
    PREFIXES, epsilon=1, beta="0.05", neighbours=REPLACED,
)  # fmt: skip
EACH = PerQuery.laplace(PREFIXES, epsilon=1, neighbours=REPLACED)
NETS = NetMechanism.calibrated(
    Net.of_size(4, 2, alpha=1), PREFIXES, people=PEOPLE, epsilon=1, neighbours=REPLACED
)  # fmt: skip
ONLINE = OnlinePlan.practical(
    cells=4, people=PEOPLE, queries=20, neighbours=REPLACED, epsilon=1, beta="0.05", updates=3
)
LOSSES = LossTable.of(np.array([[0.0, 1.0], [1.0, 0.0]] * 5), neighbours=REPLACED)
EXAMPLES = LinearLearner.examples(np.array([[-1.0, 1.0], [1.0, 1.0]] * 5), neighbours=REPLACED)
TREE = plan_cells(Ranges.prefixes(WIDE), PureDP(Fraction(1)), PRESENT)
ROUND_TREE = replace(TREE, price=ZCDP(Fraction(1, 7)))
PRESENT_COUNTS = histogram(np.arange(64), PRESENT)


def hedged(paid: Allowance, entropy: Entropy) -> object:
    return Hedge.calibrated(LOSSES, BudgetPart(paid)).play(LOSSES, BudgetPart(paid), entropy)


def conjunction(paid: Allowance, entropy: Entropy) -> object:
    oracle = Oracle.of(rows(), BudgetPart(paid), entropy, queries=4)
    return Conjunction.learn(oracle, people=20, tolerance=0.1)


RATE = Hedge(Fraction(1, 10))
ROUND = RATE.mechanism(REPLACED)
CASES: dict[str, Case] = {
    "measure": Case(
        lambda paid, entropy: measure(NOISE, Exact(3, sensitivity=2, neighbours=REPLACED), paid, entropy),
        NOISE.loss(sensitivity=2),
    ),
    "above threshold": Case(lambda paid, entropy: LINE.start(paid, entropy), LINE.loss(sensitivity=1)),
    "sparse": Case(lambda paid, entropy: LINES.start(paid, entropy), LINES.loss(sensitivity=1)),
    "numeric sparse": Case(lambda paid, entropy: NUMBERS.start(paid, entropy), NUMBERS.loss(sensitivity=1)),
    "iterative construction": Case(
        lambda paid, entropy: ITERATIVE.release(histogram(), paid, entropy), ITERATIVE.loss()
    ),
    "per query": Case(lambda paid, entropy: EACH.release(histogram(), paid, entropy, beta="0.1"), EACH.loss()),
    "projected": Case(
        lambda paid, entropy: ProjectedLaplace(noisy=EACH, people=PEOPLE).release(
            histogram(), paid, entropy, beta="0.1"
        ),
        EACH.loss(),
    ),
    "net": Case(lambda paid, entropy: NETS.release(histogram(), paid, entropy, beta="0.1"), NETS.loss()),
    "repeats": Case(
        lambda paid, entropy: Repeats(NOISE, people=PEOPLE, beta="0.1").ask([1, 0, 0, 0], histogram(), paid, entropy),
        NOISE.loss(sensitivity=1),
    ),
    "online session": Case(
        lambda paid, entropy: ONLINE.start(histogram(), paid, entropy).ask([1, 0, 0, 0]), ONLINE.loss()
    ),
    "synthetic rows": Case(
        lambda paid, entropy: release_synthetic(
            histogram(), PREFIXES, paid, entropy, people=PEOPLE, price=PureDP(Fraction(1))
        ),
        PureDP(Fraction(1)),
        orders=(None,),
    ),
    "best strategy": Case(
        lambda paid, entropy: release_best(PRESENT_COUNTS, Ranges.prefixes(WIDE), paid, entropy), 50, PRESENT, (None,)
    ),
    "best strategy for a price": Case(
        lambda paid, entropy: release_best(
            PRESENT_COUNTS, Ranges.prefixes(WIDE), paid, entropy, price=PureDP(Fraction(1, 3))
        ),
        PureDP(Fraction(1, 3)),
        PRESENT,
        (None,),
    ),
    "planned strategy": Case(
        lambda paid, entropy: TREE.release(PRESENT_COUNTS, paid, entropy), TREE.price, PRESENT, (None,)
    ),
    "planned strategy with Gaussian noise": Case(
        lambda paid, entropy: ROUND_TREE.release(PRESENT_COUNTS, paid, entropy), ROUND_TREE.price, PRESENT, (ORDER,)
    ),
    "partition": Case(lambda paid, entropy: release_partitioned(PRESENT_COUNTS, 64, paid, entropy), 4, PRESENT),
    "adaptive": Case(
        lambda paid, entropy: Adaptive(people(), Marginals(TABLE, [("a", "b")]), paid, entropy).run(),
        2 * 16 * 10**5,
        PRESENT,
    ),
    "hedge": Case(hedged, LOSSES.rounds - 1),
    "hedge at a rate": Case(
        lambda paid, entropy: RATE.play(LOSSES, BudgetPart(paid), entropy),
        repeated(ROUND.loss(sensitivity=LOSSES.before.sensitivity), LOSSES.rounds - 1),
    ),
    "linear learner": Case(
        lambda paid, entropy: LinearLearner(RATE).learn(EXAMPLES, BudgetPart(paid), entropy),
        repeated(ROUND.loss(sensitivity=EXAMPLES.before.sensitivity), EXAMPLES.rounds - 1),
    ),
    "calibrated linear learner": Case(
        lambda paid, entropy: LinearLearner.calibrated(EXAMPLES, BudgetPart(paid)).learn(
            EXAMPLES, BudgetPart(paid), entropy
        ),
        EXAMPLES.rounds - 1,
    ),
    "finite class": Case(
        lambda paid, entropy: FiniteClass.halfspaces([[1, 0], [0, 1]], 0).learn(rows(), BudgetPart(paid), entropy),
        1,
        PRESENT,
    ),
    "perceptron": Case(
        lambda paid, entropy: Perceptron.learn(rows(), BudgetPart(paid), entropy, rounds=4), 4 * 3, PRESENT
    ),
    "noise of a perceptron": Case(
        lambda paid, entropy: Perceptron.noise(rows(), BudgetPart(paid), rounds=4), 4 * 3, PRESENT
    ),
    "mixture": Case(
        lambda paid, entropy: MixtureLearner("0.2", 3).learn(
            rows(), BudgetPart(paid), entropy, centres=[[0.5, -0.5], [-0.5, 0.5]]
        ),
        3 * 2 * 3,
        PRESENT,
    ),
    "statistical queries": Case(conjunction, 4, PRESENT),
}
"""Those that stand alone; for estimators see `whole_prices_of_models`."""
