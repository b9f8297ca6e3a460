"""What each relation of a plan means, in plain Python over a small database: what every engine is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from itertools import accumulate
from typing import TypeAlias

from dalenius.engines.hashing import first_rows, row_order
from dalenius.engines.reference.canonical import CodedRow as StoredRow
from dalenius.query.expressions import Expression
from dalenius.query.functions.evaluation import evaluate
from dalenius.query.plan.relations import (
    Bound,
    Clamp,
    Distinct,
    Filter,
    Group,
    Join,
    LimitPerUnit,
    Project,
    Relation,
    Scan,
    Union,
    UnitFilter,
    UnitTotal,
)
from dalenius.query.types import Code

Owner: TypeAlias = tuple[str, Code] | None
"""Population and unit; None in a public relation."""

Stored: TypeAlias = Mapping[str, list[StoredRow]]


@dataclass(frozen=True)
class Row:
    """One row of a relation: whose it is, and its codes."""

    owner: Owner
    values: Mapping[str, Code]


Matched: TypeAlias = tuple[Row, list[Row]]
"""A row of the left side of a join, and the rows of the right side that it matches."""


@singledispatch
def rows_of(relation: Relation, stored: Stored) -> list[Row]:
    """The rows of a relation, in any order."""
    raise TypeError(f"{type(relation).__name__} is no node of a plan")


@rows_of.register
def _(relation: Scan, stored: Stored) -> list[Row]:
    population = relation.table.protection.population if relation.table.protection else None
    return [
        Row(
            None if population is None else (population, row.unit),
            {f"{relation.label}.{name}": code for name, code in row.values.items()},
        )
        for row in stored[relation.table.name]
    ]


@rows_of.register
def _(relation: Filter, stored: Stored) -> list[Row]:
    return [row for row in rows_of(relation.child, stored) if evaluate(relation.condition, row.values) is True]


@rows_of.register
def _(relation: Project, stored: Stored) -> list[Row]:
    return [
        Row(row.owner, {name: evaluate(expression, row.values) for name, expression in relation.columns})
        for row in rows_of(relation.child, stored)
    ]


@rows_of.register
def _(relation: Join, stored: Stored) -> list[Row]:
    nothing = dict.fromkeys(relation.right.schema)
    found = []
    for row, matches in _matched(relation, stored):
        found += [Row(row.owner or other.owner, {**row.values, **other.values}) for other in matches]
        if not matches and relation.kind == "left":
            found.append(Row(row.owner, {**row.values, **nothing}))
    return found


def _matched(join: Join, stored: Stored) -> list[Matched]:
    """The rows of the left side, each with those of the right side that it matches; where units are joined, those
    that are kept of each."""
    both = join.of_units
    partners = _by_key(rows_of(join.right, stored), [right for _, right in join.on], both=both)
    if both:
        partners = {key: _few(rows, list(join.right.schema), join.most) for key, rows in partners.items()}
    found = []
    for row in rows_of(join.left, stored):
        key = _join_key(row, [left for left, _ in join.on], both=both)
        found.append((row, partners.get(key, []) if None not in key[1] else []))
    return [pair for mine in _by_owner(found) for pair in _within_product(mine, join)] if both else found


def _within_product(mine: list[Matched], join: Join) -> list[Matched]:
    """Of the rows of one unit the first ones, whose pairs add up to no more than `join.most`."""
    pairs = [len(matches) or int(join.kind == "left") for _, matches in mine]
    if sum(pairs) <= join.most:
        return mine
    places = sorted(range(len(mine)), key=lambda place: _order(mine[place][0], join.left))
    upto = accumulate(pairs[place] for place in places)
    return [mine[place] for place, total in zip(places, upto, strict=True) if total <= join.most]


def _order(row: Row, side: Relation) -> tuple[int, list[tuple[bool, int, bytes]]]:
    assert row.owner is not None
    assert row.owner[1] is not None
    return row_order(row.owner[1], [row.values[name] for name in side.schema])


def _by_owner(found: Iterable[Matched]) -> Iterable[list[Matched]]:
    mine: dict[Owner, list[Matched]] = {}
    for pair in found:
        mine.setdefault(pair[0].owner, []).append(pair)
    return mine.values()


def _few(rows: Iterable[Row], names: list[str], most: int) -> list[Row]:
    mine: dict[Owner, list[tuple[Code, ...]]] = {}
    for row in rows:
        mine.setdefault(row.owner, []).append(tuple(row.values[name] for name in names))
    return [
        Row(owner, dict(zip(names, values, strict=True)))
        for owner, theirs in mine.items()
        for values in _kept(owner, theirs, most)
    ]


def _kept(owner: Owner, rows: list[tuple[Code, ...]], most: int) -> list[tuple[Code, ...]]:
    assert owner is not None
    assert owner[1] is not None
    return rows if len(rows) <= most else first_rows(owner[1], rows, most)


JoinKey: TypeAlias = tuple[Owner, tuple[Code, ...]]


def _by_key(rows: Iterable[Row], on: list[Expression], *, both: bool) -> dict[JoinKey, list[Row]]:
    found: dict[JoinKey, list[Row]] = {}
    for row in rows:
        found.setdefault(_join_key(row, on, both=both), []).append(row)
    return found


def _join_key(row: Row, on: list[Expression], *, both: bool) -> JoinKey:
    return row.owner if both else None, tuple(evaluate(expression, row.values) for expression in on)


@rows_of.register
def _(relation: UnitFilter, stored: Stored) -> list[Row]:
    within = {row.owner for row in rows_of(relation.within, stored)}
    return [row for row in rows_of(relation.child, stored) if (row.owner in within) is not relation.negated]


@rows_of.register
def _(relation: Union, stored: Stored) -> list[Row]:
    return [row for part in relation.parts for row in rows_of(part, stored)]


@rows_of.register
def _(relation: Distinct, stored: Stored) -> list[Row]:
    names = list(relation.schema)
    found = {(row.owner, tuple(row.values[name] for name in names)): row for row in rows_of(relation.child, stored)}
    return list(found.values())


@rows_of.register
def _(relation: LimitPerUnit, stored: Stored) -> list[Row]:
    return _few(rows_of(relation.child, stored), list(relation.schema), relation.most)


@rows_of.register
def _(relation: Group, stored: Stored) -> list[Row]:
    groups: dict[tuple[Owner, tuple[Code, ...]], list[Row]] = {}
    for row in rows_of(relation.child, stored):
        key = tuple(evaluate(expression, row.values) for _, expression in relation.keys)
        groups.setdefault((row.owner, key), []).append(row)
    return [
        Row(
            owner,
            {
                **dict(zip([name for name, _ in relation.keys], key, strict=True)),
                **{name: unit_total(total, rows) for name, total in relation.totals},
            },
        )
        for (owner, key), rows in groups.items()
    ]


@rows_of.register
def _(relation: Clamp, stored: Stored) -> list[Row]:
    return [Row(row.owner, {**row.values, **_clamped(row, relation)}) for row in rows_of(relation.child, stored)]


@rows_of.register
def _(relation: Bound, stored: Stored) -> list[Row]:
    # Bounding is not an operator on rows: totals are scaled, and groups are left out, by the pass above.
    return rows_of(relation.child, stored)


def _clamped(row: Row, relation: Clamp) -> dict[str, Code]:
    found: dict[str, Code] = {}
    for name, lower, upper in relation.bounds:
        code = row.values[name]
        found[name] = None if code is None else max(lower, min(integer(code), upper))
    return found


def unit_total(total: UnitTotal, rows: list[Row]) -> Code:
    """What an inner GROUP BY computes from the rows of one unit and group."""
    if total.argument is None:
        return min(len(rows), total.rows)
    codes = [evaluate(total.argument, row.values) for row in rows]
    present: list[Code] = [code for code in codes if code is not None]
    return _UNIT_TOTALS[total.kind](present, total.rows)


_UNIT_TOTALS: dict[str, Callable[[list[Code], int], Code]] = {
    "count": lambda codes, rows: min(len(codes), rows),
    "distinct": lambda codes, rows: min(len(set(codes)), rows),
    "sum": lambda codes, rows: scaled_sum(codes, rows) if codes else None,
    "min": lambda codes, rows: min(codes, key=in_order) if codes else None,
    "max": lambda codes, rows: max(codes, key=in_order) if codes else None,
}


def scaled_sum(codes: list[Code], rows: int) -> int:
    """The sum of n codes, times rows / n where n exceeds `rows`, rounded towards zero."""
    total, count = sum(integer(code) for code in codes), len(codes)
    if count <= rows:
        return total
    scaled = abs(total) * rows // count
    return scaled if total >= 0 else -scaled


def integer(code: Code) -> int:
    """A code that is known to be an integer."""
    assert isinstance(code, int)
    return int(code)


def in_order(code: Code) -> tuple[int, bytes]:
    """The order of codes that are not NULL: numbers by size, texts by their bytes."""
    return (0, code.encode()) if isinstance(code, str) else (integer(code), b"")
