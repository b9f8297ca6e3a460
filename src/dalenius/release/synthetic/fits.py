"""A fit that can be paid for: one pass over the data, a price that is known before, and noisy marginals afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Amount
from dalenius.curator.cards.cards import Step
from dalenius.mechanisms.exponential import ExponentialMechanism
from dalenius.mechanisms.gaussian import DiscreteGaussian
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.mechanisms.purse import Purse, deviation
from dalenius.privacy.losses import Loss, PureDP
from dalenius.query.cells import Look
from dalenius.query.plan.passes import Pass
from dalenius.query.pricing.explain import theorem
from dalenius.query.questions import Question
from dalenius.randomness.entropy import Entropy
from dalenius.release.axes import Axis, grid_of
from dalenius.release.carrier import counting, people
from dalenius.release.grid import Columns
from dalenius.release.inference.fitting import Measured
from dalenius.release.synthetic.adaptive import Adaptive, Settings, first_noise
from dalenius.release.synthetic.bars import BAR
from dalenius.release.synthetic.journal import Drawn, Outcomes
from dalenius.release.workloads.marginals import Marginals


@dataclass(frozen=True)
class Fit:
    """A synthesizer's settings for the rows that a question carries, and what they may cost. All of it is public.

    `outcomes` is where noisy outcomes come from: they are drawn, or were kept when the fit was stopped.
    """

    question: Question
    axes: tuple[Axis, ...]
    groups: tuple[Columns, ...]
    settings: Settings
    charge: Mapping[str, Amount]
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
    def steps(self) -> tuple[Step, ...]:
        """In words: which marginals are measured is chosen as the work goes on."""
        noise = DiscreteLaplace if isinstance(self.loss, PureDP) else DiscreteGaussian
        change = f"l1 {self.question.most.rows} in one marginal"
        return tuple(
            Step(what, change, kind.__name__, theorem(kind), "a part of the whole", "a part of the price")
            for what, kind in (("counts of marginals", noise), ("which marginal is next", ExponentialMechanism))
        )

    @property
    def first_bar(self) -> int:
        """How far the counts of single columns, which are measured first, are off at 95 %, in rows."""
        (amount,) = self.charge.values()
        neighbours = next(table.protection.neighbours for table in self.question.relation.tables if table.protection)
        grid = grid_of({axis.name: axis for axis in self.axes})
        change = Marginals(grid, [(self.axes[0].name,)]).sensitivity(neighbours, rows=self.question.most.rows)
        return ceil(BAR * deviation(first_noise(Purse(Allowance(amount, neighbours=neighbours)), grid, change)))

    @property
    def passes(self) -> tuple[Pass, ...]:
        """One pass: how many rows fall into each cell that is not empty."""
        return (counting(self.question),)

    def run(self, look: Look, allowance: Allowance, entropy: Entropy) -> list[Measured]:
        """The noisy marginals, as the method chooses them."""
        rows = people(self.question, self.axes, look(self.passes[0]))
        workload = Marginals(rows.grid, self.groups)
        run = Adaptive(rows, workload, allowance, entropy, self.settings, self.tick, self.outcomes)
        return run.measurements()
