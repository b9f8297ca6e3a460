"""The net mechanism, and SmallDB, which is that over all small databases."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any, TypeAlias

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.errors import BudgetExceeded, InvalidParameter, NeighbourMismatch
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.reals import ball, precise
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Marginals, MatrixWorkload, Ranges, parities
from dalenius.textbook.release.nets import (
    Net,
    NetMechanism,
    databases_of_size,
    iterative_net_size,
    net_accuracy,
)
from dalenius.textbook.release.small_databases import (
    balanced_accuracy,
    people_for,
    small_database,
    small_database_accuracy,
)

Given: TypeAlias = Callable[..., Any]
PEOPLE = Replace()
BETA = Fraction(1, 20)
QUESTIONS = MatrixWorkload(CellDomain({"x": 3}), [[2, 0, 0], [0, 1, 0], [1, 2, 0], [0, 0, 2]], denominator=2)


@pytest.mark.textbook("S9.2")
@pytest.mark.parametrize(("cells", "size"), [(1, 5), (2, 3), (4, 4), (6, 2)])
def test_every_database_of_a_size_is_a_candidate_once(cells: int, size: int) -> None:
    rows = Net.of_size(cells, size, alpha=0).databases
    assert len({tuple(row) for row in rows.tolist()}) == len(rows) == databases_of_size(cells, size)
    assert databases_of_size(cells, size) == comb(cells + size - 1, size)
    assert (rows.sum(axis=1) == size).all()


@pytest.mark.textbook("S9.2")
def test_too_many_candidates_are_refused_and_never_sampled() -> None:
    with pytest.raises(InvalidParameter) as refused:
        small_database(
            Marginals.all(CellDomain({"x": 2, "y": 50}), 2), people=1000, alpha=0.1, epsilon=1, neighbours=PEOPLE
        )
    words = str(refused.value)
    assert "about 10^" in words
    assert "100 with databases of" in words
    assert "at most 300000 candidates" in words
    assert "MultiplicativeWeights" in words


def worst_ratio(mechanism: NetMechanism) -> float:
    """The largest log-ratio between the laws of the chosen candidate on neighbouring databases of three rows."""
    worst = 0.0
    for database in Net.of_size(3, 3, alpha=0).databases:
        for old, new in ((0, 1), (1, 2), (2, 0), (1, 0)):
            if not database[old]:
                continue
            other = database.copy()
            other[old], other[new] = other[old] - 1, other[new] + 1
            laws = (mechanism.choice.probabilities(mechanism.scores(each)) for each in (database, other))
            with precise():
                worst = max(worst, *(abs(float((one / two).log())) for one, two in zip(*laws, strict=True)))
    return worst


def tiny(epsilon: Fraction, *, factor: int = 1) -> NetMechanism:
    net = Net.of_size(3, 2, alpha=Fraction(1, 2))
    made = NetMechanism.calibrated(net, QUESTIONS, people=3, epsilon=epsilon, neighbours=PEOPLE)
    choice = ExponentialMechanism(rate=factor * made.choice.rate, neighbours=PEOPLE)
    return NetMechanism(net=net, workload=QUESTIONS, people=3, choice=choice)


@pytest.mark.textbook("S9.4")
def test_no_neighbour_changes_a_candidates_odds_by_more_than_epsilon() -> None:
    assert tiny(Fraction(2)).loss().epsilon == 2
    assert 1 < worst_ratio(tiny(Fraction(2))) <= 2


@pytest.mark.textbook("S9.4")
def test_the_slides_rate_without_the_two_is_found_not_to_be_private() -> None:
    assert worst_ratio(tiny(Fraction(2), factor=2)) > 2


def failures(
    mechanism: NetMechanism, counts: np.ndarray, sealed: Given, paid: Given, runs: int, limit: Fraction
) -> int:
    truth = mechanism.workload.answers(counts) / mechanism.workload.denominator
    found = 0
    for run in range(runs):
        release = mechanism.release(sealed(counts), paid(mechanism.loss()), SeededEntropy(run), beta=BETA)
        found += bool(np.abs(release.answers - truth).max() > limit)
    return found


@pytest.mark.textbook("S9.2")
def test_answers_of_a_small_database_are_within_the_stated_error(
    sealed: Given, paid: Given, broken_too_often: Given
) -> None:
    workload, people = parities(2), 3000
    mechanism = small_database(workload, people=people, alpha=Fraction(1, 4), epsilon=1, neighbours=PEOPLE)
    limit = mechanism.error(BETA)
    theorem = small_database_accuracy(cells=4, queries=4, people=people, alpha=Fraction(1, 4), epsilon=1, beta=BETA)
    assert limit <= theorem * people < people
    for counts in ([people, 0, 0, 0], [people // 2, 0, 0, people // 2], [people // 4] * 4):
        wrong = failures(mechanism, np.array(counts), sealed, paid, 25, limit)
        assert not broken_too_often(wrong, 25, BETA)


@pytest.mark.textbook("S9.2")
def test_the_test_above_notices_scores_of_the_wrong_sign(
    sealed: Given, paid: Given, broken_too_often: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = small_database(parities(2), people=3000, alpha=Fraction(1, 4), epsilon=1, neighbours=PEOPLE)
    right = NetMechanism.scores
    monkeypatch.setattr(NetMechanism, "scores", lambda self, counts: -right(self, counts))
    wrong = failures(mechanism, np.array([3000, 0, 0, 0]), sealed, paid, 25, mechanism.error(BETA))
    assert broken_too_often(wrong, 25, BETA)


@pytest.mark.textbook("S9.3")
def test_the_dimension_makes_the_net_smaller_where_questions_are_many() -> None:
    intervals = Ranges(CellDomain({"x": 3}), [(first, last) for first in range(3) for last in range(first, 3)] * 200)
    arguments = {"people": 1000, "alpha": Fraction(1, 2), "epsilon": 1, "neighbours": PEOPLE}
    plain, sharper = small_database(intervals, **arguments), small_database(intervals, vc_dimension=2, **arguments)
    assert sharper.net.size < plain.net.size
    assert sharper.error(BETA) < plain.error(BETA)


@pytest.mark.textbook("S9.2")
def test_the_balanced_form_is_what_the_first_form_gives_at_half_alpha() -> None:
    facts = {"cells": 16, "queries": 50, "epsilon": 1, "beta": BETA}
    alpha = balanced_accuracy(people=10**6, **facts)
    assert small_database_accuracy(people=10**6, alpha=alpha / 2, **facts) <= alpha
    assert small_database_accuracy(people=2 * 10**5, alpha=alpha / 2, **facts) > alpha
    needed = people_for(alpha=Fraction(1, 10), **facts)
    assert balanced_accuracy(people=needed, **facts) <= Fraction(1, 10) < balanced_accuracy(people=needed - 9, **facts)


@pytest.mark.textbook("S9.2")
def test_too_few_people_are_told_how_many_would_do() -> None:
    with pytest.raises(InvalidParameter, match="at least"):
        balanced_accuracy(cells=16, queries=50, people=10, epsilon=1, beta=BETA)


@pytest.mark.textbook("S9.4")
def test_the_accuracy_of_a_net_is_alpha_and_the_choice() -> None:
    figure = net_accuracy(net=1000, alpha=Fraction(1, 10), epsilon=2, people=500, beta=BETA)
    with precise():
        assert abs(float(ball(figure - Fraction(1, 10)) * 500 - ball(20000).log())) < 1e-9
    mechanism = small_database(parities(2), people=500, alpha=Fraction(1, 4), epsilon=2, neighbours=PEOPLE)
    same = net_accuracy(net=mechanism.net.count, alpha=Fraction(1, 4), epsilon=2, people=500, beta=BETA)
    assert abs(mechanism.error(BETA) / 500 - same) < Fraction(1, 10**20)
    assert iterative_net_size(queries=10, updates=3) == 1000


def test_a_release_is_paid_for_and_other_neighbours_are_refused(sealed: Given, paid: Given) -> None:
    mechanism = tiny(Fraction(2))
    with pytest.raises(BudgetExceeded):
        mechanism.release(sealed([1, 1, 1]), paid(PureDP(Fraction(1))), SeededEntropy(0), beta=BETA)
    with pytest.raises(NeighbourMismatch):
        mechanism.release(sealed([1, 1, 1], AddRemove()), paid(mechanism.loss()), SeededEntropy(0), beta=BETA)


@pytest.mark.parametrize("rows", [[[1, 1]], [[-1, 4]], [1, 2]])
def test_what_is_no_net_is_refused(rows: list[list[int]]) -> None:
    with pytest.raises(InvalidParameter):
        Net(np.array(rows), 3, Fraction(0))
