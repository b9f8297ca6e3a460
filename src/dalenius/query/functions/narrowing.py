"""What a filter tells about columns: where a condition is true, some columns take fewer values.

Every rule is sound by itself: it only uses that the condition is true (not false, not NULL) for the row. A rule that
would leave no value at all changes nothing, because domains are not empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dalenius.query.expressions import Call, Column, Expression, Literal, Schema
from dalenius.query.functions.evaluation import STRICT
from dalenius.query.plan.figures import hull
from dalenius.query.types import Choice, Code, Days, Domain, Identifier, Number, Ranged, Text, choice

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
        """x is a column, perhaps times a positive constant; y is a constant or, for equality, another column."""
        column, factor = scaled_column(x)
        domain = self.known.get(column)
        if domain is None or factor < 1:
            return
        if isinstance(y, Literal) and y.value is not None:
            if isinstance(domain, Ranged) and isinstance(y.value, int):
                self._bound(column, relation, y.value, factor)
            elif isinstance(domain, Text) and isinstance(y.value, str):
                self._text(column, domain, relation, y.value)
        elif relation == "equal" and factor == 1 and isinstance(y, Column) and y.name in self.known:
            self._same(column, domain, self.known[y.name])

    def _bound(self, column: str, relation: str, value: int, factor: int) -> None:
        """factor * x < v means x <= ceil(v / factor) - 1, and likewise for the others, because x is an integer."""
        down, up = value // factor, -(-value // factor)
        low, high = {
            "less": (None, up - 1),
            "less_equal": (None, down),
            "greater": (down + 1, None),
            "greater_equal": (up, None),
            "equal": (up, down),
        }.get(relation, (None, None))
        self._range(column, low, high)

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
        column, factor = scaled_column(x)
        domain = self.known.get(column)
        numbers = [each for each in listed if isinstance(each, int)]
        texts = [each for each in listed if isinstance(each, str)]
        if isinstance(domain, Ranged) and numbers and factor >= 1:
            self._range(column, -(-min(numbers) // factor), max(numbers) // factor)
        elif isinstance(domain, Text) and texts:
            self._listed(column, domain, texts)

    def _set(self, column: str, domain: Domain) -> None:
        old = self.known[column]
        if not isinstance(old, Identifier) and domain != old.or_null(old.nullable):  # a declared type in plain form
            self.known[column] = domain


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
