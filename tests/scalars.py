"""Scalar expressions for tests: columns with edge codes, random expressions, and a comparison of DuckDB with the
reference meaning."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa

from dalenius.engines.duckdb.expressions import quote, spell, text_literal, type_of
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.query.calendar import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, day_number
from dalenius.query.expressions import Call, Column, Expression
from dalenius.query.functions.evaluation import evaluate
from dalenius.query.functions.functions import FUNCTIONS, call, literal
from dalenius.query.types import Bool, Choice, Code, Dated, Days, Domain, Moments, Number, Ranged, Text

WIDE, WIDEST = 2**63, 2**126
TEXTS = [
    "", " ", "a", "A", "abc", "ABC ", "\tx\n", "it's", '"quoted"', "50%", "a_b", "a\\b", "%", "_", "é",
    "e\N{COMBINING ACUTE ACCENT}", "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}", "İ", "ı", "ß", "ſ", "Straße", "٣", "7",
    "-0", "+12", "-007", " 12", "12 ", "12\n", "1e5", "1_000", "0x10", "1.5", "-.5", "1.", ".", "+", "0.005", "-0.015",
    "0.0049999999999999999999", "99999999999999999999", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "0" * 60 + "5", "9" * 40, "9" * 5_000, "inf", "NaN", "true", "F", "T", "yes", "2024-02-29",
    "2023-02-29", "0001-01-01", "0000-12-31", "9999-12-31", "2024-2-9", "2024-02-29 12:30", "2024-02-29T23:59:59.5",
    "2024-02-29 23:59:60", "2024-02-29 24:00", "2024-02-29 12:30:00.1234567", "2024-02-29 12:30:00+01", "infinity",
    "epoch", "zażółć", "\N{NO-BREAK SPACE}x", "漢字", "a" * 9_999, "\x7f", "--", "/*", "';DROP", "$1", "?",
]  # fmt: skip
WORDS = ("Oslo", "Bergen", "Tromsø", "it's", "50%", "12", "2024-02-29", "", "true")
DAYS = [
    day_number(dt.date(*parts))
    for parts in (
        (1, 1, 1), (1, 12, 31), (4, 2, 29), (100, 3, 1), (1582, 10, 10), (1900, 2, 28), (1969, 12, 31), (1970, 1, 1),
        (2000, 2, 29), (2023, 12, 31), (2024, 1, 1), (2024, 2, 29), (2024, 3, 31), (2024, 12, 30), (9999, 12, 31),
    )
]  # fmt: skip
COLUMNS: dict[str, Domain] = {
    "n.small": Number(True, -3, 3),
    "n.age": Number(False, 0, 120),
    "n.long": Number(True, 1 - WIDE, WIDE - 1),
    "n.int": Number(True, -(2**31), 2**31 - 1),
    "n.huge": Number(True, 1 - WIDEST, WIDEST - 1),
    "n.cents": Number(True, -500_000, 500_000, Fraction(1, 100)),
    "n.thirds": Number(True, -7, 8, Fraction(1, 3)),
    "n.tens": Number(False, -5, 12, Fraction(10)),
    "n.below": Number(True, -9, -2),
    "d.any": Days(True, FIRST_DAY, LAST_DAY),
    "d.now": Days(False, day_number(dt.date(2019, 12, 31)), day_number(dt.date(2026, 1, 1))),
    "m.any": Moments(True, FIRST_MOMENT, LAST_MOMENT),
    "m.now": Moments(False, 1_700_000_000_000_000, 1_800_000_000_000_000),
    "b.flag": Bool(True),
    "b.sure": Bool(False),
    "t.any": Text(True),
    "t.word": Choice(True, WORDS),
    "t.other": Choice(False, WORDS),
    'odd "name".x': Number(False, 0, 9),
}
LITERALS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, -10, 100, WIDE - 1, WIDE, -WIDE, 2**100, Fraction(1, 2), Fraction(-1, 3),
    Fraction(1, 100), "", "a", "%", "it's", "12", "2024-02-29", "month", "Oslo", "a%", "_b_%", "%\\%", dt.date(1, 1, 1),
    dt.date(2024, 2, 29), dt.date(9999, 12, 31), dt.datetime(2024, 2, 29, 12), dt.datetime(1, 1, 1), "week", "hour",
]  # fmt: skip


def column(name: str) -> Column:
    return Column(COLUMNS[name], name)


def edge_codes(domain: Domain) -> list[Code]:
    """Codes where things go wrong, all of them in the domain."""
    null: list[Code] = [None] if domain.nullable else []
    if isinstance(domain, Bool):
        return [True, False, *null]
    if isinstance(domain, Text):
        return [*(domain.values if isinstance(domain, Choice) else TEXTS), *null]
    assert isinstance(domain, Ranged)
    if isinstance(domain, Days):
        near = DAYS
    elif isinstance(domain, Moments):
        near = [day * DAY + extra for day in DAYS for extra in (0, -1, 1, 45_296_789_000)]
    else:
        powers = [2**31, 2**62, WIDE - 1, WIDE, 2**64, 2**100, WIDEST // 4, WIDEST // 2]
        near = [0, 1, 2, 3, 5, 49, 50, 51, 99, 100, *powers]
        near = sorted({*near, *(-code for code in near)})
    ends = [domain.lower, domain.lower + 1, domain.upper - 1, domain.upper]
    found = {code for code in (*near, *ends) if domain.lower <= code <= domain.upper}
    return [*sorted(found), *null]


def holds(domain: Domain, code: Code) -> bool:
    """Whether a code lies in a domain."""
    if code is None:
        return domain.nullable
    if isinstance(domain, Bool):
        return isinstance(code, bool)
    if isinstance(domain, Text):
        return isinstance(code, str) and (not isinstance(domain, Choice) or code in domain.values)
    assert isinstance(domain, Ranged)
    right = isinstance(code, int) and not isinstance(code, bool) and domain.lower <= code <= domain.upper
    return right and (not isinstance(domain, Dated) or domain.grain.floor(int(code)) == code)


def edge_rows(seed: int, size: int = 90) -> list[dict[str, Code]]:
    """Rows in which every edge code of every column occurs, in random company."""
    generator = random.Random(seed)
    columns = {name: edge_codes(domain) for name, domain in COLUMNS.items()}
    for codes in columns.values():
        generator.shuffle(codes)
    return [{name: codes[place % len(codes)] for name, codes in columns.items()} for place in range(size)]


TYPES = {"n.int": "INTEGER", "n.age": "UTINYINT", "n.huge": "HUGEINT", "t.word": "words", "t.other": "words"}


def sql_type(name: str) -> str:
    family = {"n": "BIGINT", "d": "BIGINT", "m": "BIGINT", "b": "BOOLEAN", "t": "VARCHAR"}
    return TYPES.get(name, family.get(name.split(".")[0], "BIGINT"))


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that knows the categories as an ENUM, in an order that is not bytewise."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TYPE words AS ENUM ({', '.join(map(text_literal, WORDS))})")
    try:
        yield connection
    finally:
        connection.close()


def fill(connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Sequence[Code]]) -> None:
    """A table of codes in the types in which a snapshot might keep them."""
    places = range(len(next(iter(columns.values()))))
    arrays = {f"a{i}": _array(sql_type(name), codes) for i, (name, codes) in enumerate(columns.items())}
    connection.register("codes", pa.table({"place": list(places), **arrays}))
    casts = ", ".join(f"CAST(a{i} AS {sql_type(name)}) AS {quote(name)}" for i, name in enumerate(columns))
    connection.execute(f"CREATE TABLE {table} AS SELECT place, {casts} FROM codes")
    connection.unregister("codes")


def _array(sql: str, codes: Sequence[Code]) -> Any:
    wide = pa.decimal128(38, 0)
    kinds = {"BOOLEAN": pa.bool_(), "VARCHAR": pa.string(), "words": pa.string()}
    values = codes if sql in kinds else [None if code is None else Decimal(int(code)) for code in codes]
    return pa.array(values, kinds.get(sql, wide))


def disagreements(
    expressions: Sequence[Expression],
    rows: Sequence[Mapping[str, Code]],
    spelled: Callable[[Expression], str] = spell,
    batch: int = 20,
) -> list[str]:
    """Where DuckDB differs from the reference, or a value leaves its domain; each as a text. Errors are not caught."""
    found: list[str] = []
    with database() as connection:
        fill(connection, "edges", {name: [row[name] for row in rows] for name in rows[0]})
        for start in range(0, len(expressions), batch):
            part = expressions[start : start + batch]
            columns = ", ".join(spelled(expression) for expression in part)
            answer = connection.execute(f"SELECT {columns} FROM edges ORDER BY place")
            found += wrong_types(part, answer.description)
            for row, values in zip(rows, answer.fetchall(), strict=True):
                found += _differences(part, row, values)
    return found


def crossed(connection: duckdb.DuckDBPyConnection, expression: Expression) -> list[str]:
    """The same for one expression, on every combination of edge codes; table `<column>` has those of a column."""
    names = list(dict.fromkeys(expression.columns()))
    sources = ", ".join(f"(SELECT {quote(name)} FROM {quote('edges ' + name)})" for name in names)
    answer = connection.execute(f"SELECT {', '.join(map(quote, names))}, {spell(expression)} FROM {sources}")
    found = wrong_types([expression], answer.description[-1:])
    for *codes, value in answer.fetchall():
        found += _differences([expression], dict(zip(names, codes, strict=True)), [value])
    return found


def wrong_types(expressions: Sequence[Expression], description: Sequence[Any]) -> list[str]:
    """Calls whose values have another type than their domain says; columns keep the type in which they are stored."""
    pairs = [pair for pair in zip(expressions, description, strict=True) if isinstance(pair[0], Call)]
    return [f"{each}: type {entry[1]}" for each, entry in pairs if str(entry[1]) != type_of(each.domain)]


def _differences(part: Sequence[Expression], row: Mapping[str, Code], answer: Sequence[Any]) -> Iterator[str]:
    for expression, given in zip(part, answer, strict=True):
        expected = evaluate(expression, row)
        if given != expected or type(given) is not type(expected):
            yield f"{expression}: DuckDB {given!r}, meant {expected!r} at {row}"
        if not holds(expression.domain, expected):
            yield f"{expression}: {expected!r} is outside {expression.domain!r} at {row}"


def tried(name: str, *arguments: Expression) -> Expression | None:
    """The call, or None where it is refused."""
    try:
        return call(name, *arguments)
    except (QueryRefused, InvalidParameter):
        return None


_SHAPES = {
    "n": ["add", "subtract", "multiply", "divide", "floor_divide", "modulo", "negate", "abs", "sign", "floor", "ceil",
          "round", "clamp", "bin", "to_int", "to_real", "to_text", "to_bool", "add_days"],
    "t": ["like", "concat", "lower", "upper", "trim", "length", "substring", "replace", "starts_with", "ends_with",
          "contains", "to_int", "to_real", "to_bool", "to_date", "to_timestamp"],
    "d": ["year", "quarter", "month", "day", "weekday", "day_of_year", "hour", "minute", "second", "date_trunc",
          "add_days", "days_between", "to_text", "to_date", "to_timestamp", "bin", "clamp", "subtract"],
    "b": ["and", "or", "not", "to_int", "to_text"],
    "": ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "is_null", "coalesce", "null_if",
         "case", "in", "between", "least", "greatest"],
}  # fmt: skip


def kind_of(expression: Expression) -> str:
    domain = expression.domain
    if isinstance(domain, Dated):
        return "d"
    return "n" if isinstance(domain, Number) else "b" if isinstance(domain, Bool) else "t"


def random_expressions(count: int, seed: int, heaviest: int = 60) -> list[Expression]:
    """So many different calls, inside each other to any depth; all that are refused are left out."""
    generator = random.Random(seed)
    pools: dict[str, list[Expression]] = {kind: [] for kind in "ntdb"}
    for leaf in [*map(column, COLUMNS), *map(literal, LITERALS)]:
        pools[kind_of(leaf)].append(leaf)
    found: list[Expression] = []
    while len(found) < count:
        made = _random_call(generator, pools)
        if isinstance(made, Call) and made.weight <= heaviest:
            found.append(made)
            if generator.random() < 0.6:
                pools[kind_of(made)].append(made)
    return found


def _random_call(generator: random.Random, pools: Mapping[str, list[Expression]]) -> Expression | None:
    kind = generator.choice("nnntttddb")
    name = generator.choice(_SHAPES[kind] + _SHAPES[""])
    function = FUNCTIONS[name]
    most = function.most or function.least + 3
    arguments = [generator.choice(pools[kind]) for _ in range(generator.randint(function.least, most))]
    if name == "case":
        arguments[0] = generator.choice(pools["b"])
    for place in range(
        1 if name in ("round", "bin", "clamp", "substring", "like", "to_real", "add_days") else 9, len(arguments)
    ):
        arguments[place] = literal(generator.choice(LITERALS))
    if name == "date_trunc":
        arguments[0] = literal(
            generator.choice(["year", "quarter", "month", "week", "day", "hour", "minute", "second"])
        )
    return tried(name, *arguments)
