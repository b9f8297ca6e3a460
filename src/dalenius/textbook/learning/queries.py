"""Statistical queries: an algorithm that needs only noisy averages over rows is private if these come through the door.

Reference: Kearns 1998 for the model; Blum, Dwork, McSherry & Nissim 2005 (SuLQ) for the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.rows import ONE, PIECE, Entries, Integers, SealedRows, product
from dalenius.mechanisms.budget_parts import BudgetPart, Noise
from dalenius.mechanisms.door import measure
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy


@dataclass(frozen=True, kw_only=True)
class StatisticalQuery:
    """`length` averages at once: `part` gives, for each row, so many whole numbers of steps of 1 / ONE.

    What is below `lower` or above `upper` is moved there. Whoever makes one vouches that the numbers of a row depend on
    that row alone, and, where `l1` or `l2_squared` are given, that no row's vector has larger norms (in steps).
    Textbook: S14.2.
    """

    part: Callable[[Entries], Integers]
    length: int
    lower: int = 0
    upper: int = ONE
    l1: int | None = None
    l2_squared: int | None = None

    def __post_init__(self) -> None:
        whole(1, length=self.length)
        whole(0, upper=self.upper)
        whole(0, lower=-self.lower)

    def totals(self, entries: Entries) -> Integers:
        """The sums over all rows."""
        total = np.zeros(self.length, dtype=np.int64)
        for piece in entries.pieces():
            values = np.clip(np.asarray(self.part(piece)), self.lower, self.upper)
            if values.shape != (len(piece), self.length) or not np.issubdtype(values.dtype, np.integer):
                raise ValueError("whole numbers, a row of them for each row")
            total += product(piece.counts[None, :], values, largest=self._largest * PIECE)[0]
        return total

    def change(self, rows: SealedRows) -> Sensitivity:
        """How far one unit moves the sums. A number between lower and upper moves by upper - lower where a row is
        replaced, and by the larger of their sizes where one is added or removed."""
        steps = rows.neighbours.add_remove_steps
        single = self._largest if isinstance(rows.neighbours, AddRemove) else self.upper - self.lower
        l1, squared = self.length * single, self.length * single**2
        if self.l1 is not None:
            l1 = min(l1, steps * self.l1)
        if self.l2_squared is not None:
            squared = min(squared, steps**2 * self.l2_squared)
        return (Sensitivity(l1=l1, l2_squared=squared, linf=single) * rows.most).under(rows.neighbours)

    @property
    def _largest(self) -> int:
        return max(self.upper, -self.lower)


@dataclass(frozen=True)
class Oracle:
    """Answers statistical queries about sealed rows, each average for `each` of a budget part: Laplace noise where the
    ledger counts epsilon, Gaussian noise where it counts Rényi divergence.

    Guarantee: all answers together cost no more than the share of the budget part for which the oracle was made, if no
    more averages are asked for than were named; whatever is asked, no more than the budget part has.
    Proof: noise for l averages with l1 (or squared l2) sensitivity s is scaled to l shares of the budget part, which
    add up.
    Reference: Dwork & Roth 2014, Section 11.1; Blum, Dwork, McSherry & Nissim 2005.
    Textbook: S14.2, S14.11.
    """

    rows: SealedRows
    budget_part: BudgetPart
    each: Fraction
    entropy: Entropy

    @classmethod
    def of(
        cls, rows: SealedRows, budget_part: BudgetPart, entropy: Entropy, *, queries: int, share: Number = 1
    ) -> Oracle:
        """An oracle for so many averages, at the expense of a share of what the budget part has left."""
        return cls(
            rows, budget_part, budget_part.equal(whole(1, queries=queries), share=positive(share=share)), entropy
        )

    def noise(self, query: StatisticalQuery) -> Noise:
        """The noise of the sums of a query, in steps."""
        return self.budget_part.noise(query.length * self.each, query.change(self.rows))

    def totals(self, query: StatisticalQuery) -> Integers:
        """The noisy sums, in steps."""
        exact = self.rows.entries.map(query.totals, sensitivity=query.change(self.rows))
        return np.asarray(measure(self.noise(query), exact, self.budget_part.allowance, self.entropy))

    def averages(self, query: StatisticalQuery, *, people: int) -> NDArray[np.float64]:
        """The noisy averages over a public number of rows: where rows are added or removed, one that was released."""
        return self.totals(query) / (ONE * whole(1, people=people))


@dataclass(frozen=True)
class Conjunction:
    """A conjunction of literals: the first ones say that a feature is positive, the others that it is not."""

    literals: tuple[bool, ...]

    def predict(self, features: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Which rows are positive: those where no chosen literal is false."""
        return np.asarray(~(_false(features) & np.array(self.literals)).any(axis=1))

    @classmethod
    def learn(cls, oracle: Oracle, *, people: int, tolerance: float) -> Conjunction:
        """All literals that are hardly ever false in positive rows, by one statistical query for each of 2d literals.

        Guarantee: if the labels are those of some conjunction and every average is within `tolerance` of the truth,
        the result errs on a share of at most `conjunction_error` of the rows.
        Proof: literals of the true conjunction are never false in positive rows, so all of them are kept and no
        negative row is called positive. A kept literal is false in a share of at most 2 tolerances, and
        each wrong row has one.
        Reference: Kearns 1998, conjunctions by statistical queries.
        Textbook: S14.2.
        """
        query = StatisticalQuery(part=_false_in_positive, length=2 * oracle.rows.width)
        return cls(tuple((oracle.averages(query, people=people) <= tolerance).tolist()))


def conjunction_error(*, width: int, tolerance: Number) -> Fraction:
    """The most that `Conjunction.learn` errs: 2d literals, each false in a share of at most two tolerances.

    Textbook: S14.2.
    """
    return 4 * whole(1, width=width) * positive(tolerance=tolerance)


def query_noise(*, queries: int, rows: int, epsilon: Number, beta: Number) -> Fraction:
    """With probability 1 - beta no average of [0, 1] over n rows is answered with more noise than this: m ln(m / beta)
    / (epsilon n), and half a step of the grid for the integers.

    Reference: Dwork & Roth 2014, Theorem 3.8 with l1 sensitivity m / n; see `laplace_accuracy` for the half step.
    Textbook: S14.2.
    """
    count, people = whole(1, queries=queries), whole(1, rows=rows)
    with precise():
        laplace = upper(count * ball(count / inside_unit(beta=beta)).log() / ball(positive(epsilon=epsilon) * people))
    return laplace + Fraction(1, 2 * ONE * people)


def query_sample_size(*, queries: int, tolerance: Number, epsilon: Number, beta: Number) -> int:
    """Rows that suffice for m averages within a tolerance of those of the distribution, with probability 1 - beta:
    max((2m ln(2m / beta) / epsilon + 1 / ONE) / tolerance, 2 ln(4m / beta) / tolerance^2), rounded up.

    The second part, for the sample, is by Hoeffding's inequality for queries that are chosen before the rows are drawn.
    For queries that depend on earlier answers the union bound says nothing; `adaptive.expected_gap` does.
    Reference: Dwork & Roth 2014, Section 11.1, with constants and with the condition that the text leaves out.
    Textbook: S14.2.
    """
    count, width = whole(1, queries=queries), inside_unit(tolerance=tolerance)
    price, failure = positive(epsilon=epsilon), inside_unit(beta=beta)
    with precise():
        noise = upper(2 * count * ball(2 * count / failure).log() / ball(price))
        sampled = upper(2 * ball(4 * count / failure).log() / ball(width**2))
    return ceil(max((noise + Fraction(1, ONE)) / width, sampled))


def _false(features: NDArray[np.int16]) -> NDArray[np.bool_]:
    return np.hstack([features <= 0, features > 0])


def _false_in_positive(entries: Entries) -> Integers:
    found = _false(entries.features) & (entries.target[:, None] == 1)
    return np.asarray(ONE * found.astype(np.int64))
