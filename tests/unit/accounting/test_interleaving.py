"""Interactive mechanisms are paid for as randomized response and may then be interleaved at will (THREATS G3).

A small model check: two threshold tests with a secret noisy threshold, an analyst who asks either of them in any order
and sees every answer, all strategies, exact probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import pytest

from dalenius.accounting.amounts import DIVERGENCE_UNIT, price
from dalenius.accounting.composition import repeated
from dalenius.privacy.losses import PureDP
from dalenius.privacy.reals import ball, lower, precise, upper

Question = tuple[int, int]
QUESTIONS: tuple[Question, ...] = ((0, 1), (1, 0))  # the values in the two worlds: they differ by at most one
ORDER = 4


def chance(value: int, threshold: int, answer: bool) -> Fraction:
    odds = Fraction(4) ** (value - threshold)
    return (odds if answer else 1) / (1 + odds)


@dataclass(frozen=True)
class Session:
    """The weight of each secret threshold with the answers so far, in the two worlds; a yes ends the session."""

    worlds: tuple[tuple[Fraction, ...], ...] = ((Fraction(1, 2),) * 2,) * 2
    left: int = 2

    def after(self, question: Question, answer: bool) -> Session:
        worlds = tuple(
            tuple(weight * chance(value, threshold, answer) for threshold, weight in enumerate(weights))
            for value, weights in zip(question, self.worlds, strict=True)
        )
        return Session(worlds, 0 if answer else self.left - 1)

    def masses(self) -> tuple[Fraction, Fraction]:
        first, second = (sum(weights, Fraction(0)) for weights in self.worlds)
        return first, second


def worst_moment(sessions: tuple[Session, ...]) -> Fraction:
    """The largest sum of p^4 / q^3 over the transcripts that an analyst can bring about."""
    moves = [(index, question) for index, question in product(range(len(sessions)), QUESTIONS) if sessions[index].left]
    if not moves:
        total = Fraction(1)
        for first, second in (session.masses() for session in sessions):
            total *= first**ORDER / second ** (ORDER - 1)
        return total
    return max(sum(worst_moment(step(sessions, *move, answer)) for answer in (False, True)) for move in moves)


def step(sessions: tuple[Session, ...], index: int, question: Question, answer: bool) -> tuple[Session, ...]:
    return (*sessions[:index], sessions[index].after(question, answer), *sessions[index + 1 :])


def worst_odds(session: Session) -> Fraction:
    """The largest likelihood ratio of any transcript of one session alone."""
    if not session.left:
        first, second = session.masses()
        return max(first / second, second / first)
    return max(worst_odds(session.after(*move)) for move in product(QUESTIONS, (False, True)))


@pytest.mark.textbook("S6.8")
def test_two_interleaved_sessions_cost_more_than_one_randomized_response_and_no_more_than_two() -> None:
    with precise():
        each = PureDP(upper(ball(worst_odds(Session())).log()))
        alone, together = (lower(ball(worst_moment((Session(),) * number)).log() / (ORDER - 1)) for number in (1, 2))
    paid = [price(repeated(each, uses), order=Fraction(ORDER)).divergence * DIVERGENCE_UNIT for uses in (1, 2)]
    assert alone <= paid[0] < together <= paid[1]
