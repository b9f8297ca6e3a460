"""Choosing a strategy by public facts: the workload, the price, the expected error and a noisy number of people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import whole
from dalenius.randomness.entropy import Entropy
from dalenius.synth.strategies.estimates import Estimate
from dalenius.synth.strategies.optimised import optimised
from dalenius.synth.strategies.smoothing import smooth
from dalenius.synth.strategies.strategy import Price, Strategy, divided, stated_rows, variance, whole_price
from dalenius.synth.strategies.trees import Haar, Hierarchical, Identity
from dalenius.tabular.workloads import Integers, Workload

BRANCHINGS = (2, 3, 4, 6, 8, 12, 16, 32)
SHARE = Fraction(1, 50)
"""The part of a price that finds the number of people, where it is not declared."""
_SMALL = 256
"""Up to so many cells the optimum for Gaussian noise takes about a second, and is tried too."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """A strategy with the root of its mean expected squared error over a workload, in people."""

    strategy: Strategy
    error: float


@dataclass(frozen=True, eq=False)
class StrategyPlan:
    """What will be measured for a price: one strategy, or one for people that are many and one for people that are few.

    `few` is the number of people below which the second is used: where the mean count of a cell is below the noise that
    a cell would get alone. The number is declared or measured with noise for a fiftieth of the price, so the choice
    never looks at the data.
    """

    many: Strategy
    sparse: Strategy | None
    few: float
    price: Price
    rows: int

    def release(
        self, exact: Exact[Integers], allowance: Allowance, entropy: Entropy, *, people: int | None = None
    ) -> Estimate:
        """The estimate, smoothed where it is one of a tree.

        Guarantee: it draws at most the price, if the sealed histogram counts units of at most `rows` rows and `people`,
        where given, is public.
        """
        stated_rows(exact, self.rows)
        chosen, paid = self.many, self.price
        if self.sparse is not None:
            found = people
            if found is None:
                counting, paid = divided(self.price, SHARE, allowance)
                found = self._noisy_people(exact, counting, allowance, entropy)
            chosen = self.sparse if found < self.few else self.many
        estimate = chosen.release(exact, allowance, entropy, price=paid, rows=self.rows)
        return smooth(estimate) if isinstance(chosen, Hierarchical) else estimate

    def _noisy_people(self, exact: Exact[Integers], price: Price, allowance: Allowance, entropy: Entropy) -> int:
        noise = Identity(1).noise(price, exact.neighbours, rows=self.rows)
        moved = Identity(1).sensitivity(exact.neighbours, rows=self.rows)
        return int(measure(noise, exact.map(_total, sensitivity=moved), allowance, entropy)[0])


def candidates(cells: int, workload: Workload | None = None, *, price: Price | None = None) -> list[Strategy]:
    """The strategies that are tried: the histogram, trees, Haar's wavelet, and the optimum where it is quick."""
    branchings = _branchings(cells)
    trees = [make(cells, branching) for branching in branchings for make in (Hierarchical, Hierarchical.rootless)]
    found: list[Strategy] = [Identity(cells), *trees, Haar(cells)]
    if workload is not None and isinstance(price, ZCDP) and cells <= _SMALL:
        found.append(optimised(workload).strategy)
    return found


def ranked(
    workload: Workload,
    price: Price,
    neighbours: Neighbours,
    *,
    strategies: Iterable[Strategy] | None = None,
    rows: int = 1,
) -> list[Ranked]:
    """Strategies by their expected error on a workload at a price, the best one first. No data takes part."""
    tried = candidates(workload.grid.cells, workload, price=price) if strategies is None else list(strategies)
    if not tried:
        raise InvalidParameter("strategies", 0, allowed="at least one")

    def error(strategy: Strategy) -> float:
        return sqrt(float(strategy.expected_squares(workload, price, neighbours, rows=rows).mean()))

    return sorted((Ranked(strategy, error(strategy)) for strategy in tried), key=lambda one: one.error)


def plan_cells(workload: Workload, price: Price, neighbours: Neighbours, *, rows: int = 1) -> StrategyPlan:
    """The plan for a workload at a price: the strategy of the least expected error, and where that is a tree, trees
    that are made to be smoothed."""
    cells, most = workload.grid.cells, whole(1, rows=rows)
    best = ranked(workload, price, neighbours, rows=most)[0].strategy
    if not isinstance(best, Hierarchical):
        return StrategyPlan(best, None, 0, price, most)
    trees = [Hierarchical.for_smoothing(cells, branching) for branching in _branchings(cells)]
    tree = ranked(workload, price, neighbours, strategies=trees, rows=most)[0].strategy
    assert isinstance(tree, Hierarchical)
    sparse = Hierarchical.for_smoothing(cells, tree.branching, sparse=True)
    alone = sqrt(variance(Identity(cells).noise(price, neighbours, rows=most)) / 2)
    return StrategyPlan(tree, sparse, cells * alone, price, most)


def release_best(
    exact: Exact[Integers],
    workload: Workload,
    allowance: Allowance,
    entropy: Entropy,
    *,
    price: Price | None = None,
    people: int | None = None,
    rows: int = 1,
) -> Estimate:
    """Release a histogram for a workload as `planned`, for a price or for all that is left.

    Guarantee: it draws at most the price; the plan depends on public facts, and what it does on a priced choice.
    """
    plan = plan_cells(workload, price or whole_price(allowance), exact.neighbours, rows=rows)
    return plan.release(exact, allowance, entropy, people=people)


def _branchings(cells: int) -> list[int]:
    return [branching for branching in BRANCHINGS if branching < cells]


def _total(histogram: NDArray[Any]) -> NDArray[Any]:
    """The number of people, as a histogram of one cell."""
    return np.array([int(np.asarray(histogram, dtype=object).sum())], dtype=object)
