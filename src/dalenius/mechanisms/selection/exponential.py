"""The exponential mechanism: choose a candidate with probability growing exponentially in its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from flint import arb

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.selection.scores import calibrated_rate, tilt, union_shortfall
from dalenius.privacy.losses import BoundedRange
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, not_negative, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.selection import Scores, exponential_weights, integer_scores

_NAME = "the exponential mechanism"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism:
    """Choose candidate i with probability proportional to base[i] * exp(rate * score[i]).

    Guarantee: if candidates and base are public, and no neighbour step changes the difference of two scores by more
    than t, then the index is (rate * t)-DP, with log-ratios in one interval of that length. With scores that change by
    at most s each, t is 2s, and only s if they all move the same way under add/remove.
    Proof: the log-ratio of outcome i is rate * (its score's change) plus a constant that is the same for all outcomes,
    so the log-ratios span at most rate * t, and both signs occur because probabilities sum to 1.
    Reference: McSherry & Talwar 2007, Theorem 6; Dwork & Roth 2014, Definition 3.4 and Theorem 3.10; bounded range by
    Durfee & Rogers 2019 (arXiv:1905.04273), Definition 2.
    Textbook: S5.3, S5.4, S5.5, S5.6, S5.7.
    """

    rate: Fraction
    neighbours: Neighbours
    base: tuple[Fraction, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive(rate=self.rate))
        stated(self.neighbours)
        if self.base is not None:
            object.__setattr__(self, "base", _measure(self.base))

    @classmethod
    def calibrated(
        cls,
        *,
        sensitivity: SensitivityLike,
        epsilon: Number,
        neighbours: Neighbours | None = None,
        base: Sequence[Number] | None = None,
    ) -> Self:
        """The steepest weights that cost at most `epsilon`."""
        relation, target = stated(neighbours), positive(epsilon=epsilon)
        rate = calibrated_rate(sensitivity, epsilon=target, neighbours=relation, mechanism=_NAME)
        return cls(rate=rate, neighbours=relation, base=None if base is None else _measure(base))

    def loss(self, *, sensitivity: SensitivityLike) -> BoundedRange:
        return BoundedRange(self.rate * tilt(sensitivity, neighbours=self.neighbours, mechanism=_NAME))

    def release(self, scores: Scores, entropy: Entropy) -> int:
        """The index of the chosen candidate."""
        return exponential_weights(scores, self.rate, entropy, self.base)

    def probabilities(self, scores: Scores) -> list[arb]:
        """The exact law of the chosen index, as enclosures."""
        values = [int(score) for score in integer_scores(scores)]
        shares = self.base or (Fraction(1),) * len(values)
        if len(shares) != len(values):
            raise InvalidParameter("candidates", len(values), allowed=f"{len(shares)}, as many as the base measure has")
        best = max(values)
        with precise():
            pairs = zip(shares, values, strict=True)
            weights = [ball(share) * ball(self.rate * (value - best)).exp() for share, value in pairs]
            total = sum(weights, arb(0))
            return [weight / total for weight in weights]

    def shortfall(self, t: Number, *, candidates: int, best: int = 1) -> Fraction:
        """With probability at least 1 - e^-t, the score is above the best one less this; `best` candidates attain it.

        Best among those that can be chosen: candidates of base 0 do not count.
        Reference: Dwork & Roth 2014, Theorem 3.11; with best = 1, Corollary 3.12. With a base measure, the number of
        candidates over the number of best ones becomes the whole measure over the least that the best ones can have.
        """
        extra = not_negative(t=t)
        with precise():
            return upper((ball(self._odds(candidates, best)).log() + ball(extra)) / ball(self.rate))

    def error(self, beta: Number, *, candidates: int, best: int = 1) -> Fraction:
        """With probability at least 1 - beta, the score is at most this much below the best that can be chosen."""
        return union_shortfall(self._odds(candidates, best), rate=self.rate, beta=beta)

    def _odds(self, candidates: int, best: int) -> Fraction:
        count = whole(1, candidates=candidates)
        if whole(1, best=best) > count:
            raise InvalidParameter("best", best, allowed=f"at most the {count} candidates")
        if self.base is None:
            return Fraction(count, best)
        if count != len(self.base):
            raise InvalidParameter("candidates", count, allowed=f"{len(self.base)}, as many as the base measure has")
        return sum(self.base, Fraction(0)) / (best * min(share for share in self.base if share))


def best_of_two_bound(*, gap: int, epsilon: Number) -> Fraction:
    """A bound on the probability that the exponential mechanism picks the rarer of two conditions.

    Their counts differ by `gap`, and the weights are exp(epsilon * count / 2), for scores that may move in opposite
    directions. The exact probability is `probabilities([0, gap])[0]`, and below half of this bound.
    Reference: Dwork & Roth 2014, Example 3.6.
    Textbook: S5.6.
    """
    distance, price = whole(0, gap=gap), positive(epsilon=epsilon)
    with precise():
        return upper(2 * (-ball(distance * price / 2)).exp())


def _measure(base: Sequence[Number]) -> tuple[Fraction, ...]:
    shares = tuple(not_negative(base=share) for share in base)
    if not any(shares):
        raise InvalidParameter("base", base, allowed="a list of numbers that are 0 or more, and not all 0")
    return shares
