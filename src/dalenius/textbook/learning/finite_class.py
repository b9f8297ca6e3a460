"""Private agnostic learning of a finite class: one choice among all hypotheses, by how many rows they get wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.rows import ONE, PIECE, Entries, Integers, SealedRows, product
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy

_HEAVIEST = 2**20


@dataclass(frozen=True)
class FiniteClass:
    """`size` public hypotheses. `predict` takes features, a row each, and says which hypotheses call a row positive.

    Whoever makes one vouches that what is said about a row depends on that row alone: `halfspaces` computes exactly.

    Guarantee: `learn` is (what it spends)-DP: the scores are minus the numbers of rows with another label than the
    hypothesis says. One row moves each of them by at most 1; under add/remove all of them the same way.
    Reference: Kasiviswanathan, Lee, Nissim, Raskhodnikova & Smith 2008 (arXiv:0803.0924), Theorem 3.4; Dwork & Roth
    2014, Section 11.1.
    Textbook: S14.1.
    """

    size: int
    predict: Callable[[NDArray[np.int16]], NDArray[np.bool_]]

    def __post_init__(self) -> None:
        whole(1, size=self.size)

    @classmethod
    def halfspaces(cls, weights: ArrayLike, offsets: ArrayLike = 0) -> FiniteClass:
        """Hypothesis i calls x positive if <weights[i], x> >= offsets[i]; all of them are whole numbers, where a
        feature of 1 is `ONE` steps."""
        slopes = _whole_numbers(weights, ndim=2)
        ends = np.broadcast_to(_whole_numbers(offsets), (len(slopes),))

        def predict(features: NDArray[np.int16]) -> NDArray[np.bool_]:
            return np.asarray(product(features, slopes.T, largest=ONE * _HEAVIEST) >= ends)

        return cls(len(slopes), predict)

    @classmethod
    def thresholds(cls, cuts: ArrayLike) -> FiniteClass:
        """Rows of one feature: hypothesis i calls x positive if x >= cuts[i], in steps of the grid."""
        ends = _whole_numbers(cuts, ndim=1)
        return cls.halfspaces(np.ones((len(ends), 1), dtype=np.int64), ends)

    def mistakes(self, rows: SealedRows) -> Exact[Integers]:
        """How many rows each hypothesis gets wrong, sealed; the target of a positive row is 1."""
        return rows.entries.map(self._mistakes, sensitivity=mistakes_sensitivity(rows.neighbours, most=rows.most))

    def learn(self, rows: SealedRows, budget_part: BudgetPart, entropy: Entropy, *, share: Number = 1) -> int:
        """The place of a hypothesis with few mistakes, for a share of the budget part."""
        scores = self.mistakes(rows).map(
            lambda mistakes: -mistakes, sensitivity=mistakes_sensitivity(rows.neighbours, most=rows.most)
        )
        choice = budget_part.choice(budget_part.equal(1, share=positive(share=share)), scores.sensitivity)
        return measure(choice, scores, budget_part.allowance, entropy)

    def _mistakes(self, entries: Entries) -> Integers:
        total = np.zeros(self.size, dtype=np.int64)
        for piece in entries.pieces():
            said = np.asarray(self.predict(piece.features), dtype=np.bool_)
            if said.shape != (len(piece), self.size):
                raise ValueError("a row for each row, and a column for each hypothesis")
            wrong = (said != (piece.target[:, None] == 1)).astype(np.int64)
            total += product(piece.counts[None, :], wrong, largest=PIECE)[0]
        return total


def mistakes_sensitivity(neighbours: Neighbours, *, most: int = 1) -> Sensitivity:
    """How far one unit moves numbers of mistakes: each by its rows at most, and all upwards where it is added."""
    monotone = isinstance(neighbours, AddRemove)
    return Sensitivity(linf=whole(1, most=most), monotone=monotone, neighbours=neighbours)


def training_excess(*, hypotheses: int, rows: int, epsilon: Number, beta: Number, tilt: int = 2) -> Fraction:
    """With probability 1 - beta the learner's share of mistakes on its rows exceeds the least one by at most this.

    tilt (ln #C + ln(1 / beta)) / (epsilon n), where the tilt is 2 if a row is replaced, and 1 if rows are added or
    removed: then all numbers of mistakes move the same way, and half of the rows suffice.
    Reference: Dwork & Roth 2014, Corollary 3.12 with the sensitivity 1 / n.
    Textbook: S14.1.
    """
    count, people, price = whole(1, hypotheses=hypotheses), whole(1, rows=rows), positive(epsilon=epsilon)
    with precise():
        return upper(tilt * ball(count / inside_unit(beta=beta)).log() / ball(price * people))


def sampling_excess(*, hypotheses: int, rows: int, beta: Number) -> Fraction:
    """With probability 1 - beta over independent rows, the best hypothesis has no more than this above its true error
    in mistakes, and no hypothesis has more than this below: sqrt(ln((#C + 1) / beta) / 2n).

    Reference: Hoeffding's inequality for #C + 1 one-sided events.
    Textbook: S14.1.
    """
    count, people = whole(1, hypotheses=hypotheses), whole(1, rows=rows)
    with precise():
        return upper((ball((count + 1) / inside_unit(beta=beta)).log() / (2 * people)).sqrt())


def agnostic_excess(*, hypotheses: int, rows: int, epsilon: Number, beta: Number, tilt: int = 2) -> Fraction:
    """With probability 1 - beta the learnt hypothesis's true error exceeds the least one of the class by at most this.

    Proof: err(f) <= err_S(f) + s <= min err_S + t + s <= err_S(f*) + t + s <= err(f*) + t + 2s, with t of
    `training_excess` and s of `sampling_excess`, each failing with probability beta / 2.
    Reference: Dwork & Roth 2014, Section 11.1, with constants.
    Textbook: S14.1.
    """
    half = inside_unit(beta=beta) / 2
    chosen = training_excess(hypotheses=hypotheses, rows=rows, epsilon=epsilon, beta=half, tilt=tilt)
    return chosen + 2 * sampling_excess(hypotheses=hypotheses, rows=rows, beta=half)


def agnostic_sample_size(*, hypotheses: int, alpha: Number, epsilon: Number, beta: Number, tilt: int = 2) -> int:
    """Rows that suffice for an excess of at most alpha: max(2 tilt ln(2 #C / beta) / (epsilon alpha),
    8 ln(2 (#C + 1) / beta) / alpha^2), rounded up.

    Each part makes one of the two terms of `agnostic_excess` at most alpha / 2. The first one is the price of privacy:
    it is the smaller one wherever epsilon is about alpha or more.
    Reference: Dwork & Roth 2014, Section 11.1, with constants.
    Textbook: S14.1.
    """
    count, width = whole(1, hypotheses=hypotheses), inside_unit(alpha=alpha)
    price, failure = positive(epsilon=epsilon), inside_unit(beta=beta)
    with precise():
        private = upper(2 * tilt * ball(2 * count / failure).log() / ball(price * width))
        sampled = upper(8 * ball(2 * (count + 1) / failure).log() / ball(width**2))
    return ceil(max(private, sampled))


def _whole_numbers(given: ArrayLike, *, ndim: int | None = None) -> Integers:
    numbers = np.asarray(given)
    kind_is_right = np.issubdtype(numbers.dtype, np.integer) and (ndim is None or numbers.ndim == ndim)
    if not kind_is_right or (np.abs(numbers.astype(np.float64)) > _HEAVIEST).any():
        raise InvalidParameter("weights", f"an array of {numbers.dtype}", allowed=f"whole numbers up to {_HEAVIEST}")
    return numbers.astype(np.int64)
