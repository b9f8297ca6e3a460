"""How long a pass should take, by public facts alone: its plan, and the size class of each table.

The figure decides when a server lets an answer leave. It need not be right, since what takes longer leaves at a later
doubling, but no row may enter into it beyond the class of their number, which is public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dalenius.query.expressions import Call, Expression
from dalenius.query.plan.figures import combinations
from dalenius.query.plan.passes import Aggregate, DistinctValues, Pass, UnitBlocks, Values
from dalenius.query.plan.relations import (
    Bound,
    Distinct,
    Group,
    Join,
    LimitPerUnit,
    Relation,
    Scan,
    Union,
    UnitFilter,
    calls,
    nodes,
)
from dalenius.query.tables import Table
from dalenius.query.types import Choice, Text

LEAST_CLASS = 4**6
_NODE, _TOTAL = 0.003, 0.002
"""Seconds for each node and total of a plan."""
_TERM, _GROUPED, _KEYED, _JOINED, _DISTINCT, _CUT, _VALUED = 5e-9, 2e-8, 1e-7, 1.5e-7, 3e-7, 4e-7, 1e-6
"""Seconds a row, measured on two cores: for each column that a term reads; to be grouped by its unit; by its unit and
keys; to be joined with cut sides; to be told apart by its value; where groups of a unit are cut; and to be counted by
one of many values."""
_FEW_VALUES, _MANY_KEYS, _KEY = 1000, 50_000, 2e-6
"""Values that are few; keys that may be found, as far as time is concerned, and seconds for the noise of each."""
_LARGE_UNIT, _MOST_TEXTS = 500, 2.0
"""Rows of a unit that are allowed for although no others may be read: a condition that selects it decides whether long
texts are looked at. Seconds of a pass that are allowed for at most: nobody waits for hours."""


@dataclass(frozen=True)
class Rates:
    """Seconds that an engine takes: for a pass over a few rows, to look at a text of 1,000 characters, to make one."""

    start: float
    read: float
    made: float


EMBEDDED = Rates(start=0.02, read=3e-5, made=3e-5)

Sizes: TypeAlias = Callable[[Table], int]
"""About how many rows a table has: of a public one their number, of others their size class."""


def size_class(rows: int) -> int:
    """The least power of four, from 4,096 on, that is no less than a number of rows: what is public of it."""
    found = LEAST_CLASS
    while found < rows:
        found *= 4
    return found


def expected_seconds(step: Pass, sizes: Sizes, rates: Rates = EMBEDDED) -> float:
    """How long a pass should take."""
    plan = list(nodes(step.child.child))
    totals = len(step.totals) if isinstance(step, Aggregate) else 1
    terms = [each for node in plan for each in calls(node)]
    below = sum(_rows(node, sizes) * _seconds(node) for node in plan)
    below += sum(_rows(side, sizes) * _TERM * term.weight for side, term in terms)
    large = _LARGE_UNIT * sum(_texts(term, rates) for _, term in terms)
    last = _rows(step.child, sizes) * _bounded(step) + _keys(step.child, sizes) * _KEY
    return rates.start + len(plan) * _NODE + totals * _TOTAL + min(large, _MOST_TEXTS) + below + last


def _bounded(step: Pass) -> float:
    """Seconds a row for what stands last: bounding, and counting on the final keys."""
    match step:
        case Aggregate():
            return _grouped(step.child) + len(step.totals) * _GROUPED
        case DistinctValues():
            return _DISTINCT
        case Values():
            values = combinations([step.child.schema[step.column]])
            return _grouped(step.child) + (_KEYED if values is not None and values <= _FEW_VALUES else _VALUED)
        case UnitBlocks():
            return _VALUED


def _keys(bound: Bound, sizes: Sizes) -> int:
    """About how many keys there are: those that are public, or a quarter of the rows."""
    public = combinations([bound.schema[name] for name in bound.keys])
    return min(_MANY_KEYS, _rows(bound, sizes) // 4 if public is None else public)


def _grouped(bound: Bound) -> float:
    """Seconds a row for bounding; groups are cut where a unit can have more of them than count."""
    groups = combinations([bound.schema[name] for name in bound.keys])
    if bound.groups is not None and (groups is None or groups > bound.groups):
        return _CUT
    return _KEYED if bound.keys else _GROUPED


def _rows(relation: Relation, sizes: Sizes) -> int:
    """About how many rows a relation has: conditions are taken to keep all of them, and joins to pair each row once."""
    match relation:
        case Scan():
            return sizes(relation.table)
        case Union() | Join():
            return sum(_rows(each, sizes) for each in relation.children)
        case _:
            return _rows(relation.children[0], sizes)


def _seconds(node: Relation) -> float:
    """Seconds a row for what a node does, besides what it computes."""
    match node:
        case Group():
            return (1 + len(node.totals)) * _GROUPED
        case Join():
            return _JOINED if node.cuts else _GROUPED
        case LimitPerUnit():
            return _CUT
        case Distinct() | UnitFilter():
            return _GROUPED
        case _:
            return 0


def _texts(term: Expression, rates: Rates) -> float:
    """Seconds a row for the texts that a term reads and makes, if they are long."""
    if not isinstance(term, Call):
        return 0
    own = rates.made if _is_text(term) else rates.read if any(map(_is_text, term.arguments)) else 0
    return own + sum(_texts(argument, rates) for argument in term.arguments)


def _is_text(term: Expression) -> bool:
    return isinstance(term.domain, Text) and not isinstance(term.domain, Choice)
