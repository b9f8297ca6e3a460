"""How plan nodes are spelled for DuckDB. The meaning of each node stands in `plan`.

Texts travel as codes of their snapshot as long as nobody computes with them: grouping, joining back and hashing
integers is several times quicker than texts. `Rows.coded` says which columns hold codes, and whose. All of this
follows from the plan and the catalog; nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch

from dalenius.engines.duckdb.expressions import quote, spell
from dalenius.engines.duckdb.hashes import folded, group_hash, key_number, mixed
from dalenius.engines.duckdb.names import OWNER, rows_table, stored, text_number, text_rank, texts_table, width
from dalenius.errors import QueryRefused
from dalenius.query.expressions import Column, Expression
from dalenius.query.plan.relations import (
    Bound,
    Clamp,
    Distinct,
    Filter,
    Group,
    Join,
    Project,
    Relation,
    Scan,
    Union,
    UnitFilter,
    UnitTotal,
)
from dalenius.query.types import WIDEST, Domain, Ranged, Text

MANY = 2**40
"""More rows than any snapshot has."""


@dataclass(frozen=True)
class Rows:
    """A relation as SQL: the unit (unless public), then the columns of the schema in order.

    `coded` names the table of texts of each column that holds codes instead of texts.
    """

    sql: str
    coded: Mapping[str, str] = field(default_factory=dict)


@singledispatch
def rows(relation: Relation) -> Rows:
    """The SQL of a relation."""
    raise NotImplementedError(type(relation).__name__)


@rows.register
def _(relation: Scan) -> Rows:
    table = relation.table
    columns = [f"{stored(name)} AS {quote(f'{relation.label}.{name}')}" for name, _ in table.columns]
    coded = {
        f"{relation.label}.{name}": texts_table(table, index)
        for index, (name, domain) in enumerate(table.columns)
        if isinstance(domain, Text)
    }
    # A snapshot has no NULL units; should one ever have, they belong to nobody and must not count.
    condition = f" WHERE {OWNER} IS NOT NULL" if relation.private else ""
    return Rows(f"SELECT {_list([*owner(relation), *columns])} FROM {rows_table(table)}{condition}", coded)


@rows.register
def _(relation: Filter) -> Rows:
    child = rows(relation.child)
    opened = texts_opened(child, relation.child, computed([relation.condition]))
    columns = [_kept(opened, name) for name in relation.schema]
    selected = _list([*owner(relation), *columns])
    return Rows(f"SELECT {selected} FROM ({opened.sql}) WHERE {spell(relation.condition)}", child.coded)


@rows.register
def _(relation: Project) -> Rows:
    child = rows(relation.child)
    sql, columns = projected(child, relation.child, relation.columns)
    return Rows(f"SELECT {_list([*owner(relation), *columns])} FROM ({sql})", passed(child, relation.columns))


@rows.register
def _(relation: Join) -> Rows:
    left, right = (_joinable(side, relation) for side in (relation.left, relation.right))
    both = relation.of_units
    several = len(relation.populations) > 1 and both
    left_side = _side(left, relation.left, [one for one, _ in relation.on], several=several)
    right_side = _side(right, relation.right, [other for _, other in relation.on], several=several)
    conditions = [f"l.on{place} = r.on{place}" for place in range(len(relation.on))]
    conditions += [f"l.{OWNER} = r.{OWNER}"] if both else []
    unit = [f"{'l' if relation.left.private else 'r'}.{OWNER}"] if relation.private else []
    columns = [
        f"{side}.{quote(name)}" for side, part in (("l", relation.left), ("r", relation.right)) for name in part.schema
    ]
    kind = "LEFT JOIN" if relation.kind == "left" else "JOIN"
    joined = f"({left_side}) l {kind} ({right_side}) r ON {' AND '.join(conditions) or 'true'}"
    sql = f"SELECT {_list([*unit, *columns])} FROM {joined}"
    return Rows(sql, {**left.coded, **right.coded})


def _joinable(side: Relation, join: Join) -> Rows:
    """One side of a join, with at most `join.most` rows of each unit where units are joined."""
    found = rows(side)
    return Rows(bounded_by_unit(found, side, join.most), found.coded) if join.cuts(side) else found


def bounded_by_unit(child: Rows, relation: Relation, most: int) -> str:
    """At most so many rows of each unit, those with the smallest public hashes; few units have more, if any."""
    # The side is computed three times instead of being stored: what one unit's joins make may not fill the memory.
    columns = _list([OWNER, *(quote(name) for name in relation.schema)])
    heavy = f"SELECT {OWNER} FROM side GROUP BY {OWNER} HAVING count(*) > {most}"
    light = f"SELECT {columns} FROM side ANTI JOIN heavy USING ({OWNER})"
    first = first_rows(f"SELECT {columns} FROM side SEMI JOIN heavy USING ({OWNER})", child, relation, most)
    return f"WITH side AS NOT MATERIALIZED ({child.sql}), heavy AS MATERIALIZED ({heavy}) {light} UNION ALL {first}"


def first_rows(sql: str, child: Rows, relation: Relation, most: int) -> str:
    """The rows of each unit with the smallest public hashes of (unit, row); equal hashes go by the columns."""
    schema = relation.schema
    unit = f"({OWNER}).id" if len(relation.populations) > 1 else OWNER
    terms = [f"{folded(unit)} AS unit_number"] + [
        f"{folded(quote(name), domain)} AS number{place}"
        for place, (name, domain) in enumerate(schema.items())
        if name not in child.coded
    ]
    numbered = f"SELECT *, {_list(terms)} FROM ({sql})"
    numbers = [
        text_number(quote(name)) if name in child.coded else mixed(f"number{place}")
        for place, name in enumerate(schema)
    ]
    row_number = key_number(numbers) if numbers else "0"
    hashed = f"SELECT *, {mixed('unit_number')} + 1 AS own, {row_number} AS row_number FROM ({numbered})"
    # A heap of the smallest rows, not a window: it holds no more rows than it keeps.
    fields = [f"hash := {group_hash('own', 'row_number')}"]
    for place, name in enumerate(schema):
        rank = [f"rank{place} := {text_rank(quote(name))}"] if name in child.coded else []
        fields += [f"missing{place} := {quote(name)} IS NULL", *rank, f"value{place} := {quote(name)}"]
    smallest = f"SELECT {OWNER}, unnest(min(struct_pack({_list(fields)}), {most})) AS one"
    values = [f"one.value{place} AS {quote(name)}" for place, name in enumerate(schema)]
    return f"SELECT {_list([OWNER, *values])} FROM ({smallest} FROM ({hashed}) GROUP BY {OWNER})"


def _side(child: Rows, relation: Relation, on: Sequence[Expression], *, several: bool) -> str:
    """One side of a join, with the terms that are compared."""
    opened = texts_opened(child, relation, computed(on))
    terms = [f"{spell(term)} AS on{place}" for place, term in enumerate(on)]
    columns = [_kept(opened, name) for name in relation.schema]
    return f"SELECT {_list([*owner(relation, several=several), *columns, *terms])} FROM ({opened.sql})"


@rows.register
def _(relation: UnitFilter) -> Rows:
    child, within = rows(relation.child), rows(relation.within)
    several = len(relation.populations) > 1
    units = f"SELECT {_list(owner(relation.within, several=several))} FROM ({within.sql})"
    columns = [quote(name) for name in relation.schema]
    sql = f"SELECT {_list([*owner(relation.child, several=several), *columns])} FROM ({child.sql})"
    verb = "NOT IN" if relation.negated else "IN"
    return Rows(f"SELECT * FROM ({sql}) WHERE {OWNER} {verb} ({units})", child.coded)


@rows.register
def _(relation: Union) -> Rows:
    several = len(relation.populations) > 1
    return Rows(" UNION ALL ".join(_part(part, relation.schema, several=several) for part in relation.parts))


def _part(part: Relation, schema: Mapping[str, Domain], *, several: bool) -> str:
    """A part of a union: texts instead of codes, because each table has its own codes."""
    opened = texts_opened(rows(part), part, part.schema)
    columns = [_typed(quote(name), schema[name]) + f" AS {quote(name)}" for name in schema]
    return f"SELECT {_list([*owner(part, several=several), *columns])} FROM ({opened.sql})"


@rows.register
def _(relation: Distinct) -> Rows:
    child = rows(relation.child)
    return Rows(f"SELECT DISTINCT * FROM ({child.sql})", child.coded)


@rows.register
def _(relation: Group) -> Rows:
    child = rows(relation.child)
    arguments = [(name, total.argument) for name, total in relation.totals if total.argument is not None]
    sql, columns = projected(child, relation.child, [*relation.keys, *arguments], codes=_codes_suffice(relation))
    keys = [*owner(relation), *(quote(name) for name, _ in relation.keys)]
    totals = [f"{unit_total(total, quote(name))} AS {quote(name)}" for name, total in relation.totals]
    inner = f"SELECT {_list([*owner(relation.child), *columns])} FROM ({sql})"
    grouped = f" GROUP BY {_list(keys)}" if keys else " HAVING count(*) > 0"
    return Rows(f"SELECT {_list([*keys, *totals])} FROM ({inner}){grouped}", passed(child, relation.keys))


def _codes_suffice(relation: Group) -> frozenset[str]:
    """The arguments for which a code does as well as its text: what is counted, not shown."""
    counted = {name for name, total in relation.totals if total.kind in ("count", "distinct")}
    return frozenset(counted | {name for name, _ in relation.keys})


def unit_total(total: UnitTotal, argument: str) -> str:
    """What an inner GROUP BY computes for one unit and group, from a column with the argument's values."""
    if total.kind in ("min", "max"):
        return f"{total.kind}({argument})"
    if total.kind == "sum":
        assert total.argument is not None
        require_sum(total.argument.domain, total.rows)
        return _typed(scaled(f"sum({argument})", f"count({argument})", total.rows), total.domain)
    counted = {"count": "*" if total.argument is None else argument, "distinct": f"DISTINCT {argument}"}[total.kind]
    return at_most(f"count({counted})", total.rows)


@rows.register
def _(relation: Clamp) -> Rows:
    child = rows(relation.child)
    bounds = {name: (lower, upper) for name, lower, upper in relation.bounds}
    columns = [
        f"{clamped(quote(name), *bounds[name])} AS {quote(name)}" if name in bounds else quote(name)
        for name in relation.schema
    ]
    return Rows(f"SELECT {_list([*owner(relation), *columns])} FROM ({child.sql})", child.coded)


@rows.register
def _(relation: Bound) -> Rows:
    return rows(relation.child)  # bounding is done by the pass above it


def clamped(value: str, lower: int, upper: int) -> str:
    """The nearest value in the bounds; NULL stays NULL."""
    # Not LEAST/GREATEST: DuckDB's skip NULL, so a missing value would turn into a bound.
    return f"CASE WHEN {value} < {lower} THEN {lower} WHEN {value} > {upper} THEN {upper} ELSE {value} END"


def at_most(count: str, most: int) -> str:
    """The count, or `most` if it is larger."""
    return f"CASE WHEN {count} > {most} THEN {most} ELSE {count} END"


def scaled(total: str, count: str, most: int) -> str:
    """The total of `count` values, times most / count where there are more than `most`, rounded towards zero.

    With total = q * count + m this is q * most + m * most div count, whose parts stay small.
    """
    exact = f"{total} // {count} * {most} + {total} % {count} * {most} // {count}"
    return f"CASE WHEN {count} > {most} THEN {exact} ELSE {total} END"


def require_sum(domain: Domain, most: int) -> None:
    """Refuse a sum that could leave 128 bits: of one unit's rows before they are scaled, or of all units after."""
    assert isinstance(domain, Ranged)
    if max(abs(domain.lower), abs(domain.upper)) * most * MANY >= WIDEST:
        raise QueryRefused(
            "SUM",
            rule=f"a sum over {domain} with {most} rows of each unit may not fit into 128 bits",
            instead="Narrow the column first, as with CLAMP(x, lower, upper) or ROUND(x, digits).",
        )


# ---- units and texts


def owner(relation: Relation, *, several: bool = False) -> list[str]:
    """The unit column, if there is one; `several` tells units of different populations apart where ids are equal."""
    populations = relation.populations
    if not populations:
        return []
    if not several or len(populations) > 1:
        return [OWNER]
    name = populations[0].replace("'", "''")
    return [f"{{'population': '{name}', 'id': {OWNER}::HUGEINT}} AS {OWNER}"]


@dataclass(frozen=True)
class Opened:
    """Rows with texts instead of codes in some columns, whose codes stay under other names."""

    sql: str
    codes: Mapping[str, str]


def texts_opened(child: Rows, relation: Relation, names: Iterable[str]) -> Opened:
    """The rows of a relation with texts in the named columns."""
    closed = [name for name in dict.fromkeys(names) if name in child.coded]
    if not closed:
        return Opened(child.sql, {})
    codes = {name: f"code{place}" for place, name in enumerate(closed)}
    columns = [f"o.{quote(name)}" for name in relation.schema if name not in codes]
    columns += [
        f"o.{quote(name)} AS {code}, t{place}.value AS {quote(name)}"
        for place, (name, code) in enumerate(codes.items())
    ]
    joins = [
        f"LEFT JOIN {child.coded[name]} t{place} ON o.{quote(name)} = t{place}.code"
        for place, name in enumerate(closed)
    ]
    unit = [f"o.{OWNER}"] if relation.private else []
    return Opened(f"SELECT {_list([*unit, *columns])} FROM ({child.sql}) o {' '.join(joins)}", codes)


def projected(
    child: Rows,
    relation: Relation,
    columns: Sequence[tuple[str, Expression]],
    *,
    codes: frozenset[str] | None = None,
) -> tuple[str, list[str]]:
    """The rows to select from, and the terms to select; columns that are only passed on stay codes.

    `codes` limits that to these names.
    """
    texts = [
        used
        for name, term in columns
        for used in term.columns()
        if not (isinstance(term, Column) and (codes is None or name in codes))
    ]
    opened = texts_opened(child, relation, texts)
    terms = []
    for name, term in columns:
        passes = isinstance(term, Column) and (codes is None or name in codes)
        source = opened.codes.get(term.name, quote(term.name)) if passes and isinstance(term, Column) else spell(term)
        terms.append(f"{source} AS {quote(name)}")
    return opened.sql, terms


def passed(child: Rows, columns: Iterable[tuple[str, Expression]]) -> dict[str, str]:
    """The columns that still hold codes: those that are passed on unchanged."""
    return {
        name: child.coded[term.name] for name, term in columns if isinstance(term, Column) and term.name in child.coded
    }


def computed(terms: Iterable[Expression]) -> list[str]:
    """The columns that terms read."""
    return [name for term in terms for name in term.columns()]


def _kept(opened: Opened, name: str) -> str:
    return f"{opened.codes[name]} AS {quote(name)}" if name in opened.codes else quote(name)


def _typed(value: str, domain: Domain) -> str:
    return f"({value})::{width(domain)}" if isinstance(domain, Ranged) else value


def _list(terms: Iterable[str]) -> str:
    return ", ".join(terms) or "1"
