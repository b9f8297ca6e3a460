"""How many values must be added or removed to move the interquartile range out of a bin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.mechanisms.robust.profiles import Ordered
from dalenius.mechanisms.robust.stability import FAR

Numbers: TypeAlias = NDArray[Any]


def edits_out_of_bin(ordered: Ordered, edges: tuple[int, int]) -> int:
    """The least number of values to add or remove so that the interquartile range leaves [least, above).

    Of m values the first quartile has ceil(m/4) values up to it, and the third floor(m/4) + 1 from it on.
    Proof, to make the range at least v: some s and s + v must have so many values up to s and from s + v on. Let u
    and w be how many there are, and `between` how many lie between. Only three edits can serve: adding up to s, adding
    from s + v on, and removing between; to remove a value on one side is never better than to add one on the other,
    since either changes m by one, and to add moves u or w towards what is needed. With e edits of which c remove, m
    is n + e - 2c: two more that remove, in place of two that add, lower both demands by one at most, and give up two.
    So c is 0 or 1. The best s is a value or the lower end: u is as large on the way to the next value, and w is not
    larger there.
    To make the range at most v: some s must have at most ceil(m/4) - 1 values before it, and at most floor(m/4) beyond
    s + v. What can serve is to remove on either side and to add inside, and again one that adds is enough. The best s
    is a value. No values at all are never nearer than a single one.
    For either way and either c, whether e edits suffice for some s can only turn from no to yes as e grows: one edit
    more raises the two demands by at most one together.
    Textbook: S11.5.
    """
    least, above = edges
    return min(_edits_to_at_most(ordered, least - 1), _edits_to_at_least(ordered, above))


def _edits_to_at_least(ordered: Ordered, width: int) -> int:
    if ordered.width < width:
        return FAR
    values = ordered.values
    starts = np.concatenate([np.array([ordered.lower], dtype=values.dtype), values[values <= ordered.upper - width]])
    low = np.searchsorted(values, starts, side="right")
    high = len(values) - np.searchsorted(values, starts + width, side="left")
    between = len(values) - low - high

    def suffices(added: int, removed: int) -> bool:
        count = len(values) + added - removed
        missing = np.maximum(0, -(-count // 4) - low) + np.maximum(0, count // 4 + 1 - high)
        return bool(np.any((missing <= added) & (between >= removed)))

    most = len(values) + 4  # with that many, each end alone can hold half of all values
    return min(_least(suffices, most, c) + c for c in (0, 1) if suffices(most, c))


def _edits_to_at_most(ordered: Ordered, width: int) -> int:
    if width < 0:
        return FAR
    values = ordered.values
    below = np.searchsorted(values, values, side="left")
    beyond = len(values) - np.searchsorted(values, values + width, side="right")

    def suffices(removed: int, added: int) -> bool:
        count = len(values) + added - removed
        extra = np.maximum(0, below - -(-count // 4) + 1) + np.maximum(0, beyond - count // 4)
        return bool(np.any(extra <= removed))

    # With one value left the range is 0.
    return min(_least(suffices, len(values) - 1 + c, c) + c for c in (0, 1))


def _least(suffices: Callable[[int, int], bool], most: int, others: int) -> int:
    """The least number that suffices together with so many others, where `most` does."""
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle, others) else (middle, high)
    return high
