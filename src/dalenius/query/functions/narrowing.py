"""What a filter tells about columns: where a condition is true, some columns take fewer values.

Every rule is sound by itself: it only uses that the condition is true (not false, not NULL) for the row. A rule that
would leave no value at all changes nothing, because domains are not empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dalenius.query.calendar import LAST_DAY, first_day
from dalenius.query.expressions import Call, Column, Expression, Literal, Schema
from dalenius.query.functions.evaluation import STRICT
from dalenius.query.plan.figures import hull
from dalenius.query.types import Choice, Code, Days, Domain, Identifier, Number, Ranged, Text, choice

_LAST_YEAR = 9999
_MIRRORED = {
    "equal": "equal", "not_equal": "not_equal", "less": "greater", "less_equal": "greater_equal", "greater": "less",
    "greater_equal": "less_equal",
}  # fmt: skip


def narrow(condition: Expression, schema: Schema) -> tuple[tuple[str, Domain], ...]:
    """The columns that take fewer values where the condition is true, with what they then take."""
    facts = _Facts(schema)
    facts.assume(condition)
    return tuple((name, facts.known[name]) for name in schema if facts.known[name] != schema[name])


@dataclass
class _Facts:
    schema: Schema
    known: dict[str, Domain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = dict(self.schema)

    def assume(self, condition: Expression) -> None:
        """Use that the condition is true."""
        for column in not_null(condition):
            self._set(column, self.known[column].or_null(False))
        if not isinstance(condition, Call):
            return
        arguments = condition.arguments
        if condition.function == "and":  # true only if every part is true
            for part in arguments:
                self.assume(part)
        elif condition.function == "or":
            self._assume_one_of(arguments)
        elif condition.function == "not" and _is(arguments[0], "is_null"):  # NOT (x IS NULL): x has a value
            for column in not_null(arguments[0].arguments[0]):  # type: ignore[attr-defined]
                self._set(column, self.known[column].or_null(False))
        elif condition.function == "between":  # low <= x and x <= high, both true
            self._compare("greater_equal", arguments[0], arguments[1])
            self._compare("less_equal", arguments[0], arguments[2])
        elif condition.function == "in":
            self._member(arguments[0], arguments[1:])
        elif condition.function in _MIRRORED:
            self._compare(condition.function, *arguments)
            self._compare(_MIRRORED[condition.function], *reversed(arguments))

    def _assume_one_of(self, parts: tuple[Expression, ...]) -> None:
        """One of the parts is true, so a column takes what one of them leaves: no more than their hull."""
        each = [dict(narrow(part, self.known)) for part in parts]
        for column in each[0]:
            if all(column in found for found in each):
                self._set(column, hull([found[column] for found in each]))

    def _compare(self, relation: str, x: Expression, y: Expression) -> None:
        """x grows with one column; y is a constant or, where x is a column itself, another column that equals it."""
        if isinstance(y, Literal) and isinstance(y.value, int):
            self._inside(x, *_reach(relation, y.value))
        elif isinstance(x, Column) and (domain := self.known.get(x.name)) is not None:
            if isinstance(y, Literal) and isinstance(y.value, str) and isinstance(domain, Text):
                self._text(x.name, domain, relation, y.value)
            elif relation == "equal" and isinstance(y, Column) and y.name in self.known:
                self._same(x.name, domain, self.known[y.name])

    def _inside(self, x: Expression, low: int | None, high: int | None) -> None:
        """x lies between two numbers, so the column that it grows with lies between two others."""
        if isinstance(x, Column):
            if isinstance(self.known.get(x.name), Ranged):
                self._range(x.name, low, high)
        elif isinstance(x, Call) and x.arguments:
            found = _before(x, low, high)
            if found is not None:
                self._inside(x.arguments[0], *found)

    def _range(self, column: str, low: int | None, high: int | None) -> None:
        domain = self.known[column]
        assert isinstance(domain, Ranged)
        least = domain.lower if low is None else max(domain.lower, low)
        most = domain.upper if high is None else min(domain.upper, high)
        if least <= most:
            self._set(column, domain.within(least, most))

    def _text(self, column: str, domain: Text, relation: str, value: str) -> None:
        """Equality leaves one text; inequality takes one away from those that are listed."""
        if relation == "equal":
            self._listed(column, domain, [value])
        elif relation == "not_equal" and isinstance(domain, Choice):
            self._listed(column, domain, [each for each in domain.values if each != value])

    def _listed(self, column: str, domain: Text, values: list[str]) -> None:
        if not isinstance(domain, Choice):
            self._set(column, choice(values, nullable=domain.nullable))
            return
        kept = set(values)
        left = tuple(each for each in domain.values if each in kept)
        if left:
            self._set(column, Choice(domain.nullable, left))

    def _same(self, column: str, domain: Domain, other: Domain) -> None:
        """Two equal columns: each takes only what the other can take."""
        alike = isinstance(domain, Ranged) and isinstance(other, Ranged) and _unit(domain) == _unit(other)
        if alike and isinstance(other, Ranged):
            self._range(column, other.lower, other.upper)
        elif isinstance(domain, Text) and isinstance(other, Choice):
            self._listed(column, domain, list(other.values))

    def _member(self, x: Expression, values: tuple[Expression, ...]) -> None:
        """x equals one of the constants; NULL equals nothing."""
        if not all(isinstance(value, Literal) for value in values):
            return
        listed: list[Code] = [value.value for value in values if isinstance(value, Literal) and value.value is not None]
        numbers = [each for each in listed if isinstance(each, int)]
        texts = [each for each in listed if isinstance(each, str)]
        if numbers:
            self._inside(x, min(numbers), max(numbers))
        elif texts and isinstance(x, Column) and isinstance(domain := self.known.get(x.name), Text):
            self._listed(x.name, domain, texts)

    def _set(self, column: str, domain: Domain) -> None:
        old = self.known[column]
        if not isinstance(old, Identifier) and domain != old.or_null(old.nullable):  # a declared type in plain form
            self.known[column] = domain


def _reach(relation: str, value: int) -> tuple[int | None, int | None]:
    """Between which whole numbers x lies where it stands in the relation to a value."""
    return {
        "less": (None, value - 1),
        "less_equal": (None, value),
        "greater": (value + 1, None),
        "greater_equal": (value, None),
        "equal": (value, value),
    }.get(relation, (None, None))


def _before(call: Call, low: int | None, high: int | None) -> tuple[int | None, int | None] | None:
    """Between which numbers the first argument of a call lies where the call lies between `low` and `high`; None of a
    function that may go up and down. Every function here never falls as its argument grows."""
    constants = [part.value for part in call.arguments[1:] if isinstance(part, Literal)]
    match call.function, constants:
        case "year", []:
            return None if low is None else _first_day(low), None if high is None else _first_day(high + 1) - 1
        case "scale", [int(factor)] if factor >= 1:  # factor * x >= low where x >= low / factor, rounded up
            return None if low is None else -(-low // factor), None if high is None else high // factor
        case "floor", [1, int(size)] if size >= 1:  # the day of a moment: x // size >= low where x >= low * size
            return None if low is None else low * size, None if high is None else (high + 1) * size - 1
    return None


def _first_day(year: int) -> int:
    """The first day of a year; before the calendar its first day, behind it the day after its last."""
    if year > _LAST_YEAR:
        return LAST_DAY + 1
    return first_day(12 * max(year, 1))


def not_null(expression: Expression) -> Iterator[str]:
    """The columns that have a value wherever the expression has one: those under functions that are NULL as soon as
    one argument is, and x of x IN (...) and of x BETWEEN a AND b.

    `x IN (...)` with x NULL is NULL, because every comparison with NULL is. `x BETWEEN a AND b` likewise.
    """
    if isinstance(expression, Column):
        yield expression.name
    elif isinstance(expression, Call) and expression.function in STRICT:
        for argument in expression.arguments:
            yield from not_null(argument)
    elif isinstance(expression, Call) and expression.function in ("in", "between"):
        yield from not_null(expression.arguments[0])


def scaled_column(expression: Expression) -> tuple[str, int]:
    """The column and the constant factor of an expression that is one times the other; "" where it is not."""
    if isinstance(expression, Column):
        return expression.name, 1
    if isinstance(expression, Call) and expression.function == "scale":
        column, factor = expression.arguments
        if isinstance(column, Column) and isinstance(factor, Literal) and isinstance(factor.value, int):
            return column.name, factor.value
    return "", 1


def _is(expression: Expression, function: str) -> bool:
    return isinstance(expression, Call) and expression.function == function


def _unit(domain: Ranged) -> object:
    return domain.step if isinstance(domain, Number) else "days" if isinstance(domain, Days) else "moments"
