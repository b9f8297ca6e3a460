"""Permute-and-flip: look at the candidates in random order, and take the first whose coin shows heads."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from flint import arb, arb_poly

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.selection.scores import calibrated_rate, tilt, union_shortfall
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.reals import ball, precise
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.selection import Scores, exponential_coins, integer_scores

_NAME = "permute-and-flip"


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlip:
    """In random order, give each candidate a coin with P[heads] = exp(-rate * gap), where gap is its distance from the
    best score; the first heads wins.

    Guarantee: if no neighbour step changes the difference of two scores by more than t, then the index is
    (rate * t)-DP. Its expected score is never below that of the exponential mechanism at the same epsilon; but its
    log-ratios span more than epsilon, so it must not be charged as one.
    This is the arg-max of the scores plus one-sided exponential noise, and not the exponential mechanism, as the
    textbook has it (that one is the arg-max with Gumbel noise): candidate i wins with probability
    q_i * (integral of the product of 1 - q_j u over j != i, u from 0 to 1), where q is the probability of heads; with
    u = exp(-(noise - gap) * rate) that is the noisy arg-max, and with u = 1 - t the uniform choice among all heads.
    Reference: McKenna & Sheldon 2020 (arXiv:2010.12603), Theorems 1 and 2; Ding and others 2021
    (arXiv:2105.07260) for the noisy arg-max. Dwork & Roth 2014, Theorem 3.13 is the claim that does not hold.
    Textbook: S5.2, S5.6.
    """

    rate: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive(rate=self.rate))
        stated(self.neighbours)

    @classmethod
    def calibrated(cls, *, sensitivity: SensitivityLike, epsilon: Number, neighbours: Neighbours | None = None) -> Self:
        """The steepest coins that cost at most `epsilon`."""
        relation, target = stated(neighbours), positive(epsilon=epsilon)
        rate = calibrated_rate(sensitivity, epsilon=target, neighbours=relation, mechanism=_NAME)
        return cls(rate=rate, neighbours=relation)

    def loss(self, *, sensitivity: SensitivityLike) -> PureDP:
        return PureDP(self.rate * tilt(sensitivity, neighbours=self.neighbours, mechanism=_NAME))

    def release(self, scores: Scores, entropy: Entropy) -> int:
        """The index of the chosen candidate."""
        # All coins are flipped, so the time does not tell how far the order was followed; the first heads in a random
        # order is a uniform choice among the heads. The best candidate always shows heads.
        heads = np.flatnonzero(exponential_coins(scores, self.rate, entropy))
        return int(heads[entropy.below(len(heads))])

    def probabilities(self, scores: Scores) -> list[arb]:
        """The exact law of the chosen index, as enclosures."""
        values = [int(score) for score in integer_scores(scores)]
        with precise():
            coins = [ball(self.rate * (value - max(values))).exp() for value in values]
            return [coin * _share(coins[:i] + coins[i + 1 :]) for i, coin in enumerate(coins)]

    def error(self, beta: Number, *, candidates: int, best: int = 1) -> Fraction:
        """With probability at least 1 - beta, the chosen score is at most this much below the best one.

        Of the candidates that are further below, each shows heads with probability below exp(-rate * error), and then
        shares the win with the `best` ones, which always show heads.
        """
        count = whole(1, candidates=candidates)
        if whole(1, best=best) > count:
            raise InvalidParameter("best", best, allowed=f"at most the {count} candidates")
        return union_shortfall(Fraction(count - best, best + 1), rate=self.rate, beta=beta)


def _share(coins: list[arb]) -> arb:
    """The mean of 1 / (1 + number of heads): the integral of the generating function of the heads."""
    product = arb_poly([1])
    for coin in coins:
        product *= arb_poly([1 - coin, coin])
    return product.integral()(arb(1))
