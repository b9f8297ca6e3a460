"""The list of functions: each cell of its table, the domains that follow, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from dalenius.engines.conformance.cases import random_expressions, tried
from dalenius.engines.conformance.edges import COLUMNS, WIDEST, column, edge_rows, holds
from dalenius.errors import InvalidParameter, QueryRefused, UnknownName
from dalenius.query.calendar import DAY, FIRST_DAY, LAST_DAY, Grain, first_of_months
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.evaluation import LENIENT, LONGEST_TEXT, MEANINGS, STRICT, apply, evaluate, like
from dalenius.query.functions.functions import FUNCTIONS, call, literal, written
from dalenius.query.functions.signatures import REFUSED
from dalenius.query.types import (
    Bool,
    Category,
    Choice,
    Date,
    Days,
    Domain,
    Identifier,
    Int,
    Moments,
    Number,
    Real,
    Text,
    Timestamp,
)

NAMES = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "modulo",
    "negate",
    "abs",
    "sign",
    "least",
    "greatest",
    "floor",
    "ceil",
    "round",
    "clamp",
    "bin",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "and",
    "or",
    "not",
    "is_null",
    "coalesce",
    "null_if",
    "case",
    "in",
    "between",
    "like",
    "concat",
    "lower",
    "upper",
    "trim",
    "length",
    "substring",
    "replace",
    "starts_with",
    "ends_with",
    "contains",
    "year",
    "quarter",
    "month",
    "day",
    "weekday",
    "day_of_year",
    "hour",
    "minute",
    "second",
    "date_trunc",
    "add_days",
    "days_between",
    "to_int",
    "to_real",
    "to_text",
    "to_bool",
    "to_date",
    "to_timestamp",
]
AGE = Column(Int(0, 120), "v.age")
COST = Column(Real(0, 5000, step="0.01", nullable=True), "v.cost")
CITY = Column(Category("Oslo", "Bergen", nullable=False), "v.city")
ICD = Column(Text(False), "v.icd")
DAY_OF_VISIT = Column(Date("2024-01-01", "2026-12-31"), "v.day")
TIME = Column(Timestamp("2024-01-01", "2024-12-31 23:59:59"), "v.time")
UNIT = Column(Identifier(False, "patients"), "v.patient")


def value(name: str, *arguments: Any) -> Any:
    """What the function gives for constants."""
    try:
        found = call(name, *map(literal, arguments))
    except QueryRefused:
        return REFUSED
    assert isinstance(found, Literal)
    assert holds(found.domain, found.value)
    return found.domain.decode(found.value)


def test_all_names_are_there() -> None:
    assert sorted(FUNCTIONS) == sorted(NAMES)


@pytest.mark.parametrize("cell", ["meaning", "null", "overflow", "outside"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_table_tells_the_truth(name: str, cell: str) -> None:
    stated = getattr(FUNCTIONS[name], cell)
    if stated.arguments is not None:
        assert value(name, *stated.arguments) == stated.result
    assert cell not in ("meaning", "null") or stated.arguments is not None


WIDEST_ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    **{name: [("n.huge",)] for name in ("negate", "abs", "sign", "is_null")},
    "clamp": [("n.huge", 0, 1)],
    **{name: [("b.flag", "b.sure")] for name in ("and", "or")},
    "not": [("b.flag",)],
    **{name: [("t.any",)] for name in ("lower", "upper", "trim", "length")},
    **{name: [("t.any", "t.any")] for name in ("starts_with", "ends_with", "contains")},
    "like": [("t.any", "%")],
    "substring": [("t.any", 1, 2**31 - 1)],
    **{name: [("d.any",), ("m.any",)] for name in ("year", "quarter", "month", "day", "weekday", "day_of_year")},
    **{name: [("m.any",)] for name in ("hour", "minute", "second")},
    "date_trunc": [("year", "m.any"), ("week", "d.any")],
    "days_between": [("d.any", "m.any")],
    "to_text": [("n.huge",), ("m.any",)],
    "to_bool": [("n.huge",), ("t.any",)],
}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if FUNCTIONS[name].overflow.text == "cannot happen"])
def test_where_overflow_cannot_happen_the_widest_arguments_are_taken(name: str) -> None:
    for arguments in WIDEST_ARGUMENTS[name]:
        given = [column(each) if each in COLUMNS else literal(each) for each in arguments]
        assert isinstance(call(name, *given), Call)


def test_a_constant_factor_changes_the_step_and_cannot_overflow() -> None:
    wide = call("multiply", column("n.huge"), literal(1000))
    assert wide.domain == Number(True, 1 - WIDEST, WIDEST - 1, Fraction(1000))
    assert tried("multiply", column("n.huge"), column("n.small")) is None


def test_strict_and_lenient_functions_are_all_meanings() -> None:
    assert set(STRICT) & set(LENIENT) == set()
    assert set(MEANINGS) == set(STRICT) | set(LENIENT)


@pytest.mark.parametrize(
    ("expression", "domain"),
    [
        (call("add", AGE, literal(1)), Number(False, 1, 121)),
        (call("add", AGE, COST), Number(True, 0, 512_000, Fraction(1, 100))),
        (call("subtract", AGE, literal(Fraction(1, 2))), Number(False, -1, 239, Fraction(1, 2))),
        (call("multiply", AGE, literal(Fraction(1, 2))), Number(False, 0, 120, Fraction(1, 2))),
        (
            call("multiply", call("subtract", AGE, literal(60)), call("subtract", AGE, literal(60))),
            Number(False, 0, 3600),
        ),
        (call("divide", COST, AGE), Number(True, 0, 5_000_000_000_000, Fraction(1, 10**9))),
        (call("modulo", AGE, literal(10)), Number(False, 0, 9)),
        (call("modulo", call("clamp", AGE, literal(63), literal(66)), literal(10)), Number(False, 3, 6)),
        (call("floor", COST), Number(True, 0, 5000)),
        (call("round", COST, literal(-2)), Number(True, 0, 50, Fraction(100))),
        (call("bin", AGE, literal(10)), Number(False, 0, 12, Fraction(10))),
        (call("clamp", COST, literal(10), literal(20)), Number(True, 1000, 2000, Fraction(1, 100))),
        (call("least", AGE, literal(18)), Number(False, 0, 18)),
        (
            call("case", call("less", AGE, literal(18)), literal("child"), literal("adult")),
            Choice(False, ("adult", "child")),
        ),
        (call("case", call("less", AGE, literal(18)), AGE), Number(True, 0, 120)),
        (call("coalesce", COST, literal(0)), Number(False, 0, 500_000, Fraction(1, 100))),
        (call("upper", CITY), Choice(False, ("BERGEN", "OSLO"))),
        (
            call("concat", CITY, literal("/"), CITY),
            Choice(False, ("Bergen/Bergen", "Bergen/Oslo", "Oslo/Bergen", "Oslo/Oslo")),
        ),
        (call("substring", CITY, literal(1), literal(1)), Choice(False, ("B", "O"))),
        (call("length", CITY), Number(False, 4, 6)),
        (call("lower", ICD), Text(False)),
        (call("to_text", call("clamp", AGE, literal(1), literal(2))), Choice(False, ("1", "2"))),
        (call("to_int", CITY), Number(True, -(2**63), 2**63 - 1)),
        (call("to_int", Column(Category("1", "20", "x", nullable=False), "c")), Number(True, 1, 20)),
        (call("year", DAY_OF_VISIT), Number(False, 2024, 2026)),
        (call("month", DAY_OF_VISIT), Number(False, 1, 12)),
        (call("weekday", DAY_OF_VISIT), Number(False, 1, 7)),
        (call("hour", TIME), Number(False, 0, 23)),
        (call("is_null", COST), Bool(False)),
        (call("less", COST, AGE), Bool(True)),
        (call("null_if", AGE, literal(0)), Number(True, 0, 120)),
    ],
)
def test_the_domain_follows_exactly(expression: Expression, domain: Domain) -> None:
    assert expression.domain == domain


def test_values_stay_in_their_domains() -> None:
    rows = edge_rows(7, 30)
    for expression in random_expressions(400, seed=7, heaviest=20):
        assert all(holds(expression.domain, evaluate(expression, row)) for row in rows)


def test_months_as_keys_are_the_first_days_of_months_only() -> None:
    domain = call("date_trunc", literal("month"), DAY_OF_VISIT).domain
    assert domain.size == 36
    assert [domain.decode(code) for code in domain.codes()[:2]] == [dt.date(2024, 1, 1), dt.date(2024, 2, 1)]
    hours = call("date_trunc", literal("hour"), TIME).domain
    assert hours.size == 366 * 24
    quarters = call("date_trunc", literal("quarter"), TIME).domain
    assert [quarters.decode(code).month for code in quarters.codes()] == [1, 4, 7, 10]


@pytest.mark.parametrize("grain", [Grain(), Grain(7, 4), Grain(months=1), Grain(months=3), Grain(months=12)])
def test_a_grain_lists_what_flooring_gives(grain: Grain) -> None:
    for low, high in [(FIRST_DAY, FIRST_DAY + 800), (-400, 500), (LAST_DAY - 800, LAST_DAY), (19_000, 19_000)]:
        listed = grain.codes(low, high)
        assert listed == [code for code in range(low, high + 1) if grain.floor(code) == code]
        assert grain.count(low, high) == len(listed)


def test_a_year_begins_on_its_first_day() -> None:
    assert first_of_months(FIRST_DAY + 200, 12) == FIRST_DAY


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("add", (AGE, CITY), "one of Oslo, Bergen"),
        ("equal", (AGE, CITY), "numbers from 0 to 120 and one of Oslo, Bergen do not fit together"),
        ("add", (column("n.huge"), AGE), "overflow does not compile"),
        ("multiply", (column("n.huge"), AGE), "clamp("),
        ("divide", (column("n.huge"), AGE), "2^126"),
        ("equal", (UNIT, AGE), "nothing may be computed from the unit of patients"),
        ("is_null", (UNIT,), "nothing may be computed from the unit of patients"),
        ("to_text", (UNIT,), "nothing may be computed from the unit of patients"),
        ("coalesce", (UNIT, UNIT), "nothing may be computed from the unit of patients"),
        ("case", (Column(Bool(), "b"), UNIT, UNIT), "nothing may be computed from the unit of patients"),
        ("add", (AGE,), "it takes 2 arguments: two numbers"),
        ("round", (AGE, AGE, AGE), "it takes 1 to 2 arguments"),
        ("in", (AGE,), "it takes at least 2 arguments"),
        ("clamp", (AGE, AGE, literal(3)), "must be a constant"),
        ("bin", (AGE, COST), "must be a constant"),
        ("bin", (AGE, literal(None)), "must be a constant"),
        ("like", (CITY, ICD), "must be a constant"),
        ("like", (ICD, literal("_%" * 50 + "_")), "at most 100 characters"),
        ("date_trunc", (CITY, DAY_OF_VISIT), "must be a constant"),
        ("date_trunc", (literal("century"), DAY_OF_VISIT), "year"),
        ("less", (DAY_OF_VISIT, literal("yesterday")), "do not fit together"),
        ("less", (DAY_OF_VISIT, ICD), "do not fit together"),
        ("and", (AGE, AGE), "true or false"),
        ("to_text", (COST,), "whole numbers"),
        ("to_real", (ICD, literal(Fraction(1, 3))), "decimal step"),
        ("to_real", (COST, literal(0)), "positive"),
        ("add_days", (DAY_OF_VISIT, COST), "whole numbers"),
        ("year", (Column(Days(False, FIRST_DAY - 1, 0), "d"),), "between 0001-01-01 and 9999-12-31"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, arguments: tuple[Expression, ...], words: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        call(name, *arguments)
    assert words in str(refused.value)
    assert "nothing was read or spent" in str(refused.value)
    assert refused.value.clause.startswith(f"{name}(")


@pytest.mark.parametrize("name", ["exp", "random", "read_csv", "scale", "first_of_months", "ADD", ""])
def test_what_is_not_on_the_list_is_refused(name: str) -> None:
    with pytest.raises(UnknownName):
        call(name, AGE)


def test_nesting_is_limited() -> None:
    sums: Expression = AGE
    for _ in range(100):
        sums = call("add", sums, literal(1))
    with pytest.raises(QueryRefused, match="deeply nested"):
        call("add", sums, literal(1))
    rests: Expression = COST
    for _ in range(3):
        rests = call("modulo", AGE, rests)
    with pytest.raises(QueryRefused, match="deeply nested"):
        call("modulo", AGE, rests)


def test_texts_cannot_grow_without_end() -> None:
    text: Expression = ICD
    public: Expression = CITY
    for _ in range(2):
        text, public = call("concat", *[text] * 10), call("concat", *[public] * 10)
    assert evaluate(text, {"v.icd": "a" * 2}) == "a" * LONGEST_TEXT
    assert evaluate(text, {"v.icd": "a" * 3}) is None
    assert public.domain == Text(True)


def test_many_combinations_are_not_listed() -> None:
    letters = Column(Category(*(f"{n:03}" for n in range(101)), nullable=False), "c")
    assert call("concat", letters, letters).domain == Text(True)
    assert call("concat", letters, CITY).domain.size == 202


@pytest.mark.parametrize(
    ("given", "domain", "code"),
    [
        (5, Number(False, 5, 5), 5),
        (Decimal("0.25"), Number(False, 1, 1, Fraction(1, 4)), 1),
        (0.1, Number(False, 1, 1, Fraction(1, 10)), 1),
        (Fraction(-2, 3), Number(False, -2, -2, Fraction(1, 3)), -2),
        (True, Bool(False), True),
        ("e\N{COMBINING ACUTE ACCENT}", Choice(False, ("é",)), "é"),
        (dt.date(1970, 1, 2), Days(False, 1, 1), 1),
        (dt.datetime(1970, 1, 2), Moments(False, DAY, DAY), DAY),
        (None, Choice(True, ()), None),
    ],
)
def test_a_literal_is_exact(given: Any, domain: Domain, code: Any) -> None:
    assert literal(given) == Literal(domain, code)


@pytest.mark.parametrize(
    "given",
    [2**126, Fraction(1, 2**126), float("nan"), "a\0b", "\ud800", object(), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
)
def test_what_is_no_constant_is_refused(given: Any) -> None:
    with pytest.raises(InvalidParameter):
        literal(given)


def test_a_bare_null_fits_every_kind() -> None:
    for each in (AGE, COST, CITY, ICD, DAY_OF_VISIT, TIME, Column(Bool(), "b")):
        assert call("coalesce", literal(None), each).domain.nullable == each.domain.nullable
        kept = call("case", Column(Bool(), "b"), each, literal(None)).domain
        assert kept == each.domain.or_null() or isinstance(kept, Choice)


def test_texts_that_name_a_day_fit_dates() -> None:
    day = call("greater_equal", DAY_OF_VISIT, literal("2024-02-29"))
    assert isinstance(day, Call)
    assert day.arguments[1] == literal(dt.date(2024, 2, 29))
    moment = call("greater_equal", DAY_OF_VISIT, literal("2024-02-29 12:00"))
    assert isinstance(moment, Call)
    assert moment.arguments[1] == literal(dt.datetime(2024, 2, 29, 12))


def test_a_pattern_takes_time_in_proportion() -> None:
    assert not like("a" * 10_000, "%a" * 20 + "%b")
    assert like("xaby", "%a_y")
    assert not like("", "_")
    assert like("", "%%")


def test_text_to_number_rounds_what_was_written_and_not_a_cut() -> None:
    assert value("to_real", "0.0049999999999999999999", 0.01) == Decimal("0")
    assert value("to_real", "0.005", 0.01) == Decimal("0.01")
    assert value("to_real", "-0.125", 0.25) == Decimal("-0.25")


def test_arithmetic_of_dates() -> None:
    assert value("subtract", dt.date(2024, 3, 1), dt.date(2024, 2, 28)) == 2
    assert value("add", dt.date(2024, 2, 28), 2) == dt.date(2024, 3, 1)
    assert value("subtract", dt.datetime(2024, 3, 1, 6), 1) == dt.datetime(2024, 2, 29, 6)
    assert value("bin", dt.date(2024, 2, 29), 7) == dt.date(2024, 2, 26)
    assert value("bin", dt.datetime(2024, 2, 29, 13), Fraction(1, 2)) == dt.datetime(2024, 2, 29, 12)


def test_an_expression_can_be_written_for_people() -> None:
    shown = written(
        call("and", call("equal", CITY, literal("Oslo")), call("less", DAY_OF_VISIT, literal("2024-02-29")))
    )
    assert shown == "and(equal(v.city, 'Oslo'), less(v.day, 2024-02-29))"


def test_the_reference_notices_a_missing_value_before_anything_else() -> None:
    for name in STRICT:
        assert apply(name, [None, None]) is None
