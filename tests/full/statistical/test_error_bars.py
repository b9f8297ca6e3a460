"""The dear tests of `statistical/test_error_bars.py`."""

from __future__ import annotations

from fractions import Fraction

from tests.statistical.test_error_bars import TERMS, Group, computed, coverage, covered


def test_the_test_above_notices_noise_that_is_a_half_larger_than_stated() -> None:
    group = Group("laplace", "1", 300, "centred", stated=Fraction(2, 3))
    assert all(coverage(*computed(post, group), truth) < 0.94 for post, truth in TERMS[:3])


def test_the_test_of_second_moments_notices_noise_that_is_a_half_larger_than_stated() -> None:
    assert covered(Group("gaussian", "1", 10_000, "skewed", stated=Fraction(2, 3)), "variance") < 0.94
    assert covered(Group("gaussian", "1", 10_000, "skewed", stated=Fraction(2, 3)), "correlation") < 0.94
