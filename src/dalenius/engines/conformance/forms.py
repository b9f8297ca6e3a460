"""Rarer forms of a question: joins from the other side or with a comma, other conditions on groups, and an order or a
limit by itself.

They are drawn from a stream of their own, for one question in `ONE_IN`: all others stay as they are, under their
numbers.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Literal

from dalenius.engines.conformance.draws import Draws
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
    Term,
    UnionAll,
)

ONE_IN = 8
_SIZES = (0, 1, 2, 5, 50, -1, Fraction(1, 2))
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_NOT_ALWAYS_NUMBERS = {"histogram", "mode", "stable_mode"}


def rarer(query: Query, seed: object) -> Query:
    """The question of a seed, now and then in a rarer form."""
    draws = Draws(f"more {seed}")
    return query if draws.below(ONE_IN) else _Forms(draws).outer(query)


class _Forms:
    """Rarer forms of a question's parts, of those that the binder takes."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws

    def outer(self, query: Query) -> Query:
        """The question, in an order or with a limit; one for the largest groups has both already."""
        found = self.inner(query)
        if isinstance(found, UnionAll) or found.limit is not None:
            return found
        if not found.group_by and self.draws.chance(30):
            found = replace(found, having=self.having(found))
        part = self.draws.choice(["order", "limit", "both", "neither"])
        order = self.order(found) if part in ("order", "both") else ()
        return replace(found, order_by=order, limit=self.limit() if part in ("limit", "both") else None)

    def inner(self, query: Query) -> Query:
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
