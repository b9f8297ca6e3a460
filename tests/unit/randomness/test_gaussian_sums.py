"""The sums behind the discrete Gaussian are enclosed, at every size of the noise and by every method."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from dalenius.privacy.reals import ball, precise
from dalenius.randomness import gaussian as gaussian_sums

VARIANCES = [
    Fraction(1, 1000),
    Fraction(1, 10),
    Fraction(7, 44),
    Fraction(1, 6),
    Fraction(1),
    Fraction(50),
    Fraction(3000),
]


def plain_sum(variance: Fraction, start: int, stop: int, power: int = 0) -> arb:
    return sum(((-ball(z * z / (2 * variance))).exp() * z**power for z in range(start, stop)), arb(0))


def far(variance: Fraction) -> int:
    return int((500 * variance) ** Fraction(1, 2)) + 3  # exp(-250) and less is left out


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_total_is_the_sum_over_all_integers(variance: Fraction) -> None:
    with precise():
        stop = far(variance)
        total, plain = gaussian_sums.total(variance), plain_sum(variance, -stop, stop + 1)
        assert abs(total / plain - 1) < 1e-70
        moment = plain_sum(variance, -stop, stop + 1, power=2) / plain
        assert abs(gaussian_sums.second_moment(variance) / moment - 1) < 1e-60


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("deviations", [0, 1, 3, 8])
def test_the_tail_is_the_sum_from_its_start(variance: Fraction, deviations: int) -> None:
    start = int(deviations * float(variance) ** 0.5)
    with precise():
        plain = plain_sum(variance, start, start + far(variance))
        assert abs(gaussian_sums.tail(variance, start) / plain - 1) < 1e-60


@pytest.mark.parametrize("orders", range(1, 20, 3))
@pytest.mark.parametrize(("variance", "start"), [(4, 0), (4, 3), (300, 0), (300, 40), (300, 150)])
def test_the_bound_of_what_the_series_leaves_out_holds_at_every_order(orders: int, variance: int, start: int) -> None:
    with precise():
        exact = plain_sum(Fraction(variance), start, start + far(Fraction(variance)))
        series = gaussian_sums._euler_maclaurin(Fraction(variance), start, orders)
        assert series.overlaps(exact)
        assert not series.contains(exact + 2 * series.rad())  # an enclosure, and not the whole line


def test_the_series_without_its_bound_would_be_noticed() -> None:
    with precise():
        exact = plain_sum(Fraction(4), 0, 60)
        assert not gaussian_sums._euler_maclaurin(Fraction(4), 0, 2).mid().overlaps(exact)


@pytest.mark.parametrize("exponent", [4, 12, 30, 60])
def test_the_work_does_not_grow_with_the_variance(exponent: int) -> None:
    variance = Fraction(10) ** exponent
    with precise(128):
        tail = gaussian_sums.tail(variance, 3 * 10 ** (exponent // 2))
        assert tail.rel_accuracy_bits() > 100
        assert gaussian_sums.total(variance).rel_accuracy_bits() > 100
        normal = (3 / arb(2).sqrt()).erfc() / 2
        assert abs(tail / gaussian_sums.total(variance) / normal - 1) < 2.0 / 10 ** (exponent // 2)
