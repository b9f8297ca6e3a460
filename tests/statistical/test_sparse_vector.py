"""Running sessions follow the exact law; the false-alarm rate of each test is `ALARM`."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from checks import ALARM, SeededEntropy, chi_square
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, Sparse
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove
from dalenius.randomness.laplace import discrete_laplace

PEOPLE = AddRemove()
FAR, RUNS, STILL = 10**9, 8_000, "1/100"  # noise of this last scale is 0 but for e^-100


def rounds(threshold_scale: str, query_scale: str) -> AboveThreshold:
    return AboveThreshold(
        threshold_scale=Fraction(threshold_scale),
        query_scale=Fraction(query_scale),
        sensitivity=Fraction(1, 1000),
        neighbours=PEOPLE,
    )


@cache
def question(value: int) -> Exact[int]:
    return Exact(value, sensitivity=Fraction(1, 1000), neighbours=PEOPLE)


def allowance(mechanism: Sparse | NumericSparse) -> Allowance:
    loss = mechanism.loss(sensitivity=Fraction(1, 1000))
    return PrivacyFilter(Budget(9000), neighbours=PEOPLE).allow(loss)


def errors_of_numbers(count: int) -> list[int]:
    """How far the numbers are off, of questions that are above only now and then."""
    search = Sparse(rounds=rounds(STILL, "2"), cutoff=count)
    mechanism = NumericSparse(search=search, answers=DiscreteLaplace(Fraction(2), neighbours=PEOPLE))
    session = mechanism.start(allowance(mechanism), SeededEntropy("numbers"))
    found = []
    while not session.finished:
        number = session.ask(question(0), threshold=3)
        if number is not None:
            found.append(number)
    return found


def pmf(place: int) -> float:
    return float(DiscreteLaplace(Fraction(2), neighbours=PEOPLE).law.pmf(place))


@pytest.mark.textbook("S8.3")
def test_numbers_have_fresh_noise() -> None:
    """That a question was found above says nothing about the noise of its number."""
    assert chi_square(errors_of_numbers(1000), pmf) > ALARM


@pytest.mark.textbook("S8.3", "S8.4")
def test_the_test_above_notices_numbers_with_the_noise_of_the_comparison() -> None:
    noise = discrete_laplace(2, 50_000, entropy=SeededEntropy("noise"))
    assert chi_square(noise[noise >= 3][:1000], pmf) < ALARM
