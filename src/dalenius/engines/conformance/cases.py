"""Random scalar expressions over the columns of `edges`: any function, inside each other to any depth.

Every function of the list with the arguments at which engines differ: columns of `edges` by their names, and
constants.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dalenius.engines.conformance.edges import COLUMNS, WIDE, column
from dalenius.engines.conformance.worlds import Draws
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


_PAIRS = [
    ("n.long", "n.long"),
    ("n.small", "n.long"),
    ("n.cents", "n.thirds"),
    ("n.tens", "n.below"),
    ("n.int", "n.int"),
    ("n.age", 'odd "name".x'),
    ("n.huge", "n.small"),
    (7, "n.small"),
    ("n.long", -3),
    ("n.cents", Fraction(1, 4)),
]
_DATED = [("d.any",), ("m.any",), ("d.now",), ("m.now",)]
_TEXTUAL = [("t.any",), ("t.word",)]
_TWO_TEXTS = [
    ("t.any", "t.word"),
    ("t.any", "a"),
    ("t.word", "t.word"),
    ("t.any", "%"),
    ("t.any", "it's"),
    ("t.any", "t.any"),
]
_ALIKE: list[tuple[Any, ...]] = [
    ("n.small", "n.long"),
    ("n.cents", "n.thirds"),
    ("n.huge", "n.long"),
    ("n.huge", "n.huge"),
    ("d.any", "m.any"),
    ("d.any", "2024-02-29"),
    ("m.any", "2024-02-29 12:00"),
    ("b.flag", "b.sure"),
    ("b.flag", "b.flag"),
    ("t.any", "t.word"),
    ("t.word", "Oslo"),
    ("t.word", "not there"),
    ("t.any", "t.any"),
    ("t.word", "t.other"),
    ("n.small", None),
    ("t.word", None),
    ("d.any", dt.date(1, 1, 1)),
]
_ONES = [
    ("n.small",),
    ("n.age",),
    ("n.long",),
    ("n.int",),
    ("n.huge",),
    ("n.cents",),
    ("n.thirds",),
    ("n.tens",),
    ("n.below",),
]
CASES: dict[str, list[tuple[Any, ...]]] = {
    **dict.fromkeys(("subtract", "multiply", "divide", "floor_divide", "modulo"), _PAIRS),
    "add": [*_PAIRS, ("d.any", "n.small"), ("n.int", "m.any")],
    **dict.fromkeys(("negate", "abs", "sign", "floor", "ceil", "to_bool"), _ONES),
    "round": [*_ONES, *((*one, digits) for one in _ONES for digits in (1, -1, 3))],
    "clamp": [
        ("n.small", -1, 2),
        ("n.cents", Fraction(1, 3), 99),
        ("n.long", 2**70, 2**71),
        ("n.huge", -5, 5),
        ("d.any", "2020-01-01", "2024-02-29"),
        ("m.any", dt.date(2020, 1, 1), "2024-02-29 12:00:00.5"),
    ],
    "bin": [
        *((*one, width) for one in _ONES for width in (1, 7, Fraction(1, 3), Fraction(5, 2))),
        *((*one, width) for one in _DATED for width in (1, 7, 30)),
    ],
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "null_if", "in"), _ALIKE),
    "least": [*_ALIKE, ("n.small", "n.age", "n.tens")],
    "greatest": [*_ALIKE, ("n.small", "n.age", "n.tens")],
    "coalesce": [*_ALIKE, (None, "n.cents", "n.age")],
    "between": [(*pair, pair[0]) for pair in _ALIKE] + [("n.small", "n.below", 1), ("n.small", None, "n.below")],
    "and": [("b.flag", "b.flag", "b.sure"), ("b.flag", None)],
    "or": [("b.flag", "b.sure"), ("b.flag", None)],
    "not": [("b.flag",), ("b.sure",)],
    "is_null": [*_ONES, *_DATED, *_TEXTUAL, ("b.flag",)],
    "case": [
        ("b.flag", "n.small", "b.sure", "n.cents", None),
        ("b.flag", "t.word", "t.any"),
        ("b.flag", "d.any"),
        ("b.flag", None, "m.any"),
        ("b.flag", "n.huge", "n.small"),
    ],
    "like": [
        ("t.any", p) for p in ("a%", "%", "_", "%b_", "_%_", "a\\_", "50%", "%'%", "__", "", "é", "%\n", "._%", "(%_")
    ]
    + [("t.word", "%_o%"), ("t.word", None)],
    "concat": [("t.any", "t.word"), ("t.any", "t.any"), ("t.word", "-", "t.word"), ("t.any",)],
    **{name: [*_TEXTUAL] for name in ("lower", "upper", "trim", "length", "to_date", "to_timestamp")},
    "substring": [
        (one, *rest)
        for one in ("t.any", "t.word")
        for rest in ((1, 1), (2,), (0, 3), (-5, 6), (3, 2**31 - 1), (2**31 - 1, 0))
    ],
    "replace": [
        ("t.any", "a", "bb"),
        ("t.any", "t.word", "x"),
        ("t.any", "", "x"),
        ("t.word", "t.word", "'"),
        ("t.any", "9", "98"),
    ],
    **dict.fromkeys(("starts_with", "ends_with", "contains"), _TWO_TEXTS),
    **dict.fromkeys(("year", "quarter", "month", "day", "weekday", "day_of_year"), _DATED),
    **{name: [("m.any",), ("m.now",)] for name in ("hour", "minute", "second")},
    "date_trunc": [(unit, *one) for unit in ("year", "quarter", "month", "week", "day") for one in _DATED]
    + [(unit, "m.any") for unit in ("hour", "minute", "second")],
    "add_days": [("d.any", "n.small"), ("m.any", "n.int"), ("d.now", "n.tens"), ("d.now", 10**9), ("d.any", None)],
    "days_between": [("d.any", "d.any"), ("m.any", "d.any"), ("d.now", "m.now")],
    "to_int": [*_ONES, *_TEXTUAL, ("b.flag",)],
    "to_real": [(*one, size) for one in (*_ONES, *_TEXTUAL) for size in (Fraction(1, 100), Fraction(1, 4), 10)]
    + [("t.any",)],
    "to_text": [*_ONES, *_DATED, ("b.flag",), ("t.word",)],
}
CASES["to_bool"] = [*CASES["to_bool"], *_TEXTUAL, ("b.flag",)]
CASES["to_date"] = [*CASES["to_date"], *_DATED]
CASES["to_timestamp"] = [*CASES["to_timestamp"], *_DATED]


def argument(value: Any) -> Expression:
    """The column of this name, or a constant."""
    return column(value) if isinstance(value, str) and value in COLUMNS else literal(value)


def known_cases() -> list[Expression]:
    """All of them, but for those that are refused, or constant."""
    return [case for cases in _made().values() for case in cases]


def few_cases() -> list[Expression]:
    """Every function once for each kind of column that it may begin with."""
    found: dict[tuple[str, str], Expression] = {}
    for name, cases in _made().items():
        for case in cases:
            found.setdefault((name, next(case.columns()).partition(".")[0]), case)
    return list(found.values())


@lru_cache(maxsize=1)
def _made() -> dict[str, list[Expression]]:
    made = {name: [tried(name, *map(argument, each)) for each in cases] for name, cases in CASES.items()}
    return {name: [case for case in cases if isinstance(case, Call)] for name, cases in made.items()}
