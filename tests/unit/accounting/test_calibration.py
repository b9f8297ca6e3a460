from __future__ import annotations

from fractions import Fraction
from typing import get_args

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.amounts import Charge, price
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.accounting.calibration import (
    TOLERANCE,
    Theorem,
    affordable,
    gaussian_variance,
    laplace_scale,
    largest_rho,
    per_use_epsilon,
    textbook_epsilon,
)
from dalenius.accounting.composition import (
    advanced_composition,
    optimal_delta,
    repeated,
    tight_advanced_composition,
)
from dalenius.accounting.conversion import to_approximate
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.losses import ZCDP, ApproximateDP, BoundedRange, LaplaceDP, PureDP
from dalenius.privacy.sensitivity import Sensitivity
from oracle import DIGITS, parameters, real, sound_and_tight_below, zcdp_epsilon

SLACK = Fraction("1.2664165549094176e-14")  # e^-32
MORE = 1 + TOLERANCE


@pytest.mark.textbook("S6.5")
def test_the_textbook_rule_gives_its_figure_and_keeps_its_promise() -> None:
    each = textbook_epsilon(epsilon="0.9", count=100, slack="1e-6")
    assert float(each) == pytest.approx(0.9 / (2 * float(mp.sqrt(2 * 100 * mp.log(1e6)))))
    assert advanced_composition(epsilon=each, count=100, slack="1e-6").epsilon <= Fraction(9, 10)


@pytest.mark.textbook("S6.5")
@pytest.mark.parametrize(
    ("epsilon", "slack", "count"), [(1, "1e-6", 100), (3, "1e-6", 100), ("0.999", "0.9", 1), (1, "0.9", 1)]
)
def test_the_textbook_rule_is_refused_outside_its_preconditions(epsilon: object, slack: str, count: int) -> None:
    with pytest.raises(TheoremDoesNotApply, match="per_use_epsilon"):
        textbook_epsilon(epsilon=epsilon, count=count, slack=slack)  # type: ignore[arg-type]


@pytest.mark.textbook("S6.5")
def test_the_refused_case_would_have_broken_the_promise() -> None:
    """k = 1, epsilon = 1, slack = 0.9: the rule's own figure is more than the theorem allows."""
    with mp.workdps(DIGITS):
        each = Fraction(mp.nstr(1 / (2 * mp.sqrt(2 * mp.log(mp.mpf(10) / 9))), 30))
    assert advanced_composition(epsilon=each, count=1, slack="0.9").epsilon > 1


@pytest.mark.textbook("S6.5")
def test_the_notes_order_of_growth_is_no_setting() -> None:
    """The smaller of sqrt(epsilon / k) and epsilon / sqrt(k ln(2 / delta)) is right only up to a constant."""
    with mp.workdps(DIGITS):
        each = Fraction(mp.nstr(min(mp.sqrt(mp.mpf(1) / 100), 1 / mp.sqrt(100 * mp.log(2 * mp.mpf(10) ** 6))), 30))
    assert optimal_delta(epsilon=each, count=100, target_epsilon=1) > 5 * Fraction(1, 10**6)


@pytest.mark.textbook("S6.5")
def test_basic_division_and_halves_of_delta() -> None:
    """The notes' settings: basic gives epsilon / k; advanced gives half of delta to the slack, half to the uses."""
    assert per_use_epsilon(epsilon=1, delta="1e-6", count=10, per_use_delta="1e-7", theorem="basic") == Fraction(1, 10)
    assert per_use_epsilon(epsilon=1, delta=0, count=10) == Fraction(1, 10)
    each = per_use_epsilon(epsilon=1, delta="1e-6", count=100, per_use_delta="5e-9", theorem="advanced")
    total = advanced_composition(epsilon=each, count=100, slack="5e-7", delta="5e-9")
    assert total.delta == Fraction(1, 10**6)
    assert total.epsilon <= 1 < advanced_composition(epsilon=each * MORE, count=100, slack="5e-7").epsilon


@pytest.mark.textbook("S6.5", "S6.6")
@pytest.mark.parametrize(
    ("theorem", "inverse"), [("basic", 10_000), ("advanced", 812.32), ("tight", 806.20), ("optimal", 715.51)]
)
def test_the_lifetime_example_by_every_theorem(theorem: Theorem, inverse: float) -> None:
    each = per_use_epsilon(epsilon=1, delta=SLACK, count=10_000, theorem=theorem)
    assert float(1 / each) == pytest.approx(inverse, abs=0.01)


@pytest.mark.textbook("S6.5")
@given(st.fractions(Fraction(1, 10), 5), st.integers(2, 60), st.integers(3, 12))
def test_the_calibrated_epsilon_meets_the_target_and_no_larger_one_does(
    epsilon: Fraction, count: int, digits: int
) -> None:
    delta = Fraction(1, 10**digits)
    forward = {
        "advanced": lambda each: advanced_composition(epsilon=each, count=count, slack=delta).epsilon <= epsilon,
        "tight": lambda each: tight_advanced_composition(epsilon=each, count=count, slack=delta).epsilon <= epsilon,
        "optimal": lambda each: optimal_delta(epsilon=each, count=count, target_epsilon=epsilon) <= delta,
    }
    for theorem, meets in forward.items():
        each = per_use_epsilon(epsilon=epsilon, delta=delta, count=count, theorem=theorem)  # type: ignore[arg-type]
        assert meets(each)
        assert not meets(each * MORE)


def test_optimal_is_never_worse_than_the_other_theorems() -> None:
    for count in (1, 5, 200):
        figures = [per_use_epsilon(epsilon=2, delta="1e-6", count=count, theorem=name) for name in get_args(Theorem)]
        assert max(figures) == figures[-1]


def test_events_must_leave_room() -> None:
    with pytest.raises(InvalidParameter, match="delta / count"):
        per_use_epsilon(epsilon=1, delta="1e-6", count=100, per_use_delta="1e-7")
    with pytest.raises(InvalidParameter, match="one of basic"):
        per_use_epsilon(epsilon=1, delta="1e-6", count=100, theorem="best")  # type: ignore[arg-type]


@given(st.fractions(Fraction(1, 20), 8), st.integers(2, 15), st.integers(1, 30))
def test_gaussian_noise_meets_the_target_and_is_the_least(epsilon: Fraction, digits: int, count: int) -> None:
    delta, size = Fraction(1, 10**digits), Fraction(3)
    variance = gaussian_variance(sensitivity=Sensitivity(l2_squared=size), epsilon=epsilon, delta=delta, count=count)
    loss = repeated(ZCDP(size / (2 * variance)), count)
    assert to_approximate(loss, delta=delta).epsilon <= epsilon + Fraction(1, 10**12)
    less = repeated(ZCDP(MORE * size / (2 * variance)), count)
    assert to_approximate(less, delta=delta).epsilon > epsilon


def test_laplace_scale_follows_the_sensitivity() -> None:
    assert laplace_scale(sensitivity=2, epsilon="0.5") == 4
    assert laplace_scale(sensitivity=2, epsilon="0.5", count=10) == 40
    assert laplace_scale(sensitivity=2, epsilon="0.5", delta="1e-6", count=100) < 400


@pytest.mark.parametrize("family", [PureDP, ZCDP, BoundedRange, lambda size: LaplaceDP(size, steps=7)])
@pytest.mark.parametrize("delta", ["1e-6", "1e-12"])
def test_what_is_affordable_costs_no_more_than_the_amount_and_nearly_all_of_it(family: object, delta: str) -> None:
    amount = RenyiFilter.of(Budget(1, delta)).amount(epsilon="0.1")
    size = affordable(amount, family)  # type: ignore[arg-type]
    assert price(family(size), order=amount.order).divergence <= amount.divergence  # type: ignore[operator]
    assert price(family(size * MORE), order=amount.order).divergence > amount.divergence  # type: ignore[operator]


def test_nothing_is_affordable_for_nothing_and_constants_have_no_largest_parameter() -> None:
    with pytest.raises(InvalidParameter):
        affordable(Charge(divergence=0, order=None), PureDP)
    with pytest.raises(InvalidParameter, match="ordinary size"):
        affordable(Charge(divergence=10**15, order=None), lambda size: PureDP(Fraction(1)))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, 0, "1e999999", None])
def test_bad_numbers_are_refused(bad: object) -> None:
    for call in (
        lambda: per_use_epsilon(epsilon=bad, delta="1e-6", count=2),  # type: ignore[arg-type]
        lambda: textbook_epsilon(epsilon="0.5", slack=bad, count=2),  # type: ignore[arg-type]
        lambda: largest_rho(epsilon=1, delta=bad),  # type: ignore[arg-type]
        lambda: gaussian_variance(sensitivity=1, epsilon=bad, delta="1e-6"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameter):
            call()


def test_enormous_targets_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="ordinary size"):
        per_use_epsilon(epsilon="1e999", delta="1e-6", count=2)
    with pytest.raises((InvalidParameter, TheoremDoesNotApply)):
        textbook_epsilon(epsilon="1e999", slack="1e-6", count=2)


def check_largest_rho(cases: int, seed: int) -> None:
    with mp.workdps(DIGITS):
        for case, _ in zip(parameters(seed, epsilon=(1e-2, 20.0), delta=(1e-30, 0.2)), range(cases), strict=False):
            rho = largest_rho(epsilon=case["epsilon"], delta=case["delta"])
            truth = zcdp_epsilon(real(rho), real(case["delta"]))
            assert sound_and_tight_below(Fraction(mp.nstr(truth, 50)) - Fraction(1, 10**40), real(case["epsilon"])), (
                case
            )


def test_the_largest_rho_against_the_oracle() -> None:
    check_largest_rho(60, seed=21)


def test_what_is_affordable_fits_the_events_too() -> None:
    amount = Charge(divergence=10**15, delta=10**10, order=Fraction(8))
    event = affordable(amount, lambda size: ApproximateDP("0.01", size * Fraction(1, 10**6)))
    assert event * Fraction(1, 10**6) <= Fraction(1, 10**10)


def test_targets_out_of_reach_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="no order"):
        largest_rho(epsilon="1e-18", delta="1e-100")
