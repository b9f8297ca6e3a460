"""Whether all that a question is about lies in one block of a partitioned population.

A partition goes by a column of one table of the population: of a unit's rows, now and ever, at most one of the listed
values is found there, and a unit that has it is in that block (the import keeps watch, see `engines`). What a relation
holds of a unit is a function of that unit's own rows and of public tables (see `plan.relations`). So a relation in
which no unit outside a block has a row stays as it is, whatever happens to all other units, and so do the exact cells
that are computed from it.

The analysis reads the plan alone. Each case says in a sentence why it is right; where there is no case, a relation may
hold rows of anybody. It does not use the domains that filters narrow: a mistake there may cost accuracy, here it would
cost privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce, singledispatch
from typing import TypeAlias

from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.narrowing import scaled_column
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
)
from dalenius.query.questions import Question
from dalenius.query.rows import RowSource
from dalenius.query.types import Code

Blocks: TypeAlias = frozenset[Code] | None
"""Some blocks, by the codes of their values; None stands for all units, those in no block among them."""


@dataclass(frozen=True)
class PartitionedUnits:
    """The units of a population, by the values of a column of one of its tables. Units with none of the values are in
    no block."""

    population: str
    table: str
    column: str
    values: frozenset[Code]


@dataclass(frozen=True)
class BlockFacts:
    """What is known of the rows of a relation that belong to units of the partitioned population.

    `blocks`: the unit of every such row is in one of them. `columns`: in every such row they are NULL, or hold a value
    that the partition's column has in some row of the same unit.
    """

    blocks: Blocks = None
    columns: frozenset[str] = frozenset()


def block_of(question: Question | RowSource, partition: PartitionedUnits) -> Code:
    """The code of the only block that a question is about; None where it is about others too, or that is not sure.

    Guarantee: the exact results of the question do not change when units outside that block come, go or change.
    """
    found = held(question.relation, partition).blocks
    return next(iter(found)) if found is not None and len(found) == 1 else None


@singledispatch
def held(relation: Relation, partition: PartitionedUnits) -> BlockFacts:
    """What is known of a relation; nothing, unless there is a case for it."""
    return BlockFacts()


@held.register
def _(node: Scan, partition: PartitionedUnits) -> BlockFacts:
    """A table of another population, or of none, holds no row of this one's units. The partition's table holds its
    column as it is."""
    protection = node.table.protection
    if protection is None or protection.population != partition.population:
        return BlockFacts(frozenset())
    own = node.table.name == partition.table
    return BlockFacts(None, frozenset({f"{node.label}.{partition.column}"} if own else ()))


@held.register
def _(node: Filter, partition: PartitionedUnits) -> BlockFacts:
    """Rows that stay were there before, and the condition is true for them."""
    below = held(node.child, partition)
    return replace(below, blocks=both(below.blocks, implied(node.condition, below.columns, partition)))


@held.register
def _(node: Project, partition: PartitionedUnits) -> BlockFacts:
    """Each row has the unit of the row that it was computed from; a column that is only passed on keeps its values."""
    below = held(node.child, partition)
    return replace(below, columns=_passed(node.columns, below))


@held.register
def _(node: Group, partition: PartitionedUnits) -> BlockFacts:
    """Each row has the unit of the rows that it summarises, and their common value in a key."""
    below = held(node.child, partition)
    return replace(below, columns=_passed(node.keys, below))


@held.register
def _(node: Join, partition: PartitionedUnits) -> BlockFacts:
    """A pair has the unit of its private side. Two private sides share it, so in an inner join the unit has rows on
    both sides; a left join keeps rows whose unit may have none on the right, so the left side alone counts. A column
    of the right side is NULL there, or comes from a row of the same unit."""
    left, right = held(node.left, partition), held(node.right, partition)
    columns = left.columns | right.columns
    if not node.of_units:
        return BlockFacts((left if node.left.private else right).blocks, columns)
    return BlockFacts(left.blocks if node.kind == "left" else both(left.blocks, right.blocks), columns)


@held.register
def _(node: UnitFilter, partition: PartitionedUnits) -> BlockFacts:
    """Rows that stay were there before, and their unit has a row in `within`; negated it has none there, which says
    nothing about where it has some."""
    below = held(node.child, partition)
    if node.negated:
        return below
    return replace(below, blocks=both(below.blocks, held(node.within, partition).blocks))


@held.register
def _(node: Union, partition: PartitionedUnits) -> BlockFacts:
    """A row comes from one of the parts; those without rows of the population's units do not matter."""
    parts = [held(part, partition) for part in node.parts if partition.population in part.populations]
    if not parts:
        return BlockFacts(frozenset())
    blocks = reduce(either, (part.blocks for part in parts))
    return BlockFacts(blocks, frozenset.intersection(*(part.columns for part in parts)))


@held.register(Distinct)
@held.register(LimitPerUnit)
@held.register(Bound)
def _(node: Distinct | LimitPerUnit | Bound, partition: PartitionedUnits) -> BlockFacts:
    """The rows that stay were there before."""
    return held(node.child, partition)


@held.register
def _(node: Clamp, partition: PartitionedUnits) -> BlockFacts:
    """Rows keep their units; a column that is clamped may take a value that its unit never had."""
    below = held(node.child, partition)
    return replace(below, columns=below.columns - {name for name, _, _ in node.bounds})


def _passed(columns: tuple[tuple[str, Expression], ...], below: BlockFacts) -> frozenset[str]:
    """The columns that are passed on as they are."""
    return frozenset(name for name, term in columns if isinstance(term, Column) and term.name in below.columns)


# ---- conditions


def implied(condition: Expression, columns: frozenset[str], partition: PartitionedUnits) -> Blocks:
    """The blocks that a row's unit can be in where the condition is true (not false, not NULL).

    Where one of the columns equals a listed value, the unit has that value, and so is in that block. All parts of an
    AND are true, and one part of an OR.
    """
    if isinstance(condition, Column):  # a truth value by itself
        return _of([True], partition) if condition.name in columns else None
    if not isinstance(condition, Call):
        return None
    terms = condition.arguments
    if condition.function in ("and", "or"):
        joined = both if condition.function == "and" else either
        return reduce(joined, (implied(term, columns, partition) for term in terms))
    if condition.function == "not":
        negated = terms[0]
        return _of([False], partition) if isinstance(negated, Column) and negated.name in columns else None
    if condition.function == "equal":
        return _equal(terms[0], terms[1:], columns, partition) or _equal(terms[1], terms[:1], columns, partition)
    return _equal(terms[0], terms[1:], columns, partition) if condition.function == "in" else None


def _equal(
    term: Expression, values: tuple[Expression, ...], columns: frozenset[str], partition: PartitionedUnits
) -> Blocks:
    """Where a term equals one of the values. A column in another step is compared as so many times its code; NULL
    equals nothing."""
    name, factor = scaled_column(term)
    if name not in columns or factor < 1 or not all(isinstance(value, Literal) for value in values):
        return None
    codes = [value.value for value in values if isinstance(value, Literal) and value.value is not None]
    return _of(codes if factor == 1 else [_divided(code, factor) for code in codes], partition)


def _divided(code: Code, factor: int) -> Code:
    """The code of which a value is so many times; None, which is no block, where there is none."""
    return code // factor if isinstance(code, int) and code % factor == 0 else None


def _of(codes: Sequence[Code], partition: PartitionedUnits) -> Blocks:
    """The blocks of these values; a unit with a value that is not listed may be in any."""
    found = frozenset(codes)
    return found if found and found <= partition.values else None


def both(one: Blocks, other: Blocks) -> Blocks:
    """A unit is in one of each: no unit is in two blocks."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def either(one: Blocks, other: Blocks) -> Blocks:
    """A unit is in one of these or one of those."""
    return None if one is None or other is None else one | other
