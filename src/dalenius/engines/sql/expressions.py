"""Expressions in SQL, with exactly the meaning of `query.functions.evaluation`.

Guarantee: no row whose columns lie in their domains makes an engine raise, and no text of the analyst stands anywhere
but in a quoted literal. Integers are narrow where the domain fits, else wide; there are no floats. Where engines
differ from that meaning in the same way, what is written instead stands beside each spelling; where they differ from
each other, `Dialect` says it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from dalenius.engines.sql.dialect import Dialect
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.evaluation import LONGEST_TEXT
from dalenius.query.types import Bool, Domain, Ranged, Text

Spelling: TypeAlias = Callable[[Dialect, Call], str]


def spell(d: Dialect, expression: Expression) -> str:
    """The SQL of an expression, over columns with the same names that hold codes."""
    if isinstance(expression, Column):
        return d.quote(expression.name)
    if isinstance(expression, Literal):
        return constant(d, expression)
    assert isinstance(expression, Call)
    return d.bracketed(SPELLINGS[expression.function](d, expression))


def constant(d: Dialect, literal: Literal) -> str:
    value = literal.value
    if value is None:
        return f"CAST(NULL AS {d.type_of(literal.domain)})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return d.text_literal(value)
    return d.integer(value)


def number(value: int) -> str:
    """An integer; brackets keep a minus sign from meeting another one, which would begin a comment."""
    return str(value) if value >= 0 else f"({value})"


def operand(d: Dialect, expression: Expression) -> str:
    """An argument for comparisons and text functions."""
    if isinstance(expression, Column) and isinstance(expression.domain, Text):
        return d.as_text(d.quote(expression.name))
    return spell(d, expression)


def as_integer(d: Dialect, expression: Expression, size: str) -> str:
    """An argument for arithmetic in the given width. A column may be stored in any integer type, and engines compute
    with constants in the narrowest."""
    if isinstance(expression, Call) and d.type_of(expression.domain) == size:
        return spell(d, expression)
    sql = spell(d, expression)
    return d.cast(sql, size) if size == d.wide else d.fitted(sql, size)


def resized(d: Dialect, sql: str, size: str, call: Call) -> str:
    """A result that was computed in `size`, in the type of the call."""
    wanted = d.type_of(call.domain)
    return sql if wanted == size else d.fitted(sql, wanted)


def ends(expression: Expression) -> tuple[int, int]:
    assert isinstance(expression.domain, Ranged)
    return expression.domain.lower, expression.domain.upper


def parameter(expression: Expression) -> int:
    """A constant that `functions` put into the call."""
    assert isinstance(expression, Literal)
    assert isinstance(expression.value, int)
    return expression.value


# ---- arithmetic


def infix(symbol: str) -> Spelling:
    """Arithmetic whose result is checked to fit beforehand."""

    def spelled(d: Dialect, call: Call) -> str:
        size = d.width(*ends(call), *(code for argument in call.arguments for code in ends(argument)))
        return resized(d, f" {symbol} ".join(as_integer(d, argument, size) for argument in call.arguments), size, call)

    return spelled


def scale(d: Dialect, call: Call) -> str:
    x, factor = call.arguments
    size = d.width(*ends(call), *ends(x), parameter(factor))
    if parameter(factor) == 1 or is_zero(x):
        return as_integer(d, x, d.type_of(call.domain))
    return resized(d, f"{as_integer(d, x, size)} * {number(parameter(factor))}", size, call)


def multiplied(d: Dialect, call: Call) -> str:
    for x, factor in (call.arguments, call.arguments[::-1]):
        if is_zero(x) and isinstance(factor, Literal) and factor.value is not None:
            return as_integer(d, x, d.type_of(call.domain))
    return infix("*")(d, call)


def is_zero(expression: Expression) -> bool:
    """Whether it is 0 or NULL. Zero is not multiplied by constants: DuckDB multiplies the constants of nested products
    beforehand, which fits whenever a product other than 0 fits, and may fail at plan time otherwise."""
    return ends(expression) == (0, 0)


def prefix(name: str) -> Spelling:
    """A function of one integer, which the dialect has."""

    def spelled(d: Dialect, call: Call) -> str:
        size = d.width(*ends(call), *ends(call.arguments[0]))
        return resized(d, getattr(d, name)(as_integer(d, call.arguments[0], size)), size, call)

    return spelled


def sign(d: Dialect, x: str) -> str:
    """-1, 0 or 1, as a narrow integer."""
    return d.cast(f"CASE WHEN {x} > 0 THEN 1 WHEN {x} < 0 THEN -1 WHEN {x} = 0 THEN 0 END", d.narrow)


def floored(d: Dialect, sql: str, low: int, high: int, over: int, size: str) -> str:
    """sql / over, rounded down, for low <= sql <= high. Engines round towards zero, so negative numbers are moved up
    by a multiple of `over` first."""
    bins = min(low // over, 0)
    if not bins:
        return d.quotient(sql, str(over), size)
    moved = d.bracketed(f"{sql} - {number(bins * over)}")
    return f"{d.quotient(moved, str(over), size)} + {number(bins)}"


def times(d: Dialect, expression: Expression, factor: int, size: str) -> str:
    sql = as_integer(d, expression, size)
    return sql if factor == 1 or is_zero(expression) else d.bracketed(f"{sql} * {number(factor)}")


def regridded(name: str) -> Spelling:
    """floor, ceil or round of x * times / over."""

    def spelled(d: Dialect, call: Call) -> str:
        x, by, over = call.arguments[0], parameter(call.arguments[1]), parameter(call.arguments[2])
        low, high = (code * by for code in ends(x))
        if name == "round":
            return _rounded(d, call, x, by, over)
        up = over - 1 if name == "ceil" else 0
        size = d.width(*ends(call), *ends(x), low, high + up - min(low // over, 0) * over, over)
        sql = times(d, x, by, size)
        moved = d.bracketed(f"{sql} + {up}") if up else sql
        return resized(d, floored(d, moved, low + up, high + up, over, size), size, call)

    return spelled


def _rounded(d: Dialect, call: Call, x: Expression, by: int, over: int) -> str:
    """(2 * x * times ± over) / (2 * over), towards zero, which is what half away from zero needs."""
    low, high = ends(x)
    size = d.width(*ends(call), low, high, 2 * by * low - over, 2 * by * high + over, 2 * over)
    half = number(over) if low >= 0 else f"{d.cast(sign(d, as_integer(d, x, size)), size)} * {over}"
    moved = d.bracketed(f"{times(d, x, 2 * by, size)} + {half}")
    return resized(d, d.quotient(moved, str(2 * over), size), size, call)


def divide(d: Dialect, call: Call) -> str:
    x, y, by, over = call.arguments
    return _quotient(d, call, x, y, parameter(by), parameter(over))


def floor_divide(d: Dialect, call: Call) -> str:
    x, y = call.arguments
    return _quotient(d, call, x, y, 1, 1)


def _quotient(d: Dialect, call: Call, x: Expression, y: Expression, by: int, over: int) -> str:
    """floor(x * by / (y * over)), NULL where y is 0. Engines round towards zero and raise for 0."""
    (low, high), (least, most) = (tuple(code * by for code in ends(x)), tuple(code * over for code in ends(y)))
    size = d.width(*ends(call), *ends(x), *ends(y), 2 * low, 2 * high, 2 * least, 2 * most)
    if isinstance(y, Literal) and y.value:
        turn = 1 if least > 0 else -1
        first, last = sorted((low * turn, high * turn))
        size = d.width(*ends(call), *ends(x), low, high, last - min(first // abs(least), 0) * abs(least), least)
        return resized(d, floored(d, times(d, x, by * turn, size), first, last, abs(least), size), size, call)
    a, b = times(d, x, by, size), times(d, y, over, size)
    divisor = f"NULLIF({b}, 0)"
    down = d.quotient(a, divisor, size)
    if low < 0 or least < 0:
        rest = d.remainder(a, divisor, size)
        down += f" - CASE WHEN {rest} <> 0 AND ({a} < 0) <> ({b} < 0) THEN 1 ELSE 0 END"
    return resized(d, down, size, call)


def modulo(d: Dialect, call: Call) -> str:
    """x - y * floor(x / y), NULL where y is 0. The engines' remainder has the sign of x; they raise for 0."""
    x, y = call.arguments
    (low, high), (least, most) = ends(x), ends(y)
    size = d.width(*ends(call), low, high, 2 * least, 2 * most)
    a, b = as_integer(d, x, size), as_integer(d, y, size)
    divisor = b if isinstance(y, Literal) and y.value else f"NULLIF({b}, 0)"
    rest = d.remainder(a, divisor, size)
    if low < 0 or least < 0:
        rest = d.remainder(d.bracketed(f"{rest} + {b}"), divisor, size)
    return resized(d, rest, size, call)


def extreme(name: str) -> Spelling:
    """LEAST and GREATEST skip NULL in most engines; here NULL stays NULL."""

    def spelled(d: Dialect, call: Call) -> str:
        ranged = isinstance(call.domain, Ranged)
        size = d.width(*(code for argument in call.arguments for code in ends(argument))) if ranged else ""
        values = [as_integer(d, argument, size) if ranged else operand(d, argument) for argument in call.arguments]
        missing = " OR ".join(f"{value} IS NULL" for value in values)
        several = f"CASE WHEN {missing} THEN NULL ELSE {name}({', '.join(values)}) END"
        found = several if len(values) > 1 else values[0]  # Spark wants two
        return resized(d, found, size, call) if ranged else found

    return spelled


def typed(d: Dialect, expression: Expression, domain: Domain) -> str:
    """An argument in the type of the result."""
    return as_integer(d, expression, d.type_of(domain)) if isinstance(domain, Ranged) else operand(d, expression)


def clamp(d: Dialect, call: Call) -> str:
    """Not LEAST and GREATEST: these skip NULL, so a missing value would become a bound."""
    x, low, high = call.arguments
    size = d.width(*ends(call), *ends(x), parameter(low), parameter(high))
    sql = as_integer(d, x, size)
    least, most = (d.cast(spell(d, bound), size) for bound in (low, high))
    clamped = f"CASE WHEN {sql} < {least} THEN {least} WHEN {sql} > {most} THEN {most} ELSE {sql} END"
    return resized(d, clamped, size, call)


# ---- comparisons and logic, which have SQL's three values everywhere


def between_operands(symbol: str) -> Spelling:
    return lambda d, call: f" {symbol} ".join(operand(d, argument) for argument in call.arguments)


def coalesce(d: Dialect, call: Call) -> str:
    return f"COALESCE({', '.join(typed(d, argument, call.domain) for argument in call.arguments)})"


def null_if(d: Dialect, call: Call) -> str:
    x, y = (operand(d, argument) for argument in call.arguments)
    return f"CASE WHEN {x} = {y} THEN NULL ELSE {typed(d, call.arguments[0], call.domain)} END"


def case(d: Dialect, call: Call) -> str:
    *pairs, otherwise = call.arguments
    whens = [
        f"WHEN {spell(d, condition)} THEN {typed(d, value, call.domain)}"
        for condition, value in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    return f"CASE {' '.join(whens)} ELSE {typed(d, otherwise, call.domain)} END"


def member(d: Dialect, call: Call) -> str:
    x, *values = (operand(d, argument) for argument in call.arguments)
    return f"{x} IN ({', '.join(values)})"


def between(d: Dialect, call: Call) -> str:
    x, low, high = (operand(d, argument) for argument in call.arguments)
    return f"{x} BETWEEN {low} AND {high}"


# ---- texts


def like(d: Dialect, call: Call) -> str:
    x, pattern = call.arguments
    wanted = pattern.value if isinstance(pattern, Literal) else None
    if isinstance(wanted, str):
        return d.matches_known(operand(d, x), wanted)
    return d.matches(operand(d, x), operand(d, pattern))


def of_operands(name: str) -> Spelling:
    """A function of the dialect that takes the arguments as they are."""

    def spelled(d: Dialect, call: Call) -> str:
        found: str = getattr(d, name)(*(operand(d, argument) for argument in call.arguments))
        return found

    return spelled


def length(d: Dialect, call: Call) -> str:
    return d.fitted(d.length(operand(d, call.arguments[0])), d.type_of(call.domain))


def concat(d: Dialect, call: Call) -> str:
    """NULL above the longest text, before anything is put together: memory must not depend on rows."""
    values = [operand(d, argument) for argument in call.arguments]
    total = " + ".join(d.length(value) for value in values)
    return f"CASE WHEN {total} <= {LONGEST_TEXT} THEN {' || '.join(values)} END"


def replaced(d: Dialect, call: Call) -> str:
    """NULL above the longest text, which is found by counting what would be replaced."""
    x, old, new = (operand(d, argument) for argument in call.arguments)
    without = d.replaced(x, old, d.text_literal(""))
    taken = d.cast(f"{d.length(x)} - {d.length(without)}", d.narrow)
    size = d.cast(f"CASE WHEN {old} = {d.text_literal('')} THEN 1 ELSE {d.length(old)} END", d.narrow)
    longer = f"{d.quotient(taken, size, d.narrow)} * ({d.length(new)} - {d.length(old)})"
    fits = f"{taken} = 0 OR {d.length(x)} + {longer} <= {LONGEST_TEXT}"
    return f"CASE WHEN {fits} THEN {d.replaced(x, old, new)} END"


# ---- days, moments, conversions


def day_of(d: Dialect, expression: Expression) -> str:
    """A day as a narrow integer."""
    return as_integer(d, expression, d.narrow)


def part_of_day(name: str) -> Spelling:
    return lambda d, call: d.fitted(d.part_of_day(name, day_of(d, call.arguments[0])), d.type_of(call.domain))


def first_of_months(d: Dialect, call: Call) -> str:
    period = {1: "month", 3: "quarter", 12: "year"}[parameter(call.arguments[1])]
    return d.fitted(d.first_of(period, day_of(d, call.arguments[0])), d.type_of(call.domain))


def to_int(d: Dialect, call: Call) -> str:
    x = call.arguments[0]
    if isinstance(x.domain, Bool):
        return d.cast(f"CASE WHEN {spell(d, x)} THEN 1 WHEN NOT {spell(d, x)} THEN 0 END", d.narrow)
    return resized(d, d.read_integer(operand(d, x)), d.narrow, call)


def read_decimal(d: Dialect, call: Call) -> str:
    x, places, most = call.arguments[0], parameter(call.arguments[1]), parameter(call.arguments[2])
    return resized(d, d.read_decimal(operand(d, x), places, most), d.wide, call)


def to_bool(d: Dialect, call: Call) -> str:
    return d.read_truth(operand(d, call.arguments[0]))


def to_date(d: Dialect, call: Call) -> str:
    return resized(d, d.read_day(operand(d, call.arguments[0])), d.narrow, call)


def to_timestamp(d: Dialect, call: Call) -> str:
    return resized(d, d.read_moment(operand(d, call.arguments[0])), d.narrow, call)


SPELLINGS: Mapping[str, Spelling] = {
    "scale": scale,
    "add": infix("+"),
    "subtract": infix("-"),
    "multiply": multiplied,
    "divide": divide,
    "floor_divide": floor_divide,
    "modulo": modulo,
    "negate": prefix("negated"),
    "abs": prefix("absolute"),
    "sign": lambda d, call: sign(d, spell(d, call.arguments[0])),
    "least": extreme("LEAST"),
    "greatest": extreme("GREATEST"),
    "floor": regridded("floor"),
    "ceil": regridded("ceil"),
    "round": regridded("round"),
    "clamp": clamp,
    "equal": between_operands("="),
    "not_equal": between_operands("<>"),
    "less": between_operands("<"),
    "less_equal": between_operands("<="),
    "greater": between_operands(">"),
    "greater_equal": between_operands(">="),
    "and": between_operands("AND"),
    "or": between_operands("OR"),
    "not": lambda d, call: f"NOT {spell(d, call.arguments[0])}",
    "is_null": lambda d, call: f"{spell(d, call.arguments[0])} IS NULL",
    "coalesce": coalesce,
    "null_if": null_if,
    "case": case,
    "in": member,
    "between": between,
    "like": like,
    "concat": concat,
    "lower": of_operands("lower"),
    "upper": of_operands("upper"),
    "trim": of_operands("trimmed"),
    "length": length,
    "substring": of_operands("substring"),
    "replace": replaced,
    "starts_with": of_operands("starts_with"),
    "ends_with": of_operands("ends_with"),
    "contains": of_operands("contains"),
    "year": part_of_day("year"),
    "quarter": part_of_day("quarter"),
    "month": part_of_day("month"),
    "day": part_of_day("day"),
    "day_of_year": part_of_day("dayofyear"),
    "first_of_months": first_of_months,
    "to_int": to_int,
    "read_decimal": read_decimal,
    "to_bool": to_bool,
    "to_date": to_date,
    "to_timestamp": to_timestamp,
    "to_text": lambda d, call: d.written(spell(d, call.arguments[0])),
    "date_text": lambda d, call: d.written_day(day_of(d, call.arguments[0])),
    "moment_text": lambda d, call: d.written_moment(as_integer(d, call.arguments[0], d.narrow)),
}
