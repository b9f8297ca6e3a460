"""What a session is opened with: noisy marginals to begin from, and rounds that are paid for and taken later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.errors import InvalidParameter
from dalenius.measuring.explain import theorem
from dalenius.mechanisms.budget_parts import BudgetPart, deviation
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss, PureDP
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.plan.passes import Cells, Pass, RunPass
from dalenius.query.rows import RowSource
from dalenius.randomness.entropy import Entropy
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.contents import NoisyMarginal, NoisyMarginals
from dalenius.session.cards.cards import CardMeasurement
from dalenius.synth.measured import noisy_marginals
from dalenius.synth.online.rounds import OnlinePlan
from dalenius.tabular.binned_rows import sealed_counts
from dalenius.tabular.columns import BinnedColumn, grid_of
from dalenius.tabular.counts import Counts
from dalenius.tabular.domains import CellDomain, Columns

MOST_CELLS = 10**6
"""The most cells of a session's grid: every question looks at all of them."""
MOST_MEASURED = 10**5
"""The most cells of marginals that are measured and stored."""
FOR_ROUNDS = Fraction(1, 4)
"""The part of the price that pays for the rounds; the rest is for the marginals that a session begins with. A better
beginning makes hard questions rare, which helps more than less noise in the rounds."""


@dataclass(frozen=True)
class Opening:
    """The terms of a session about rows of a private table, and what it costs. All of it is public.

    Guarantee: the rounds are drawn from the allowance first, as a whole, and the marginals from what is left of it. The
    rounds take place later, no more than `updates` of them; see `OnlinePlan.start`.
    """

    question: RowSource
    axes: tuple[BinnedColumn, ...]
    updates: int
    questions: int
    charge: Mapping[str, Charge]

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
    def grid(self) -> CellDomain:
        return grid_of({axis.name: axis for axis in self.axes})

    @property
    def neighbours(self) -> Neighbours:
        return self.question.relation.neighbours

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
    def steps(self) -> tuple[CardMeasurement, ...]:
        """In words."""
        noise = DiscreteLaplace if isinstance(self.loss, PureDP) else DiscreteGaussian
        change, part = f"l1 {self.question.most.rows} in one marginal", "a part of the price"
        question = f"{self.question.most.rows} in one question"
        rounds = f"counting questions, {self.updates} rounds"
        return (
            CardMeasurement(rounds, question, NumericSparse.__name__, theorem(NumericSparse), str(FOR_ROUNDS), part),
            CardMeasurement("counts of marginals", change, noise.__name__, theorem(noise), str(1 - FOR_ROUNDS), part),
        )

    @property
    def passes(self) -> tuple[Pass, ...]:
        """One pass: how many rows fall into each cell that is not empty."""
        return (self.question.counting,)

    @property
    def for_rounds(self) -> Charge:
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

    def encode(self, measured: Sequence[NoisyMarginal]) -> Answer:
        """The noisy marginals."""
        return Answer.of(NoisyMarginals(tuple(measured)))

    def decode(self, answer: Answer) -> tuple[NoisyMarginal, ...]:
        """The noisy marginals."""
        return noisy_marginals(answer, self.axes)

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy) -> list[NoisyMarginal]:
        """The noisy marginals."""
        allowance.draw(self.least.loss())
        rows, budget_part, found = (
            sealed_counts(self.question, self.axes, run_pass(self.passes[0])),
            BudgetPart(allowance),
            [],
        )
        for done, columns in enumerate(self.groups):
            change = rows.change([columns])
            noise = budget_part.noise(budget_part.left / (len(self.groups) - done), change)
            noisy = measure(noise, rows.marginal(columns), allowance, entropy)
            found.append(NoisyMarginal(columns, np.asarray(noisy, dtype=np.float64), deviation(noise)))
        return found

    def histogram(self, cells: Exact[Cells]) -> Exact[Counts]:
        """The sealed counts of all cells."""
        return sealed_counts(self.question, self.axes, cells).histogram()

    @property
    def _amount(self) -> Charge:
        (amount,) = self.charge.values()
        return amount
