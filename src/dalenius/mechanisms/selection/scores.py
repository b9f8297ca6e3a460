"""What the selection mechanisms share: how far one neighbour step can tilt the scores towards one candidate."""

from __future__ import annotations

from fractions import Fraction

from dalenius.errors import TheoremDoesNotApply
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.privacy.numbers import Number, inside_unit, not_negative, positive
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike


def tilt(sensitivity: SensitivityLike, *, neighbours: Neighbours, mechanism: str) -> Fraction:
    """The most that the difference of two scores changes between neighbours: the one figure that selection pays for.

    Twice the change of a single score, since one may rise while another falls, but no more than all scores together
    change; once, if all move the same way. That is believed under add/remove only: replacing a record removes from one
    count and adds to another. A plain number bounds the change of every single score, and promises nothing else.
    Textbook: S3.3, S5.5.
    """
    bounds = (
        sensitivity if isinstance(sensitivity, Sensitivity) else Sensitivity(linf=not_negative(sensitivity=sensitivity))
    )
    single = bounds.need("linf", mechanism=mechanism)
    if not bounds.monotone:
        return 2 * single if bounds.l1 is None else min(2 * single, bounds.l1)
    if not isinstance(neighbours, AddRemove):
        raise TheoremDoesNotApply(
            f"the monotone form of {mechanism}",
            needs="neighbours that add or remove",
            given=f"neighbours by {neighbours}",
            instead="a Sensitivity(linf=...) without monotone=True",
        )
    return single


def calibrated_rate(
    sensitivity: SensitivityLike, *, epsilon: Fraction, neighbours: Neighbours, mechanism: str
) -> Fraction:
    """The rate of exponential weights, or one over the scale of Laplace noise, that makes one choice epsilon-DP."""
    return epsilon / positive(sensitivity=tilt(sensitivity, neighbours=neighbours, mechanism=mechanism))


def union_shortfall(odds: Fraction, *, rate: Fraction, beta: Number) -> Fraction:
    """The least s with odds * exp(-rate * s) <= beta, rounded up, and at least 0."""
    excess = odds / inside_unit(beta=beta)
    if excess <= 1:
        return Fraction(0)
    with precise():
        return upper(ball(excess).log() / ball(rate))
