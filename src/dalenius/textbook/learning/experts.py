"""Learning from expert advice: randomized weighted majority, whose every step is an exponential choice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.accounting.composition import advanced_composition, repeated
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.lazy import optional
from dalenius.learn.rows import Integers
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours, Replace
from dalenius.privacy.numbers import Number, exact, inside_unit, positive, whole
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy

special = optional("scipy.special", function="Hedge", extra="checks")

GRID = 2**10
"""A loss of 1 is so many steps."""
_FINEST = 2**64
_MOST = 2**40


@dataclass(frozen=True)
class LossTable:
    """The losses of k experts in T rounds, a row for each round, sealed; T and k are public.

    A neighbour has another vector of losses in one round. `spread` is how far apart two losses of one expert can be, in
    steps of the grid: that is the sensitivity of their sums.
    """

    before: Exact[Integers]
    """The sums of the losses before each round."""
    rounds: int
    experts: int
    spread: int

    @classmethod
    def of(cls, losses: ArrayLike, *, neighbours: Neighbours, lowest: Number = 0, highest: Number = 1) -> LossTable:
        """Losses between `lowest` and `highest`, put on the grid; what lies outside is moved to the bounds."""
        if not isinstance(neighbours, Replace):
            raise InvalidParameter(
                "neighbours", str(neighbours), allowed="those that replace: the number of rounds is public"
            )
        table = np.asarray(losses, dtype=np.float64)
        if table.ndim != 2 or not table.size or len(table) > _MOST // GRID:
            raise InvalidParameter("losses", f"of shape {table.shape}", allowed="a row for each round")
        ends = [floor(GRID * exact(lowest=lowest)), floor(GRID * exact(highest=highest))]
        span = whole(1, spread=ends[1] - ends[0])
        inside = np.clip(np.nan_to_num(table, nan=0.0), ends[0] / GRID, ends[1] / GRID)  # exact: GRID is a power of two
        steps = np.rint(inside * GRID).astype(np.int64)
        before = np.vstack([np.zeros((1, table.shape[1]), dtype=np.int64), np.cumsum(steps, axis=0)[:-1]])
        moved = Sensitivity(linf=span, neighbours=neighbours)
        return cls(Exact(before, sensitivity=moved, neighbours=neighbours), len(table), table.shape[1], span)

    def scores(self, place: int) -> Exact[Integers]:
        """What the choice in a round goes by: minus the sums of all losses before."""
        return self.before.map(lambda sums: -sums[place], sensitivity=self.before.sensitivity)


@dataclass(frozen=True)
class Hedge:
    """Randomized weighted majority: in round t take expert i with probability proportional to
    exp(-rate * (the losses of i in all earlier rounds)).

    Guarantee: with losses from 0 to 1, the choice of each round after the first is a release of bounded range 2 rate;
    the first one tells nothing. All choices together cost what the door charges for them: the number of rounds is
    known, and a run that the budget part cannot pay for is refused before the first choice.
    Proof: exponential mechanism with score -(sum of losses). Replacing one vector of losses moves each sum by at most
    1, some up and some down. The text has the sum itself as the score, whose sign prefers the worst expert.
    Reference: Littlestone & Warmuth 1994; Dwork & Roth 2014, Algorithm 16 and Theorem 11.2.
    Textbook: S14.3.
    """

    rate: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive(rate=self.rate))

    @classmethod
    def private(cls, *, epsilon: Number, delta: Number, rounds: int) -> Hedge:
        """The rate of the text, epsilon / sqrt(32 T ln(1 / delta)), rounded down: (epsilon, delta)-DP by advanced
        composition; see `calibrated` for a rate that is several times steeper at the same price."""
        return cls(private_rate(epsilon=epsilon, delta=delta, rounds=rounds))

    @classmethod
    def calibrated(cls, losses: LossTable, budget_part: BudgetPart) -> Hedge:
        """The steepest rate for which the whole budget part pays: T - 1 choices of bounded range."""
        part = budget_part.equal(max(1, losses.rounds - 1))
        choice = budget_part.choice(part, Sensitivity(linf=losses.spread, neighbours=losses.before.neighbours))
        return cls(choice.rate * GRID)

    def mechanism(self, neighbours: Neighbours) -> ExponentialMechanism:
        """The choice of one round, for losses in steps of the grid."""
        return ExponentialMechanism(rate=self.rate / GRID, neighbours=neighbours)

    def play(self, losses: LossTable, budget_part: BudgetPart, entropy: Entropy) -> tuple[int, ...]:
        """The expert that is taken in each round."""
        choice = self.mechanism(losses.before.neighbours)
        if losses.rounds > 1:
            one = choice.loss(sensitivity=losses.before.sensitivity)
            budget_part.allowance.require(repeated(one, losses.rounds - 1))
        later = (
            measure(choice, losses.scores(place), budget_part.allowance, entropy) for place in range(1, losses.rounds)
        )
        return (entropy.below(losses.experts), *later)

    def shares(self, losses: ArrayLike) -> NDArray[np.float64]:
        """For public losses, how likely each expert is in each round: what theorems about regret speak of."""
        table = np.asarray(losses, dtype=np.float64)
        before = np.vstack([np.zeros(table.shape[1]), np.cumsum(table, axis=0)[:-1]])
        return np.asarray(special.softmax(-float(self.rate) * before, axis=1))

    def expected_regret(self, losses: ArrayLike) -> float:
        """For public losses, the expected average loss less that of the best expert."""
        table = np.asarray(losses, dtype=np.float64)
        return float((self.shares(table) * table).sum() / len(table) - table.mean(axis=0).min())


def regret(losses: ArrayLike, taken: tuple[int, ...]) -> float:
    """For public losses, the average loss of what was taken less that of the best expert."""
    table = np.asarray(losses, dtype=np.float64)
    return float(table[np.arange(len(table)), list(taken)].mean() - table.mean(axis=0).min())


def regret_bound(*, experts: int, rounds: int, rate: Number) -> Fraction:
    """The expected regret is at most rate + ln k / (rate T), for losses in [0, 1] and any rate.

    Reference: Dwork & Roth 2014, Theorem 11.1. It holds for all rates since `sharp_regret_bound` does.
    Textbook: S14.3.
    """
    return _regret(experts, rounds, rate, Fraction(1))


def sharp_regret_bound(*, experts: int, rounds: int, rate: Number) -> Fraction:
    """The expected regret is at most rate / 8 + ln k / (rate T).

    Proof: the logarithm of the sum of weights falls in each round by at least rate * (expected loss) - rate^2 / 8, by
    Hoeffding's lemma, and never below -rate * (losses of the best).
    Reference: Cesa-Bianchi & Lugosi 2006, Theorem 2.2.
    Textbook: S14.3.
    """
    return _regret(experts, rounds, rate, Fraction(1, 8))


def best_rate(*, experts: int, rounds: int) -> Fraction:
    """The rate without privacy, sqrt(ln k / T), rounded down; `regret_bound` is then 2 sqrt(ln k / T).

    Reference: Dwork & Roth 2014, Theorem 11.1.
    Textbook: S14.3.
    """
    with precise():
        return _rounded((ball(whole(2, experts=experts)).log() / whole(1, rounds=rounds)).sqrt())


def private_rate(*, epsilon: Number, delta: Number, rounds: int, spread: Number = 1) -> Fraction:
    """epsilon / (spread sqrt(32 T ln(1 / delta))), rounded down, for losses that lie within `spread` of each other.

    Guarantee: T choices at this rate are (epsilon, delta)-DP by advanced composition, which is checked: for an epsilon
    beyond about 4 ln(1 / delta), where the corollary that the text uses does not hold, there is an error.
    Reference: Dwork & Roth 2014, Theorem 11.2 with Corollary 3.21.
    Textbook: S14.3.
    """
    price, failure, count = positive(epsilon=epsilon), inside_unit(delta=delta), whole(1, rounds=rounds)
    with precise():
        root = (-32 * count * ball(failure).log()).sqrt()
        rate = _rounded(ball(price / positive(spread=spread)) / root)
    step = 2 * rate * positive(spread=spread)
    if advanced_composition(epsilon=step, count=count, slack=failure).epsilon > price:
        raise TheoremDoesNotApply(
            "Theorem 11.2", needs="an epsilon of at most about 4 ln(1 / delta)", given=str(epsilon),
            instead="Hedge.calibrated",
        )  # fmt: skip
    return rate


def private_regret_bound(*, experts: int, rounds: int, epsilon: Number, delta: Number) -> Fraction:
    """The expected regret at the private rate is at most sqrt(128 ln(1 / delta)) ln k / (epsilon sqrt T).

    It is `regret_bound` at that rate, whose first term is not above its second if epsilon^2 <= 32 ln k ln(1 / delta).
    The copy of the text that is common has ln k under the root, which is false for many experts: a test has a table
    of losses whose regret is larger.
    Reference: Dwork & Roth 2014, Theorem 11.3, corrected.
    Textbook: S14.3.
    """
    price, failure = positive(epsilon=epsilon), inside_unit(delta=delta)
    with precise():
        many = ball(whole(2, experts=experts)).log()
        logs = -ball(failure).log()
        if not ball(price**2) <= 32 * many * logs:
            raise TheoremDoesNotApply(
                "Theorem 11.3", needs="epsilon^2 of at most 32 ln k ln(1 / delta)", given=str(epsilon),
                instead="regret_bound at the rate of private_rate",
            )  # fmt: skip
        return upper((128 * logs).sqrt() * many / (ball(price) * ball(whole(1, rounds=rounds)).sqrt()))


def likely_excess(*, rounds: int, beta: Number) -> Fraction:
    """With probability 1 - beta the regret is at most this above a bound on the expected one: sqrt(ln(1 / beta) / 2T).

    Proof: the loss of what was taken less its expectation given the past is a martingale difference in an interval of
    length 1, and the bound on expected losses holds for every table of losses. So losses may even be chosen after
    earlier choices were seen; the text's argument, by independence, needs losses that are fixed in advance.
    Reference: Azuma's inequality in Hoeffding's form.
    Textbook: S14.3.
    """
    with precise():
        return upper((-ball(inside_unit(beta=beta)).log() / (2 * whole(1, rounds=rounds))).sqrt())


def likely_private_regret_bound(*, experts: int, rounds: int, epsilon: Number, delta: Number, beta: Number) -> Fraction:
    """With probability 1 - beta the regret at the private rate is at most sqrt(128 ln(1 / delta)) ln k / (epsilon
    sqrt T) + sqrt(ln(k / beta) / T).

    Reference: Dwork & Roth 2014, Theorem 11.4, corrected as `private_regret_bound`; `likely_excess` is less than its
    second term.
    Textbook: S14.3.
    """
    expected = private_regret_bound(experts=experts, rounds=rounds, epsilon=epsilon, delta=delta)
    with precise():
        return expected + upper((ball(whole(1, experts=experts) / inside_unit(beta=beta)).log() / rounds).sqrt())


def _regret(experts: int, rounds: int, rate: Number, factor: Fraction) -> Fraction:
    speed = positive(rate=rate)
    with precise():
        return factor * speed + upper(ball(whole(1, experts=experts)).log() / ball(speed * whole(1, rounds=rounds)))


def _rounded(rate: object) -> Fraction:
    """A rate, rounded down to a short fraction."""
    return Fraction(floor(lower(rate) * _FINEST), _FINEST)  # type: ignore[arg-type]
