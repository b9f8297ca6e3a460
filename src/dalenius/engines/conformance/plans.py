"""The one generator of random questions: syntax trees over a random catalog, bound so that only what compiles is used.

`generated(seed)` is a plan with its world. Every check that wants many plans takes them from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from dalenius.engines.conformance.terms import NULL, Kind, RandomScope, RandomTerms, ScopedColumn, kind_of, rarer
from dalenius.engines.conformance.worlds import Draws, World, world
from dalenius.errors import QueryRefused
from dalenius.measuring.measurements import MeasurementPlan, lower
from dalenius.query.binding.binder import bind
from dalenius.query.plan.relations import Join, LimitPerUnit, Relation
from dalenius.query.questions import Question
from dalenius.query.syntax import (
    Apply,
    Constant,
    Item,
    Joined,
    Name,
    Order,
    QueryTree,
    Select,
    Source,
    Subquery,
    TableName,
    Term,
    UnionAll,
    UnitsIn,
)
from dalenius.query.tables import ContributionBounds, EachRow, Table
from dalenius.query.types import Choice, Text

PRIVATE = ("visits", "visits", "visits", "orders", "lines", "staff", "events")
NODES = {
    "Scan",
    "Filter",
    "Project",
    "Join",
    "UnitFilter",
    "Union",
    "Distinct",
    "LimitPerUnit",
    "Group",
    "Aggregate",
    "Values",
    "DistinctValues",
    "private join",
}
"""What plans are made of, as `nodes` names it."""
WORLDS = 8
Declarations: TypeAlias = Callable[[World], Mapping[str, Table]]


@dataclass(frozen=True)
class Generated:
    """A plan: where it came from, what was asked, and what is run and measured for it."""

    seed: int
    world: World
    query: QueryTree
    question: Question
    program: MeasurementPlan
    tables: Mapping[str, Table] | None = None
    """Other declarations than the world's, where a check lies about them."""


def generated(seed: int, *, worlds: int = WORLDS, tables: Declarations | None = None) -> Generated | None:
    """The plan of a seed; None where the question is refused. `tables` may declare other things than the world."""
    draws = Draws(f"plan {seed}")
    here = world(seed % worlds)
    query, most = rarer(random_query(here, draws), seed), random_most(draws)
    declared = tables(here) if tables else None
    try:
        question = _fewer(bind(query, declared or here.tables, most=most), Draws(f"few {seed}"))
        return Generated(seed, here, query, question, lower(question), declared)
    except QueryRefused:
        return None


def _fewer(question: Question, draws: Draws) -> Question:
    """The question, now and then over a few rows of each unit alone: no SQL asks for that, releases do."""
    if draws.below(6):
        return question
    return replace(question, relation=LimitPerUnit(question.relation, 1 + draws.below(3)))


def plans(count: int, *, where: int, worlds: int = WORLDS, tables: Declarations | None = None) -> Iterator[Generated]:
    """So many plans that compile, all over the same world."""
    seed, found = where, 0
    while found < count:
        plan = generated(seed, worlds=worlds, tables=tables)
        seed += worlds
        if plan:
            found += 1
            yield plan


def random_most(draws: Draws) -> ContributionBounds | None:
    """An override of what a unit contributes, in half of the questions."""
    if draws.chance(50):
        return None
    return ContributionBounds(rows=draws.choice([1, 2, 7, 100]), groups=draws.choice([1, 2, 3, 40]))


def nodes(plan: Generated) -> set[str]:
    """The names of all nodes and passes of a plan, and "private join" where two private sides meet."""
    found = {type(step).__name__ for step in plan.program.passes}
    waiting: list[Relation] = [plan.question.relation]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        found.add(type(node).__name__)
        if isinstance(node, Join) and node.of_units:
            found.add("private join")
    return found


# ---- questions


def random_query(here: World, draws: Draws) -> QueryTree:
    """A question: keys, statistics, and now and then HAVING, ORDER BY, LIMIT and WITH."""
    return RandomQuestions(here, draws).outer()


class RandomQuestions:
    """Random questions about a world."""

    def __init__(self, here: World, draws: Draws) -> None:
        self.world, self.draws, self.aliases = here, draws, 0

    def alias(self) -> str:
        self.aliases += 1
        return f"a{self.aliases}"

    # ---- the outer question

    def outer(self) -> QueryTree:
        source, scope = self.source(2)
        terms = RandomTerms(self.draws, scope)
        keys = tuple(self.key(terms) for _ in range(self.draws.choice([0, 1, 1, 1, 2, 2, 3])))
        where = self.where(scope, 2) if self.draws.chance(50) else None
        if keys and self.draws.chance(10):
            return self.top(source, keys, where, terms)
        items = [Item(key, f"k{place}") for place, key in enumerate(keys)]
        items += [Item(self.statistic(terms), f"s{place}") for place in range(self.draws.choice([1, 1, 2, 3]))]
        having = Apply("greater", (Apply("count"), Constant(3))) if keys and self.draws.chance(10) else None
        common: tuple[tuple[str, QueryTree], ...] = ()
        if isinstance(source, Subquery) and self.draws.chance(30):
            assert source.alias is not None
            common, source = ((source.alias, source.query),), TableName(source.alias, None)
        return Select(tuple(items), source, where, keys, having, common=common)

    def top(self, source: Source, keys: tuple[Term, ...], where: Term | None, terms: RandomTerms) -> QueryTree:
        count = self.draws.choice([Apply("count"), Apply("count"), Apply("count", (terms.any("number", 0),))])
        if terms.scope.unit and self.draws.chance(40):
            count = Apply("count", (terms.scope.unit,), distinct=True)
        shown = [Item(count, "n")] if self.draws.chance(60) else []
        items = (*(Item(key, f"k{place}") for place, key in enumerate(keys)), *shown)
        return Select(items, source, where, keys, None, (Order(count, descending=True),), self.draws.choice([1, 3, 9]))

    def key(self, terms: RandomTerms) -> Term:
        """Something to group by: public or not."""
        scope, draws = terms.scope, self.draws
        makers = ["bin", "case", "truth"]
        makers += ["text"] * 3 * bool(scope.of("text")) + ["date", "trunc"] * bool(scope.of("date"))
        makers += ["time"] * bool(scope.of("moment"))
        match draws.choice(makers):
            case "text":
                return draws.choice(scope.of("text")).name
            case "date":
                return terms.date_part(0)
            case "trunc":
                return Apply("date_trunc", (Constant(draws.choice(["month", "year", "day"])), terms.any("date", 0)))
            case "time":
                return terms.time_part(0)
            case "truth":
                return terms.any("bool", 1)
            case "case":
                then, other = Constant("yes"), draws.choice([Constant("no"), NULL])
                return Apply("case", (terms.any("bool", 1), then, other))
        width = Constant(draws.choice([10, 1000, 2**37]))
        small = [known for known in scope.of("number") if _is_small(known)]
        return (
            draws.choice(small).name
            if small and self.draws.chance(50)
            else Apply("bin", (terms.any("number", 0), width))
        )

    def statistic(self, terms: RandomTerms) -> Term:
        """An aggregate of any kind."""
        number = terms.any("number", self.draws.choice([0, 0, 1, 2]))
        some = self.draws.choice(terms.scope.columns).name if terms.scope.columns else number
        name = self.draws.choice(_STATISTICS)
        if name in ("count", "units"):
            distinct = name == "units" and terms.scope.unit is not None
            return Apply("count", (terms.scope.unit,) if distinct and terms.scope.unit else (), distinct=distinct)
        if name in ("present", "distinct"):
            return Apply("count", (some,), distinct=name == "distinct")
        if name in ("covar", "corr"):
            return Apply(name, (number, terms.any("number", 0)))
        if name.endswith("quantile"):
            share = Constant(self.draws.choice([0, Fraction(1, 4), Fraction(9, 10), 1]))
            bound = [Constant(self.draws.choice([1, 50, 10**9]))] if name == "proposed_quantile" else []
            return Apply(name, (number, share, *bound))
        if name in ("mode", "histogram"):
            return Apply(name, (self.listed(terms),))
        if name == "stable_mode":
            return Apply(name, (some,))
        if name == "robust_trimmed_mean":
            return Apply(name, (number, Constant(self.draws.choice([0, Fraction(1, 10), Fraction(2, 5)]))))
        if name == "ratio":
            return Apply("divide", (Apply("sum", (number,)), Apply("count")))
        return Apply(name, (number,))

    def listed(self, terms: RandomTerms) -> Term:
        """Something with few public values."""
        small = [known for known in terms.scope.columns if _is_small(known)]
        return self.draws.choice(small).name if small and self.draws.chance(70) else terms.any("bool", 1)

    # ---- sources

    def source(self, depth: int) -> tuple[Source, RandomScope]:
        makers = [self.table, self.table, self.public_join]
        if depth > 0:
            makers += [
                self.unit_join,
                self.path_join,
                self.grouped,
                self.grouped,
                self.distinct,
                self.union,
                self.inner,
            ]
        return self.draws.choice(makers)(depth - 1)

    def table(self, depth: int) -> tuple[Source, RandomScope]:
        return self.scan(self.draws.choice(PRIVATE))

    def scan(self, name: str) -> tuple[TableName, RandomScope]:
        alias, table = self.alias(), self.world.tables[name]
        columns = [(column, domain) for column, domain in table.columns if column != "number"]  # a key of a path
        known = tuple(ScopedColumn(Name(column, alias), kind_of(domain), domain) for column, domain in columns)
        named = table.protection is not None and not isinstance(table.protection.unit, EachRow)
        return TableName(name, alias), RandomScope(known, Name("person", alias) if named else None, (name,))

    def public_join(self, depth: int) -> tuple[Source, RandomScope]:
        left, scope = (
            self.scan("events") if self.draws.chance(20) else self.source(depth) if depth > 0 else self.table(depth)
        )
        right, other = self.scan("places")
        pairs = [
            (mine, theirs)
            for mine in scope.columns
            for theirs in other.columns
            if mine.kind == theirs.kind and mine.kind in ("text", "number")
        ]
        if not pairs:
            return left, scope
        alike = [pair for pair in pairs if pair[0].name.name == pair[1].name.name]
        mine, theirs = self.draws.choice(alike if alike and self.draws.chance(80) else pairs)
        condition = Apply("equal", (mine.name, theirs.name))
        kind: Literal["inner", "left"] = self.draws.choice(["inner", "left"])
        return Joined(left, right, kind, condition), RandomScope(
            (*scope.columns, *other.columns), scope.unit, scope.tables
        )

    def unit_join(self, depth: int) -> tuple[Source, RandomScope]:
        left, scope = self.scan(self.draws.choice(["visits", "orders"]))
        right, other = (
            self.grouped(depth) if self.draws.chance(30) else self.scan(self.draws.choice(["visits", "orders"]))
        )
        if other.unit is None or scope.unit is None:
            return left, scope
        condition: Term = Apply("equal", (scope.unit, other.unit))
        shared = [
            (a, b) for a in scope.columns for b in other.columns if a.kind == b.kind == "text" and a.name != b.name
        ]
        if shared and self.draws.chance(50):
            mine, theirs = self.draws.choice(shared)
            condition = Apply("and", (condition, Apply("equal", (mine.name, theirs.name))))
        kind: Literal["inner", "left"] = self.draws.choice(["inner", "inner", "left"])
        return Joined(left, right, kind, condition), RandomScope(
            (*scope.columns, *other.columns), scope.unit, scope.tables
        )

    def path_join(self, depth: int) -> tuple[Source, RandomScope]:
        left, scope = self.scan("lines")
        right, other = self.scan("orders")
        numbers = (Name("number", left.alias), Name("number", right.alias))
        return (
            Joined(left, right, self.draws.choice(["inner", "inner", "left"]), Apply("equal", numbers)),
            RandomScope((*scope.columns, *other.columns), other.unit, ("lines", "orders")),
        )

    def grouped(self, depth: int) -> tuple[Source, RandomScope]:
        """A subquery that aggregates for each unit first."""
        source, scope = (
            self.source(min(depth, 1)) if self.draws.chance(40) else self.scan(self.draws.choice(PRIVATE[:4]))
        )
        if scope.unit is None:
            return self.inner(depth)
        terms = RandomTerms(self.draws, scope)
        keys = tuple(self.key(terms) for _ in range(self.draws.choice([0, 0, 1, 2])))
        totals = [self.unit_total(terms) for _ in range(self.draws.choice([1, 1, 2]))]
        named = [Item(term, f"g{place}") for place, term in enumerate((*keys, *totals))]
        where = self.where(scope, 1) if self.draws.chance(30) else None
        having = Apply("greater_equal", (Apply("count"), Constant(2))) if self.draws.chance(30) else None
        query = Select((Item(scope.unit, "person"), *named), source, where, (scope.unit, *keys), having)
        alias = self.alias()
        kinds: list[Kind] = [*(_kind_of_key(key, scope) for key in keys), *(_NUMBER for _ in totals)]
        columns = tuple(ScopedColumn(Name(f"g{place}", alias), kind) for place, kind in enumerate(kinds))
        return Subquery(query, alias), RandomScope(columns, Name("person", alias), scope.tables)

    def unit_total(self, terms: RandomTerms) -> Term:
        """What an inner GROUP BY computes."""
        number = terms.any("number", self.draws.choice([0, 1]))
        name = self.draws.choice(["count", "present", "distinct", "sum", "sum", "min", "max"])
        if name == "count":
            return Apply("count")
        if name in ("present", "distinct"):
            return Apply("count", (number,), distinct=name == "distinct")
        return Apply(name, (number,))

    def distinct(self, depth: int) -> tuple[Source, RandomScope]:
        source, scope = self.scan(self.draws.choice(PRIVATE[:4]))
        return self.selected(source, scope, distinct=True)

    def inner(self, depth: int) -> tuple[Source, RandomScope]:
        source, scope = self.source(depth) if depth > 0 else self.table(depth)
        return self.selected(source, scope, distinct=False)

    def selected(self, source: Source, scope: RandomScope, *, distinct: bool) -> tuple[Source, RandomScope]:
        """A subquery with some columns, some of them computed."""
        terms, alias = RandomTerms(self.draws, scope), self.alias()
        kinds = [self.draws.choice(scope.columns).kind for _ in range(self.draws.between(1, 4))]
        items = [Item(terms.any(kind, 1), f"c{place}") for place, kind in enumerate(kinds)]
        columns = tuple(ScopedColumn(Name(f"c{place}", alias), kind) for place, kind in enumerate(kinds))
        unit = [Item(scope.unit, "person")] if scope.unit and (distinct or self.draws.chance(60)) else []
        where = self.where(scope, 1) if self.draws.chance(40) else None
        query = Select((*unit, *items), source, where, distinct=distinct)
        return Subquery(query, alias), RandomScope(columns, Name("person", alias) if unit else None, scope.tables)

    def union(self, depth: int) -> tuple[Source, RandomScope]:
        """UNION ALL of two or three selects over tables with the same columns, also of two populations."""
        names, alias = self.draws.choice(_UNIONS), self.alias()
        columns = self.draws.sample(["age", "icd", "day"], self.draws.between(1, 3))
        parts, unit = [], "events" not in names and self.draws.chance(70)
        for name in names:
            source, scope = self.scan(name)
            items = [Item(known.name, known.name.name) for known in scope.columns if known.name.name in columns]
            first = [Item(scope.unit, "person")] if unit and scope.unit else []
            items.sort(key=lambda item: columns.index(item.alias or ""))
            parts.append(Select((*first, *items), source, self.where(scope, 1) if self.draws.chance(30) else None))
        domains = dict(self.world.tables[names[0]].columns)
        known = tuple(ScopedColumn(Name(name, alias), kind_of(domains[name]), domains[name]) for name in columns)
        return Subquery(UnionAll(tuple(parts)), alias), RandomScope(
            known, Name("person", alias) if unit else None, names
        )

    # ---- conditions

    def where(self, scope: RandomScope, depth: int) -> Term:
        condition = RandomTerms(self.draws, scope).any("bool", depth)
        if scope.unit is None or set(scope.tables) & {"staff", "events"} or self.draws.chance(70):
            return condition
        inside = self.units_in(scope.unit)
        return inside if self.draws.chance(50) else Apply("and", (condition, inside))

    def units_in(self, unit: Name) -> Term:
        source, scope = self.scan(self.draws.choice(["visits", "orders"]))
        assert scope.unit is not None
        where = RandomTerms(self.draws, scope).any("bool", 1)
        return UnitsIn(unit, Select((Item(scope.unit),), source, where), negated=self.draws.chance(30))


_STATISTICS = (
    "count", "count", "units", "present", "distinct", "sum", "sum", "avg", "avg", "variance", "stddev", "covar",
    "corr", "min", "max", "median", "quantile", "mode", "histogram", "ratio", "robust_quantile",
    "robust_trimmed_mean", "robust_scale", "stable_mode", "stable_quantile", "proposed_quantile",
)  # fmt: skip
_NUMBER: Kind = "number"
_UNIONS = (
    ("visits", "visits"),
    ("visits", "staff"),
    ("staff", "visits", "visits"),
    ("events", "events"),
    ("events", "visits"),
)


def _is_small(known: ScopedColumn) -> bool:
    domain = known.domain
    if domain is None or (isinstance(domain, Text) and not isinstance(domain, Choice)):
        return False
    return domain.size is not None and domain.size <= 500


def _kind_of_key(key: Term, scope: RandomScope) -> Kind:
    if isinstance(key, Name):
        return next(known.kind for known in scope.columns if known.name == key)
    assert isinstance(key, Apply)
    kinds: dict[str, Kind] = {"case": "text", "date_trunc": "date", **dict.fromkeys(_TRUTHS, "bool")}
    return kinds.get(key.function, _NUMBER)


_TRUTHS = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and", "or", "not", "is_null", "in",
    "between", "like", "starts_with", "ends_with", "contains",
}  # fmt: skip
