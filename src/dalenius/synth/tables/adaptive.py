"""Adaptive measuring: choose the marginal that the model gets most wrong, measure it, fit again, until all is spent.

Reference: McKenna, Mullins, Sheldon & Miklau 2022 (arXiv:2201.12677), the adaptive and iterative mechanism (AIM).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import DIVERGENCE_UNIT, Charge
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.budget_parts import BudgetPart, Noise, deviation, typical
from dalenius.privacy.numbers import format_number, of_kind, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy
from dalenius.session.answers.contents import NoisyMarginal
from dalenius.synth.inference.fitting import Fitted
from dalenius.synth.inference.trees import Growth
from dalenius.synth.tables.choosing import candidates, rounded, scores, scores_change
from dalenius.synth.tables.constraints import UNCONSTRAINED, Constraints
from dalenius.synth.tables.journal import Drawn, Outcomes
from dalenius.tabular.counts import SealedCounts
from dalenius.tabular.domains import CellDomain, Columns
from dalenius.tabular.workloads import Marginals

LARGEST_MODEL = 2_000_000
"""How many numbers a model may have, once all is spent."""
_ROUNDS_OF_COLUMN = 16
_LEAST_UNITS = 10**5
"""How many units of a ledger the first rounds get at least: rounding up to whole units takes little of them then."""
_FELT = 0.7
"""How much of the noise of a measured marginal is left in the model, about: fitting takes the rest away."""
_ON_NOISE = Fraction(9, 10)
"""How much of a round's price is for the noise; the rest is for the choice."""


@dataclass(frozen=True)
class Settings:
    """How marginals are chosen: `largest` is how many numbers the model may have, `batch` how many marginals are chosen
    and measured before it is fitted again, `constraints` what every model keeps to."""

    largest: int = LARGEST_MODEL
    batch: int = 1
    constraints: Constraints = UNCONSTRAINED

    def __post_init__(self) -> None:
        whole(1, largest=self.largest)
        whole(1, batch=self.batch)
        of_kind(Constraints, constraints=self.constraints)


FAST = Settings(largest=200_000, batch=10)
"""A smaller model that is fitted less often: several times faster, at a little more error."""


def first_part(total: Fraction, grid: CellDomain) -> Fraction:
    """What the first rounds cost, of all that there is: those that measure single columns."""
    return total / (_ROUNDS_OF_COLUMN * len(grid.columns))


def require_enough(amount: Charge, grid: CellDomain, settings: Settings) -> None:
    """Refuse a price that cannot be divided among all that is measured, before anything is.

    Each choice and each measurement is rounded up to whole units, at the expense of the last measurement of a batch.
    """
    units = max(_LEAST_UNITS, 4 * settings.batch) * _ROUNDS_OF_COLUMN * len(grid.columns)
    if amount.divergence < units:
        raise InvalidParameter(
            "price", str(amount),
            allowed=f"{units} units of {format_number(DIVERGENCE_UNIT)} or more, as rounds divide it",
            hint="Offer a larger epsilon or share.",
        )  # fmt: skip


def first_noise(budget_part: BudgetPart, grid: CellDomain, change: Sensitivity) -> Noise:
    """The noise on the counts of single columns, which are measured first."""
    return budget_part.noise(first_part(budget_part.left, grid) * _ON_NOISE, change)


@dataclass
class Adaptive:
    """One run: what was measured so far, and the model that fits it."""

    people: SealedCounts
    workload: Marginals
    allowance: Allowance
    entropy: Entropy
    settings: Settings = Settings()
    tick: Callable[[float], object] | None = None
    outcomes: Outcomes = field(default_factory=Drawn)
    measured: list[NoisyMarginal] = field(default_factory=list)
    rounds: int = 0

    def measurements(self) -> list[NoisyMarginal]:
        """Everything that was measured, once all is spent."""
        self.run()
        return self.measured

    def run(self) -> Fitted:
        """Spend all of the allowance; the model that fits what was measured."""
        require_enough(self.allowance.left, self.people.grid, self.settings)
        budget_part = BudgetPart(self.allowance)
        total, weights = budget_part.left, candidates(self.workload)
        part = first_part(total, self.people.grid)
        for name in sorted({name for group in self.workload.groups for name in group}):
            self._measure(budget_part, part * _ON_NOISE, (name,))
        model = self._fitted(None)
        while (
            budget_part.left > part / 1000
            and self.allowance.left.divergence > 1
            and not self._cancelled(1 - budget_part.left / total)
        ):
            part = budget_part.left if budget_part.left < 2 * part else part
            count = max(1, min(self.settings.batch, int(budget_part.left / part)))
            groups, noise = self._choose(
                budget_part, part, model, weights, count=count, spent=1 - budget_part.left / total
            )
            before = [model.counts(group) for group in groups]
            for group in groups:
                self._measure(budget_part, min(part * _ON_NOISE, budget_part.left), group)
            model = self._fitted(model)
            moved = sum(
                float(np.abs(model.counts(group) - old).sum()) for group, old in zip(groups, before, strict=True)
            )
            if moved <= noise * sum(map(self.people.grid.size, groups)):
                part *= 4
            self.rounds += 1
        self._cancelled(1 - budget_part.left / total)
        return model

    def _cancelled(self, spent: Fraction) -> bool:
        """Tell how much was spent; whoever is told may end the work by raising, and keeps what was measured."""
        try:
            if self.tick:
                self.tick(100 * float(spent))
        except Exception:
            return True
        return False

    def _choose(
        self,
        budget_part: BudgetPart,
        part: Fraction,
        model: Fitted,
        weights: dict[Columns, int],
        *,
        count: int,
        spent: Fraction,
    ) -> tuple[list[Columns], float]:
        """The groups that the model gets most wrong, one after the other, and the noise that measuring them adds."""
        grid = self.people.grid
        left = self._allowed(list(weights), [], spent)
        told = dict(
            zip(left, map(rounded, (model.total * each for each in model.beliefs.marginals(left))), strict=True)
        )
        noise = _FELT * typical(budget_part.noise(part * _ON_NOISE, self.people.change([left[0]])))
        chosen: list[Columns] = []
        while left and len(chosen) < count:
            change, known = scores_change(self.people, left, weights), [told[group] for group in left]
            score = partial(scores, groups=left, told=known, weights=weights, noise=noise, grid=grid)
            sealed = self.people.computed(score, sensitivity=change)
            choice = budget_part.choice(part * (1 - _ON_NOISE), change)
            place = self.outcomes.measured(left, choice, sealed, self.allowance, self.entropy)
            chosen.append(left[place])
            left = self._allowed([group for group in left if group != left[place]], chosen, spent)
        return chosen, noise

    def _allowed(self, groups: Sequence[Columns], chosen: Sequence[Columns], spent: Fraction) -> list[Columns]:
        """The groups that would not make the model larger than it may be by now."""
        known = [*self.settings.constraints.together, *(part.columns for part in self.measured), *chosen]
        growth = Growth(self.people.grid, known)
        most = self.settings.largest * float(max(spent, Fraction(1, 20)))
        return [group for group in groups if len(group) == 1 or growth.cells(group) <= most]

    def _measure(self, budget_part: BudgetPart, part: Fraction, group: Columns) -> None:
        exact = self.people.marginal(group)
        noise = budget_part.noise(part, exact.sensitivity)
        noisy = self.outcomes.measured(group, noise, exact, self.allowance, self.entropy)
        self.measured.append(NoisyMarginal(group, np.asarray(noisy, dtype=np.float64), deviation(noise)))

    def _fitted(self, start: Fitted | None) -> Fitted:
        return self.settings.constraints.fit(self.people.grid, self.measured, start=start)
