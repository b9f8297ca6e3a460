"""A pure release changes expected utilities by at most e^epsilon; an approximate one by anything."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.divergences import Distribution, is_private, max_divergence
from dalenius.privacy.losses import ZCDP, ApproximateDP, Loss, PureDP
from dalenius.privacy.odds import bracket, log_above
from dalenius.textbook.privacy.accuracy import utility_bounds
from strategies import distributions


@pytest.mark.textbook("S1.9")
@given(distributions(least=1), distributions(least=1), st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_expected_utility_stays_within_the_bounds(
    x: Distribution[int], y: Distribution[int], utility: list[int]
) -> None:
    epsilon = max(max_divergence(x, y), max_divergence(y, x))
    assert isinstance(epsilon, Fraction)
    low, high = utility_bounds(PureDP(epsilon), expected=y.mean(utility.__getitem__))
    assert low <= x.mean(utility.__getitem__) <= high


@pytest.mark.textbook("S1.9")
def test_the_bounds_are_reached() -> None:
    epsilon = Fraction(log_above(Fraction(3)))
    x, y = Distribution({"yes": "0.75", "no": "0.25"}), Distribution({"yes": "0.25", "no": "0.75"})
    _, high = utility_bounds(PureDP(epsilon), expected=y.mass("yes"))
    assert 0 <= high - x.mass("yes") < Fraction(1, 10**60)
    low, _ = utility_bounds(PureDP(epsilon), expected=y.mass("no"))
    assert 0 <= x.mass("no") - low < Fraction(1, 10**60)


@pytest.mark.textbook("S1.9")
def test_the_bounds_are_rounded_outwards() -> None:
    low, high = utility_bounds(PureDP(Fraction(1)), expected=1)
    with mpmath.workdps(200):
        truth = mpmath.e
        assert mpmath.mpf(low.numerator) / low.denominator < 1 / truth
        assert mpmath.mpf(high.numerator) / high.denominator > truth


@pytest.mark.textbook("S1.9")
@pytest.mark.parametrize("loss", [ApproximateDP(1, "1e-9"), ZCDP(Fraction(1, 2))])
def test_only_pure_losses_bound_utilities(loss: Loss) -> None:
    with pytest.raises(TheoremDoesNotApply, match="a pure loss"):
        utility_bounds(loss, expected=1)


@pytest.mark.textbook("S1.9")
def test_a_delta_can_carry_any_utility() -> None:
    """Why the refusal: (0, 1e-9)-DP, and yet the expected utility grows a thousandfold."""
    y, x = Distribution({"calm": 1}), Distribution({"calm": 1 - Fraction(1, 10**9), "ruin": Fraction(1, 10**9)})
    assert is_private(x, y, epsilon=0, delta="1e-9")
    value = {"calm": 1, "ruin": 10**12}
    assert x.mean(value.__getitem__) > 1000 * bracket(Fraction(1))[1] / 3 * y.mean(value.__getitem__)


@pytest.mark.textbook("S1.9")
def test_utilities_are_never_negative() -> None:
    with pytest.raises(InvalidParameter):
        utility_bounds(PureDP(Fraction(1)), expected=-1)
