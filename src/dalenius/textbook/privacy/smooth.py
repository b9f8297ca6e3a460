"""Local and smooth sensitivity: how far a function can move near one given database.

Local sensitivity depends on the data, so noise of that size tells about the data: **it is never a calibration**. A
smooth bound changes slowly between neighbours, and mechanisms made for it can use it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from dalenius.errors import InvalidParameter, UnusableValue
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, exact, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.textbook.privacy.databases import all_databases
from dalenius.textbook.privacy.sensitivities import change

Row = TypeVar("Row", bound=Hashable)

_DECAY_BITS = 64


def local_sensitivity(
    function: Callable[[Counter[Row]], Sequence[Number] | Number],
    database: Mapping[Row, int],
    *,
    universe: Sequence[Row],
    neighbours: Neighbours,
) -> Fraction:
    """How far, in the l1 norm, one step from this database moves a function, by trying all. Not a calibration.

    Guarantee: none. Noise of scale (local sensitivity / epsilon) is not private; see `smooth_sensitivity`.
    Reference: Dwork & Roth 2014, Definition 7.1.
    Textbook: S3.5.
    """
    here = function(Counter(database))
    moves = (change(function(other), here) for other in stated(neighbours).around(database, tuple(universe)))
    return max((sum((abs(entry) for entry in move), Fraction(0)) for move in moves), default=Fraction(0))


def median(values: Sequence[Number]) -> Fraction:
    """The median of a list; of the two middle values of an even number the smaller one."""
    if not values:
        raise InvalidParameter("values", "none", allowed="at least one value")
    ordered = _sorted(values)
    return ordered[(len(ordered) - 1) // 2]


def median_local_sensitivity(values: Sequence[Number], *, least: Number, most: Number) -> Fraction:
    """The local sensitivity of the median when one value in [least, most] is replaced. Not a calibration.

    It is the larger of the gaps to the next lower and the next higher value; the bounds stand in at the ends.
    Reference: Nissim, Raskhodnikova & Smith 2007, Section 3.1.
    Textbook: S3.5.
    """
    return median_profile(values, least=least, most=most)[0]


def median_profile(values: Sequence[Number], *, least: Number, most: Number) -> tuple[Fraction, ...]:
    """The largest local sensitivity of the median within k replacements, for k = 0, ..., n, in O(n^2) steps.

    At distance k it is the largest x[m+t] - x[m+t-k-1] for t = 0, ..., k+1, with m the place of the median.
    Reference: Nissim, Raskhodnikova & Smith 2007, Proposition 3.4.
    Textbook: S3.6.
    """
    low, high = exact(least=least), exact(most=most)
    ordered = _sorted(values)
    if not ordered or low > ordered[0] or ordered[-1] > high:
        raise InvalidParameter("values", "some outside", allowed=f"at least one value, all between {low} and {high}")
    count = len(ordered)
    middle, padded = (count - 1) // 2 + count + 1, [low] * (count + 1) + ordered + [high] * (count + 1)
    return tuple(max(padded[middle + t] - padded[middle + t - k - 1] for t in range(k + 2)) for k in range(count + 1))


def smooth_sensitivity(
    profile: Sequence[Number], *, beta: Number | None = None, decay: Number | None = None
) -> Fraction:
    """The least bound that changes by a factor of at most e^beta between neighbours: max over k of decay^k profile[k].

    `profile[k]` is the largest local sensitivity within k steps, over all databases there. `decay` stands for e^-beta;
    for a given beta it is a rational just above e^-beta, so that the bound is beta-smooth exactly, not up to rounding.
    Reference: Nissim, Raskhodnikova & Smith 2007, Definition 2.2.
    Textbook: S3.6.
    """
    factor = _decay(beta, decay)
    if not profile:
        raise InvalidParameter("profile", "empty", allowed="the local sensitivities within 0, 1, 2, ... steps")
    return max(factor**k * exact(profile=value) for k, value in enumerate(profile))


def median_smooth_sensitivity(
    values: Sequence[Number], *, least: Number, most: Number, beta: Number | None = None, decay: Number | None = None
) -> Fraction:
    """The smooth sensitivity of the median when values in [least, most] are replaced.

    Textbook: S3.6.
    """
    return smooth_sensitivity(median_profile(values, least=least, most=most), beta=beta, decay=decay)


def is_smooth_bound(
    bound: Callable[[Counter[Row]], Number],
    function: Callable[[Counter[Row]], Number],
    *,
    decay: Number,
    universe: Sequence[Row],
    size: int,
    neighbours: Neighbours,
) -> bool:
    """Whether a bound is never below the local sensitivity, nor below decay times its own value at any neighbour.

    Equality is allowed in both, so a constant function has the smooth bound 0. Tries all databases of this size with
    all their neighbours.
    Textbook: S3.6.
    """
    factor, rows, relation = inside_unit(decay=decay), whole(size=size), stated(neighbours)
    return all(
        exact(bound=bound(x)) >= local_sensitivity(function, x, universe=universe, neighbours=relation)
        and all(
            factor * exact(bound=bound(y)) <= exact(bound=bound(x)) <= exact(bound=bound(y)) / factor
            for y in relation.around(x, tuple(universe))
        )
        for x in all_databases(tuple(universe), [rows])
    )


def _decay(beta: Number | None, decay: Number | None) -> Fraction:
    if (beta is None) == (decay is None):
        raise InvalidParameter("decay", decay, allowed="given instead of beta", hint="State one of the two.")
    if decay is not None:
        return inside_unit(decay=decay)
    assert beta is not None
    with precise(_DECAY_BITS):
        return min(Fraction(1), upper((-ball(positive(beta=beta))).exp()))


def _sorted(values: Sequence[Number]) -> list[Fraction]:
    """The exact values in order. What is not a number is named by its type alone: it may come from a row."""
    try:
        return sorted(exact(value=value) for value in values)
    except InvalidParameter:
        pass
    raise UnusableValue("values", sorted({type(value).__name__ for value in values}), allowed="finite numbers")
