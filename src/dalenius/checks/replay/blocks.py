"""Worlds cut into blocks, random questions about them, and databases that differ outside one block alone.

What is charged to one block is free for everybody outside of it, so its exact results must stay as they are whoever
comes or goes there. Which block is charged is asked of the curator, on the way that paid questions take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.catalog.blocks import block_name, blocks_of
from dalenius.catalog.catalog import Catalog, Partition, Population
from dalenius.checks.replay.loading import OpenEngines, Quick, duckdb_of, results
from dalenius.checks.replay.neighbours import HEAVY, database, with_unit
from dalenius.engines.conformance.comparing import Totals
from dalenius.engines.conformance.plans import Generated, RandomQuestions, random_most
from dalenius.engines.conformance.terms import RandomScope, RandomTerms, ScopedColumn, kind_of, rarer
from dalenius.engines.conformance.worlds import Database, Draws, RawRow, World, world
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.reference.canonical import unit_code
from dalenius.errors import QueryRefused
from dalenius.measuring.measurements import lower
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.binding.binder import bind
from dalenius.query.syntax import Apply, Constant, Item, Name, QueryTree, Select, Subquery, Term, UnitsIn
from dalenius.query.types import Bool, Choice, Code, Domain, Number, Ranged

Cut: TypeAlias = Callable[["Division", str, Code], DuckDBEngine]
"""From a division and the name of one of its databases, around which block, to an engine that holds it."""
COLUMNS = ("city", "rate", "smoker", "icd", "day", "age")
_CROWD = {"visits": 300, "orders": 48, "lines": 60}
_BUDGET = RenyiFilter.of(Budget(1))


@dataclass(frozen=True, eq=False)
class Division:
    """A world whose people are cut by a column of their visits, and its databases."""

    world: World
    column: str

    @property
    def domain(self) -> Domain:
        return dict(self.world.tables["visits"].columns)[self.column]

    @cached_property
    def catalog(self) -> Catalog:
        """What an owner who cuts the people so has declared."""
        whole = {name: Population(name, _BUDGET, AddRemove()) for name in ("staff", "events")}
        people = Population("people", _BUDGET, AddRemove(), partition=self.partition)
        return Catalog({"people": people, **whole}, self.world.tables)

    @property
    def partition(self) -> Partition:
        return Partition("visits", self.column, self.codes)

    @cached_property
    def blocks(self) -> dict[str, Code]:
        """The values of the blocks, by the names under which they are charged."""
        return {block_name(self.world.tables["visits"], self.partition, code): code for code in self.codes}

    @property
    def codes(self) -> tuple[Code, ...]:
        """The listed values: two of those that the column can take, if there are so many."""
        domain = self.domain
        if isinstance(domain, Number):
            return tuple(dict.fromkeys([domain.clamped(1), domain.clamped(2)]))
        if isinstance(domain, Ranged):
            return tuple(dict.fromkeys([domain.lower, domain.clamped(domain.lower + 1)]))
        if isinstance(domain, Choice):
            return domain.values[:2]
        return (True, False) if isinstance(domain, Bool) else ("a", "A")

    def raw(self, code: Code) -> Any:
        """A code as an owner's file has it."""
        if isinstance(self.domain, Number) and code is not None and self.domain.step != 1:
            return float(int(code) * self.domain.step)
        return self.domain.decode(code)

    # ---- databases

    @cached_property
    def base(self) -> Database:
        """The world's base, in which every person has one of the listed values in all visits, or none of them."""
        rows = database(self.world, "base")
        return {**rows, "visits": [self._settled(row, place) for place, row in enumerate(rows["visits"])]}

    def _settled(self, row: RawRow, place: int) -> RawRow:
        number = hash_of(unit_code(row["person"]))
        choices = (*self.codes, *(["none"] if self.unlisted else []))
        code = choices[number % len(choices)]
        if code == "none" or (self.domain.nullable and place % 7 == 0):
            return {**row, self.column: self.raw(self.unlisted[place % len(self.unlisted)])}
        return {**row, self.column: self.raw(code)}

    @cached_property
    def unlisted(self) -> list[Code]:
        """What puts a row into no block."""
        others: list[Code] = [None] if self.domain.nullable else []
        if isinstance(self.domain, Ranged):
            others += [code for code in (self.domain.lower, self.domain.upper) if code not in self.codes]
        elif isinstance(self.domain, Choice):
            others += [value for value in self.domain.values if value not in self.codes]
        elif not isinstance(self.domain, Bool):
            others += ["b", ""]
        return others

    def only(self, code: Code) -> Database:
        """The base without anybody who is not in this block."""
        inside = {unit_code(row["person"]) for row in self.base["visits"] if self._in(row, code)}
        kept = {
            name: [row for row in self.base[name] if unit_code(row["person"]) in inside]
            for name in ("visits", "orders")
        }
        return {**self.base, **kept}

    def _in(self, row: RawRow, code: Code) -> bool:
        value = row[self.column]
        return value is not None and self.domain.code(value) == code

    def crowded(self, codes: list[Code]) -> Database:
        """The base and a newcomer with each of these values, the first of them with 10,000 visits."""
        database = self.base
        for place, code in enumerate(codes):
            rows = _CROWD | ({} if place else {"visits": HEAVY})
            unit = f"newcomer {code!r}" if self.world.texts_as_ids else 10**6 + place
            count = len(database["visits"])
            database = with_unit(self.world, database, "people", unit, rows, "mixed")
            came = [{**row, self.column: self.raw(code)} for row in database["visits"][count:]]
            database = {**database, "visits": [*database["visits"][:count], *came]}
        return database

    def database(self, name: str, code: Code = None) -> Database:
        """The `base`, `only` one block of it, others crowded `around` that block, or more `within` it."""
        others = [each for each in (*self.codes, *self.unlisted[:1]) if each != code]
        made: dict[str, Callable[[], Database]] = {
            "base": lambda: self.base,
            "only": lambda: self.only(code),
            "around": lambda: self.crowded(others),
            "within": lambda: self.crowded([code]),
        }
        return made[name]()


@lru_cache(maxsize=32)
def division(seed: int) -> Division:
    """The division of a world; the column follows from the seed."""
    return Division(world(seed), COLUMNS[seed % len(COLUMNS)])


def hash_of(code: object) -> int:
    return sum(repr(code).encode())


# ---- questions


class BlockQuestions(RandomQuestions):
    """Random questions in which the values of blocks are asked about in right and in misleading ways."""

    def __init__(self, cut: Division, draws: Draws) -> None:
        super().__init__(cut.world, draws)
        self.cut = cut

    def scan(self, name: str) -> tuple[Any, RandomScope]:
        table, scope = super().scan(name)
        if name != "visits" or self.draws.chance(40):
            return table, scope
        alias = self.alias()
        names = [known.name.name for known in scope.columns]
        items = tuple(Item(self.item(Name(each, table.alias), scope), each) for each in ["person", *names])
        columns = tuple(ScopedColumn(Name(known.name.name, alias), known.kind, known.domain) for known in scope.columns)
        query = Select(items, table, self.where(scope, 1))
        return Subquery(query, alias), RandomScope(columns, Name("person", alias), scope.tables)

    def item(self, column: Name, scope: RandomScope) -> Term:
        """A column of a subquery; that of the blocks is now and then another one under its name."""
        if column.name != self.cut.column or self.draws.chance(80):
            return column
        return Apply("case", (RandomTerms(self.draws, scope).any("bool", 1), self.value(), column))

    def where(self, scope: RandomScope, depth: int) -> Term:
        other = super().where(scope, depth)
        if self.draws.chance(20):
            return other
        return Apply("and", (self.condition(scope), other)) if self.draws.chance(30) else self.condition(scope)

    def condition(self, scope: RandomScope) -> Term:
        """Something about a column of the kind that blocks go by, most often that it equals a listed value."""
        kind = kind_of(self.cut.domain)
        alike = [known for known in scope.columns if known.kind == kind]
        named = [known for known in alike if known.name.name == self.cut.column]
        if not alike:
            return RandomTerms(self.draws, scope).any("bool", 1)
        column = self.draws.choice(named if named and self.draws.chance(80) else alike).name
        return self.compared(column, RandomTerms(self.draws, scope))

    def compared(self, column: Name, terms: RandomTerms) -> Term:
        draws, value = self.draws, self.value()
        equal = Apply("equal", (column, value))
        match draws.choice(["equal"] * 5 + ["mirrored", "in", "and", "bare"] + ["several", "or", "mixed", "not"] * 2):
            case "mirrored":
                return Apply("equal", (value, column))
            case "in":
                return Apply("in", (column, value))
            case "several":
                return Apply("in", (column, value, self.value(), terms.constant(kind_of(self.cut.domain))))
            case "or":
                return Apply("or", (equal, Apply("equal", (column, self.value()))))
            case "mixed":
                return Apply("or", (equal, terms.any("bool", 1)))
            case "not":
                return Apply(draws.choice(["not", "not", "is_null"]), (equal,))
            case "and":
                return Apply("and", (terms.any("bool", 1), equal))
            case "bare" if isinstance(self.cut.domain, Bool):
                return Apply("not", (column,)) if draws.below(2) else column
        return equal

    def value(self) -> Constant:
        return Constant(self.cut.domain.decode(self.draws.choice(self.cut.codes)))


class UnitQuestions(BlockQuestions):
    """Those in which units are asked for that are, or are not, among those of a block."""

    def where(self, scope: RandomScope, depth: int) -> Term:
        if scope.unit is not None and not set(scope.tables) & {"staff", "events"} and self.draws.chance(60):
            return self.units_in(scope.unit)
        return super().where(scope, depth)

    def units_in(self, unit: Name) -> Term:
        table, scope = RandomQuestions.scan(self, "visits")
        assert scope.unit is not None
        equal = Apply("equal", (Name(self.cut.column, table.alias), self.value()))
        return UnitsIn(unit, Select((Item(scope.unit),), table, equal), negated=self.draws.chance(50))


_BY_UNIT = 8
"""Every so many questions one is about units of a block; the others are as they were before there were any."""


def random_question(cut: Division, seed: int) -> QueryTree:
    """The question of a seed."""
    kind = BlockQuestions if (seed + 1) % _BY_UNIT else UnitQuestions
    return rarer(kind(cut, Draws(f"block {seed}")).outer(), seed)


def divided(cut: Division, seed: int) -> Generated | None:
    """The plan of a question about a divided world; None where it is refused."""
    query = random_question(cut, seed)
    try:
        question = bind(query, cut.world.tables, most=random_most(Draws(f"most {seed}")))
        return Generated(seed, cut.world, query, question, lower(question))
    except QueryRefused:
        return None


# ---- what is charged to one block


def charged(cut: Division, plan: Generated) -> Code:
    """The value of the only block that a question is charged to; None where all people are charged."""
    name = blocks_of(plan.question, cut.catalog).get("people")
    return None if name is None else cut.blocks[name]


def leaks(cut: Division, plan: Generated, code: Code, load: Cut) -> Iterator[str]:
    """How the exact results of a question change although only units outside a block come or go."""
    before = outcome(plan, load(cut, "base", None))
    for name, said in _OUTSIDE.items():
        if outcome(plan, load(cut, name, code)) != before:
            yield said


def outcome(plan: Generated, engine: DuckDBEngine) -> list[Totals]:
    """The exact results of a question; nothing where the engine refuses it, before it reads anything."""
    try:
        return results(Quick(engine), plan.program.passes)
    except QueryRefused:
        return []


_OUTSIDE = {"only": "when everybody outside of it goes", "around": "when others come outside of it"}


class Divisions(OpenEngines[tuple[Division, str, Code]]):
    """The engines with databases of divided worlds."""

    def __init__(self) -> None:
        super().__init__(lambda key: duckdb_of(key[0].world, key[0].database(*key[1:])))

    def __call__(self, cut: Division, name: str, code: Code) -> DuckDBEngine:
        return self.engine((cut, name, code))
