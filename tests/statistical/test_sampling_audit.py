"""The sampling audit flags what is not private and nothing else; a correct release is flagged once in 10^9 runs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from checks import ALARM, SeededEntropy
from costs import cases
from dalenius.checks.sampling.sampling import Violation, sampling_audit
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, Sparse
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.laplace import discrete_laplace
from dalenius.verify.cases.sparse_vectors import (
    Questions,
    SparseVectorVersion,
    compared_value_told,
    exact_branch,
    gap_told,
    no_cutoff,
    no_query_noise,
    noise_without_c,
    sampled,
)

Outputs = NDArray[np.int64]
Run = Callable[[Any, int], Outputs]
PEOPLE, ONE = AddRemove(), Fraction(1)
CLAIM = {"sensitivity": 1, "epsilon": 1, "neighbours": PEOPLE}
SURE = 1 - Fraction(ALARM)


def laplace(seed: object) -> Callable[[Any, int], Outputs]:
    entropy = SeededEntropy(seed)
    return lambda scale, size: np.asarray(discrete_laplace(scale, size, entropy=entropy))


def audit(run: Run, first: Any, second: Any, **options: Any) -> Violation:
    return sampling_audit(run, first, second, **({"confidence": SURE} | options))


# Power, at a confidence of 99.9 %


@pytest.mark.textbook("S7.7")
@pytest.mark.parametrize(
    ("epsilon", "samples", "least"),
    [("0.1", 10**5, "0.06"), (1, 10**4, "0.8"), (1, 10**5, "0.93"), (1, 10**6, "0.98"), (3, 10**5, "2.85")],
)
def test_the_bound_comes_close_to_the_true_epsilon(epsilon: Any, samples: int, least: str) -> None:
    mechanism = DiscreteLaplace.calibrated(sensitivity=1, epsilon=epsilon, neighbours=PEOPLE)
    entropy = SeededEntropy(epsilon)
    finding = sampling_audit(
        lambda value, size: mechanism.release(np.full(size, value), entropy), 0, 1, samples=samples
    )
    assert Fraction(least) < finding.epsilon <= Fraction(epsilon)


@pytest.mark.textbook("S7.7")
def test_noise_that_is_a_tenth_too_small_is_noticed() -> None:
    noise = laplace("tenth")
    assert audit(lambda value, size: value + noise(Fraction(9, 10), size), 0, 1, samples=300_000).refutes(epsilon=1)


@pytest.mark.textbook("S7.7")
def test_false_alarms_are_as_rare_as_stated() -> None:
    """At a confidence of 90 % a correct release is flagged in at most one audit of ten; here in 400, with a margin."""
    mechanism, entropy = DiscreteLaplace.calibrated(**CLAIM), SeededEntropy("alarms")

    def run(value: int, size: int) -> Outputs:
        return mechanism.release(np.full(size, value), entropy)

    alarms = sum(sampling_audit(run, 0, 1, samples=400, confidence="0.9").refutes(epsilon=1) for _ in range(400))
    assert alarms <= 40 + 6 * 6


# What is private is not flagged


def svt(version: SparseVectorVersion, seed: object) -> Run:
    noise = laplace(seed)
    return lambda questions, size: sampled(version, questions, size, noise)


@pytest.mark.textbook("S7.7", "S8.1", "S8.2", "S8.3")
@cases(
    ("mechanism", "first", "second"),
    [
        (AboveThreshold.calibrated(**CLAIM), (0, 0, 0, 3), (1, 1, 1, 2)),
        (AboveThreshold.calibrated(**CLAIM), (1, 1, 0), (2, 2, -1)),
        (Sparse.calibrated(**CLAIM, cutoff=3), (0,) * 3 + (1,) * 3, (1,) * 3 + (0,) * 3),
        (NumericSparse.calibrated(**CLAIM, cutoff=1), (0, 0, 1), (1, 1, 0)),
    ],
    fast=1,
)
def test_our_sparse_vectors_are_not_flagged(mechanism: Sparse, first: Questions, second: Questions) -> None:
    finding = audit(svt(SparseVectorVersion.of(mechanism), "ours"), first, second)
    assert 0 < finding.epsilon <= 1


@pytest.mark.textbook("S7.7")
def test_noisy_max_and_gaussian_noise_are_not_flagged() -> None:
    entropy = SeededEntropy("correct")
    choice = NoisyMax.calibrated(sensitivity=Sensitivity(linf=ONE), epsilon=1, neighbours=PEOPLE)
    bell = DiscreteGaussian.calibrated(**CLAIM, delta="1e-3")

    def choose(scores: tuple[int, ...], size: int) -> list[int]:
        return [choice.release(scores, entropy) for _ in range(size)]

    index = audit(choose, (0, 1), (1, 0), samples=3000)
    number = audit(lambda value, size: bell.release(np.full(size, value), entropy), 0, 1, delta="1e-3")
    assert Fraction(1, 10) < index.epsilon <= 1
    assert Fraction(1, 10) < number.epsilon <= 1


# What is not private is flagged: the claim is always epsilon = 1


def local_sensitivity(rows: tuple[int, ...], size: int) -> Outputs:
    """The median with noise for the change that these rows allow, and not all rows."""
    low, middle, high = sorted(rows)[len(rows) // 2 - 1 : len(rows) // 2 + 2]
    return middle + laplace(rows)(Fraction(max(middle - low, high - middle, 1)), size)


def noisy_max_with_its_value(scores: tuple[int, ...], size: int) -> Outputs:
    """The winner with the noisy score that made it win."""
    noisy = np.array(scores) + laplace(scores)(1, (size, len(scores)))
    return np.stack([noisy.argmax(axis=1), noisy.max(axis=1)], axis=1)


def steep_exponential(scores: tuple[int, ...], size: int) -> Outputs:
    """Weights e^(epsilon score), where half of epsilon is due."""
    weights = np.exp(scores)
    return np.random.default_rng(scores).choice(len(scores), size, p=weights / weights.sum())


def two_cells_billed_as_one(counts: tuple[int, int], size: int) -> Outputs:
    """A histogram under replacement, billed as parallel parts: two cells change."""
    return np.array(counts) + laplace(counts)(1, (size, 2))


@pytest.mark.textbook("S7.7", "S3.5", "S5.1", "S5.3", "S6.2")
@pytest.mark.parametrize(
    ("run", "first", "second"),
    [
        pytest.param(local_sensitivity, (0, 0, 0, 0, 9), (0, 0, 0, 9, 9), id="S3.5"),
        pytest.param(noisy_max_with_its_value, (0,) * 5, (1,) * 5, id="S5.1"),
        pytest.param(steep_exponential, (1,) + (0,) * 20, (0,) + (1,) * 20, id="S5.3"),
        pytest.param(two_cells_billed_as_one, (5, 5), (6, 4), id="S6.2"),
    ],
)
def test_the_broken_rows_are_flagged(run: Run, first: Any, second: Any) -> None:
    assert audit(run, first, second, samples=50_000).refutes(epsilon=1)


@pytest.mark.textbook("S7.7", "S8.4", "S8.5")
@cases(
    ("version", "first", "second"),
    [
        pytest.param(compared_value_told(ONE, 1), (0,) * 6, (1,) * 5 + (-1,), id="compared value told"),
        pytest.param(noise_without_c(ONE, 3), (0,) * 3 + (1,) * 3, (1,) * 3 + (0,) * 3, id="noise without c"),
        pytest.param(no_query_noise(ONE, 1), (0, 1), (0, 0), id="no query noise"),
        pytest.param(no_cutoff(ONE, 1), (0,) * 3 + (1,) * 3, (1,) * 3 + (0,) * 3, id="no cutoff"),
        pytest.param(gap_told(ONE, 1), (0,) * 4 + (1,), (1,) * 4 + (0,), id="gap told"),
        pytest.param(exact_branch(ONE, 1), (0,), (-1,), id="exact branch"),
    ],
    fast=1,
)
def test_the_broken_sparse_vectors_are_flagged(
    version: SparseVectorVersion, first: Questions, second: Questions
) -> None:
    assert audit(svt(version, version), first, second, samples=160_000).refutes(epsilon=1)


@pytest.mark.textbook("S7.7")
def test_a_delta_that_is_too_small_is_flagged() -> None:
    """Tells everything once in 300, and claims to do so once in 1000."""

    def run(value: int, size: int) -> Outputs:
        coins = np.random.default_rng(value)
        return np.where(coins.random(size) < 1 / 300, 100 + value, value + laplace(value)(1, size))

    assert audit(run, 0, 1, delta="1/1000", samples=500_000).refutes(epsilon=1)
    assert not audit(run, 0, 1, delta="1/300", samples=500_000).refutes(epsilon=1)


# Power on what others have published figures for, at epsilon 1 and a confidence of 95 %
