"""What kind of value each output column holds, from the question alone: no released value has a say in it.

An exact number is a multiple of its `unit`, a fraction that grows finer by arithmetic; what is divided is a float.
`size` is a bound that values hardly ever exceed, by which a column's width is chosen; it is no promise.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm
from typing import Any, Literal, TypeAlias

from dalenius.query.estimates.estimates import COUNTS, step
from dalenius.query.questions import VALUES, Compute, Given, KeyOf, Post, Statistic, ValueOf
from dalenius.query.types import Bool, Days, Domain, Moments, Number

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


def _rounded(post: Compute, kinds: Sequence[Kind]) -> Kind:
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
    "null_if": lambda post, kinds: kinds[0], "case": _case, "floor": _whole, "ceil": _whole, "round": _rounded,
    "bin": _on_grid, "to_real": _on_grid, "to_int": lambda post, kinds: replace(COUNT, size=kinds[0].size + COUNT.size),
    "date_trunc": lambda post, kinds: kinds[1], "to_date": DATE, "to_timestamp": MOMENT,
    **dict.fromkeys(("year", "quarter", "month", "day", "weekday", "day_of_year", "hour", "minute", "second",
                     "days_between", "length"), COUNT),
    **dict.fromkeys(("and", "or", "not", "is_null", "in", "between", "equal", "not_equal", "less", "less_equal",
                     "greater", "greater_equal", "like", "starts_with", "ends_with", "contains", "to_bool"), TRUTH),
    **dict.fromkeys(("concat", "lower", "upper", "trim", "substring", "replace", "to_text"), TEXT),
}  # fmt: skip
"""The kind of each function's value, by the kinds of its arguments."""
