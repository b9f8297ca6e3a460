"""Scalar SQL as syntax: one reader for each kind of node, found by its exact type. What has no reader is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from sqlglot import exp

from dalenius.errors import InvalidParameter
from dalenius.query.sql import names as sql_names
from dalenius.query.sql.grammar import SEE_THE_LIST, only, refusal, written
from dalenius.query.syntax import Apply, Constant, Name, Term, UnitsIn
from dalenius.query.types import as_date, as_moment

MOST_DIGITS = 40
"""Digits of a number, with zeros that an exponent adds."""

Reader = TypeVar("Reader", bound=Callable[[Any], Term])

READERS: dict[type[exp.Expr], Callable[[Any], Term]] = {}
"""Exact node type -> its reader."""


def reads(*kinds: type[exp.Expr]) -> Callable[[Reader], Reader]:
    """Register the reader of these node types."""

    def register(reader: Reader) -> Reader:
        READERS.update(dict.fromkeys(kinds, reader))
        return reader

    return register


def term(node: exp.Expr) -> Term:
    """The scalar that a node means; refuses what is not on the list."""
    reader = READERS.get(type(node))
    if reader is None:
        rule, instead = _REFUSED.get(type(node).__name__, ("this is not in the SQL that is understood", SEE_THE_LIST))
        raise refusal(node, rule=rule, instead=instead)
    return reader(node)


_REFUSED = {
    "Star": ("it would show rows", "Name columns, and aggregate them: COUNT(*), AVG(x)."),
    "Window": ("a window looks at other people's rows", "Use GROUP BY and an aggregate."),
    "Subquery": ("a question is not a value", "Join it in FROM, keyed by the unit."),
    "Select": ("a question is not a value", "Join it in FROM, keyed by the unit."),
    "ILike": ("LIKE tells capitals apart", "Write LOWER(x) LIKE 'pattern'."),
    "SimilarTo": ("patterns are written with LIKE", "Write x LIKE 'a%'."),
    "RegexpLike": ("patterns are written with LIKE", "Write x LIKE 'a%'."),
    "RegexpILike": ("patterns are written with LIKE", "Write LOWER(x) LIKE 'a%'."),
    "Glob": ("patterns are written with LIKE", "Write x LIKE 'a%'."),
    "Escape": ("LIKE has no escape character", "Use CONTAINS, STARTS_WITH or ENDS_WITH for % and _."),
    "Placeholder": ("a question has no parameters", "Write the value itself."),
    "Parameter": ("a question has no parameters", "Write the value itself."),
    "SessionParameter": ("a question has no parameters", "Write the value itself."),
    "Interval": ("an interval is added to a date", "Write d + INTERVAL 7 DAY."),
    "CurrentDate": ("a question means the same every day", "Write the day: DATE '2024-01-31'."),
    "CurrentTimestamp": ("a question means the same every day", "Write the moment: TIMESTAMP '2024-01-31 12:00:00'."),
    "Any": ("comparisons with whole questions are not understood", "Use IN (...)."),
    "All": ("comparisons with whole questions are not understood", "Use IN (...)."),
    "Distinct": ("DISTINCT belongs to SELECT DISTINCT and COUNT(DISTINCT x)", "Leave DISTINCT out."),
    "Order": ("the order of rows is not public", "Leave ORDER BY out of the function."),
    "IgnoreNulls": ("aggregates skip NULL already", "Leave IGNORE NULLS out."),
    "RespectNulls": ("aggregates skip NULL", "Leave RESPECT NULLS out, or use COALESCE."),
    "Tuple": ("values come one by one", "Compare them one by one, with AND."),
    "Lambda": ("functions are not values", "Use CASE."),
    "Bracket": ("lists and structs are not understood", "Use plain columns."),
    "Array": ("lists and structs are not understood", "Use plain columns and values."),
    "Struct": ("lists and structs are not understood", "Use plain columns and values."),
    "Dot": ("names have at most two parts", "Write column or table.column, and plain function names."),
    "Alias": ("names are given in the list after SELECT", "Leave AS out here."),
    "Collate": ("texts are compared byte by byte", "Leave COLLATE out."),
    "AtTimeZone": ("moments have no time zone", "Leave AT TIME ZONE out."),
    "Concat": ("texts are joined with ||", "Write a || b."),
    "Rollup": ("ROLLUP is not understood", "Ask one question for each grouping."),
    "Cube": ("CUBE is not understood", "Ask one question for each grouping."),
    "GroupingSets": ("GROUPING SETS are not understood", "Ask one question for each grouping."),
    "Distance": ("distances are not understood", "Use ABS(a - b)."),
}


@reads(exp.Column)
def name(node: exp.Column) -> Name:
    """column or table.column."""
    only(node, "this", "table")
    if isinstance(node.this, exp.Star):
        raise refusal(node, rule="it would show rows", instead="Name columns, and aggregate them: COUNT(*), AVG(x).")
    table = node.args.get("table")
    return Name(identifier(node.this), identifier(table) if table else None)


def identifier(node: exp.Expr) -> str:
    """A written name, quoted or not."""
    if type(node) is not exp.Identifier or not isinstance(node.this, str) or node.this in ("", "*"):
        raise refusal(node, rule="a name is expected here", instead='Write a name such as city or "home city".')
    only(node, "this", "quoted")
    return node.this


@reads(exp.Paren)
def _paren(node: exp.Paren) -> Term:
    only(node, "this")
    return term(node.this)


@reads(exp.Null)
def _null(node: exp.Null) -> Term:
    only(node)
    return Constant(None)


@reads(exp.Boolean)
def _boolean(node: exp.Boolean) -> Term:
    only(node, "this")
    return Constant(bool(node.this))


@reads(exp.Literal)
def _literal(node: exp.Literal) -> Term:
    only(node, "this", "is_string")
    return Constant(node.this) if node.args["is_string"] else Constant(number(node))


_NUMBER = re.compile(r"(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?")


def number(node: exp.Literal) -> int | Fraction:
    """The exact value of a written number."""
    match = _NUMBER.fullmatch(node.this)
    if match is None or not match[1] + match[2]:
        raise refusal(node, rule="it is not a decimal number", instead="Write digits, such as 12.50.")
    power = int(match[3] or 0) - len(match[2])
    if len(match[1] + match[2]) + abs(power) > MOST_DIGITS:
        raise refusal(node, rule=f"a number has at most {MOST_DIGITS} digits", instead="Write a shorter number.")
    value = int(match[1] + match[2]) * Fraction(10) ** power
    return int(value) if value.denominator == 1 and not match[2] else value


_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide", exp.IntDiv: "floor_divide",
    exp.Mod: "modulo", exp.And: "and", exp.Or: "or", exp.DPipe: "concat",
}  # fmt: skip

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "equal", exp.NEQ: "not_equal", exp.LT: "less", exp.LTE: "less_equal", exp.GT: "greater",
    exp.GTE: "greater_equal",
}  # fmt: skip


@reads(*_OPERATORS)
def _operator(node: exp.Binary) -> Term:
    # typed and safe say how a dialect divides or concatenates; here there is one way.
    only(node, "this", "expression", "typed", "safe")
    left, right = node.this, node.expression
    if isinstance(right, exp.Interval) and isinstance(node, exp.Add | exp.Sub):
        days = interval(right)
        return Apply("add_days", (term(left), Constant(-days if isinstance(node, exp.Sub) else days)))
    if isinstance(left, exp.Interval) and isinstance(node, exp.Add):
        return Apply("add_days", (term(right), Constant(interval(left))))
    return Apply(_OPERATORS[type(node)], (term(left), term(right)))


@reads(*_COMPARISONS)
def _comparison(node: exp.Binary) -> Term:
    only(node, "this", "expression")
    return Apply(_COMPARISONS[type(node)], (operand(node, node.this), operand(node, node.expression)))


def operand(whole: exp.Expr, node: exp.Expr) -> Term:
    """A side of a comparison. Databases nest `a = b IS NULL` and `a < b < c` differently, so brackets must say how."""
    if type(node) in _TRUTHS:
        raise refusal(whole, rule="it can be read in two ways", instead="Put brackets around the inner comparison.")
    return term(node)


_TRUTHS = {*_COMPARISONS, exp.Is, exp.In, exp.Between, exp.Like, exp.Not, exp.NullSafeEQ, exp.NullSafeNEQ}


@reads(exp.NullSafeEQ)
def _same(node: exp.NullSafeEQ) -> Term:
    only(node, "this", "expression")
    return sql_names.same(operand(node, node.this), operand(node, node.expression))


@reads(exp.NullSafeNEQ)
def _distinct_from(node: exp.NullSafeNEQ) -> Term:
    only(node, "this", "expression")
    return negated(sql_names.same(operand(node, node.this), operand(node, node.expression)))


@reads(exp.Not)
def _not(node: exp.Not) -> Term:
    only(node, "this")
    return negated(term(node.this))


def negated(inner: Term) -> Term:
    """NOT; a membership of units turns into its opposite."""
    return replace(inner, negated=not inner.negated) if isinstance(inner, UnitsIn) else Apply("not", (inner,))


@reads(exp.Neg)
def _negative(node: exp.Neg) -> Term:
    only(node, "this")
    inner = term(node.this)
    if isinstance(inner, Constant) and isinstance(inner.value, int | Fraction) and not isinstance(inner.value, bool):
        return Constant(-inner.value)
    return Apply("negate", (inner,))


@reads(exp.Is)
def _is(node: exp.Is) -> Term:
    only(node, "this", "expression", "negate")
    subject, state = operand(node, node.this), node.expression
    if type(state) is exp.Null:
        found: Term = Apply("is_null", (subject,))
    elif type(state) is exp.Boolean:
        found = sql_names.is_true(subject if state.this else Apply("not", (subject,)))
    else:
        raise refusal(node, rule="IS goes with NULL, TRUE or FALSE", instead="Write x = value.")
    return negated(found) if node.args.get("negate") else found


@reads(exp.Between)
def _between(node: exp.Between) -> Term:
    only(node, "this", "low", "high")
    return Apply("between", (operand(node, node.this), term(node.args["low"]), term(node.args["high"])))


@reads(exp.Like)
def _like(node: exp.Like) -> Term:
    only(node, "this", "expression", "negate")
    found = Apply("like", (operand(node, node.this), term(node.expression)))
    return negated(found) if node.args.get("negate") else found


@reads(exp.Case)
def _case(node: exp.Case) -> Term:
    only(node, "this", "ifs", "default")
    subject = term(node.this) if node.this else None
    arguments: list[Term] = []
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        condition = term(branch.this)
        arguments.append(condition if subject is None else Apply("equal", (subject, condition)))
        arguments.append(term(branch.args["true"]))
    default = node.args.get("default")
    return Apply("case", (*arguments, term(default) if default else Constant(None)))


@reads(exp.If)
def _if(node: exp.If) -> Term:
    only(node, "this", "true", "false")
    parts = [node.args.get(key) for key in ("this", "true", "false")]
    if not all(parts):
        raise refusal(node, rule="IF takes a condition and two values", instead="Write IF(condition, value, other).")
    return Apply("case", tuple(term(part) for part in parts if part))


@reads(exp.Extract)
def _extract(node: exp.Extract) -> Term:
    only(node, "this", "expression")
    return sql_names.part(written(node), Constant(node.this.name), term(node.expression))


@reads(exp.Substring)
def _substring(node: exp.Substring) -> Term:
    only(node, "this", "start", "length")
    parts = [node.args.get(key) for key in ("this", "start", "length")]
    return sql_names.call("substring", [term(part) for part in parts if part], clause=written(node))


@reads(exp.Trim)
def _trim(node: exp.Trim) -> Term:
    if node.args.get("expression") or node.args.get("position"):
        raise refusal(node, rule="TRIM takes blanks from both ends", instead="Write TRIM(x), or use REPLACE.")
    only(node, "this")
    return Apply("trim", (term(node.this),))


_CASTS = {
    "INT": "to_int", "BIGINT": "to_int", "TEXT": "to_text", "VARCHAR": "to_text", "DATE": "to_date",
    "TIMESTAMP": "to_timestamp", "BOOLEAN": "to_bool",
}  # fmt: skip


@reads(exp.Cast, exp.TryCast)
def _cast(node: exp.Cast) -> Term:
    # Every cast here is total, so CAST and TRY_CAST mean the same: what cannot be cast becomes NULL.
    only(node, "this", "to", "safe")
    kind = node.args["to"]
    only(kind, "this", "expressions", "nested")
    word, sizes = getattr(kind.this, "name", str(kind.this)), kind.expressions
    subject = term(node.this)
    if word == "DECIMAL" and len(sizes) == 2:
        return Apply("to_real", (subject, Constant(_step(node, sizes))))
    if word not in _CASTS or sizes:
        raise refusal(
            node, rule="this type is not known",
            instead="Use INTEGER, BIGINT, DECIMAL(p, s), TEXT, DATE, TIMESTAMP or BOOLEAN.",
        )  # fmt: skip
    return _typed(node, _CASTS[word], subject)


def _step(node: exp.Expr, sizes: list[exp.Expr]) -> Fraction:
    for size in sizes:
        only(size, "this")
    digits, places = (number(size.this) if type(size.this) is exp.Literal else -1 for size in sizes)
    if not (isinstance(digits, int) and isinstance(places, int) and 0 <= places <= digits <= 38 and digits):
        raise refusal(node, rule="DECIMAL has at most 38 digits", instead="Write DECIMAL(10, 2).")
    return Fraction(1, 10**places)


def _typed(node: exp.Expr, function: str, subject: Term) -> Term:
    """DATE '2024-01-31' and TIMESTAMP '...' are constants; other casts are computed."""
    text = subject.value if isinstance(subject, Constant) else None
    try:
        if function == "to_date" and isinstance(text, str):
            return Constant(as_date(text.strip()))
        if function == "to_timestamp" and isinstance(text, str):
            return Constant(as_moment(text.strip()))
    except InvalidParameter as error:
        raise refusal(node, rule=f"the {error.name} must be {error.allowed}", instead="Correct the value.") from None
    return Apply(function, (subject,))


def interval(node: exp.Interval) -> int:
    """A written interval, in whole days."""
    only(node, "this", "unit")
    unit, size = node.args.get("unit"), node.this
    days = {"DAY": 1, "DAYS": 1, "D": 1, "WEEK": 7, "WEEKS": 7}.get(unit.name.upper() if type(unit) is exp.Var else "")
    if days is None or type(size) is not exp.Literal or not re.fullmatch(r"-?\d{1,9}", size.this):
        raise refusal(node, rule="intervals are whole days or weeks", instead="Write INTERVAL 30 DAY.")
    return int(size.this) * days
