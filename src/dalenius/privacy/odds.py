"""e^epsilon in exact terms.

For a rational epsilon other than 0 the number e^epsilon is transcendental, so no finite arithmetic holds it. Formulas
here take `odds`, an exact rational in the place of e^epsilon; a given epsilon is replaced by a rational just below or
above e^epsilon, whichever is safe, and yes-or-no questions are decided by narrowing the bracket until both ends agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from typing import TypeAlias, TypeVar

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, not_negative
from dalenius.privacy.reals import PRECISION, ball, lower, precise, upper

Answer = TypeVar("Answer")
Extended: TypeAlias = Fraction | float
"""An exact number, or `math.inf` or `-math.inf`; no other float occurs."""

MOST_EPSILON = 1_000_000
"""e to a larger number than this has more digits than any use of it."""


def bracket(epsilon: Fraction, bits: int = PRECISION) -> tuple[Fraction, Fraction]:
    """Rationals not above and not below e^epsilon, equal for epsilon = 0."""
    if abs(epsilon) > MOST_EPSILON:
        raise InvalidParameter("epsilon", epsilon, allowed=f"at most {MOST_EPSILON}")
    with precise(bits):
        enclosure = ball(epsilon).exp()
        return lower(enclosure), upper(enclosure)


def decided(question: Callable[[Fraction], Answer], epsilon: Fraction) -> Answer:
    """The answer to a question about the odds e^epsilon that changes only at rational odds.

    Such a question has the same answer on both ends of a narrow enough bracket, because e^epsilon is not rational
    unless epsilon is 0, where the bracket is a point.
    """
    for doublings in count():
        low, high = bracket(epsilon, PRECISION << doublings)
        answer = question(low)
        if low == high or answer == question(high):
            return answer
    raise AssertionError("unreachable")


def safe_odds(*, odds: Number | None, epsilon: Number | None) -> Fraction:
    """The odds themselves, or a rational just below e^epsilon: figures that fall with the odds are rounded up."""
    if (odds is None) == (epsilon is None):
        raise InvalidParameter("odds", odds, allowed="given instead of epsilon", hint="State one of the two.")
    if odds is not None:
        return not_negative(odds=odds)
    assert epsilon is not None
    return bracket(not_negative(epsilon=epsilon))[0]


def log_above(odds: Extended) -> Extended:
    """The natural logarithm, rounded up; infinite for odds 0 and infinity."""
    if odds == 0:
        return -math.inf
    if not isinstance(odds, Fraction):
        return math.inf
    with precise():
        return upper(ball(odds).log())
