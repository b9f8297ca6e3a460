"""The unit column in SQL: whose row it is, also where rows of several populations meet."""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.engines.sql.dialect import Dialect
from dalenius.errors import QueryRefused
from dalenius.query.plan.relations import Relation

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
