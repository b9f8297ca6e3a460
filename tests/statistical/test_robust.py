"""Robust mechanisms, run very often on neighbours: no audit finds more than they claim, and broken forms are found.

A correct mechanism is refuted with probability at most 10^-6 in each test.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dalenius as dl
from checks import SeededEntropy
from costs import cases
from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs, SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.robust.profiles import Ordered
from dalenius.mechanisms.robust.propose_test_release import ProposedQuantile
from dalenius.mechanisms.robust.scale import InterquartileScale
from dalenius.mechanisms.robust.smooth import SmoothCauchy, SmoothLaplace
from dalenius.mechanisms.robust.stability import DistanceToInstability, stable_mode
from dalenius.mechanisms.robust.stable_answers import StableMode
from dalenius.mechanisms.robust.subsampled_stability import SubsampledStability
from dalenius.privacy.losses import ApproximateDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.randomness.laplace import discrete_laplace

ADD, REPLACE = AddRemove("row"), Replace("row")
CAUCHY, LAPLACE = SmoothCauchy.calibrated(epsilon=1), SmoothLaplace.calibrated(epsilon=1, delta="0.01")
WIDE, NARROW = [0, 0, 0, 40, 40], [0, 0, 0, 0, 40]
MORE = [0, 0, 0, 0, 40, 40]


@dataclass(frozen=True)
class Case:
    name: str
    mechanism: Any
    first: Any
    second: Any
    sensitivity: int
    samples: int = 2000

    def __str__(self) -> str:
        return self.name


def mode_of(rows: list[str]) -> Any:
    return stable_mode(rows, labels=("a", "b"), neighbours=ADD)


def majority(rows: list[int]) -> int:
    return int(2 * sum(rows) > len(rows))


GRID = {"lower": 0, "upper": 40}
PROPOSED = {**GRID, "epsilon": Fraction(1), "delta": Fraction(1, 100), "bound": 5}
CASES = [
    Case("median, Cauchy, replace", SmoothQuantile(**GRID, noise=CAUCHY, neighbours=REPLACE), WIDE, NARROW, 2),
    Case("median, Laplace, replace", SmoothQuantile(**GRID, noise=LAPLACE, neighbours=REPLACE), WIDE, NARROW, 2),
    Case("median, Cauchy, add", SmoothQuantile(**GRID, noise=CAUCHY, neighbours=ADD), WIDE, MORE, 1),
    Case("quartile, add", SmoothQuantile(**GRID, noise=LAPLACE, neighbours=ADD, p=Fraction(1, 4)), WIDE, MORE, 1),
    Case("trimmed mean", SmoothTrimmedMean(**GRID, noise=CAUCHY, neighbours=REPLACE), WIDE, NARROW, 2),
    Case("trimmed mean, add", SmoothTrimmedMean(**GRID, noise=CAUCHY, neighbours=ADD), WIDE, MORE, 1),
    Case("equal pairs", SmoothEqualPairs(noise=CAUCHY, neighbours=ADD), "aab", "aaab", 1),
    Case("proposed median", ProposedQuantile(**PROPOSED, neighbours=REPLACE), [20] * 13, [20] * 12 + [40], 2),
    Case("scale", InterquartileScale(**GRID, epsilon=Fraction(2), delta=Fraction(1, 100), neighbours=REPLACE),
         [10, 10, 11, 11, 30, 30, 31, 31], [10, 11, 11, 11, 30, 30, 31, 31], 2),
    Case("scale, add", InterquartileScale(**GRID, epsilon=Fraction(2), delta=Fraction(1, 100), neighbours=ADD, rows=2),
         [10, 10, 11, 11, 30, 30, 31, 31], [10, 10, 10, 11, 11, 30, 30, 31, 31, 31], 2),
    Case("stable mode of two rows each", StableMode(epsilon=Fraction(1), delta=Fraction(1, 20), neighbours=ADD, rows=2),
         {"a": 9, "b": 2}, {"a": 11, "b": 2}, 2),
    Case("stable mode", DistanceToInstability(epsilon=Fraction(1), delta=Fraction(1, 20), neighbours=ADD),
         mode_of(["a"] * 4), mode_of(["a"] * 5), 1),
    Case("unstable mode", DistanceToInstability(epsilon=Fraction(1), delta=Fraction(1, 20), neighbours=ADD),
         mode_of(["a", "b"]), mode_of(["a", "b", "b"]), 1),
    Case("subsampled majority", SubsampledStability(function=majority, options=(0, 1), q=Fraction(1, 10), sets=30,
         epsilon=Fraction(1), delta=Fraction(1, 10), neighbours=ADD), [1] * 9, [1] * 10, 1, 500),
]  # fmt: skip


@pytest.mark.textbook("S11.1", "S11.4", "S11.5", "S11.6", "S11.7")
@cases("case", CASES, ids=str, fast=(6, 10, 11, 12))
def test_no_audit_finds_more_than_the_claim(case: Case) -> None:
    source = SeededEntropy(case.name)
    claim = case.mechanism.loss(sensitivity=case.sensitivity)

    def release(value: Any, size: int) -> list[Any]:
        return [str(case.mechanism.release(value, source)) for _ in range(size)]

    report = dl.audit(release, case.first, case.second, claim=claim, samples=case.samples, confidence="0.999999")  # type: ignore[operator]
    assert not report.refuted, str(report)


@pytest.mark.textbook("S3.5")
def test_noise_of_the_size_of_the_local_sensitivity_is_flagged() -> None:
    """At these data no step moves the median, so there is no noise at all; at the neighbour there is."""
    mechanism, source = SmoothQuantile(**GRID, noise=CAUCHY, neighbours=REPLACE), SeededEntropy("local")

    def release(rows: list[int], size: int) -> list[int]:
        ordered = Ordered.of(rows, **GRID)
        local = mechanism.profile(ordered)(0)
        noise = [discrete_laplace(local, entropy=source) if local else 0 for _ in range(size)]
        return [mechanism.statistic(ordered) + each for each in noise]

    report = dl.audit(release, NARROW, WIDE, claim=PureDP(1), samples=2000, confidence="0.999999")  # type: ignore[operator]
    assert report.refuted


@pytest.mark.textbook("S11.5")
def test_the_published_threshold_is_flagged() -> None:
    """1 + ln(1 / delta) for A, where the noise has scale 1 / epsilon: an unstable answer comes one time in eight."""
    epsilon, delta, source = Fraction(1, 10), Fraction(1, 10**6), SeededEntropy("published")

    def release(answer: str, size: int) -> list[str | None]:
        noise = np.asarray(discrete_laplace(1 / epsilon, size, entropy=source))
        return [answer if each >= 14 else None for each in noise]

    report = dl.audit(  # type: ignore[operator]
        release, "a", "b", claim=ApproximateDP(4 * epsilon, delta), samples=2000, confidence="0.999999"
    )
    assert report.refuted
    assert report.delta is not None
    assert report.delta > Fraction(1, 20)
