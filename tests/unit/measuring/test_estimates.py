"""Values and bars computed from released numbers: units, edges and kinds. Coverage is in tests/statistical."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.measuring import estimates, expectations, released
from dalenius.measuring.estimates import (
    NoisyChoices,
    NoisyHistogram,
    NoisyNumbers,
    NoisyQuantiles,
    estimate,
)
from dalenius.measuring.expectations import expect
from dalenius.query.questions import Statistic
from dalenius.query.types import Category, Date, Int, Real, Timestamp
from dalenius.randomness.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, NoiseLaw

COUNT = DiscreteLaplaceLaw(Fraction(10))
WIDE = DiscreteGaussianLaw(600**2)
AGE, COST = Int(0, 120), Real(0, 5000, step="0.01")
LEVEL = Fraction(95, 100)


def numbers(*values: int, law: Any = COUNT) -> NoisyNumbers:
    small = all(abs(value) < 2**62 for value in values)
    return NoisyNumbers(np.array(values, dtype=np.int64 if small else object), law)


def of(kind: Any, *inputs: Any, domains: Any = (AGE, AGE), **given: Any) -> Any:
    return estimate(Statistic(kind, ("x.0",)), inputs, domains, level=LEVEL, **given)


@pytest.mark.parametrize("kind", ["count", "present", "units", "distinct"])
def test_a_count_is_the_noisy_integer_and_its_bar_the_exact_quantile(kind: str) -> None:
    found = of(kind, numbers(5, -2, 2**100))
    assert found.values == [5, -2, 2**100]
    assert found.errors == [COUNT.quantile(Fraction(5, 100))] * 3


def test_a_sum_is_exact_in_the_units_of_its_column() -> None:
    found = of("sum", numbers(12345, -5, 10**40), domains=[COST])
    assert found.values == [Decimal("123.45"), Decimal("-0.05"), Decimal(10**40).scaleb(-2)]
    assert str(found.values[2]) == "1" + "0" * 38 + ".00"
    assert found.errors[0] == Decimal(COUNT.quantile(Fraction(5, 100))) / 100


def test_a_sum_of_whole_numbers_is_whole_and_of_thirds_a_float() -> None:
    assert of("sum", numbers(7)).values == [7]
    assert of("sum", numbers(7), domains=[Real(0, 9, step=Fraction(1, 3))]).values == [pytest.approx(7 / 3)]


def test_a_mean_is_the_plain_quotient_in_the_units_of_its_column() -> None:
    found = of("mean", numbers(1000), numbers(-150_000_00, law=WIDE), domains=[COST])
    assert found.values == [pytest.approx(2500 - 150.0)]
    assert 0 < found.errors[0] < 5


def test_a_mean_stays_in_the_range_of_its_column() -> None:
    found = of("mean", numbers(20, 20), numbers(10**6, -(10**6), law=WIDE))
    assert found.values == [120, 0]


def test_nothing_is_said_of_a_mean_of_nothing() -> None:
    found = of("mean", numbers(0, -5, 1), numbers(10, 10, 10, law=WIDE))
    assert found.values[:2] == found.errors[:2] == [None, None]
    assert found.values[2] is not None


def test_a_mean_of_few_rows_has_a_bar_as_wide_as_the_range() -> None:
    found = of("mean", numbers(2), numbers(0, law=WIDE))
    assert found.errors == [pytest.approx(60)]


def test_variances_are_sample_variances_and_never_negative() -> None:
    x = np.array([40, 50, 60, 70, 80, 90] * 1000) - 60
    sums = (numbers(len(x)), numbers(int(x.sum()), law=WIDE), numbers(int((x * x).sum()), law=WIDE))
    assert of("variance", *sums).values == [pytest.approx(float(np.var(x, ddof=1)))]
    assert of("stddev", *sums).values == [pytest.approx(float(np.std(x, ddof=1)))]
    assert of("variance", numbers(100), numbers(0), numbers(-(10**6))).values == [0]


def test_covariance_and_correlation_are_the_textbook_ones() -> None:
    random = np.random.default_rng(1)
    x = np.rint(random.normal(0, 15, 20_000)).astype(int)
    y = np.rint(0.5 * x + random.normal(0, 10, 20_000)).astype(int)
    law = DiscreteGaussianLaw(1)
    n, sx, sy, sxx, syy, sxy = (
        numbers(int(total), law=law) for total in (len(x), x.sum(), y.sum(), x @ x, y @ y, x @ y)
    )
    assert of("covariance", n, sx, sy, sxy).values == [pytest.approx(float(np.cov(x, y)[0, 1]))]
    assert of("correlation", n, sx, sy, sxx, syy, sxy).values == [pytest.approx(float(np.corrcoef(x, y)[0, 1]))]


@given(st.lists(st.integers(-(10**7), 10**7), min_size=6, max_size=6))
def test_correlations_stay_within_one_and_bars_are_finite(sums: list[int]) -> None:
    laws = (COUNT, WIDE, WIDE, WIDE, WIDE, WIDE)
    inputs = [numbers(value, law=law) for value, law in zip(sums, laws, strict=True)]
    found = of("correlation", *inputs)
    if sums[0] >= 2:
        assert -1 <= found.values[0] <= 1
        assert 0 <= found.errors[0] <= 2
    else:
        assert found.values == found.errors == [None]


def test_an_unknown_correlation_is_zero_give_or_take_one() -> None:
    nothing = [numbers(0, law=WIDE)] * 5
    found = of("correlation", numbers(50), *nothing)
    assert (found.values, found.errors) == ([0], [1])


def test_quantiles_have_the_farther_bound_as_bar() -> None:
    found = of("quantile", NoisyQuantiles([40, 50, None], [38, None, None], [45, 60, None]))
    assert (found.values, found.errors) == ([40, 50, None], [5, None, None])


def test_quantiles_of_dates_are_dates_and_their_bars_lengths_of_time() -> None:
    day = Date("2024-01-01", "2024-12-31")
    codes = [[day.code(text)] for text in ("2024-03-01", "2024-02-20", "2024-03-04")]
    found = of("quantile", NoisyQuantiles(*codes), domains=[day])
    assert (found.values, found.errors) == ([dt.date(2024, 3, 1)], [dt.timedelta(days=10)])
    moment = Timestamp("2024-01-01", "2024-12-31")
    codes = [[moment.code(text)] for text in ("2024-03-01 12:00", "2024-03-01 11:00", "2024-03-01 12:30")]
    assert of("quantile", NoisyQuantiles(*codes), domains=[moment]).errors == [dt.timedelta(hours=1)]


def test_a_mode_is_shown_without_a_bar() -> None:
    found = of("mode", NoisyChoices(["Oslo", None]), domains=[Category("Oslo", "Bergen")])
    assert (found.values, found.errors) == (["Oslo", None], [None, None])


def test_a_histogram_has_a_count_for_each_public_value() -> None:
    noisy = NoisyHistogram(np.array([[3, -1]]), COUNT)
    found = of("histogram", noisy, domains=[Category("Oslo", "Bergen")])
    assert found.values == [{"Oslo": 3, "Bergen": -1}]
    assert found.errors == [COUNT.quantile(Fraction(5, 100))]


def test_no_groups_give_no_values() -> None:
    assert of("mean", numbers(), numbers()).values == []
    assert of("variance", numbers(), numbers(), numbers()).errors == []


def test_a_mean_of_texts_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="column"):
        of("mean", numbers(5), numbers(5), domains=[Category("a")])


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)])
def test_bars_grow_with_the_level(level: Fraction) -> None:
    inputs = (numbers(500), numbers(4000, law=WIDE))
    higher = (1 + level) / 2
    bars = [estimate(Statistic("mean", ("x.0",)), inputs, [AGE], level=each).errors[0] for each in (level, higher)]
    assert bars[0] < bars[1]


# ---- before paying


def promise(kind: Any, *laws: Any, domains: Any = (AGE, AGE), **known: Any) -> Any:
    return expect(Statistic(kind, ("x.0",)), laws, domains, level=LEVEL, **known)


def test_counts_and_sums_have_an_error_that_no_size_changes() -> None:
    count, total = promise("count", COUNT), promise("sum", COUNT, domains=[COST])
    assert count.fixed == count.at(1) == count.at(10**6) == COUNT.quantile(Fraction(5, 100))
    assert str(count) == "± 30"
    assert total.fixed == Decimal("0.30")


def test_the_error_of_a_mean_falls_with_the_size_and_says_so() -> None:
    mean = promise("mean", COUNT, WIDE)
    assert str(mean).startswith("± ")
    assert str(mean).endswith(" / n")
    assert mean.at(2000) == pytest.approx(2 * mean.at(4000), rel=0.05)
    assert mean.at(1) <= 120


@pytest.mark.parametrize("law", [DiscreteLaplaceLaw(Fraction(15)), DiscreteGaussianLaw(400)])
def test_points_of_wide_noise_are_its_quantiles(law: NoiseLaw) -> None:
    exact = [law.quantile(Fraction(k, 400), two_sided=False) for k in (1, 51, 199)]
    points = expectations._points(law)
    assert [points[-1], points[-26], points[-100]] == pytest.approx(exact, abs=1)


def test_a_curve_is_not_followed_before_somebody_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[int] = []
    monkeypatch.setattr(expectations, "_typical", lambda *given: followed.append(given[-1]) or 1.0)
    error = promise("variance", COUNT, WIDE, WIDE)
    assert not followed
    assert "about" in str(error)
    assert len(followed) == 1


def test_many_groups_have_the_values_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [numbers(*range(50, 60)), numbers(*range(10)), numbers(*range(900, 910))]
    whole = of("variance", *parts)
    monkeypatch.setattr(estimates, "_BLOCK", 3)
    assert of("variance", *parts).values == whole.values


@pytest.mark.parametrize("unit", [Fraction(1), Fraction(3), Fraction(1, 100), Fraction(5, 4), Fraction(1, 3)])
def test_numbers_are_written_alike_together_and_alone(unit: Fraction) -> None:
    codes = [-7, 0, 3, 10**25]
    assert list(map(repr, released.numbers(codes, unit))) == [
        repr(released.number(code * unit, unit)) for code in codes
    ]


def test_the_error_of_a_mean_near_a_bound_is_larger() -> None:
    assert promise("mean", COUNT, WIDE, mean=5).at(1000) > promise("mean", COUNT, WIDE, mean=60).at(1000)
    with pytest.raises(InvalidParameter, match="mean"):
        promise("mean", COUNT, WIDE, mean=121)


@pytest.mark.parametrize("kind", ["variance", "stddev", "covariance", "correlation"])
def test_the_other_errors_fall_with_the_size(kind: str) -> None:
    laws = {"variance": 3, "stddev": 3, "covariance": 4, "correlation": 6}[kind]
    error = promise(kind, COUNT, *[WIDE] * (laws - 1))
    assert error.at(10**6) < error.at(10**4) <= error.at(100)
    assert "/ n" in str(error)


@pytest.mark.parametrize("kind", ["variance", "stddev", "covariance"])
@pytest.mark.parametrize("scale", ["0.3", "5", "100000"])
def test_what_is_said_of_large_groups_is_what_the_curve_comes_to(kind: str, scale: str) -> None:
    laws = [DiscreteLaplaceLaw(Fraction(scale) * reach) for reach in (1, 60, 60, 3600)]
    error = promise(kind, *(laws if kind == "covariance" else [laws[0], laws[1], laws[3]]))
    said = float(str(error).split()[2].replace(",", ""))
    for size in (10**4, 10**6) if scale != "100000" else (10**9,):
        assert said / size == pytest.approx(error.at(size), rel=0.02)


def test_the_error_of_a_quantile_is_a_share_of_the_group() -> None:
    error = promise("quantile", ranks=120)
    assert error.at(1200) == pytest.approx(0.1)
    assert error.at(10) == 1
    assert "120 / n" in str(error)
