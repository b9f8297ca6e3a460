"""Arrays of draws: what `size` means, and filling a result in pieces that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.privacy.numbers import whole

Size: TypeAlias = int | tuple[int, ...]

PIECE = 1 << 15
_INT64 = range(-(1 << 63), 1 << 63)


def shape(size: Size) -> tuple[int, ...]:
    """`size` as a tuple of whole numbers, zero or more."""
    sides = size if isinstance(size, tuple) else (size,)
    return tuple(whole(size=side) for side in sides)


def count(size: Size) -> int:
    """How many draws `size` asks for."""
    return prod(shape(size))


def filled(size: Size, kind: type[Any], fill: Callable[[NDArray[Any]], None]) -> NDArray[Any]:
    """A new array whose pieces were each handed to `fill`."""
    result = np.empty(count(size), dtype=kind)
    for start in range(0, result.size, PIECE):
        fill(result[start : start + PIECE])
    return result.reshape(shape(size))


def collected(size: Size, draw: Callable[[], int]) -> NDArray[Any]:
    """Draws taken one at a time: 64-bit integers if all fit, or else Python integers in an object array."""
    values = [draw() for _ in range(count(size))]
    fits = all(value in _INT64 for value in values)
    return np.array(values, dtype=np.int64 if fits else object).reshape(shape(size))
