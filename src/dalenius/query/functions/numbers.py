"""Arithmetic on numbers, as integer arithmetic on their codes with ranges known beforehand."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from dalenius.query.expressions import Expression, Literal
from dalenius.query.functions.arguments import (
    ONE,
    as_kind,
    bounds,
    common,
    constant,
    constant_number,
    integer,
    kind,
    made,
    made_text,
    narrow_enough,
    nullable,
    numbers,
    one_step,
    scaled,
    span,
    step,
    whole_constant,
)
from dalenius.query.functions.dates import add_days, bin_of_dates, days_between
from dalenius.query.functions.evaluation import apply, on_grid, same
from dalenius.query.functions.signatures import NEVER, REFUSED, Cell, Function, Unfit
from dalenius.query.plan.figures import hull
from dalenius.query.types import Bool, Number, Ranged, Text

FINEST_QUOTIENT = Fraction(1, 10**9)
"""The step of a quotient, unless the numerator has a finer one: so fine that rounding down hardly shows in a mean."""


def add(x: Expression, y: Expression) -> Expression:
    if kind(x) in ("date", "moment"):
        return add_days(x, y)
    if kind(y) in ("date", "moment"):
        return add_days(y, x)
    x, y = one_step(numbers(x, y))
    codes = [a + b for a, b in zip(bounds(x), bounds(y), strict=True)]
    return made("add", (x, y), span(codes, step(x), null=nullable((x, y))))


def subtract(x: Expression, y: Expression) -> Expression:
    if kind(x) in ("date", "moment"):
        return add_days(x, negate(y)) if kind(y) == "number" else days_between(y, x)
    x, y = one_step(numbers(x, y))
    (low, high), (least, most) = bounds(x), bounds(y)
    return made("subtract", (x, y), span([low - most, high - least], step(x), null=nullable((x, y))))


def multiply(x: Expression, y: Expression) -> Expression:
    x, y = numbers(x, y)
    if isinstance(x, Literal) and not isinstance(y, Literal):
        x, y = y, x
    if isinstance(y, Literal) and isinstance(y.value, int) and y.value:
        factor = y.value * step(y)
        return scaled(x, 1 if factor > 0 else -1, step(x) * abs(factor))
    codes = [a * b for a in bounds(x) for b in bounds(y)]
    if x == y:  # a square is not negative
        low, high = bounds(x)
        codes = [low * low, high * high, *([0] if low <= 0 <= high else [])]
    return made("multiply", (x, y), span(codes, step(x) * step(y), null=nullable((x, y))))


def divide(x: Expression, y: Expression) -> Expression:
    x, y = _divisible(*numbers(x, y))
    unit = min(step(x), FINEST_QUOTIENT)
    ratio = step(x) / (step(y) * unit)
    times, over = ratio.numerator, ratio.denominator
    narrow_enough(*(2 * code * times for code in bounds(x)), *(2 * code * over for code in bounds(y)))
    parts = (x, y, integer(times), integer(over))
    return made("divide", parts, _quotients(parts, unit))


def floor_divide(x: Expression, y: Expression) -> Expression:
    x, y = one_step(_divisible(*numbers(x, y)))
    narrow_enough(*(2 * code for code in (*bounds(x), *bounds(y))))
    return made("floor_divide", (x, y), _quotients((x, y, integer(1), integer(1)), Fraction(1)))


def _divisible(x: Expression, y: Expression) -> list[Expression]:
    """Both, unless every row would be divided by the constant 0."""
    if isinstance(y, Literal) and y.value == 0 and not isinstance(x, Literal):
        raise Unfit("it divides by 0, so it is always NULL", "Divide by something else.")
    return [x, y]


def _quotients(parts: tuple[Expression, ...], unit: Fraction) -> Number:
    """The range of floor(x * times / (y * over)): for fixed y it is monotone in x, and for fixed x it is monotone in
    y > 0 and in y < 0, so the extremes lie at the ends and next to 0."""
    x, y, times, over = parts
    (low, high), (least, most) = bounds(x), bounds(y)
    divisors = {code for code in (least, -1, 1, most) if least <= code <= most and code}
    null = nullable((x, y)) or least <= 0 <= most
    codes = [
        apply("divide", [a, b, *(bounds(part)[0] for part in (times, over))]) for a in (low, high) for b in divisors
    ]
    return span([code for code in codes if isinstance(code, int)] or [0], unit, null=null)


def modulo(x: Expression, y: Expression) -> Expression:
    x, y = one_step(_divisible(*numbers(x, y)))
    narrow_enough(*(2 * code for code in bounds(y)))
    (low, high), (least, most) = bounds(x), bounds(y)
    null = nullable((x, y)) or least <= 0 <= most
    return made("modulo", (x, y), span(_remainders(low, high, least, most), step(x), null=null))


def _remainders(low: int, high: int, least: int, most: int) -> list[int]:
    if least == most != 0 and low // least == high // least:
        return [low % least, high % least]
    codes = [0]
    if most > 0:  # from 0 to y - 1, and not above x where that is not negative
        codes.append(min(most - 1, high) if low >= 0 else most - 1)
    if least < 0:  # from y + 1 to 0, and not below x where that is not positive
        codes.append(max(least + 1, low) if high <= 0 else least + 1)
    return codes


def negate(x: Expression) -> Expression:
    (x,) = numbers(x)
    return made("negate", (x,), span([-code for code in bounds(x)], step(x), null=x.domain.nullable))


def absolute(x: Expression) -> Expression:
    (x,) = numbers(x)
    low, high = bounds(x)
    codes = [abs(low), abs(high), *([0] if low <= 0 <= high else [])]
    return made("abs", (x,), span(codes, step(x), null=x.domain.nullable))


def sign(x: Expression) -> Expression:
    (x,) = numbers(x)
    signs = [(code > 0) - (code < 0) for code in bounds(x)]
    return made("sign", (x,), span(signs, null=x.domain.nullable))


def least(*arguments: Expression) -> Expression:
    return _extreme("least", common(*arguments))


def greatest(*arguments: Expression) -> Expression:
    return _extreme("greatest", common(*arguments))


def _extreme(name: str, arguments: list[Expression]) -> Expression:
    domains = [argument.domain for argument in arguments]
    if isinstance(domains[0], Text):
        return made_text(name, arguments)
    if isinstance(domains[0], Bool):
        return made(name, arguments, Bool(nullable(arguments)))
    pick = min if name == "least" else max
    low, high = (pick(bounds(argument)[end] for argument in arguments) for end in (0, 1))
    whole = hull(domains)
    assert isinstance(whole, Ranged)
    return made(name, arguments, whole.within(low, high))


def floored(x: Expression) -> Expression:
    return regridded("floor", as_kind(x, "number"), Fraction(1))


def ceiled(x: Expression) -> Expression:
    return regridded("ceil", as_kind(x, "number"), Fraction(1))


def rounded(x: Expression, digits: Expression | None = None) -> Expression:
    places = 0 if digits is None else whole_constant(digits, "the number of digits", least=-30, most=30)
    return regridded("round", as_kind(x, "number"), Fraction(10) ** -places)


def regridded(name: str, x: Expression, unit: Fraction) -> Expression:
    """The number as a multiple of `unit`, moved by floor, ceil or round where it is none."""
    ratio = step(x) / unit
    if ratio.denominator == 1:
        return x
    times, over = integer(ratio.numerator), integer(ratio.denominator)
    narrow_enough(*(4 * code * ratio.numerator for code in bounds(x)), 4 * ratio.denominator)
    codes = [apply(name, [code, ratio.numerator, ratio.denominator]) for code in bounds(x)]
    domain = span([code for code in codes if isinstance(code, int)], unit, null=x.domain.nullable)
    return made(name, (x, times, over), domain)


def bin_number(x: Expression, width: Expression) -> Expression:
    size = constant_number(width, "the width")
    if size <= 0:
        raise Unfit("the width of a bin must be positive", "Give a width above 0, such as bin(age, 10).")
    if kind(x) in ("date", "moment"):
        return bin_of_dates(x, size)
    return regridded("floor", as_kind(x, "number"), size)


def clamp(x: Expression, low: Expression, high: Expression) -> Expression:
    if kind(x) in ("date", "moment"):
        return _clamped(*common(x, low, high))
    x = as_kind(x, "number")
    least = ceil(constant_number(low, "the lower bound") / step(x))
    most = floor(constant_number(high, "the upper bound") / step(x))
    narrow_enough(least, most)
    return _clamped(x, integer(least), integer(most))


def _clamped(x: Expression, low: Expression, high: Expression) -> Expression:
    least, most = constant(low, "the lower bound"), constant(high, "the upper bound")
    if least > most:
        raise Unfit("there is no value between the bounds of clamp", "Give the lower bound first, on the grid.")
    domain = hull([x.domain, low.domain, high.domain]) if kind(x) in ("date", "moment") else x.domain
    assert isinstance(domain, Ranged)
    ends = [max(least, min(code, most)) for code in bounds(x)]
    return made("clamp", (x, integer(least), integer(most)), domain.within(*ends).or_null(x.domain.nullable))


_NULL = "NULL if an argument is NULL"
_WIDE = "refused if the range can reach 2^126 steps"
_HUGE = 2**125
_NUMBERS = "two numbers"
_ZERO = "NULL where y is 0; refused where y is the constant 0 and x is not"

FUNCTIONS = (
    Function(
        "add", "two numbers; a date and days", "a number in the coarsest step that holds both; a date",
        Cell("x + y", (2, Decimal("0.5")), Decimal("2.5")), Cell(_NULL, (1, None)),
        Cell(_WIDE, (_HUGE, _HUGE), REFUSED), NEVER, add, 2, 2, same("add"), "+",
    ),
    Function(
        "subtract", "two numbers; a date and days; two dates", "a number in the coarsest step that holds both; a date",
        Cell("x - y; of dates, the days between", (2, Decimal("0.5")), Decimal("1.5")), Cell(_NULL, (None, 1)),
        Cell(_WIDE, (-_HUGE, _HUGE), REFUSED), NEVER, subtract, 2, 2, same("subtract"), "-",
    ),
    Function(
        "multiply", _NUMBERS, "a number; its step is the product of the steps, times a constant factor",
        Cell("x * y", (Decimal("1.5"), Decimal("-0.5")), Decimal("-0.75")), Cell(_NULL, (0, None)),
        Cell("refused if the range can reach 2^126 steps; a constant factor changes the step and cannot overflow"),
        NEVER, multiply, 2, 2, same("multiply"), "*",
    ),
    Function(
        "divide", _NUMBERS, "a number in steps of 0.000000001, or the numerator's step if that is finer",
        Cell("x / y, rounded down to the step", (-1, 3), Decimal("-0.333333334")), Cell(_NULL, (None, 2)),
        Cell(_WIDE, (_HUGE, 3), REFUSED), Cell(_ZERO, (1, 0)), divide, 2, 2, lambda x, y: x / y, "/",
    ),
    Function(
        "floor_divide", _NUMBERS, "a whole number",
        Cell("x / y, rounded down", (-7, 2), -4), Cell(_NULL, (None, 2)),
        Cell(_WIDE, (1, _HUGE), REFUSED), Cell(_ZERO, (7, 0)), floor_divide, 2, 2,
        lambda x, y: same("floor_divide")(Fraction(x), Fraction(y)), "//",
    ),
    Function(
        "modulo", _NUMBERS, "a number in the coarsest step that holds both",
        Cell("x - y * floor(x / y): has the sign of y", (-7, 2), 1), Cell(_NULL, (7, None)),
        Cell(_WIDE, (1, _HUGE), REFUSED), Cell(_ZERO, (7, 0)), modulo, 2, 2, same("modulo"), "%",
    ),
    Function(
        "negate", "a number", "a number in the same step",
        Cell("-x", (3,), -3), Cell(_NULL, (None,)), NEVER, NEVER, negate, 1, 1, same("negate"),
    ),
    Function(
        "abs", "a number", "a number in the same step",
        Cell("x without its sign", (-3,), 3), Cell(_NULL, (None,)), NEVER, NEVER, absolute, 1, 1, same("abs"),
    ),
    Function(
        "sign", "a number", "-1, 0 or 1",
        Cell("-1, 0 or 1", (Decimal("-0.5"),), -1), Cell(_NULL, (None,)), NEVER, NEVER, sign, 1, 1, same("sign"),
    ),
    Function(
        "least", "values of one kind", "the same kind, with the range that is left",
        Cell("the smallest", (3, Decimal("1.5"), 2), Decimal("1.5")), Cell(_NULL, (1, None)),
        Cell("refused if a common step takes a range to 2^126", (_HUGE, Fraction(1, 3)), REFUSED), NEVER,
        least, 1, None, same("least"),
    ),
    Function(
        "greatest", "values of one kind", "the same kind, with the range that is left",
        Cell("the largest; texts bytewise", ("a", "B", "é"), "é"), Cell(_NULL, (None, 1)),
        Cell("refused if a common step takes a range to 2^126", (_HUGE, Fraction(1, 3)), REFUSED), NEVER,
        greatest, 1, None, same("greatest"),
    ),
    Function(
        "floor", "a number", "a whole number",
        Cell("the largest whole number up to x", (Decimal("-1.5"),), -2), Cell(_NULL, (None,)),
        Cell(_WIDE, (Fraction(_HUGE, 3),), REFUSED), NEVER, floored, 1, 1,
        lambda x: float(on_grid("floor", x, ONE)),
    ),
    Function(
        "ceil", "a number", "a whole number",
        Cell("the smallest whole number from x on", (Decimal("-1.5"),), -1), Cell(_NULL, (None,)),
        Cell(_WIDE, (Fraction(_HUGE, 3),), REFUSED), NEVER, ceiled, 1, 1,
        lambda x: float(on_grid("ceil", x, ONE)),
    ),
    Function(
        "round", "a number, and a constant number of digits (0 if left out, negative for tens)",
        "a number in steps of 10^-digits",
        Cell("the nearest number with so many digits; halves away from zero", (Decimal("-2.5"),), -3),
        Cell(_NULL, (None, 1)), Cell(_WIDE, (Fraction(_HUGE, 3), 0), REFUSED),
        Cell("refused unless digits is a whole constant from -30 to 30", (1, 31), REFUSED), rounded, 1, 2,
        lambda x, digits=0: float(on_grid("round", x, Fraction(10) ** -int(digits))),
    ),
    Function(
        "clamp", "a number or date, and two constants", "the same step, between the bounds",
        Cell("x moved to the nearest bound if it lies outside", (17, 0, 10), 10),
        Cell("NULL if x is NULL", (None, 0, 1)), NEVER,
        Cell("refused if nothing lies between the bounds", (1, 5, 3), REFUSED), clamp, 3, 3, same("clamp"),
    ),
    Function(
        "bin", "a number or date, and a constant width (for dates: in days)", "a number in steps of the width; a date",
        Cell("the lower edge of the bin of x; bins begin at 0, for dates at 0001-01-01, a Monday", (-7, 5), -10),
        Cell("NULL if x is NULL", (None, 5)), Cell(_WIDE, (_HUGE, Fraction(2, 3)), REFUSED),
        Cell("refused unless the width is a positive constant", (7, 0), REFUSED), bin_number, 2, 2,
        lambda x, width: on_grid("floor", x, Fraction(width)),
    ),
)  # fmt: skip
