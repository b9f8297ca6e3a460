"""A fit that can be paid for: one pass over the data, a price that is known before, and noisy marginals afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.measuring.explain import theorem
from dalenius.mechanisms.budget_parts import BudgetPart, deviation
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.losses import Loss, PureDP
from dalenius.query.plan.passes import Pass, RunPass
from dalenius.query.rows import RowSource
from dalenius.randomness.entropy import Entropy
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.contents import BAR, NoisyMarginal, NoisyMarginals
from dalenius.session.cards.cards import CardMeasurement
from dalenius.synth.measured import noisy_marginals
from dalenius.synth.tables.adaptive import Adaptive, Settings, first_noise
from dalenius.synth.tables.journal import Drawn, Outcomes
from dalenius.tabular.binned_rows import sealed_counts
from dalenius.tabular.columns import BinnedColumn, grid_of
from dalenius.tabular.domains import Columns
from dalenius.tabular.workloads import Marginals


@dataclass(frozen=True)
class Fit:
    """A synthesizer's settings for rows of a private table, and what they may cost. All of it is public.

    `outcomes` is where noisy outcomes come from: they are drawn, or were kept when the fit was stopped.
    """

    question: RowSource
    axes: tuple[BinnedColumn, ...]
    groups: tuple[Columns, ...]
    settings: Settings
    charge: Mapping[str, Charge]
    tick: Callable[[float], object] | None = field(default=None, compare=False)
    outcomes: Outcomes = field(default_factory=Drawn, compare=False)

    @property
    def terms(self) -> tuple[object, ...]:
        return "synthetic", self.axes, self.groups, self.settings, self.charge

    @property
    def loss(self) -> Loss:
        """What all measurements and choices together may lose."""
        (amount,) = self.charge.values()
        return amount.loss

    @property
    def steps(self) -> tuple[CardMeasurement, ...]:
        """In words: which marginals are measured is chosen as the work goes on."""
        noise = DiscreteLaplace if isinstance(self.loss, PureDP) else DiscreteGaussian
        change = f"l1 {self.question.most.rows} in one marginal"
        return tuple(
            CardMeasurement(what, change, kind.__name__, theorem(kind), "a part of the whole", "a part of the price")
            for what, kind in (("counts of marginals", noise), ("which marginal is next", ExponentialMechanism))
        )

    @property
    def first_bar(self) -> int:
        """How far the counts of single columns, which are measured first, are off at 95 %, in rows."""
        (amount,) = self.charge.values()
        neighbours = self.question.relation.neighbours
        grid = grid_of({axis.name: axis for axis in self.axes})
        change = Marginals(grid, [(self.axes[0].name,)]).sensitivity(neighbours, rows=self.question.most.rows)
        return ceil(BAR * deviation(first_noise(BudgetPart(Allowance(amount, neighbours=neighbours)), grid, change)))

    @property
    def passes(self) -> tuple[Pass, ...]:
        """One pass: how many rows fall into each cell that is not empty."""
        return (self.question.counting,)

    def encode(self, measured: Sequence[NoisyMarginal]) -> Answer:
        """The noisy marginals."""
        return Answer.of(NoisyMarginals(tuple(measured)))

    def decode(self, answer: Answer) -> tuple[NoisyMarginal, ...]:
        """The noisy marginals."""
        return noisy_marginals(answer, self.axes)

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy) -> list[NoisyMarginal]:
        """The noisy marginals, as the method chooses them."""
        rows = sealed_counts(self.question, self.axes, run_pass(self.passes[0]))
        workload = Marginals(rows.grid, self.groups)
        run = Adaptive(rows, workload, allowance, entropy, self.settings, self.tick, self.outcomes)
        return run.measurements()
