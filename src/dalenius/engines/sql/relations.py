"""How plan nodes are spelled in SQL. The meaning of each node is defined in `plan`.

Where an engine has codes for texts, these travel as long as nobody computes with the texts: grouping, joining back
and hashing integers is several times quicker. `SQLRelation.coded` says which columns hold codes, and whose. All of this
follows from the plan and the catalog; nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch

from dalenius.engines.sql.dialect import Dialect, SQLRelation, listed
from dalenius.engines.sql.expressions import spell
from dalenius.engines.sql.keeping import first_pairs, first_rows, joined, on_terms, owner
from dalenius.errors import QueryRefused
from dalenius.query.expressions import Call, Column, Expression
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
    match_rows,
)
from dalenius.query.types import WIDEST, Choice, Domain, Ranged

MANY = 2**40
"""More rows than any table has."""

MOST_REPEATED = 100
"""How often columns may be read if terms are written down wherever they are read; above that they are computed once."""


@singledispatch
def rows(relation: Relation, d: Dialect) -> SQLRelation:
    """The SQL of a relation."""
    raise TypeError(f"{type(relation).__name__} is no node of a plan")


@rows.register
def _(relation: Scan, d: Dialect) -> SQLRelation:
    return d.scan(relation)


@rows.register
def _(relation: Filter, d: Dialect) -> SQLRelation:
    child = rows(relation.child, d)
    narrowed = {name: domain for name, domain in relation.narrowed if isinstance(domain, Ranged | Choice)}
    texts = [name for name, domain in narrowed.items() if isinstance(domain, Choice)]
    opened = texts_opened(d, child, relation.child, [*computed([relation.condition]), *texts])
    # An engine may compute what stands above a condition for rows that do not meet it. So a narrowed column is brought
    # into its narrower domain: what relies on that cannot overflow then.
    columns = [
        f"{_narrowed(d, opened, name, narrowed[name])} AS {d.quote(name)}"
        if name in narrowed
        else _kept(d, opened, name)
        for name in relation.schema
    ]
    selected = listed([*owner(d, relation), *columns])
    return SQLRelation(f"SELECT {selected} FROM (\n{opened.sql}\n) f WHERE {spell(d, relation.condition)}", child.coded)


def _narrowed(d: Dialect, opened: Opened, name: str, domain: Ranged | Choice) -> str:
    column = d.quote(name)
    if isinstance(domain, Ranged):
        return clamped(column, domain.lower, domain.upper)
    kept = opened.codes.get(name, column)
    values = ", ".join(map(d.text_literal, domain.values))
    return f"CASE WHEN {d.as_text(column)} IN ({values}) THEN {kept} END" if values else f"NULLIF({kept}, {kept})"


@rows.register
def _(relation: Project, d: Dialect) -> SQLRelation:
    child = rows(relation.child, d)
    if d.once and _grows(relation):
        child = SQLRelation(f"{child.sql} {d.once}", child.coded)
    sql, columns = projected(d, child, relation.child, relation.columns)
    selected = listed([*owner(d, relation), *columns])
    return SQLRelation(f"SELECT {selected} FROM (\n{sql}\n) p", passed(child, relation.columns))


def _grows(relation: Project) -> bool:
    """Whether much would be computed if what is computed below were written down wherever it is read."""
    below = relation.child.columns if isinstance(relation.child, Project) else ()
    heaviest = max((term.weight for _, term in below if isinstance(term, Call)), default=0)
    return heaviest * sum(term.weight for _, term in relation.columns if isinstance(term, Call)) > MOST_REPEATED


@rows.register
def _(relation: Join, d: Dialect) -> SQLRelation:
    both = relation.of_units
    tags = relation.populations if both else ()
    ones, others = [one for one, _ in relation.on], [other for _, other in relation.on]
    left = _side(d, rows(relation.left, d), relation.left, ones, tags)
    right = _side(d, rows(relation.right, d), relation.right, others, tags)
    before, left_sql, right_sql = _kept_of(d, relation, left, right)
    conditions = [f"l.{name} = r.{name}" for name in [*on_terms(relation), *([d.owner] if both else [])]]
    unit = [f"{'l' if relation.left.private else 'r'}.{d.owner}"] if relation.private else []
    columns = [
        f"{side}.{d.quote(name)}"
        for side, part in (("l", relation.left), ("r", relation.right))
        for name in part.schema
    ]
    pairs = f"({left_sql}) l {joined(relation)} ({right_sql}) r ON {' AND '.join(conditions) or 'true'}"
    return SQLRelation(f"{before}SELECT {listed([*unit, *columns])} FROM {pairs}", {**left.coded, **right.coded})


def _kept_of(d: Dialect, join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str, str]:
    """What stands before a join, and both sides with the rows that it keeps."""
    if join.cuts:
        return d.first_pairs(join, left, right) or ("", *first_pairs(d, join, left, right))
    ones, others = [one for one, _ in join.on], [other for _, other in join.on]
    return "", _as_counted(d, left.sql, join, join.left, ones), _as_counted(d, right.sql, join, join.right, others)


def _few(d: Dialect, child: SQLRelation, relation: Relation, most: int) -> SQLRelation:
    own = d.first_rows(child, relation, most)
    return SQLRelation(first_rows(d, child, relation, most) if own is None else own, child.coded)


def _side(
    d: Dialect, child: SQLRelation, relation: Relation, on: Sequence[Expression], tags: Sequence[str]
) -> SQLRelation:
    """One side of a join, with the terms that are compared as `on0`, ..."""
    opened = texts_opened(d, child, relation, computed(on))
    terms = [f"{spell(d, term)} AS on{place}" for place, term in enumerate(on)]
    columns = [_kept(d, opened, name) for name in relation.schema]
    return SQLRelation(
        f"SELECT {listed([*owner(d, relation, tags), *columns, *terms])} FROM ({opened.sql}) s", child.coded
    )


def _as_counted(d: Dialect, sql: str, join: Join, side: Relation, on: Sequence[Expression]) -> str:
    """A public side that meets rows of units: of rows with equal terms at most as many as were counted beforehand.

    How many rows a unit has after the join rests on that count, and with it how much is left out further up. Where
    tables stay, more of them may have come since.
    """
    most = match_rows(side, on) if d.changing and join.private and not side.private else None
    if most is None:
        return sql
    terms = [f"on{place}" for place in range(len(on))]
    parted = f"PARTITION BY {listed(terms)} " if terms else ""
    order = listed([f"{d.quote(name)} NULLS LAST" for name in side.schema])
    numbered = f"SELECT *, row_number() OVER ({parted}ORDER BY {order}) AS place FROM ({sql}) q"
    return f"SELECT * FROM ({numbered}) k WHERE place <= {most}"


@rows.register
def _(relation: UnitFilter, d: Dialect) -> SQLRelation:
    child, within = rows(relation.child, d), rows(relation.within, d)
    tags = relation.populations
    units = f"SELECT {listed(owner(d, relation.within, tags))} FROM ({within.sql}) w"
    columns = [d.quote(name) for name in relation.schema]
    sql = f"SELECT {listed([*owner(d, relation.child, tags), *columns])} FROM ({child.sql}) c"
    verb = "NOT IN" if relation.negated else "IN"
    return SQLRelation(f"SELECT * FROM ({sql}) o WHERE {d.owner} {verb} ({units})", child.coded)


@rows.register
def _(relation: Union, d: Dialect) -> SQLRelation:
    return SQLRelation(" UNION ALL ".join(_part(d, part, relation) for part in relation.parts))


def _part(d: Dialect, part: Relation, union: Union) -> str:
    """A part of a union: texts instead of codes, because each table has its own codes."""
    opened = texts_opened(d, rows(part, d), part, part.schema)
    columns = [f"{_typed(d, d.quote(name), domain)} AS {d.quote(name)}" for name, domain in union.schema.items()]
    return f"SELECT {listed([*owner(d, part, union.populations), *columns])} FROM ({opened.sql}) p"


@rows.register
def _(relation: Distinct, d: Dialect) -> SQLRelation:
    child = rows(relation.child, d)
    return SQLRelation(f"SELECT DISTINCT * FROM ({child.sql}) d", child.coded)


@rows.register
def _(relation: LimitPerUnit, d: Dialect) -> SQLRelation:
    child = rows(relation.child, d)
    return _few(d, child, relation.child, relation.most) if relation.cuts else child


@rows.register
def _(relation: Group, d: Dialect) -> SQLRelation:
    child = rows(relation.child, d)
    arguments = [(name, total.argument) for name, total in relation.totals if total.argument is not None]
    sql, columns = projected(d, child, relation.child, [*relation.keys, *arguments], codes=_codes_suffice(relation))
    keys = [*owner(d, relation), *(d.quote(name) for name, _ in relation.keys)]
    totals = [f"{unit_total(d, total, d.quote(name))} AS {d.quote(name)}" for name, total in relation.totals]
    inner = f"SELECT {listed([*owner(d, relation.child), *columns])} FROM ({sql}) i"
    grouped = f" GROUP BY {listed(keys)}" if keys else " HAVING count(*) > 0"
    return SQLRelation(f"SELECT {listed([*keys, *totals])} FROM ({inner}) g{grouped}", passed(child, relation.keys))


def _codes_suffice(relation: Group) -> frozenset[str]:
    """The arguments for which a code does as well as its text: what is counted, not shown."""
    counted = {name for name, total in relation.totals if total.kind in ("count", "distinct")}
    return frozenset(counted | {name for name, _ in relation.keys})


def unit_total(d: Dialect, total: UnitTotal, argument: str) -> str:
    """What an inner GROUP BY computes for one unit and group, from a column with the argument's values."""
    if total.kind in ("min", "max"):
        return f"{total.kind}({argument})"
    if total.kind == "sum":
        assert total.argument is not None
        require_sum(total.argument.domain, total.rows)
        return d.fitted(scaled(d, d.summed(argument), f"count({argument})", total.rows), d.type_of(total.domain))
    counted = {"count": "*" if total.argument is None else argument, "distinct": f"DISTINCT {argument}"}[total.kind]
    return at_most(f"count({counted})", total.rows)


@rows.register
def _(relation: Clamp, d: Dialect) -> SQLRelation:
    child = rows(relation.child, d)
    bounds = {name: (lower, upper) for name, lower, upper in relation.bounds}
    columns = [
        f"{clamped(d.quote(name), *bounds[name])} AS {d.quote(name)}" if name in bounds else d.quote(name)
        for name in relation.schema
    ]
    return SQLRelation(f"SELECT {listed([*owner(d, relation), *columns])} FROM (\n{child.sql}\n) c", child.coded)


@rows.register
def _(relation: Bound, d: Dialect) -> SQLRelation:
    return rows(relation.child, d)  # bounding is done by the pass above it


def clamped(value: str, lower: int, upper: int) -> str:
    """The nearest value in the bounds; NULL stays NULL."""
    # Not LEAST and GREATEST: these skip NULL, so a missing value would turn into a bound.
    return f"CASE WHEN {value} < {lower} THEN {lower} WHEN {value} > {upper} THEN {upper} ELSE {value} END"


def at_most(count: str, most: int) -> str:
    """The count, or `most` if it is larger."""
    return f"CASE WHEN {count} > {most} THEN {most} ELSE {count} END"


def scaled(d: Dialect, total: str, count: str, most: int) -> str:
    """The wide total of `count` values, times most / count where there are more than `most`, rounded towards zero.

    With total = q * count + m this is q * most + m * most div count, whose parts stay small.
    """
    several = f"NULLIF({d.cast(count, d.wide)}, 0)"
    whole, rest = d.quotient(total, several, d.wide), d.remainder(total, several, d.wide)
    exact = f"{whole} * {most} + {d.quotient(f'({rest} * {most})', several, d.wide)}"
    return f"CASE WHEN {count} > {most} THEN {exact} ELSE {total} END"


def require_sum(domain: Domain, most: int) -> None:
    """Refuse a sum that could leave 126 bits: of one unit's rows before they are scaled, or of all units after."""
    assert isinstance(domain, Ranged)
    if max(abs(domain.lower), abs(domain.upper)) * most * MANY >= WIDEST:
        raise QueryRefused(
            "SUM",
            rule=f"a sum over {domain} with {most} rows of each unit may not fit into 128 bits",
            instead="Narrow the column first, as with CLAMP(x, lower, upper) or ROUND(x, digits).",
        )


# ---- texts


@dataclass(frozen=True)
class Opened:
    """Rows with texts instead of codes in some columns, whose codes stay under other names."""

    sql: str
    codes: Mapping[str, str]


def texts_opened(d: Dialect, child: SQLRelation, relation: Relation, names: Iterable[str]) -> Opened:
    """The rows of a relation with texts in the named columns."""
    closed = [name for name in dict.fromkeys(names) if name in child.coded]
    if not closed:
        return Opened(child.sql, {})
    codes = {name: f"code{place}" for place, name in enumerate(closed)}
    columns = [f"o.{d.quote(name)}" for name in relation.schema if name not in codes]
    columns += [
        f"o.{d.quote(name)} AS {code}, t{place}.value AS {d.quote(name)}"
        for place, (name, code) in enumerate(codes.items())
    ]
    joins = [
        f"LEFT JOIN {child.coded[name]} t{place} ON o.{d.quote(name)} = t{place}.code"
        for place, name in enumerate(closed)
    ]
    unit = [f"o.{d.owner}"] if relation.private else []
    return Opened(f"SELECT {listed([*unit, *columns])} FROM ({child.sql}) o {' '.join(joins)}", codes)


def projected(
    d: Dialect,
    child: SQLRelation,
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
    opened = texts_opened(d, child, relation, texts)
    terms = []
    for name, term in columns:
        passes = isinstance(term, Column) and (codes is None or name in codes)
        coded = opened.codes.get(term.name) if passes and isinstance(term, Column) else None
        terms.append(f"{coded or spell(d, term)} AS {d.quote(name)}")
    return opened.sql, terms


def passed(child: SQLRelation, columns: Iterable[tuple[str, Expression]]) -> dict[str, str]:
    """The columns that still hold codes: those that are passed on unchanged."""
    return {
        name: child.coded[term.name] for name, term in columns if isinstance(term, Column) and term.name in child.coded
    }


def computed(terms: Iterable[Expression]) -> list[str]:
    """The columns that terms read."""
    return [name for term in terms for name in term.columns()]


def _kept(d: Dialect, opened: Opened, name: str) -> str:
    return f"{opened.codes[name]} AS {d.quote(name)}" if name in opened.codes else d.quote(name)


def _typed(d: Dialect, value: str, domain: Domain) -> str:
    return d.fitted(value, d.type_of(domain)) if isinstance(domain, Ranged) else value
