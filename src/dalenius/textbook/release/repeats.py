"""Coordinated answers: a question that was asked before, or nearly, is answered from what was released."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dalenius.accounting.allowance import Allowance
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.numbers import Number, inside_unit, not_negative, whole
from dalenius.randomness.entropy import Entropy
from dalenius.synth.online.sealed import require_computable, rows_moved, wide
from dalenius.tabular.workloads import Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """An answer in people, how far off it may be, and whether it was paid for now or is an old one."""

    people: Fraction
    error: Fraction
    fresh: bool


class Repeats:
    """Laplace answers that are given once: whoever asks again, or nearly the same, hears the first answer again.

    Guarantee: an answer from memory costs nothing, because it is computed from what was released. So asking again and
    averaging gains nothing. A near question is one whose answer can differ by at most `nearness` people, by public
    facts: the largest difference of weights times `people`, or the sum of differences times `most_in_a_cell`.
    Reference: Dwork & Roth 2014, Section 4, opening.
    Textbook: S9.16.
    """

    def __init__(
        self,
        mechanism: DiscreteLaplace,
        *,
        people: int,
        beta: Number,
        denominator: int = 1,
        most_in_a_cell: int | None = None,
        nearness: Number = 0,
    ) -> None:
        require_computable(people=people, denominator=denominator)
        self.mechanism, self.people, self.denominator = mechanism, people, denominator
        self.most_in_a_cell = people if most_in_a_cell is None else whole(1, most_in_a_cell=most_in_a_cell)
        self.nearness, self._error = not_negative(nearness=nearness), mechanism.error(inside_unit(beta=beta))
        self._known: list[tuple[Integers, int]] = []

    def ask(self, weights: ArrayLike, histogram: Exact[Integers], allowance: Allowance, entropy: Entropy) -> Recalled:
        """The answer from memory where there is one, otherwise a new one, paid for and remembered."""
        question = self._question(weights)
        old = self._recalled(question)
        if old is not None:
            return old
        moves = Fraction(self.denominator * rows_moved(histogram))
        sealed = histogram.map(lambda counts: int(question @ wide(counts, times=self.denominator)), sensitivity=moves)
        value = measure(self.mechanism, sealed, allowance, entropy)
        self._known.append((question, value))
        return self._answer(value, Fraction(0), fresh=True)

    def _recalled(self, question: Integers) -> Recalled | None:
        apart = [(self._apart(question, known), place) for place, (known, _) in enumerate(self._known)]
        nearest = min(apart, default=(self.nearness + 1, 0))
        if nearest[0] > self.nearness:
            return None
        return self._answer(self._known[nearest[1]][1], nearest[0], fresh=False)

    def _apart(self, question: Integers, known: Integers) -> Fraction:
        """How many people the answers to two questions can differ by, at most."""
        gaps = np.abs(question - known)
        parts = min(self.people * int(gaps.max()), self.most_in_a_cell * int(gaps.sum()))
        return Fraction(parts, self.denominator)

    def _answer(self, value: int, apart: Fraction, *, fresh: bool) -> Recalled:
        error = Fraction(self._error, self.denominator) + apart
        return Recalled(people=Fraction(value, self.denominator), error=error, fresh=fresh)

    def _question(self, weights: ArrayLike) -> Integers:
        question = np.asarray(weights)
        fits = question.ndim == 1 and question.dtype.kind in "bui" and question.size > 0
        if not fits or question.min() < 0 or question.max() > self.denominator:
            raise InvalidParameter("weights", "others", allowed=f"integers from 0 to {self.denominator}, one per cell")
        if self._known and question.shape != self._known[0][0].shape:
            raise InvalidParameter("weights", question.shape, allowed=f"{self._known[0][0].shape}, as before")
        return question.astype(np.int64)
