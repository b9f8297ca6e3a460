"""Quantiles on a grid: the law of the whole grid, ties, ends and empty groups, and intervals that hold their level."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from scipy import stats

from checks import ALARM, SeededEntropy
from costs import cases
from dalenius.accounting.composition import compose, repeated
from dalenius.accounting.conversion import to_pure
from dalenius.errors import InvalidParameter, TheoremDoesNotApply, UnusableValue
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles, Quantile, ValueCounts
from dalenius.privacy.losses import BoundedRange
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.verify.cases.grids import quantile_law

ADD = AddRemove()
HALF = Fraction(1, 2)
EMPTY = ValueCounts(np.array([], dtype=np.int64), np.array([], dtype=np.int64))


def quantiles(*targets: object, lower: int = 0, upper: int = 4, rate: object = 1, **more: Any) -> PrivateQuantiles:
    shares = tuple(Fraction(target) for target in targets)  # type: ignore[arg-type]
    return PrivateQuantiles(targets=shares, lower=lower, upper=upper, rate=rate, neighbours=ADD, **more)  # type: ignore[arg-type]


def group(rows: Any) -> ValueCounts:
    return ValueCounts(*np.unique(np.asarray(rows, dtype=np.int64), return_counts=True))


def fit(mechanism: PrivateQuantiles, drawn: ValueCounts, stated: ValueCounts, draws: int = 600) -> float:
    """The p-value of releases from one group against the exact law of another."""
    entropy, law = SeededEntropy("fit"), quantile_law(mechanism, (stated,))
    seen = Counter((answers,) for answers in mechanism.release([drawn] * draws, entropy))
    large = [outcome for outcome, chance in law.items() if float(chance) * draws > 10]
    observed = [seen[outcome] for outcome in large]
    expected = [float(law[outcome]) * draws for outcome in large]
    rest = draws - sum(observed), max(draws - sum(expected), 1e-6)
    scaled = np.array(expected) * sum(observed) / sum(expected)
    fits = stats.chisquare(observed, scaled).pvalue if len(large) > 1 and sum(observed) else 1.0
    return float(min(fits, stats.poisson.sf(rest[0] - 1, rest[1]), stats.poisson.cdf(rest[0], rest[1])))


MECHANISMS = [
    quantiles("1/2"),
    quantiles("1/5", rate="1/2"),
    quantiles(0, rate=3),
    quantiles("1/4", "1/2", "3/4", rate=2),
    quantiles("1/2", beta=HALF, rate=8),
    quantiles("1/5", "1/2", beta=HALF, rate=8),
    quantiles(0, beta=HALF, rate=8),
    quantiles("1/3", 1, rate=4),
]


@cases("mechanism", MECHANISMS, ids=lambda m: f"{m.targets}, {m.beta}", fast=1)
@pytest.mark.parametrize("rows", [[], [1, 1, 1, 1, 3], [0, 1, 2, 2, 3, 4, 4]], ids=str)
def test_releases_follow_the_law_of_scoring_every_point_of_the_grid(
    mechanism: PrivateQuantiles, rows: list[int]
) -> None:
    assert fit(mechanism, group(rows), group(rows)) > ALARM


@cases("mechanism", MECHANISMS, ids=lambda m: f"{m.targets}, {m.beta}", fast=1)
def test_the_test_above_notices_other_rows(mechanism: PrivateQuantiles) -> None:
    assert fit(mechanism, group([0, 1, 1, 1, 2] * 3), group([2, 3, 3, 3, 4] * 3)) < ALARM


def test_values_may_come_in_any_order_and_in_pieces_and_outside_of_the_grid() -> None:
    mechanism = quantiles("1/4", "3/4", rate="1/3")
    tidy = ValueCounts(np.array([0, 2, 4]), np.array([3, 5, 2]))
    messy = ValueCounts(np.array([9, 2, -7, 1, 2]), np.array([2, 4, 3, 0, 1]))
    assert mechanism.release([tidy] * 20, SeededEntropy("x")) == mechanism.release([messy] * 20, SeededEntropy("x"))


def test_all_equal_values_are_found_at_every_target() -> None:
    """The least and the largest value are looked for beyond the data at most every twentieth time."""
    mechanism = quantiles(0, "1/4", "1/2", "3/4", 1, upper=10_000, rate=1)
    found = mechanism.release([group([777] * 3000)] * 60, SeededEntropy("equal"))
    assert all(answers[1:4] == (Quantile(777),) * 3 for answers in found)
    assert sum(answers != (Quantile(777),) * 5 for answers in found) <= 15


def test_two_points_are_told_apart() -> None:
    mechanism = quantiles("1/4", "3/4", upper=10_000, rate=1)
    for answers in mechanism.release([group([5] * 500 + [9000] * 500)] * 30, SeededEntropy("two")):
        assert answers == (Quantile(5), Quantile(9000))


def test_a_heavy_tie_in_the_middle_does_not_pull_the_outer_targets() -> None:
    """Nearly half of the values are equal; the split inside of them is chosen, not fixed."""
    rows = [*range(4400), *[5000] * 5000, *range(9400, 10_000)]
    mechanism = quantiles("1/4", "1/2", "19/20", upper=10_000, rate=1)
    for low, middle, high in mechanism.release([group(rows)] * 20, SeededEntropy("tie")):
        assert abs(low.value - 2500) < 150
        assert middle.value == 5000
        assert abs(high.value - 9500) < 150


def test_quantiles_come_in_rising_order_on_the_grid() -> None:
    mechanism = quantiles("1/10", "1/5", "1/2", "2/3", "9/10", lower=-50, upper=50, rate="1/10")
    for answers in mechanism.release([group([-3, 4, 4, 20]), EMPTY] * 50, SeededEntropy("rising")):
        found = [answer.value for answer in answers]
        assert found == sorted(found)
        assert -50 <= found[0] <= found[-1] <= 50


def test_an_empty_group_gives_every_point_alike() -> None:
    found = [answers[0].value for answers in quantiles("1/2").release([EMPTY] * 2000, SeededEntropy("empty"))]
    assert stats.chisquare(np.bincount(found, minlength=5)).pvalue > ALARM


@pytest.mark.parametrize("wide", [2**40, 2**70, 2**120])
def test_grids_and_counts_of_any_size(wide: int) -> None:
    rows = ValueCounts(np.array([-wide // 2, 0, wide // 2]), np.array([10**4, 10**4 + 1, 10**4]))
    huge = ValueCounts(np.array([0, 1]), np.array([2**62, 2**62]))
    mechanism = quantiles("1/4", "1/2", "3/4", lower=-wide, upper=wide, rate=1)
    assert mechanism.release([rows], SeededEntropy("wide"))[0][1].value == 0
    assert {answer.value for answer in mechanism.release([huge], SeededEntropy("huge"))[0]} <= {0, 1}
    bars = quantiles("1/2", lower=-wide, upper=wide, beta=Fraction(1, 20))
    assert bars.release([rows], SeededEntropy("bars"))[0][0] == Quantile(0, 0, 0)


def least_point(rows: np.ndarray, p: Fraction) -> int:
    """The least point up to which p N values lie; of p = 0, the least value."""
    ordered = np.sort(rows)
    return int(ordered[max(0, -(-p.numerator * len(ordered) // p.denominator) - 1)])


def _populations() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    return {
        "one": np.array([500]),
        "few": rng.integers(0, 1001, 7),
        "equal": np.full(400, 123),
        "two points": np.repeat([10, 990], [300, 301]),
        "just unequal": np.repeat([10, 990], [340, 300]),
        "uniform": rng.integers(0, 1001, 2000),
        "skewed": np.clip(rng.exponential(40, 3000).astype(int), 0, 1000),
        "at the ends": np.repeat([0, 1000], [500, 480]),
    }


@cases("name", _populations(), fast=1)
@pytest.mark.parametrize("p", ["0", "1/10", "1/2", "1"])
def test_an_interval_holds_the_quantile_at_its_level(name: str, p: str) -> None:
    rows, target = _populations()[name], Fraction(p)
    mechanism = quantiles(target, upper=1000, rate="1/4", beta=Fraction(1, 20))
    truth = least_point(rows, target)
    answers = mechanism.release([group(rows)] * 120, SeededEntropy((name, p)))
    held = sum(low <= truth <= high for ((_, low, high),) in answers)  # type: ignore[operator]
    assert all(low <= value <= high for ((value, low, high),) in answers)  # type: ignore[operator]
    assert stats.binomtest(held, 120, 0.95, alternative="less").pvalue > 1e-6


SEVERAL = ("0", "1/4", "1/2", "9/10")


@cases("name", _populations(), fast=3)
def test_the_intervals_of_several_quantiles_hold_each_of_them_at_its_level(name: str) -> None:
    rows = _populations()[name]
    mechanism = quantiles(*SEVERAL, upper=1000, rate="1/2", beta=Fraction(1, 20))
    answers = mechanism.release([group(rows)] * 60, SeededEntropy(("several", name)))
    assert all(low <= value <= high for found in answers for value, low, high in found)  # type: ignore[operator]
    for place, p in enumerate(SEVERAL):
        truth = least_point(rows, Fraction(p))
        held = sum(found[place].low <= truth <= found[place].high for found in answers)  # type: ignore[operator]
        assert stats.binomtest(held, 60, 0.95, alternative="less").pvalue > 1e-6


def miss(mechanism: PrivateQuantiles, rows: list[int]) -> float:
    """The exact probability that an interval does not hold the quantile."""
    (p,), law = mechanism.targets, quantile_law(mechanism, (group(rows),))
    truth = least_point(np.array(rows), p)
    return float(sum(chance for ((found,),), chance in law.items() if not found.low <= truth <= found.high))


@pytest.mark.parametrize("p", ["0", "1/5", "1/2", "4/5", "1"])
def test_no_small_group_is_missed_more_often_than_stated(p: str) -> None:
    mechanism = quantiles(p, beta=Fraction(1, 5), rate=9)
    groups = [list(rows) for size in range(1, 6) for rows in combinations_with_replacement((0, 1, 4), size)]
    assert max(miss(mechanism, rows) for rows in groups) <= 0.2


def test_two_points_are_missed_nearly_as_often_as_stated() -> None:
    """So the spread could not be smaller: the bound is 1 / 5, and rounding takes its part."""
    mechanism = quantiles("1/2", upper=30, beta=Fraction(1, 5), rate="1/10")
    rows = [0] * 200 + [30] * 200
    assert 0.15 < miss(mechanism, rows) <= 0.2


def test_an_interval_of_no_values_is_most_likely_the_whole_grid() -> None:
    answers = quantiles("1/2", upper=1000, rate=1, beta=Fraction(1, 20)).release([EMPTY] * 200, SeededEntropy("none"))
    assert sum((low, high) == (0, 1000) for ((_, low, high),) in answers) > 150


def test_the_largest_value_does_not_pull_the_median() -> None:
    """The median is found first: the largest value is looked for inside of the data, and would take some away."""
    mechanism = quantiles("1/2", 1, upper=10_000, rate="1/4")
    answers = mechanism.release([group(np.arange(0, 10_000, 10))] * 60, SeededEntropy("pull"))
    assert abs(np.mean([found[0].value for found in answers]) - 5000) < 60


def test_the_test_above_notices_intervals_of_a_few_values() -> None:
    """With a spread for a hundred times the rate, intervals are far too short."""
    rows, target = _populations()["uniform"], HALF

    class TooShort(PrivateQuantiles):
        def spread(self, p: Any) -> int:
            return 1

    mechanism = TooShort(
        targets=(HALF,), lower=0, upper=1000, rate=Fraction(1, 4), neighbours=ADD, beta=Fraction(1, 20)
    )
    truth = least_point(rows, target)
    answers = mechanism.release([group(rows)] * 120, SeededEntropy("short"))
    held = sum(low <= truth <= high for ((_, low, high),) in answers)  # type: ignore[operator]
    assert stats.binomtest(held, 120, 0.95, alternative="less").pvalue < 1e-6


def test_the_rank_error_holds_and_is_the_stated_figure() -> None:
    rows = np.arange(0, 1001)
    mechanism = quantiles("1/2", upper=1000, rate="1/4")
    bound = mechanism.rank_error("1/2", "0.05")
    assert 39 < bound < 40  # ln(1001 / 0.05) / (1 / 4)
    found = [answers[0].value for answers in mechanism.release([group(rows)] * 400, SeededEntropy("rank"))]
    assert sum(abs(value - 500) > bound + 1 for value in found) <= 20


def test_the_least_value_is_looked_for_inside_of_the_data() -> None:
    rows = np.arange(400, 1400)
    mechanism = quantiles(0, 1, upper=10**6, rate=1)
    for low, high in mechanism.release([group(rows)] * 50, SeededEntropy("ends")):
        assert 400 <= low.value < 500
        assert 1300 < high.value <= 1400


@pytest.mark.parametrize(("count", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4)])
def test_several_targets_cost_the_logarithm_of_their_number(count: int, levels: int) -> None:
    targets = [Fraction(index + 1, count + 1) for index in range(count)]
    change = Sensitivity(l1=6)
    mechanism = PrivateQuantiles.calibrated(
        targets=targets, lower=0, upper=9, sensitivity=change, groups=2, epsilon=1, neighbours=ADD
    )
    assert (mechanism.levels, mechanism.rows) == (levels, 3)
    assert mechanism.loss(sensitivity=change) == repeated(BoundedRange(mechanism.rate * 3), 2 * levels)
    bars = PrivateQuantiles.calibrated(
        targets=targets, lower=0, upper=9, sensitivity=change, groups=2, epsilon=1, beta="0.05", neighbours=ADD
    )
    assert (bars.levels, bars.ends) == (levels, 2 * count)
    parts = [repeated(BoundedRange(bars.rate * 3), 2 * levels), repeated(BoundedRange(bars.rate * 3 / 2), 4 * count)]
    assert bars.loss(sensitivity=change) == compose(parts)
    assert 1 - Fraction(1, 10**9) < to_pure(bars.loss(sensitivity=change)).epsilon <= 1


def test_the_outer_ends_of_the_least_and_the_largest_value_cost_nothing() -> None:
    mechanism = quantiles(0, "1/2", 1, beta=HALF)
    assert mechanism.ends == 4
    low, _, high = mechanism.release([group([1, 2, 3])], SeededEntropy("ends"))[0]
    assert (low.low, high.high) == (0, 4)


def test_the_typical_rank_error_is_the_quantile_of_a_two_sided_geometric_law() -> None:
    """For a small rate ln(20) / rate; for a large one nothing; for 0 and 1 the margin comes on top."""
    assert quantiles("1/2", rate="1/1000").typical_rank_error("1/2", "0.05") == 2996  # ln(20) * 1000 - 1 / 2
    assert quantiles("1/10", rate="1/1000").typical_rank_error("1/10", "0.05") == 5392  # 1.8 times as much
    assert quantiles("1/2", rate=9).typical_rank_error("1/2", "0.05") == 0
    steep = quantiles(0, rate=9)
    assert steep.typical_rank_error(0, "0.05") == steep.margin
    with pytest.raises(InvalidParameter, match="one of the targets"):
        quantiles("1/2").typical_rank_error("1/3", "0.05")


def test_errors_of_halving_come_together_as_far_as_they_reach_a_target() -> None:
    """A quarter is found as the half of a half: its own error, and half of that of the median."""
    three = quantiles("1/4", "1/2", "3/4", rate="1/1000")
    assert three.typical_rank_error("1/2", "0.05") == 2996
    assert three.typical_rank_error("1/4", "0.05") == three.typical_rank_error("3/4", "0.05") == 3349


def test_a_replaced_unit_moves_twice_as_many_values() -> None:
    change = Sensitivity(l1=12)
    mechanism = PrivateQuantiles.calibrated(
        targets=["1/2"], lower=0, upper=9, sensitivity=change, groups=2, epsilon=1, neighbours=Replace()
    )
    assert mechanism.rows == 3
    assert mechanism.loss(sensitivity=change) == repeated(BoundedRange(mechanism.rate * 6), 2)


def test_what_it_is_not_made_for_is_refused() -> None:
    with pytest.raises(TheoremDoesNotApply, match="at most 1 values"):
        quantiles("1/2").loss(sensitivity=Sensitivity(l1=2))
    with pytest.raises(InvalidParameter, match="rising"):
        quantiles("1/2", "1/4")
    with pytest.raises(InvalidParameter, match="lower end"):
        quantiles("1/2", lower=3, upper=2)
    with pytest.raises(InvalidParameter, match="intervals"):
        quantiles("1/2").spread(HALF)
    with pytest.raises(UnusableValue, match="count of 0 or more"):
        quantiles("1/2").release([ValueCounts(np.array([1]), np.array([-1]))], SeededEntropy("no"))
