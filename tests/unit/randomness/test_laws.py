"""The laws of the noise: probabilities are right, quantiles are exact, and scale does not matter."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.privacy.reals import ball, precise
from dalenius.randomness.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, LaplaceLaw, LaplaceSumLaw, NoiseLaw

oracle = mpmath.mp.clone()
oracle.dps = 60
SCALES = st.fractions(Fraction(1, 5), 12)
BETAS = st.fractions(Fraction(1, 10**6), Fraction(99, 100)).filter(lambda beta: 0 < beta < 1)


def laws(scale: Fraction) -> list[NoiseLaw]:
    return [DiscreteLaplaceLaw(scale), DiscreteGaussianLaw(scale**2), LaplaceSumLaw(scale, 3)]


def weight(law: NoiseLaw, z: int) -> Any:
    """The unnormalised probability, written down a second time and computed by another library."""
    if isinstance(law, DiscreteLaplaceLaw):
        return oracle.exp(-abs(z) / oracle.mpf(law.scale.numerator) * law.scale.denominator)
    assert isinstance(law, DiscreteGaussianLaw)
    return oracle.exp(-z * z / (2 * oracle.mpf(law.parameter.numerator)) * law.parameter.denominator)


def tabulated(law: NoiseLaw, reach: int) -> dict[int, Any]:
    """P[Z = z] for |z| <= reach; what lies beyond must be negligible."""
    if isinstance(law, LaplaceSumLaw):
        one = tabulated(DiscreteLaplaceLaw(law.scale), reach)
        table = one
        for _ in range(law.terms - 1):
            table = {
                z: oracle.fsum(table[x] * one[z - x] for x in table if z - x in one) for z in range(-reach, reach + 1)
            }
        return table
    weights = {z: weight(law, z) for z in range(-reach, reach + 1)}
    total = oracle.fsum(weights.values())
    return {z: value / total for z, value in weights.items()}


def brute_quantile(table: dict[int, Any], beta: Fraction, two_sided: bool, count: int) -> int:
    risk = oracle.mpf(beta.numerator) / beta.denominator
    t = min(table)
    while True:
        beyond = oracle.fsum(p for z, p in table.items() if (abs(z) if two_sided else z) > t)
        if 1 - (1 - beyond) ** count <= risk:
            return t
        t += 1


@pytest.mark.parametrize("law", [*laws(Fraction(1, 3)), *laws(Fraction(5, 2))], ids=repr)
def test_probabilities_and_tails_are_those_of_the_definition(law: NoiseLaw) -> None:
    reach = 30 if isinstance(law, LaplaceSumLaw) else 150
    table = tabulated(law, 6 * reach if isinstance(law, LaplaceSumLaw) else reach)
    for z in range(-12, 13):
        assert abs(float(law.pmf(z)) - float(table[z])) < 1e-15
        assert abs(float(law.tail(z)) - float(oracle.fsum(p for x, p in table.items() if x >= z))) < 1e-15
        assert abs(float(law.cdf(z)) - float(oracle.fsum(p for x, p in table.items() if x <= z))) < 1e-15
    assert abs(float(law.variance()) / float(oracle.fsum(z * z * p for z, p in table.items())) - 1) < 1e-12


@given(scale=SCALES, beta=BETAS, two_sided=st.booleans(), count=st.integers(1, 50))
def test_quantiles_are_the_least_that_suffice(scale: Fraction, beta: Fraction, two_sided: bool, count: int) -> None:
    for law in laws(scale)[:2]:
        table = tabulated(law, int(scale * 30) + 5)
        assert law.quantile(beta, two_sided, count=count) == brute_quantile(table, beta, two_sided, count)


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("terms", [2, 5])
def test_quantiles_of_sums_are_the_least_that_suffice(terms: int, two_sided: bool) -> None:
    law = LaplaceSumLaw(Fraction(1), terms)
    table = tabulated(law, 60)
    for beta in (Fraction(9, 10), Fraction(1, 20), Fraction(1, 10**6)):
        assert law.quantile(beta, two_sided) == brute_quantile(table, beta, two_sided, 1)


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1), Fraction(10**6), Fraction(10**15)])
@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 10**300)])
def test_quantiles_are_exact_at_every_scale(scale: Fraction, beta: Fraction) -> None:
    for law in laws(scale):
        t = law.quantile(beta)
        with precise():
            assert 2 * law.tail(t + 1) <= ball(beta)
            assert t == 0 or 2 * law.tail(t) > ball(beta)


def test_the_laplace_quantile_follows_its_closed_form() -> None:
    # The least t with 2 r^(t+1) / (1 + r) <= beta, by an oracle of 60 digits.
    for scale in (Fraction(3, 7), Fraction(10), Fraction(10**15)):
        b = oracle.mpf(scale.numerator) / scale.denominator
        closed = oracle.ceil(b * oracle.log(2 / (oracle.mpf("0.05") * (1 + oracle.exp(-1 / b))))) - 1
        assert DiscreteLaplaceLaw(scale).quantile("0.05") == int(closed)


def test_one_sided_quantiles_may_be_negative_and_mirror() -> None:
    for law in laws(Fraction(20)):
        high = law.quantile(Fraction(1, 100), two_sided=False)
        assert law.quantile(Fraction(99, 100), two_sided=False) == -high < 0


def test_the_mean_size_of_laplace_noise_is_below_its_scale_and_near_it() -> None:
    """The expected error of the Laplace mechanism."""
    for scale in (Fraction(1, 2), Fraction(3)):
        law = DiscreteLaplaceLaw(scale)
        table = tabulated(law, int(60 * scale) + 10)
        assert abs(float(law.mean_size()) - float(oracle.fsum(abs(z) * p for z, p in table.items()))) < 1e-9
        assert law.mean_size() < ball(scale)
    assert float(DiscreteLaplaceLaw(Fraction(1000)).mean_size()) == pytest.approx(1000, rel=1e-6)


@pytest.mark.textbook("S2.1")
def test_the_continuous_laplace_law_is_that_of_the_textbook() -> None:
    law = LaplaceLaw(scale=Fraction(3, 2), mean=Fraction(2))
    assert law.variance() == Fraction(9, 2)
    assert float(law.pdf(2)) == pytest.approx(1 / 3)
    assert float(law.pdf(5)) == pytest.approx(float(oracle.exp(-2) / 3))
    assert float(law.outside(3)) == pytest.approx(float(oracle.exp(-3)))
    for x in ("-1", "2", "4.5"):
        area = oracle.quad(
            lambda y: oracle.exp(-abs(y - 2) / oracle.mpf("1.5")) / 3, [-oracle.inf, min(2, float(x)), float(x)]
        )
        assert float(law.cdf(x)) == pytest.approx(float(area))
    inside = float(law.cdf("6.5")) - float(law.cdf("-2.5"))
    assert inside == pytest.approx(1 - float(law.outside(3)))


@pytest.mark.textbook("S2.1")
def test_scale_and_mean_cannot_be_swapped_by_position() -> None:
    with pytest.raises(TypeError):
        LaplaceLaw(Fraction(1), Fraction(0))  # type: ignore[misc]


@pytest.mark.parametrize("bad", [0, -1, "nan", float("inf"), "x"])
def test_bad_parameters_are_refused(bad: Any) -> None:
    for make in (DiscreteLaplaceLaw, DiscreteGaussianLaw, lambda scale: LaplaceLaw(scale=scale)):
        with pytest.raises(InvalidParameter):
            make(bad)


@pytest.mark.parametrize("bad", [{"beta": 0}, {"beta": 1}, {"beta": "nan"}, {"beta": "0.1", "count": 0}])
def test_bad_questions_are_refused(bad: dict[str, Any]) -> None:
    for law in laws(Fraction(1)):
        with pytest.raises(InvalidParameter):
            law.quantile(**bad)
