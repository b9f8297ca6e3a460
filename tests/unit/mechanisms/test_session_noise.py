"""A running session is exactly its description: which noise it draws, of which scales, and how it compares.

The noise is written down instead of drawn. Over all noises on a small grid, a session must answer what the
`SparseVectorVersion` of its mechanism answers, whose law the other tests compute: with equal noise laws, the laws of
all answers are then equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from checks import SeededEntropy
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import repeated
from dalenius.accounting.filters import PrivacyFilter
from dalenius.mechanisms.noise import laplace
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse import sparse_vector as sparse_session
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import (
    AboveThreshold,
    NumericSession,
    Sparse,
    SparseVectorSession,
    ThresholdSession,
)
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove
from dalenius.randomness.entropy import Entropy
from dalenius.verify.cases.sparse_vectors import BELOW, STOPPED, Questions, SparseVectorVersion, sampled

PEOPLE = AddRemove()
LINE, QUERY, NUMBER = Fraction(2), Fraction(3), Fraction(5)
ROUNDS = AboveThreshold(threshold_scale=LINE, query_scale=QUERY, sensitivity=Fraction(1), neighbours=PEOPLE)
NUMERIC = NumericSparse(search=Sparse(rounds=ROUNDS, cutoff=2), answers=DiscreteLaplace(NUMBER, neighbours=PEOPLE))
GRID, QUESTIONS = (-1, 0, 2), (0, 1)
"""Noises of -1, 0 and 2 put a question below, onto and above its line."""

MECHANISMS = (ROUNDS, Sparse(rounds=ROUNDS, cutoff=2), NUMERIC)
Mechanism = AboveThreshold | Sparse | NumericSparse


class Tapes:
    """Noise that is written down: one list for each scale, in the order of use."""

    def __init__(self, lines: tuple[int, ...], queries: tuple[int, ...], numbers: tuple[int, ...]) -> None:
        self.written = {LINE: list(lines), QUERY: list(queries), NUMBER: list(numbers)}
        self.used: list[Fraction] = []

    def draw(self, scale: Fraction, count: int | None = None, *, entropy: Entropy) -> Any:
        self.used += [scale] * (count or 1)
        drawn = [self.written[scale].pop(0) for _ in range(count or 1)]
        return drawn[0] if count is None else np.array(drawn, dtype=np.int64)


def all_tapes(numeric: bool) -> list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """A line at the start and after each question; a noise for each question, and for each number where there are."""
    length = len(QUESTIONS)
    numbers = product((0, 7), repeat=length) if numeric else [(0,) * length]
    return list(product(product(GRID, repeat=length + 1), product(GRID, repeat=length), list(numbers)))


def expected(mechanism: Mechanism, questions: Questions, tapes: list[Any]) -> NDArray[np.int64]:
    """What the description answers, with the same noise: row i has the noise of tape i."""

    def column(role: int) -> Iterator[NDArray[np.int64]]:
        return iter(np.array([tape[role] for tape in tapes], dtype=np.int64).T)

    written = {LINE: column(0), QUERY: column(1), NUMBER: column(2)}
    return sampled(SparseVectorVersion.of(mechanism), questions, len(tapes), lambda scale, size: next(written[scale]))


def answered(session: SparseVectorSession, questions: Questions) -> list[int]:
    told = []
    for value in questions:
        if session.finished:
            told.append(STOPPED)
            continue
        answer = session.ask(Exact(value, sensitivity=1, neighbours=PEOPLE), threshold=0)  # type: ignore[attr-defined]
        told.append(BELOW if answer is None or answer is False else int(answer))
    return told


class Bench:
    """Runs sessions on written noise, as they are or as a planted kind."""

    def __init__(
        self, patch: pytest.MonkeyPatch, mechanism: Mechanism, planted: type[SparseVectorSession] | None = None
    ) -> None:
        self.patch, self.mechanism, self.planted = patch, mechanism, planted
        loss = mechanism.loss(sensitivity=1)
        self.allowance: Allowance = PrivacyFilter(Budget(9000), neighbours=PEOPLE).allow(repeated(loss, 2000))

    def start(self, tapes: Tapes) -> SparseVectorSession:
        for module in (sparse_session, laplace):
            self.patch.setattr(module, "discrete_laplace", tapes.draw)
        session: SparseVectorSession = self.mechanism.start(self.allowance, SeededEntropy(0))
        if self.planted:
            session.__class__ = self.planted
        return session

    def mistakes(self, questions: Questions = QUESTIONS) -> int:
        """On how many of all the tapes it answers otherwise than the description does."""
        tapes = all_tapes(isinstance(self.mechanism, NumericSparse))
        right = expected(self.mechanism, questions, tapes)
        told = np.array([answered(self.start(Tapes(*tape)), questions) for tape in tapes])
        return int((told != right).any(axis=1).sum())


@pytest.mark.textbook("S8.1", "S8.2", "S8.3")
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: type(mechanism).__name__)
def test_a_session_answers_what_its_description_answers_with_the_same_noise(
    monkeypatch: pytest.MonkeyPatch, mechanism: Mechanism
) -> None:
    assert Bench(monkeypatch, mechanism).mistakes() == 0


@pytest.mark.textbook("S8.1", "S8.2", "S8.3")
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: type(mechanism).__name__)
@pytest.mark.parametrize("value", [-9, 9])
def test_a_session_draws_one_line_and_then_the_same_noises_for_every_question(
    monkeypatch: pytest.MonkeyPatch, mechanism: Mechanism, value: int
) -> None:
    tapes = Tapes((0, 0), (0,), (0,))
    session = Bench(monkeypatch, mechanism).start(tapes)
    assert tapes.used == [LINE]
    answered(session, (value,))
    numbers = {NUMBER: 1} if isinstance(mechanism, NumericSparse) else {}
    assert Counter(tapes.used[1:]) == Counter({LINE: 1, QUERY: 1, **numbers})


# Planted sessions


class Strict(ThresholdSession):
    """Above means more than the line."""

    __slots__ = ()

    def _compare(self, value: int, threshold: int, entropy: Entropy) -> tuple[bool, int]:
        return super()._compare(value, threshold + 1, entropy)


class Stale(ThresholdSession):
    """The noisy line stays after a positive answer."""

    __slots__ = ()

    def _compare(self, value: int, threshold: int, entropy: Entropy) -> tuple[bool, int]:
        line = self._SparseVectorSession__noise
        result = super()._compare(value, threshold, entropy)
        self._SparseVectorSession__noise = line
        return result


class Restless(ThresholdSession):
    """The noisy line changes after every answer."""

    __slots__ = ()

    def _compare(self, value: int, threshold: int, entropy: Entropy) -> tuple[bool, int]:
        noisy = value + sparse_session.discrete_laplace(QUERY, entropy=entropy)
        above = noisy >= threshold + self._SparseVectorSession__noise
        self._SparseVectorSession__noise = sparse_session.discrete_laplace(LINE, entropy=entropy)
        return above, 0


class Swapped(ThresholdSession):
    """The comparison has the noise of a line, and the next line that of a comparison."""

    __slots__ = ()

    def _compare(self, value: int, threshold: int, entropy: Entropy) -> tuple[bool, int]:
        self._terms = replace(self._terms, threshold_scale=QUERY, query_scale=LINE)
        return super()._compare(value, threshold, entropy)


class Reusing(NumericSession):
    """The number has the noise of the comparison."""

    __slots__ = ()

    def _compare(self, value: int, threshold: int, entropy: Entropy) -> tuple[bool, int]:
        line = self._SparseVectorSession__noise
        noisy = value + sparse_session.discrete_laplace(QUERY, entropy=entropy)
        renewed = sparse_session.discrete_laplace(LINE, entropy=entropy)
        above = noisy >= threshold + line
        self._SparseVectorSession__noise = renewed if above else line
        return above, noisy


@pytest.mark.textbook("S8.4")
@pytest.mark.parametrize("planted", [Strict, Stale, Restless, Reusing, Swapped], ids=lambda kind: kind.__name__)
def test_the_test_above_notices_a_planted_session(
    monkeypatch: pytest.MonkeyPatch, planted: type[SparseVectorSession]
) -> None:
    mechanism = NUMERIC if issubclass(planted, NumericSession) else MECHANISMS[1]
    assert Bench(monkeypatch, mechanism, planted).mistakes() > 10
