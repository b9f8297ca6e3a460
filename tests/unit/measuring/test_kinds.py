"""What kind of value a column holds follows from the question alone."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import pytest

from dalenius.measuring.postprocess import COUNT, DATE, MOMENT, REAL, RULES, SPAN, TEXT, TRUTH, Kind, of_domain, of_term
from dalenius.query.functions.functions import FUNCTIONS
from dalenius.query.questions import Compute, Given, KeyOf, Post, ValueOf
from dalenius.query.types import Bool, Date, Int, Real, Text, Timestamp

N, SUM, MEAN = ValueOf(0), ValueOf(1), ValueOf(2)
CENTS = Kind("exact", Fraction(1, 100), Fraction(5000 * 2**30))
STATISTICS = [COUNT, CENTS, REAL]


def apply(function: str, *arguments: Any) -> Compute:
    return Compute(
        function, tuple(each if isinstance(each, ValueOf | KeyOf | Compute) else Given(each) for each in arguments)
    )


def test_every_function_on_released_values_has_a_kind() -> None:
    assert set(RULES) == set(FUNCTIONS)


@pytest.mark.parametrize(
    ("post", "name", "unit"),
    [
        (apply("add", N, SUM), "exact", Fraction(1, 100)),
        (apply("multiply", SUM, Fraction(1, 4)), "exact", Fraction(1, 400)),
        (apply("multiply", SUM, MEAN), "real", None),
        (apply("divide", SUM, N), "real", None),
        (apply("floor_divide", SUM, N), "exact", Fraction(1)),
        (apply("round", SUM, 1), "exact", Fraction(1, 10)),
        (apply("round", MEAN, 1), "real", None),
        (apply("coalesce", N, None, Fraction(1, 2)), "exact", Fraction(1, 2)),
        (apply("case", apply("less", N, 5), "few", "many"), "text", None),
        (apply("case", apply("less", N, 5), N), "exact", Fraction(1)),
        (apply("greater", N, 5), "truth", None),
        (apply("bin", N, 10), "exact", Fraction(10)),
        (apply("to_real", MEAN, Fraction(1, 2)), "exact", Fraction(1, 2)),
        (apply("add", KeyOf(0), N), "date", None),
        (apply("subtract", KeyOf(0), dt.date(2024, 1, 1)), "exact", Fraction(1)),
        (apply("date_trunc", "month", KeyOf(0)), "date", None),
    ],
)
def test_arithmetic_knows_its_kind_and_grid(post: Post, name: str, unit: Fraction | None) -> None:
    found = of_term(post, [DATE], STATISTICS)
    assert found.name == name
    assert unit is None or found.unit == unit


def test_columns_have_the_kind_of_their_domain_and_bars_that_of_a_distance() -> None:
    assert of_domain(Int(-7, 5)) == Kind("exact", Fraction(1), Fraction(7))
    assert of_domain(Real(0, 5, step="0.5")) == Kind("exact", Fraction(1, 2), Fraction(5))
    domains = [Date("2024-01-01", "2024-12-31"), Timestamp("2024-01-01", "2024-12-31"), Bool(), Text()]
    assert [of_domain(domain) for domain in domains] == [DATE, MOMENT, TRUTH, TEXT]
    assert [kind.bar for kind in (DATE, MOMENT, TRUTH, TEXT, CENTS, REAL)] == [SPAN, SPAN, REAL, REAL, CENTS, REAL]
