"""What a session is opened with: noisy marginals to begin from, and rounds that are paid for and taken later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Amount
from dalenius.curator.cards.cards import Step
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.gaussian import DiscreteGaussian
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.mechanisms.numeric_sparse import NumericSparse
from dalenius.mechanisms.purse import Purse, deviation
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss, PureDP
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.cells import Cells, Look
from dalenius.query.plan.passes import Pass
from dalenius.query.pricing.explain import theorem
from dalenius.query.questions import Question
from dalenius.randomness.entropy import Entropy
from dalenius.release.axes import Axis, grid_of
from dalenius.release.carrier import counting, people
from dalenius.release.grid import Columns, Grid
from dalenius.release.inference.fitting import Measured
from dalenius.release.people import Counts
from dalenius.release.textbook.online import OnlinePlan

MOST_CELLS = 10**6
"""The most cells of a session's grid: every question looks at all of them."""
MOST_MEASURED = 10**5
"""The most cells of marginals that are measured and stored."""
FOR_ROUNDS = Fraction(1, 4)
"""The part of the price that pays for the rounds; the rest is for the marginals that a session begins with. A better
beginning makes hard questions rare, which helps more than less noise in the rounds."""


@dataclass(frozen=True)
class Opening:
    """The terms of a session about the rows that a question carries, and what it costs. All of it is public.

    Guarantee: the rounds are drawn from the allowance first, as a whole, and the marginals from what is left of it. The
    rounds take place later, no more than `updates` of them; see `OnlinePlan.start`.
    """

    question: Question
    axes: tuple[Axis, ...]
    updates: int
    questions: int
    charge: Mapping[str, Amount]

    def __post_init__(self) -> None:
        left = self._amount - self.for_rounds
        if left.divergence < len(self.groups):
            raise InvalidParameter(
                "price", str(self._amount), allowed=f"enough to measure {len(self.groups)} marginals"
            )

    @property
    def terms(self) -> tuple[object, ...]:
        return "online", self.axes, self.updates, self.questions, self.charge

    @property
    def grid(self) -> Grid:
        return grid_of({axis.name: axis for axis in self.axes})

    @property
    def neighbours(self) -> Neighbours:
        return next(table.protection.neighbours for table in self.question.relation.tables if table.protection)

    @property
    def groups(self) -> tuple[Columns, ...]:
        """The marginals that a session begins with: all pairs of columns, or single columns where pairs are many."""
        pairs = tuple(combinations(self.grid.columns, min(2, len(self.axes))))
        few = sum(map(self.grid.size, pairs)) <= MOST_MEASURED
        return pairs if few else tuple((name,) for name in self.grid.columns)

    @property
    def loss(self) -> Loss:
        """What the marginals and all rounds together may lose."""
        return self._amount.loss

    @property
    def steps(self) -> tuple[Step, ...]:
        """In words."""
        noise = DiscreteLaplace if isinstance(self.loss, PureDP) else DiscreteGaussian
        change, part = f"l1 {self.question.most.rows} in one marginal", "a part of the price"
        question = f"{self.question.most.rows} in one question"
        rounds = f"counting questions, {self.updates} rounds"
        return (
            Step(rounds, question, NumericSparse.__name__, theorem(NumericSparse), str(FOR_ROUNDS), part),
            Step("counts of marginals", change, noise.__name__, theorem(noise), str(1 - FOR_ROUNDS), part),
        )

    @property
    def passes(self) -> tuple[Pass, ...]:
        """One pass: how many rows fall into each cell that is not empty."""
        return (counting(self.question),)

    @property
    def for_rounds(self) -> Amount:
        """What of the charge is for the rounds."""
        return self._amount.part(FOR_ROUNDS)

    @cached_property
    def least(self) -> OnlinePlan:
        """The plan before anything is known of the rows; its noise and price are those of every plan."""
        return self.plan(people=1)

    def plan(self, *, people: int, within: int = 0) -> OnlinePlan:
        """The plan for about so many rows. A question that is found to be further off than `within` is measured."""
        return OnlinePlan.practical(
            cells=self.grid.cells,
            people=people,
            queries=self.questions,
            neighbours=self.neighbours,
            amount=self.for_rounds,
            updates=self.updates,
            accepted=within,
            rows=self.question.most.rows,
        )

    def run(self, look: Look, allowance: Allowance, entropy: Entropy) -> list[Measured]:
        """The noisy marginals."""
        allowance.draw(self.least.loss())
        rows, purse, found = people(self.question, self.axes, look(self.passes[0])), Purse(allowance), []
        for done, columns in enumerate(self.groups):
            change = rows.change([columns])
            noise = purse.noise(purse.left / (len(self.groups) - done), change)
            noisy = measure(noise, rows.marginal(columns), allowance, entropy)
            found.append(Measured(columns, np.asarray(noisy, dtype=np.float64), deviation(noise)))
        return found

    def histogram(self, cells: Exact[Cells]) -> Exact[Counts]:
        """The sealed counts of all cells."""
        return people(self.question, self.axes, cells).histogram()

    @property
    def _amount(self) -> Amount:
        (amount,) = self.charge.values()
        return amount
