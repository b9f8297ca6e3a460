"""Exact probabilities of what sparse vectors answer.

A version is described by its noise and its rule for stopping. The threshold is 0 and questions are integers; all noise
is integer, so the probability of a transcript is one sum over the threshold's noise, enclosed with its tail.

Published sparse vectors that are not private.

Those that Lyu, Su & Li 2017 (arXiv:1603.01699) number 3 to 6, and others, each with noise for a claim of `epsilon` at
cutoff c and sensitivity 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from operator import mul
from typing import Literal

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, Sparse
from dalenius.privacy.reals import lower, precise
from dalenius.randomness.laws import DiscreteLaplaceLaw

Questions = tuple[int, ...]
Answer = int | None
"""None: below. A number, or 1 where only a bit is told: above."""

Transcript = tuple[Answer, ...]


@dataclass(frozen=True)
class SparseVectorVersion:
    """A sparse vector: what is noisy, what is told about a question that is above, and when it stops."""

    threshold_scale: Fraction | None
    query_scale: Fraction | None
    cutoff: int | None
    tells: Literal["bit", "compared value", "gap", "fresh value"] = "bit"
    redraw: bool = True
    answer_scale: Fraction | None = None

    @classmethod
    def of(cls, mechanism: AboveThreshold | Sparse | NumericSparse) -> SparseVectorVersion:
        """One of ours."""
        if isinstance(mechanism, NumericSparse):
            search = cls.of(mechanism.search)
            return cls(
                search.threshold_scale,
                search.query_scale,
                search.cutoff,
                "fresh value",
                answer_scale=mechanism.answers.scale,
            )
        rounds = mechanism.rounds if isinstance(mechanism, Sparse) else mechanism
        cutoff = mechanism.cutoff if isinstance(mechanism, Sparse) else 1
        return cls(rounds.threshold_scale, rounds.query_scale, cutoff)

    def transcripts(self, length: int, numbers: Iterable[int] = ()) -> list[Transcript]:
        """All that can be answered to `length` questions; a stopped run is a shorter transcript."""
        above = (1,) if self.tells == "bit" else tuple(numbers)
        found = set()
        for answers in product((None, *above), repeat=length):
            ends = [place for place, answer in enumerate(answers) if answer is not None]
            stop = ends[self.cutoff - 1] + 1 if self.cutoff and len(ends) >= self.cutoff else length
            found.add(answers[:stop])
        return sorted(found, key=repr)

    def probability(self, questions: Questions, transcript: Transcript) -> arb:
        """The probability of a transcript, enclosed."""
        with precise(128):
            result = arb(1)
            for part in self._segments(tuple(zip(questions, transcript, strict=False))):
                result *= _segment(self, part)
            return result

    def _segments(self, pairs: tuple[tuple[int, Answer], ...]) -> list[tuple[tuple[int, Answer], ...]]:
        """The stretches that share one noisy threshold."""
        if not self.redraw:
            return [pairs]
        segments: list[tuple[tuple[int, Answer], ...]] = [()]
        for pair in pairs:
            segments[-1] = (*segments[-1], pair)
            if pair[1] is not None:
                segments.append(())
        return [segment for segment in segments if segment]


@cache
def _segment(version: SparseVectorVersion, pairs: tuple[tuple[int, Answer], ...]) -> arb:
    """The sum over the threshold's noise, and an enclosure of what is further out."""
    if version.threshold_scale is None:
        return reduce(mul, (_answers(version, question, answer, 0) for question, answer in pairs), arb(1))
    law, reach = DiscreteLaplaceLaw(version.threshold_scale), int(50 * version.threshold_scale)
    columns = [_column(version, question, answer, reach) for question, answer in pairs]
    rows = zip(_column(version, None, None, reach), *columns, strict=True)
    total = sum((reduce(mul, row, arb(1)) for row in rows), arb(0))
    for edge in (-reach, reach):
        half = law.tail(reach + 1) * _beyond(version, pairs, edge) / 2
        total += half + arb(0, half)
    return total


@cache
def _column(version: SparseVectorVersion, question: int | None, answer: Answer, reach: int) -> list[arb]:
    """The chance of an answer for each noise of the threshold; without a question, the chance of the noise itself."""
    if question is None and version.threshold_scale is not None:
        law = DiscreteLaplaceLaw(version.threshold_scale)
        return [law.pmf(noise) for noise in range(-reach, reach + 1)]
    return [_answers(version, question or 0, answer, noise) for noise in range(-reach, reach + 1)]


def _beyond(version: SparseVectorVersion, pairs: tuple[tuple[int, Answer], ...], edge: int) -> arb:
    """An upper bound on the chance of all answers for lines beyond the edge: there, chances fall or rise to 1."""
    result = arb(1)
    for question, answer in pairs:
        rising = edge > 0 if answer is None else edge < 0 and version.tells in ("bit", "fresh value")
        result *= arb(1) if rising else _answers(version, question, answer, edge)
    return result


def _answers(version: SparseVectorVersion, question: int, answer: Answer, line: int) -> arb:
    if answer is None:
        return 1 - _reaches(version.query_scale, line - question)
    if version.tells == "compared value":
        return _lands(version.query_scale, answer - question) if answer >= line else arb(0)
    if version.tells == "gap":
        return _lands(version.query_scale, line + answer - question)
    above = _reaches(version.query_scale, line - question)
    return above * _lands(version.answer_scale, answer - question) if version.tells == "fresh value" else above


@cache
def _reaches(scale: Fraction | None, distance: int) -> arb:
    """P[noise >= distance]; without noise it is 0 or 1."""
    return arb(distance <= 0) if scale is None else DiscreteLaplaceLaw(scale).tail(distance)


@cache
def _lands(scale: Fraction | None, distance: int) -> arb:
    """P[noise = distance]."""
    return arb(distance == 0) if scale is None else DiscreteLaplaceLaw(scale).pmf(distance)


@dataclass(frozen=True)
class SeparatingTranscript:
    """A transcript that tells two neighbouring lists of answers apart by `loss`; None means for certain."""

    loss: Fraction | None
    questions: Questions
    moved: Questions
    transcript: Transcript


def worst(
    version: SparseVectorVersion,
    pairs: Iterable[tuple[Questions, Questions]],
    transcripts: Iterable[Transcript],
    bound: Callable[[arb], Fraction] = lower,
) -> SeparatingTranscript:
    """The transcript with the largest loss over all pairs; `bound`, `lower` or `upper`, says how losses are rounded."""
    best, largest, told = SeparatingTranscript(Fraction(0), (), (), ()), arb(1), list(transcripts)
    law = cache(lambda questions: [version.probability(questions, transcript) for transcript in told])
    with precise(128):
        for here, there in pairs:
            for transcript, first, second in zip(told, law(here), law(there), strict=True):
                if second == 0 and first > 0:
                    return SeparatingTranscript(None, here, there, transcript)
                if first == 0 or not (end := _end(first / second, bound)) > largest:
                    continue
                best, largest = SeparatingTranscript(bound(end.log()), here, there, transcript), end
    return best


def _end(ratio: arb, bound: Callable[[arb], Fraction]) -> arb:
    return ratio.lower() if bound is lower else ratio.upper()


def neighbours(
    length: int, values: Iterable[int] = (0, 1), moves: Iterable[int] = (-1, 0, 1)
) -> list[tuple[Questions, Questions]]:
    """All lists of answers over `values`, each with all lists in which every answer made one of the moves."""
    steps = list(product(moves, repeat=length))
    lists = product(values, repeat=length)
    return [(base, tuple(a + b for a, b in zip(base, step, strict=True))) for base in lists for step in steps]


BELOW, STOPPED = -(10**9), 10**9  # codes in sampled transcripts


def sampled(
    version: SparseVectorVersion, questions: Questions, size: int, laplace: Callable[[Fraction, int], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """`size` transcripts as rows; `laplace(scale, size)` gives the noise."""

    def noise(scale: Fraction | None) -> NDArray[np.int64]:
        return np.zeros(size, dtype=np.int64) if scale is None else laplace(scale, size)

    line, count = noise(version.threshold_scale), np.zeros(size, dtype=np.int64)
    rows = np.full((size, len(questions)), STOPPED, dtype=np.int64)
    for place, question in enumerate(questions):
        running = np.ones(size, dtype=np.bool_) if version.cutoff is None else count < version.cutoff
        compared = question + noise(version.query_scale)
        above = compared >= line
        told = {
            "bit": np.ones(size, dtype=np.int64),
            "compared value": compared,
            "gap": compared - line,
            "fresh value": question + noise(version.answer_scale),
        }[version.tells]
        rows[running, place] = np.where(above, told, BELOW)[running]
        count += above & running
        if version.redraw:
            line = np.where(above, noise(version.threshold_scale), line)
    return rows


def compared_value_told(epsilon: Fraction, c: int) -> SparseVectorVersion:
    """Algorithm 3: the number that is told is the one that was compared."""
    return SparseVectorVersion(2 / epsilon, 2 * c / epsilon, c, "compared value", redraw=False)


def noise_without_c(epsilon: Fraction, c: int) -> SparseVectorVersion:
    """Algorithm 4: the noise of a question does not grow with the cutoff."""
    return SparseVectorVersion(4 / epsilon, 4 / (3 * epsilon), c, redraw=False)


def no_query_noise(epsilon: Fraction, c: int) -> SparseVectorVersion:
    """Algorithm 5: questions are compared exactly, and there is no cutoff."""
    return SparseVectorVersion(2 / epsilon, None, None, redraw=False)


def no_cutoff(epsilon: Fraction, c: int) -> SparseVectorVersion:
    """Algorithm 6: it never stops."""
    return SparseVectorVersion(2 / epsilon, 2 / epsilon, None, redraw=False)


def gap_told(epsilon: Fraction, c: int) -> SparseVectorVersion:
    """The distance from the noisy threshold is told, with noise that pays for one bit only."""
    return SparseVectorVersion(2 / epsilon, 2 * c / epsilon, c, "gap", redraw=False)


def exact_branch(epsilon: Fraction, c: int) -> SparseVectorVersion:
    """The slides' first attempt: branch on the exact value, then tell it with noise for c numbers."""
    return SparseVectorVersion(None, None, c, "fresh value", answer_scale=c / epsilon)


def slide(scale: Fraction) -> SparseVectorVersion:
    """The slides' algorithm: fresh noise for each comparison but no noisy threshold and no cutoff."""
    return SparseVectorVersion(None, scale, None, "fresh value", answer_scale=scale)
