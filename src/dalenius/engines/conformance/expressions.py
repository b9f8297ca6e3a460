"""Random scalar expressions over the columns of `edges`: any function, inside each other to any depth."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dalenius.engines.conformance.draws import Draws
from dalenius.engines.conformance.edges import COLUMNS, WIDE, column
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.functions import FUNCTIONS, call, literal
from dalenius.query.types import Bool, Dated, Number

LITERALS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, -10, 100, WIDE - 1, WIDE, -WIDE, 2**100, Fraction(1, 2), Fraction(-1, 3),
    Fraction(1, 100), "", "a", "%", "it's", "12", "2024-02-29", "month", "Oslo", "a%", "_b_%", "%\\%", dt.date(1, 1, 1),
    dt.date(2024, 2, 29), dt.date(9999, 12, 31), dt.datetime(2024, 2, 29, 12), dt.datetime(1, 1, 1), "week", "hour",
]  # fmt: skip
_PERIODS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
_SHAPES = {
    "n": ["add", "subtract", "multiply", "divide", "floor_divide", "modulo", "negate", "abs", "sign", "floor", "ceil",
          "round", "clamp", "bin", "to_int", "to_real", "to_text", "to_bool", "add_days"],
    "t": ["like", "concat", "lower", "upper", "trim", "length", "substring", "replace", "starts_with", "ends_with",
          "contains", "to_int", "to_real", "to_bool", "to_date", "to_timestamp"],
    "d": ["year", "quarter", "month", "day", "weekday", "day_of_year", "hour", "minute", "second", "date_trunc",
          "add_days", "days_between", "to_text", "to_date", "to_timestamp", "bin", "clamp", "subtract"],
    "b": ["and", "or", "not", "to_int", "to_text"],
    "": ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "is_null", "coalesce", "null_if",
         "case", "in", "between", "least", "greatest"],
}  # fmt: skip
_CONSTANTS: dict[str, list[Any]] = {
    "round": [0, 1, -1, 3],
    "bin": [1, 7, 30, Fraction(1, 2), Fraction(10, 3)],
    "clamp": [-(2**70), -100, -1, 0, Fraction(1, 3), 2, 50, WIDE],
    "substring": [-5, 0, 1, 2, 3, 100],
    "like": ["%", "a%", "_", "%_b%", "_%_", "50%", "", "%\\%", "é_"],
    "to_real": [1, 10, Fraction(1, 4), Fraction(1, 100)],
    "add_days": [-400, -1, 0, 1, 29, 10**9],
}
"""Functions whose arguments after the first are constants, and constants that suit most of them."""
_DATES = [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.datetime(2024, 2, 29, 12, 30), dt.date(9999, 12, 31)]


def tried(name: str, *arguments: Expression) -> Expression | None:
    """The call, or None where it is refused."""
    try:
        return call(name, *arguments)
    except (QueryRefused, InvalidParameter):
        return None


def random_expressions(count: int, seed: object, heaviest: int) -> list[Expression]:
    """So many calls; all that are refused, or read more than `heaviest` columns, are left out."""
    draws = Draws(f"expressions {seed}")
    pools: dict[str, list[Expression]] = {kind: [] for kind in "ntdb"}
    for leaf in (*map(column, COLUMNS), *map(literal, LITERALS)):
        pools[_kind_of(leaf)].append(leaf)
    found: list[Expression] = []
    while len(found) < count:
        made = _random_call(draws, pools)
        if isinstance(made, Call) and made.weight <= heaviest:
            found.append(made)
            if draws.chance(60):
                pools[_kind_of(made)].append(made)
    return found


def parts(expression: Expression) -> Iterator[Call]:
    """The calls that an expression is made of: those inside first, the whole one last."""
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from parts(argument)
        yield expression


def written(expression: Expression) -> str:
    """An expression for people."""
    if isinstance(expression, Column):
        return expression.name
    if isinstance(expression, Call):
        return f"{expression.function}({', '.join(map(written, expression.arguments))})"
    assert isinstance(expression, Literal)
    return repr(expression.value)


def _kind_of(expression: Expression) -> str:
    domain = expression.domain
    if isinstance(domain, Dated):
        return "d"
    return "n" if isinstance(domain, Number) else "b" if isinstance(domain, Bool) else "t"


def _random_call(draws: Draws, pools: Mapping[str, list[Expression]]) -> Expression | None:
    kind = draws.choice("nnntttddb")
    name = draws.choice(_SHAPES[kind] + _SHAPES[""])
    function = FUNCTIONS[name]
    most = function.most or function.least + 3
    arguments = [draws.choice(pools[kind]) for _ in range(draws.between(function.least, most))]
    if name == "case":
        arguments[0] = draws.choice(pools["b"])
    if name in _CONSTANTS:
        arguments[1:] = map(literal, _drawn_constants(draws, name, kind, len(arguments) - 1))
    if name == "date_trunc":
        arguments[0] = literal(draws.choice(_PERIODS))
    return tried(name, *arguments)


def _drawn_constants(draws: Draws, name: str, kind: str, count: int) -> list[Any]:
    if draws.chance(20):
        return [draws.choice(LITERALS) for _ in range(count)]
    if name != "clamp":
        return [draws.choice(_CONSTANTS[name]) for _ in range(count)]
    bounds = _DATES if kind == "d" else _CONSTANTS[name]
    lower = draws.below(len(bounds))
    return [bounds[lower], bounds[draws.between(lower, len(bounds) - 1)]]
