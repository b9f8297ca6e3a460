"""LinearLearner: a mixture of coordinates with a small expected value, by playing coordinates as experts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.learn.theory.experts import Hedge, LossTable, private_rate
from dalenius.mechanisms.purse import Purse
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.randomness.entropy import Entropy

SPREAD = 2
"""Two examples' values of one coordinate, in [-1, 1], can be so far apart."""


@dataclass(frozen=True)
class LinearLearner:
    """From examples x in [-1, 1]^d, weights theta >= 0 that sum to 1, with a small expected <theta, x>: the average of
    the coordinates that `Hedge` takes, with the examples as losses.

    Guarantee: each choice after the first is a release of bounded range 4 rate, where one example is replaced: a
    coordinate moves by up to 2. The text counts 1, and so half of what a choice costs; `private` halves its rate.
    At the text's rate the final (epsilon, delta) still holds, but not by the text's proof: T choices of range 4 rate
    are (epsilon^2 / 16 ln(1 / delta))-zCDP, which implies (epsilon, delta)-DP for epsilon up to 8 ln(1 / delta).
    Reference: Dwork & Roth 2014, Algorithm 17 and Theorem 11.5, corrected; Cesar & Rogers 2021 (arXiv:2004.07223).
    Textbook: S14.4.
    """

    hedge: Hedge

    @classmethod
    def private(cls, *, epsilon: Number, delta: Number, rounds: int) -> LinearLearner:
        """Half of the text's rate: epsilon / (2 sqrt(32 T ln(1 / delta)))."""
        return cls(Hedge(private_rate(epsilon=epsilon, delta=delta, rounds=rounds, spread=SPREAD)))

    @classmethod
    def calibrated(cls, examples: LossTable, purse: Purse) -> LinearLearner:
        """The steepest rate for which the whole purse pays."""
        return cls(Hedge.calibrated(examples, purse))

    @staticmethod
    def examples(rows: ArrayLike, *, neighbours: Neighbours) -> LossTable:
        """Examples in [-1, 1]^d, sealed; what lies outside is moved to the bounds."""
        return LossTable.of(rows, neighbours=neighbours, lowest=-1, highest=1)

    def learn(self, examples: LossTable, purse: Purse, entropy: Entropy) -> NDArray[np.float64]:
        """The weights, at the price of all choices."""
        taken = self.hedge.play(examples, purse, entropy)
        return np.bincount(np.array(taken), minlength=examples.experts) / examples.rounds


def linear_excess(*, width: int, rounds: int, rate: Number, beta: Number) -> Fraction:
    """With probability 1 - beta, E<theta, x> exceeds the least one of all weights by at most rate / 2 + ln d / (rate T)
    + 6 sqrt(ln(2 / beta) / 2T), for independent examples.

    Proof: with p_t the odds of round t and m = E x, the sum of <p_t, x_t> is at most that of the best coordinate plus
    T (rate / 2 + ln d / (rate T)): `sharp_regret_bound` for (1 + x) / 2 at the rate 2 rate, times 2. Given the past,
    <a_t, m> - <p_t, x_t> has mean 0 and lies in an interval of length 4, and the best coordinate's x_t less its mean in
    one of length 2; both sums are bounded by Azuma's inequality, with probability beta / 2 each.
    Reference: Dwork & Roth 2014, Theorem 11.6, with constants.
    Textbook: S14.4.
    """
    speed, count = positive(rate=rate), whole(1, rounds=rounds)
    with precise():
        regret = ball(speed / 2) + ball(whole(1, width=width)).log() / ball(speed * count)
        return upper(regret + 6 * (ball(2 / inside_unit(beta=beta)).log() / (2 * count)).sqrt())
