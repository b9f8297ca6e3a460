"""Random scalar terms of every kind, well typed as far as a generator can know.

Rarer forms of a question: joins from the other side or with a comma, other conditions on groups, and an order or a
limit by itself.

They are drawn from a stream of their own, for one question in `ONE_IN`: all others stay as they are, under their
numbers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Literal, TypeAlias

from dalenius.engines.conformance.worlds import TEXTS, Draws
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
    Term,
    UnionAll,
)
from dalenius.query.types import Bool, Choice, Days, Domain, Moments, Number

ONE_IN = 8
_SIZES = (0, 1, 2, 5, 50, -1, Fraction(1, 2))
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_NOT_ALWAYS_NUMBERS = {"histogram", "mode", "stable_mode"}


def rarer(query: QueryTree, seed: object) -> QueryTree:
    """The question of a seed, now and then in a rarer form."""
    draws = Draws(f"more {seed}")
    return query if draws.below(ONE_IN) else _Forms(draws).outer(query)


class _Forms:
    """Rarer forms of a question's parts, of those that the binder takes."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws

    def outer(self, query: QueryTree) -> QueryTree:
        """The question, in an order or with a limit; one for the largest groups has both already."""
        found = self.inner(query)
        if isinstance(found, UnionAll) or found.limit is not None:
            return found
        if not found.group_by and self.draws.chance(30):
            found = replace(found, having=self.having(found))
        part = self.draws.choice(["order", "limit", "both", "neither"])
        order = self.order(found) if part in ("order", "both") else ()
        return replace(found, order_by=order, limit=self.limit() if part in ("limit", "both") else None)

    def inner(self, query: QueryTree) -> QueryTree:
        """A question and all that it holds, with other joins and other conditions on groups."""
        common = tuple((name, self.inner(each)) for name, each in query.common)
        if isinstance(query, UnionAll):
            return replace(query, parts=tuple(map(self.inner, query.parts)), common=common)
        source, equalities = self.source(query.source)
        where = _all([*equalities, *([] if query.where is None else [query.where])])
        changed = query.group_by and query.limit is None and self.draws.chance(50)
        having = self.having(query) if changed else query.having
        return replace(query, source=source, where=where, having=having, common=common)

    # ---- joins

    def source(self, source: Source) -> tuple[Source, list[Term]]:
        """What stands in FROM, and the equalities in WHERE that its comma joins need."""
        if isinstance(source, Subquery):
            return replace(source, query=self.inner(source.query)), []
        if not isinstance(source, Joined):
            return source, []
        (left, first), (right, second) = self.source(source.left), self.source(source.right)
        joined, more = self.joined(replace(source, left=left, right=right))
        return joined, [*first, *second, *more]

    def joined(self, join: Joined) -> tuple[Joined, list[Term]]:
        """The same join: a left one as a right one, an inner one with its sides exchanged or with a comma."""
        if join.kind == "left":
            return (_mirrored(join, "right") if self.draws.chance(60) else join), []
        if self.draws.chance(40):
            join = _mirrored(join, "inner")
        if join.condition is None or self.draws.chance(50):
            return join, []
        return replace(join, kind="cross", condition=None), [join.condition]

    # ---- groups

    def having(self, select: Select) -> Term:
        """A condition on what a SELECT computes for a group."""
        keys = [item for item in select.items if item.term in select.group_by and item.alias != "person"]
        others = [item for item in select.items if item.term not in select.group_by]
        numbers = [item for item in others if _is_number(item.term)] or [Item(Apply("count"))]
        one = self.compared(self.named(self.draws.choice(numbers)))
        match self.draws.choice(["one", "one", "not", "and", "or", *["missing"] * bool(keys)]):
            case "not":
                return Apply("not", (one,))
            case "and" | "or" as both:
                return Apply(both, (one, self.compared(self.named(self.draws.choice(numbers)))))
            case "missing":
                return Apply("or", (one, Apply("is_null", (self.draws.choice(keys).term,))))
        return one

    def compared(self, term: Term) -> Term:
        sizes = [Constant(size) for size in self.draws.sample(_SIZES, 2)]
        match self.draws.choice(["one", "one", "between", "in"]):
            case "between":
                return Apply("between", (term, *sizes))
            case "in":
                return Apply("in", (term, *sizes))
        return Apply(self.draws.choice(_COMPARISONS), (term, sizes[0]))

    def named(self, item: Item) -> Term:
        """What a column holds, by its name or as it was written."""
        return Name(item.alias) if item.alias and self.draws.chance(50) else item.term

    # ---- what is shown

    def order(self, select: Select) -> tuple[Order, ...]:
        """One or two columns to go by: a number, a name, or a term."""
        places = [place for place, item in enumerate(select.items, start=1) if not _is_list(item.term)]
        chosen = self.draws.sample(places, min(len(places), self.draws.between(1, 2)))
        return tuple(Order(self.place(select, place), descending=self.draws.chance(50)) for place in chosen)

    def place(self, select: Select, place: int) -> Term:
        return Constant(place) if self.draws.chance(20) else self.named(select.items[place - 1])

    def limit(self) -> int:
        return self.draws.choice([0, 1, 3, 100])


def _mirrored(join: Joined, kind: Literal["inner", "right"]) -> Joined:
    return Joined(join.right, join.left, kind, join.condition)


def _all(terms: list[Term]) -> Term | None:
    """All of them at once, as a reader of SQL puts them together."""
    return reduce(lambda one, other: Apply("and", (one, other)), terms) if terms else None


def _is_list(term: Term) -> bool:
    return isinstance(term, Apply) and term.function == "histogram"


def _is_number(term: Term) -> bool:
    return isinstance(term, Apply) and term.function not in _NOT_ALWAYS_NUMBERS


Kind: TypeAlias = Literal["number", "date", "moment", "bool", "text"]


@dataclass(frozen=True)
class ScopedColumn:
    """A column in scope: how it is written, its kind, and its domain where the generator knows it."""

    name: Name
    kind: Kind
    domain: Domain | None = None

    @property
    def choice(self) -> bool:
        return isinstance(self.domain, Choice)


@dataclass(frozen=True)
class RandomScope:
    """What a SELECT can name: columns, and the unit where it has a name."""

    columns: tuple[ScopedColumn, ...]
    unit: Name | None = None
    tables: tuple[str, ...] = field(default=(), compare=False)

    def of(self, *kinds: Kind) -> list[ScopedColumn]:
        return [column for column in self.columns if column.kind in kinds]


def kind_of(domain: Domain) -> Kind:
    """The kind of a declared column."""
    for kind, types in _TYPES.items():
        if isinstance(domain, types):
            return kind
    return "text"


_TYPES: dict[Kind, type] = {"number": Number, "date": Days, "moment": Moments, "bool": Bool}


class RandomTerms:
    """Random terms over a scope."""

    def __init__(self, draws: Draws, scope: RandomScope) -> None:
        self.draws, self.scope = draws, scope

    def any(self, kind: Kind, depth: int = 2) -> Term:
        """A term of this kind; a column now and then, and a constant where there is none."""
        columns = self.scope.of(kind)
        if columns and (depth <= 0 or self.draws.chance(35)):
            return self.draws.choice(columns).name
        if depth <= 0:
            return self.constant(kind)
        return self._pick(self._makers(kind))(depth - 1)

    def constant(self, kind: Kind) -> Constant:
        """A constant near the values that occur."""
        draws, near = self.draws, [column.domain for column in self.scope.of(kind) if column.domain]
        if kind == "number":
            return Constant(draws.choice([0, 1, -1, 2, 7, 50, Fraction(1, 2), Fraction(-5, 4), Fraction(1, 100)]))
        if kind == "bool":
            return Constant(draws.chance(50))
        if kind == "text":
            listed = [value for domain in near if isinstance(domain, Choice) for value in domain.values]
            return Constant(draws.choice(listed or list(TEXTS)))
        ranged = [domain for domain in near if isinstance(domain, Days | Moments)]
        if ranged:
            domain = draws.choice(ranged)
            return Constant(domain.decode(draws.between(domain.lower, domain.upper)))
        return Constant(dt.date(2024, 2, 29) if kind == "date" else dt.datetime(2024, 2, 29, 23, 59, 59))

    def _pick(self, makers: list[Callable[[int], Term]]) -> Callable[[int], Term]:
        return self.draws.choice(makers)

    def _makers(self, kind: Kind) -> list[Callable[[int], Term]]:
        own: dict[Kind, list[Callable[[int], Term]]] = {
            "number": self._numbers(),
            "bool": self._truths(),
            "text": self._texts(),
            "date": self._dates(),
            "moment": self._moments(),
        }
        return [
            *own[kind],
            lambda depth: Apply("coalesce", (self.any(kind, depth), self.constant(kind))),
            lambda depth: Apply("null_if", (self.any(kind, depth), self.constant(kind))),
            lambda depth: Apply("case", (self.any("bool", depth), self.any(kind, depth), self.any(kind, depth))),
            lambda depth: Apply(
                "case",
                (self.any("bool", depth), self.any(kind, depth), self.any("bool", 0), self.constant(kind), NULL),
            ),
        ]

    # ---- numbers

    def _numbers(self) -> list[Callable[[int], Term]]:
        makers: list[Callable[[int], Term]] = [
            self._arithmetic,
            self._division,
            self._sign,
            self._rounding,
            self._clamp,
            self.bin,
        ]
        if self.scope.of("text"):
            makers += [lambda depth: Apply("length", (self.any("text", depth),))]
        if self.scope.of("date"):
            makers += [self.date_part, self._days_between]
        if self.scope.of("moment"):
            makers += [self.time_part]
        makers += [lambda depth: Apply("to_int", (self.any(self.draws.choice(["number", "bool", "text"]), depth),))]
        makers += [self._to_real]
        return makers

    def _to_real(self, depth: int) -> Term:
        if self.draws.chance(50):
            return Apply("to_real", (self.any("number", depth), Constant(Fraction(1, 4))))
        return Apply("to_real", (self.any("text", depth), Constant(Fraction(1, 100))))

    def _arithmetic(self, depth: int) -> Term:
        name = self.draws.choice(["add", "subtract", "multiply", "least", "greatest"])
        return Apply(name, (self.any("number", depth), self.any("number", depth - 1)))

    def _division(self, depth: int) -> Term:
        name = self.draws.choice(["divide", "floor_divide", "modulo"])
        by = Constant(self.draws.choice([0, 3, -7, Fraction(1, 2)])) if self.draws.chance(60) else None
        return Apply(name, (self.any("number", depth), by or self.any("number", depth - 1)))

    def _sign(self, depth: int) -> Term:
        return Apply(self.draws.choice(["negate", "abs", "sign", "floor", "ceil"]), (self.any("number", depth),))

    def _rounding(self, depth: int) -> Term:
        return Apply("round", (self.any("number", depth), Constant(self.draws.choice([0, 1, -1]))))

    def _clamp(self, depth: int) -> Term:
        lower = self.draws.choice([-3, 0, 1])
        return Apply("clamp", (self.any("number", depth), Constant(lower), Constant(lower + self.draws.between(0, 9))))

    def bin(self, depth: int) -> Term:
        """The lower edge of a number's bin."""
        return Apply("bin", (self.any("number", depth), Constant(self.draws.choice([1, 5, 10, Fraction(1, 2)]))))

    def date_part(self, depth: int) -> Term:
        """A part of a day."""
        part = self.draws.choice(["year", "quarter", "month", "day", "weekday", "day_of_year"])
        return Apply(part, (self.any("date", depth),))

    def time_part(self, depth: int) -> Term:
        """A part of a moment."""
        part = self.draws.choice(["year", "month", "weekday", "hour", "minute", "second"])
        return Apply(part, (self.any("moment", depth),))

    def _days_between(self, depth: int) -> Term:
        return Apply("days_between", (self.any("date", depth), self.any("date", 0)))

    # ---- truth values

    def _truths(self) -> list[Callable[[int], Term]]:
        makers = [self._compare, self._compare, self._logic, self._membership, self._is_null, self._between, self._like]
        return [*makers, lambda depth: Apply("to_bool", (self.any("text", depth),))]

    def _some_kind(self) -> Kind:
        return self.draws.choice(self.scope.columns).kind if self.scope.columns else "number"

    def _compare(self, depth: int) -> Term:
        name = self.draws.choice(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
        kind = self._some_kind()
        if kind == "bool":
            name = self.draws.choice(["equal", "not_equal"])
        right = self.constant(kind) if self.draws.chance(70) else self.any(kind, depth - 1)
        return Apply(name, (self.any(kind, depth), right))

    def _logic(self, depth: int) -> Term:
        name = self.draws.choice(["and", "or", "not"])
        return Apply(name, tuple(self.any("bool", depth) for _ in range(1 if name == "not" else 2)))

    def _membership(self, depth: int) -> Term:
        kind = self._some_kind()
        return Apply("in", (self.any(kind, depth), *(self.constant(kind) for _ in range(self.draws.between(1, 3)))))

    def _is_null(self, depth: int) -> Term:
        return Apply("is_null", (self.any(self._some_kind(), depth),))

    def _between(self, depth: int) -> Term:
        kinds: list[Kind] = ["number", "date", "moment"]
        kind = self.draws.choice([kind for kind in kinds if self.scope.of(kind)] or kinds[:1])
        return Apply("between", (self.any(kind, depth), self.constant(kind), self.constant(kind)))

    def _like(self, depth: int) -> Term:
        name, pattern = self.draws.choice(
            [
                ("like", "%a%"),
                ("like", "_"),
                ("like", "O%o"),
                ("starts_with", "a"),
                ("ends_with", ""),
                ("contains", "s"),
            ]
        )
        return Apply(name, (self.any("text", depth), Constant(pattern)))

    # ---- texts and times

    def _texts(self) -> list[Callable[[int], Term]]:
        return [
            lambda depth: Apply(self.draws.choice(["lower", "upper", "trim"]), (self.any("text", depth),)),
            lambda depth: Apply("concat", (self.any("text", depth), self.constant("text"))),
            lambda depth: Apply("substring", (self.any("text", depth), Constant(2), Constant(1))),
            lambda depth: Apply("replace", (self.any("text", depth), Constant("o"), Constant("ø"))),
            lambda depth: Apply("to_text", (self.any(self.draws.choice(["number", "bool", "date", "moment"]), 0),)),
        ]  # fmt: skip

    def _dates(self) -> list[Callable[[int], Term]]:
        return [
            lambda depth: Apply("date_trunc", (Constant(self._unit("week")), self.any("date", depth))),
            lambda depth: Apply("add_days", (self.any("date", depth), Constant(self.draws.choice([-400, 1, 29])))),
            lambda depth: Apply("to_date", (self.any(self.draws.choice(["moment", "text"]), depth),)),
        ]

    def _moments(self) -> list[Callable[[int], Term]]:
        return [
            lambda depth: Apply("date_trunc", (Constant(self._unit("hour", "minute")), self.any("moment", depth))),
            lambda depth: Apply("to_timestamp", (self.any(self.draws.choice(["date", "text"]), depth),)),
        ]

    def _unit(self, *more: str) -> str:
        return self.draws.choice(["year", "quarter", "month", "day", *more])


NULL = Constant(None)
