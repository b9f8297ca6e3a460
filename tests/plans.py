"""The one generator of random questions: syntax trees over a random catalog, bound so that only what compiles is used.

`generated(seed)` is a plan with its world; `steps_for` picks the neighbours that hurt it most and still run quickly.
Every check that wants many plans (sensitivity, engines, replay) takes them from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import TypeAlias

from dalenius.errors import QueryRefused
from dalenius.query.binding.binder import bind
from dalenius.query.plan.relations import Join, Relation, Scan
from dalenius.query.pricing.measurements import Program, lower
from dalenius.query.questions import Question
from dalenius.query.syntax.syntax import (
    Apply,
    Constant,
    Item,
    Joined,
    Name,
    Order,
    Query,
    Select,
    Source,
    Subquery,
    TableName,
    Term,
    UnionAll,
    UnitsIn,
)
from dalenius.query.tables import EachRow, Most, Table
from dalenius.query.types import Choice, Text
from terms import NULL, Known, Scope, Terms, kind_of
from worlds import Step, World, world

PRIVATE = ("visits", "visits", "visits", "orders", "lines", "staff", "events")
WORLDS = 8
Declarations: TypeAlias = Callable[[World], Mapping[str, Table]]


@dataclass(frozen=True)
class Generated:
    """A plan: where it came from, what was asked, and what is run and measured for it."""

    seed: int
    world: World
    query: Query
    question: Question
    program: Program
    tables: Mapping[str, Table] | None = None
    """Other declarations than the world's, where a check lies about them."""


def generated(seed: int, *, worlds: int = WORLDS, tables: Declarations | None = None) -> Generated | None:
    """The plan of a seed; None where the question is refused. `tables` may declare other things than the world."""
    random = Random(f"plan {seed}")
    here = world(seed % worlds)
    query, most = random_query(here, random), random_most(random)
    declared = tables(here) if tables else None
    try:
        question = bind(query, declared or here.tables, most=most)
        return Generated(seed, here, query, question, lower(question), declared)
    except QueryRefused:
        return None


def plans(count: int, *, where: int, worlds: int = WORLDS, tables: Declarations | None = None) -> Iterator[Generated]:
    """So many plans that compile, all over the same world."""
    seed, found = where, 0
    while found < count:
        plan = generated(seed, worlds=worlds, tables=tables)
        seed += worlds
        if plan:
            found += 1
            yield plan


def random_most(random: Random) -> Most | None:
    """An override of what a unit contributes, in half of the questions."""
    if random.random() < 0.5:
        return None
    return Most(rows=random.choice([1, 2, 7, 100]), groups=random.choice([1, 2, 3, 40]))


def steps_for(plan: Generated, *, most_rows: int = 200_000) -> list[Step]:
    """The steps of the plan's populations that its joins do not blow up beyond `most_rows` rows, or the lightest."""
    relation = plan.question.relation
    steps = [step for step in plan.world.steps if step.population in relation.populations]
    weights = {step.name: weight(relation, step.heavy) for step in steps}
    return [step for step in steps if weights[step.name] <= max(most_rows, min(weights.values()))]


def weight(relation: Relation, heavy: dict[str, int]) -> int:
    """About how many rows of a hurtful unit a relation reads or makes at most."""
    if isinstance(relation, Scan):
        return heavy.get(relation.table.name, 0) + 40 if relation.table.protection else 12
    weights = [weight(child, heavy) for child in relation.children]
    if isinstance(relation, Join) and relation.of_units:
        weights = [min(weight, 3 * relation.most) for weight in weights]  # choosing them takes time too
    return weights[0] * weights[1] if isinstance(relation, Join) else sum(weights)


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


def random_query(here: World, random: Random) -> Query:
    """A question: keys, statistics, and now and then HAVING, ORDER BY, LIMIT and WITH."""
    return _Questions(here, random).outer()


class _Questions:
    def __init__(self, here: World, random: Random) -> None:
        self.world, self.random, self.aliases = here, random, 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def alias(self) -> str:
        self.aliases += 1
        return f"a{self.aliases}"

    # ---- the outer question

    def outer(self) -> Query:
        source, scope = self.source(2)
        terms = Terms(self.random, scope)
        keys = tuple(self.key(terms) for _ in range(self.random.choice([0, 1, 1, 1, 2, 2, 3])))
        where = self.where(scope, 2) if self.chance(0.5) else None
        if keys and self.chance(0.1):
            return self.top(source, keys, where, terms)
        items = [Item(key, f"k{place}") for place, key in enumerate(keys)]
        items += [Item(self.statistic(terms), f"s{place}") for place in range(self.random.choice([1, 1, 2, 3]))]
        having = Apply("greater", (Apply("count"), Constant(3))) if keys and self.chance(0.1) else None
        common = ()
        if isinstance(source, Subquery) and self.chance(0.3):
            assert source.alias is not None
            common, source = ((source.alias, source.query),), TableName(source.alias, None)
        return Select(tuple(items), source, where, keys, having, common=common)

    def top(self, source: Source, keys: tuple[Term, ...], where: Term | None, terms: Terms) -> Query:
        count = self.random.choice([Apply("count"), Apply("count"), Apply("count", (terms.any("number", 0),))])
        if terms.scope.unit and self.chance(0.4):
            count = Apply("count", (terms.scope.unit,), distinct=True)
        shown = [Item(count, "n")] if self.chance(0.6) else []
        items = (*(Item(key, f"k{place}") for place, key in enumerate(keys)), *shown)
        return Select(items, source, where, keys, None, (Order(count, descending=True),), self.random.choice([1, 3, 9]))

    def key(self, terms: Terms) -> Term:
        """Something to group by: public or not."""
        scope, random = terms.scope, self.random
        makers = ["bin", "case", "truth"]
        makers += ["text"] * 3 * bool(scope.of("text")) + ["date", "trunc"] * bool(scope.of("date"))
        makers += ["time"] * bool(scope.of("moment"))
        match random.choice(makers):
            case "text":
                return random.choice(scope.of("text")).name
            case "date":
                return terms.date_part(0)
            case "trunc":
                return Apply("date_trunc", (Constant(random.choice(["month", "year", "day"])), terms.any("date", 0)))
            case "time":
                return terms.time_part(0)
            case "truth":
                return terms.any("bool", 1)
            case "case":
                then, other = Constant("yes"), random.choice([Constant("no"), NULL])
                return Apply("case", (terms.any("bool", 1), then, other))
        width = Constant(random.choice([10, 1000, 2**37]))
        small = [known for known in scope.of("number") if _is_small(known)]
        return (
            random.choice(small).name if small and self.chance(0.5) else Apply("bin", (terms.any("number", 0), width))
        )

    def statistic(self, terms: Terms) -> Term:
        """An aggregate of any kind."""
        number = terms.any("number", self.random.choice([0, 0, 1, 2]))
        some = self.random.choice(terms.scope.columns).name if terms.scope.columns else number
        name = self.random.choice(_STATISTICS)
        if name in ("count", "units"):
            distinct = name == "units" and terms.scope.unit is not None
            return Apply("count", (terms.scope.unit,) if distinct and terms.scope.unit else (), distinct=distinct)
        if name in ("present", "distinct"):
            return Apply("count", (some,), distinct=name == "distinct")
        if name in ("covar", "corr"):
            return Apply(name, (number, terms.any("number", 0)))
        if name == "quantile":
            return Apply(name, (number, Constant(self.random.choice([0, Fraction(1, 4), Fraction(9, 10), 1]))))
        if name in ("mode", "histogram"):
            return Apply(name, (self.listed(terms),))
        if name == "ratio":
            return Apply("divide", (Apply("sum", (number,)), Apply("count")))
        return Apply(name, (number,))

    def listed(self, terms: Terms) -> Term:
        """Something with few public values."""
        small = [known for known in terms.scope.columns if _is_small(known)]
        return self.random.choice(small).name if small and self.chance(0.7) else terms.any("bool", 1)

    # ---- sources

    def source(self, depth: int) -> tuple[Source, Scope]:
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
        return self.random.choice(makers)(depth - 1)

    def table(self, depth: int) -> tuple[Source, Scope]:
        return self.scan(self.random.choice(PRIVATE))

    def scan(self, name: str) -> tuple[TableName, Scope]:
        alias, table = self.alias(), self.world.tables[name]
        columns = [(column, domain) for column, domain in table.columns if column != "number"]  # a key of a path
        known = tuple(Known(Name(column, alias), kind_of(domain), domain) for column, domain in columns)
        named = table.protection is not None and not isinstance(table.protection.unit, EachRow)
        return TableName(name, alias), Scope(known, Name("person", alias) if named else None, (name,))

    def public_join(self, depth: int) -> tuple[Source, Scope]:
        left, scope = (
            self.scan("events") if self.chance(0.2) else self.source(depth) if depth > 0 else self.table(depth)
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
        mine, theirs = self.random.choice(alike if alike and self.chance(0.8) else pairs)
        condition = Apply("equal", (mine.name, theirs.name))
        kind = self.random.choice(["inner", "inner", "left", "left"])
        return Joined(left, right, kind, condition), Scope((*scope.columns, *other.columns), scope.unit, scope.tables)

    def unit_join(self, depth: int) -> tuple[Source, Scope]:
        left, scope = self.scan(self.random.choice(["visits", "orders"]))
        right, other = self.grouped(depth) if self.chance(0.3) else self.scan(self.random.choice(["visits", "orders"]))
        if other.unit is None or scope.unit is None:
            return left, scope
        condition: Term = Apply("equal", (scope.unit, other.unit))
        shared = [
            (a, b) for a in scope.columns for b in other.columns if a.kind == b.kind == "text" and a.name != b.name
        ]
        if shared and self.chance(0.5):
            mine, theirs = self.random.choice(shared)
            condition = Apply("and", (condition, Apply("equal", (mine.name, theirs.name))))
        kind = self.random.choice(["inner", "inner", "left"])
        return Joined(left, right, kind, condition), Scope((*scope.columns, *other.columns), scope.unit, scope.tables)

    def path_join(self, depth: int) -> tuple[Source, Scope]:
        left, scope = self.scan("lines")
        right, other = self.scan("orders")
        numbers = (Name("number", left.alias), Name("number", right.alias))
        return (
            Joined(left, right, self.random.choice(["inner", "inner", "left"]), Apply("equal", numbers)),
            Scope((*scope.columns, *other.columns), other.unit, ("lines", "orders")),
        )

    def grouped(self, depth: int) -> tuple[Source, Scope]:
        """A subquery that aggregates for each unit first."""
        source, scope = self.source(min(depth, 1)) if self.chance(0.4) else self.scan(self.random.choice(PRIVATE[:4]))
        if scope.unit is None:
            return self.inner(depth)
        terms = Terms(self.random, scope)
        keys = tuple(self.key(terms) for _ in range(self.random.choice([0, 0, 1, 2])))
        totals = [self.unit_total(terms) for _ in range(self.random.choice([1, 1, 2]))]
        named = [Item(term, f"g{place}") for place, term in enumerate((*keys, *totals))]
        where = self.where(scope, 1) if self.chance(0.3) else None
        having = Apply("greater_equal", (Apply("count"), Constant(2))) if self.chance(0.3) else None
        query = Select((Item(scope.unit, "person"), *named), source, where, (scope.unit, *keys), having)
        alias = self.alias()
        kinds = [_kind_of_key(key, scope) for key in keys] + ["number"] * len(totals)
        columns = tuple(Known(Name(f"g{place}", alias), kind) for place, kind in enumerate(kinds))
        return Subquery(query, alias), Scope(columns, Name("person", alias), scope.tables)

    def unit_total(self, terms: Terms) -> Term:
        """What an inner GROUP BY computes."""
        number = terms.any("number", self.random.choice([0, 1]))
        name = self.random.choice(["count", "present", "distinct", "sum", "sum", "min", "max"])
        if name == "count":
            return Apply("count")
        if name in ("present", "distinct"):
            return Apply("count", (number,), distinct=name == "distinct")
        return Apply(name, (number,))

    def distinct(self, depth: int) -> tuple[Source, Scope]:
        source, scope = self.scan(self.random.choice(PRIVATE[:4]))
        return self.selected(source, scope, distinct=True)

    def inner(self, depth: int) -> tuple[Source, Scope]:
        source, scope = self.source(depth) if depth > 0 else self.table(depth)
        return self.selected(source, scope, distinct=False)

    def selected(self, source: Source, scope: Scope, *, distinct: bool) -> tuple[Source, Scope]:
        """A subquery with some columns, some of them computed."""
        terms, alias = Terms(self.random, scope), self.alias()
        kinds = [self.random.choice(scope.columns).kind for _ in range(self.random.randint(1, 4))]
        items = [Item(terms.any(kind, 1), f"c{place}") for place, kind in enumerate(kinds)]
        columns = tuple(Known(Name(f"c{place}", alias), kind) for place, kind in enumerate(kinds))
        unit = [Item(scope.unit, "person")] if scope.unit and (distinct or self.chance(0.6)) else []
        where = self.where(scope, 1) if self.chance(0.4) else None
        query = Select((*unit, *items), source, where, distinct=distinct)
        return Subquery(query, alias), Scope(columns, Name("person", alias) if unit else None, scope.tables)

    def union(self, depth: int) -> tuple[Source, Scope]:
        """UNION ALL of two or three selects over tables with the same columns, also of two populations."""
        names, alias = self.random.choice(_UNIONS), self.alias()
        columns = self.random.sample(["age", "icd", "day"], self.random.randint(1, 3))
        parts, unit = [], "events" not in names and self.chance(0.7)
        for name in names:
            source, scope = self.scan(name)
            items = [Item(known.name, known.name.name) for known in scope.columns if known.name.name in columns]
            first = [Item(scope.unit, "person")] if unit and scope.unit else []
            items.sort(key=lambda item: columns.index(item.alias or ""))
            parts.append(Select((*first, *items), source, self.where(scope, 1) if self.chance(0.3) else None))
        domains = dict(self.world.tables[names[0]].columns)
        known = tuple(Known(Name(name, alias), kind_of(domains[name]), domains[name]) for name in columns)
        return Subquery(UnionAll(tuple(parts)), alias), Scope(known, Name("person", alias) if unit else None, names)

    # ---- conditions

    def where(self, scope: Scope, depth: int) -> Term:
        condition = Terms(self.random, scope).any("bool", depth)
        if scope.unit is None or set(scope.tables) & {"staff", "events"} or self.chance(0.7):
            return condition
        inside = self.units_in(scope.unit)
        return inside if self.chance(0.5) else Apply("and", (condition, inside))

    def units_in(self, unit: Name) -> Term:
        source, scope = self.scan(self.random.choice(["visits", "orders"]))
        assert scope.unit is not None
        where = Terms(self.random, scope).any("bool", 1)
        return UnitsIn(unit, Select((Item(scope.unit),), source, where), negated=self.chance(0.3))


_STATISTICS = (
    "count", "count", "units", "present", "distinct", "sum", "sum", "avg", "avg", "variance", "stddev", "covar",
    "corr", "min", "max", "median", "quantile", "mode", "histogram", "ratio",
)  # fmt: skip
_UNIONS = (
    ("visits", "visits"),
    ("visits", "staff"),
    ("staff", "visits", "visits"),
    ("events", "events"),
    ("events", "visits"),
)


def _is_small(known: Known) -> bool:
    domain = known.domain
    if domain is None or (isinstance(domain, Text) and not isinstance(domain, Choice)):
        return False
    return domain.size is not None and domain.size <= 500


def _kind_of_key(key: Term, scope: Scope) -> str:
    if isinstance(key, Name):
        return next(known.kind for known in scope.columns if known.name == key)
    assert isinstance(key, Apply)
    return {"case": "text", "date_trunc": "date"}.get(key.function, "bool" if key.function in _TRUTHS else "number")


_TRUTHS = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and", "or", "not", "is_null", "in",
    "between", "like", "starts_with", "ends_with", "contains",
}  # fmt: skip
