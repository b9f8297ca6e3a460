"""What taking part can change about somebody's future, in the terms of an economist: expected utility."""

from __future__ import annotations

from fractions import Fraction

from dalenius.errors import TheoremDoesNotApply
from dalenius.privacy.losses import Loss, PureDP
from dalenius.privacy.numbers import Number, not_negative
from dalenius.privacy.odds import bracket


def utility_bounds(loss: Loss, *, expected: Number) -> tuple[Fraction, Fraction]:
    """Between which figures an expected utility stays when one person joins, given what it is without them.

    Guarantee: for a pure loss and any utility that is never negative, whatever happens after the release, the expected
    utility with the person lies within e^-epsilon and e^epsilon times `expected`; rounded outwards. With a delta there
    is no such bound, because a rare event can carry any utility.
    Reference: Dwork & Roth 2014, Section 2.3.1 and Definition 10.1.
    Textbook: S1.9.
    """
    if not isinstance(loss, PureDP):
        raise TheoremDoesNotApply(
            "the utility bound", needs="a pure loss", given=str(loss), instead="a pure loss, or a bounded utility"
        )
    base = not_negative(expected=expected)
    return bracket(-loss.epsilon)[0] * base, bracket(loss.epsilon)[1] * base
