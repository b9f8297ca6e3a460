"""Splits of features into leaves: by a public sequence and by noisy counts, never by rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.learn.encoding import Floats
from dalenius.learn.rows import Integers
from dalenius.learn.trees.cells import Layout

_TURN = (5**0.5 - 1) / 2  # the golden section: its multiples fill a circle evenly
_SHIFT = 2**0.5 - 1


@dataclass(frozen=True)
class Splits:
    """Where numbers may be cut, for each feature: at ends of cells, half of them at equal distances and half so that
    about as many rows lie between them, as far as noisy counts tell. Choices have a leaf for each cell."""

    layout: Layout
    cuts: tuple[Integers, ...]

    @classmethod
    def of(cls, layout: Layout, counts: Floats, bins: int) -> Splits:
        """Cuts into at most so many bins."""
        return cls(
            layout,
            tuple(
                _cuts(counts[part], bins) if feature.ordered else np.arange(1, feature.size)
                for feature, part in zip(layout.features, layout.parts, strict=True)
            ),
        )

    def trees(self, rounds: int, leaves: int) -> list[Integers]:
        """For each round, the leaf of every cell: a tree for each feature, numbered one after the other.

        Cuts move on from round to round, so that all of them have their turn; the same in all fits.
        """
        return [self._trees(done, leaves) for done in range(rounds)]

    def _trees(self, done: int, leaves: int) -> Integers:
        found, start = np.zeros(self.layout.cells, dtype=np.int64), 0
        for place, (feature, part) in enumerate(zip(self.layout.features, self.layout.parts, strict=True)):
            cuts = self.cuts[place]
            if feature.ordered and len(cuts) >= leaves:
                cuts = cuts[_chosen(len(cuts), leaves - 1, done, place)]
            found[part] = start + np.searchsorted(cuts, np.arange(feature.size), side="right")
            start += len(cuts) + 1
        return found


def _chosen(several: int, count: int, done: int, place: int) -> Integers:
    """Some of several cuts: one of each of `count` runs of them, another one in each round and for each feature."""
    runs = np.arange(count)
    within = ((done * count + runs + 1) * _TURN + place * _SHIFT) % 1
    return np.floor((runs + within) * several / count).astype(np.int64)


def _cuts(counts: Floats, bins: int) -> Integers:
    wide = np.linspace(0, len(counts), bins // 2 + 1)[1:-1]
    growing = np.maximum.accumulate(np.cumsum(counts))
    shares = growing / max(growing[-1], 1.0)
    even = np.searchsorted(shares, np.arange(1, bins // 2 + 1) / (bins // 2 + 1)) + 1
    return np.unique(np.clip(np.concatenate([np.rint(wide).astype(np.int64), even]), 1, len(counts) - 1))
