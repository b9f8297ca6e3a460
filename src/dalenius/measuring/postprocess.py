"""From estimates to the table that is shown: arithmetic on aggregates, HAVING, ORDER BY, LIMIT, and the bars.

Everything here sees released values only, so it costs nothing.

What kind of value each output column holds, from the question alone: no released value has a say in it.

An exact number is a multiple of its `unit`, a fraction that grows finer by arithmetic; a quotient is shown as a float.
`size` is a bound that values hardly ever exceed, by which a column's width is chosen; it is no promise.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm
from typing import Any, Literal, TypeAlias

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.measuring.bars import bars, statistics
from dalenius.measuring.estimates import COUNTS, LEVEL, Estimates, step
from dalenius.measuring.released import apply, code_of, pick, plain, real, sort_key, tidy
from dalenius.query.expressions import Column, Expression
from dalenius.query.functions.evaluation import evaluate
from dalenius.query.functions.functions import call, literal
from dalenius.query.questions import VALUES, Compute, Given, KeyOf, Output, Post, Statistic, ValueOf
from dalenius.query.types import Bool, Code, Days, Domain, Moments, Number, Ranged

Name: TypeAlias = Literal["exact", "real", "date", "moment", "truth", "text", "span", "histogram", "null"]


@dataclass(frozen=True)
class Kind:
    """A kind of value; `unit` and `size` are of exact numbers, `of` is that of the values of a histogram."""

    name: Name
    unit: Fraction = Fraction(1)
    size: Fraction = Fraction(0)
    of: Kind | None = None

    @property
    def bar(self) -> Kind:
        """The kind of this column's bars; a float where there are none."""
        if self.name == "exact":
            return self
        return {"date": SPAN, "moment": SPAN, "histogram": COUNT}.get(self.name, REAL)


_MANY = 2**30  # rows of a table, roughly: a sum is that much larger than a value
COUNT = Kind("exact", size=Fraction(_MANY))
REAL, DATE, MOMENT, TRUTH, TEXT, SPAN, NULL = (
    Kind(name) for name in ("real", "date", "moment", "truth", "text", "span", "null")
)


def of_domain(domain: Domain) -> Kind:
    """The kind of the values of a column."""
    if isinstance(domain, Number):
        return Kind("exact", domain.step, max(abs(domain.lower), abs(domain.upper)) * domain.step)
    kinds = ((Days, DATE), (Moments, MOMENT), (Bool, TRUTH))
    return next((kind for type_, kind in kinds if isinstance(domain, type_)), TEXT)


def of_statistic(statistic: Statistic, domains: Sequence[Domain]) -> Kind:
    """The kind of a released statistic of columns with these domains."""
    if statistic.kind in COUNTS:
        return COUNT
    if statistic.kind == "sum":
        return replace(of_domain(domains[0]), unit=step(domains[0]), size=of_domain(domains[0]).size * _MANY)
    if statistic.kind in VALUES:
        return of_domain(domains[0])
    return Kind("histogram", of=of_domain(domains[0])) if statistic.kind == "histogram" else REAL


def of_term(post: Post, keys: Sequence[Kind], statistics: Sequence[Kind]) -> Kind:
    """The kind of an output term over keys and statistics of these kinds."""
    match post:
        case KeyOf():
            return keys[post.index]
        case ValueOf():
            return statistics[post.index]
        case Given():
            return of_value(post.value)
    kinds = [of_term(argument, keys, statistics) for argument in post.arguments]
    rule = RULES.get(post.function)
    return rule(post, kinds) if callable(rule) else rule or REAL


def of_value(value: Any) -> Kind:
    """The kind of a constant."""
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Kind("exact", Fraction(1, Fraction(value).denominator), abs(Fraction(value)))
    # A datetime is a date too, so it comes first.
    kinds = ((bool, TRUTH), (dt.datetime, MOMENT), (dt.date, DATE), (str, TEXT))
    return next((kind for type_, kind in kinds if isinstance(value, type_)), NULL if value is None else REAL)


# ---- functions

Rule: TypeAlias = "Kind | Callable[[Compute, Sequence[Kind]], Kind]"


def _common(kinds: Sequence[Kind]) -> Kind:
    """The one kind that can hold the values of all of them."""
    known = [kind for kind in kinds if kind != NULL] or [REAL]
    if all(kind.name == "exact" for kind in known):
        return Kind("exact", _finest([kind.unit for kind in known]), max(kind.size for kind in known))
    names = {kind.name for kind in known}
    if names <= {"exact", "real"}:
        return REAL
    return known[0] if len(names) == 1 else MOMENT if names == {"date", "moment"} else TEXT


def _finest(units: Sequence[Fraction]) -> Fraction:
    """The largest number that all are multiples of."""
    below = lcm(*(unit.denominator for unit in units))
    return Fraction(gcd(*(int(unit * below) for unit in units)), below)


def _added(post: Compute, kinds: Sequence[Kind]) -> Kind:
    dated = [kind for kind in kinds if kind in (DATE, MOMENT)]
    if dated:
        return COUNT if len(dated) == 2 else dated[0]
    found = _common(kinds)
    return replace(found, size=sum((kind.size for kind in kinds), Fraction(0))) if found.name == "exact" else found


def _multiplied(post: Compute, kinds: Sequence[Kind]) -> Kind:
    first, second = kinds
    if "real" in (first.name, second.name):
        return REAL
    return Kind("exact", first.unit * second.unit, first.size * second.size)


def _whole(post: Compute, kinds: Sequence[Kind]) -> Kind:
    return Kind("exact", size=kinds[0].size + 1) if kinds[0].name == "exact" else kinds[0]


def _rounded_kind(post: Compute, kinds: Sequence[Kind]) -> Kind:
    digits = post.arguments[1] if len(post.arguments) > 1 else Given(0)
    if kinds[0].name != "exact" or not (isinstance(digits, Given) and isinstance(digits.value, int | Fraction)):
        return kinds[0] if kinds[0].name != "exact" else REAL
    unit = Fraction(10) ** -int(digits.value)
    return Kind("exact", unit, kinds[0].size + unit)


def _on_grid(post: Compute, kinds: Sequence[Kind]) -> Kind:
    """BIN(x, width) and TO_REAL(x, step): multiples of a constant; dates stay dates."""
    if len(post.arguments) < 2 or kinds[0].name not in ("exact", "real"):
        return kinds[0]
    width = post.arguments[1]
    known = isinstance(width, Given) and isinstance(width.value, int | Fraction)
    unit = Fraction(width.value) if known else Fraction(0)  # type: ignore[union-attr]
    return Kind("exact", unit, (kinds[0].size or COUNT.size) + unit) if unit > 0 else REAL


def _case(post: Compute, kinds: Sequence[Kind]) -> Kind:
    return _common([*kinds[1::2], *([kinds[-1]] if len(kinds) % 2 else [])])


RULES: Mapping[str, Rule] = {
    "add": _added, "subtract": _added, "add_days": _added, "multiply": _multiplied, "divide": REAL,
    "floor_divide": COUNT, "modulo": lambda post, kinds: _common(kinds), "sign": COUNT,
    "negate": lambda post, kinds: kinds[0], "abs": lambda post, kinds: kinds[0],
    "least": lambda post, kinds: _common(kinds), "greatest": lambda post, kinds: _common(kinds),
    "coalesce": lambda post, kinds: _common(kinds), "clamp": lambda post, kinds: _common(kinds),
    "null_if": lambda post, kinds: kinds[0], "case": _case, "floor": _whole, "ceil": _whole, "round": _rounded_kind,
    "bin": _on_grid, "to_real": _on_grid, "to_int": lambda post, kinds: replace(COUNT, size=kinds[0].size + COUNT.size),
    "date_trunc": lambda post, kinds: kinds[1], "to_date": DATE, "to_timestamp": MOMENT,
    **dict.fromkeys(("year", "quarter", "month", "day", "weekday", "day_of_year", "hour", "minute", "second",
                     "days_between", "length"), COUNT),
    **dict.fromkeys(("and", "or", "not", "is_null", "in", "between", "equal", "not_equal", "less", "less_equal",
                     "greater", "greater_equal", "like", "starts_with", "ends_with", "contains", "to_bool"), TRUTH),
    **dict.fromkeys(("concat", "lower", "upper", "trim", "substring", "replace", "to_text"), TEXT),
}  # fmt: skip
"""The kind of each function's value, by the kinds of its arguments."""


@dataclass(frozen=True)
class Shaped:
    """Named columns, with a column of bars for each that is made of statistics, and how many groups were not shown."""

    names: tuple[str, ...]
    columns: tuple[list[Any], ...]
    errors: tuple[list[Any] | None, ...]
    domains: tuple[Domain | None, ...]
    """The domain of a column that is a key."""
    dropped: int
    """Groups that HAVING or LIMIT left out."""
    kinds: tuple[Kind, ...] = ()
    """What kind of value each column holds, whatever was released."""


Values: TypeAlias = Mapping[int, Any]
ReleasedTerm: TypeAlias = Callable[[int, Values], Any]
"""The value of a term in a group, where these statistics have these values instead of those that were released."""
_AS_RELEASED: Values = {}


@dataclass(frozen=True)
class ReleasedGroups:
    """What was released of each of `count` groups: the codes of its keys, column by column, and the estimates of its
    statistics."""

    keys: Sequence[Sequence[Code]]
    key_domains: Sequence[Domain]
    estimates: Sequence[Estimates | None]
    level: Fraction
    count: int

    def values(self, post: Post, rows: Sequence[int]) -> list[Any]:
        """The values of a term in these groups."""
        term = self.term(post)
        return [term(row, _AS_RELEASED) for row in rows]

    def term(self, post: Post) -> ReleasedTerm:
        """The meaning of a term: that of the same expression on rows, unless it is made of floats."""
        match post:
            case Given():
                value = plain(post.value)
                return lambda row, at: value
            case ValueOf(index=index):
                found = self.estimates[index]
                released = [] if found is None else found.values
                return lambda row, at: at[index] if index in at else plain(released[row]) if released else None
            case Compute() if any(self._domain(index) is None for index in statistics(post)):
                kinds = [real if self._is_real(argument) else plain for argument in post.arguments]
                parts = list(zip(kinds, map(self.term, post.arguments), strict=True))
                return lambda row, at: apply(post.function, [kind(part(row, at)) for kind, part in parts])
        return self._exact(post)

    def _exact(self, post: Post) -> ReleasedTerm:
        """The meaning of a term of keys and of statistics that have codes."""
        try:
            expression = self._expression(post)
        except (QueryRefused, InvalidParameter):  # some group's numbers need more bits than columns have
            if not isinstance(post, Compute):
                return lambda row, at: None
            name, parts = post.function, list(map(self.term, post.arguments))
            return lambda row, at: apply(name, [part(row, at) for part in parts])
        used = set(expression.columns())
        keys = {f"k.{place}": codes for place, codes in enumerate(self.keys) if f"k.{place}" in used}
        codes = {index: self._codes(index) for index in statistics(post)}

        def value(row: int, at: Values) -> Any:
            known = {name: column[row] for name, column in keys.items()}
            for index, (domain, column) in codes.items():
                known[f"v.{index}"] = code_of(domain, at[index]) if index in at else column[row]
            try:
                return plain(expression.domain.decode(evaluate(expression, known)))
            except (ValueError, OverflowError):  # a date that no calendar has, at the end of a bar
                return None

        return value

    def _expression(self, post: Post) -> Expression:
        match post:
            case KeyOf(index=index):
                return Column(self.key_domains[index], f"k.{index}")
            case ValueOf(index=index):
                return Column(self._codes(index)[0], f"v.{index}")
            case Given(value=value):
                return literal(value)
        return call(post.function, *map(self._expression, post.arguments))

    def _codes(self, index: int) -> tuple[Domain, list[Code]]:
        """The codes of a statistic, and the least domain that has them."""
        found, domain = self.estimates[index], self._domain(index)
        assert found is not None
        assert domain is not None
        codes = [code_of(domain, value) for value in found.values]
        known = [code for code in codes if isinstance(code, int)]
        if isinstance(domain, Ranged) and known:
            domain = domain.within(min(known), max(known))
        return domain.or_null(None in codes), codes

    def _domain(self, index: int) -> Domain | None:
        found = self.estimates[index]
        return None if found is None else found.domain

    def _is_real(self, post: Post) -> bool:
        """Whether its numbers are shown as floats."""
        domains = map(self._domain, range(len(self.estimates)))
        known = [REAL if domain is None else of_domain(domain) for domain in domains]
        return of_term(post, list(map(of_domain, self.key_domains)), known) == REAL

    def column(self, post: Post, rows: Sequence[int]) -> list[Any]:
        """The values of a term as people see them; a statistic or key by itself as it came."""
        if isinstance(post, KeyOf):
            return pick(_read(self.key_domains[post.index], self.keys[post.index]), rows)
        found = self.estimates[post.index] if isinstance(post, ValueOf) else None
        if found is not None:
            return pick(found.values, rows)
        shown = real if self._is_real(post) else tidy
        return [shown(value) for value in self.values(post, rows)]


def shape(
    output: Output,
    keys: Sequence[tuple[Code, ...]],
    key_domains: Sequence[Domain],
    estimates: Sequence[Estimates | None],
    *,
    level: Fraction = LEVEL,
    nonnegative: bool = False,
    digits: int | None = None,
) -> Shaped:
    """The table of an answer: `keys` are codes in order, and each estimate has a value for each of them.

    `nonnegative` shows counts below zero as zero; `digits` rounds values that are not whole. Bars stay as they are:
    a count that was raised to zero is no farther from the truth than before.
    """
    if nonnegative:
        estimates = [found and _not_negative(found) for found in estimates]
    codes = [[key[place] for key in keys] for place in range(len(key_domains))]
    groups = ReleasedGroups(codes, key_domains, estimates, level, len(keys))
    rows = _kept(output, groups)
    columns = [_rounded(groups.column(post, rows), digits) for _, post in output.columns]
    return Shaped(
        tuple(name for name, _ in output.columns),
        tuple(columns),
        tuple(bars(post, groups, rows, values) for (_, post), values in zip(output.columns, columns, strict=True)),
        tuple(key_domains[post.index] if isinstance(post, KeyOf) else None for _, post in output.columns),
        len(keys) - len(rows),
    )


def _read(domain: Domain, codes: Sequence[Code]) -> list[Any]:
    """Codes as people read them, each different one read once."""
    shown = {code: tidy(domain.decode(code)) for code in set(codes)}
    return [shown[code] for code in codes]


def _kept(output: Output, groups: ReleasedGroups) -> Sequence[int]:
    """The groups that are shown, in order: NULLs last, ties in the order of the keys."""
    rows: Sequence[int] = range(groups.count)
    if output.having is not None:
        rows = [row for row, kept in zip(rows, groups.values(output.having, rows), strict=True) if kept is True]
    for term, descending in reversed(output.order_by):
        values = dict(zip(rows, groups.values(term, rows), strict=True))
        known = [row for row in rows if values[row] is not None]
        known.sort(key=lambda row: sort_key(values[row]), reverse=descending)
        rows = [*known, *(row for row in rows if values[row] is None)]
    return rows if output.limit is None else rows[: output.limit]


def _not_negative(found: Estimates) -> Estimates:
    if not found.counts:
        return found
    return replace(found, values=[None if value is None else max(0, value) for value in found.values])


def _rounded(values: list[Any], digits: int | None) -> list[Any]:
    if digits is None:
        return values
    return [
        tidy(apply("round", [plain(value), digits])) if isinstance(value, float | Decimal) else value
        for value in values
    ]
