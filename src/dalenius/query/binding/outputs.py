"""What a question shows: aggregates become statistics, and everything computed from them works on noisy values.

A term of SELECT, HAVING or ORDER BY is a tree over keys, statistics and constants. It is typed before anything is paid
for, with stand-ins of the right kinds, so that post-processing cannot fail on kinds later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from dalenius.errors import InvalidParameter, QueryRefused, TooManyKeys
from dalenius.privacy.numbers import exact
from dalenius.query.binding.scopes import Scope
from dalenius.query.binding.terms import aggregate, applied, constant, expression, is_aggregate, refuse_units_in
from dalenius.query.expressions import Column, Expression
from dalenius.query.questions import VALUES, Compute, Given, KeyOf, Post, Statistic, ValueOf
from dalenius.query.rendering import text
from dalenius.query.syntax import Apply, Constant, Name, Term, UnitsIn
from dalenius.query.types import Domain, Number, Ranged

MOST_KEYS = 1_000_000
"""How many public keys, or values of a histogram, an answer may have."""

_KINDS = {
    "sum": "sum", "avg": "mean", "variance": "variance", "stddev": "stddev", "covar": "covariance",
    "corr": "correlation", "min": "quantile", "max": "quantile", "median": "quantile", "quantile": "quantile",
    "mode": "mode", "histogram": "histogram", "robust_median": "robust_quantile",
    "robust_quantile": "robust_quantile", "robust_trimmed_mean": "trimmed_mean", "robust_scale": "robust_scale",
    "stable_mode": "stable_mode", "stable_median": "stable_quantile", "stable_quantile": "stable_quantile",
    "proposed_median": "proposed_quantile", "proposed_quantile": "proposed_quantile",
}  # fmt: skip
_ARGUMENTS = {
    "covar": 2, "corr": 2, "quantile": 2, "robust_quantile": 2, "robust_trimmed_mean": 2, "stable_quantile": 2,
    "proposed_median": 2, "proposed_quantile": 3,
}  # fmt: skip
_MEDIANS = ("median", "robust_median", "stable_median", "proposed_median")
_TARGETS = {"min": Fraction(0), "max": Fraction(1), **dict.fromkeys(_MEDIANS, Fraction(1, 2))}
_ORDERED = ("quantile", "robust_quantile", "stable_quantile")
"""Kinds that need an order; as functions they name the quantile that they want."""
_WITH_A_SHARE = (*_ORDERED, "robust_trimmed_mean", "proposed_quantile")
"""Functions whose second argument is a constant."""
_STAND_IN = Number(True, -1000, 1000)


@dataclass(frozen=True)
class Shown:
    """A term over noisy values, and a stand-in that has its kind; None for a histogram, which is shown as it is."""

    post: Post
    kind: Expression | None


@dataclass
class OutputCollector:
    """Collects keys, arguments and statistics of a question, each once, in order of appearance."""

    scope: Scope
    keys: dict[Expression, int] = field(default_factory=dict)
    arguments: dict[Expression, str] = field(default_factory=dict)
    statistics: list[Statistic] = field(default_factory=list)
    clauses: list[Apply] = field(default_factory=list)
    """The aggregate that each statistic was written as."""

    def key(self, term: Term) -> KeyOf:
        """A term to group by."""
        if self.scope.is_unit(term):
            raise QueryRefused(
                f"GROUP BY {text(term)}",
                rule="it would show a row for each unit",
                instead="Leave it out, or group by it in an inner query: FROM (SELECT unit, ... GROUP BY unit).",
            )
        return KeyOf(self.keys.setdefault(expression(term, self.scope), len(self.keys)))

    def show(self, term: Term) -> Shown:
        """A term of SELECT, HAVING or ORDER BY."""
        if isinstance(term, Apply) and is_aggregate(term):
            return self._statistic(term)
        if isinstance(term, Constant):
            return Shown(Given(_plain(term.value)), constant(term))
        if isinstance(term, UnitsIn):
            refuse_units_in(term)
        if not aggregate(term):
            found = expression(term, self.scope)
            if found in self.keys:
                return Shown(KeyOf(self.keys[found]), Column(found.domain, f"k.{self.keys[found]}"))
        if not isinstance(term, Apply):
            _refuse_row_level(term)
        parts = [self.show(argument) for argument in term.arguments]
        return Shown(Compute(term.function, tuple(part.post for part in parts)), applied(term, _kinds(term, parts)))

    # ---- aggregates

    def _statistic(self, term: Apply) -> Shown:
        statistic, kind = self._count(term) if term.function == "count" else self._aggregate(term)
        if statistic not in self.statistics:
            self.statistics.append(statistic)
            self.clauses.append(term)
        index = self.statistics.index(statistic)
        return Shown(ValueOf(index), None if kind is None else Column(kind, f"v.{index}"))

    def _count(self, term: Apply) -> tuple[Statistic, Domain]:
        if not term.arguments and not term.distinct:
            return Statistic("count"), _STAND_IN
        if len(term.arguments) != 1:
            raise QueryRefused(
                text(term), rule="COUNT takes * or one term", instead="Count one column, or COUNT(*) with WHERE."
            )
        (argument,) = term.arguments
        if self.scope.is_unit(argument) and term.distinct:
            return Statistic("units"), _STAND_IN
        found = expression(argument, self.scope)
        if term.distinct:
            return Statistic("distinct", (self._argument(found),)), _STAND_IN
        if not found.domain.nullable:
            return Statistic("count"), _STAND_IN
        return Statistic("present", (self._argument(found),)), _STAND_IN

    def _aggregate(self, term: Apply) -> tuple[Statistic, Domain | None]:
        wanted = _ARGUMENTS.get(term.function, 1)
        if len(term.arguments) != wanted or term.distinct:
            raise QueryRefused(
                text(term),
                rule=f"{term.function.upper()} takes {wanted} argument{'s' * (wanted > 1)} and no DISTINCT",
                instead="See the page on functions.",
            )
        p = _probability(term) if term.function in _WITH_A_SHARE else _TARGETS.get(term.function)
        proposed = _KINDS[term.function] == "proposed_quantile"
        terms = term.arguments[:1] if proposed or term.function in _WITH_A_SHARE else term.arguments
        found = [expression(argument, self.scope) for argument in terms]
        for each in found:
            _require_kind(term, each.domain)
        columns = tuple(self._argument(each) for each in found)
        bound = _bound(term, found[0].domain) if proposed else None
        return Statistic(_KINDS[term.function], columns, p, bound), _stand_in(term, found[0].domain)  # type: ignore[arg-type]

    def _argument(self, found: Expression) -> str:
        return self.arguments.setdefault(found, f"x.{len(self.arguments)}")


def _kinds(term: Apply, parts: Sequence[Shown]) -> list[Expression]:
    kinds = [part.kind for part in parts if part.kind is not None]
    if len(kinds) < len(parts):
        raise QueryRefused(
            text(term), rule="a histogram is a list of counts", instead="Select HISTOGRAM(x) by itself, or GROUP BY x."
        )
    return kinds


def _plain(value: Any) -> Any:
    return Fraction(value) if isinstance(value, Decimal) else value


def _stand_in(term: Apply, domain: Domain) -> Domain | None:
    """A domain of the kind that the noisy statistic has."""
    if term.function == "histogram":
        return None
    if _KINDS[term.function] in VALUES:
        return domain.or_null()
    if term.function == "sum":
        assert isinstance(domain, Number)
        return replace(_STAND_IN, step=domain.step)
    return Number(True, -1000, 1000, Fraction(1, 100))


def _probability(term: Apply) -> Fraction:
    """The p of QUANTILE(x, p) and of others like it, a constant from 0 to 1; or the share that
    ROBUST_TRIMMED_MEAN(x, share) leaves out at each end, below 1/2."""
    p, trims = _number(term.arguments[1]), term.function == "robust_trimmed_mean"
    if p is None or not (0 <= p < Fraction(1, 2) if trims else 0 <= p <= 1):
        example = "0.1" if trims else "0.9, 2" if term.function == "proposed_quantile" else "0.9"
        raise QueryRefused(
            text(term),
            rule=f"the second argument is a constant {'of at least 0 and below 0.5' if trims else 'from 0 to 1'}",
            instead=f"Write {term.function.upper()}(x, {example}).",
        )
    return p


def _bound(term: Apply, domain: Domain) -> Fraction:
    """How far one unit may move a quantile that is released: the last argument, at least a step of the column."""
    assert isinstance(domain, Number)
    bound = _number(term.arguments[-1])
    if bound is None or bound < domain.step:
        raise QueryRefused(
            text(term),
            rule=f"the last argument is a constant of at least {domain.step}, the step of its values",
            instead="Say how far one unit may move it: PROPOSED_MEDIAN(x, 2), PROPOSED_QUANTILE(x, 0.9, 2).",
        )
    return bound


def _number(term: Term) -> Fraction | None:
    """The value of a constant that is a number."""
    if not isinstance(term, Constant) or isinstance(term.value, bool):
        return None
    try:
        return exact(constant=term.value)
    except InvalidParameter:
        return None


def _require_kind(term: Apply, domain: Domain) -> None:
    """Refuse an aggregate of a column whose kind it does not take."""
    kind = _KINDS[term.function]
    if kind == "stable_mode":
        _require_values(term, domain)
    elif kind in ("mode", "histogram"):
        _require_listed(term, domain)
    elif not isinstance(domain, Ranged if kind in _ORDERED else Number):
        kinds = "numbers, dates or moments" if kind in _ORDERED else "numbers"
        raise QueryRefused(
            text(term),
            rule=f"{term.function.upper()} takes {kinds}, not {domain}",
            instead="Write it as a number, such as CASE WHEN ... THEN 1 ELSE 0 END, or use COUNT.",
        )


def _require_listed(term: Apply, domain: Domain) -> None:
    if domain.size is None:
        raise QueryRefused(
            text(term),
            rule=f"{term.function.upper()} needs values that are public, and {domain} is not listed",
            instead="GROUP BY the column instead: its values are then found privately.",
        )
    _require_values(term, domain)
    if domain.size > MOST_KEYS:
        raise TooManyKeys(
            text(term),
            rule=f"it has {domain.size} public values, and at most {MOST_KEYS} are allowed",
            instead="Make it coarser, as with BIN(x, width), DATE_TRUNC or ROUND.",
        )


def _require_values(term: Apply, domain: Domain) -> None:
    if domain.size is not None and domain.size == domain.nullable:
        raise QueryRefused(text(term), rule="it is always NULL", instead="Name a column with values.")


def _refuse_row_level(term: Name) -> NoReturn:
    raise QueryRefused(
        text(term),
        rule="single rows are never shown: an output column must be in GROUP BY or inside an aggregate",
        instead=f"Add GROUP BY {text(term)}, or aggregate it, as in COUNT({text(term)}).",
    )
