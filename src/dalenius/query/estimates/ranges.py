"""Ranges of numbers, from noisy counts between public edges: what is made of them is post-processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

LARGEST, SMALLEST = 12, -6
"""Powers of ten: no edge is beyond ±10^12, and none but 0 nearer to it than 10^-6."""
_NEGLIGIBLE = 20


def edges(kind: str) -> list[Decimal]:
    """0, and 1, 2 and 5 times every power of ten up to 10^12, with both signs."""
    powers = range(0 if kind == "Int" else SMALLEST, LARGEST)
    above = [Decimal(factor).scaleb(power) for power in powers for factor in (1, 2, 5)] + [Decimal(1).scaleb(LARGEST)]
    return [*(-edge for edge in reversed(above)), Decimal(0), *above]


def around(edges: Sequence[Decimal], counts: Mapping[int, int], noise: Fraction) -> tuple[Decimal, Decimal] | None:
    """The edges around all counts that stand out of the noise, and one more on each side for values that only few have,
    but not beyond zero; an end near zero becomes zero.

    >>> around([Decimal(0), Decimal(50), Decimal(100), Decimal(200)], {0: 3, 1: 400, 2: 90, 3: -2}, Fraction(20))
    (Decimal('0'), Decimal('200'))
    """
    places = sorted(place for place, count in counts.items() if count > noise)
    if not places:
        return None
    low, high = max(places[0] - 1, 0), min(places[-1], len(edges) - 1)
    lower = edges[low] if edges[low] == 0 else edges[max(low - 1, 0)]
    upper = edges[high] if edges[high] == 0 else edges[min(high + 1, len(edges) - 1)]
    if 0 < lower * _NEGLIGIBLE <= upper:
        lower = Decimal(0)
    if lower <= upper * _NEGLIGIBLE < 0:
        upper = Decimal(0)
    return lower, upper
