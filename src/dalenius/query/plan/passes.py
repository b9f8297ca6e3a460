"""Passes: what an engine runs over the data, giving keys and integers that stay sealed until noise is added.

What one engine pass gives: keys and integers, column by column. It lives inside an `Exact`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa
from numpy.typing import NDArray

from dalenius.privacy.exact import Exact
from dalenius.query.plan.relations import Bound
from dalenius.query.types import Number


@dataclass(frozen=True)
class Total:
    """An integer for each group, summed over units; what one unit gives is bounded by `Bound.rows` = r.

    rows      min(n, r) for its n rows                    present   min(n, r) for its n rows where `column` is not NULL
    units     1                                           sum       s, or s * r div n (towards zero) if n > r, for the
                                                                    sum s of its n values of `column` that are not NULL
    """

    kind: Literal["rows", "present", "units", "sum"]
    column: str | None = None


@dataclass(frozen=True)
class Aggregate:
    """Integers for each combination of keys that occurs: one pass of the engine, sealed until noise is added.

    The result has the key columns, in the order of `child.keys`, and an integer column for each total: t0, t1, ...
    """

    child: Bound
    totals: tuple[Total, ...]


@dataclass(frozen=True)
class Values:
    """How often each value of `column` occurs for each combination of keys: for quantiles, modes and histograms.

    NULLs are left out. Of a unit's n > rows values in a group, ordered by value, the i-th counts if
    i * rows div n > (i - 1) * rows div n: exactly `rows` of them, evenly spaced. The result has the key columns, the
    column `value` and the integer column t0.
    """

    child: Bound
    column: str


@dataclass(frozen=True)
class DistinctValues:
    """How many different values of `column` occur for each combination of keys, where each unit keeps at most
    `child.groups` pairs of (keys, value), chosen by the public hash of (unit, keys, value). NULLs are left out.

    The result has the key columns and the integer column t0.
    """

    child: Bound
    column: str


@dataclass(frozen=True)
class UnitBlocks:
    """The rows of each of `blocks` blocks of units: how often each combination of keys occurs in it.

    A unit is in the block number(unit) % blocks, by the public hash: all of its rows are in one block, however many
    they are, and which one depends on that unit alone. Nothing is bounded. The result has the key columns, the column
    `block` and the integer column t0.
    """

    child: Bound
    blocks: int

    @property
    def block(self) -> Number:
        """What the column `block` holds."""
        return Number(False, 0, self.blocks - 1)


Pass: TypeAlias = Aggregate | Values | DistinctValues | UnitBlocks
"""What an engine runs: one pass over the data, giving an Arrow table of keys and integers."""


@dataclass(frozen=True)
class Cells:
    """One entry for each combination of keys that occurs in the data.

    `keys` has an Arrow array of codes for each key column (int64 or decimal128(38, 0) for numbers, days and moments,
    bool, or string; NULL is null); after a `Values` pass the last one holds the values. `totals` has an array of
    integers for each total: int64, or Python integers (dtype object) where these do not fit.
    """

    keys: tuple[pa.Array, ...]
    totals: tuple[NDArray[Any], ...]


RunPass: TypeAlias = Callable[[Pass], Exact[Cells]]
"""Runs one pass over the data, and gives what it found, sealed."""
