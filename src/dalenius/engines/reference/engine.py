"""The reference engine: what every pass means, in plain Python on a small database.

It is slow and plain on purpose. DuckDB, PostgreSQL and Spark are compared with it, plan by plan and cell by cell; the
product never runs it on an owner's data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dalenius.engines.durations import EMBEDDED
from dalenius.engines.engine import AS_DECLARED, Reading
from dalenius.engines.hashing import kept, number
from dalenius.engines.reference.canonical import RawRows, import_rows
from dalenius.engines.reference.relations import Owner, Row, Stored, in_order, rows_of, scaled_sum
from dalenius.privacy.exact import Exact
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.plan.passes import Aggregate, Cells, DistinctValues, Pass, Total, UnitBlocks, Values
from dalenius.query.plan.relations import Bound
from dalenius.query.tables import Table
from dalenius.query.types import Bool, Code, Domain, Ranged

Key: TypeAlias = tuple[Code, ...]
Groups: TypeAlias = dict[Owner, dict[Key, list[Row]]]
Result: TypeAlias = dict[Key, list[int]]
"""Integers for each key that occurs; after a `Values` pass the value is the last part of the key."""


class ReferenceEngine:
    """A small database in memory, and the passes over it; an `Engine` that takes its time."""

    def __init__(self, tables: Iterable[Table] = (), rows: RawRows | None = None) -> None:
        self._tables: dict[str, Table] = {}
        self._raw: dict[str, Sequence[Mapping[str, Any]]] = {}
        self._stored: Stored | None = None
        for table in tables:
            self.register(table, (rows or {})[table.name])

    def register(
        self,
        table: Table,
        source: Any,
        *,
        counts: bool = False,
        reading: Reading = AS_DECLARED,
        keep_earlier: bool = False,
    ) -> None:
        """Take the raw rows of a table: a sequence of mappings from column to value, or an Arrow table."""
        found = source.to_pylist() if isinstance(source, pa.Table) else list(source)
        rows = [{**row, **{name: row.get(other) for name, other in reading.rename}} for row in found]
        self._tables[table.name], self._raw[table.name], self._stored = table, rows, None

    def counted(self, table: Table) -> Table:
        """A public table with its figures; a private one as it is."""
        if table.protection is not None:
            return table
        rows = [row.values for row in import_rows(table, self._raw, self._tables)]
        repeats = [(name, _most_frequent([row[name] for row in rows])) for name, _ in table.columns]
        return replace(table, rows=max(1, len(rows)), repeats=tuple(repeats))

    def compile_sql(self, step: Pass) -> str:
        """What is run: the pass itself."""
        return repr(step)

    def expected_seconds(self, step: Pass) -> float:
        """About how long a pass over a few rows takes; nobody waits for this engine."""
        return EMBEDDED.start

    def run(
        self,
        step: Pass,
        *,
        sql: str | None = None,
        seconds: float | None = None,
        tick: Callable[[float], object] | None = None,
    ) -> Exact[Cells]:
        """The result, sealed; whoever made the plan maps it with the right sensitivity."""
        cells = as_cells(step, self.result(step))
        return Exact(cells, sensitivity=Sensitivity(), neighbours=step.child.neighbours)

    def result(self, step: Pass) -> Result:
        """The exact result, for tests: integers for each key that occurs."""
        if self._stored is None:
            self._stored = {name: import_rows(table, self._raw, self._tables) for name, table in self._tables.items()}
        return result(step, self._stored)

    def close(self) -> None:
        """Forget all rows."""
        self._tables, self._raw, self._stored = {}, {}, None


def _most_frequent(codes: list[Code]) -> int:
    """How often the most frequent code occurs, NULL aside; at least once."""
    return max(Counter(code for code in codes if code is not None).values(), default=1)


@singledispatch
def result(step: Pass, stored: Stored) -> Result:
    """The result of a pass."""
    raise TypeError(f"{type(step).__name__} is no pass")


@result.register
def _(step: Aggregate, stored: Stored) -> Result:
    found: Result = {}
    for _, key, rows in bounded(step.child, stored):
        given = [contribution(total, rows, step.child.rows) for total in step.totals]
        before = found.get(key, [0] * len(given))
        found[key] = [old + new for old, new in zip(before, given, strict=True)]
    return found


@result.register
def _(step: Values, stored: Stored) -> Result:
    found: Result = {}
    for _, key, rows in bounded(step.child, stored):
        for value in evenly_spaced(_present(step.column, rows), step.child.rows):
            found.setdefault((*key, value), [0])[0] += 1
    return found


@result.register
def _(step: DistinctValues, stored: Stored) -> Result:
    pairs: set[Key] = set()
    for owner, groups in _by_owner(step.child, stored).items():
        mine = {(*key, value) for key, rows in groups.items() for value in _present(step.column, rows)}
        pairs |= set(_kept(owner, mine, step.child.groups))
    found: Result = {}
    for pair in pairs:
        found.setdefault(pair[:-1], [0])[0] += 1
    return found


@result.register
def _(step: UnitBlocks, stored: Stored) -> Result:
    found: Result = {}
    for owner, groups in _by_owner(step.child, stored).items():
        assert owner is not None
        for key, rows in groups.items():
            found.setdefault((*key, number(owner[1]) % step.blocks), [0])[0] += len(rows)
    return found


def bounded(bound: Bound, stored: Stored) -> Iterable[tuple[Owner, Key, list[Row]]]:
    """The rows of each unit and key, of those keys of the unit that are kept."""
    for owner, groups in _by_owner(bound, stored).items():
        for key in _kept(owner, groups, bound.groups):
            yield owner, key, groups[key]


def contribution(total: Total, rows: list[Row], most: int) -> int:
    """What the rows of one unit and key add to a total."""
    if total.kind == "units":
        return 1
    if total.kind == "rows":
        return min(len(rows), most)
    assert total.column is not None
    present = _present(total.column, rows)
    return min(len(present), most) if total.kind == "present" else scaled_sum(present, most)


def evenly_spaced(values: list[Code], most: int) -> list[Code]:
    """At most so many of the values, evenly spaced in their order."""
    count = len(values)
    if count <= most:
        return values
    ordered = sorted(values, key=in_order)
    return [value for i, value in enumerate(ordered, 1) if i * most // count > (i - 1) * most // count]


def _kept(owner: Owner, keys: Iterable[Key], groups: int | None) -> list[Key]:
    assert owner is not None
    assert owner[1] is not None
    return kept(owner[1], keys, groups)


def _by_owner(bound: Bound, stored: Stored) -> Groups:
    found: Groups = {}
    for row in rows_of(bound.child, stored):
        key = tuple(row.values[name] for name in bound.keys)
        found.setdefault(row.owner, {}).setdefault(key, []).append(row)
    return found


def _present(column: str, rows: list[Row]) -> list[Code]:
    return [row.values[column] for row in rows if row.values[column] is not None]


def as_cells(step: Pass, totals: Result) -> Cells:
    """Keys and integers column by column, sorted by key with NULL first."""
    keys = sorted(totals, key=lambda key: [(code is not None, in_order(code or 0)) for code in key])
    names = (*step.child.keys, *([step.column] if isinstance(step, Values) else []))
    domains = [*(step.child.schema[name] for name in names), *([step.block] if isinstance(step, UnitBlocks) else [])]
    columns = [_array(domain, [key[place] for key in keys]) for place, domain in enumerate(domains)]
    width = len(step.totals) if isinstance(step, Aggregate) else 1
    return Cells(tuple(columns), tuple(_numbers([totals[key][place] for key in keys]) for place in range(width)))


def _array(domain: Domain, codes: list[Code]) -> pa.Array:
    if isinstance(domain, Ranged):
        small = max(abs(domain.lower), abs(domain.upper)) < 2**63
        return pa.array(codes, type=pa.int64() if small else pa.decimal128(38, 0))
    return pa.array(codes, type=pa.bool_() if isinstance(domain, Bool) else pa.string())


def _numbers(values: list[int]) -> NDArray[Any]:
    small = all(abs(value) < 2**63 for value in values)
    return np.array(values, dtype=np.int64 if small else object)
