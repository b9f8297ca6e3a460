"""What one engine pass gives: keys and integers, column by column. It lives inside an `Exact`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from numpy.typing import NDArray

from dalenius.privacy.exact import Exact
from dalenius.query.plan.passes import Pass


@dataclass(frozen=True)
class Cells:
    """One entry for each combination of keys that occurs in the data.

    `keys` has an Arrow array of codes for each key column (int64 or decimal128(38, 0) for numbers, days and moments,
    bool, or string; NULL is null); after a `Values` pass the last one holds the values. `totals` has an array of
    integers for each total: int64, or Python integers (dtype object) where these do not fit.
    """

    keys: tuple[pa.Array, ...]
    totals: tuple[NDArray[Any], ...]


Look: TypeAlias = Callable[[Pass], Exact[Cells]]
"""Runs one pass over the data, and gives what it found, sealed."""
