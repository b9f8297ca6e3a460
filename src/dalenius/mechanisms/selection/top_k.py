"""The k best candidates, best first: by peeling, or by noise that is added once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.accounting.amounts import whole_units
from dalenius.accounting.calibration import largest_rho
from dalenius.accounting.composition import repeated
from dalenius.errors import UnusableValue
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.noisy_max import noisy_scores
from dalenius.mechanisms.selection.scores import calibrated_rate, tilt, union_shortfall
from dalenius.privacy.losses import BoundedRange, LaplaceDP, Loss, PureDP
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, positive, probability, whole
from dalenius.privacy.reals import ball, lower, precise
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.laws import LaplaceSumLaw
from dalenius.randomness.selection import Scores, integer_scores

_PEELING = "top-k by peeling"
_ONE_SHOT = "top-k in one shot"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK:
    """Choose k times by the exponential mechanism, each time among the candidates that are left.

    Guarantee: if no neighbour step changes the difference of two scores by more than t, then each choice has bounded
    range rate * t, so the list is (k * rate * t)-DP, and its Rényi divergence is k times that of one choice.
    Reference: Durfee & Rogers 2019 (arXiv:1905.04273), Section 4.1 (peeling is the ordered top k of scores plus
    Gumbel noise); Bhaskar, Laxman, Smith & Thakurta 2010 for peeling.
    Textbook: S5.8.
    """

    k: int
    rate: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(1, k=self.k))
        object.__setattr__(self, "rate", positive(rate=self.rate))
        stated(self.neighbours)

    @classmethod
    def calibrated(
        cls,
        *,
        k: int,
        sensitivity: SensitivityLike,
        epsilon: Number,
        delta: Number = 0,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The steepest weights for which the whole list is (epsilon, delta)-DP."""
        relation = stated(neighbours)
        each = each_round(rounds=k, epsilon=epsilon, delta=delta)
        rate = calibrated_rate(sensitivity, epsilon=each, neighbours=relation, mechanism=_PEELING)
        return cls(k=k, rate=rate, neighbours=relation)

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        each = self.rate * tilt(sensitivity, neighbours=self.neighbours, mechanism=_PEELING)
        return repeated(BoundedRange(each), self.k)

    def release(self, scores: Scores, entropy: Entropy) -> tuple[int, ...]:
        """The indices of the chosen candidates, in the order of choice."""
        values = _enough(scores, self.k)
        left, chosen = np.arange(len(values)), []
        for _ in range(self.k):
            place = self._round().release(values[left], entropy)
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return tuple(chosen)

    def probabilities(self, scores: Scores) -> dict[tuple[int, ...], arb]:
        """The exact law of the list, as enclosures; for a few candidates."""
        values = [int(score) for score in _enough(scores, self.k)]
        return {chosen: self._chance(chosen, values) for chosen in permutations(range(len(values)), self.k)}

    def error(self, beta: Number, *, candidates: int) -> Fraction:
        """An `alpha` for which the list is useful with probability at least 1 - beta.

        Useful: no listed candidate is more than alpha below the k-th best score, and every candidate that is more than
        alpha above it is listed. As long as no round falls short of the best that is left by more than alpha, both
        hold: the best that is left is never below the k-th best score, and k choices above the k-th best score would
        leave no room for a missing one. Hence beta / k for each round.
        """
        each = Fraction(whole(self.k, candidates=candidates) * self.k)
        return union_shortfall(each, rate=self.rate, beta=beta)

    def _round(self) -> ExponentialMechanism:
        return ExponentialMechanism(rate=self.rate, neighbours=self.neighbours)

    def _chance(self, chosen: tuple[int, ...], values: list[int]) -> arb:
        left, chance = list(range(len(values))), arb(1)
        with precise():
            for index in chosen:
                place = left.index(index)
                chance *= self._round().probabilities([values[i] for i in left])[place]
                left.pop(place)
        return chance


@dataclass(frozen=True, slots=True, kw_only=True)
class OneShotTopK:
    """Add integer Laplace noise to every score once, and list the k largest; of equal ones the first comes first.

    Guarantee: if no neighbour step changes the difference of two integer scores by more than t, then the ordered list
    is (k * t / scale)-DP. It is also (l1 / scale)-DP where the l1 change of all scores is known, whatever k is, because
    then all noisy scores could be shown. The loss is the smaller of the two.
    Proof of the first: fix the noise of all that are not listed, and let m be the largest rise among them when the data
    changes (or that of any listed one, if all are listed). If the noise of each listed candidate moves by m less its
    own rise, the listed ones keep their order and distances, and stay ahead of all others; each of the k moves is an
    integer of at most t, and changes the probability by at most exp(t / scale).
    Reference: Qiao, Su & Zhang 2021 (arXiv:2105.08233), whose pure form this is; k = 1 is Dwork & Roth 2014, Claim 3.9.
    Textbook: S5.8.
    """

    k: int
    scale: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(1, k=self.k))
        object.__setattr__(self, "scale", positive(scale=self.scale))
        stated(self.neighbours)

    @classmethod
    def calibrated(
        cls, *, k: int, sensitivity: SensitivityLike, epsilon: Number, neighbours: Neighbours | None = None
    ) -> Self:
        """The least noise that costs at most `epsilon`."""
        relation, target = stated(neighbours), positive(epsilon=epsilon)
        reach = _reach(whole(1, k=k), sensitivity, relation)
        return cls(k=k, scale=positive(sensitivity=reach) / target, neighbours=relation)

    def loss(self, *, sensitivity: SensitivityLike) -> PureDP:
        reach = _reach(self.k, sensitivity, self.neighbours)
        if isinstance(sensitivity, Sensitivity) and sensitivity.l1 == reach and reach.denominator == 1:
            return LaplaceDP(reach / self.scale, int(reach))
        return PureDP(reach / self.scale)

    def release(self, scores: Scores, entropy: Entropy) -> tuple[int, ...]:
        """The indices of the k largest noisy scores, the largest first."""
        noisy = noisy_scores(_enough(scores, self.k), scale=self.scale, entropy=entropy)
        ahead = np.flatnonzero(noisy >= np.partition(noisy, -self.k)[-self.k])
        return tuple(ahead[np.argsort(-noisy[ahead], kind="stable")][: self.k].tolist())

    def error(self, beta: Number, *, candidates: int) -> int:
        """An `alpha` for which the list is useful (see `TopK.error`) with probability at least 1 - beta.

        If it is not, then one of the k best has been overtaken by one of the others although it led by more than
        alpha: a union bound over these k (candidates - k) pairs, with the exact law of the difference of two noises.
        """
        risk, others = inside_unit(beta=beta), whole(self.k, candidates=candidates) - self.k
        if not others:
            return 0
        return max(0, LaplaceSumLaw(self.scale, 2).quantile(risk / (self.k * others), two_sided=False))


def each_round(*, rounds: int, epsilon: Number, delta: Number = 0) -> Fraction:
    """The epsilon of one of `rounds` bounded-range choices that together are (epsilon, delta)-DP, rounded down.

    An even split, or, if delta allows for more, rounds * each^2 / 8 is the largest rho whose zCDP implies the target:
    three to five times the textbook's epsilon / sqrt(8 rounds ln(1 / delta)), which does not use bounded range.
    Reference: Cesar & Rogers 2021 (arXiv:2004.07223) for bounded range as zCDP; the textbook's is Dwork & Roth 2014,
    Corollary 3.21.
    Textbook: S5.8.
    """
    count, target, risk = whole(1, rounds=rounds), positive(epsilon=epsilon), probability(delta=delta)
    split = whole_units(target / count)
    if not 0 < risk < 1:
        return split
    with precise():
        together = ball(8 * largest_rho(epsilon=target, delta=risk) / count)
        return max(split, whole_units(lower(together.sqrt())))


def _reach(k: int, sensitivity: SensitivityLike, neighbours: Neighbours) -> Fraction:
    by_order = k * tilt(sensitivity, neighbours=neighbours, mechanism=_ONE_SHOT)
    if isinstance(sensitivity, Sensitivity) and sensitivity.l1 is not None:
        return min(by_order, sensitivity.l1)
    return by_order


def _enough(scores: Scores, k: int) -> NDArray[Any]:
    values = integer_scores(scores)
    if k > len(values):
        raise UnusableValue("k", k, allowed=f"at most the {len(values)} candidates")
    return values
