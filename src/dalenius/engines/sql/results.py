"""From an engine's Arrow table to cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dalenius.query.cells import Cells
from dalenius.query.plan.passes import Pass, UnitBlocks, Values


def cells(step: Pass, table: pa.Table) -> Cells:
    """The keys as Arrow arrays of codes, and the totals as arrays of integers; nothing is rounded."""
    count = len(step.child.keys) + isinstance(step, Values | UnitBlocks)
    columns = [column.combine_chunks() for column in table.columns]
    return Cells(tuple(map(_key, columns[:count])), tuple(map(integers, columns[count:])))


def _key(column: pa.Array) -> pa.Array:
    return pc.cast(column, pa.string()) if pa.types.is_large_string(column.type) else column


def integers(column: pa.Array) -> NDArray[Any]:
    """Integers as int64 where all of them fit, else as Python integers."""
    try:
        return np.asarray(pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        found = np.empty(len(column), dtype=object)
        found[:] = [int(value) for value in column.to_pylist()]
        return found
