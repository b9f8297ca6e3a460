"""What is done with released values: arithmetic, HAVING, ORDER BY, LIMIT, and the bars of what comes out."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.measuring.estimates import Estimates, NoisyNumbers, estimate
from dalenius.measuring.postprocess import Shaped, shape
from dalenius.measuring.released import apply, plain, tidy
from dalenius.query.functions.functions import FUNCTIONS
from dalenius.query.functions.signatures import REFUSED
from dalenius.query.questions import Compute, Given, KeyOf, Output, Post, Statistic, ValueOf
from dalenius.query.types import Category, Domain, Int, Real, Text
from dalenius.randomness.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw

CITY, COST = Category("Oslo", "Bergen", "Tromsø"), Real(0, 100, step="0.01")
COUNT, TOTAL = DiscreteLaplaceLaw(Fraction(10)), DiscreteGaussianLaw(500**2)
LEVEL = Fraction(95, 100)
RISK = 1 - LEVEL


def counts(*values: int, law: Any = COUNT) -> Estimates:
    return estimate(Statistic("count"), [NoisyNumbers(np.array(values, dtype=np.int64), law)], [], level=LEVEL)


def sums(*values: int) -> Estimates:
    noisy = NoisyNumbers(np.array(values, dtype=np.int64), TOTAL)
    return estimate(Statistic("sum", ("x.0",)), [noisy], [COST], level=LEVEL)


def table(
    *estimates: Estimates | None, columns: Any = None, keys: Any = None, domains: Any = None, **given: Any
) -> Shaped:
    size = len(next(found.values for found in estimates if found is not None))
    codes = keys or [(code,) for code in CITY.codes()[:size]]
    chosen: tuple[Domain, ...] = domains or (CITY,)
    options = {name: given.pop(name) for name in ("nonnegative", "digits") if name in given}
    shown = columns or (("city", KeyOf(0)), ("n", ValueOf(0)))
    return shape(Output(shown, **given), codes, chosen, estimates, level=LEVEL, **options)


def one(post: Post, *estimates: Estimates | None, **given: Any) -> tuple[Any, Any]:
    """The first value of a term, and its bar."""
    found = table(*estimates, columns=(("y", post),), **given)
    return found.columns[0][0], found.errors[0] and found.errors[0][0]


def call(function: str, *arguments: Any) -> Compute:
    wrapped = [part if isinstance(part, KeyOf | ValueOf | Given | Compute) else Given(part) for part in arguments]
    return Compute(function, tuple(wrapped))


# ---- rows


def test_keys_are_read_and_have_no_bars() -> None:
    found = table(counts(5, 7))
    assert found.names == ("city", "n")
    assert found.columns == (["Oslo", "Bergen"], [5, 7])
    assert found.errors == (None, [30, 30])
    assert found.domains == (CITY, None)


def test_having_keeps_what_is_true_and_drops_false_and_unknown() -> None:
    mean = Estimates([10.0, None, 30.0], [1.0, None, 1.0])
    found = table(mean, having=call("greater", ValueOf(0), 20))
    assert found.columns[0] == ["Tromsø"]
    assert found.dropped == 2


def test_order_is_stable_and_nulls_come_last() -> None:
    values = Estimates([1.0, None, 3.0, 1.0], [0.1, None, 0.1, 0.1])
    keys = [(code,) for code in range(4)]
    up = table(values, keys=keys, domains=(Int(0, 9),), order_by=((ValueOf(0), False),))
    down = table(values, keys=keys, domains=(Int(0, 9),), order_by=((ValueOf(0), True),))
    assert up.columns[0] == [0, 3, 2, 1]
    assert down.columns[0] == [2, 0, 3, 1]


def test_order_by_two_terms_uses_the_second_for_ties() -> None:
    found = table(counts(5, 5, 9), order_by=((ValueOf(0), True), (KeyOf(0), False)))
    assert found.columns[0] == ["Tromsø", "Bergen", "Oslo"]


def test_texts_are_ordered_by_their_bytes() -> None:
    domain = Category("b", "B", "é", "a")
    found = table(
        counts(1, 1, 1, 1), keys=[(c,) for c in domain.codes()[:4]], domains=(domain,), order_by=((KeyOf(0), False),)
    )
    assert found.columns[0] == ["B", "a", "b", "é"]


def test_limit_cuts_after_ordering() -> None:
    found = table(counts(5, 9, 7), order_by=((ValueOf(0), True),), limit=2)
    assert found.columns[0] == ["Bergen", "Tromsø"]
    assert found.dropped == 1


def test_counts_are_raised_to_zero_on_request_only() -> None:
    assert table(counts(-5, 7)).columns[1] == [-5, 7]
    assert table(counts(-5, 7), nonnegative=True).columns[1] == [0, 7]
    assert table(sums(-5, 7), nonnegative=True).columns[1] == [Decimal("-0.05"), Decimal("0.07")]


def test_values_are_rounded_on_request() -> None:
    ratio = (("y", call("divide", ValueOf(0), 3)),)
    assert table(counts(100), columns=ratio, digits=1).columns[0] == [33.3]
    assert table(counts(100), digits=1).columns[1] == [100]


def test_an_empty_table_has_its_columns() -> None:
    found = table(counts(), keys=[])
    assert found.columns == ([], [])
    assert found.errors == (None, [])


def test_a_statistic_that_only_decides_an_order_is_null() -> None:
    assert one(ValueOf(1), counts(5), None) == (None, None)


# ---- bars


def test_a_statistic_by_itself_keeps_its_bar() -> None:
    assert one(ValueOf(0), counts(5)) == (5, COUNT.quantile(RISK))


@pytest.mark.parametrize(
    ("post", "value", "factor"),
    [
        (call("multiply", 3, ValueOf(0)), 15, 3),
        (call("subtract", 10, ValueOf(0)), 5, 1),
        (call("add", ValueOf(0), ValueOf(0)), 10, 2),
        (call("subtract", call("multiply", 3, ValueOf(0)), ValueOf(0)), 10, 2),
        (call("negate", ValueOf(0)), -5, 1),
        (call("divide", ValueOf(0), Fraction(1, 2)), 10.0, 2),
    ],
)
def test_linear_terms_of_one_count_have_exact_bars(post: Post, value: Any, factor: int) -> None:
    assert one(post, counts(5)) == (value, factor * COUNT.quantile(RISK))


def test_a_measurement_that_two_statistics_share_is_one_source_of_noise() -> None:
    noisy = NoisyNumbers(np.array([5]), COUNT)
    shared = [estimate(Statistic(kind), [noisy], [], level=LEVEL) for kind in ("count", "present")]  # type: ignore[arg-type]
    assert one(call("subtract", ValueOf(0), ValueOf(1)), *shared) == (0, 0)
    assert one(call("add", ValueOf(0), ValueOf(1)), *shared) == (10, 60)


def test_the_bar_of_a_sum_of_two_counts_is_less_than_the_sum_of_bars() -> None:
    value, error = one(call("add", ValueOf(0), ValueOf(1)), counts(5), counts(7))
    assert value == 12
    assert isinstance(error, int)
    assert 30 < error < 60


def test_sums_of_cents_and_counts_are_exact_decimals() -> None:
    value, error = one(call("add", ValueOf(0), ValueOf(1)), sums(12345), counts(2))
    assert value == Decimal("125.45")
    assert isinstance(error, Decimal)


def test_the_bar_of_a_ratio_of_large_numbers_follows_the_quotient_rule() -> None:
    value, error = one(
        call("divide", ValueOf(1), ValueOf(0)), counts(10_000, law=DiscreteGaussianLaw(100)), sums(5_000_000)
    )
    assert value == pytest.approx(5.0)
    assert error == pytest.approx(1.96 * np.hypot(5.0, 5 * 10) / 10_000, rel=0.02)


def test_a_percentage_has_the_same_bar_however_it_is_written() -> None:
    ways = [
        call("divide", call("multiply", 100, ValueOf(0)), ValueOf(1)),
        call("multiply", 100, call("divide", ValueOf(0), ValueOf(1))),
        call("subtract", call("multiply", 100, call("divide", ValueOf(0), ValueOf(1))), 0),
    ]
    results = [one(way, counts(500), counts(2000)) for way in ways]
    assert results[1] == pytest.approx(results[0])
    assert results[2] == pytest.approx(results[0])


def test_a_rounded_ratio_has_a_bar_that_holds_the_ends() -> None:
    plain_ratio = call("multiply", 100, call("divide", ValueOf(0), ValueOf(1)))
    _, error = one(plain_ratio, counts(500), counts(2000))
    value, rounded = one(call("round", plain_ratio, 0), counts(500), counts(2000))
    assert value == 25.0
    assert abs(rounded - error) <= 1


def test_a_ratio_with_a_denominator_near_zero_says_nothing() -> None:
    ratio = call("divide", ValueOf(0), ValueOf(1))
    assert one(ratio, counts(500), counts(10))[1] is None
    assert one(ratio, counts(500), counts(0)) == (None, None)


def test_other_terms_reach_over_the_box_of_bars() -> None:
    mean = Estimates([50.0], [2.0])
    value, error = one(call("multiply", ValueOf(0), ValueOf(1)), counts(100), mean)
    assert value == 5000.0
    assert error == pytest.approx(130 * 52 - 5000)


def test_terms_that_are_no_numbers_have_no_bars() -> None:
    label = call("case", call("greater", ValueOf(0), 3), "many", "few")
    assert one(label, counts(5)) == ("many", None)
    assert one(call("greater", ValueOf(0), 3), counts(5)) == (True, None)


def test_arithmetic_on_keys_alone_has_no_bar() -> None:
    found = table(counts(5), columns=(("y", call("add", KeyOf(0), 1)),), keys=[(2020,)], domains=(Int(2000, 2030),))
    assert (found.columns[0], found.errors[0]) == ([2021], None)


def test_dates_can_be_moved_and_keep_bars_of_time() -> None:
    day = Estimates([dt.date(2024, 3, 1)], [dt.timedelta(days=4)])
    assert one(call("add_days", ValueOf(0), 2), day) == (dt.date(2024, 3, 3), dt.timedelta(days=4))


def test_a_raised_count_does_not_change_its_bar() -> None:
    found = table(counts(-5), nonnegative=True)
    assert found.errors[1] == [30]


# ---- functions


EXAMPLES = [
    (function.name, cell.arguments, cell.result)
    for function in FUNCTIONS.values()
    for cell in (function.meaning, function.null, function.overflow, function.outside)
    if cell.arguments is not None
]


@pytest.mark.parametrize(("name", "arguments", "result"), EXAMPLES)
def test_functions_mean_after_the_noise_what_they_mean_before(
    name: str, arguments: tuple[Any, ...], result: Any
) -> None:
    exact = [Fraction(str(each)) if isinstance(each, float) else plain(each) for each in arguments]
    assert tidy(apply(name, exact)) == (None if result == REFUSED else result)


def test_quotients_are_rounded_down_as_before_the_noise_and_shown_as_floats() -> None:
    third = call("divide", KeyOf(0), 3)
    columns = (("y", third), ("same", call("equal", third, Fraction(33_333_333_333, 10**9))))
    found = table(counts(5), columns=columns, keys=[(100,)], domains=(Int(0, 100),))
    assert found.columns == ([33.333333333], [True])
    assert isinstance(found.columns[0][0], float)


def test_long_texts_are_null_after_the_noise_as_before() -> None:
    found = table(counts(5), columns=(("y", call("concat", KeyOf(0), "b")),), keys=[("a" * 200,)], domains=(Text(),))
    assert found.columns == ([None],)


def test_bounds_lie_on_the_grid_of_a_column_after_the_noise_too() -> None:
    found = one(call("clamp", ValueOf(0), Fraction(1, 200), 5), sums(0))
    assert found[0] == Decimal("0.01")


def test_what_may_be_a_float_is_one_wherever_it_is_used() -> None:
    known = call("clamp", call("coalesce", ValueOf(0), 0), Fraction(1, 2), 5)
    assert table(Estimates([None, 3.0], [None, 1.0]), columns=(("y", known),)).columns == ([0.5, 3.0],)


def test_numbers_beyond_all_ranges_concern_their_own_group_alone() -> None:
    assert one(call("multiply", ValueOf(0), ValueOf(0)), counts(2**60))[0] == 2**120
    cube = call("multiply", call("multiply", ValueOf(0), ValueOf(0)), ValueOf(0))
    many = table(counts(2**60, 10), columns=(("y", cube), ("z", call("add", cube, 1))))
    assert many.columns == ([2**180, 1000], [None, 1001]), "another group's numbers are its own affair"
    assert many.errors[0] is not None
    assert min(many.errors[0]) > 0
    assert one(call("multiply", ValueOf(0), 1e300), Estimates([1e300], [1.0]))[0] is None


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("divide", (1.0, 0), None),
        ("multiply", (1e300, 1e300), None),
        ("divide", (7, 2), Decimal("3.5")),
        ("round", (2.345, 2), 2.35),
        ("round", (-2.5,), -3),
        ("round", (1234, -2), 1200),
        ("modulo", (7.5, 2), 1.5),
        ("concat", ("a", None), None),
        ("like", ("a%b", "a_b"), True),
        ("like", ("a.c", "abc"), False),
        ("substring", ("Tromsø", 3, 4), "omsø"),
        ("upper", ("aé",), "Aé"),
        ("starts_with", ("Oslo", "Os"), True),
        ("contains", ("Oslo", "sl"), True),
        ("to_text", (Decimal("1.50"),), None),
        ("to_int", (2.5,), 3),
        ("greater", (dt.datetime(2024, 1, 1, 1), dt.date(2024, 1, 1)), True),
        ("coalesce", (None, None, 3), 3),
        ("null_if", (3.0, 3), None),
    ],
)
def test_functions_on_floats_and_texts(name: str, arguments: tuple[Any, ...], result: Any) -> None:
    assert tidy(apply(name, [plain(argument) for argument in arguments])) == result
