"""Report noisy max: add integer Laplace noise to every score, and say which is largest; never how large it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Any, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.mechanisms.selection.scores import calibrated_rate, tilt
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.laplace import discrete_laplace
from dalenius.randomness.laws import DiscreteLaplaceLaw, LaplaceSumLaw
from dalenius.randomness.selection import Scores, integer_scores

_NAME = "report noisy max"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMax:
    """The index of the largest score plus noise, P[noise = z] proportional to exp(-|z| / scale); the first of equals.

    Guarantee: if no neighbour step changes the difference of two integer scores by more than t, then the index is
    (t / scale)-DP, for any number of candidates. Counts under add/remove have t = 1, otherwise t is twice the change
    of one score.
    Proof: fix all noise but that of i. Since ties are broken by a fixed order, i wins exactly if its noise is at least
    some integer r; on a neighbour r grows by at most t, and P[Z >= r + t] is at least exp(-t / scale) P[Z >= r].
    The winning noisy score is not part of the release: it would cost as much as all scores together. Release it with
    fresh noise, as a measurement of its own. Gaussian noise has no such theorem: the largest of many Gaussians is a
    tail event, whose probability changes by more than any fixed factor.
    Reference: Dwork & Roth 2014, Claim 3.9; for scores that are not monotone, Ding, Wang, Wang, Zhang & Kifer 2018
    (arXiv:1805.10277) shows why the scale doubles.
    Textbook: S5.1, S4.9, S5.6, S5.7.
    """

    scale: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(scale=self.scale))
        stated(self.neighbours)

    @classmethod
    def calibrated(cls, *, sensitivity: SensitivityLike, epsilon: Number, neighbours: Neighbours | None = None) -> Self:
        """The least noise that costs at most `epsilon`."""
        relation, target = stated(neighbours), positive(epsilon=epsilon)
        rate = calibrated_rate(sensitivity, epsilon=target, neighbours=relation, mechanism=_NAME)
        return cls(scale=1 / rate, neighbours=relation)

    def loss(self, *, sensitivity: SensitivityLike) -> PureDP:
        return PureDP(tilt(sensitivity, neighbours=self.neighbours, mechanism=_NAME) / self.scale)

    def release(self, scores: Scores, entropy: Entropy) -> int:
        """The index of the largest noisy score."""
        return int(np.argmax(noisy_scores(scores, scale=self.scale, entropy=entropy)))

    def probabilities(self, scores: Scores) -> list[arb]:
        """The exact law of the index, as enclosures; the work grows with the scale and the spread of the scores."""
        values = [int(score) for score in integer_scores(scores)]
        law = DiscreteLaplaceLaw(self.scale)
        reach = int(70 * self.scale) + 1  # noise of this size has probability below 2^-100
        low, high = min(values) - reach, max(values) + reach
        with precise():
            missing = arb(0, 2 * law.tail(reach))
            at = {noise: law.pmf(noise) for noise in range(low - max(values), high - min(values) + 1)}
            up_to = {noise: law.cdf(noise) for noise in at}
            return [missing + chance for chance in _wins(values, range(low + 1, high + 1), at, up_to)]

    def error(self, beta: Number, *, candidates: int) -> int:
        """With probability at least 1 - beta, the chosen score is at most this much below the best one.

        A union bound over the candidates, with the exact law of the difference of two noises.
        """
        risk, rivals = inside_unit(beta=beta), whole(1, candidates=candidates) - 1
        if not rivals:
            return 0
        return max(0, LaplaceSumLaw(self.scale, 2).quantile(risk / rivals, two_sided=False))


def noisy_scores(scores: Scores, *, scale: Fraction, entropy: Entropy) -> NDArray[Any]:
    """The scores with independent noise; nothing but their order may leave a selection mechanism."""
    values = integer_scores(scores)
    noise = np.asarray(discrete_laplace(scale, len(values), entropy=entropy))
    if values.dtype == object or noise.dtype == object or _size(values) + _size(noise) > np.iinfo(np.int64).max:
        values, noise = values.astype(object), noise.astype(object)
    noisy: NDArray[Any] = values + noise
    return noisy


def union_error(*, scale: Number, candidates: int, beta: Number) -> Fraction:
    """The simple bound 2 ln(m / beta) * scale on the shortfall of the best of m noisy scores, rounded up.

    Reference: Dwork & Roth 2014, Theorem 3.8, for the noise of both candidates. `NoisyMax.error`, by the exact law, is
    mostly near half of it.
    Textbook: S5.1.
    """
    width, count, risk = positive(scale=scale), whole(1, candidates=candidates), inside_unit(beta=beta)
    with precise():
        return upper(2 * ball(width) * ball(count / risk).log())


def _size(values: NDArray[Any]) -> int:
    return max(abs(int(values.max())), abs(int(values.min())))


def _wins(values: list[int], levels: range, at: dict[int, arb], up_to: dict[int, arb]) -> list[arb]:
    """For each candidate, the probability that it is the first of the largest, at one of the levels."""
    totals = [arb(0)] * len(values)
    for level in levels:
        before = list(accumulate((up_to[level - value - 1] for value in values), mul, initial=arb(1)))
        after = list(accumulate((up_to[level - value] for value in reversed(values)), mul, initial=arb(1)))
        for i, value in enumerate(values):
            totals[i] += at[level - value] * before[i] * after[len(values) - 1 - i]
    return totals
