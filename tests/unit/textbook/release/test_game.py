"""The query release game: its value, what its players lose, and synthetic data from released answers."""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dalenius.errors import InvalidParameter
from dalenius.tabular.workloads import MatrixWorkload, parities
from dalenius.textbook.release.game import Learners, QueryReleaseGame, game_accuracy

WORKLOAD = parities(3)
PEOPLE, BETA = 1000, Fraction(1, 10)
HISTOGRAMS = [PEOPLE * np.eye(8)[3], PEOPLE / 2 * (np.eye(8)[0] + np.eye(8)[6]), np.full(8, PEOPLE / 8)]
WAYS: list[Learners] = ["data", "queries", "both"]


def game_value(game: QueryReleaseGame) -> float:
    """The least that a mixed strategy can be made to lose, by a linear program."""
    matrix = game.workload.matrix / game.workload.denominator
    signed = np.vstack([matrix, -matrix])
    right = np.concatenate([game.shares, -game.shares])
    table = np.hstack([signed, -np.ones((len(signed), 1))])
    found = optimize.linprog(
        np.append(np.zeros(8), 1.0), A_ub=table, b_ub=right, A_eq=[[1.0] * 8 + [0.0]], b_eq=[1.0],
        bounds=[(0, None)] * 8 + [(None, None)],
    )  # fmt: skip
    return float(found.fun)


@pytest.mark.textbook("S9.13")
@pytest.mark.parametrize("counts", HISTOGRAMS, ids=["one cell", "two cells", "uniform"])
def test_the_value_of_the_game_is_zero(counts: np.ndarray) -> None:
    assert game_value(QueryReleaseGame.of(WORKLOAD, WORKLOAD.answers(counts), people=PEOPLE)) == pytest.approx(
        0, abs=1e-9
    )


def test_answers_of_no_database_have_another_value() -> None:
    nobody = np.zeros(WORKLOAD.count)
    assert game_value(QueryReleaseGame.of(WORKLOAD, nobody, people=PEOPLE)) > 0.01


@pytest.mark.textbook("S9.13", "S9.17")
@pytest.mark.parametrize("counts", HISTOGRAMS, ids=["one cell", "two cells", "uniform"])
@pytest.mark.parametrize("learners", WAYS)
@pytest.mark.parametrize("rounds", [20, 400])
def test_the_average_strategy_loses_no_more_than_the_regret(
    counts: np.ndarray, learners: Learners, rounds: int
) -> None:
    game = QueryReleaseGame.of(WORKLOAD, WORKLOAD.answers(counts), people=PEOPLE)
    strategy = game.play(rounds, learners=learners)
    assert strategy.sum() == pytest.approx(1)
    assert game.cost(strategy) <= game_accuracy(cells=8, queries=8, rounds=rounds, learners=learners)


@pytest.mark.textbook("S9.13")
@pytest.mark.parametrize("learners", WAYS)
def test_the_test_above_notices_players_who_learn_the_opposite(
    learners: Learners, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = QueryReleaseGame._losses
    monkeypatch.setattr(QueryReleaseGame, "_losses", lambda self, reply: -right(self, reply))
    game = QueryReleaseGame.of(WORKLOAD, WORKLOAD.answers(HISTOGRAMS[0]), people=PEOPLE)
    strategy = game.play(400, learners=learners)
    assert game.cost(strategy) > game_accuracy(cells=8, queries=8, rounds=400, learners=learners)


@pytest.mark.textbook("S9.17")
def test_the_regret_is_counted_for_each_player_who_learns() -> None:
    one = game_accuracy(cells=8, queries=50, rounds=100, learners="data")
    other = game_accuracy(cells=8, queries=50, rounds=100, learners="queries")
    assert float(one) == pytest.approx(2 * (log(8) / 100) ** 0.5)
    assert float(other) == pytest.approx(2 * (log(100) / 100) ** 0.5)
    assert game_accuracy(cells=8, queries=50, rounds=100, learners="both") == one + other
    with pytest.raises(InvalidParameter):
        game_accuracy(cells=8, queries=50, rounds=2, learners="both")
    with pytest.raises(InvalidParameter):
        QueryReleaseGame(WORKLOAD, np.zeros(3))


@pytest.mark.textbook("S9.13")
def test_weights_with_a_denominator_are_shares() -> None:
    halves = MatrixWorkload(WORKLOAD.grid, WORKLOAD.matrix * 2, denominator=4)
    game = QueryReleaseGame.of(halves, halves.answers(HISTOGRAMS[0]) / 4, people=PEOPLE)
    assert game.cost(HISTOGRAMS[0] / PEOPLE) == pytest.approx(0)


@pytest.mark.parametrize("learners", ["nonsense", "", ["data"], None])
def test_nobody_else_learns(learners: Any) -> None:
    game = QueryReleaseGame(WORKLOAD, np.zeros(WORKLOAD.count))
    with pytest.raises(InvalidParameter, match="one of data, queries, both"):
        game.play(10, learners=learners)
    with pytest.raises(InvalidParameter, match="one of data, queries, both"):
        game_accuracy(cells=8, queries=8, rounds=100, learners=learners)
