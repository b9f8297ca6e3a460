"""The query release game: a data player names cells, a query player names questions that tell them from the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import inside_unit, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.synth.online.sealed import Release
from dalenius.tabular.workloads import Reals, Workload

Learners: TypeAlias = Literal["data", "queries", "both"]
"""Who learns by multiplicative weights; the other one always plays the best reply."""


@dataclass(frozen=True, eq=False)
class QueryReleaseGame:
    """The zero-sum game with cost c(cell, f) = f(cell) - answer of f, where f runs through all questions and their
    complements 1 - f: the data player pays, the query player gets it.

    Guarantee: if the answers, as shares, are those of a database, the value of the game is 0, and a strategy of the
    data player that loses at most alpha is a synthetic database that answers every question within alpha.
    The answers are public here (measured ones): the game is played after the release, and costs nothing. With private
    answers, the query player is the exponential mechanism: see `IterativeConstruction`, where the data player learns.
    Reference: Dwork & Roth 2014, Section 5.3.3 and Proposition 5.16.
    Textbook: S9.13, S9.17.
    """

    workload: Workload
    shares: Reals

    def __post_init__(self) -> None:
        if self.shares.shape != (self.workload.count,):
            raise InvalidParameter("shares", self.shares.shape, allowed=f"{self.workload.count}, one per question")

    @classmethod
    def of(cls, workload: Workload, answers: Reals, *, people: int) -> QueryReleaseGame:
        """The game with released answers, in people."""
        return cls(workload, np.clip(np.asarray(answers, dtype=np.float64) / whole(1, people=people), 0.0, 1.0))

    def cost(self, strategy: Reals) -> float:
        """The most that a strategy of the data player can be made to lose: its largest error, as a share."""
        return float(np.abs(self._answers(strategy) - self.shares).max())

    def play(self, rounds: int, *, learners: Learners = "both") -> Reals:
        """The data player's strategy, averaged over so many rounds; see `game_accuracy` for what it loses.

        Where the query player learns, or both do, only the averages approach the value; no round alone does.
        """
        _require_known(learners)
        count, cells, queries = whole(1, rounds=rounds), self.workload.grid.cells, 2 * self.workload.count
        data, query = np.zeros(cells), np.zeros(queries)
        total = np.zeros(cells)
        for _ in range(count):
            mixed = self._weighted(data, cells, count) if learners != "queries" else self._best_cell(query, count)
            total += mixed
            gain = self._gains(mixed)
            reply = self._weighted(-query, queries, count) if learners != "data" else _single(gain)
            data += self._losses(reply)
            query += gain
        return total / count

    def _weighted(self, losses: Reals, size: int, rounds: int) -> Reals:
        rate = float(np.sqrt(np.float64(_log(size) / rounds)))
        raised = np.exp(-min(rate, 1.0) * (losses - losses.min()))
        weights: Reals = raised / raised.sum()
        return weights

    def _best_cell(self, gains: Reals, rounds: int) -> Reals:
        losses = self._losses(self._weighted(-gains, len(gains), rounds))
        return _single(-losses)

    def _gains(self, strategy: Reals) -> Reals:
        """What each question, and then each complement, wins against a strategy."""
        off = self._answers(strategy) - self.shares
        return np.concatenate([off, -off])

    def _losses(self, reply: Reals) -> Reals:
        """What each cell loses to a mixture of questions and complements."""
        half = self.workload.count
        signed = reply[:half] - reply[half:]
        weights = signed @ self.workload.matrix / self.workload.denominator
        losses: Reals = weights - float(signed @ self.shares)
        return losses

    def _answers(self, strategy: Reals) -> Reals:
        return np.asarray(self.workload.answers(strategy), dtype=np.float64) / self.workload.denominator


def game_accuracy(*, cells: int, queries: int, rounds: int, learners: Learners) -> Fraction:
    """How much more than the value of the game the data player's average strategy loses at most, rounded up.

    2 sqrt(ln(#actions) / rounds) for each player who learns; the best reply of the other one has no regret. The query
    player has 2 #Q actions, because of the complements.
    Reference: the regret of multiplicative weights with costs in [-1, 1] and rate sqrt(ln N / T): e^-x <= 1 - x + x^2;
    Freund & Schapire 1996 for the equilibrium.
    Textbook: S9.13, S9.17.
    """
    _require_known(learners)
    count = whole(1, rounds=rounds)
    actions = {"data": [cells], "queries": [2 * queries], "both": [cells, 2 * queries]}[learners]
    if any(_log(whole(1, actions=size)) > count for size in actions):
        raise InvalidParameter("rounds", count, allowed=f"at least {max(map(_log, actions)):.0f}")
    with precise():
        return sum((upper(2 * (ball(size).log() / count).sqrt()) for size in actions), Fraction(0))


def synthetic_from(release: Release, workload: Workload, *, people: int, rounds: int = 2_000) -> Release:
    """A synthetic histogram from released answers to all questions: time polynomial in n, #X and #Q.

    Guarantee: costs nothing more. If the released answers are within e people, those of the histogram are within
    2 e + (game's accuracy) * people, with the same probability.
    Proof: the true database loses at most e / people in the game, so the value is at most that; the strategy loses at
    most the game's accuracy more against the released answers, which are e off themselves.
    For few cells and questions this is what to use: independent noise first, then the game, or the linear program that
    does the same.
    Reference: Dwork & Roth 2014, Section 9.1, after the first hardness result.
    Textbook: S9.18.
    """
    game = QueryReleaseGame.of(workload, release.answers, people=people)
    strategy = game.play(rounds, learners="both")
    slack = game_accuracy(cells=workload.grid.cells, queries=workload.count, rounds=rounds, learners="both")
    return Release(
        answers=game._answers(strategy) * people,
        histogram=strategy * people,
        error=2 * release.error + slack * people,
        beta=inside_unit(beta=release.beta),
        rounds=release.rounds,
    )


def _require_known(learners: Learners) -> None:
    if learners not in get_args(Learners):
        raise InvalidParameter("learners", learners, allowed=f"one of {', '.join(get_args(Learners))}")


def _single(scores: Reals) -> Reals:
    chosen = np.zeros(len(scores))
    chosen[int(scores.argmax())] = 1.0
    return chosen


def _log(size: int) -> float:
    with precise():
        return float(upper(ball(size).log()))
