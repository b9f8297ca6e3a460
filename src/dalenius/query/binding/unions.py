"""UNION ALL: columns by position, brought to a common kind and grid; units of different populations stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import NoReturn

from dalenius.errors import QueryRefused
from dalenius.query.binding.scopes import Field, Meaning, Names, Scope, TheUnit, Visible
from dalenius.query.expressions import Column, Expression
from dalenius.query.functions.functions import call, literal
from dalenius.query.plan.relations import Project, Union
from dalenius.query.syntax.rendering import query_text
from dalenius.query.syntax.syntax import UnionAll
from dalenius.query.types import Bool, Days, Domain, Moments, Number, Text

_KINDS: tuple[type[Domain], ...] = (Number, Days, Moments, Bool, Text)


def united(query: UnionAll, parts: Sequence[Scope], names: Names) -> Scope:
    """The rows of all parts, with the names of the first; the unit has a name where every part selects it there."""
    _require_alike(query, parts)
    columns: list[tuple[str, list[Expression]]] = []
    visible: list[Visible] = []
    for place, first in enumerate(parts[0].names):
        meanings = [part.names[place].meaning for part in parts]
        visible.append(Visible(first.name, None, _meaning(query, first.name, meanings, parts, columns, names)))
    relations = [
        Project(part.relation, tuple((name, values[number]) for name, values in columns))
        for number, part in enumerate(parts)
    ]
    return Scope(Union(tuple(relations)), tuple(visible))


def _meaning(
    query: UnionAll,
    name: str,
    meanings: Sequence[Meaning],
    parts: Sequence[Scope],
    columns: list[tuple[str, list[Expression]]],
    names: Names,
) -> Meaning:
    if all(isinstance(meaning, TheUnit) for meaning in meanings):
        return TheUnit()
    fields = [meaning for meaning in meanings if isinstance(meaning, Field)]
    if len(fields) < len(meanings):
        _refuse(query, rule=f"column {name} is the unit in one part and not in another")
    found: list[Expression] = [
        Column(part.relation.schema[each.column], each.column) for part, each in zip(parts, fields, strict=True)
    ]
    columns.append((names.derived(), reconciled(query, name, found)))
    return Field(columns[-1][0])


def reconciled(query: UnionAll, name: str, found: Sequence[Expression]) -> list[Expression]:
    """The columns of all parts in one kind, numbers as multiples of one step."""
    domains = [each.domain for each in found]
    if not any(all(isinstance(domain, kind) for domain in domains) for kind in _KINDS):
        listed = ", ".join(dict.fromkeys(str(domain) for domain in domains))
        _refuse(query, rule=f"column {name} has several kinds: {listed}")
    steps = [domain.step for domain in domains if isinstance(domain, Number)]
    if len(set(steps)) <= 1:
        return list(found)
    step = Fraction(gcd(*(step.numerator * _common(steps) // step.denominator for step in steps)), _common(steps))
    return [_on_grid(each, step) for each in found]


def _common(steps: Sequence[Fraction]) -> int:
    return lcm(*(step.denominator for step in steps))


def _on_grid(value: Expression, step: Fraction) -> Expression:
    assert isinstance(value.domain, Number)
    return value if value.domain.step == step else call("to_real", value, literal(step))


def _require_alike(query: UnionAll, parts: Sequence[Scope]) -> None:
    if len({len(part.names) for part in parts}) != 1:
        _refuse(query, rule="the parts have different numbers of named columns")
    if len({part.relation.private for part in parts}) != 1:
        _refuse(query, rule="rows of a public table belong to nobody and cannot be mixed with private ones")


def _refuse(query: UnionAll, *, rule: str) -> NoReturn:
    raise QueryRefused(
        query_text(query), rule=rule, instead="Let every part select the same columns, by CAST where kinds differ."
    )
