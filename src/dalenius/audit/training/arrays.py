"""Arrays that differ in one row, which hurts: far outside the bounds, at a corner of them, with a label that is not
listed, over rows that are ordinary, all equal and of one label, or one alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.audit.training.forms import Learns

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324
UNLISTED = 7
_GOLDEN = np.array([0.6180339887498949, 0.4142135623730951])


@dataclass(frozen=True)
class Arrays:
    """Rows as an owner of arrays has them: features, and what can be learnt from them."""

    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    numbers: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.features)

    def given(self, learns: Learns) -> tuple[Any, ...]:
        """What a fit is called with."""
        target = {"labels": (self.labels,), "numbers": (self.numbers,), "nothing": ()}[learns]
        return self.features.copy(), *target

    def and_one(self, features: Any, label: int, number: float) -> Arrays:
        """The same with one row more."""
        return Arrays(
            np.vstack([self.features, [features]]), np.append(self.labels, label), np.append(self.numbers, number)
        )


def ordinary(count: int = 24) -> Arrays:
    """Rows that fill the box evenly, half of them of each label."""
    features = np.arange(1, count + 1)[:, None] * _GOLDEN % 1
    features[::3] = np.rint(features[::3])
    return Arrays(features, np.arange(count) % 2, features[:, 0])


BASES = {
    "ordinary rows": ordinary(),
    "equal rows of one label": Arrays(np.full((5, 2), 0.5), np.zeros(5, dtype=np.int64), np.full(5, 0.5)),
    "one row": ordinary(1),
}
USUAL = ([0.5, 0.25], 0, 0.5)
HURTFUL = {
    "far outside": ([LARGEST, -LARGEST], 0, LARGEST),
    "at a corner": ([1.0, 1.0], 1, 0.0),
    "of no label": ([0.0, 1.0], UNLISTED, -LARGEST),
    "next to nothing": ([SMALLEST, -0.0], 1, SMALLEST),
}


@dataclass(frozen=True)
class Pair:
    """Two arrays that are neighbours."""

    name: str
    first: Arrays
    second: Arrays


def pairs(neighbours: str, *, few: bool = False) -> Iterator[Pair]:
    """All pairs of a relation, of which the second has the row that hurts; of few, each base and each row once."""
    for number, (base, rows) in enumerate(BASES.items()):
        for place, (kind, hurtful) in enumerate(HURTFUL.items()):
            if few and place % len(BASES) != number:
                continue
            first = rows if neighbours == "add_remove" else rows.and_one(*USUAL)
            yield Pair(f"{base} and one {kind}", first, rows.and_one(*hurtful))
