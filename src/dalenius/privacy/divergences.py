"""How well two finite distributions can be told apart: the measures behind every privacy guarantee.

All are taken between the outputs of one mechanism on two databases. Masses are exact, so are figures that are
rational; logarithms are rounded up. `odds` is e^epsilon as an exact rational; a given `epsilon` gives a certified
upper bound (see `odds`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TypeVar

from dalenius.privacy.distributions import Distribution
from dalenius.privacy.numbers import Number, not_negative, probability
from dalenius.privacy.odds import Extended, decided, log_above, safe_odds
from dalenius.privacy.reals import ball, precise, upper

Outcome = TypeVar("Outcome", bound=Hashable)


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

    Textbook: S7.4.
    """
    towards = hockey_stick(first, second, odds=odds, epsilon=epsilon)
    return max(towards, hockey_stick(second, first, odds=odds, epsilon=epsilon))


def statistical_distance(first: Mapping[Outcome, Number], second: Mapping[Outcome, Number]) -> Fraction:
    """The largest difference that the two distributions give to any event.

    Reference: Dwork & Roth 2014, Section 3.5.1 (statistical distance).
    Textbook: S7.4.
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
