"""Rows to learn from: integers on a public grid, sealed, of which only bounded sums can be taken.

Products of integer matrices, exact and as fast as floats: float64 holds every integer below 2^53 exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.sensitivity import Sensitivity

ONE = 2**12
"""The grid of features: 1 is so many steps. No feature is larger than 1 in size."""
PIECE = 2**14
"""How many entries are worked on at once, and how many equal rows one entry stands for at most."""

Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Entries:
    """Some rows: features in steps of 1 / ONE, a target for each, and how many equal rows an entry stands for. It lives
    inside an `Exact`."""

    features: NDArray[np.int16]
    target: Integers
    counts: Integers

    def __len__(self) -> int:
        return len(self.target)

    def pieces(self) -> Iterator[Entries]:
        """The rows, `PIECE` entries at a time; one piece where there are none."""
        for start in range(0, max(1, len(self)), PIECE):
            part = slice(start, start + PIECE)
            yield Entries(self.features[part], self.target[part], self.counts[part])


class Summable(ABC):
    """Rows of which bounded sums can be taken, wherever they are, and the public facts about them.

    No row has a norm of more than `norm_squared` (in steps of the grid, squared), and one unit has at most `most` rows.
    """

    width: int
    norm_squared: int
    most: int

    @property
    @abstractmethod
    def neighbours(self) -> Neighbours:
        """The relation that sensitivities are stated for."""

    @abstractmethod
    def summed(self, part: Any, *, l2_squared: int, l1: int) -> Exact[Integers]:
        """A sealed sum over rows, to which every row adds a vector with these norms at most."""

    @abstractmethod
    def count(self) -> Exact[Integers]:
        """How many rows there are, sealed."""

    def ready(self, *parts: Any) -> None:
        """Sums that will be taken: where rows are far away, they are looked at once for all of them."""
        return

    def change(self, *, l2_squared: int, l1: int) -> Sensitivity:
        """How far one unit moves a sum to which every row adds a vector with these norms at most."""
        steps = self.most * self.neighbours.add_remove_steps
        return (Sensitivity(l1=l1, l2_squared=l2_squared) * steps).under(self.neighbours)


@dataclass(frozen=True)
class SealedRows(Summable):
    """Sealed rows in memory."""

    entries: Exact[Entries]
    width: int
    norm_squared: int
    most: int = 1

    @property
    def neighbours(self) -> Neighbours:
        return self.entries.neighbours

    def summed(self, part: Callable[[Entries], Integers], *, l2_squared: int, l1: int) -> Exact[Integers]:
        """A sealed sum over rows; `part` gives the sum over some entries. Whoever calls vouches for the norms of what
        one row adds, and that it depends on that row alone."""
        return self.entries.map(
            lambda entries: np.asarray(sum(part(piece) for piece in entries.pieces())),
            sensitivity=self.change(l2_squared=l2_squared, l1=l1),
        )

    def count(self) -> Exact[Integers]:
        """How many rows there are, sealed."""
        return self.entries.map(
            lambda entries: np.array([int(entries.counts.sum())]), sensitivity=self.change(l2_squared=1, l1=1)
        )


def entries_of(features: NDArray[np.float64], target: Integers, norm_squared: int) -> Entries:
    """Rows with features from -1 to 1 on the grid; what is longer than the norm is shortened."""
    return Entries(steps_of(features, norm_squared), np.asarray(target), np.ones(len(features), dtype=np.int64))


def steps_of(features: NDArray[np.float64], norm_squared: int) -> NDArray[np.int16]:
    """Features from -1 to 1 in steps of the grid, each row by itself; what is longer than the norm is shortened."""
    steps = np.clip(features, -1.0, 1.0)
    steps *= ONE
    return within_norm(np.rint(steps, out=steps), norm_squared)


def sealed(entries: Entries, norm_squared: int, neighbours: Neighbours, *, most: int = 1) -> SealedRows:
    """Rows that the caller may see, sealed; the caller vouches for the norm, and for the number of rows of a unit."""
    inside = Exact(entries, sensitivity=Sensitivity(neighbours=neighbours), neighbours=neighbours)
    return SealedRows(inside, entries.features.shape[1], norm_squared, most)


def within_norm(features: NDArray[np.float64], norm_squared: int) -> NDArray[np.int16]:
    """Whole numbers of steps, none larger than ONE, with rows of too large a norm multiplied by a fraction below 1 and
    cut towards 0.

    Proof that lengths are rounded up: sums of squares are whole numbers below 2^52, which floats hold exactly; their
    roots, correctly rounded, are whole only where they are so exactly.
    """
    if features.shape[1] >= 1 << 28:
        raise OverflowError("sums of squares beyond 52 bits")
    squares = np.einsum("ij,ij->i", features, features)
    long = squares > norm_squared
    kept = features.astype(np.int16)
    if long.any():
        steps, lengths = features[long].astype(np.int64), np.ceil(np.sqrt(squares[long])).astype(np.int64)
        kept[long] = np.sign(steps) * (np.abs(steps) * isqrt(norm_squared) // lengths[:, None])
    return kept


_EXACT = 2**53
_WIDE = 2**63


def product(left: NDArray[Any], right: NDArray[Any], *, largest: int) -> NDArray[np.int64]:
    """The matrix product of integers, where the product of an entry of `left` and one of `right` is at most `largest`
    in size.

    Proof that it is exact: a piece of 2^53 // largest terms has partial sums below 2^53, whatever the order in which
    they are added, and float64 holds these exactly. Pieces are added as int64, which the length that is checked allows.
    """
    length = left.shape[1]
    if largest * length >= _WIDE:
        raise OverflowError("sums beyond 63 bits")
    piece = max(1, _EXACT // largest)
    total = np.zeros((left.shape[0], *right.shape[1:]), dtype=np.int64)
    for start in range(0, length, piece):
        part = left[:, start : start + piece].astype(np.float64) @ right[start : start + piece].astype(np.float64)
        total += part.astype(np.int64)
    return total
