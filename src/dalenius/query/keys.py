"""The keys of an answer: every public combination of declared values, or a list that was chosen privately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dalenius.query.types import Code, Domain, Ranged

Key: TypeAlias = tuple[Code, ...]
"""A code for each key column."""

MOST_KEYS = 10**6
"""The most public keys that one answer may have."""


@dataclass(frozen=True)
class KeySpace:
    """All combinations of the codes of some domains with public values; the last domain runs fastest."""

    domains: tuple[Domain, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        sizes = [domain.size for domain in self.domains]
        assert None not in sizes
        return tuple(size for size in sizes if size is not None)

    @property
    def size(self) -> int:
        return prod(self.sizes)

    def keys(self) -> list[Key]:
        """Every key, in order."""
        return list(product(*(domain.codes() for domain in self.domains)))

    def dense(self, keys: Sequence[pa.Array], total: NDArray[Any]) -> NDArray[Any]:
        """One number for each key of the space, zero where it does not occur; keys outside the space are left out."""
        return _summed(self.positions(keys, len(total)), total, self.size)

    def positions(self, keys: Sequence[pa.Array], length: int) -> NDArray[np.int64]:
        """The place of each of `length` keys in the space, or -1."""
        places, outside = np.zeros(length, dtype=np.int64), np.zeros(length, dtype=bool)
        for domain, size, column in zip(self.domains, self.sizes, keys, strict=True):
            place = _places(domain, size, column)
            outside |= place < 0
            places = places * size + place
        places[outside] = -1
        return places


@dataclass(frozen=True)
class ListedKeys:
    """Keys that were chosen, in the order in which they are shown."""

    listed: tuple[Key, ...]

    @property
    def size(self) -> int:
        return len(self.listed)

    def keys(self) -> Sequence[Key]:
        """Every key, in order."""
        return self.listed

    def dense(self, keys: Sequence[pa.Array], total: NDArray[Any]) -> NDArray[Any]:
        """One number for each listed key, zero where it does not occur; other keys are left out."""
        return _summed(self.positions(keys, len(total)), total, self.size)

    def positions(self, keys: Sequence[pa.Array], length: int) -> NDArray[np.int64]:
        """The place of each of `length` keys in the list, or -1."""
        place = {key: index for index, key in enumerate(self.listed)}
        return np.array([place.get(key, -1) for key in key_tuples(keys, length)], dtype=np.int64)


def _summed(places: NDArray[np.int64], total: NDArray[Any], size: int) -> NDArray[Any]:
    known = places >= 0
    vector = np.zeros(size, dtype=total.dtype)
    np.add.at(vector, places[known], total[known])
    return vector


def key_tuples(keys: Sequence[pa.Array], length: int) -> list[Key]:
    """The keys one by one, as codes."""
    columns = [[_code(value) for value in column.to_pylist()] for column in keys]
    return list(zip(*columns, strict=True)) if columns else [()] * length


def _code(value: Any) -> Code:
    return int(value) if isinstance(value, Decimal) else value


def _places(domain: Domain, size: int, column: pa.Array) -> NDArray[np.int64]:
    """The place of each code among the domain's codes, NULL being the last one, or -1."""
    missing = np.asarray(column.is_null())
    if isinstance(domain, Ranged):
        codes, listed = _integers(column, missing), _array(domain.or_null(False).codes())
        places = np.searchsorted(listed, codes).astype(np.int64)
        places[listed[np.minimum(places, len(listed) - 1)] != codes] = -1
    else:
        values = pa.array(domain.or_null(False).codes(), type=column.type)
        found = pc.index_in(column, value_set=values)
        places = np.asarray(found.fill_null(-1)).astype(np.int64)
    places[missing] = size - 1 if domain.nullable else -1
    return places


def _integers(column: pa.Array, missing: NDArray[np.bool_]) -> NDArray[Any]:
    """The codes as integers, with 0 for NULL."""
    if pa.types.is_integer(column.type):
        return np.asarray(column.fill_null(0)).astype(np.int64)
    return _array([0 if gone else int(code.as_py()) for code, gone in zip(column, missing, strict=True)])


def _array(codes: Sequence[Any]) -> NDArray[Any]:
    """Integers as int64, or as Python integers where they do not fit: never as floats."""
    try:
        return np.array(codes, dtype=np.int64)
    except OverflowError:
        return np.array(codes, dtype=object)
