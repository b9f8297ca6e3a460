"""Certain answers about real numbers, and the searches that use them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dalenius.privacy.reals import ball, certainly_positive, least, least_multiple


@pytest.mark.parametrize("digits", [1, 30, 100, 1000])
def test_a_tiny_difference_is_decided(digits: int) -> None:
    tiny = Fraction(1, 10**digits)
    third = Fraction(1, 3)
    assert certainly_positive(lambda: ball(third + tiny) - ball(third))
    assert not certainly_positive(lambda: ball(third) - ball(third + tiny))


def test_zero_is_given_up_on_and_not_guessed() -> None:
    with pytest.raises(ArithmeticError):
        certainly_positive(lambda: arb.pi() - arb.pi())


@given(answer=st.integers(-(10**20), 10**20), guess=st.integers(-(10**20), 10**20))
def test_the_least_integer_is_found_from_any_guess(answer: int, guess: int) -> None:
    assert least(lambda n: n >= answer, guess=guess) == answer


@given(bound=st.fractions(Fraction(1, 10**6), 10**6), factor=st.fractions(Fraction(1, 2), 2))
def test_the_least_multiple_is_just_above_the_bound(bound: Fraction, factor: Fraction) -> None:
    found = least_multiple(lambda x: x >= bound, near=bound * factor)
    assert bound <= found <= bound * (1 + Fraction(1, 10**6) * max(1, factor))
    assert found.denominator & (found.denominator - 1) == 0
