"""Arrays of draws: what `size` means, and filling a result in pieces that stay in the processor's cache.

Integers in, integers out: the values that noise is added to, and an addition that never wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from numbers import Integral
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import UnusableValue
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


Integers = TypeVar("Integers", int, list[int], tuple[int, ...], NDArray[Any])
"""One integer, or a list, tuple or NumPy array of them; what comes out is of the same kind and shape."""


def add_noise(value: Integers, draw: Callable[[int], NDArray[Any]]) -> Integers:
    """`value` plus independent noise on each coordinate, where `draw(n)` gives n of them.

    A NumPy result has dtype int64 if every noisy coordinate fits, and holds Python integers otherwise: the dtype is a
    function of what is released and tells nothing more about the value.
    """
    exact = integer_array(value)
    noisy = _sum(exact, np.asarray(draw(exact.size)).reshape(exact.shape))
    return like(value, noisy)


def like(value: Integers, result: NDArray[Any]) -> Integers:
    """`result` in the form that `value` came in."""
    if isinstance(value, np.ndarray):
        return result
    if isinstance(value, list):
        return list(result.tolist())
    if isinstance(value, tuple):
        return tuple(result.tolist())
    return int(result[()])


def integer_array(value: Any) -> NDArray[Any]:
    """The value as an array of int64, or of Python integers where these do not fit."""
    if isinstance(value, np.ma.MaskedArray):
        raise _not_integers("a masked array")  # its sums leave out what is masked, and so would the noise
    if isinstance(value, np.ndarray):
        return _from_array(np.asarray(value))
    if isinstance(value, list | tuple):
        return _fitted(np.array([_integer(item) for item in value], dtype=object))
    return _fitted(np.array(_integer(value), dtype=object))


def _integer(item: Any) -> int:
    if isinstance(item, bool | np.timedelta64) or not isinstance(item, Integral):
        raise _not_integers(type(item))
    return int(item)  # NumPy's own integers would wrap


def _from_array(value: NDArray[Any]) -> NDArray[Any]:
    if value.dtype.kind == "i":
        return value.astype(np.int64)
    if value.dtype.kind == "u":
        return _fitted(value.astype(object))
    if value.dtype.kind != "O":
        raise _not_integers(value.dtype.type)
    return integer_array(value.ravel().tolist()).reshape(value.shape)


def _fitted(value: NDArray[Any]) -> NDArray[Any]:
    try:
        return value.astype(np.int64)
    except OverflowError:
        return value


def _sum(exact: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    if exact.dtype == noise.dtype == np.int64:
        total = np.asarray(exact + noise)
        if not np.any((exact ^ total) & (noise ^ total) < 0):  # the sign is wrong where the sum has wrapped
            return total
    return _fitted(np.asarray(exact.astype(object) + noise.astype(object), dtype=object))


def _not_integers(given: object) -> UnusableValue:
    # The type may be named, the value may not: it can come from a row.
    return UnusableValue(
        "value",
        given,
        allowed="an integer, or a list, tuple or NumPy array of integers",
        hint="Divide a real number by a public step and round it before noise is added.",
    )
