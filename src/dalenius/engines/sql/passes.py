"""How passes are spelled for DuckDB: first per unit, then bounded, then per group.

Each step is a common table expression, so that `explain` reads from top to bottom. Steps that cannot change anything
for public reasons are left out: a unit with one row is not grouped by unit, and where a unit cannot have more groups
than it may keep none are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

from dalenius.engines.duckdb.expressions import quote
from dalenius.engines.duckdb.hashes import folded, group_hash, key_number, mixed
from dalenius.engines.duckdb.names import OWNER, text_number, text_rank, width
from dalenius.engines.duckdb.relations import Rows, at_most, require_sum, rows, scaled
from dalenius.query.plan.figures import combinations, least_known
from dalenius.query.plan.passes import Aggregate, DistinctValues, Pass, Total, Values
from dalenius.query.plan.relations import Bound, Clamp, Filter, Group, Project, Relation, Scan, UnitFilter
from dalenius.query.types import Bool, Domain, Ranged


@dataclass(frozen=True)
class Part:
    """A part of a key: its column, its domain, and the table of its texts if it is a code."""

    name: str
    domain: Domain
    texts: str | None

    @property
    def column(self) -> str:
        return quote(self.name)

    @property
    def rank(self) -> str:
        """What orders it: integers by size, texts by their bytes."""
        return text_rank(self.column) if self.texts else self.column


def parts(bound: Bound, source: Rows, names: Sequence[str]) -> list[Part]:
    """The named columns of what is bounded, as parts of a key."""
    schema = bound.child.schema
    return [Part(name, schema[name], source.coded.get(name)) for name in names]


class Steps:
    """Common table expressions, one built on another."""

    def __init__(self, first: str) -> None:
        self._steps = [("contributions", first)]

    def add(self, name: str, select: str, rest: str = "") -> None:
        """A step that selects from the last one."""
        self._steps.append((name, f"SELECT {select} FROM {self._steps[-1][0]}{' ' + rest if rest else ''}"))

    def finish(self, select: str, rest: str = "") -> str:
        """The whole query, with a last SELECT."""
        named = ",\n".join(f"{name} AS NOT MATERIALIZED (\n  {sql}\n)" for name, sql in self._steps)
        return f"WITH {named}\nSELECT {select} FROM {self._steps[-1][0]}{' ' + rest if rest else ''}"


@singledispatch
def spelled(step: Pass) -> str:
    """The SQL of a pass."""
    raise NotImplementedError(type(step).__name__)


@spelled.register
def _(step: Aggregate) -> str:
    bound, source = step.child, rows(step.child.child)
    keys = parts(bound, source, bound.keys)
    for total in step.totals:
        if total.kind == "sum":
            require_sum(bound.child.schema[total.column or ""], bound.rows)
    steps = Steps(source.sql)
    if one_row_each(bound.child):
        totals = [_of_one_row(total) for total in step.totals]
    else:
        grouping, gathered = [OWNER, *(part.column for part in keys)], _gathered(step)
        named = [f"{term} AS {name}" for name, term in gathered.items()]
        steps.add("per_unit", _list([*grouping, *named]), f"GROUP BY {_list(grouping)}")
        _keep(steps, bound, keys, [*grouping, *gathered], rank="row_number()")
        totals = [_bounded(total, _place(step, total), bound.rows) for total in step.totals]
    return _grouped(steps, keys, [f"coalesce(sum({total}), 0)" for total in totals])


@spelled.register
def _(step: Values) -> str:
    bound, source = step.child, rows(step.child.child)
    keys, (value,) = parts(bound, source, bound.keys), parts(bound, source, [step.column])
    named = Part("value", value.domain, value.texts)
    groups = [OWNER, *(part.column for part in keys)]
    group = _list(groups)
    steps = Steps(source.sql)
    steps.add("chosen", f"{group}, {value.column} AS value")
    steps.add("per_unit", f"{group}, value, count(*) AS n", f"GROUP BY {group}, value")
    _keep(steps, bound, keys, [*groups, "value", "n"], rank="dense_rank()")
    steps.add("present", "*", "WHERE value IS NOT NULL")
    counted = "n"
    limit = bound.child.rows_of_unit
    if limit is None or limit > bound.rows:
        running = f"sum(n) OVER (PARTITION BY {group} ORDER BY {named.rank} ROWS UNBOUNDED PRECEDING) AS upto"
        steps.add("ranked", f"*, {running}, sum(n) OVER (PARTITION BY {group}) AS of_unit")
        spaced = f"upto * {bound.rows} // of_unit - (upto - n) * {bound.rows} // of_unit"
        counted = f"CASE WHEN of_unit > {bound.rows} THEN {spaced} ELSE n END"
    total = f"sum({counted})"
    return _grouped(steps, [*keys, named], [total], having=f"{total} > 0")


@spelled.register
def _(step: DistinctValues) -> str:
    bound, source = step.child, rows(step.child.child)
    keys, (value,) = parts(bound, source, bound.keys), parts(bound, source, [step.column])
    pair = [*keys, Part("value", value.domain, value.texts)]
    steps = Steps(source.sql)
    columns = _list([OWNER, *(part.column for part in keys), f"{value.column} AS value"])
    steps.add("per_unit", f"DISTINCT {columns}", f"WHERE {value.column} IS NOT NULL")
    _keep(steps, bound, pair, [OWNER, *(part.column for part in pair)], rank="row_number()")
    steps.add("different", f"DISTINCT {_list([part.column for part in pair])}")
    return _grouped(steps, keys, ["count(*)"])


# ---- bounding


def one_row_each(relation: Relation) -> bool:
    """Whether every unit has one row at most by the form of the plan alone, whatever its columns hold."""
    if isinstance(relation, Filter | Project | Clamp | UnitFilter):
        return one_row_each(relation.child)
    if isinstance(relation, Group):
        return not relation.keys
    return isinstance(relation, Scan) and relation.rows_of_unit == 1


def _keep(steps: Steps, bound: Bound, keys: Sequence[Part], columns: Sequence[str], *, rank: str) -> None:
    """Keep of each unit only the groups with the smallest public hashes, with these columns."""
    possible = least_known(bound.child.rows_of_unit, combinations([part.domain for part in keys]))
    if bound.groups is None or (possible is not None and possible <= bound.groups):
        return
    unit = f"({OWNER}).id" if len(bound.child.populations) > 1 else OWNER
    terms = [f"{folded(unit)} AS unit_number"]
    terms += [
        f"{folded(part.column, part.domain)} AS number{place}" for place, part in enumerate(keys) if not part.texts
    ]
    steps.add("numbered", _list(["*", *terms]))
    numbers = [text_number(part.column) if part.texts else mixed(f"number{place}") for place, part in enumerate(keys)]
    steps.add("mixed", f"*, {mixed('unit_number')} + 1 AS own, {key_number(numbers)} AS key_number")
    # What is sorted is kept narrow: the window is the slowest step.
    hashed, left = _with_first_part(group_hash("own", "key_number"), keys)
    steps.add("hashed", f"{_list(columns)}, {hashed} AS hash")
    order = _list(["hash", *(f"{part.rank} NULLS LAST" for part in left)])
    steps.add("kept", _list(columns), f"QUALIFY {rank} OVER (PARTITION BY {OWNER} ORDER BY {order}) <= {bound.groups}")


def _with_first_part(hashed: str, keys: Sequence[Part]) -> tuple[str, Sequence[Part]]:
    """The hash and the first part of the key in one integer of 63 bits, where that part fits; and the other parts.

    One integer is sorted much more quickly than two.
    """
    first = keys[0]
    if first.texts:
        small = first.rank
    elif isinstance(first.domain, Ranged) and first.domain.upper - first.domain.lower < 2**32 - 1:
        small = f"(({first.column} - ({first.domain.lower}))::BIGINT & {2**32 - 1})"
    else:
        return hashed, keys
    return f"({hashed}) * {2**32} + coalesce({small}, {2**32 - 1})", keys[1:]


# ---- totals


def _gathered(step: Aggregate) -> dict[str, str]:
    """What is counted and summed per unit and group, by name."""
    found: dict[str, str] = {}
    for total in step.totals:
        place, column = _place(step, total), quote(total.column or "")
        if total.kind == "rows":
            found["n"] = "count(*)"
        if total.kind in ("present", "sum"):
            found[f"n{place}"] = f"count({column})"
        if total.kind == "sum":
            found[f"s{place}"] = f"sum({column})"
    return found


def _place(step: Aggregate, total: Total) -> int:
    """A number for the column of a total."""
    return list(dict.fromkeys(each.column for each in step.totals)).index(total.column)


def _bounded(total: Total, place: int, most: int) -> str:
    """What one unit gives to a total."""
    if total.kind == "units":
        return "1"
    if total.kind == "rows":
        return at_most("n", most)
    return at_most(f"n{place}", most) if total.kind == "present" else scaled(f"s{place}", f"n{place}", most)


def _of_one_row(total: Total) -> str:
    """What a unit with a single row gives to a total."""
    column = quote(total.column or "")
    present = f"CASE WHEN {column} IS NULL THEN 0 ELSE 1 END"
    return {"rows": "1", "units": "1", "present": present, "sum": column}[total.kind]


# ---- results


def _grouped(steps: Steps, keys: Sequence[Part], totals: Sequence[str], *, having: str = "count(*) > 0") -> str:
    """Totals for each key, with texts instead of codes, in the order of the keys."""
    columns = [part.column for part in keys]
    grouping = f"GROUP BY {_list(columns)} HAVING {having}" if keys else f"HAVING {having}"
    named = [f"{total} AS t{place}" for place, total in enumerate(totals)]
    steps.add("per_group", _list([*columns, *named]), grouping)
    names = [f"t{place}" for place in range(len(totals))]
    if not keys:
        return steps.finish(_list(names))
    joins = [
        f"LEFT JOIN {part.texts} x{place} ON per_group.{part.column} = x{place}.code"
        for place, part in enumerate(keys)
        if part.texts
    ]
    shown = [f"{_shown(part, place)} AS k{place}" for place, part in enumerate(keys)]
    order = _list([f"k{place} NULLS LAST" for place in range(len(keys))])
    return steps.finish(_list([*shown, *names]), " ".join([*joins, f"ORDER BY {order}"]))


def _shown(part: Part, place: int) -> str:
    if part.texts:
        return f"x{place}.value"
    if isinstance(part.domain, Ranged):
        return f"per_group.{part.column}::{width(part.domain)}"
    return f"per_group.{part.column}::{'BOOLEAN' if isinstance(part.domain, Bool) else 'VARCHAR'}"


def _list(terms: Sequence[str]) -> str:
    return ", ".join(term for term in terms if term)
