"""The list of scalar functions. What is not on it is refused; what is on it means the same on every engine.

`call` checks the arguments, works out which values the result can take, and refuses what could overflow. Numbers of
different steps are brought to one step here, so that engines see integers only.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from dalenius.errors import InvalidParameter, QueryRefused, UnknownName
from dalenius.privacy.numbers import exact
from dalenius.query.calendar import day_number, moment_number
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions import casts as functions_casts
from dalenius.query.functions import dates as functions_dates
from dalenius.query.functions import logic as functions_logic
from dalenius.query.functions import numbers as functions_numbers
from dalenius.query.functions import text as functions_text
from dalenius.query.functions.arguments import NULL
from dalenius.query.functions.narrowing import narrow
from dalenius.query.functions.signatures import Function, Unfit, arity
from dalenius.query.types import WIDEST, Bool, Choice, Days, Moments, Number, as_moment, normal

__all__ = ["FUNCTIONS", "Function", "call", "literal", "narrow", "written"]

_ROOMS = (functions_numbers, functions_logic, functions_text, functions_dates, functions_casts)
FUNCTIONS: Mapping[str, Function] = {function.name: function for room in _ROOMS for function in room.FUNCTIONS}
"""Every scalar function by its name."""


def call(name: str, *arguments: Expression) -> Expression:
    """The function applied to the arguments; a constant where all of them are constants.

    Guarantee: for every row whose columns lie in their domains the result lies in the domain given here, on every
    engine, and no row makes an error. What cannot promise this is refused.
    """
    if name not in FUNCTIONS:
        raise UnknownName("function", name, known=FUNCTIONS)
    function = FUNCTIONS[name]
    try:
        if not function.least <= len(arguments) <= (function.most or len(arguments)):
            raise Unfit(f"it takes {arity(function)}: {function.takes}", f"{len(arguments)} were given.")
        return function.build(*arguments)
    except Unfit as unfit:
        clause = f"{name}({', '.join(map(written, arguments))})"
        raise QueryRefused(clause, rule=unfit.rule, instead=unfit.instead) from None


def literal(value: Any) -> Literal:
    """A constant of a question: None, a truth value, text, date, moment, or any number, taken exactly."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return Literal(Bool(False), value)
    if isinstance(value, str):
        return Literal(Choice(False, (normal(value),)), normal(value))
    if isinstance(value, dt.datetime):
        code = moment_number(as_moment(value))
        return Literal(Moments(False, code, code), code)
    if isinstance(value, dt.date):
        return Literal(Days(False, day_number(value), day_number(value)), day_number(value))
    return _number(value)


def _number(value: Any) -> Literal:
    number = exact(constant=value)
    if abs(number.numerator) >= WIDEST or number.denominator >= WIDEST:
        raise InvalidParameter("constant", value, allowed="a number below 2^126, with a denominator below 2^126")
    step = 1 / exact(denominator=number.denominator)
    return Literal(Number(False, number.numerator, number.numerator, step), number.numerator)


def written(expression: Expression) -> str:
    """The expression for people."""
    if isinstance(expression, Column):
        return expression.name
    if isinstance(expression, Literal):
        return _constant(expression.domain.decode(expression.value))
    assert isinstance(expression, Call)
    return f"{expression.function}({', '.join(map(written, expression.arguments))})"


def _constant(shown: Any) -> str:
    if shown is None:
        return "NULL"
    return repr(shown) if isinstance(shown, str) else str(shown).lower() if isinstance(shown, bool) else str(shown)
