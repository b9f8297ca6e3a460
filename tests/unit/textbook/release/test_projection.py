"""The K-projected mechanism: a projection that is certified, and squared errors within the corrected bound."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log
from typing import Any, TypeAlias

import numpy as np
import pytest
from scipy import optimize

from checks import SeededEntropy
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.neighbours import Replace
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import MatrixWorkload, parities
from dalenius.textbook.release.per_query import PerQuery
from dalenius.textbook.release.projection import ProjectedLaplace, projected, projected_accuracy

Given: TypeAlias = Callable[..., Any]
ROWS, BETA = Replace(), Fraction(1, 10)
RANDOM = np.random.default_rng(5)
COLUMNS = RANDOM.random((6, 9))


def by_scipy(answers: np.ndarray, columns: np.ndarray, people: int) -> np.ndarray:
    """The same projection by non-negative least squares on all columns, their negatives and a slack of the norm."""
    heavy = 1e5
    both = np.hstack([columns, -columns, np.zeros((len(columns), 1))])
    system = np.vstack([both, heavy * np.ones(both.shape[1])])
    weights, _ = optimize.nnls(system, np.append(answers, heavy * people))
    found: np.ndarray = both @ weights
    return found


@pytest.mark.textbook("S9.15")
@pytest.mark.parametrize("scale", [1, 10, 100])
def test_the_projection_is_the_nearest_point(scale: int) -> None:
    answers = RANDOM.normal(size=6) * scale
    found, gap = projected(answers, COLUMNS, 10, enough=1e-8)
    assert gap <= 1e-8
    assert np.abs(found - by_scipy(answers, COLUMNS, 10)).max() < 1e-3


@pytest.mark.textbook("S9.15")
def test_the_test_above_notices_a_ball_of_another_size() -> None:
    answers = RANDOM.normal(size=6) * 100
    found, _ = projected(answers, COLUMNS, 11, enough=1e-8)
    assert np.abs(found - by_scipy(answers, COLUMNS, 10)).max() > 1e-3


@pytest.mark.textbook("S9.15")
def test_a_point_inside_stays_and_the_gap_is_stated_where_steps_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = COLUMNS @ (np.eye(9)[0] * 4 - np.eye(9)[5] * 5)
    found, gap = projected(inside, COLUMNS, 10, enough=1e-9)
    assert gap <= 1e-9
    assert np.abs(found - inside).max() < 1e-4
    monkeypatch.setattr("dalenius.textbook.release.projection.MOST_STEPS", 3)
    far = RANDOM.normal(size=6) * 100
    found, gap = projected(far, COLUMNS, 10, enough=1e-9)
    best = by_scipy(far, COLUMNS, 10)
    assert gap > 1e-9
    assert np.sum((found - best) ** 2) <= gap


PEOPLE = 500
QUESTIONS = MatrixWorkload(parities(5).grid, np.vstack([parities(5).matrix, 1 - parities(5).matrix] * 4))


def gaps(made: ProjectedLaplace, sealed: Given, paid: Given, runs: int) -> list[tuple[float, float]]:
    """The squared errors of runs, and what they were stated to be at most."""
    counts = RANDOM.multinomial(PEOPLE, RANDOM.dirichlet(np.full(32, 0.2)))
    truth, found = QUESTIONS.answers(counts), []
    for run in range(runs):
        release = made.release(sealed(counts), paid(made.loss(), delta="1e-6"), SeededEntropy(run), beta=BETA)
        found.append((float(np.sum((release.answers - truth) ** 2)), float(release.squared_error)))
    return found


@pytest.mark.textbook("S9.15")
def test_squared_errors_are_within_the_corrected_bound(sealed: Given, paid: Given, broken_too_often: Given) -> None:
    made = ProjectedLaplace(
        noisy=PerQuery.textbook(QUESTIONS, epsilon="0.9", delta="1e-6", neighbours=ROWS), people=PEOPLE
    )
    theorem = projected_accuracy(
        cells=32, queries=QUESTIONS.count, people=PEOPLE, epsilon="0.9", delta="1e-6", beta=BETA
    )
    assert made.squared_error(BETA) == pytest.approx(float(theorem))
    runs = gaps(made, sealed, paid, 20)
    assert all(stated <= 1.002 * theorem for _, stated in runs)
    assert not broken_too_often(sum(gap > stated for gap, stated in runs), 20, BETA)


@pytest.mark.textbook("S9.15")
def test_projecting_pays_and_without_it_the_bound_fails(
    sealed: Given, paid: Given, broken_too_often: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ProjectedLaplace(
        noisy=PerQuery.textbook(QUESTIONS, epsilon="0.1", delta="1e-6", neighbours=ROWS), people=PEOPLE
    )
    kept = gaps(made, sealed, paid, 20)
    monkeypatch.setattr("dalenius.textbook.release.projection.projected", lambda answers, *_, **__: (answers, 0.0))
    raw = gaps(made, sealed, paid, 20)
    assert not broken_too_often(sum(gap > stated for gap, stated in kept), 20, BETA)
    assert broken_too_often(sum(gap > stated for gap, stated in raw), 20, BETA)
    assert np.mean([gap for gap, _ in kept]) < np.mean([gap for gap, _ in raw]) / 10


@pytest.mark.textbook("S9.15")
def test_the_bound_has_the_constants_of_the_recount_and_not_those_in_print() -> None:
    found = projected_accuracy(cells=100, queries=50, people=1000, epsilon="0.5", delta="1e-6", beta=BETA)
    assert float(found) == pytest.approx(16 * 1000 * 50 * (log(10**6) * log(2000)) ** 0.5 / 0.5)
    assert float(found) > 1000 * 50 * (192 * log(10**6) * log(2000)) ** 0.5 / 0.5


@pytest.mark.textbook("S9.15")
def test_few_questions_and_other_noise_are_refused() -> None:
    with pytest.raises(TheoremDoesNotApply, match="at least ln"):
        projected_accuracy(cells=100, queries=5, people=1000, epsilon="0.5", delta="1e-6", beta=BETA)
    gaussian = PerQuery.gaussian(
        MatrixWorkload(CellDomain({"x": 2}), [[1, 0]]), epsilon=1, delta="1e-6", neighbours=ROWS
    )
    with pytest.raises(InvalidParameter):
        ProjectedLaplace(noisy=gaussian, people=3)
