"""Which function an SQL name means: one table of plain spellings, one of names that stand for a small formula.

Where databases disagree about a name (DAYOFWEEK, DATEDIFF with two arguments), it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from dalenius.errors import NotUnderstood, UnknownName
from dalenius.query.syntax import Apply, Constant, Term

SCALARS: Mapping[str, tuple[str, int, int | None]] = {
    "abs": ("abs", 1, 1), "sign": ("sign", 1, 1), "floor": ("floor", 1, 1), "ceil": ("ceil", 1, 1),
    "ceiling": ("ceil", 1, 1), "mod": ("modulo", 2, 2), "clamp": ("clamp", 3, 3), "bin": ("bin", 2, 2),
    "least": ("least", 1, None), "greatest": ("greatest", 1, None),
    "coalesce": ("coalesce", 1, None), "ifnull": ("coalesce", 2, 2), "nvl": ("coalesce", 2, 2),
    "nullif": ("null_if", 2, 2), "isnull": ("is_null", 1, 1), "if": ("case", 3, 3), "iif": ("case", 3, 3),
    "lower": ("lower", 1, 1), "lcase": ("lower", 1, 1), "upper": ("upper", 1, 1), "ucase": ("upper", 1, 1),
    "length": ("length", 1, 1), "char_length": ("length", 1, 1), "character_length": ("length", 1, 1),
    "len": ("length", 1, 1), "replace": ("replace", 3, 3),
    "starts_with": ("starts_with", 2, 2), "startswith": ("starts_with", 2, 2), "prefix": ("starts_with", 2, 2),
    "ends_with": ("ends_with", 2, 2), "endswith": ("ends_with", 2, 2), "suffix": ("ends_with", 2, 2),
    "contains": ("contains", 2, 2),
    "year": ("year", 1, 1), "quarter": ("quarter", 1, 1), "month": ("month", 1, 1), "day": ("day", 1, 1),
    "dayofmonth": ("day", 1, 1), "isodow": ("weekday", 1, 1), "weekday": ("weekday", 1, 1),
    "dayofyear": ("day_of_year", 1, 1), "day_of_year": ("day_of_year", 1, 1),
    "hour": ("hour", 1, 1), "minute": ("minute", 1, 1), "second": ("second", 1, 1),
    "add_days": ("add_days", 2, 2), "days_between": ("days_between", 2, 2),
    "date": ("to_date", 1, 1), "to_int": ("to_int", 1, 1), "to_text": ("to_text", 1, 1), "to_bool": ("to_bool", 1, 1),
    "to_date": ("to_date", 1, 1), "to_timestamp": ("to_timestamp", 1, 1), "to_real": ("to_real", 2, 2),
}  # fmt: skip
"""SQL name -> (function, fewest arguments, most arguments)."""

AGGREGATES: Mapping[str, tuple[str, int, int | None]] = {
    "count": ("count", 0, 1), "sum": ("sum", 1, 1), "avg": ("avg", 1, 1), "mean": ("avg", 1, 1),
    "variance": ("variance", 1, 1), "var_samp": ("variance", 1, 1),
    "stddev": ("stddev", 1, 1), "stddev_samp": ("stddev", 1, 1),
    "covar": ("covar", 2, 2), "covar_samp": ("covar", 2, 2), "corr": ("corr", 2, 2),
    "min": ("min", 1, 1), "max": ("max", 1, 1), "median": ("median", 1, 1),
    "quantile": ("quantile", 2, 2), "quantile_cont": ("quantile", 2, 2), "quantile_disc": ("quantile", 2, 2),
    "percentile": ("quantile", 2, 2), "approx_quantile": ("quantile", 2, 2), "approx_percentile": ("quantile", 2, 2),
    "mode": ("mode", 1, 1), "histogram": ("histogram", 1, 1), "robust_median": ("robust_median", 1, 1),
    "robust_quantile": ("robust_quantile", 2, 2), "robust_trimmed_mean": ("robust_trimmed_mean", 2, 2),
    "robust_scale": ("robust_scale", 1, 1), "stable_mode": ("stable_mode", 1, 1),
    "stable_median": ("stable_median", 1, 1), "stable_quantile": ("stable_quantile", 2, 2),
    "proposed_median": ("proposed_median", 2, 2), "proposed_quantile": ("proposed_quantile", 3, 3),
}  # fmt: skip
"""SQL name -> (aggregate, fewest arguments, most arguments)."""

PARTS: Mapping[str, str] = {
    "year": "year", "years": "year", "quarter": "quarter", "month": "month", "months": "month", "day": "day",
    "days": "day", "dayofmonth": "day", "isodow": "weekday", "weekday": "weekday", "doy": "day_of_year",
    "dayofyear": "day_of_year", "hour": "hour", "hours": "hour", "minute": "minute", "minutes": "minute",
    "second": "second", "seconds": "second",
}  # fmt: skip
"""The parts of a date or moment, by their names in EXTRACT and DATE_PART."""

REFUSED: Mapping[str, tuple[str, str]] = {
    "dayofweek": ("databases number the days differently", "Use ISODOW(d): 1 is Monday, 7 is Sunday."),
    "right": ("texts are cut from the left", "Use SUBSTRING(x, start, length), or ENDS_WITH."),
    "var_pop": ("variances divide by n - 1", "Use VARIANCE(x)."),
    "stddev_pop": ("standard deviations divide by n - 1", "Use STDDEV(x)."),
    "covar_pop": ("covariances divide by n - 1", "Use COVAR(x, y)."),
    "percentile_cont": ("it needs an order", "Write QUANTILE(x, p), or add WITHIN GROUP (ORDER BY x)."),
    "percentile_disc": ("it needs an order", "Write QUANTILE(x, p), or add WITHIN GROUP (ORDER BY x)."),
    "row_number": ("a window looks at other people's rows", "Use GROUP BY and an aggregate."),
    "first": ("which row is first is not public", "Use MIN, MAX or MODE."),
    "last": ("which row is last is not public", "Use MIN, MAX or MODE."),
    "any_value": ("which row is taken is not public", "Use MIN, MAX or MODE."),
    "string_agg": ("it would show rows", "Use COUNT, or MODE."),
    "list": ("it would show rows", "Use HISTOGRAM or QUANTILE."),
    "array_agg": ("it would show rows", "Use HISTOGRAM or QUANTILE."),
    "random": ("noise comes from one place only", "Leave it out; answers are made noisy already."),
    "now": ("a question means the same every day", "Write the moment: TIMESTAMP '2024-01-31 12:00:00'."),
    "today": ("a question means the same every day", "Write the day: DATE '2024-01-31'."),
    "sqrt": ("no floating-point function is known to rows", "Ask for VARIANCE and STDDEV, or use public bins."),
    "ln": ("no floating-point function is known to rows", "Use CASE or BIN to make public bins."),
    "log": ("no floating-point function is known to rows", "Use CASE or BIN to make public bins."),
    "exp": ("no floating-point function is known to rows", "Use CASE or BIN to make public bins."),
    "pow": ("no floating-point function is known to rows", "Multiply: x * x."),
    "power": ("no floating-point function is known to rows", "Multiply: x * x."),
}
"""Names that people try, why they are refused, and what to write."""

_ZERO = Constant(0)
_TO_THE_END = Constant(2**31 - 1)


def known() -> list[str]:
    """Every SQL name of a function."""
    return sorted({*SCALARS, *AGGREGATES, *_FORMULAS, "date_add", "date_sub", "extract", "substring", "trim", "cast"})


def call(name: str, arguments: Sequence[Term], *, clause: str) -> Term:
    """The function that an SQL name means, applied; `clause` is for error messages."""
    word = name.lower()
    if word in REFUSED:
        rule, instead = REFUSED[word]
        raise NotUnderstood(clause, rule=rule, instead=instead)
    if word in _FORMULAS:
        fewest, most, formula = _FORMULAS[word]
        _count(clause, arguments, fewest, most)
        return formula(clause, *arguments)
    if word not in SCALARS and word not in AGGREGATES:
        raise UnknownName("function", name, known=known())
    function, fewest, most = {**SCALARS, **AGGREGATES}[word]
    _count(clause, arguments, fewest, most)
    return Apply(function, tuple(arguments))


def part(clause: str, name: Term, moment: Term) -> Term:
    """EXTRACT(name FROM moment)."""
    word = _word(clause, name, "the part of a date is written as a text", "Write DATE_PART('year', d).")
    if word == "dow":  # 0 is Sunday in every database that knows this name
        return Apply("modulo", (Apply("weekday", (moment,)), Constant(7)))
    if word not in PARTS:
        raise NotUnderstood(
            clause, rule=f"{word[:40]!r} is not a known part of a date", instead=f"Use one of {', '.join(PARTS)}."
        )
    return Apply(PARTS[word], (moment,))


def concat(first: Term, *others: Term) -> Term:
    """The texts one after the other."""
    for other in others:
        first = Apply("concat", (first, other))
    return first


def is_true(term: Term) -> Term:
    """`term IS TRUE`, which is never NULL."""
    return Apply("coalesce", (term, Constant(False)))


def same(left: Term, right: Term) -> Term:
    """`left IS NOT DISTINCT FROM right`: NULL equals NULL."""
    both_null = Apply("and", (Apply("is_null", (left,)), Apply("is_null", (right,))))
    return Apply("coalesce", (Apply("equal", (left, right)), both_null))


def quantile(clause: str, term: Term, p: Term, *, descending: bool = False) -> Term:
    """PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY term)."""
    if not isinstance(p, Constant) or isinstance(p.value, bool) or not isinstance(p.value, int | Fraction):
        raise NotUnderstood(clause, rule="the level of a quantile is a number", instead="Write QUANTILE(x, 0.5).")
    return Apply("quantile", (term, Constant(1 - p.value if descending else p.value)))


def _count(clause: str, arguments: Sequence[Term], fewest: int, most: int | None) -> None:
    if len(arguments) < fewest or (most is not None and len(arguments) > most):
        wanted = str(fewest) if most == fewest else f"{fewest} or more" if most is None else f"{fewest} to {most}"
        raise NotUnderstood(
            clause, rule=f"it was given {len(arguments)} arguments, but takes {wanted}", instead="Give that many."
        )


def _word(clause: str, term: Term, rule: str, instead: str) -> str:
    if not isinstance(term, Constant) or not isinstance(term.value, str):
        raise NotUnderstood(clause, rule=rule, instead=instead)
    return term.value.strip().lower()


def _rounded(clause: str, term: Term, digits: Term = _ZERO) -> Term:
    return Apply("round", (term, digits))


def _left(clause: str, term: Term, length: Term) -> Term:
    return Apply("substring", (term, Constant(1), length))


def _substring(clause: str, term: Term, start: Term, length: Term = _TO_THE_END) -> Term:
    return Apply("substring", (term, start, length))


def _truncated(clause: str, unit: Term, moment: Term) -> Term:
    word = _word(clause, unit, "the unit is written as a text", "Write DATE_TRUNC('month', d).")
    return Apply("date_trunc", (Constant(word), moment))


def _difference(clause: str, unit: Term, start: Term, end: Term) -> Term:
    word = _word(clause, unit, "the unit is written as a text", "Write DATE_DIFF('day', start, end).")
    if word not in ("day", "days"):
        raise NotUnderstood(clause, rule="differences are in days", instead="Write DATE_DIFF('day', start, end).")
    return Apply("days_between", (start, end))


def _joined(clause: str, *terms: Term) -> Term:
    # As in DuckDB and PostgreSQL, CONCAT skips NULL and || does not.
    return concat(*(Apply("coalesce", (term, Constant(""))) for term in terms))


def _quantile(clause: str, term: Term, p: Term) -> Term:
    return quantile(clause, term, p)


def _trimmed(clause: str, term: Term) -> Term:
    return Apply("trim", (term,))


_FORMULAS: Mapping[str, tuple[int, int | None, Callable[..., Term]]] = {
    "round": (1, 2, _rounded),
    "left": (2, 2, _left),
    "substr": (2, 3, _substring),
    "substring": (2, 3, _substring),
    "trim": (1, 1, _trimmed),
    "date_trunc": (2, 2, _truncated),
    "datetrunc": (2, 2, _truncated),
    "date_diff": (3, 3, _difference),
    "datediff": (3, 3, _difference),
    "date_part": (2, 2, part),
    "datepart": (2, 2, part),
    "concat": (1, None, _joined),
    **{name: (2, 2, _quantile) for name, (function, _, _) in AGGREGATES.items() if function == "quantile"},
}
