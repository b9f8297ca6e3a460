"""How well two finite distributions can be told apart: the measures behind every privacy guarantee.

All are taken between the outputs of one mechanism on two databases. Masses are exact, so are figures that are
rational; logarithms are rounded up. `odds` is e^epsilon as an exact rational; a given `epsilon` gives a certified
upper bound (see `odds`).

Finite probability distributions with exact masses.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, exact, not_negative, probability
from dalenius.privacy.odds import Extended, decided, log_above, safe_odds
from dalenius.privacy.reals import ball, precise, upper

Outcome = TypeVar("Outcome", bound=Hashable)
Result = TypeVar("Result", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Distribution(Mapping[Outcome, Fraction], Generic[Outcome]):
    """The exact masses of finitely many outcomes; outcomes of mass 0 are dropped, so the keys are the support.

    Masses are read exactly and must add up to exactly 1: 0.1, 0.2 and 0.7 do. Masses that were rounded somewhere on
    the way do not, and a figure computed from them would prove nothing.
    Reference: Dwork & Roth 2014, Definition 2.1 (probability simplex).
    """

    masses: Mapping[Outcome, Number]

    def __post_init__(self) -> None:
        if not isinstance(self.masses, Mapping):
            raise InvalidParameter("masses", self.masses, allowed="a mapping from outcomes to their probabilities")
        masses = {outcome: not_negative(mass=mass) for outcome, mass in self.masses.items()}
        if (total := sum(masses.values())) != 1:
            raise InvalidParameter(
                "masses",
                f"a total of {float(total)!r}",
                allowed="masses that add up to exactly 1",
                hint="Give fractions or decimals, or use Distribution.weighted to scale exact weights.",
            )
        object.__setattr__(self, "masses", {outcome: mass for outcome, mass in masses.items() if mass})

    @classmethod
    def of(cls, masses: Mapping[Outcome, Number]) -> Distribution[Outcome]:
        """A distribution as it is, or one made of a plain mapping."""
        return masses if isinstance(masses, Distribution) else Distribution(masses)

    @classmethod
    def weighted(cls, weights: Mapping[Outcome, Number]) -> Distribution[Outcome]:
        """Masses in proportion to exact weights, at least one of which is positive."""
        exact_weights = {outcome: not_negative(weight=weight) for outcome, weight in weights.items()}
        total = sum(exact_weights.values())
        if not total:
            raise InvalidParameter("weights", dict(weights), allowed="weights of which at least one is positive")
        return Distribution({outcome: weight / total for outcome, weight in exact_weights.items()})

    @classmethod
    def uniform(cls, outcomes: Iterable[Outcome]) -> Distribution[Outcome]:
        """Equal masses."""
        return cls.weighted(dict.fromkeys(outcomes, 1))

    def __getitem__(self, outcome: Outcome) -> Fraction:
        mass = self.masses[outcome]
        assert isinstance(mass, Fraction)
        return mass

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.masses)

    def __len__(self) -> int:
        return len(self.masses)

    def __hash__(self) -> int:
        return hash(frozenset(self.masses.items()))

    def mass(self, outcome: Outcome) -> Fraction:
        """The probability of one outcome, 0 outside the support."""
        return self[outcome] if outcome in self.masses else Fraction(0)

    def probability(self, event: Callable[[Outcome], bool]) -> Fraction:
        """The probability of the outcomes for which `event` is true."""
        return sum((mass for outcome, mass in self.items() if event(outcome)), Fraction(0))

    def mean(self, value: Callable[[Outcome], Number]) -> Fraction:
        """The expected value of a function of the outcome."""
        return sum((mass * exact(value=value(outcome)) for outcome, mass in self.items()), Fraction(0))

    def through(self, channel: Callable[[Outcome], Mapping[Result, Number]]) -> Distribution[Result]:
        """The distribution after a randomized map, which sees the outcome and nothing else.

        Guarantee: whatever the channel does, no divergence between two distributions grows when both go through it,
        so an (epsilon, delta)-DP release stays (epsilon, delta)-DP. The channel must not look at the data.
        Reference: Dwork & Roth 2014, Proposition 2.1 (post-processing).
        Textbook: S1.7.
        """
        masses: defaultdict[Result, Fraction] = defaultdict(Fraction)
        for outcome, mass in self.items():
            for result, share in Distribution.of(channel(outcome)).items():
                masses[result] += mass * share
        return Distribution(masses)

    def mapped(self, function: Callable[[Outcome], Result]) -> Distribution[Result]:
        """The distribution of a function of the outcome: post-processing without randomness."""
        return self.through(lambda outcome: {function(outcome): 1})

    def times(self, other: Mapping[Result, Number]) -> Distribution[tuple[Outcome, Result]]:
        """The distribution of the pair with an independent second outcome."""
        second = Distribution.of(other)
        return Distribution({(a, b): p * q for a, p in self.items() for b, q in second.items()})


def likelihood_ratio(first: Mapping[Outcome, Number], second: Mapping[Outcome, Number], outcome: Outcome) -> Extended:
    """How many times likelier the first distribution makes an outcome; infinite where only the first has it."""
    p, q = Distribution.of(first).mass(outcome), Distribution.of(second).mass(outcome)
    return p / q if q else math.inf


def privacy_loss(first: Mapping[Outcome, Number], second: Mapping[Outcome, Number], outcome: Outcome) -> Extended:
    """The privacy loss of observing `outcome`: the logarithm of its likelihood ratio, rounded up.

    It is infinite where only the first distribution has the outcome, and minus infinite where only the second has it.
    Reference: Dwork & Roth 2014, Section 2.3 (privacy loss).
    Textbook: S7.1.
    """
    return log_above(likelihood_ratio(first, second, outcome))


def loss_exceeds(first: Mapping[Outcome, Number], second: Mapping[Outcome, Number], *, epsilon: Number) -> Fraction:
    """The exact probability, over outcomes of the first distribution, that the privacy loss is above epsilon.

    If it is at most delta in both directions, the pair is (epsilon, delta)-indistinguishable. The converse is false:
    an (epsilon, delta)-DP release can have a loss above epsilon far more often than delta.
    Reference: Dwork & Roth 2014, Section 2.3, which claims the converse.
    Textbook: S7.1, S1.3.
    """
    p, q = Distribution.of(first), Distribution.of(second)
    return decided(lambda odds: p.probability(lambda o: p.mass(o) > odds * q.mass(o)), not_negative(epsilon=epsilon))


def kl_divergence(first: Mapping[Outcome, Number], second: Mapping[Outcome, Number]) -> Extended:
    """The expected privacy loss in nats (natural logarithm, not bits), rounded up; infinite outside the support.

    Reference: Dwork & Roth 2014, Definition 3.5.
    Textbook: S7.2.
    """
    p, q = Distribution.of(first), Distribution.of(second)
    if p.keys() - q.keys():
        return math.inf
    with precise():
        terms = (ball(mass) * ball(mass / q[outcome]).log() for outcome, mass in p.items())
        return max(Fraction(0), upper(sum(terms, ball(0))))


def kl_bound(*, epsilon: Number) -> Fraction:
    """The textbook's bound on the KL divergence of an epsilon-DP release: epsilon (e^epsilon - 1), rounded up.

    It is below 2 epsilon^2 for epsilon < 1. The largest that occurs is epsilon tanh(epsilon / 2).
    Reference: Dwork & Roth 2014, Lemma 3.18.
    Textbook: S7.2.
    """
    size = not_negative(epsilon=epsilon)
    with precise():
        return upper(ball(size) * ball(size).expm1())


def hockey_stick(
    first: Mapping[Outcome, Number],
    second: Mapping[Outcome, Number],
    *,
    odds: Number | None = None,
    epsilon: Number | None = None,
) -> Fraction:
    """The largest gap P[S] - e^epsilon Q[S] over all events S: the tight delta at epsilon, in one direction.

    The worst event holds the outcomes that the first distribution makes more than e^epsilon times likelier, so it is
    found in one pass. Exact for `odds`; for `epsilon` an upper bound that is exact to 75 digits.
    Reference: Dwork & Roth 2014, proof of Lemma 3.17; Balle, Barthe & Gaboardi 2018 (arXiv:1807.01647).
    Textbook: S7.4.
    """
    p, q, ratio = Distribution.of(first), Distribution.of(second), safe_odds(odds=odds, epsilon=epsilon)
    gaps = (mass - ratio * q.mass(outcome) for outcome, mass in p.items())
    return sum((gap for gap in gaps if gap > 0), Fraction(0))


def epsilon_distance(
    first: Mapping[Outcome, Number],
    second: Mapping[Outcome, Number],
    *,
    odds: Number | None = None,
    epsilon: Number | None = None,
) -> Fraction:
    """The hockey stick in the worse direction: at most delta exactly when the pair is (epsilon, delta)-close.

    Textbook: S7.4, S17.6.
    """
    towards = hockey_stick(first, second, odds=odds, epsilon=epsilon)
    return max(towards, hockey_stick(second, first, odds=odds, epsilon=epsilon))


def statistical_distance(first: Mapping[Outcome, Number], second: Mapping[Outcome, Number]) -> Fraction:
    """The largest difference that the two distributions give to any event.

    Reference: Dwork & Roth 2014, Section 3.5.1 (statistical distance).
    Textbook: S7.4, S17.6.
    """
    return hockey_stick(first, second, odds=1)


def largest_odds(first: Mapping[Outcome, Number], second: Mapping[Outcome, Number], *, delta: Number = 0) -> Extended:
    """The largest (P[S] - delta) / Q[S] over all events S with P[S] > delta, exact; 0 where there is none.

    The optimal event is a set of all outcomes whose likelihood ratio is above some level (Neyman and Pearson), so only
    as many events as there are levels are tried. It is the least `odds` whose hockey stick is at most delta.
    """
    p, q, event = Distribution.of(first), Distribution.of(second), probability(delta=delta)
    mass, other, best = Fraction(0), Fraction(0), Fraction(0)
    for outcome in sorted(p, key=lambda o: likelihood_ratio(p, q, o), reverse=True):
        mass, other = mass + p[outcome], other + q.mass(outcome)
        if mass > event and not other:
            return math.inf
        if mass > event:
            best = max(best, (mass - event) / other)
    return best


def max_divergence(first: Mapping[Outcome, Number], second: Mapping[Outcome, Number]) -> Extended:
    """The largest privacy loss, rounded up: at most epsilon in both directions exactly for an epsilon-DP pair.

    Reference: Dwork & Roth 2014, Definition 3.6 and Remark 3.1.
    Textbook: S7.3.
    """
    return approximate_max_divergence(first, second, delta=0)


def approximate_max_divergence(
    first: Mapping[Outcome, Number], second: Mapping[Outcome, Number], *, delta: Number
) -> Extended:
    """The least epsilon (also negative) with P[S] <= e^epsilon Q[S] + delta for all events S, rounded up.

    An event of mass exactly delta bounds nothing, also where the second distribution does not have it.
    Reference: Dwork & Roth 2014, Definition 3.6 and Remark 3.1.
    Textbook: S7.3.
    """
    return log_above(largest_odds(first, second, delta=delta))


def is_private(
    first: Mapping[Outcome, Number], second: Mapping[Outcome, Number], *, epsilon: Number, delta: Number = 0
) -> bool:
    """Whether P[S] <= e^epsilon Q[S] + delta for all events S and in both directions; decided exactly.

    Reference: Dwork & Roth 2014, Definition 2.4.
    Textbook: S1.3.
    """
    event = probability(delta=delta)
    holds = decided(lambda odds: epsilon_distance(first, second, odds=odds) <= event, not_negative(epsilon=epsilon))
    return bool(holds)
