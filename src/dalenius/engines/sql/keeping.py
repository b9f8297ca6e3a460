"""The unit column in SQL: whose row it is, also where rows of several populations meet.

Which rows of a unit are kept, in SQL: those with the smallest public hashes of (unit, row), as `hashing` states it.

Equal hashes go by the columns, so equal rows are interchangeable and no position enters.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.engines.sql.dialect import Dialect, SQLRelation, listed
from dalenius.engines.sql.hashes import folded, folded_unit, group_hash, key_number, mixed
from dalenius.errors import QueryRefused
from dalenius.query.plan.relations import Join, Relation

TAGS = 64
"""How many populations one question may join."""


def owner(d: Dialect, relation: Relation, tags: Sequence[str] = ()) -> list[str]:
    """The unit column, if there is one. Where rows of several populations (`tags`) meet, a unit is 64 times its id
    plus the place of its population, so that equal ids stay apart; ids have 120 bits."""
    populations = relation.populations
    if not populations:
        return []
    if len(tags) <= 1 or tuple(tags) == populations:
        return [d.owner]
    if len(tags) > TAGS:
        raise QueryRefused(f"{len(tags)} populations", rule=f"one question joins at most {TAGS}", instead="Ask twice.")
    places = [tags.index(population) for population in populations]
    place = str(places[0])
    if len(places) > 1:
        place = f"CASE {_tag(d)} {' '.join(f'WHEN {old} THEN {new}' for old, new in enumerate(places))} END"
    return [f"{d.cast(unit_id(d, relation), d.wide)} * {TAGS} + {place} AS {d.owner}"]


def unit_id(d: Dialect, relation: Relation) -> str:
    """The id of a row's unit, without the place of its population."""
    if len(relation.populations) <= 1:
        return d.owner
    return d.quotient(f"({d.owner} - {_tag(d)})", str(TAGS), d.wide)


def _tag(d: Dialect) -> str:
    return f"(({d.owner} % {TAGS} + {TAGS}) % {TAGS})"


def first_rows(d: Dialect, child: SQLRelation, relation: Relation, most: int) -> str:
    """The first rows of each unit."""
    names = listed([d.owner, *(d.quote(name) for name in relation.schema)])
    return f"SELECT {names} FROM ({_placed(d, child, relation, relation, [d.owner])}) k WHERE place <= {most}"


def first_pairs(d: Dialect, join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str]:
    """Both sides of a join of units, which have the terms that are compared as `on0`, ...: the rows that are kept."""
    keys = listed([d.owner, *on_terms(join)])
    counted = f"SELECT {keys}, count(*) AS n FROM ({right.sql}) c GROUP BY {keys}"
    equal = " AND ".join(f"a.{name} = m.{name}" for name in [d.owner, *on_terms(join)])
    paired = f"SELECT a.*, {pairs(join, 'm.n')} AS n FROM ({left.sql}) a {joined(join)} ({counted}) m ON {equal}"
    kept = first_matches(d, join, right) if join.cuts_matches else right.sql
    return first_paired(d, join, SQLRelation(paired, left.coded)), kept


def first_paired(d: Dialect, join: Join, left: SQLRelation) -> str:
    """The first rows of each unit on the left side, as long as the numbers `n` of their pairs add up to few enough."""
    order = _order(d, left, join.left)
    running = f"sum(n) OVER (PARTITION BY {d.owner} ORDER BY {order} ROWS UNBOUNDED PRECEDING) AS upto"
    hashed = _hashed(d, left, join.left, join)
    columns = side_columns(d, join, join.left)
    return f"SELECT {columns} FROM (SELECT *, {running} FROM ({hashed}) h) k WHERE upto <= {join.most}"


def first_matches(d: Dialect, join: Join, right: SQLRelation) -> str:
    """The first rows of each unit and value of the compared terms on the right side."""
    placed = _placed(d, right, join.right, join, [d.owner, *on_terms(join)])
    return f"SELECT {side_columns(d, join, join.right)} FROM ({placed}) k WHERE place <= {join.most}"


def side_columns(d: Dialect, join: Join, side: Relation) -> str:
    """The columns of one side of a join of units."""
    return listed([d.owner, *(d.quote(name) for name in side.schema), *on_terms(join)])


def on_terms(join: Join) -> list[str]:
    """The names of the terms that are compared."""
    return [f"on{place}" for place in range(len(join.on))]


def joined(join: Join) -> str:
    """The word for a join of this kind."""
    return "LEFT JOIN" if join.kind == "left" else "JOIN"


def pairs(join: Join, count: str) -> str:
    """How many pairs a row of the left side makes that matches `count` rows, or none (NULL)."""
    return f"CASE WHEN {count} > {join.most} THEN {join.most} ELSE coalesce({count}, 1) END"


def row_hashes(d: Dialect, child: SQLRelation, relation: Relation, units: Relation) -> str:
    """Rows with the numbers that their public hash is made of: `own` for the unit, `row_number` for all columns of the
    relation. The unit column is as `units` has it."""
    schema = relation.schema
    terms = [f"{folded_unit(d, unit_id(d, units), d.unit_size(units))} AS unit_number"] + [
        f"{folded(d, d.quote(name), domain)} AS number{place}"
        for place, (name, domain) in enumerate(schema.items())
        if name not in child.coded
    ]
    numbered = f"SELECT *, {listed(terms)} FROM ({child.sql}) n {d.fence}".rstrip()
    numbers = [
        d.text_number(d.quote(name)) if name in child.coded else mixed(f"number{place}")
        for place, name in enumerate(schema)
    ]
    row_number = key_number(numbers) if numbers else "0"
    hashed = f"{mixed('unit_number')} + 1 AS own, {row_number} AS row_number"
    return f"SELECT *, {hashed} FROM ({numbered}) u {d.fence}".rstrip()


def _placed(d: Dialect, child: SQLRelation, relation: Relation, units: Relation, within: Sequence[str]) -> str:
    """Rows with their place among those of equal columns `within`."""
    place = f"row_number() OVER (PARTITION BY {listed(within)} ORDER BY {_order(d, child, relation)}) AS place"
    return f"SELECT *, {place} FROM ({_hashed(d, child, relation, units)}) h"


def _hashed(d: Dialect, child: SQLRelation, relation: Relation, units: Relation) -> str:
    """Rows with their hash."""
    return f"SELECT *, {group_hash('own', 'row_number')} AS hash FROM ({row_hashes(d, child, relation, units)}) m"


def _order(d: Dialect, child: SQLRelation, relation: Relation) -> str:
    names = {name: d.quote(name) for name in relation.schema}
    ranks = [d.text_rank(quoted) if name in child.coded else quoted for name, quoted in names.items()]
    return listed(["hash", *(f"{rank} NULLS LAST" for rank in ranks)])
