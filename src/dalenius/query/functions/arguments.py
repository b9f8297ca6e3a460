"""Arguments of functions: of which kind they are, how they are brought to one kind and one step, and how a call is
put together from them. Raises `Unfit`, which `functions.call` turns into a refusal with the clause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import gcd, lcm
from typing import Any

from dalenius.query.calendar import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, Grain, read_day, read_moment
from dalenius.query.expressions import Call, Expression, Literal
from dalenius.query.functions.evaluation import apply
from dalenius.query.functions.signatures import Unfit
from dalenius.query.plan.figures import combinations, hull
from dalenius.query.types import WIDEST, Bool, Choice, Code, Days, Domain, Moments, Number, Ranged, Text, choice

NOTHING = Choice(True, ())
"""The domain of a bare NULL, which fits every kind."""
NULL = Literal(NOTHING, None)
ONE = Fraction(1)
MOST_COMBINATIONS = 10_000
MOST_CHARACTERS = 1_000_000
DEEPEST, HEAVIEST = 100, 2_000
_KINDS: tuple[tuple[str, type[Domain]], ...] = (
    ("number", Number), ("date", Days), ("moment", Moments), ("truth", Bool), ("text", Text),
)  # fmt: skip
_EMPTY: dict[str, Domain] = {
    "number": Number(True, 0, 0), "date": Days(True, 0, 0), "moment": Moments(True, 0, 0), "truth": Bool(True),
    "text": NOTHING,
}  # fmt: skip
_PLAIN = re.compile(r"[+-]?[0-9]+([.][0-9]+)?")
_SPANS = {"date": (FIRST_DAY, LAST_DAY), "moment": (FIRST_MOMENT, LAST_MOMENT)}


def kind(expression: Expression) -> str:
    """number, date, moment, truth or text; null for a bare NULL. A unit has no kind: nothing is computed from it."""
    domain = expression.domain
    if isinstance(expression, Literal) and domain == NOTHING:
        return "null"
    for name, family in _KINDS:
        if isinstance(domain, family):
            _check_span(name, domain)
            return name
    raise Unfit(
        f"nothing may be computed from {domain}",
        "A unit can be counted, joined on, and grouped by in a subquery; use another column here.",
    )


def _check_span(name: str, domain: Domain) -> None:
    low, high = _SPANS.get(name, (-WIDEST, WIDEST))
    if isinstance(domain, Ranged) and not low <= domain.lower <= domain.upper <= high:
        raise Unfit("dates lie between 0001-01-01 and 9999-12-31", "Narrow the range of the column.")


def as_kind(expression: Expression, wanted: str, *others: str) -> Expression:
    """The argument, if it is of a wanted kind; a bare NULL becomes one of the first."""
    found = kind(expression)
    if found == "null":
        return Literal(_EMPTY[wanted], None)
    if found not in (wanted, *others):
        expected = " or ".join(PLURALS[name] for name in (wanted, *others))
        raise Unfit(
            f"it takes {expected}, but this is {expression.domain}",
            f"Convert it first, with {CASTS[wanted]}, or use another column.",
        )
    return expression


PLURALS = {"number": "a number", "date": "a date", "moment": "a moment", "truth": "true or false", "text": "a text"}
CASTS = {
    "number": "CAST(x AS INTEGER) or CAST(x AS REAL)", "date": "CAST(x AS DATE)", "moment": "CAST(x AS TIMESTAMP)",
    "truth": "CAST(x AS BOOLEAN)", "text": "CAST(x AS TEXT)",
}  # fmt: skip


def numbers(*arguments: Expression) -> list[Expression]:
    return [as_kind(argument, "number") for argument in arguments]


def texts(*arguments: Expression) -> list[Expression]:
    return [as_kind(argument, "text") for argument in arguments]


def truths(*arguments: Expression) -> list[Expression]:
    return [as_kind(argument, "truth") for argument in arguments]


def day(argument: Expression) -> Expression:
    """A date, as it is or as the day of a moment."""
    found = as_kind(argument, "date", "moment")
    return found if kind(found) == "date" else day_of_moment(found)


def day_of_moment(moment: Expression) -> Expression:
    low, high = bounds(moment)
    domain = Days(moment.domain.nullable, low // DAY, high // DAY)
    return made("floor", (moment, integer(1), integer(DAY)), domain)


def moment_of_day(date: Expression) -> Expression:
    low, high = bounds(date)
    return made("scale", (date, integer(DAY)), Moments(date.domain.nullable, low * DAY, high * DAY, Grain(size=DAY)))


def constant(expression: Expression, what: str) -> Any:
    """The value of an argument that must be written in the question."""
    if not isinstance(expression, Literal) or expression.value is None:
        raise Unfit(f"{what} must be a constant", f"Write {what} as a plain value.")
    return expression.value


def constant_number(expression: Expression, what: str) -> Fraction:
    """The exact number of an argument that must be written in the question."""
    value = constant(as_kind(expression, "number"), what)
    return Fraction(value) * step(expression)


def whole_constant(expression: Expression, what: str, *, least: int, most: int) -> int:
    """A whole number that must be written in the question."""
    value = constant_number(expression, what)
    if value.denominator != 1 or not least <= value <= most:
        raise Unfit(f"{what} must be a whole number from {least} to {most}", f"Change {what}.")
    return int(value)


def integer(value: int) -> Literal:
    """A whole number as a parameter of an inner call."""
    return Literal(Number(False, value, value), value)


def bounds(expression: Expression) -> tuple[int, int]:
    """The least and the largest code."""
    assert isinstance(expression.domain, Ranged)
    return expression.domain.lower, expression.domain.upper


def step(expression: Expression) -> Fraction:
    assert isinstance(expression.domain, Number)
    return expression.domain.step


def nullable(arguments: Sequence[Expression]) -> bool:
    return any(argument.domain.nullable for argument in arguments)


def span(codes: Sequence[int], unit: Fraction = ONE, *, null: bool) -> Number:
    """The numbers between the least and the largest of these codes; refused where they reach 2^126."""
    narrow_enough(*codes)
    return Number(null, min(codes), max(codes), unit)


def narrow_enough(*codes: int) -> None:
    """Refuse codes that an engine could not compute with."""
    if max(map(abs, codes)) >= WIDEST:
        raise Unfit(
            "its range reaches 2^126 steps, and overflow does not compile",
            "Narrow an argument with clamp(x, low, high), or round it to a coarser step.",
        )


def made(function: str, arguments: Sequence[Expression], domain: Domain) -> Expression:
    """The call, or its value where all arguments are constants."""
    if all(isinstance(argument, Literal) for argument in arguments):
        return fold(apply(function, [argument.value for argument in arguments]), domain)  # type: ignore[attr-defined]
    result = Call(domain, function, tuple(arguments))
    if result.depth > DEEPEST or result.weight > HEAVIEST:
        raise Unfit("the expression is too deeply nested", "Compute a part of it in a subquery, or simplify it.")
    return result


def fold(value: Code, domain: Domain) -> Literal:
    """A constant in the least domain that holds it."""
    if value is None:
        return Literal(domain.or_null(), None)
    if isinstance(value, str):
        return Literal(Choice(False, (value,)), value)
    if isinstance(domain, Ranged):
        return Literal(domain.within(value, value).or_null(False), value)
    return Literal(domain.or_null(False), value)


def made_text(function: str, arguments: Sequence[Expression], *, null: bool = False) -> Expression:
    """A call that gives a text: one of the public texts that its arguments can give, or any text."""
    values = images(function, arguments)
    listed = None if values is None else [value for value in values if isinstance(value, str)]
    if listed is None or values is None or sum(map(len, listed)) > MOST_CHARACTERS:
        return made(function, arguments, Text(null or nullable(arguments)))
    return made(function, arguments, choice(listed, nullable=None in values))


def images(function: str, arguments: Sequence[Expression]) -> set[Code] | None:
    """All values that a function can take, where its arguments have few enough public values."""
    domains = [argument.domain for argument in arguments]
    several = [domain for argument, domain in zip(arguments, domains, strict=True) if not isinstance(argument, Literal)]
    total = combinations(several)
    if total is None or total > MOST_COMBINATIONS:
        return None
    listed = [[argument.value] if isinstance(argument, Literal) else argument.domain.codes() for argument in arguments]
    return {apply(function, codes) for codes in product(*listed)}


def common(*arguments: Expression) -> list[Expression]:
    """The arguments in one kind, numbers in one step; texts that name a day or moment fit dates."""
    kinds = {kind(argument) for argument in arguments} - {"null"}
    if kinds & {"date", "moment"} and kinds <= {"date", "moment", "text"}:
        return _dated(arguments, kinds)
    if len(kinds) > 1:
        given = [argument for argument in arguments if kind(argument) != "null"]
        other = next(argument for argument in given if kind(argument) != kind(given[0]))
        raise Unfit(f"{given[0].domain} and {other.domain} do not fit together", _fitting(given))
    wanted = next(iter(kinds), "text")
    same = [as_kind(argument, wanted) for argument in arguments]
    return one_step(same) if wanted == "number" else same


def _fitting(arguments: Sequence[Expression]) -> str:
    """What to write so that arguments of several kinds fit together."""
    constants = [argument for argument in arguments if isinstance(argument, Literal)]
    others = {kind(argument) for argument in arguments if not isinstance(argument, Literal)}
    for constant in constants:
        value = constant.value
        if others == {"number"} and isinstance(value, str) and _PLAIN.fullmatch(value):
            return f"Write {value} without quotes."
        if others == {"text"} and kind(constant) == "number":
            return f"Write '{constant.domain}' in quotes."
        if others == {"truth"} and str(value).lower() in ("0", "1", "false", "true"):
            return f"Write {'TRUE' if str(value).lower() in ('1', 'true') else 'FALSE'}."
    return "Convert one of them, as with CAST(x AS TEXT), CAST(x AS INTEGER) or CAST(x AS DATE)."


def _dated(arguments: Sequence[Expression], kinds: set[str]) -> list[Expression]:
    read = [_read(argument) if kind(argument) == "text" else argument for argument in arguments]
    if all(kind(argument) in ("date", "null") for argument in read):
        return [as_kind(argument, "date") for argument in read]
    return [moment_of_day(each) if kind(each) == "date" else as_kind(each, "moment") for each in read]


def _read(argument: Expression) -> Expression:
    written = argument.value if isinstance(argument, Literal) else None
    found, moment = (read_day(written), read_moment(written)) if isinstance(written, str) else (None, None)
    if found is not None:
        return Literal(Days(False, found, found), found)
    if moment is not None:
        return Literal(Moments(False, moment, moment), moment)
    raise Unfit(
        f"{argument.domain} and dates do not fit together", "Write days as '2024-01-31', or convert with to_date()."
    )


def one_step(arguments: Sequence[Expression]) -> list[Expression]:
    """Numbers as multiples of one step: the coarsest that holds all of them."""
    steps = [step(argument) for argument in arguments if not is_nothing(argument)] or [ONE]
    below = lcm(*(each.denominator for each in steps))
    fine = Fraction(gcd(*(int(each * below) for each in steps)), below)
    nothing = Literal(Number(True, 0, 0, fine), None)
    return [nothing if is_nothing(argument) else in_step(argument, fine) for argument in arguments]


def is_nothing(argument: Expression) -> bool:
    """Whether it is a constant NULL, of whatever kind."""
    return isinstance(argument, Literal) and argument.value is None


def hull_of(arguments: Sequence[Expression]) -> Domain:
    """The least domain that holds the values of all arguments."""
    domains = [argument.domain for argument in arguments if not is_nothing(argument)]
    return hull(domains or [arguments[0].domain]).or_null(nullable(arguments))


def in_step(number: Expression, fine: Fraction) -> Expression:
    """The same number as a multiple of a step that divides its own."""
    factor = step(number) / fine
    assert factor.denominator == 1
    return scaled(number, int(factor), fine)


def scaled(number: Expression, factor: int, unit: Fraction) -> Expression:
    """The codes times `factor`, as multiples of `unit`."""
    if factor == 1 and unit == step(number):
        return number
    low, high = bounds(number)
    domain = span([low * factor, high * factor], unit, null=number.domain.nullable)
    return made("scale", (number, integer(factor)), domain)
