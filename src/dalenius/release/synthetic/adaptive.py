"""Adaptive measuring: choose the marginal that the model gets most wrong, measure it, fit again, until all is spent.

Reference: McKenna, Mullins, Sheldon & Miklau 2022 (arXiv:2201.12677), the adaptive and iterative mechanism (AIM).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.mechanisms.door import measure
from dalenius.randomness.entropy import Entropy
from dalenius.release.grid import Columns
from dalenius.release.inference.fitting import Fitted, Measured, fit
from dalenius.release.inference.growth import Growth
from dalenius.release.people import People
from dalenius.release.synthetic.choosing import candidates, rounded, scores, scores_change
from dalenius.release.synthetic.purse import Purse, deviation, typical
from dalenius.release.workloads.marginals import Marginals

LARGEST_MODEL = 2_000_000
"""How many numbers a model may have, once all is spent."""
_ROUNDS_OF_COLUMN = 16
_ON_NOISE = Fraction(9, 10)
"""How much of a round's price is for the noise; the rest is for the choice."""


@dataclass(frozen=True)
class Settings:
    """How marginals are chosen: `largest` is how many numbers the model may have, `steps` how long it is fitted in a
    round."""

    largest: int = LARGEST_MODEL
    steps: int = 300


@dataclass
class Adaptive:
    """One run: what was measured so far, and the model that fits it."""

    people: People
    workload: Marginals
    allowance: Allowance
    entropy: Entropy
    settings: Settings = Settings()
    tick: Callable[[float], object] | None = None
    measured: list[Measured] = field(default_factory=list)
    rounds: int = 0

    def measurements(self) -> list[Measured]:
        """Everything that was measured, once all is spent."""
        self.run()
        return self.measured

    def run(self) -> Fitted:
        purse = Purse(self.allowance)
        total = purse.left
        part = total / (_ROUNDS_OF_COLUMN * len(self.people.grid.columns))
        for name in sorted({name for group in self.workload.groups for name in group}):
            self._measure(purse, part * _ON_NOISE, (name,))
        model = self._fitted(None)
        weights = candidates(self.workload)
        while purse.left > part / 1000:
            if purse.left < 2 * part:
                part = purse.left
            group, noise = self._choose(purse, part, model, weights, 1 - purse.left / total)
            before = model.counts(group)
            self._measure(purse, min(part * _ON_NOISE, purse.left), group)
            model = self._fitted(model)
            self.rounds += 1
            moved = float(np.abs(model.counts(group) - before).sum())
            if moved <= noise * self.people.grid.size(group):
                part *= 4
            if self.tick:
                self.tick(100 * float(1 - purse.left / total))
        return model

    def _choose(
        self, purse: Purse, part: Fraction, model: Fitted, weights: dict[Columns, int], spent: Fraction
    ) -> tuple[Columns, float]:
        allowed = self._allowed(list(weights), spent)
        noise = typical(purse.noise(part * _ON_NOISE, self.people.change([allowed[0]])))
        told = [rounded(model.total * shares) for shares in model.beliefs.marginals(allowed)]
        change = scores_change(self.people, allowed, weights)
        grid = self.people.grid
        sealed = self.people.computed(
            lambda crowd: scores(crowd, allowed, told, weights, noise, grid), sensitivity=change
        )
        place = measure(purse.choice(part * (1 - _ON_NOISE), change), sealed, self.allowance, self.entropy)
        return allowed[place], noise

    def _allowed(self, groups: Sequence[Columns], spent: Fraction) -> list[Columns]:
        growth = Growth(self.people.grid, [part.columns for part in self.measured])
        most = self.settings.largest * float(max(spent, Fraction(1, 20)))
        return [group for group in groups if len(group) == 1 or growth.cells(group) <= most]

    def _measure(self, purse: Purse, part: Fraction, group: Columns) -> None:
        exact = self.people.marginal(group)
        noise = purse.noise(part, exact.sensitivity)
        noisy = measure(noise, exact, self.allowance, self.entropy)
        self.measured.append(Measured(group, np.asarray(noisy, dtype=np.float64), deviation(noise)))

    def _fitted(self, start: Fitted | None) -> Fitted:
        return fit(self.people.grid, self.measured, start=start, steps=self.settings.steps)
