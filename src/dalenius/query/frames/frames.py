"""Frames: questions written in Python, step by step. They give the same syntax as SQL, and so the same plan and price.

    db.table("visits").where(col("age") >= 65).group_by("city").agg(n=count(), cost=mean("cost")).run(epsilon="0.2")

A frame never changes: each step gives a new one. Nothing is read before `run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, get_args

from dalenius.errors import InvalidParameter, QueryRefused, UnknownName
from dalenius.privacy.numbers import whole
from dalenius.query.frames.aggregates import count, histogram
from dalenius.query.frames.formulas import Formula, Value, lit, named
from dalenius.query.rendering import item_text, query_text, text
from dalenius.query.syntax import (
    Apply,
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
    called,
    conjunction,
    using,
)
from dalenius.query.tables import ContributionBounds

How = Literal["inner", "left", "right", "full", "cross"]

AGGREGATES = frozenset(
    {
        "count",
        "sum",
        "avg",
        "variance",
        "stddev",
        "covar",
        "corr",
        "min",
        "max",
        "median",
        "quantile",
        "mode",
        "histogram",
        "robust_median",
        "robust_quantile",
        "robust_trimmed_mean",
        "robust_scale",
        "stable_mode",
        "stable_median",
        "stable_quantile",
        "proposed_median",
        "proposed_quantile",
    }
)

DEEPEST = 100
"""How far formulas and frames may be nested."""


class BoundQuery(Protocol):
    """A question that a session has bound: what a frame hands itself over to."""

    def run(self, **offer: Any) -> Any: ...
    def explain(self, **offer: Any) -> Any: ...
    def cost(self, **offer: Any) -> Any: ...
    def expected_error(self, **offer: Any) -> Any: ...
    def rehearse(self, **offer: Any) -> Any: ...


class FrameSession(Protocol):
    """The session that a frame came from."""

    def bind(self, query: QueryTree, most: ContributionBounds | None = None) -> Any: ...


class Frame:
    """A question being written: rows of a table, then what is kept, computed and asked of them.

    Steps may come in any order that makes sense; a step after `agg` works on the noisy answer (`where` is then HAVING),
    except a second `agg`, which works on what the first one gave for each unit.
    """

    __slots__ = ("_most", "_select", "_session")

    def __init__(
        self,
        rows: str | Select,
        *,
        session: FrameSession | None = None,
        most: ContributionBounds | None = None,
    ) -> None:
        self._select = Select((), TableName(rows)) if isinstance(rows, str) else rows
        self._session, self._most = session, most

    # ---- rows

    def where(self, *conditions: Formula) -> Frame:
        """The rows, or after `agg` the groups, for which all conditions are true."""
        if not conditions:
            raise QueryRefused("where()", rule="it takes a condition", instead='Write where(col("age") >= 65).')
        if self._finished:
            return self._wrapped().where(*conditions)
        select, terms = self._select, [self._resolved(lit(each).term) for each in conditions]
        if self._grouped:
            return self._with(replace(select, having=_also(select.having, terms)))
        return self._with(replace(select, where=_also(select.where, terms)))

    filter = where

    def select(self, *columns: str | Formula, **named_columns: Value) -> Frame:
        """These columns and no others; `name=formula` computes one."""
        if self._finished:
            return self._wrapped().select(*columns, **named_columns)
        chosen = replace(self._select, items=self._items(columns, named_columns))
        left_out = self._left_out(chosen)
        if left_out and self._grouped:
            raise QueryRefused(
                f"select(...) without {item_text(left_out[0])}",
                rule="an aggregate that nothing uses is not asked for",
                instead="Leave it out of agg(...).",
            )
        return self._kept().select(*columns, **named_columns) if left_out else self._with(chosen)

    def with_columns(self, **named_columns: Value) -> Frame:
        """All columns so far, and computed ones."""
        if self._finished:
            return self._wrapped().with_columns(**named_columns)
        before = self._select.items or (Item(Name("*")),)
        return self._with(replace(self._select, items=(*before, *self._items((), named_columns))))

    def distinct(self) -> Frame:
        """Every combination of the selected columns once (in an inner step: once for each unit)."""
        if self._finished:
            return self._wrapped().distinct()
        self._require_columns("distinct()")
        return self._with(replace(self._select, distinct=True))

    def union(self, *others: Frame) -> Frame:
        """The rows of all frames, which have as many columns each: UNION ALL."""
        parts = tuple(frame._chosen("union(...)") for frame in (self, *others))
        return self._with(Select((), Subquery(UnionAll(parts))))

    def called(self, name: str) -> Frame:
        """The same rows under a name, for `col("name.column")` and joins of a table with itself."""
        source = self._select.source
        if self._plain and isinstance(source, TableName | Subquery):
            return self._with(replace(self._select, source=replace(source, alias=name)))
        return self._with(Select((), Subquery(self._chosen("called(...)"), name)))

    def join(self, other: Frame, *, on: str | Sequence[str] | Formula | None = None, how: How = "inner") -> Frame:
        """Pairs of rows: `on` is a column that both have, several of them, or a condition."""
        if how not in get_args(How):
            raise InvalidParameter("how", how, allowed=f"one of {', '.join(get_args(How))}")
        left, right = self._source(), other._source()
        return self._with(Select((), Joined(left, right, how, _condition(on, left, right, how))))

    # ---- groups

    def group_by(self, *keys: str | Formula, **named_keys: Value) -> GroupedFrame:
        """Groups of equal keys, to aggregate; `name=formula` computes a key."""
        if self._finished or self._grouped or self._select.order_by:
            return self._wrapped().group_by(*keys, **named_keys)
        return GroupedFrame(self, keys, named_keys)

    def agg(self, *aggregates: Formula, **named_aggregates: Value) -> Frame:
        """Aggregates of all rows."""
        return self.group_by().agg(*aggregates, **named_aggregates)

    def count(self) -> Frame:
        """The number of rows."""
        return self.agg(count=count())

    def histogram(self, column: str | Formula) -> Frame:
        """The count of every value of a column that has public values."""
        return self.agg(histogram=histogram(column))

    def order_by(self, *terms: str | Formula, descending: bool | Sequence[bool] = False) -> Frame:
        """The groups in order of noisy values or keys; `descending` is for all or for each."""
        if self._select.limit is not None:
            return self._wrapped().order_by(*terms, descending=descending)
        flags = [descending] * len(terms) if isinstance(descending, bool) else list(descending)
        if len(flags) != len(terms):
            raise InvalidParameter("descending", descending, allowed="one truth value, or one for each term")
        orders = [Order(self._resolved(named(term).term), flag) for term, flag in zip(terms, flags, strict=True)]
        return self._with(replace(self._select, order_by=tuple(orders)))

    sort = order_by

    def limit(self, rows: int) -> Frame:
        """The first groups."""
        if self._select.limit is not None:
            return self._wrapped().limit(rows)
        return self._with(replace(self._select, limit=whole(0, rows=rows)))

    head = limit

    def contributing(self, *, max_rows: int, max_groups: int | None = None) -> Frame:
        """The same question with other limits on what one unit contributes: rows in a group, and groups."""
        return Frame(self._select, session=self._session, most=ContributionBounds.stated(max_rows, max_groups))

    # ---- asking

    def syntax(self) -> QueryTree:
        """The question as syntax: what SQL gives for the same question."""
        query = self._chosen("the question")
        _require_shallow(query)
        return query

    def run(self, **offer: Any) -> Any:
        """Charge, and answer."""
        return self.asked().run(**offer)

    def explain(self, **offer: Any) -> Any:
        """The derivation; nothing is read or spent."""
        return self.asked().explain(**offer)

    def cost(self, **offer: Any) -> Any:
        """The price; nothing is read or spent."""
        return self.asked().cost(**offer)

    def expected_error(self, **offer: Any) -> Any:
        """The error bars to expect; nothing is read or spent."""
        return self.asked().expected_error(**offer)

    def rehearse(self, **offer: Any) -> Any:
        """The answer on made-up tables; nothing is read or spent."""
        return self.asked().rehearse(**offer)

    def asked(self) -> BoundQuery:
        """The question, checked by the session that the frame came from."""
        asked: BoundQuery = self.session.bind(self.syntax(), self._most)
        return asked

    @property
    def session(self) -> FrameSession:
        """The session that the frame came from."""
        if self._session is None:
            raise QueryRefused(
                repr(self), rule="the frame belongs to no session", instead="Start at session.table(...)."
            )
        return self._session

    @property
    def most(self) -> ContributionBounds | None:
        """How much of one unit is to count, where it was said."""
        return self._most

    def rows(self) -> Select:
        """The rows by themselves, as syntax without columns: for whatever is made of rows instead of statistics."""
        if self._finished or self._grouped or self._select.order_by:
            return self._wrapped()._select
        return self._kept()._select if self._select.items else self._select

    def __repr__(self) -> str:
        return query_text(self._select if self._select.items else replace(self._select, items=(Item(Name("*")),)))

    # ---- what a step needs to know

    @property
    def _grouped(self) -> bool:
        return bool(self._select.group_by) or any(_aggregated(item.term) for item in self._select.items)

    @property
    def _finished(self) -> bool:
        """Whether nothing more fits into this SELECT."""
        return self._select.distinct or self._select.limit is not None

    @property
    def _plain(self) -> bool:
        return self._select == Select((), self._select.source)

    def _with(self, select: Select) -> Frame:
        return Frame(select, session=self._session, most=self._most)

    def _wrapped(self) -> Frame:
        """The same rows, as a subquery of a new SELECT."""
        return self._with(Select((), Subquery(self._chosen("the inner step"))))

    def _kept(self) -> Frame:
        """The same rows as a subquery, under the name that they have."""
        return self._with(Select((), Subquery(self._select, called(self._select.source))))

    def _left_out(self, later: Select) -> list[Item]:
        """The columns chosen so far that a later SELECT does not name: whether they exist would never be looked at."""
        terms = [*(item.term for item in later.items), *later.group_by, *(order.term for order in later.order_by)]
        terms += [term for term in (later.where, later.having) if term is not None]
        used = _parts(terms) if self._select.items else set()
        return [item for item in self._select.items if id(item.term) not in used and item.term != Name("*")]

    def _chosen(self, step: str) -> Select:
        self._require_columns(step)
        return self._select

    def _source(self) -> Source:
        """As one side of a join; a filtered table keeps its name."""
        if self._plain:
            return self._select.source
        items = self._select.items or (Item(Name("*")),)
        return Subquery(replace(self._select, items=items), called(self._select.source) or "part")

    def _require_columns(self, step: str) -> None:
        if not self._select.items:
            raise QueryRefused(
                step, rule="no columns are selected or aggregated", instead='Add .agg(n=count()) or .select("column").'
            )

    def _items(self, columns: Sequence[str | Formula], named_columns: Mapping[str, Value]) -> tuple[Item, ...]:
        formulas = [named(column) for column in columns]
        formulas += [lit(value).alias(name) for name, value in named_columns.items()]
        return tuple(Item(self._resolved(each.term), self._alias(each)) for each in formulas)

    def _alias(self, formula: Formula) -> str | None:
        """The name of an output column: as given, or that of the column, where what it stands for has another."""
        term = formula.term
        if formula.name is not None or not isinstance(term, Name):
            return formula.name
        found = self._resolved(term)
        return None if isinstance(found, Name) and found.name == term.name else term.name

    def _resolved(self, term: Term) -> Term:
        """The term with the names of computed columns replaced by what they stand for."""
        items = self._select.items
        if not items:
            return term
        known = {(_output(item) or "").lower(): item.term for item in items}
        return _replaced(term, known, closed=Name("*") not in [item.term for item in items])


class GroupedFrame:
    """Groups of rows, waiting for `agg`."""

    __slots__ = ("_frame", "_keys", "_written")

    def run(self, **offer: Any) -> Any:
        """Refuse: groups by themselves ask nothing."""
        raise InvalidParameter(
            "question", "group_by(...)", allowed="finished with .agg(...)", hint="Write .group_by(...).agg(n=count())."
        )

    explain = cost = expected_error = rehearse = asked = run

    def __init__(self, frame: Frame, keys: Sequence[str | Formula], named_keys: Mapping[str, Value]) -> None:
        self._frame, self._keys = frame, frame._items(keys, named_keys)
        self._written = keys, named_keys

    def agg(self, *aggregates: Formula, **named_aggregates: Value) -> Frame:
        """Aggregates of each group: `.agg(visits=count(), cost=mean("cost"))`."""
        frame = self._frame
        items = frame._items(aggregates, named_aggregates)
        if not items and not self._keys:
            raise QueryRefused("agg()", rule="nothing is asked", instead="Write agg(n=count()).")
        terms = tuple(item.term for item in self._keys)
        chosen = replace(frame._select, items=(*self._keys, *items), group_by=terms)
        if frame._left_out(chosen):
            return GroupedFrame(frame._kept(), *self._written).agg(*aggregates, **named_aggregates)
        return frame._with(chosen)


def _also(before: Term | None, terms: Sequence[Term]) -> Term:
    return conjunction([*([] if before is None else [before]), *terms])


def _output(item: Item) -> str | None:
    return item.alias or (item.term.name if isinstance(item.term, Name) else None)


def _aggregated(term: Term) -> bool:
    if not isinstance(term, Apply):
        return False
    return term.function in AGGREGATES or any(_aggregated(each) for each in term.arguments)


def _parts(terms: list[Term]) -> set[int]:
    """The identities of the terms and of all terms inside of them: a name that is resolved is replaced by the very term
    of its column. Not by recursion: chains may be long."""
    found: set[int] = set()
    while terms:
        term = terms.pop()
        found.add(id(term))
        if isinstance(term, Apply):
            terms += term.arguments
        elif isinstance(term, UnitsIn):
            terms.append(term.unit)
    return found


def _replaced(term: Term, known: Mapping[str, Term], *, closed: bool) -> Term:
    if isinstance(term, Apply):
        return replace(term, arguments=tuple(_replaced(each, known, closed=closed) for each in term.arguments))
    if isinstance(term, UnitsIn):
        unit = _replaced(term.unit, known, closed=closed)
        return replace(term, unit=unit) if isinstance(unit, Name) else term
    if not isinstance(term, Name) or (term.table is not None and not closed):
        return term
    if term.table is None and term.name.lower() in known:
        return known[term.name.lower()]
    if closed:
        raise UnknownName("column", text(term), known=[name for name in known if name])
    return term


def _condition(on: str | Sequence[str] | Formula | None, left: Source, right: Source, how: How) -> Term | None:
    if isinstance(on, Formula):
        return on.term
    if on is None:
        if how != "cross":
            raise QueryRefused("join(...)", rule="a join needs a condition", instead='Add on="column".')
        return None
    found = using([on] if isinstance(on, str) else list(on), left, right) if on else None
    if found is None:
        raise QueryRefused(
            f"join(..., on={on!r})",
            rule="it is not clear whose columns are meant",
            instead='Write on=col("left.column") == col("right.column").',
        )
    return found


def _require_shallow(query: QueryTree) -> None:
    """Trees that are nested too deeply would overflow the stack of whoever reads them."""
    waiting: list[tuple[object, int]] = [(query, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > 3 * DEEPEST:
            raise QueryRefused(
                "the frame", rule="it is nested too deeply", instead="Use .is_in([...]) for long chains of |."
            )
        if isinstance(part, tuple):
            waiting += [(each, depth + 1) for each in part]
        elif hasattr(part, "__dataclass_fields__"):
            waiting += [(getattr(part, name), depth + 1) for name in part.__dataclass_fields__]
