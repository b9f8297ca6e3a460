"""How passes are spelled in SQL: first per unit, then bounded, then per group.

Each step is a common table expression, so that `explain` reads from top to bottom. Steps that cannot change anything
for public reasons are left out: where a unit has no more rows than count, rows are not grouped by unit, and where a
unit cannot have more groups than it may keep none are left out.

From an engine's Arrow table to cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dalenius.engines.sql.dialect import Dialect, SQLRelation
from dalenius.engines.sql.hashes import folded, folded_identity, folded_unit, group_hash, key_number, mixed
from dalenius.engines.sql.keeping import unit_id
from dalenius.engines.sql.relations import at_most, require_sum, rows, scaled
from dalenius.query.plan.figures import combinations, least_known
from dalenius.query.plan.passes import Aggregate, Cells, DistinctValues, Pass, Total, UnitBlocks, Values
from dalenius.query.plan.relations import Bound, Clamp, Filter, Group, LimitPerUnit, Project, Relation, Scan, UnitFilter
from dalenius.query.types import Bool, Domain, Ranged, Text


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


@dataclass(frozen=True)
class KeyPart:
    """A part of a key: its quoted column, its domain, what orders it (integers by size, texts by their bytes), and
    the table of its texts if it is a code."""

    column: str
    domain: Domain
    rank: str
    texts: str | None = None


def part(d: Dialect, bound: Bound, source: SQLRelation, name: str, column: str | None = None) -> KeyPart:
    """A column of what is bounded, as a part of a key; under another quoted name, if one is given."""
    column, texts = column or d.quote(name), source.coded.get(name)
    return KeyPart(column, bound.child.schema[name], d.text_rank(column) if texts else column, texts)


class CommonTables:
    """Common table expressions, one built on another."""

    def __init__(self, d: Dialect, first: str) -> None:
        self._dialect, self._steps = d, [("contributions", first)]

    def add(self, name: str, select: str, rest: str = "") -> None:
        """A step that selects from the last one."""
        self._steps.append((name, f"SELECT {select} FROM {self._steps[-1][0]}{' ' + rest if rest else ''}"))

    def finish(self, select: str, rest: str = "") -> str:
        """The whole query, with a last SELECT."""
        inlined = f"{self._dialect.inlined} " if self._dialect.inlined else ""
        named = ",\n".join(f"{name} AS {inlined}(\n  {sql}\n)" for name, sql in self._steps)
        return f"WITH {named}\nSELECT {select} FROM {self._steps[-1][0]}{' ' + rest if rest else ''}"


@singledispatch
def compile_sql(step: Pass, d: Dialect) -> str:
    """The SQL of a pass."""
    raise TypeError(f"{type(step).__name__} is no pass")


@compile_sql.register
def _(step: Aggregate, d: Dialect) -> str:
    bound, source = step.child, rows(step.child.child, d)
    keys = [part(d, bound, source, name) for name in bound.keys]
    for total in step.totals:
        if total.kind == "sum":
            require_sum(bound.child.schema[total.column or ""], bound.rows)
    steps = CommonTables(d, source.sql)
    if _as_they_are(step):
        totals = [_of_row(d, total) for total in step.totals]
    else:
        grouping, gathered = [d.owner, *(key.column for key in keys)], _gathered(d, step)
        named = [f"{term} AS {name}" for name, term in gathered.items()]
        steps.add("per_unit", _list([*grouping, *named]), f"GROUP BY {_list(grouping)}")
        _keep(d, steps, bound, keys, [*grouping, *gathered], rank="row_number()")
        totals = [_bounded(d, total, _place(step, total), bound.rows) for total in step.totals]
    return _grouped(d, steps, keys, [f"coalesce({d.summed(total)}, 0)" for total in totals])


@compile_sql.register
def _(step: Values, d: Dialect) -> str:
    bound, source = step.child, rows(step.child.child, d)
    keys = [part(d, bound, source, name) for name in bound.keys]
    named = part(d, bound, source, step.column, "value")
    groups = [d.owner, *(key.column for key in keys)]
    group = _list(groups)
    steps = CommonTables(d, source.sql)
    steps.add("chosen", f"{group}, {d.quote(step.column)} AS value")
    steps.add("per_unit", f"{group}, value, count(*) AS n", f"GROUP BY {group}, value")
    _keep(d, steps, bound, keys, [*groups, "value", "n"], rank="dense_rank()")
    steps.add("present", "*", "WHERE value IS NOT NULL")
    counted = "n"
    limit = bound.child.rows_of_unit
    if limit is None or limit > bound.rows:
        running = f"sum(n) OVER (PARTITION BY {group} ORDER BY {named.rank} ROWS UNBOUNDED PRECEDING) AS upto"
        steps.add("ranked", f"*, {running}, sum(n) OVER (PARTITION BY {group}) AS of_unit")
        counted = f"CASE WHEN of_unit > {bound.rows} THEN {_spaced(d, bound.rows)} ELSE n END"
    total = d.summed(counted)
    return _grouped(d, steps, [*keys, named], [total], having=f"{total} > 0")


def _spaced(d: Dialect, most: int) -> str:
    """How many of the n values up to `upto` are among `most` evenly spaced ones of the `of_unit` of a unit."""
    count = f"NULLIF({d.cast('of_unit', d.wide)}, 0)"
    upto, before = (f"({d.cast(place, d.wide)} * {most})" for place in ("upto", "(upto - n)"))
    return f"{d.quotient(upto, count, d.wide)} - {d.quotient(before, count, d.wide)}"


@compile_sql.register
def _(step: DistinctValues, d: Dialect) -> str:
    bound, source = step.child, rows(step.child.child, d)
    keys = [part(d, bound, source, name) for name in bound.keys]
    pair = [*keys, part(d, bound, source, step.column, "value")]
    steps, value = CommonTables(d, source.sql), d.quote(step.column)
    columns = _list([d.owner, *(key.column for key in keys), f"{value} AS value"])
    steps.add("per_unit", f"DISTINCT {columns}", f"WHERE {value} IS NOT NULL")
    _keep(d, steps, bound, pair, [d.owner, *(each.column for each in pair)], rank="row_number()")
    steps.add("different", f"DISTINCT {_list([each.column for each in pair])}")
    return _grouped(d, steps, keys, ["count(*)"])


@compile_sql.register
def _(step: UnitBlocks, d: Dialect) -> str:
    bound, source = step.child, rows(step.child.child, d)
    keys = [part(d, bound, source, name) for name in bound.keys]
    steps = CommonTables(d, source.sql)
    number = folded_unit(d, unit_id(d, bound.child), d.unit_size(bound.child))
    steps.add("numbered", f"*, {number} AS unit_number", d.fence)
    steps.add("placed", f"*, ({mixed('unit_number')}) % {step.blocks} AS block")
    return _grouped(d, steps, [*keys, KeyPart("block", step.block, "block")], ["count(*)"])


# ---- bounding


def rows_each(relation: Relation) -> int | None:
    """How many rows a unit has at most by the form of the plan alone, whatever its columns hold; None if that says
    nothing."""
    if isinstance(relation, Filter | Project | Clamp | UnitFilter):
        return rows_each(relation.child)
    if isinstance(relation, LimitPerUnit):
        return least_known(rows_each(relation.child), relation.most if relation.cuts else None)
    if isinstance(relation, Group):
        return None if relation.keys else 1
    return 1 if isinstance(relation, Scan) and relation.rows_of_unit == 1 else None


def _as_they_are(step: Aggregate) -> bool:
    """Whether rows can be added up without a look at whose they are: a unit has one at most, or no more than count in
    a group, of which all stay."""
    bound, most = step.child, rows_each(step.child.child)
    every = bound.groups is None and all(total.kind != "units" for total in step.totals)
    return most is not None and (most == 1 or (every and most <= bound.rows))


def _keep(
    d: Dialect, steps: CommonTables, bound: Bound, keys: Sequence[KeyPart], columns: Sequence[str], *, rank: str
) -> None:
    """Keep of each unit only the groups with the smallest public hashes, with these columns."""
    possible = least_known(bound.child.rows_of_unit, combinations([key.domain for key in keys]))
    if bound.groups is None or (possible is not None and possible <= bound.groups):
        return
    texts = {place: key for place, key in enumerate(keys) if isinstance(key.domain, Text) and not key.texts}
    if texts:
        named = [f"{d.identity(d.as_text(key.column))} AS identity{place}" for place, key in texts.items()]
        steps.add("identified", _list(["*", *named]), d.fence)
    terms = [f"{folded_unit(d, unit_id(d, bound.child), d.unit_size(bound.child))} AS unit_number"]
    terms += [
        f"{folded_identity(d, f'identity{place}') if place in texts else folded(d, key.column, key.domain)} "
        f"AS number{place}"
        for place, key in enumerate(keys)
        if not key.texts
    ]
    steps.add("numbered", _list(["*", *terms]), d.fence)
    numbers = [d.text_number(key.column) if key.texts else mixed(f"number{place}") for place, key in enumerate(keys)]
    steps.add("mixed", f"*, {mixed('unit_number')} + 1 AS own, {key_number(numbers)} AS key_number", d.fence)
    # What is sorted is kept narrow: the window is the slowest step.
    hashed, left = _with_first_part(d, group_hash("own", "key_number"), keys)
    steps.add("hashed", f"{_list(columns)}, {hashed} AS hash")
    order = _list(["hash", *(f"{key.rank} NULLS LAST" for key in left)])
    steps.add("placed", f"*, {rank} OVER (PARTITION BY {d.owner} ORDER BY {order}) AS place")
    steps.add("kept", _list(columns), f"WHERE place <= {bound.groups}")


def _with_first_part(d: Dialect, hashed: str, keys: Sequence[KeyPart]) -> tuple[str, Sequence[KeyPart]]:
    """The hash and the first part of the key in one integer of 63 bits, where that part fits; and the other parts.

    One integer is sorted much more quickly than two.
    """
    first = keys[0]
    if first.texts:
        small = first.rank
    elif isinstance(first.domain, Ranged) and first.domain.upper - first.domain.lower < 2**32 - 1:
        small = f"({d.fitted(f'{first.column} - ({first.domain.lower})', d.narrow)} & {2**32 - 1})"
    else:
        return hashed, keys
    return f"({hashed}) * {2**32} + coalesce({small}, {2**32 - 1})", keys[1:]


# ---- totals


def _gathered(d: Dialect, step: Aggregate) -> dict[str, str]:
    """What is counted and summed per unit and group, by name."""
    found: dict[str, str] = {}
    for total in step.totals:
        place, column = _place(step, total), d.quote(total.column or "")
        if total.kind == "rows":
            found["n"] = "count(*)"
        if total.kind in ("present", "sum"):
            found[f"n{place}"] = f"count({column})"
        if total.kind == "sum":
            found[f"s{place}"] = d.summed(column)
    return found


def _place(step: Aggregate, total: Total) -> int:
    """A number for the column of a total."""
    return list(dict.fromkeys(each.column for each in step.totals)).index(total.column)


def _bounded(d: Dialect, total: Total, place: int, most: int) -> str:
    """What one unit gives to a total."""
    if total.kind == "units":
        return "1"
    if total.kind == "rows":
        return at_most("n", most)
    return at_most(f"n{place}", most) if total.kind == "present" else scaled(d, f"s{place}", f"n{place}", most)


def _of_row(d: Dialect, total: Total) -> str:
    """What a single row gives to a total."""
    column = d.quote(total.column or "")
    present = f"CASE WHEN {column} IS NULL THEN 0 ELSE 1 END"
    return {"rows": "1", "units": "1", "present": present, "sum": column}[total.kind]


# ---- results


def _grouped(
    d: Dialect, steps: CommonTables, keys: Sequence[KeyPart], totals: Sequence[str], *, having: str = "count(*) > 0"
) -> str:
    """Totals for each key, with texts instead of codes, in the order of the keys."""
    columns = [key.column for key in keys]
    grouping = f"GROUP BY {_list(columns)} HAVING {having}" if keys else f"HAVING {having}"
    named = [f"{total} AS t{place}" for place, total in enumerate(totals)]
    steps.add("per_group", _list([*columns, *named]), grouping)
    names = [f"t{place}" for place in range(len(totals))]
    if not keys:
        return steps.finish(_list(names))
    joins = [
        f"LEFT JOIN {key.texts} x{place} ON per_group.{key.column} = x{place}.code"
        for place, key in enumerate(keys)
        if key.texts
    ]
    shown = [f"{_shown(d, key, place)} AS k{place}" for place, key in enumerate(keys)]
    order = _list([f"k{place} NULLS LAST" for place in range(len(keys))])
    return steps.finish(_list([*shown, *names]), " ".join([*joins, f"ORDER BY {order}"]))


def _shown(d: Dialect, key: KeyPart, place: int) -> str:
    column, kind = f"per_group.{key.column}", d.type_of(key.domain)
    if key.texts:
        return f"x{place}.value"
    if isinstance(key.domain, Ranged):
        return d.fitted(column, kind)
    return column if isinstance(key.domain, Bool) else d.as_text(column)


def _list(terms: Sequence[str]) -> str:
    return ", ".join(term for term in terms if term)
