"""Privacy-loss distributions: the full law of the privacy loss, from which every other figure of a release follows.

Losses are kept as exact likelihood ratios: where losses add up, ratios multiply, so composition is exact and needs no
grid. The composition of many uses of one randomized bit, the worst case of pure privacy, has a closed form.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, TypeVar

from flint import arb

from dalenius.errors import InvalidParameter
from dalenius.privacy.divergences import Distribution, epsilon_distance, largest_odds, likelihood_ratio, loss_exceeds
from dalenius.privacy.losses import Loss, randomized_response_renyi
from dalenius.privacy.numbers import Number, exact, not_negative, positive, probability, whole
from dalenius.privacy.odds import Extended, log_above
from dalenius.privacy.reals import ball, precise, upper

Outcome = TypeVar("Outcome", bound=Hashable)


@dataclass(frozen=True, slots=True)
class LossDistribution(Loss):
    """Two output distributions, reduced to what tells them apart: outcomes with equal likelihood ratio are merged.

    `first` and `second` give the mass of each ratio; the ratio is infinite (or 0) where only the first (or the second)
    distribution has the outcome. As the loss of a mechanism it must come from a pair that dominates all neighbours.
    Composition multiplies the numbers of distinct ratios, so it suits few uses, or uses whose ratios meet again.
    Reference: Sommer, Meiser & Mohammadi 2019 (privacy loss classes); Koskela, Jälkö & Honkela 2020
    (arXiv:1906.03049); the merged pair is a sufficient statistic, so no divergence changes.
    Textbook: S7.1.
    """

    first: Distribution[Extended]
    second: Distribution[Extended]

    def __post_init__(self) -> None:
        for ratio in {**self.first, **self.second}:
            if likelihood_ratio(self.first, self.second, ratio) != ratio:
                raise InvalidParameter("ratio", ratio, allowed="the likelihood ratio of its own masses")

    @classmethod
    def between(cls, first: Mapping[Outcome, Number], second: Mapping[Outcome, Number]) -> Self:
        """The loss distribution of two finite output distributions."""
        p, q = Distribution.of(first), Distribution.of(second)
        ratios = {outcome: likelihood_ratio(p, q, outcome) for outcome in {**p, **q}}
        return cls(p.mapped(ratios.__getitem__), q.mapped(ratios.__getitem__))

    def composed(self, other: LossDistribution) -> LossDistribution:
        """The loss distribution of both releases together, each with its own randomness."""
        return LossDistribution(_product(self.first, other.first), _product(self.second, other.second))

    def repeated(self, count: int) -> LossDistribution:
        """The loss distribution of `count` such releases."""
        result: LossDistribution = self
        for bit in f"{whole(1, count=count):b}"[1:]:
            result = result.composed(result)
            if bit == "1":
                result = result.composed(self)
        return result

    @property
    def delta(self) -> Fraction:
        """The probability of an outcome that the other distribution does not have, in the worse direction."""
        return max(self.first.mass(math.inf), self.second.mass(Fraction(0)))

    def exceeds(self, *, epsilon: Number) -> Fraction:
        """The exact probability that the loss is above epsilon, in the worse direction."""
        towards = loss_exceeds(self.first, self.second, epsilon=epsilon)
        return max(towards, loss_exceeds(self.second, self.first, epsilon=epsilon))

    def delta_at(self, *, epsilon: Number | None = None, odds: Number | None = None) -> Fraction:
        """The least delta for which the release is (epsilon, delta)-DP: exact for `odds`, rounded up for `epsilon`.

        Textbook: S7.4.
        """
        return epsilon_distance(self.first, self.second, epsilon=epsilon, odds=odds)

    def epsilon_at(self, *, delta: Number) -> Extended:
        """The least epsilon for which the release is (epsilon, delta)-DP, rounded up; infinite if there is none.

        Textbook: S7.3.
        """
        towards = largest_odds(self.first, self.second, delta=delta)
        odds = max(towards, largest_odds(self.second, self.first, delta=delta))
        return max(Fraction(0), log_above(odds))

    def renyi(self, alpha: Number) -> Fraction:
        """The Rényi divergence, in the worse direction and rounded up, of the outcomes that both distributions have.

        Each side is conditioned on those outcomes; what is left out on either side has probability at most `delta`.
        Reference: Bun & Steinke 2016 (arXiv:1605.02065), Definition 8.1 (approximate concentrated privacy).
        """
        order = exact(alpha=alpha)
        if order <= 1:
            raise InvalidParameter("alpha", alpha, allowed="greater than 1")
        common = [(p, self.second[ratio]) for ratio, p in self.first.items() if ratio in self.second]
        if not common:
            return Fraction(0)
        return max(_renyi(common, order), _renyi([(q, p) for p, q in common], order))

    def __str__(self) -> str:
        return f"a privacy-loss distribution with {len({**self.first, **self.second})} values"


def _product(first: Distribution[Extended], second: Distribution[Extended]) -> Distribution[Extended]:
    masses: defaultdict[Extended, Fraction] = defaultdict(Fraction)
    for a, p in first.items():
        for b, q in second.items():
            # Fraction times infinity would be computed in floats; infinity times 0 does not occur on one side.
            masses[math.inf if math.inf in (a, b) else a * b] += p * q
    return Distribution(masses)


def _renyi(pairs: list[tuple[Fraction, Fraction]], order: Fraction) -> Fraction:
    total_p, total_q = (sum((pair[side] for pair in pairs), Fraction(0)) for side in (0, 1))
    with precise():
        power = ball(order - 1)
        terms = (ball(p / total_p) * ball((p / total_p) / (q / total_q)) ** power for p, q in pairs)
        return max(Fraction(0), upper(sum(terms, ball(0)).log() / power))


@dataclass(frozen=True, slots=True)
class RandomizedBits(Loss):
    """`count` independent bits, each true with odds e^epsilon: the worst that `count` epsilon-DP releases can be.

    Guarantee: for any `count` adaptively chosen epsilon-DP releases, `delta_at` and `epsilon_at` hold, and no smaller
    figure does. The loss is (2 J - count) epsilon with J binomial. Figures are rounded up; time grows with `count`.
    Reference: Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776), Theorem 3.3 with delta = 0.
    Textbook: S6.6.
    """

    epsilon: Fraction
    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "count", whole(1, count=self.count))

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    def renyi(self, alpha: Number) -> Fraction:
        order = exact(alpha=alpha)
        if order <= 1:
            raise InvalidParameter("alpha", alpha, allowed="greater than 1")
        return self.count * randomized_response_renyi(self.epsilon, order)

    def exceeds(self, *, epsilon: Number) -> Fraction:
        """The probability that the total loss is above epsilon, rounded up."""
        total = not_negative(epsilon=epsilon)
        with precise():
            tail = ball(0)
            for true_bits, mass, _ in self._tails():
                if (2 * true_bits - self.count) * self.epsilon <= total:
                    break
                tail = mass
            return upper(tail)

    def delta_at(self, *, epsilon: Number) -> Fraction:
        """The least delta for which all releases together are (epsilon, delta)-DP, rounded up."""
        total = not_negative(epsilon=epsilon)
        with precise():
            tail, other = ball(0), ball(0)
            for true_bits, mass, other_mass in self._tails():
                if (2 * true_bits - self.count) * self.epsilon <= total:
                    break
                tail, other = mass, other_mass
            return max(Fraction(0), upper(tail - ball(total).exp() * other))

    def epsilon_at(self, *, delta: Number) -> Fraction:
        """The least epsilon for which all releases together are (epsilon, delta)-DP, rounded up."""
        event, best = probability(delta=delta), Fraction(0)
        with precise():
            for _, mass, other_mass in self._tails():
                gap = mass - ball(event)
                if upper(gap) > 0:
                    best = max(best, upper(arb(gap.upper()).log() - other_mass.log()))
        return best

    def _tails(self) -> Iterator[tuple[int, arb, arb]]:
        # P[J >= j] and Q[J >= j] for j = count, ..., 0, where a bit is true with odds e^epsilon and e^-epsilon.
        odds = ball(self.epsilon).exp()
        mass, other = (1 / (1 + 1 / odds)) ** self.count, (1 / (1 + odds)) ** self.count
        tail, other_tail = ball(0), ball(0)
        for j in range(self.count, -1, -1):
            tail, other_tail = tail + mass, other_tail + other
            yield j, tail, other_tail
            step = ball(Fraction(j, self.count - j + 1))
            mass, other = mass * step / odds, other * step * odds
