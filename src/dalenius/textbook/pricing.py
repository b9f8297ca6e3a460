"""Private prices for digital goods: candidates are prices, and a price's score is the revenue that it brings."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from numbers import Real

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated
from dalenius.privacy.numbers import Number, not_negative, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity

__all__ = ["most_gained_by_lying", "price_grid", "revenue_sensitivity", "revenue_shortfall", "revenues"]


def revenues(bids: Sequence[int], *, prices: Sequence[int]) -> list[int]:
    """What each price brings: the price times the number of bids that reach it, all in the same small unit of money.

    Guarantee: prices must be public, not taken from the bids; then `revenue_sensitivity` bounds the change.
    Reference: Dwork & Roth 2014, Section 10.2.1 and Example 3.5 (where a price of $1.00 brings $4.00, not $3.00).
    Textbook: S5.9.
    """
    rungs = sorted(_public(prices))
    # Each bid by itself: an odd one cannot sway the others, and what is not a number reaches no price.
    reached = Counter(bisect_right(rungs, bid) for bid in bids if isinstance(bid, Real) and bid == bid)
    buyers = list(accumulate(reached[height] for height in range(len(rungs), 0, -1)))
    return [int(price) * buyers[len(rungs) - bisect_right(rungs, price)] for price in prices]


def revenue_sensitivity(*, prices: Sequence[int], neighbours: Neighbours | None) -> Sensitivity:
    """One buyer changes a price's revenue by at most the highest price, and never by only 1.

    Textbook: S5.9.
    """
    highest, alike = Fraction(max(_public(prices))), isinstance(stated(neighbours), AddRemove)
    return Sensitivity(linf=highest, monotone=alike, neighbours=neighbours)


def price_grid(*, steps: int) -> list[int]:
    """The prices alpha, 2 alpha, ..., 1 for alpha = 1 / steps, in units of alpha.

    Textbook: S5.9.
    """
    return list(range(1, whole(1, steps=steps) + 1))


def revenue_shortfall(*, buyers: int, steps: int, epsilon: Number, t: Number) -> Fraction:
    """With probability at least 1 - e^-t, the price from the grid brings at least the best revenue less this.

    Valuations lie in [0, 1] and the weights are exp(epsilon * revenue / 2): alpha * buyers is lost to the grid, and
    (2 / epsilon)(ln(1 / alpha) + t) to the choice.
    Reference: Dwork & Roth 2014, Section 10.2.1 with Theorem 3.11.
    Textbook: S5.9.
    """
    count, extra, price = whole(1, steps=steps), not_negative(t=t), positive(epsilon=epsilon)
    with precise():
        choice = upper((ball(count).log() + ball(extra)) * ball(2 / price))
    return Fraction(whole(0, buyers=buyers), count) + choice


def most_gained_by_lying(*, epsilon: Number) -> Fraction:
    """How much a buyer with utilities in [0, 1] can gain by a false bid, if the price is epsilon-DP: at most 2 epsilon.

    Reference: Dwork & Roth 2014, Proposition 10.1 and Section 10.2.1.
    Textbook: S5.9.
    """
    price = positive(epsilon=epsilon)
    if price > 1:
        raise TheoremDoesNotApply(
            "Proposition 10.1", needs="epsilon of at most 1", given=f"epsilon = {price}", instead="e^epsilon - 1"
        )
    return 2 * price


def _public(prices: Sequence[int]) -> list[int]:
    ladder = [whole(1, price=price) for price in prices]
    if not ladder:
        raise InvalidParameter(
            "prices", prices, allowed="at least one price", hint="Fix the prices before you see the bids."
        )
    return ladder
