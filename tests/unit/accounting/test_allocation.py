from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.accounting.shares import gaussian_split, laplace_split, split_amount, uniform_split
from dalenius.errors import InvalidParameter
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove

sizes = st.lists(st.fractions(Fraction(1, 10), 20), min_size=1, max_size=6)


@pytest.mark.textbook("S6.9")
@given(st.fractions(Fraction(1, 100), 10), st.integers(1, 40))
def test_a_uniform_split_can_be_charged_in_full(epsilon: Fraction, parts: int) -> None:
    split = uniform_split(epsilon=epsilon, parts=parts)
    assert len(set(split)) == 1
    assert epsilon - Fraction(parts, 10**15) < sum(split) <= epsilon
    budget = PrivacyFilter(Budget(epsilon), neighbours=AddRemove())
    for part in split:
        budget.charge(PureDP(part))


@pytest.mark.textbook("S6.9")
def test_exact_thirds_would_not_fit_into_the_ledger() -> None:
    """Charges are rounded up, so parts must be rounded down: three exact thirds cost two units too many."""
    budget = PrivacyFilter(Budget(1), neighbours=AddRemove())
    assert sum(budget.price(PureDP(Fraction(1, 3))).divergence for _ in range(3)) == 10**15 + 2
    assert sum(budget.price(PureDP(part)).divergence for part in uniform_split(epsilon=1, parts=3)) == 10**15 - 1


def laplace_error(split: tuple[Fraction, ...], sensitivities: list[Fraction], weights: list[Fraction]) -> Fraction:
    return sum((w * 2 * (s / e) ** 2 for e, s, w in zip(split, sensitivities, weights, strict=True)), Fraction(0))


def gaussian_error(split: tuple[Fraction, ...], sensitivities: list[Fraction], weights: list[Fraction]) -> Fraction:
    return sum((w * s**2 / (2 * rho) for rho, s, w in zip(split, sensitivities, weights, strict=True)), Fraction(0))


@pytest.mark.textbook("S6.9")
@given(sizes, st.data())
def test_the_error_optimal_splits_beat_uniform_and_every_small_change(
    sensitivities: list[Fraction], data: st.DataObject
) -> None:
    weights = data.draw(
        st.lists(st.fractions(Fraction(1, 10), 20), min_size=len(sensitivities), max_size=len(sensitivities))
    )
    even = uniform_split(epsilon=2, parts=len(sensitivities))
    for split, error in (
        (laplace_split(epsilon=2, sensitivities=sensitivities, weights=weights), laplace_error),
        (gaussian_split(rho=2, sensitivities=sensitivities, weights=weights), gaussian_error),
    ):
        assert 2 - Fraction(len(split), 10**14) < sum(split) <= 2
        best = error(split, sensitivities, weights)
        rounding = best / 10**10
        assert best <= error(even, sensitivities, weights) + rounding
        moved = [split[0] * Fraction(99, 100), *split[1:]]
        moved[-1] += split[0] / 100
        assert best <= error(tuple(moved), sensitivities, weights) + rounding


@pytest.mark.textbook("S6.9")
def test_the_optimum_has_its_closed_form() -> None:
    assert laplace_split(epsilon=1, sensitivities=[1, 8]) == (Fraction(1, 5), Fraction(4, 5))
    assert laplace_split(epsilon=1, sensitivities=[1, 1], weights=[1, 27]) == (Fraction(1, 4), Fraction(3, 4))
    assert gaussian_split(rho=1, sensitivities=[1, 3]) == (Fraction(1, 4), Fraction(3, 4))
    assert gaussian_split(rho=1, sensitivities=[1, 1], weights=[1, 81]) == (Fraction(1, 10), Fraction(9, 10))


@pytest.mark.parametrize("bad", [[], [0], [-1, 2], [float("nan")], [None]])
def test_bad_questions_are_refused(bad: list[object]) -> None:
    with pytest.raises(InvalidParameter):
        laplace_split(epsilon=1, sensitivities=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        gaussian_split(rho=1, sensitivities=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        split_amount(Charge(divergence=5, order=None), bad)  # type: ignore[arg-type]


def test_mismatched_weights_and_dust_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="one for each of 2 questions"):
        laplace_split(epsilon=1, sensitivities=[1, 2], weights=[1])
    with pytest.raises(InvalidParameter, match="a unit of 10\\^-15"):
        uniform_split(epsilon="1e-14", parts=11)
    for parts in (0, -1, 1.5, None):
        with pytest.raises(InvalidParameter):
            uniform_split(epsilon=1, parts=parts)  # type: ignore[arg-type]
