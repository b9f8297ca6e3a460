"""Batches as they were billed: every row in every batch with the same chance, independently of all other rows and
batches."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from dalenius.learn.linear import batches
from dalenius.learn.rows import ONE, Entries
from dalenius.randomness.entropy import fresh_entropy

ROWS = 24
RATE = Fraction(1, 4)
ALARM = 1e-6
"""A right sampler fails less often than this."""
_FEWEST = 10


def inclusions(steps: int) -> Mapping[str, float]:
    """The chance of what so many batches show, or worse, by what they are billed as: of their sizes, of how often each
    row is in them, and of how often it is in two that follow each other."""
    came = drawn(steps)
    pairs = came[:-1:2] & came[1::2]
    return {
        "sizes of batches": _sizes(came.sum(axis=1)),
        "rows in batches": _rows(came, float(RATE)),
        "rows in two batches in a row": _rows(pairs, float(RATE) ** 2),
    }


def drawn(steps: int) -> NDArray[np.bool_]:
    """For each of so many batches, which rows are in it."""
    places = np.arange(ROWS) * (ONE // ROWS)
    entries = Entries(places[:, None].astype(np.int16), np.zeros(ROWS, dtype=np.int64), np.ones(ROWS, dtype=np.int64))
    entropy, came = fresh_entropy(), np.zeros((steps, ROWS), dtype=np.bool_)
    for step in range(steps):
        chosen = batches.batch(entries, RATE, entropy)
        came[step, chosen.features[:, 0] // (ONE // ROWS)] = True
    return came


def _sizes(sizes: NDArray[np.int64]) -> float:
    """Pearson's test against the binomial law; sizes that are expected seldom are one."""
    expected = len(sizes) * _binomial(ROWS, float(RATE))
    observed = np.bincount(sizes, minlength=ROWS + 1).astype(np.float64)
    common = expected >= _FEWEST
    cells = [np.append(each[common], each[~common].sum()) for each in (observed, expected)]
    return float(special.chdtrc(common.sum(), ((cells[0] - cells[1]) ** 2 / cells[1]).sum()))


def _rows(came: NDArray[np.bool_], rate: float) -> float:
    """How often each row came, all together against independent coins."""
    apart = (came.sum(axis=0) - len(came) * rate) ** 2 / (len(came) * rate * (1 - rate))
    return 2 * min(float(special.chdtrc(ROWS, apart.sum())), float(special.chdtr(ROWS, apart.sum())))


def _binomial(count: int, rate: float) -> NDArray[np.float64]:
    sizes = np.arange(count + 1)
    return np.asarray(special.binom(count, sizes) * rate**sizes * (1 - rate) ** (count - sizes))
