"""Smooth noise: the bound is smooth as it stands, both laws keep what they claim, and the slides' form does not."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from flint import arb

from checks import ALARM, SeededEntropy, chi_square
from costs import cases
from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import InvalidParameter, NeighbourMismatch, TheoremDoesNotApply
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs, SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.robust.profiles import Ordered, Profile, Windows
from dalenius.mechanisms.robust.smooth import SmoothCauchy, SmoothLaplace, SmoothNoise, smooth_bound
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.numbers import Number
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.rounded import cauchy_share, laplace_share, rounded_cauchy, rounded_laplace
from dalenius.textbook.privacy.smooth import median_smooth_sensitivity

ADD, REPLACE = AddRemove("row"), Replace("row")
TINY = Fraction(1, 10**12)
NOISES: list[SmoothNoise] = [
    SmoothCauchy.calibrated(epsilon=1),
    SmoothCauchy.calibrated(epsilon="0.25"),
    SmoothLaplace.calibrated(epsilon=1, delta="0.01"),
    SmoothLaplace.calibrated(epsilon=4, delta="1e-6"),
]
every_noise = pytest.mark.parametrize("noise", NOISES, ids=str)


def median_bound(rows: tuple[int, ...], beta: Fraction, top: int) -> Fraction:
    ordered = Ordered.of(rows, lower=0, upper=top)
    return smooth_bound(Windows(ordered, (len(rows) - 1) // 2), beta=beta, most=top)


@pytest.mark.textbook("S3.6", "S11.1")
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 50), Fraction(3)], ids=str)
@pytest.mark.parametrize("size", [1, 3, 4, 6])
def test_the_bound_is_the_smooth_sensitivity_rounded_up_by_next_to_nothing(size: int, beta: Fraction) -> None:
    for rows in combinations_with_replacement(range(4), size):
        oracle = max(Fraction(1, 1 << 64), median_smooth_sensitivity(rows, least=0, most=3, beta=beta))
        assert abs(median_bound(rows, beta, 3) / oracle - 1) < Fraction(size + 1, 1 << 60)  # the oracle has 64 bits


@pytest.mark.textbook("S3.6")
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 50)], ids=str)
def test_no_neighbour_has_a_bound_beyond_the_factor(beta: Fraction) -> None:
    """Exactly, not up to rounding: the factor is attained, and the rounding is taken from beta."""
    attained = Fraction(0)
    with precise():
        factor = lower(ball(beta).exp())
    for rows in combinations_with_replacement(range(3), 5):
        for other in REPLACE.around(Counter(rows), (0, 1, 2)):
            ratio = median_bound(rows, beta, 2) / median_bound(tuple(sorted(other.elements())), beta, 2)
            assert ratio <= factor
            attained = max(attained, ratio)
    assert attained > factor * (1 - Fraction(1, 1 << 90))


def test_skipping_leaves_nothing_out() -> None:
    steps = np.random.default_rng(7)
    for _ in range(30):
        jumps = np.cumsum(steps.integers(0, 9, 60) ** steps.integers(1, 6))
        profile: Profile = lambda k, jumps=jumps: int(jumps[min(k, 59)])  # type: ignore[misc] # noqa: E731
        beta = Fraction(int(steps.integers(1, 90)), 100)
        found = smooth_bound(profile, beta=beta, most=int(jumps[-1]))
        with precise():
            plain = max(upper((-ball(beta * k)).exp() * profile(k)) for k in range(200))
        assert abs(found / plain - 1) < Fraction(1, 1 << 90)


# ---- the laws


def test_the_cost_of_cauchy_noise_is_nearly_attained() -> None:
    """Far out, with the scale alone; the shift at the slope of the density."""
    by_scale = SmoothCauchy(beta=Fraction(1, 2), multiple=Fraction(1000))
    with precise():
        wide, narrow = by_scale.share(Fraction(1), 10**9), by_scale.share(Fraction(1) * 2, 10**9)
        assert abs(upper(narrow / wide) - 2) < Fraction(1, 1000)


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_more_beta_than_the_textbook_s_and_no_more_than_delta_pays_for(epsilon: str, delta: str) -> None:
    noise = SmoothLaplace.calibrated(epsilon=epsilon, delta=delta)
    with precise():
        textbook = lower(ball(Fraction(epsilon)) / (2 * ball(2 / Fraction(delta)).log()))
    assert noise.beta > textbook
    with pytest.raises(TheoremDoesNotApply, match="smooth scale"):
        SmoothLaplace(beta=noise.beta * Fraction(101, 100), multiple=noise.multiple, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]


# ---- the samplers


@cases("scale", [Fraction(1, 5), Fraction(1), Fraction(7, 3), Fraction(40)], ids=str, fast=1)
@pytest.mark.parametrize(("draw", "share"), [(rounded_laplace, laplace_share), (rounded_cauchy, cauchy_share)])
def test_rounded_noise_follows_its_law_and_no_other(draw: Any, share: Any, scale: Fraction) -> None:
    source = SeededEntropy((str(scale), draw.__name__))
    drawn = np.array([min(max(draw(scale, source), -1000), 1000) for _ in range(20_000)])

    def chance(width: Fraction, z: int) -> float:
        with precise():
            return float(share(width, z).mid())

    assert chi_square(drawn, partial(chance, scale)) > ALARM
    assert chi_square(drawn, partial(chance, scale * Fraction(5, 4))) < 1e-6


@pytest.mark.parametrize("share", [laplace_share, cauchy_share])
def test_the_stated_shares_add_up(share: Any) -> None:
    with precise():
        total = sum((share(Fraction(3), z) for z in range(-4000, 4001)), arb(0))
        assert -TINY <= 1 - upper(total) < Fraction(1, 1000)


def test_tiny_and_huge_scales_are_drawn_too() -> None:
    source = SeededEntropy("ends")
    for draw in (rounded_laplace, rounded_cauchy):
        assert draw(Fraction(1, 1 << 64), source) == 0
        assert abs(draw(Fraction(1 << 200), source)) > 1 << 150


# ---- the mechanisms


def median_of(noise: SmoothNoise = NOISES[0], **options: Any) -> SmoothQuantile:
    return SmoothQuantile(lower=0, upper=1000, noise=noise, **{"neighbours": REPLACE, **options})


@pytest.mark.textbook("S11.1")
def test_the_median_goes_through_the_door() -> None:
    mechanism = median_of(NOISES[3], neighbours=ADD)
    sealed = Exact([500] * 999, sensitivity=Sensitivity(l1=1), neighbours=ADD)
    loss = mechanism.loss(sensitivity=sealed.sensitivity)
    assert loss == ApproximateDP(4, "1e-6")
    allowance = PrivacyFilter(Budget(epsilon=100, delta="1e-3"), neighbours=ADD).allow(loss)
    assert measure(mechanism, sealed, allowance, SeededEntropy("door")) == 500


@pytest.mark.parametrize("neighbours", [ADD, REPLACE], ids=str)
def test_dense_data_get_little_noise_and_sparse_data_much(neighbours: Any) -> None:
    dense, sparse = [400 + place % 200 for place in range(2001)], [0, 1000] * 4
    mechanism, source = median_of(neighbours=neighbours), SeededEntropy("dense")
    off = [abs(mechanism.release(dense, source) - 500) for _ in range(100)]
    spread = [mechanism.release(sparse, source) for _ in range(100)]
    assert np.median(off) <= 3
    assert len(set(spread)) > 20


def test_what_is_released_lies_on_the_grid() -> None:
    source = SeededEntropy("grid")
    for rows in ([], [1000], [0, 1000], [-5, 2000]):
        for neighbours in (ADD, REPLACE):
            released = [median_of(neighbours=neighbours).release(rows, source) for _ in range(50)]
            assert all(0 <= each <= 1000 for each in released)


def test_a_trimmed_mean_is_near_the_mean_of_what_is_kept() -> None:
    mechanism = SmoothTrimmedMean(lower=0, upper=1000, noise=NOISES[0], neighbours=REPLACE)
    rows = [1000] * 50 + list(range(300, 700)) + [0] * 50
    found = [mechanism.release(rows, SeededEntropy(turn)) for turn in range(50)]
    assert abs(np.median([float(each) for each in found]) - 499.5) < 5
    assert mechanism.kept(10) == (2, 6)


def test_equal_pairs_are_counted_with_noise_of_the_size_of_the_largest_key() -> None:
    mechanism = SmoothEqualPairs(noise=NOISES[0], neighbours=ADD)
    rows = [place % 500 for place in range(2000)]
    found = [mechanism.release(rows, SeededEntropy(turn)) for turn in range(99)]
    assert abs(np.median(found) - 3000) < 20
    assert mechanism.release([], SeededEntropy(0)) >= 0


@pytest.mark.parametrize("largest", range(5))
def test_the_bound_for_equal_pairs_is_the_maximum_over_all_k(largest: int) -> None:
    for beta in (Fraction(1, 2), Fraction(1, 30), Fraction(2)):
        last = -(-1 // beta) + 2
        found = smooth_bound(lambda k: largest + k, beta=beta, most=largest + int(last), last=int(last))
        with precise():
            plain = max(upper((-ball(beta * k)).exp() * (largest + k)) for k in range(300))
        assert abs(found / plain - 1) < Fraction(1, 1 << 90)


def test_what_the_theorems_do_not_cover_is_refused() -> None:
    with pytest.raises(TheoremDoesNotApply, match="one value of each unit"):
        SmoothTrimmedMean(lower=0, upper=9, noise=NOISES[0], neighbours=REPLACE, rows=2)
    with pytest.raises(NeighbourMismatch):
        SmoothEqualPairs(noise=NOISES[0], neighbours=REPLACE)
    with pytest.raises(TheoremDoesNotApply, match="one value of each unit"):
        median_of(rows=2)
    with pytest.raises(TheoremDoesNotApply, match="at most 2 values"):
        median_of().loss(sensitivity=Sensitivity(l1=3))
    with pytest.raises(InvalidParameter, match="noise"):
        SmoothQuantile(lower=0, upper=1, noise=1, neighbours=ADD)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="trim"):
        SmoothTrimmedMean(lower=0, upper=1, noise=NOISES[0], neighbours=REPLACE, trim=Fraction(1, 2))


@pytest.mark.parametrize("wrong", [0, -1, "nan", None])
def test_an_epsilon_that_is_no_positive_number_is_refused(wrong: Number) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        SmoothCauchy.calibrated(epsilon=wrong)


@every_noise
def test_how_far_noise_reaches_is_what_its_law_says(noise: SmoothNoise) -> None:
    bound, reach = Fraction(50), noise.spread("0.1")
    edge = int(reach * bound)
    with precise():
        outside = 1 - upper(sum((noise.share(bound, z) for z in range(-edge, edge + 1)), arb(0)))
    assert abs(outside - Fraction(1, 10)) < Fraction(1, 100)
