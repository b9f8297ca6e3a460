"""Comparisons, three-valued logic, NULL and CASE."""

from __future__ import annotations

from collections.abc import Callable

from dalenius.query.expressions import Expression
from dalenius.query.functions.arguments import NULL, common, hull_of, kind, made, nullable, truths
from dalenius.query.functions.evaluation import apply, same
from dalenius.query.functions.signatures import NEVER, REFUSED, Cell, Function
from dalenius.query.types import Bool


def compared(name: str) -> Callable[[Expression, Expression], Expression]:
    def build(x: Expression, y: Expression) -> Expression:
        pair = common(x, y)
        return made(name, pair, Bool(nullable(pair)))

    return build


def conjunction(*arguments: Expression) -> Expression:
    return made("and", truths(*arguments), Bool(nullable(arguments)))


def disjunction(*arguments: Expression) -> Expression:
    return made("or", truths(*arguments), Bool(nullable(arguments)))


def negation(x: Expression) -> Expression:
    return made("not", truths(x), Bool(x.domain.nullable))


def is_null(x: Expression) -> Expression:
    kind(x)
    return made("is_null", (x,), Bool(False))


def coalesce(*arguments: Expression) -> Expression:
    values = common(*arguments)
    used = values[: 1 + next((i for i, each in enumerate(values) if not each.domain.nullable), len(values))]
    null = all(value.domain.nullable for value in used)
    return made("coalesce", used, hull_of(used).or_null(null))


def null_if(x: Expression, y: Expression) -> Expression:
    pair = common(x, y)
    return made("null_if", pair, pair[0].domain.or_null())


def case(*arguments: Expression) -> Expression:
    parts = arguments if len(arguments) % 2 else (*arguments, NULL)
    conditions, values = truths(*parts[:-1:2]), common(*parts[1::2], parts[-1])
    pairs = [part for pair in zip(conditions, values, strict=False) for part in pair]
    return made("case", (*pairs, values[-1]), hull_of(values))


def member(x: Expression, *values: Expression) -> Expression:
    group = common(x, *values)
    return made("in", group, Bool(nullable(group)))


def between(x: Expression, low: Expression, high: Expression) -> Expression:
    group = common(x, low, high)
    return made("between", group, Bool(nullable(group)))


_NULL = "NULL if an argument is NULL"
_OVERFLOW = Cell("refused if a common step takes a range to 2^126", (2**125, 0.1), REFUSED)
_KINDS = Cell("refused for two kinds", (1, "a"), REFUSED)
_TRUTH = Cell("refused for what is not true or false", (True, 1), REFUSED)
_BOOL = "true or false"


def _comparison(name: str, sql: str, meaning: Cell) -> Function:
    return Function(
        name, "two values of one kind", _BOOL, meaning, Cell(_NULL, (1, None)), _OVERFLOW, _KINDS, compared(name), 2, 2,
        same(name), sql,
    )  # fmt: skip


FUNCTIONS = (
    _comparison("equal", "=", Cell("x = y; texts bytewise", ("e\N{COMBINING ACUTE ACCENT}", "é"), True)),
    _comparison("not_equal", "<>", Cell("x is not y; texts bytewise", ("a ", "a"), True)),
    _comparison("less", "<", Cell("x < y; texts bytewise, false before true", ("B", "a"), True)),
    _comparison("less_equal", "<=", Cell("x is at most y; texts bytewise", (2, 2), True)),
    _comparison("greater", ">", Cell("x > y; texts bytewise", ("é", "z"), True)),
    _comparison("greater_equal", ">=", Cell("x is at least y; texts bytewise", (1, 2), False)),
    Function(
        "and", "conditions", _BOOL, Cell("true if all are true", (True, True), True),
        Cell("false if one is false, else NULL if one is NULL", (None, False), False), NEVER, _TRUTH,
        conjunction, 1, None,
    ),
    Function(
        "or", "conditions", _BOOL, Cell("true if one is true", (False, True), True),
        Cell("true if one is true, else NULL if one is NULL", (None, False)), NEVER, _TRUTH, disjunction, 1, None,
    ),
    Function(
        "not", "a condition", _BOOL, Cell("the opposite", (True,), False), Cell(_NULL, (None,)), NEVER,
        Cell("refused for what is not true or false", (1,), REFUSED), negation, 1, 1,
    ),
    Function(
        "is_null", "any value", "true or false, never NULL", Cell("whether x is NULL", (1,), False),
        Cell("true", (None,), True), NEVER, NEVER, is_null, 1, 1, same("is_null"),
    ),
    Function(
        "coalesce", "values of one kind", "the same kind; NULL only if all can be",
        Cell("the first value that is not NULL", (None, 2, 3), 2), Cell("NULL if all are NULL", (None, None)),
        _OVERFLOW, _KINDS, coalesce, 1, None, same("coalesce"),
    ),
    Function(
        "null_if", "two values of one kind", "the kind of the first", Cell("NULL if x = y, else x", (1, 2), 1),
        Cell("x if y is NULL; NULL if x is", (1, None), 1), _OVERFLOW, _KINDS, null_if, 2, 2,
        same("null_if"), "NULLIF",
    ),
    Function(
        "case", "condition, value, condition, value, ..., otherwise (NULL if left out)", "the kind of the values",
        Cell("the value of the first condition that is true", (False, 1, True, 2, 3), 2),
        Cell("a NULL condition is not true", (None, 1, 2), 2),
        Cell("refused if a common step takes a range to 2^126", (True, 2**125, 0.1), REFUSED),
        Cell("refused for values of two kinds", (True, 1, "a"), REFUSED), case, 2, None,
        lambda *parts: apply("case", parts if len(parts) % 2 else (*parts, None)),
    ),
    Function(
        "in", "a value, and values of its kind", _BOOL, Cell("whether x equals one of them", (2, 1, 2), True),
        Cell("true if one is equal, else NULL if x or one of them is NULL", (2, 1, None)), _OVERFLOW, _KINDS,
        member, 2, None, same("in"),
    ),
    Function(
        "between", "three values of one kind", _BOOL, Cell("x >= low and x <= high", (2, 1, 2), True),
        Cell("as `and` has it", (5, 10, None), False),
        Cell("refused if a common step takes a range to 2^126", (2**125, 0.1, 1), REFUSED),
        Cell("refused for two kinds", (1, "a", 2), REFUSED), between, 3, 3, same("between"),
    ),
)  # fmt: skip
