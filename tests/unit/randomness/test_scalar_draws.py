"""Single draws: exact where bits run out, and of a cost that says nothing about the result."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import log

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius import randomness
from dalenius.randomness import heavy_tail, tables
from dalenius.randomness.binomial_counts import binomial_count
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.laplace import _STEP_LEAST, _STEPS, geometric_steps, laplace_noise
from scripted import Script

TOP = 1 << 64


class Tally(SeededEntropy):
    """Counts the requests: what a draw costs, without a clock."""

    requests = 0

    def read(self, count: int) -> bytes:
        self.requests += 1
        return super().read(count)


def size_and_cost(draw: Callable[[Entropy], int], draws: int) -> float:
    """The correlation of a draw's distance from zero with its number of requests."""
    source, sizes, costs = Tally("cost"), [], []
    for _ in range(draws):
        before = source.requests
        sizes.append(abs(draw(source)))
        costs.append(source.requests - before)
    return float(np.corrcoef(sizes, costs)[0, 1]) if len(set(costs)) > 1 else 0.0


def loop_noise(source: Entropy) -> int:
    """Planted: the textbook's loop, which runs as long as the noise is large."""
    size = 0
    while randomness.bernoulli_exp(Fraction(1, 10), entropy=source):
        size += 1
    return -size if source.bits(1) else size


@pytest.mark.parametrize("scale", [1, 10, 10**6])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_number_of_requests_says_nothing_about_the_noise(law: str, scale: int) -> None:
    """False alarms: below 1e-6, as 0.08 is five standard deviations for 4000 independent pairs."""
    sampler, parameter = (
        (randomness.discrete_laplace, scale) if law == "laplace" else (randomness.discrete_gaussian, scale**2)
    )
    assert abs(size_and_cost(lambda source: sampler(parameter, entropy=source), 4000)) < 0.08


def test_the_test_above_notices_a_loop() -> None:
    assert size_and_cost(loop_noise, 500) > 0.9


def test_a_single_draw_makes_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_tables", {})
    monkeypatch.setattr(tables.LawCells, "boundaries", None)
    for _ in range(100):
        randomness.discrete_laplace("123.456")
        randomness.discrete_gaussian("123.456")
        randomness.geometric("0.0123")
    assert not tables._tables


def test_the_steps_of_a_draw_end_where_the_law_says() -> None:
    """A word just before and just after each end; the coin that follows is certain for a scale of one."""
    for step in range(0, 255, 7):
        end = _STEP_LEAST[step]
        assert geometric_steps(1, 1, Script(end - 1, 0)) == step // 8
        assert geometric_steps(1, 1, Script(end + 1, 0)) == (step + 1) // 8
    assert len(_STEP_LEAST) == 255


def test_a_step_on_its_end_is_refined() -> None:
    for step in (7, 15, 103):
        end, following = divmod(_STEPS.boundaries(128).least[step], TOP)
        assert geometric_steps(1, 1, Script(end, following - 1, 0)) == step // 8
        assert geometric_steps(1, 1, Script(end, following + 1, 0)) == step // 8 + 1


def test_a_step_beyond_the_list_is_refined() -> None:
    """A word of 64 ones and then a third: the tail is 2^-64 * 2/3 there."""
    drawn = geometric_steps(1, 1, Script(TOP - 1, TOP // 3, 0))
    assert drawn == int(64 * log(2) + log(3 / 2))


def test_minus_zero_is_drawn_again() -> None:
    source = Script(0, 0, 0x80, 0, 0, 0x00)  # zero with a minus, then zero with a plus
    assert laplace_noise(1, 1, source) == 0
    assert source.left == []


@pytest.mark.parametrize("number", [3, "3", "3.0", 3.0, Decimal(3), Fraction(6, 2), np.int64(3)])
def test_a_number_means_the_same_however_it_is_written(number: object) -> None:
    for name in ("discrete_laplace", "discrete_gaussian", "discrete_cauchy", "geometric"):
        sampler = getattr(randomness, name)
        assert (
            sampler(number, 100, entropy=SeededEntropy(1)).tolist()
            == sampler(3, 100, entropy=SeededEntropy(1)).tolist()
        )


def test_a_float_is_the_decimal_that_prints_it() -> None:
    tenth = [
        randomness.geometric(value, 200, entropy=SeededEntropy(2)).tolist() for value in (0.1, "0.1", Fraction(1, 10))
    ]
    assert tenth[0] == tenth[1] == tenth[2]


@pytest.mark.parametrize("name", ["discrete_laplace", "discrete_gaussian", "discrete_cauchy"])
def test_scales_beyond_machine_words_stay_exact(name: str) -> None:
    power = 2 if name == "discrete_gaussian" else 1
    drawn = getattr(randomness, name)(Fraction(10**60, 7) ** power, 40, entropy=SeededEntropy(3))
    assert drawn.dtype == object
    assert all(type(value) is int for value in drawn)
    assert 10**58 < np.median(np.abs(drawn)) < 10**60
    assert len({value % 1000 for value in drawn}) > 25  # the low digits are random too


@pytest.mark.parametrize("name", ["discrete_laplace", "discrete_gaussian", "geometric"])
def test_the_widest_arrays_of_machine_words_use_all_their_bits(name: str) -> None:
    scale = (1 << 55) + 1
    parameter = {"discrete_laplace": scale, "discrete_gaussian": scale**2, "geometric": Fraction(1, scale)}[name]
    drawn = getattr(randomness, name)(parameter, 2000, entropy=SeededEntropy(4))
    assert drawn.dtype == np.int64
    assert 0.5 < np.median(np.abs(drawn)) / scale < 0.9  # ln 2, or 0.674; nine standard deviations
    assert all(0.4 < np.mean(drawn >> bit & 1) < 0.6 for bit in range(50))  # nine standard deviations each


def test_far_values_have_hyperbolic_tails_to_the_last_bit() -> None:
    """floor(3 / U) changes from k to k - 1 where U passes 3 / k."""
    for k in (5, 7, 100, 10**6 + 3):
        prefix, following = divmod((3 << 130) // k, TOP)
        for u, expected in ((prefix - 1, k), (prefix + 1, k - 1)):
            assert heavy_tail._far(3, Script(*wide(u))) == expected
        assert heavy_tail._far(3, Script(*wide(prefix), following - 1)) == k
        assert heavy_tail._far(3, Script(*wide(prefix), following + 1)) == k - 1
    assert heavy_tail._far(3, Script(0, 0, 1 << 62, 5)) == (3 << 194) // ((1 << 126) + 5)


def wide(value: int) -> tuple[int, int]:
    """The two script words of which `bits(66)` makes `value`: nine bytes, of which the last six bits are dropped."""
    return (value << 6) % TOP, (value << 6) >> 64


def test_binomial_counts_end_at_n_and_certain_coins_are_certain() -> None:
    source = SeededEntropy(5)
    assert {binomial_count(3, Fraction(1, 3), source) for _ in range(400)} == {0, 1, 2, 3}
    assert binomial_count(9, Fraction(1), source) == 9
    assert binomial_count(9, Fraction(0), source) == 0
    assert binomial_count(0, Fraction(1, 3), source) == 0
    assert randomness.binomial(9, 700, p=1).tolist() == [9] * 700


def test_binomial_counts_cost_the_same_for_any_number_of_coins() -> None:
    """One draw of 10^40 coins is within 60 standard deviations of the mean."""
    n = 10**40
    assert abs(binomial_count(n, Fraction(1, 2), SeededEntropy(6)) - n // 2) < 60 * 10**20


@pytest.mark.parametrize("size", [None, (), 600])
@pytest.mark.parametrize("name", ["discrete_laplace", "discrete_gaussian", "discrete_cauchy", "geometric", "binomial"])
def test_the_smallest_and_largest_parameters_work(name: str, size: int | None) -> None:
    """Noise of scale 10^-4000 is zero, up to a chance below 10^-4000; that of scale 10^4000 is not."""
    sampler, tiny, vast = getattr(randomness, name), "1e-4000", "1e4000"
    size = 20 if size == 600 and name == "discrete_cauchy" else size  # it makes no tables
    if name == "binomial":
        assert not np.any(sampler(5, size, p=tiny))
    elif name == "geometric":
        assert not np.any(sampler(vast, size))
        assert np.all(sampler(tiny, size) > 10**3000)
    else:
        assert not np.any(sampler(tiny, size))
        assert np.all(abs(sampler(vast, size)) > 10**1000)
