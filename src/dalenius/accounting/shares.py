"""Shares of a budget, backwards: the epsilon that buys one, and the least one that suffices."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from dalenius.accounting.amounts import Amount
from dalenius.accounting.budget import Rectangle
from dalenius.errors import InvalidParameter

_HALVINGS, _REFINEMENTS, _TRIES = 60, 10, 5
_CLOSE = Fraction(1001, 1000)


def epsilon_of(rectangle: Rectangle, share: Fraction) -> Fraction:
    """The epsilon that buys this share, from above: the inverse of `Rectangle.amount`, to three digits."""
    if rectangle.order is None or share >= 1:
        return share * rectangle.budget.epsilon
    reached = cheapest(lambda part: _share_of(rectangle, part) >= share)
    return rectangle.budget.epsilon * (reached or 1)


def _share_of(rectangle: Rectangle, part: Fraction) -> Fraction:
    try:
        return rectangle.share(rectangle.amount(epsilon=part * rectangle.budget.epsilon))
    except InvalidParameter:  # too little for any Rényi order
        return Fraction(0)


def affordable(rectangle: Rectangle, left: Amount) -> Fraction | None:
    """An epsilon of two digits that what is left still pays for, near the largest; None where there is none."""
    sides = [Fraction(left.divergence, rectangle.cap.divergence)]
    sides += [Fraction(left.delta, rectangle.cap.delta)] if rectangle.cap.delta else []
    if not min(sides):
        return None
    epsilon = epsilon_of(rectangle, min(sides))
    for _ in range(_TRIES):
        rounded = _two_digits(epsilon)
        try:
            if rectangle.amount(epsilon=rounded) <= left:
                return rounded
        except InvalidParameter:  # too little for any Rényi order
            return None
        epsilon = epsilon * 9 / 10
    return None


def _two_digits(value: Fraction) -> Fraction:
    """Rounded down to two digits."""
    unit = Fraction(10) ** (Decimal(float(value)).adjusted() - 1)
    return value // unit * unit


def cheapest(suffices: Callable[[Fraction], bool], *, halvings: int = _HALVINGS) -> Fraction | None:
    """The least share that suffices, to a thousandth of itself; None where the whole budget does not.

    So many `halvings` of the whole budget are as little as is looked at. `suffices` must stay true once it is true
    for a smaller share; it is asked about log2(halvings) + 13 times.
    """
    if not suffices(Fraction(1)):
        return None
    least = Fraction(1, 2**halvings)
    if suffices(least):
        return least
    few, many = 0, halvings  # halvings that leave enough, and too little
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if suffices(Fraction(1, 2**middle)) else (few, middle)
    return _refined(suffices, Fraction(1, 2**few))


def cheapest_within(excess: Callable[[Fraction], Fraction | None], *, halvings: int = _HALVINGS) -> Fraction | None:
    """The same, where it is known how many times too much something is at a share: 1 or less suffices, None is beyond
    measure. It is asked about half as often: what lies between is taken for a power of the share.
    """
    enough, short = Fraction(1), Fraction(1, 2**halvings)
    under, over = excess(enough), excess(short)
    if under is None or under > 1:
        return None
    if over is not None and over <= 1:
        return short
    poor = False
    while enough > short * _CLOSE:
        before, guessed = enough / short, not poor
        if over and under and guessed:
            share = _crossing(short, over, enough, under)
        else:
            share, guessed = _middle(short, enough), False
        found = excess(share)
        if found is not None and found <= 1:
            enough, under = share, found
        else:
            short, over = share, found
        poor = guessed and (enough / short) ** 2 > before  # no better than the middle, which is next
    return enough


def _crossing(short: Fraction, over: Fraction, enough: Fraction, under: Fraction) -> Fraction:
    """About where the excess is 1, and so far inside that a bracket around it closes."""
    height = math.log(over)
    way = height / (height - math.log(under)) if over != under else 0.5
    guess = _rounded(float(short) * (float(enough) / float(short)) ** way)
    near = (_CLOSE - 1) / 2
    return max(short * (1 + near), min(enough / (1 + near), guess))


def _middle(short: Fraction, enough: Fraction) -> Fraction:
    return _rounded(math.sqrt(short * enough))


def _rounded(share: float) -> Fraction:
    """To few bits, so that it is the same wherever logarithms are."""
    size, exponent = math.frexp(share)
    return Fraction(round(size * 2**16), 2**16) * Fraction(2) ** exponent


def _refined(suffices: Callable[[Fraction], bool], enough: Fraction) -> Fraction:
    """The least share that suffices, between one that does and its half, which does not."""
    short = enough / 2
    for _ in range(_REFINEMENTS):
        middle = (enough + short) / 2
        enough, short = (middle, short) if suffices(middle) else (enough, middle)
    return enough
