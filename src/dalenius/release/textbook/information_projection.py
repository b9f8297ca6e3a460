"""A sharper form of multiplicative weights: move exactly as far as the measured value proves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from dalenius.privacy.numbers import Number, inside_unit, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.release.textbook.multiplicative_weights import OneHistogram, scaled
from dalenius.release.textbook.update_rules import Hypothesis, inner
from dalenius.release.workloads.workload import Reals

_HALVINGS = 60
_STEEPEST = 600.0  # exp of it is still a number
_EDGE = Fraction(1, 2**20)  # of a person: what stays in a cell, and in all others, because an empty cell learns nothing


@dataclass(frozen=True, kw_only=True)
class InformationProjection(OneHistogram):
    """Replace the hypothesis by the nearest one, in relative entropy, whose answer is `slack` short of the value.

    Guarantee: if every update is for a question whose value is more than `alpha * people + slack` from the hypothesis'
    answer, there are at most ln(#X) / (2 alpha^2) updates: an eighth of the textbook's, and each goes further.
    Proof: the truth lies in the half-space of histograms whose answer is at least (at most) the value less (plus)
    slack; projecting on a convex set that holds the truth lowers KL(truth || hypothesis) by at least the relative
    entropy between the new and the old hypothesis, which is at least twice the square of the change of the answer's
    share (Pinsker's inequality for the question's answer as a coin).
    A hypothesis may be projected on old half-spaces again: that never takes it further from the truth. No answer is
    moved closer than 2^-20 of a person to nobody or everybody, which is counted in `most_updates`.
    Reference: Csiszar 1975, Theorem 2.2, for the projection; the counting argument is that of Dwork & Roth 2014,
    Theorem 4.10.
    """

    @property
    def most_updates(self) -> int:
        return floor(projection_updates(cells=self.cells, alpha=self.alpha - _EDGE / self.people))

    @property
    def uses_values(self) -> bool:
        return True

    def updated(self, hypothesis: Hypothesis, weights: Reals, *, value: float, slack: float) -> Hypothesis:
        now = self.answer(hypothesis, weights)
        target = max(value - slack, now) if value > now else min(value + slack, now)
        least, most = self._reach(weights)
        inside = min(max(target, least), most)
        return hypothesis if inside == now else self._tilted(hypothesis, weights, inside)

    def _reach(self, weights: Reals) -> tuple[float, float]:
        """The answers that a tilt can reach, short of giving any cell up."""
        low, high = float(weights.min()), float(weights.max())
        edge = (high - low) * float(_EDGE)
        return low * self.people + edge, high * self.people - edge

    def _tilted(self, hypothesis: Hypothesis, weights: Reals, target: float) -> Hypothesis:
        if ((weights == 0) | (weights == 1)).all():
            inside = inner(weights, hypothesis)
            outside = self.people - inside
            if min(inside, outside) <= 0:
                return hypothesis
            factors = np.where(weights == 1, target / inside, (self.people - target) / outside)
            return scaled(hypothesis * factors, self.people)
        low, high = -_STEEPEST, _STEEPEST
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tilted = scaled(
                hypothesis * np.exp(middle * (weights - weights.max() if middle > 0 else weights)), self.people
            )
            low, high = (middle, high) if inner(weights, tilted) < target else (low, middle)
        return tilted


def projection_updates(*, cells: int, alpha: Number) -> Fraction:
    """ln(#X) / (2 alpha^2), rounded up."""
    with precise():
        return upper(ball(whole(2, cells=cells)).log() / ball(2 * inside_unit(alpha=alpha) ** 2))
