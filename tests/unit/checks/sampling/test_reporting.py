"""`dalenius.checks.sampling`: a verdict on any function, from running it.

Every correct release is flagged once in 10^9 runs.
"""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalenius as dl
from checks import ALARM, SeededEntropy
from dalenius.checks.sampling.reporting import AuditReport, audit
from dalenius.checks.sampling.running import takes_size
from dalenius.checks.sampling.sampling import sampling_audit
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.losses import ZCDP, ApproximateDP, PureDP
from dalenius.privacy.neighbours import AddRemove

SURE = 1 - Fraction(ALARM)
PEOPLE = AddRemove()


def laplace(epsilon: Any, seed: object = 0) -> Any:
    mechanism, entropy = (
        DiscreteLaplace.calibrated(sensitivity=1, epsilon=epsilon, neighbours=PEOPLE),
        SeededEntropy(seed),
    )
    return lambda value, size: mechanism.release(np.full(size, value), entropy)


def once(epsilon: Any) -> Any:
    many = laplace(epsilon)
    return lambda value: int(many(value, 1)[0])


def judged(release: Any, claim: Any, **options: Any) -> AuditReport:
    return audit(release, 0, 1, claim=claim, **({"samples": 40_000, "confidence": SURE} | options))


def test_the_audit_stands_at_the_top() -> None:
    report = dl.audit(laplace(1), 0, 1, claim=1, samples=4000)
    assert isinstance(report, dl.checks.sampling.AuditReport)
    assert dl.audit is dl.checks.sampling.audit


@pytest.mark.textbook("S7.7")
def test_a_true_claim_is_not_refuted_and_a_false_one_is() -> None:
    assert judged(laplace(1), 1).verdict == "no violation found"
    assert judged(laplace(1), "0.7").verdict == "refuted"
    assert Fraction(8, 10) < judged(laplace(1), 1).epsilon <= 1


def test_no_verdict_says_that_a_release_is_private() -> None:
    said = str(judged(laplace(1), 1))
    assert "no violation found" in said
    assert "cannot show that the release is private" in said
    assert "is private\n" not in said.replace("that the release is private", "")


@pytest.mark.parametrize("claim", [Fraction(1), "1", PureDP(Fraction(1)), (1, "0.001"), ApproximateDP(1, "0.001")])
def test_claims_come_in_many_forms(claim: Any) -> None:
    report = judged(laplace(1), claim)
    assert not report.refuted
    assert (report.delta is None) == (not report.tested.delta)


@pytest.mark.textbook("S7.7")
def test_a_delta_that_is_too_small_is_refuted_by_the_hockey_stick() -> None:
    """Tells the input once in fifty."""

    def tells(value: int, size: int) -> Any:
        coins = np.random.default_rng(value).random(size) < 0.02
        return np.where(coins, 1000 + value, laplace(1, value)(value, size))

    report = judged(tells, (1, "0.005"))
    assert report.refuted
    assert report.gap is not None
    assert Fraction(5, 1000) < report.gap.delta <= Fraction(2, 100)
    assert not judged(tells, (1, "0.02")).refuted


def test_concentrated_claims_are_tested_at_a_point() -> None:
    entropy = SeededEntropy("bell")

    def bell(rho: int) -> Any:
        mechanism = DiscreteGaussian.calibrated(sensitivity=1, rho=rho, neighbours=PEOPLE)
        return lambda value, size: mechanism.release(np.full(size, value), entropy)

    assert not judged(bell(1), ZCDP(Fraction(1))).refuted
    assert judged(bell(16), ZCDP(Fraction(1))).refuted


def test_an_error_that_comes_always_is_shown_and_not_audited() -> None:
    with pytest.raises(ZeroDivisionError):
        judged(lambda value: 1 / 0, 1, samples=50)


def fails(value: int) -> None:
    raise ValueError(f"value {value}")


def fails_in_another_way(value: int) -> None:
    raise (ValueError if value else KeyError)("x")


def fails_at_once(value: int, size: int) -> Any:
    return fails(value) if value else np.zeros(size)


def fails_late(value: int, size: int) -> Any:
    return (1 // (1 - value) for _ in range(size))


@pytest.mark.parametrize("release", [fails, fails_in_another_way, fails_at_once, fails_late])
def test_errors_that_tell_the_input_refute_a_claim(release: Any) -> None:
    assert judged(release, 1, samples=400).refuted


def test_what_is_written_into_the_same_place_again_is_looked_at_each_time() -> None:
    one, many = [0], np.zeros(400)

    def single(value: int) -> list[int]:
        one[0] = value
        return one

    def all_at_once(value: int, size: int) -> Any:
        many[:] = value
        return many

    def yielded(value: int, size: int) -> Any:
        return (single(value) for _ in range(size))

    assert all(judged(release, 1, samples=400).refuted for release in (single, all_at_once, yielded))
    assert sampling_audit(all_at_once, 0, 1, samples=400).epsilon > 3


def test_an_iterator_is_refused() -> None:
    with pytest.raises(dl.DaleniusError, match="list"):
        judged(lambda value: iter([value]), 1, samples=400)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(dl.DaleniusError, match="seconds"):
        judged(once(1), 1, seconds=seconds)


def test_whether_a_function_gives_many_outputs_is_read_off_its_parameters() -> None:
    assert takes_size(lambda data, size: data)
    assert takes_size(lambda data, size=10: data)
    assert takes_size(lambda data, n: data)
    assert not takes_size(lambda data: data)
    assert not takes_size(lambda data, noise=2: data)
    draw = once(1)
    assert not judged(lambda data, size: [draw(data) for _ in range(size)], 1, samples=400, vectorised=True).refuted


def test_a_wrong_number_of_outputs_is_refused() -> None:
    with pytest.raises(dl.DaleniusError, match="gives 400 outputs"):
        judged(lambda data, size: [0], 1, samples=400)


def test_time_bounds_the_samples_and_progress_is_told() -> None:
    told: list[float] = []
    report = judged(once(1), 1, seconds=1, progress=told.append)
    assert 40 <= report.samples < 100_000
    assert told == sorted(told)
    assert told[-1] == 100


def test_the_report_shows_the_event_the_counts_and_both_distributions() -> None:
    report = judged(laplace(1), "0.5")
    said = str(report)
    assert said.startswith("refuted: epsilon is at least")
    assert report.event in said
    assert f"{report.counts[0]} of 20000" in said
    assert "█" in said
    assert sum(report.picture.first) == pytest.approx(1)
    assert sum(report.picture.second) == pytest.approx(1)
    assert report._repr_html_().startswith("<div>")


def test_texts_in_a_report_are_escaped() -> None:
    draw = once(1)
    report = judged(lambda value: f"<script>{draw(value) > 0}", 1, samples=200)
    assert "<script>" not in report._repr_html_()


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib")
def test_a_picture_is_drawn(tmp_path: Path) -> None:
    chart = judged(laplace(1), 1).plot(tmp_path / "audit.png")
    assert (tmp_path / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in chart.svg


@pytest.mark.parametrize("claim", [(), (1,), (1, 0, 0), [1, 0], "much", None, -1])
def test_a_claim_that_is_none_is_refused_by_its_name(claim: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"^claim is "):
        dl.audit(laplace(1), 0, 1, claim=claim, samples=100)
