"""Noisy marginals as an answer that a ledger stores, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from math import ceil

import numpy as np

from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.columns import Column
from dalenius.query.estimates.kinds import COUNT, REAL, TEXT
from dalenius.release.grid import Grid
from dalenius.release.inference.fitting import Measured
from dalenius.release.synthetic.bars import BAR


def as_answer(measured: Iterable[Measured]) -> Answer:
    """The noisy marginals as a table: which columns, which cell, and its noisy count."""
    marginals: list[str] = []
    cells: list[int] = []
    counts: list[int] = []
    deviations: list[float] = []
    for part in measured:
        size = part.counts.size
        marginals += [", ".join(part.columns)] * size
        cells += range(size)
        counts += [int(number) for number in part.counts.ravel()]
        deviations += [part.deviation] * size
    bars = tuple(ceil(BAR * deviation) for deviation in deviations)
    return Answer(
        (
            Column("marginal", tuple(marginals), kind=TEXT, is_key=True),
            Column("cell", tuple(cells), kind=COUNT, is_key=True),
            Column("count", tuple(counts), bars, COUNT),
            Column("deviation", tuple(deviations), kind=REAL),
        )
    )


def from_answer(answer: Answer, grid: Grid) -> Iterator[Measured]:
    """The noisy marginals that an answer lists, in order; a marginal that was measured twice stands there twice."""
    lines = zip(answer["marginal"], answer["cell"], answer["count"], answer["deviation"], strict=True)
    begun = -1
    numbered = []
    for marginal, cell, count, deviation in lines:
        begun += cell == 0
        numbered.append((begun, marginal, count, deviation))
    for _, part in groupby(numbered, key=lambda line: line[0]):
        listed = list(part)
        columns = grid.ordered(listed[0][1].split(", "))
        counts = np.array([count for _, _, count, _ in listed], dtype=np.float64)
        yield Measured(columns, counts.reshape(grid.shape(columns)), float(listed[0][3]))
