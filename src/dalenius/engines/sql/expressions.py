"""Expressions in DuckDB's SQL, with exactly the meaning of `query.evaluation`.

Guarantee: no row whose columns lie in their domains makes DuckDB raise, and no text of the analyst stands anywhere
but in a quoted literal. Integers are BIGINT where the domain fits, else HUGEINT; there is no DOUBLE.
What DuckDB does differently, and what is written instead, stands beside each spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dalenius.query.calendar import DATE_PATTERN, MOMENT_PATTERN
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.evaluation import BLANKS, CAPITALS, LONGEST_TEXT, SMALLS, WIDE
from dalenius.query.types import Bool, Domain, Ranged, Text

Spelling = Callable[[Call], str]


def spell(expression: Expression) -> str:
    """The SQL of an expression, over columns with the same names that hold codes."""
    if isinstance(expression, Column):
        return quote(expression.name)
    if isinstance(expression, Literal):
        return constant(expression)
    assert isinstance(expression, Call)
    return f"({SPELLINGS[expression.function](expression)})"


def quote(name: str) -> str:
    """A name of a column or table."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text; DuckDB knows no escapes inside single quotes but the doubled quote."""
    return "'" + text.replace("'", "''") + "'"


def constant(literal: Literal) -> str:
    value = literal.value
    if value is None:
        return f"CAST(NULL AS {type_of(literal.domain)})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return text_literal(value)
    return number(value)


def number(value: int) -> str:
    """An integer; brackets keep a minus sign from meeting another one, which would begin a comment."""
    return str(value) if value >= 0 else f"({value})"


def type_of(domain: Domain) -> str:
    """The type of a spelled call with this domain."""
    if isinstance(domain, Bool):
        return "BOOLEAN"
    if isinstance(domain, Ranged):
        return width(domain.lower, domain.upper)
    return "VARCHAR"


def width(*codes: int) -> str:
    """BIGINT if all codes fit. Not -2^63 itself: DuckDB raises when that is divided by -1."""
    return "BIGINT" if max(map(abs, codes)) < WIDE else "HUGEINT"


def operand(expression: Expression) -> str:
    """An argument for comparisons and text functions. ENUMs would compare by position, so texts become VARCHAR."""
    if isinstance(expression, Column) and isinstance(expression.domain, Text):
        return f"CAST({quote(expression.name)} AS VARCHAR)"
    return spell(expression)


def as_integer(expression: Expression, size: str) -> str:
    """An argument for arithmetic in the given width. A column may be stored in any integer type, and DuckDB would
    compute with constants in the narrowest."""
    if isinstance(expression, Call) and type_of(expression.domain) == size:
        return spell(expression)
    return f"{'CAST' if size == 'HUGEINT' else 'TRY_CAST'}({spell(expression)} AS {size})"


def resized(sql: str, size: str, call: Call) -> str:
    """A result that was computed in `size`, in the type of the call."""
    wanted = type_of(call.domain)
    return sql if wanted == size else f"TRY_CAST({sql} AS {wanted})"


def ends(expression: Expression) -> tuple[int, int]:
    assert isinstance(expression.domain, Ranged)
    return expression.domain.lower, expression.domain.upper


def parameter(expression: Expression) -> int:
    """A constant that `functions` put into the call."""
    assert isinstance(expression, Literal)
    assert isinstance(expression.value, int)
    return expression.value


def infix(symbol: str) -> Spelling:
    """Arithmetic whose result is checked to fit beforehand."""

    def spelled(call: Call) -> str:
        size = width(*ends(call), *(code for argument in call.arguments for code in ends(argument)))
        return resized(f" {symbol} ".join(as_integer(argument, size) for argument in call.arguments), size, call)

    return spelled


def scale(call: Call) -> str:
    x, factor = call.arguments
    size = width(*ends(call), *ends(x), parameter(factor))
    if parameter(factor) == 1 or is_zero(x):
        return as_integer(x, type_of(call.domain))
    return resized(f"{as_integer(x, size)} * {number(parameter(factor))}", size, call)


def multiplied(call: Call) -> str:
    for x, factor in (call.arguments, call.arguments[::-1]):
        if is_zero(x) and isinstance(factor, Literal) and factor.value is not None:
            return as_integer(x, type_of(call.domain))
    return infix("*")(call)


def is_zero(expression: Expression) -> bool:
    """Whether it is 0 or NULL. Zero is not multiplied by constants: DuckDB multiplies the constants of nested products
    beforehand, which fits whenever a product other than 0 fits, and may fail at plan time otherwise."""
    return ends(expression) == (0, 0)


def prefix(form: str) -> Spelling:
    """A function of one integer."""

    def spelled(call: Call) -> str:
        size = width(*ends(call), *ends(call.arguments[0]))
        return resized(form.format(as_integer(call.arguments[0], size)), size, call)

    return spelled


def floored(sql: str, low: int, high: int, over: int) -> str:
    """sql / over, rounded down, for low <= sql <= high. DuckDB's // rounds towards zero, so negative numbers are moved
    up by a multiple of `over` first."""
    bins = min(low // over, 0)
    return f"({sql} - {number(bins * over)}) // {over} + {number(bins)}" if bins else f"{sql} // {over}"


def times(expression: Expression, factor: int, size: str) -> str:
    sql = as_integer(expression, size)
    return sql if factor == 1 or is_zero(expression) else f"({sql} * {number(factor)})"


def regridded(name: str) -> Spelling:
    """floor, ceil or round of x * times / over."""

    def spelled(call: Call) -> str:
        x, by, over = call.arguments[0], parameter(call.arguments[1]), parameter(call.arguments[2])
        low, high = (code * by for code in ends(x))
        if name == "round":
            return _rounded(call, x, by, over)
        up = over - 1 if name == "ceil" else 0
        size = width(*ends(call), *ends(x), low, high + up - min(low // over, 0) * over, over)
        sql = times(x, by, size)
        return resized(floored(f"({sql} + {up})" if up else sql, low + up, high + up, over), size, call)

    return spelled


def _rounded(call: Call, x: Expression, by: int, over: int) -> str:
    """(2 * x * times ± over) // (2 * over): // rounds towards zero, which is what half away from zero needs."""
    low, high = ends(x)
    size = width(*ends(call), low, high, 2 * by * low - over, 2 * by * high + over, 2 * over)
    half = number(over) if low >= 0 else f"CAST(sign({as_integer(x, size)}) AS {size}) * {over}"
    return resized(f"({times(x, 2 * by, size)} + {half}) // {2 * over}", size, call)


def divide(call: Call) -> str:
    x, y, by, over = call.arguments
    return _quotient(call, x, y, parameter(by), parameter(over))


def floor_divide(call: Call) -> str:
    x, y = call.arguments
    return _quotient(call, x, y, 1, 1)


def _quotient(call: Call, x: Expression, y: Expression, by: int, over: int) -> str:
    """floor(x * by / (y * over)), NULL where y is 0. DuckDB's // rounds towards zero and raises for 0."""
    (low, high), (least, most) = (tuple(code * by for code in ends(x)), tuple(code * over for code in ends(y)))
    size = width(*ends(call), *ends(x), *ends(y), 2 * low, 2 * high, 2 * least, 2 * most)
    if isinstance(y, Literal) and y.value:
        turn = 1 if least > 0 else -1
        first, last = sorted((low * turn, high * turn))
        size = width(*ends(call), *ends(x), low, high, last - min(first // abs(least), 0) * abs(least), least)
        return resized(floored(times(x, by * turn, size), first, last, abs(least)), size, call)
    a, b = times(x, by, size), times(y, over, size)
    down = f"{a} // NULLIF({b}, 0)"
    if low < 0 or least < 0:
        down += f" - CASE WHEN {a} % NULLIF({b}, 0) <> 0 AND ({a} < 0) <> ({b} < 0) THEN 1 ELSE 0 END"
    return resized(down, size, call)


def modulo(call: Call) -> str:
    """x - y * floor(x / y), NULL where y is 0. DuckDB's % has the sign of x and raises for 0."""
    x, y = call.arguments
    (low, high), (least, most) = ends(x), ends(y)
    size = width(*ends(call), low, high, 2 * least, 2 * most)
    a, b = as_integer(x, size), as_integer(y, size)
    divisor = b if isinstance(y, Literal) and y.value else f"NULLIF({b}, 0)"
    rest = f"{a} % {divisor}"
    return resized(rest if low >= 0 and least >= 0 else f"({rest} + {b}) % {divisor}", size, call)


def extreme(name: str) -> Spelling:
    """DuckDB's LEAST and GREATEST skip NULL; here NULL stays NULL."""

    def spelled(call: Call) -> str:
        ranged = isinstance(call.domain, Ranged)
        size = width(*(code for argument in call.arguments for code in ends(argument))) if ranged else ""
        values = [as_integer(argument, size) if ranged else operand(argument) for argument in call.arguments]
        missing = " OR ".join(f"{value} IS NULL" for value in values)
        found = f"CASE WHEN {missing} THEN NULL ELSE {name}({', '.join(values)}) END"
        return resized(found, size, call) if ranged else found

    return spelled


def typed(expression: Expression, domain: Domain) -> str:
    """An argument in the type of the result."""
    return as_integer(expression, type_of(domain)) if isinstance(domain, Ranged) else operand(expression)


def clamp(call: Call) -> str:
    """Not LEAST and GREATEST: these skip NULL, so a missing value would become a bound."""
    x, low, high = call.arguments
    size = width(*ends(call), *ends(x), parameter(low), parameter(high))
    sql = as_integer(x, size)
    least, most = (f"CAST({spell(bound)} AS {size})" for bound in (low, high))
    clamped = f"CASE WHEN {sql} < {least} THEN {least} WHEN {sql} > {most} THEN {most} ELSE {sql} END"
    return resized(clamped, size, call)


def between_operands(symbol: str) -> Spelling:
    """Comparisons and logic, which have SQL's three values in DuckDB too."""
    return lambda call: f" {symbol} ".join(operand(argument) for argument in call.arguments)


def coalesce(call: Call) -> str:
    return f"COALESCE({', '.join(typed(argument, call.domain) for argument in call.arguments)})"


def null_if(call: Call) -> str:
    x, y = (operand(argument) for argument in call.arguments)
    return f"CASE WHEN {x} = {y} THEN NULL ELSE {typed(call.arguments[0], call.domain)} END"


def case(call: Call) -> str:
    *pairs, otherwise = call.arguments
    whens = [
        f"WHEN {spell(condition)} THEN {typed(value, call.domain)}"
        for condition, value in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    return f"CASE {' '.join(whens)} ELSE {typed(otherwise, call.domain)} END"


def member(call: Call) -> str:
    x, *values = (operand(argument) for argument in call.arguments)
    return f"{x} IN ({', '.join(values)})"


def between(call: Call) -> str:
    x, low, high = (operand(argument) for argument in call.arguments)
    return f"{x} BETWEEN {low} AND {high}"


def like(call: Call) -> str:
    """% and _ stand for code points in DuckDB too, and without ESCAPE a backslash is itself. A pattern with both % and
    _ is matched by RE2, whose time is linear; DuckDB's own matcher would try all ways."""
    x, pattern = call.arguments
    wanted = pattern.value if isinstance(pattern, Literal) else None
    if not isinstance(wanted, str) or not {"%", "_"} <= set(wanted):
        return f"{operand(x)} LIKE {operand(pattern)}"
    parts = {"%": ".*", "_": "."}
    expression = "".join(parts.get(character) or _escaped(character) for character in wanted)
    return f"regexp_full_match({operand(x)}, {text_literal('(?s)' + expression)})"


def _escaped(character: str) -> str:
    return character if character.isalnum() or not character.isascii() else f"\\x{ord(character):02x}"


def function(name: str, *constants: str) -> Spelling:
    """A function that means the same in DuckDB, with constants of ours as its last arguments."""
    return lambda call: f"{name}({', '.join([*map(operand, call.arguments), *constants])})"


def concat(call: Call) -> str:
    """NULL above the longest text, before anything is put together: memory must not depend on rows."""
    values = [operand(argument) for argument in call.arguments]
    total = " + ".join(f"length({value})" for value in values)
    return f"CASE WHEN {total} <= {LONGEST_TEXT} THEN {' || '.join(values)} END"


def replaced(call: Call) -> str:
    """NULL above the longest text, which is found by counting what would be replaced."""
    x, old, new = (operand(argument) for argument in call.arguments)
    taken = f"(length({x}) - length(replace({x}, {old}, '')))"
    longer = f"{taken} // greatest(length({old}), 1) * (length({new}) - length({old}))"
    return f"CASE WHEN {taken} = 0 OR length({x}) + {longer} <= {LONGEST_TEXT} THEN replace({x}, {old}, {new}) END"


def date_of(expression: Expression) -> str:
    return f"(DATE '1970-01-01' + TRY_CAST({spell(expression)} AS INTEGER))"


def part_of_day(name: str) -> Spelling:
    return lambda call: f"{name}({date_of(call.arguments[0])})"


def first_of_months(call: Call) -> str:
    unit = {1: "month", 3: "quarter", 12: "year"}[parameter(call.arguments[1])]
    return f"CAST(date_trunc('{unit}', {date_of(call.arguments[0])}) AS DATE) - DATE '1970-01-01'"


def to_int(call: Call) -> str:
    """DuckDB would also read blanks, underscores, points and exponents, so only digits are let through."""
    x = call.arguments[0]
    if isinstance(x.domain, Bool):
        return f"CAST({spell(x)} AS BIGINT)"
    return resized(f"TRY_CAST(regexp_extract({operand(x)}, '^[+-]?[0-9]+$') AS BIGINT)", "BIGINT", call)


def read_decimal(call: Call) -> str:
    """A plain decimal, cut off at `places` digits, as an integer: DECIMAL with that many places, without its point."""
    x, places, most = call.arguments[0], parameter(call.arguments[1]), parameter(call.arguments[2])
    plain = f"^([+-]?(?:[0-9]+|[0-9]*\\.[0-9]{{1,{places}}}))[0-9]*$"
    exact = f"TRY_CAST(regexp_extract({operand(x)}, '{plain}', 1) AS DECIMAL(38, {places}))"
    units = f"TRY_CAST(replace(CAST({exact} AS VARCHAR), '.', '') AS HUGEINT)"
    return resized(f"CASE WHEN {units} BETWEEN {-most} AND {most} THEN {units} END", "HUGEINT", call)


def to_bool(call: Call) -> str:
    lowered = f"translate({operand(call.arguments[0])}, '{CAPITALS}', '{SMALLS}')"
    return f"CASE {lowered} {_answers('TRUE', 'true', 't', '1')} {_answers('FALSE', 'false', 'f', '0')} END"


def _answers(value: str, *words: str) -> str:
    return " ".join(f"WHEN '{word}' THEN {value}" for word in words)


def to_date(call: Call) -> str:
    """DuckDB would also read other forms and the year 0."""
    day = f"TRY_CAST(regexp_extract({operand(call.arguments[0])}, '^{DATE_PATTERN}$') AS DATE)"
    return resized(f"({day} - DATE '1970-01-01')", "BIGINT", call)


def to_timestamp(call: Call) -> str:
    found = f"regexp_extract({operand(call.arguments[0])}, '^{MOMENT_PATTERN}$')"
    return resized(f"epoch_us(TRY_CAST({found} AS TIMESTAMP))", "BIGINT", call)


def moment_text(call: Call) -> str:
    moment = f"make_timestamp({as_integer(call.arguments[0], 'BIGINT')})"
    return f"regexp_replace(strftime({moment}, '%Y-%m-%d %H:%M:%S.%f'), '\\.000000$', '')"


SPELLINGS: Mapping[str, Spelling] = {
    "scale": scale,
    "add": infix("+"),
    "subtract": infix("-"),
    "multiply": multiplied,
    "divide": divide,
    "floor_divide": floor_divide,
    "modulo": modulo,
    "negate": prefix("-({})"),
    "abs": prefix("abs({})"),
    "sign": lambda call: f"CAST(sign({spell(call.arguments[0])}) AS BIGINT)",
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
    "not": lambda call: f"NOT {spell(call.arguments[0])}",
    "is_null": lambda call: f"{spell(call.arguments[0])} IS NULL",
    "coalesce": coalesce,
    "null_if": null_if,
    "case": case,
    "in": member,
    "between": between,
    "like": like,
    "concat": concat,
    # Not DuckDB's lower and upper, which change letters beyond ASCII.
    "lower": function("translate", f"'{CAPITALS}'", f"'{SMALLS}'"),
    "upper": function("translate", f"'{SMALLS}'", f"'{CAPITALS}'"),
    "trim": function("trim", text_literal(BLANKS)),
    "length": function("length"),
    "substring": function("substring"),
    "replace": replaced,
    "starts_with": function("starts_with"),
    "ends_with": function("suffix"),
    "contains": function("contains"),
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
    "to_text": lambda call: f"CAST({spell(call.arguments[0])} AS VARCHAR)",
    "date_text": lambda call: f"CAST({date_of(call.arguments[0])} AS VARCHAR)",
    "moment_text": moment_text,
}
