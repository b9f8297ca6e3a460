"""Every function of the list with the arguments at which engines differ: columns of `edges` by their names, and
constants."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dalenius.engines.conformance.edges import COLUMNS, column
from dalenius.engines.conformance.expressions import tried
from dalenius.query.expressions import Call, Expression
from dalenius.query.functions.functions import literal

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
