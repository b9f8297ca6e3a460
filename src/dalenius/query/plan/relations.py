"""Plan nodes: what a question means, apart from how an engine spells it.

Relations are made of rows. A private relation carries exactly one unit column, named `UNIT` in the engine's SQL and
not listed in `schema`; every operator here keeps it. What a private relation holds of one unit is a function of that
unit's own rows and of public tables alone, so adding or removing a unit adds or removes exactly that unit's rows:
stability 1 by construction, proved case by case in the docstrings. Where keys of paths have bounded claims, a unit that
comes or goes changes what a few others own too; `steps` says how many units that amounts to. Bounding and clamping come
last, just below the aggregate, on the final keys; only there does the number of rows matter.

Names are made by the binder, never by the analyst.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from dalenius.privacy.neighbours import Neighbours, require_same
from dalenius.query.expressions import Call, Column, Expression, Schema
from dalenius.query.plan.figures import combinations, hull, least_known, product, total_known
from dalenius.query.tables import ContributionBounds, EachRow, Table
from dalenius.query.types import Domain, Ranged

UNIT = "unit"
"""The engine's name of the unit column; names of other columns contain a dot."""

JOIN_ROWS = 300
"""How many rows of one unit a join of two private relations makes at most."""

MOST_UNIT_JOINS = 3
"""How many joins in which a unit's rows are cut may stand above each other: each computes its sides several times."""

MOST_ROWS_OF_UNIT = 300 * JOIN_ROWS
"""How many rows a large unit may turn into by joins and unions; a question that allows more is refused."""


@dataclass(frozen=True)
class Relation(ABC):
    """Rows with named columns; private where it has populations."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns and their domains."""

    @property
    def children(self) -> tuple[Relation, ...]:
        return ()

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables it reads, each once, in order."""
        found = {(table.name, table.version): table for child in self.children for table in child.tables}
        return tuple(found.values())

    @cached_property
    def populations(self) -> tuple[str, ...]:
        """The populations whose units its rows belong to; none for a public relation."""
        names = {table.protection.population: None for table in self.tables if table.protection}
        return tuple(sorted(names))

    @cached_property
    def neighbours(self) -> Neighbours:
        """The one neighbour relation of its private tables; refused where they have different ones."""
        found = {table.name: table.protection.neighbours for table in self.tables if table.protection}
        require_same(**found)
        return next(iter(found.values()))

    @property
    def private(self) -> bool:
        return bool(self.populations)

    @cached_property
    def steps(self) -> int:
        """How many units come or go here in effect when one unit of a population does: 1, unless keys of paths have
        bounded claims.

        Proof: what a relation holds of a unit depends on the rows that the unit owns. A path with `steps` of its own
        changes what at most (steps - 1) / 2 other units own; each of these goes and comes again. Tables with one path
        have the same owners of keys, so the same units change in all of them; different paths add up.
        """
        return max((_steps(self.tables, name) for name in self.populations), default=1)

    @property
    def rows_of_unit(self) -> int | None:
        """How many rows one unit has at most, where that is known from the plan."""
        return None

    @property
    def fan_out(self) -> int | None:
        """How many rows one row of a table may turn into at most; None where a public table was never counted."""
        return self.children[0].fan_out if self.children else 1

    @cached_property
    def rows_of_large_unit(self) -> int | None:
        """How many rows a unit has at most that has `JOIN_ROWS` in each table; None where a public table was never
        counted.

        It follows from the plan and from public tables alone, and bounds the work that one unit can cause.
        """
        return least_known(self.rows_of_unit, self.children[0].rows_of_large_unit if self.children else JOIN_ROWS)

    @property
    def unit_joins(self) -> int:
        """How many joins in which a unit's rows are cut stand above each other."""
        return max((child.unit_joins for child in self.children), default=0)

    def repeats(self, column: str | None) -> int | None:
        """How many rows of a public relation have the same value in `column` at most, NULL aside; of None, how many
        rows it has. None where that is not known, and for private relations always."""
        known: dict[str | None, int | None] = self.__dict__.setdefault("_repeats", {})
        if column not in known:
            known[column] = None if self.private else self._repeats_of(column)
        return known[column]

    def _repeats_of(self, column: str | None) -> int | None:
        return None


@dataclass(frozen=True)
class Scan(Relation):
    """The rows of a table whose unit is not NULL, as codes: clamped, on the grid, unlisted categories NULL.

    Columns are named `label.column`; the label tells two scans of one table apart. Ids and keys of paths are no
    columns: they are compared as they were written, neither clamped nor on a grid.
    Stability: 1; rows of one unit depend on that unit alone. Along a key path a row belongs to the unit that owns its
    key: where keys are unique that depends on this unit's keys alone, and where their claims are bounded on the others
    that state them, which `steps` accounts for.
    """

    table: Table
    label: str

    @cached_property
    def _schema(self) -> Schema:
        return {f"{self.label}.{name}": domain for name, domain in self.table.columns}

    @property
    def schema(self) -> Schema:
        return self._schema

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        return (self.table,)

    @property
    def rows_of_unit(self) -> int | None:
        protection = self.table.protection
        return 1 if protection and isinstance(protection.unit, EachRow) else None

    def _repeats_of(self, column: str | None) -> int | None:
        return self.table.repeats_of(None if column is None else column.removeprefix(f"{self.label}."))


@dataclass(frozen=True)
class Filter(Relation):
    """The rows for which the condition is true (not false, not NULL).

    `narrowed` lists columns whose domain the condition narrows.
    Stability: 1; each row stays or goes by itself.
    """

    child: Relation
    condition: Expression
    narrowed: tuple[tuple[str, Domain], ...] = ()

    @property
    def schema(self) -> Schema:
        return {**self.child.schema, **dict(self.narrowed)}

    @property
    def children(self) -> tuple[Relation, ...]:
        return (self.child,)

    @property
    def rows_of_unit(self) -> int | None:
        return self.child.rows_of_unit

    def _repeats_of(self, column: str | None) -> int | None:
        return self.child.repeats(column)


@dataclass(frozen=True)
class Project(Relation):
    """New columns computed from each row; the unit is carried along.

    Stability: 1; each row maps to one row.
    """

    child: Relation
    columns: tuple[tuple[str, Expression], ...]

    @property
    def schema(self) -> Schema:
        return {name: expression.domain for name, expression in self.columns}

    @property
    def children(self) -> tuple[Relation, ...]:
        return (self.child,)

    @property
    def rows_of_unit(self) -> int | None:
        return self.child.rows_of_unit

    def _repeats_of(self, column: str | None) -> int | None:
        term = dict(self.columns)[column] if column is not None else None
        return self.child.repeats(term.name if isinstance(term, Column) else None)


@dataclass(frozen=True)
class Join(Relation):
    """Pairs of rows whose `on` expressions are equal (NULL equals nothing); two private sides also share the unit.

    `left` keeps rows of the left side that match nothing; then the right side must not be the only private one.

    Of two private sides so many rows are kept that a unit has at most `most` rows afterwards, and no more pairs are
    ever made. Rows are taken in the order of (public hash of the unit and all columns of the row, the columns):
    - right: of the rows of a unit with equal `on` the first `most`;
    - left: of the rows of a unit that match at least one of these (in a left join of all its rows) the first ones, as
      long as the numbers of their matches, at least 1 each, add up to no more than `most`.
    Equal rows are interchangeable, and no position enters. So each row keeps all of its matches or has none, and where
    each left row matches one right row a unit keeps `most` of them. With a public side, one row turns into at most as
    many as `matched` says.
    Stability: 1; a private pair depends on one unit and public rows, because the units of both sides are equal and
    what a side keeps of a unit depends on that unit's rows alone.
    """

    left: Relation
    right: Relation
    on: tuple[tuple[Expression, Expression], ...]
    kind: Literal["inner", "left"] = "inner"
    most: int = JOIN_ROWS

    @property
    def schema(self) -> Schema:
        right = self.right.schema
        if self.kind == "left":
            right = {name: domain.or_null() for name, domain in right.items()}
        return {**self.left.schema, **right}

    @property
    def children(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    @property
    def of_units(self) -> bool:
        """Whether both sides are private, so that units are joined."""
        return self.left.private and self.right.private

    @property
    def rows_of_unit(self) -> int | None:
        if self.of_units:
            return self.most if self.cuts else self._pairs
        carrying, found = self._carried()
        return product(carrying.rows_of_unit, found)

    @property
    def fan_out(self) -> int | None:
        if not self.of_units:
            carrying, found = self._carried()
            return product(carrying.fan_out, found)
        left, right = self.left.fan_out, self.right.fan_out
        if left is None or right is None:
            return None
        return min(left * self._kept(self.right), right * self._kept(self.left), self.most)

    @cached_property
    def rows_of_large_unit(self) -> int | None:
        if self.of_units:
            return self.rows_of_unit
        carrying, found = self._carried()
        return product(carrying.rows_of_large_unit, found)

    @property
    def unit_joins(self) -> int:
        return max(self.left.unit_joins, self.right.unit_joins) + self.cuts

    @property
    def cuts(self) -> bool:
        """Whether a unit may have more pairs than are kept."""
        pairs = self._pairs
        return self.of_units and (pairs is None or pairs > self.most)

    @property
    def cuts_matches(self) -> bool:
        """Whether a row of the left side may match more rows than are kept."""
        known = self.right.rows_of_unit
        return self.of_units and (known is None or known > self.most)

    @cached_property
    def _pairs(self) -> int | None:
        """How many pairs a unit has at most before any are left out; a row that matches nothing counts for one."""
        left, right = self.left.rows_of_unit, self.right.rows_of_unit
        return None if left is None or right is None else max(1, left) * max(1, right)

    def _kept(self, side: Relation) -> int:
        """How many rows of a private side one row of the other matches at most; at least one."""
        known = side.rows_of_unit
        return self.most if known is None else max(1, min(self.most, known))

    def _carried(self) -> tuple[Relation, int | None]:
        """The side whose rows are carried on, and how many rows of the other, a public one, each of them matches."""
        if self.right.private:
            return self.right, match_rows(self.left, [one for one, _ in self.on])
        return self.left, match_rows(self.right, [other for _, other in self.on])

    def _repeats_of(self, column: str | None) -> int | None:
        if column is None or column in self.left.schema:
            return product(self.left.repeats(column), match_rows(self.right, [other for _, other in self.on]))
        return product(self.right.repeats(column), match_rows(self.left, [one for one, _ in self.on]))


@dataclass(frozen=True)
class UnitFilter(Relation):
    """The rows of `child` whose unit has (or, negated, has not) a row in `within`: IN and EXISTS keyed by the unit.

    Stability: 1; whether a row stays depends on its own unit alone.
    """

    child: Relation
    within: Relation
    negated: bool = False

    @property
    def schema(self) -> Schema:
        return self.child.schema

    @property
    def children(self) -> tuple[Relation, ...]:
        return (self.child, self.within)

    @property
    def rows_of_unit(self) -> int | None:
        return self.child.rows_of_unit


@dataclass(frozen=True)
class Union(Relation):
    """The rows of all parts, which have the same column names in the same order. Units of different populations stay
    apart even where their ids are equal.

    Stability: 1 for each population.
    """

    parts: tuple[Relation, ...]

    @cached_property
    def _schema(self) -> Schema:
        first = self.parts[0].schema
        return {name: hull([part.schema[name] for part in self.parts]) for name in first}

    @property
    def schema(self) -> Schema:
        return self._schema

    @property
    def children(self) -> tuple[Relation, ...]:
        return self.parts

    @property
    def rows_of_unit(self) -> int | None:
        return total_known([part.rows_of_unit for part in self.parts])

    @property
    def fan_out(self) -> int | None:
        return total_known([part.fan_out for part in self.parts])

    @cached_property
    def rows_of_large_unit(self) -> int | None:
        return total_known([part.rows_of_large_unit for part in self.parts])

    def _repeats_of(self, column: str | None) -> int | None:
        return total_known([part.repeats(column) for part in self.parts])


@dataclass(frozen=True)
class Distinct(Relation):
    """Every combination of column values once per unit.

    Stability: 1; duplicates are removed within a unit, never across.
    """

    child: Relation

    @property
    def schema(self) -> Schema:
        return self.child.schema

    @property
    def children(self) -> tuple[Relation, ...]:
        return (self.child,)

    @property
    def rows_of_unit(self) -> int | None:
        return least_known(self.child.rows_of_unit, combinations(list(self.schema.values())))


@dataclass(frozen=True)
class LimitPerUnit(Relation):
    """Of each unit at most `most` rows: those with the smallest pairs (public hash of the unit and all columns of the
    row, the columns), so equal rows are interchangeable and no position enters.

    Stability: 1; what stays of a unit depends on that unit's rows alone.
    """

    child: Relation
    most: int

    @property
    def schema(self) -> Schema:
        return self.child.schema

    @property
    def children(self) -> tuple[Relation, ...]:
        return (self.child,)

    @property
    def rows_of_unit(self) -> int | None:
        return least_known(self.child.rows_of_unit, self.most)

    @property
    def cuts(self) -> bool:
        """Whether a unit may have more rows than stay."""
        known = self.child.rows_of_unit
        return known is None or known > self.most


@dataclass(frozen=True)
class UnitTotal:
    """What an inner GROUP BY computes for one unit and group.

    `count` counts rows, or those where `argument` is not NULL; `sum`, `min`, `max` skip NULLs and are NULL where
    nothing is left; `distinct` counts the different values. A count above `rows` becomes `rows`, and a sum over
    n > rows values becomes sum * rows div n (towards zero), so `domain` is a public range.
    """

    kind: Literal["count", "sum", "min", "max", "distinct"]
    argument: Expression | None
    rows: int
    domain: Domain


@dataclass(frozen=True)
class Group(Relation):
    """One row for each unit and combination of `keys` (an inner GROUP BY that contains the unit).

    Stability: 1; each row is computed from one unit's rows.
    """

    child: Relation
    keys: tuple[tuple[str, Expression], ...]
    totals: tuple[tuple[str, UnitTotal], ...]

    @property
    def schema(self) -> Schema:
        keys = {name: expression.domain for name, expression in self.keys}
        return {**keys, **{name: total.domain for name, total in self.totals}}

    @property
    def children(self) -> tuple[Relation, ...]:
        return (self.child,)

    @property
    def rows_of_unit(self) -> int | None:
        return least_known(self.child.rows_of_unit, combinations([expression.domain for _, expression in self.keys]))

    @property
    def fan_out(self) -> int | None:
        return self.child.fan_out if self.keys else 1


@dataclass(frozen=True)
class Clamp(Relation):
    """Each listed column replaced by its nearest value in its bounds; NULL stays NULL.

    Stability: 1. Afterwards the columns are known to lie in the bounds, whatever the engine computed before, which
    gives a sum above them finite sensitivity.
    """

    child: Relation
    bounds: tuple[tuple[str, int, int], ...]

    @property
    def schema(self) -> Schema:
        schema = dict(self.child.schema)
        for name, lower, upper in self.bounds:
            domain = schema[name]
            assert isinstance(domain, Ranged)
            schema[name] = domain.within(lower, upper)
        return schema

    @property
    def children(self) -> tuple[Relation, ...]:
        return (self.child,)

    @property
    def rows_of_unit(self) -> int | None:
        return self.child.rows_of_unit


@dataclass(frozen=True)
class Bound(Relation):
    """Contribution bounding on the final keys: of each unit at most `groups` groups, and in each at most `rows` rows.

    Which groups stay is decided by a public hash of (unit, key), so it depends on that unit alone. Rows are not
    dropped: a total over n > rows rows is scaled by rows / n (see `Total`). `groups` is None where every group of a
    unit may count: with one group, or for selections, which need only the bound per key.
    """

    child: Relation
    keys: tuple[str, ...]
    rows: int
    groups: int | None

    @property
    def schema(self) -> Schema:
        return self.child.schema

    @property
    def children(self) -> tuple[Relation, ...]:
        return (self.child,)

    @property
    def rows_of_unit(self) -> int | None:
        return None if self.groups is None else self.rows * self.groups


def nodes(relation: Relation) -> Iterator[Relation]:
    """A relation and all that it is made of."""
    yield relation
    for child in relation.children:
        yield from nodes(child)


def calls(node: Relation) -> list[tuple[Relation, Call]]:
    """What a node computes of each row of a relation below it; a column that is passed on costs nothing."""
    terms: Sequence[tuple[Relation, Expression | None]] = ()
    match node:
        case Filter():
            terms = [(node.child, node.condition)]
        case Project():
            terms = [(node.child, term) for _, term in node.columns]
        case Group():
            arguments = [total.argument for _, total in node.totals]
            terms = [(node.child, term) for term in [*(term for _, term in node.keys), *arguments]]
        case Join():
            terms = [(node.left, one) for one, _ in node.on] + [(node.right, other) for _, other in node.on]
    return [(below, term) for below, term in terms if isinstance(term, Call)]


def _steps(tables: Sequence[Table], population: str) -> int:
    guards = [table.protection for table in tables if table.protection and table.protection.population == population]
    return 1 + sum(steps - 1 for steps in {guard.claims: guard.steps for guard in guards}.values())


def match_rows(public: Relation, terms: Sequence[Expression]) -> int | None:
    """How many rows of a public relation have these terms equal to given values, at most: the most frequent value of
    a column decides where a column is compared as it is, else the number of rows."""
    bare = [public.repeats(term.name) for term in terms if isinstance(term, Column)]
    return least_known(*bare, public.repeats(None))


def default_most(relation: Relation) -> ContributionBounds | None:
    """What one unit may contribute by the limits that the owner set; None where each row is a unit.

    A union holds the rows of all its parts, so the limits of those that hold rows of one population add up; elsewhere
    the largest limit counts.
    """
    if isinstance(relation, Scan):
        return relation.table.protection.most if relation.table.protection else None
    parts = [_of_population(relation, name) for name in relation.populations] if isinstance(relation, Union) else []
    limits = [most for most in parts or map(default_most, relation.children) if most]
    if not limits:
        return None
    return ContributionBounds(rows=max(most.rows for most in limits), groups=max(most.groups for most in limits))


def _of_population(union: Union, population: str) -> ContributionBounds | None:
    """What a unit of one population may contribute to the parts of a union that hold its rows; one row, where each
    row is a unit."""
    parts = [part for part in union.parts if population in part.populations]
    limits = [default_most(part) for part in parts]
    if not any(limits):
        return None
    own = [part.rows_of_unit or 1 for part in parts]
    rows = sum(most.rows if most else size for most, size in zip(limits, own, strict=True))
    groups = sum(most.groups if most else size for most, size in zip(limits, own, strict=True))
    return ContributionBounds(rows=rows, groups=groups)
