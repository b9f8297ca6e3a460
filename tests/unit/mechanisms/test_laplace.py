"""The Laplace mechanism: its loss is exact and tight for both relations, and so is its error."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from checks import SeededEntropy
from dalenius.errors import InvalidParameter, MissingNeighbours, UnknownSensitivity
from dalenius.mechanisms.noise.histogram import Histogram, joint_sensitivity
from dalenius.mechanisms.noise.laplace import DiscreteLaplace, laplace_accuracy
from dalenius.privacy.losses import LaplaceDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import ball, precise
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.laws import DiscreteLaplaceLaw

oracle = mpmath.mp.clone()
oracle.dps = 50
EPSILONS = st.fractions(Fraction(1, 20), 4)
RELATIONS: list[Neighbours] = [AddRemove(), Replace()]


def pairs(relation: Neighbours, cells: tuple[str, ...]) -> Iterator[tuple[list[int], list[int]]]:
    """The histograms of all neighbours of at most two rows."""
    histogram = Histogram(cells)
    for size in range(3):
        for rows in combinations_with_replacement(cells, size):
            for other in relation.around({cell: rows.count(cell) for cell in cells}, cells):
                yield histogram.counts(rows), histogram.counts(other.elements())


def worst_loss(mechanism: DiscreteLaplace, relation: Neighbours, cells: tuple[str, ...] = ("a", "b")) -> arb:
    """The largest log-ratio of exact probabilities over all neighbours and all outcomes around them."""
    law, worst = mechanism.law, arb(0)
    for first, second in pairs(relation, cells):
        for outcome in product(range(-1, 4), repeat=len(cells)):
            with precise():
                ratios = [law.pmf(o - x) / law.pmf(o - y) for o, x, y in zip(outcome, first, second, strict=True)]
                worst = worst.max(sum((ratio.log() for ratio in ratios), arb(0)))
    return worst


@pytest.mark.textbook("S4.3")
@given(sensitivity=st.integers(1, 9), epsilon=EPSILONS)
def test_the_worst_loss_of_one_integer_is_exactly_epsilon(sensitivity: int, epsilon: Fraction) -> None:
    mechanism = DiscreteLaplace.calibrated(sensitivity=sensitivity, epsilon=epsilon, neighbours=AddRemove())
    law = mechanism.law
    assert mechanism.loss(sensitivity=sensitivity) == LaplaceDP(epsilon, sensitivity)
    with precise():
        losses = [(law.pmf(z) / law.pmf(z - shift)).log() for z in range(-12, 24) for shift in range(sensitivity + 1)]
        assert all(loss <= ball(epsilon) + 1e-60 for loss in losses)
        assert any(abs(loss - ball(epsilon)) < 1e-60 for loss in losses)


@pytest.mark.textbook("S4.3", "S4.4")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_worst_loss_of_a_histogram_is_exactly_epsilon(relation: Neighbours) -> None:
    sensitivity = Histogram(("a", "b")).sensitivity(relation)
    mechanism = DiscreteLaplace.calibrated(sensitivity=sensitivity, epsilon="0.7", neighbours=relation)
    assert mechanism.scale == Fraction(10, 7) * relation.add_remove_steps
    with precise():
        assert abs(worst_loss(mechanism, relation) - ball(Fraction(7, 10))) < 1e-60


@pytest.mark.textbook("S4.4")
def test_the_add_remove_scale_is_flagged_when_rows_are_replaced() -> None:
    """A histogram has sensitivity 2 when a row is replaced; half of the noise is too little."""
    mechanism = DiscreteLaplace(Fraction(1), AddRemove())
    assert worst_loss(mechanism, AddRemove()) < 1.0001
    assert worst_loss(mechanism, Replace()) > 1.9999


@given(sensitivity=st.integers(1, 9), epsilon=EPSILONS)
def test_calibrated_is_the_least_noise(sensitivity: int, epsilon: Fraction) -> None:
    mechanism = DiscreteLaplace.calibrated(sensitivity=sensitivity, epsilon=epsilon, neighbours=Replace())
    less = DiscreteLaplace(mechanism.scale * Fraction(999, 1000), Replace())
    assert mechanism.loss(sensitivity=sensitivity).epsilon == epsilon < less.loss(sensitivity=sensitivity).epsilon


def test_a_fractional_sensitivity_is_rounded_up() -> None:
    mechanism = DiscreteLaplace.calibrated(sensitivity="1.5", epsilon=1, neighbours=AddRemove())
    assert mechanism.scale == 2
    assert mechanism.loss(sensitivity="1.5") == LaplaceDP(Fraction(1), 2)
    assert mechanism.loss(sensitivity=0).epsilon == 0


@pytest.mark.textbook("S4.3", "S4.4")
def test_the_first_names_example_holds() -> None:
    """10 000 names, epsilon 1: no count is off by more than 12.2 with probability 95 %."""
    bound = laplace_accuracy(coordinates=10_000, beta="0.05", sensitivity=1, epsilon=1)
    assert float(bound) == pytest.approx(12.2, abs=0.05)
    cells = Histogram(tuple(range(10_000)))
    mechanism = DiscreteLaplace.calibrated(
        sensitivity=cells.sensitivity(AddRemove()), epsilon=1, neighbours=AddRemove()
    )
    assert mechanism.error("0.05", count=10_000) == 12
    noisy = mechanism.release(cells.counts([3, 3, 17]), SeededEntropy("names"))
    assert len(noisy) == 10_000
    assert len(set(noisy[100:])) > 5  # cells that nobody is in get noise too


@pytest.mark.textbook("S4.5")
def test_many_arbitrary_queries_share_epsilon() -> None:
    queries = joint_sensitivity(*[1] * 20)
    mechanism = DiscreteLaplace.calibrated(sensitivity=queries, epsilon="0.5", neighbours=AddRemove())
    assert mechanism.scale == 40
    assert float(laplace_accuracy(coordinates=20, beta="0.1", sensitivity=queries, epsilon="0.5")) == pytest.approx(
        float(oracle.log(200) * 40)
    )
    # One person may move all twenty answers by one. The losses add up to epsilon; at scale 1 / epsilon, to 20 epsilon.
    for scale, epsilon in [(mechanism.scale, Fraction(1, 2)), (Fraction(2), Fraction(10))]:
        law = DiscreteLaplaceLaw(scale)
        with precise():
            assert abs(20 * (law.pmf(0) / law.pmf(1)).log() - ball(epsilon)) < 1e-60


@pytest.mark.textbook("S4.3")
@given(
    coordinates=st.integers(1, 10**6),
    beta=st.fractions(Fraction(1, 10**9), Fraction(1, 2)).filter(bool),
    epsilon=st.fractions(Fraction(1, 1000), 20).filter(bool),
)
def test_the_accuracy_theorem_holds_on_integers_up_to_half_a_step(
    coordinates: int, beta: Fraction, epsilon: Fraction
) -> None:
    bound = laplace_accuracy(coordinates=coordinates, beta=beta, sensitivity=1, epsilon=epsilon)
    mechanism = DiscreteLaplace.calibrated(sensitivity=1, epsilon=epsilon, neighbours=AddRemove())
    assert mechanism.error(beta, count=coordinates) < bound + Fraction(1, 2)
    assert float(bound) == pytest.approx(float(oracle.log(oracle.mpf(coordinates) / float(beta)) / float(epsilon)))


def test_the_error_covers_all_coordinates_at_once() -> None:
    mechanism = DiscreteLaplace(Fraction(5), Replace())
    for count in (1, 30):
        t = mechanism.error("0.05", count=count)
        with precise():
            assert 1 - (1 - 2 * mechanism.law.tail(t + 1)) ** count <= 0.05
            assert 1 - (1 - 2 * mechanism.law.tail(t)) ** count > 0.05
    assert mechanism.error("0.05", two_sided=False) < mechanism.error("0.05") < mechanism.error("0.05", count=30)


def test_the_release_is_the_value_plus_the_noise_of_each_coordinate() -> None:
    mechanism = DiscreteLaplace(Fraction(3), AddRemove())
    value = np.arange(12, dtype=np.int64).reshape(3, 4) * 1000
    noise = mechanism.release(np.zeros_like(value), SeededEntropy(1))
    assert np.array_equal(mechanism.release(value, SeededEntropy(1)), value + noise)
    assert len(set(noise.ravel().tolist())) > 3
    assert mechanism.release(value.ravel().tolist(), SeededEntropy(1)) == (value + noise).ravel().tolist()
    assert type(mechanism.release(5, SeededEntropy(2))) is int


@pytest.mark.parametrize("bad", [0, -1, "nan", float("inf"), None, True])
def test_bad_numbers_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidParameter):
        DiscreteLaplace(bad, AddRemove())
    with pytest.raises(InvalidParameter):
        DiscreteLaplace.calibrated(sensitivity=1, epsilon=bad, neighbours=AddRemove())
    with pytest.raises(InvalidParameter):
        DiscreteLaplace.calibrated(sensitivity=bad, epsilon=1, neighbours=AddRemove())
    with pytest.raises(InvalidParameter):
        laplace_accuracy(coordinates=bad if bad else 0, beta="0.1", sensitivity=1, epsilon=1)


def test_missing_facts_are_refused() -> None:
    with pytest.raises(MissingNeighbours):
        DiscreteLaplace(Fraction(1))
    with pytest.raises(MissingNeighbours):
        DiscreteLaplace.calibrated(sensitivity=1, epsilon=1)
    with pytest.raises(UnknownSensitivity):
        DiscreteLaplace(Fraction(1), AddRemove()).loss(sensitivity=Sensitivity(l2_squared=Fraction(1)))
    with pytest.raises(InvalidParameter):
        DiscreteLaplace(Fraction(1), AddRemove()).loss(sensitivity=-1)
