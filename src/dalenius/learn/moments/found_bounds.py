"""Bounds of columns that nobody has declared, paid for: noisy counts of values between public edges say where values
lie, first coarsely and then within what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.encoding import Scale
from dalenius.learn.rows import Entries, Integers, SealedRows, entries_of
from dalenius.measuring.released import around, edges
from dalenius.mechanisms.budget_parts import BudgetPart, Noise, deviation
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy

PAID = "paid"
"""What `bounds` is where they are found for a part of the budget."""
SHARE = Fraction(1, 4)
"""The part of the price that bounds cost, half of it for each look."""
FINE = 64
"""How many equal parts the coarse range of a column has in the second look."""
_ALARM = Fraction(1, 100)  # how often a count of nobody is taken for one of people, in one look at a column
_CLEAR = 4.0  # deviations of the noise

Floats = NDArray[np.float64]
Edges: TypeAlias = list[Decimal]
RangeOf: TypeAlias = Callable[[Edges, Integers, Noise], tuple[Decimal, Decimal]]


@dataclass(frozen=True)
class Unbounded:
    """Sealed rows of numbers that may have any size; a row is a unit."""

    features: Exact[Floats]
    width: int
    neighbours: Neighbours

    @classmethod
    def of(cls, features: Floats, neighbours: Neighbours) -> Unbounded:
        inside = Exact(features, sensitivity=Sensitivity(neighbours=neighbours), neighbours=neighbours)
        return cls(inside, features.shape[1], neighbours)

    def counts(self, ends: Sequence[Edges]) -> Exact[Integers]:
        """For each column, how many values lie below its first edge, between each two, and from the last one on.

        Proof of the sensitivity: a row adds 1 to one count of every column; each value is compared with public numbers,
        by itself.
        """
        places = [np.array(column, dtype=np.float64) for column in ends]
        steps = self.neighbours.add_remove_steps
        change = (Sensitivity(l1=self.width, l2_squared=self.width) * steps).under(self.neighbours)
        return self.features.map(lambda features: _counted(features, places), sensitivity=change)

    def within(self, scale: Scale, norm_squared: int) -> SealedRows:
        """The rows, moved into bounds that are public now and scaled to them."""
        reading = _Scaling(scale, norm_squared)
        entries = self.features.map(reading.entries, sensitivity=Sensitivity(neighbours=self.neighbours))
        return SealedRows(entries, self.width, norm_squared)


def found_bounds(rows: Unbounded, budget_part: BudgetPart, entropy: Entropy) -> Scale:
    """Bounds around the values that many rows have, for a share of the budget part.

    Guarantee: two looks at counts, each paid for by an equal part of the share. The edges of the first are the same
    for all data, and those of the second are made of what the first released.
    """
    part = budget_part.equal(2, share=SHARE)
    coarse = _ranges(rows, [edges("Real")] * rows.width, _standing_out, part, budget_part, entropy)
    fine = _ranges(rows, [_evenly(*each) for each in coarse], _trimmed, part, budget_part, entropy)
    lower, upper = (np.array(side, dtype=np.float64) for side in zip(*fine, strict=True))
    return Scale.declared((lower, upper), rows.width)


def _ranges(
    rows: Unbounded, ends: Sequence[Edges], range_of: RangeOf, part: Fraction, budget_part: BudgetPart, entropy: Entropy
) -> list[tuple[Decimal, Decimal]]:
    """One look: the range of every column that noisy counts between edges show."""
    exact = rows.counts(ends)
    noise = budget_part.noise(part, exact.sensitivity)
    counts = measure(noise, exact, budget_part.allowance, entropy)
    return [range_of(*each, noise) for each in zip(ends, counts, strict=True)]


def _standing_out(ends: Edges, counts: Integers, noise: Noise) -> tuple[Decimal, Decimal]:
    """The range around counts that stand out of the noise; where none does, around the largest."""
    clear = Fraction(noise.law.quantile(_ALARM, two_sided=False, count=len(counts)))
    largest = {int(counts.argmax()): 1}
    found = around(ends, dict(enumerate(counts.tolist())), clear) or around(ends, largest, Fraction(0))
    assert found is not None
    return found


def _trimmed(ends: Edges, counts: Integers, noise: Noise) -> tuple[Decimal, Decimal]:
    """The edges without those parts on either side that together hold no more rows than noise might be, but for one;
    all of them where nothing is more than noise."""
    clear = _CLEAR * deviation(noise) * np.sqrt(np.arange(1, len(counts) + 1))
    first, after = (int((np.cumsum(side) > clear).argmax()) for side in (counts, counts[::-1]))
    last = len(counts) - 1 - after
    if first > last:
        first, last = 0, len(ends)
    return ends[max(first - 2, 0)], ends[min(last + 1, len(ends) - 1)]


def _evenly(lower: Decimal, upper: Decimal) -> Edges:
    return [lower + (upper - lower) * place / FINE for place in range(FINE + 1)]


def _counted(features: Floats, places: Sequence[Floats]) -> Integers:
    found = [np.searchsorted(ends, column, side="right") for ends, column in zip(places, features.T, strict=True)]
    return np.stack([np.bincount(each, minlength=len(ends) + 1) for each, ends in zip(found, places, strict=True)])


class _Scaling:
    """Scales rows once, though they are measured several times. It lives inside an `Exact`."""

    def __init__(self, scale: Scale, norm_squared: int) -> None:
        self._scale, self._norm_squared = scale, norm_squared
        self._made: Entries | None = None

    def entries(self, features: Floats) -> Entries:
        if self._made is None:
            nothing = np.zeros(len(features), dtype=np.int64)
            self._made = entries_of(self._scale.scaled(features), nothing, self._norm_squared)
        return self._made
