"""The dear tests of `unit/mechanisms/robust/test_smooth.py`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from flint import arb

import dalenius as dl
from checks import SeededEntropy
from dalenius.mechanisms.robust.smooth import SmoothCauchy, SmoothNoise
from dalenius.privacy.losses import PureDP
from dalenius.privacy.reals import ball, precise, upper
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.rounded import laplace_share, rounded_laplace
from dalenius.verify.checked import CheckedPairs, finite
from tests.unit.mechanisms.robust.test_smooth import NOISES, TINY, every_noise, median_bound


@pytest.mark.textbook("S11.1")
@every_noise
def test_no_claim_is_refuted_by_the_exact_laws(noise: SmoothNoise) -> None:
    found = checked(noise, 400)
    assert found.holds(noise.loss, tolerance=TINY) is not False
    if isinstance(noise, SmoothCauchy):
        assert found.epsilon <= noise.loss.epsilon + TINY


def noisy_median(noise: Any, entropy: Entropy, rows: tuple[int, ...], size: int) -> list[int]:
    bound = median_bound(rows, noise.beta, 40)
    return [rows[2] + noise.noise(bound, entropy) for _ in range(size)]


@pytest.mark.textbook("S11.1")
def test_the_audit_flags_the_form_of_the_slides_and_not_ours() -> None:
    for noise, refuted in [(SlidesLaplace(Fraction(1)), True), (NOISES[0], False), (NOISES[2], False)]:
        release = partial(noisy_median, noise, SeededEntropy("audit"))
        report = dl.audit(release, WIDE, NARROW, claim=noise.loss, samples=20_000, confidence="0.999999")  # type: ignore[operator]
        assert report.refuted is refuted


@pytest.mark.textbook("S11.1")
def test_the_general_theorem_for_heavy_tails_pays_three_times_what_cauchy_noise_costs() -> None:
    general = SmoothCauchy(beta=Fraction(1, 6), multiple=Fraction(6))
    assert general.loss == PureDP(Fraction(1, 3))
    assert checked(general, 800).epsilon <= general.loss.epsilon


def law(noise: Any, value: int, bound: Fraction, reach: int) -> dict[int, arb]:
    with precise():
        return {z: noise.share(bound, z - value) for z in range(-reach, reach + 1)}


WIDE, NARROW = (0, 0, 0, 40, 40), (0, 0, 0, 0, 40)


"""Neighbours with equal medians, and smooth bounds that differ by the whole factor e^beta."""


def checked(noise: Any, reach: int) -> CheckedPairs:
    """The exact laws of the noisy median of some neighbours, far out."""
    databases = [WIDE, NARROW, (0, 0, 40, 40, 40), (0, 0, 0, 0, 0)]
    tables = {rows: law(noise, rows[2], median_bound(rows, noise.beta, 40), reach) for rows in databases}
    return finite(tables, [(WIDE, NARROW), (WIDE, databases[2]), (NARROW, databases[3])], truncated=True)


@dataclass(frozen=True)
class SlidesLaplace:
    """The form of the slides: an epsilon-smooth bound over epsilon as the scale of Laplace noise, billed 2 epsilon."""

    beta: Fraction

    @property
    def loss(self) -> PureDP:
        return PureDP(2 * self.beta)

    def noise(self, bound: Fraction, entropy: Entropy) -> int:
        return rounded_laplace(bound / self.beta, entropy)

    def share(self, bound: Fraction, z: int) -> arb:
        return laplace_share(bound / self.beta, z)


@pytest.mark.textbook("S11.1")
def test_the_form_of_the_slides_is_refuted_by_the_exact_laws() -> None:
    broken = SlidesLaplace(Fraction(1))
    assert checked(broken, 400).holds(broken.loss) is False


def test_the_mass_that_escapes_is_what_the_integral_says() -> None:
    """The closed form of the hockey stick against sums over a fine grid."""
    wide, narrow, rest = Fraction(2000), Fraction(1500), Fraction(1, 2)
    with precise():
        odds = ball(rest).exp()
        gaps = (laplace_share(wide, z) - odds * laplace_share(narrow, z) for z in range(40_000))
        total = 2 * sum((gap for gap in gaps if gap > 0), arb(0))
        rate = ball(wide / narrow).log()
        closed = -(-rate).expm1() * (-(ball(rest) + rate) / rate.expm1()).exp()
        assert abs(upper(total / closed) - 1) < Fraction(1, 100)
