"""Coins and dice are exact: every decision is the one that the real numbers give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dalenius import randomness
from dalenius.errors import InvalidParameter
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import bracket, coin, coin_exp, exp_minus, exp_word, flips, is_below
from scripted import Script

TOP = 1 << 64


def scaled_exp(y: Fraction, bits: int) -> int:
    """floor(2^bits exp(-y)), by another library."""
    with mp.workprec(bits + 200):
        return int(mp.floor(mp.exp(-mpf(y.numerator) / y.denominator) * 2**bits))


def digits(number: int, count: int) -> list[int]:
    """The 64-bit digits of number / 2^(64 count)."""
    return [number >> 64 * (count - 1 - i) & (TOP - 1) for i in range(count)]


@given(st.fractions(0, 60, max_denominator=10**12))
def test_the_quick_exponential_is_within_its_stated_error(y: Fraction) -> None:
    assert abs(exp_word(y.numerator, y.denominator) - scaled_exp(y, 64)) < 1 << 26


@pytest.mark.parametrize(
    "y", [0, 1, 44, 45, 46, 10**30, Fraction(1, 10**30), Fraction(4095, 4096), Fraction(16 * 45 - 1, 16)]
)
def test_the_quick_exponential_is_right_at_its_edges(y: int | Fraction) -> None:
    assert abs(exp_word(Fraction(y).numerator, Fraction(y).denominator) - scaled_exp(Fraction(y), 64)) < 1 << 26


def test_the_stated_error_is_needed() -> None:
    """The bound is no waste: r close to 2^-12 comes within a factor of two of it."""
    y = Fraction(1, 4096) - Fraction(1, 1 << 40)
    assert abs(exp_word(y.numerator, y.denominator) - scaled_exp(y, 64)) > 1 << 24


@pytest.mark.parametrize("y", [Fraction(1, 3), Fraction(7, 2), Fraction(1, 10**9), Fraction(44)])
def test_an_exponential_coin_reveals_bits_until_it_is_decided(y: Fraction) -> None:
    flip = partial(coin_exp, y.numerator, y.denominator)
    first, second, third = digits(scaled_exp(y, 192), 3)
    assert flip(Script(first - 1 if first else 0, TOP - 1)) == (first > 0)
    assert not flip(Script(first + 1, 0))
    assert flip(Script(first, second - 1))
    assert not flip(Script(first, second + 1))
    assert flip(Script(first, second, third - 1))
    assert not flip(Script(first, second, third + 1))


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(2, 7), Fraction(1, 1 << 70), Fraction(3, 4)])
def test_a_rational_coin_reveals_bits_until_it_is_decided(p: Fraction) -> None:
    first, second = digits(int(p * (1 << 128)), 2)
    for flip in (partial(coin, p.numerator, p.denominator), flip_one_of_many(p)):
        if first:
            assert flip(Script(first - 1))
        assert not flip(Script(first + 1))
        if second:
            assert flip(Script(first, second - 1))
        assert not flip(Script(first, second + 1))


def flip_one_of_many(p: Fraction) -> Callable[[Entropy], bool]:
    return lambda source: bool(randomness.bernoulli(p, 1, entropy=source)[0])


def test_coins_at_the_ends_are_certain() -> None:
    for source in (Script(0, 0), Script(TOP - 1, TOP - 1)):
        assert coin(1, 1, source)
        assert not coin(0, 1, source)
    words = [0, 1, TOP // 2, TOP - 1]
    assert randomness.bernoulli(1, 4, entropy=Script(*words)).tolist() == [True] * 4
    assert randomness.bernoulli(0, 4, entropy=Script(*words)).tolist() == [False] * 4
    assert randomness.bernoulli_exp(0, 4, entropy=Script(*words)).tolist() == [True] * 4
    assert randomness.bernoulli_exp(0, entropy=Script(TOP - 1)) is True


def test_coins_that_are_almost_certain_are_not() -> None:
    p = 1 - Fraction(1, 1 << 70)  # 64 ones, then six more and a zero
    below, above = (TOP - 1, TOP - (1 << 58) - 1), (TOP - 1, TOP - (1 << 58))
    assert randomness.bernoulli(p, 1, entropy=Script(*below)).tolist() == [True]
    assert randomness.bernoulli(p, 1, entropy=Script(*above)).tolist() == [False]
    assert coin(p.numerator, p.denominator, Script(*below, 0)) is True
    assert coin(p.numerator, p.denominator, Script(*above, 0)) is False


@given(st.fractions(0, 3, max_denominator=50))
def test_arrays_of_exponential_coins_cut_at_the_exact_place(x: Fraction) -> None:
    cut = scaled_exp(x, 64)
    if 0 < cut < TOP - 1:
        drawn = randomness.bernoulli_exp(x, 3, entropy=Script(cut - 1, cut + 1, 0))
        assert drawn.tolist() == [True, False, True]


def test_an_enclosure_that_says_nothing_is_refined_not_trusted() -> None:
    """At low precision the real below is anything; more bits are drawn until it is known."""

    def shy() -> Any:
        wide = exp_minus(1, 1) + (exp_minus(0, 1) - exp_minus(0, 1))
        return wide / 0 if len(calls) < 2 else wide

    calls: list[int] = []
    first, second, third = digits(scaled_exp(Fraction(1), 192), 3)

    class Counting(Script):
        def word(self) -> int:
            calls.append(1)
            return super().word()

    assert is_below(first - 1, 64, shy, Counting(second, third))
    assert calls == [1, 1]


def test_brackets_enclose() -> None:
    for numerator in range(50):
        least, most = bracket(partial(exp_minus, numerator, 7), 100)
        assert least <= scaled_exp(Fraction(numerator, 7), 100) <= most <= least + 1


def test_flips_take_any_real_number() -> None:
    cut = scaled_exp(Fraction(1), 64) // 3
    assert flips(2, lambda: exp_minus(1, 1) / 3, Script(cut - 1, cut + 1)).tolist() == [True, False]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1 << 32, (1 << 63) - 1, 1 << 63])
def test_dice_drop_the_incomplete_run(n: int) -> None:
    """Every result has the same number of words: those below the last multiple of n."""
    limit = TOP - TOP % n
    words = [0, n - 1, n % TOP, limit - 1, limit - n]
    assert randomness.uniform_below(n, 5, entropy=Script(*words)).tolist() == [word % n for word in words]
    if limit < TOP:
        drawn = randomness.uniform_below(n, 2, entropy=Script(limit, TOP - 1, TOP - 1, 5 % n, 7 % n))
        assert drawn.tolist() == [7 % n, 5 % n]


def test_one_die_rejects_what_is_too_large() -> None:
    source = Script(*[value << 5 for value in (7, 5, 6, 4)])  # three bits are the upper ones of a byte
    assert randomness.uniform_below(5, entropy=source) == 4
    assert source.left == []


def test_dice_may_be_larger_than_a_machine_word() -> None:
    drawn = randomness.uniform_below(10**30, (2, 3))
    assert drawn.shape == (2, 3)
    assert all(0 <= value < 10**30 for value in drawn.ravel())
    assert max(drawn.ravel()) > 10**18  # or else six draws were below a 10^-12th of the range


SAMPLERS: dict[str, tuple[Callable[..., Any], Sequence[object]]] = {
    "bernoulli": (randomness.bernoulli, [-1, "1.1", "nan"]),
    "bernoulli_exp": (randomness.bernoulli_exp, [-1, "-0.001", "inf"]),
    "binomial": (randomness.binomial, [-1, 0.5, "3"]),
    "discrete_cauchy": (randomness.discrete_cauchy, [0, -1]),
    "discrete_gaussian": (randomness.discrete_gaussian, [0, -4]),
    "discrete_laplace": (randomness.discrete_laplace, [0, "-2.5"]),
    "geometric": (randomness.geometric, [0, -1]),
    "uniform_below": (randomness.uniform_below, [0, -3, 2.0]),
}
NEVER = [float("nan"), float("inf"), "much", None, True, [1]]


@pytest.mark.parametrize("name", SAMPLERS)
def test_bad_parameters_get_one_clear_error(name: str) -> None:
    sampler, bad = SAMPLERS[name]
    for size in (None, 3, 2000):
        for value in [*bad, *NEVER]:
            with pytest.raises(InvalidParameter, match="must be"):
                sampler(value, size)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("size", [-1, 2.5, "3", (2, -1), True])
def test_bad_sizes_get_one_clear_error(name: str, size: Any) -> None:
    with pytest.raises(InvalidParameter, match="size"):
        SAMPLERS[name][0](1, size)


@pytest.mark.parametrize("name", SAMPLERS)
def test_sizes_give_shapes_and_none_gives_a_plain_value(name: str) -> None:
    sampler = SAMPLERS[name][0]
    assert type(sampler(1)) is (bool if name.startswith("bernoulli") else int)
    for size, shape in [(0, (0,)), (5, (5,)), (1000, (1000,)), ((2, 3), (2, 3)), ((40, 50), (40, 50)), ((), ())]:
        drawn = sampler(1, size)
        assert drawn.shape == shape
        assert drawn.dtype == (np.bool_ if name.startswith("bernoulli") else np.int64)
