"""Numbers are read exactly, and nothing that is not a number passes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.budget import Budget
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import exact, inside_unit, not_negative, positive, probability, whole
from dalenius.query.frames.aggregates import quantile
from dalenius.query.frames.formulas import col
from dalenius.query.types import Real


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 2.5 ", Fraction(5, 2)),
        (Decimal("1e-9"), Fraction(1, 10**9)),
        (Fraction(2, 3), Fraction(2, 3)),
        ("2/3", Fraction(2, 3)),
        (7, Fraction(7)),
        (np.int64(7), Fraction(7)),
        (np.float64(0.1), Fraction(1, 10)),
        (1e300, Fraction(10**300)),
    ],
)
def test_a_number_is_read_as_it_is_written(written: object, value: Fraction) -> None:
    assert exact(epsilon=written) == value  # type: ignore[arg-type]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_shortest_decimal_that_prints_it(value: float) -> None:
    assert float(exact(x=value)) == value
    assert exact(x=value) == Fraction(Decimal(repr(value)))


@pytest.mark.parametrize(
    "bad",
    [
        float("nan"),
        float("inf"),
        "-inf",
        "nan",
        "sNaN",
        "1/0",
        "",
        None,
        True,
        "1e999999999",
        "1" * 6000,
        [1],
        b"1",
        1j,
    ],
)
def test_what_is_not_a_finite_number_is_refused(bad: object) -> None:
    with pytest.raises(InvalidParameter, match=r"epsilon is .* nothing was run or charged"):
        exact(epsilon=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("odd", ["١", "１.５", "1__0", "_1", "1_0", "1 2", "0x10", Path("3"), np.array(3)])
def test_only_plain_digits_are_numbers(odd: object) -> None:
    with pytest.raises(InvalidParameter):
        exact(epsilon=odd)  # type: ignore[arg-type]


def test_how_numpy_prints_does_not_change_a_number() -> None:
    with np.printoptions(legacy="1.13"):
        assert exact(x=np.float64(1 / 3)) == exact(x=1 / 3)


LONG: list[Any] = [
    "1e-4300",
    "1e4201",
    "1e999999999",
    "9" * 4201,
    "0." + "0" * 4200 + "1",
    "1/" + "9" * 4201,
    "9" * 4290 + "/7",
    10**4201,
    -(10**5000),
    Decimal("1e-4201"),
]


@pytest.mark.parametrize("number", LONG, ids=lambda number: type(number).__name__)
def test_numbers_of_more_digits_than_python_prints_are_refused(number: Any) -> None:
    """Python prints no integer of more than 4300 digits, so a price could be computed and not be told."""
    with pytest.raises(InvalidParameter, match="at most 4200 digits"):
        exact(epsilon=number)


LONG_FRACTION = Fraction(10**5000 + 1, 10**5000)
WRITTEN: dict[str, Callable[[Any], Any]] = {
    "budget": lambda number: Budget(epsilon=number),
    "delta of a budget": lambda number: Budget(epsilon=1, delta=number - 1),
    "bound": lambda number: Real(0, number, step="0.1"),
    "step": lambda number: Real(0, 5, step=number),
    "constant": lambda number: col("age") > number,
    "width": lambda number: col("age").bin(number),
    "part": lambda number: quantile("age", number - 1),
}


@pytest.mark.parametrize("place", WRITTEN)
def test_fractions_too_long_to_print_are_refused_where_they_are_written_down(place: str) -> None:
    assert exact(x=LONG_FRACTION) == LONG_FRACTION  # one that was computed is as long as it has to be
    with pytest.raises(InvalidParameter, match="at most 4200 digits"):
        WRITTEN[place](LONG_FRACTION)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_products_and_quotients_of_numbers_can_be_printed(one: float, other: float) -> None:
    product = (exact(x=one) * exact(x=other)) ** 5
    assert str(product)
    assert not other or str(exact(x=one) / exact(x=other))


@pytest.mark.parametrize("digits", [4201, 5000])
def test_whole_numbers_too_long_are_refused(digits: int) -> None:
    with pytest.raises(InvalidParameter, match="at most 4200 digits"):
        whole(1, rows=10**digits)


def test_numbers_too_long_to_print_are_refused_all_the_same() -> None:
    with pytest.raises(InvalidParameter, match="a very long int"):
        positive(scale=-(10**5000))


def test_ranges_are_kept_at_their_ends() -> None:
    assert positive(x="1e-300") > 0
    assert not_negative(x=0) == 0
    assert probability(x=1) == 1
    assert inside_unit(x="0.5") == Fraction(1, 2)
    assert whole(x=np.int32(3)) == 3
    for check, bad in [(positive, 0), (not_negative, -1e-9), (probability, "1.01"), (inside_unit, 1), (inside_unit, 0)]:
        with pytest.raises(InvalidParameter):
            check(x=bad)  # type: ignore[operator]
    for bad in (-1, 1.0, True, "3"):
        with pytest.raises(InvalidParameter):
            whole(x=bad)
    with pytest.raises(InvalidParameter, match="3 or more"):
        whole(least=3, x=2)
