"""LinearLearner: a mixture of coordinates with a small expected value, by playing coordinates as experts.

How regret, and the excess of LinearLearner, fall with the number of rounds: measured, and as theorems bound them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.budget import Budget
from dalenius.lazy import optional
from dalenius.learn.budgets import allowance_of
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.neighbours import Neighbours, Replace
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.randomness.exact import bernoulli
from dalenius.session.answers.charts import Chart, drawn
from dalenius.textbook.learning.experts import Hedge, LossTable, likely_excess, private_rate, regret, sharp_regret_bound

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
    def calibrated(cls, examples: LossTable, budget_part: BudgetPart) -> LinearLearner:
        """The steepest rate for which the whole budget part pays."""
        return cls(Hedge.calibrated(examples, budget_part))

    @staticmethod
    def examples(rows: ArrayLike, *, neighbours: Neighbours) -> LossTable:
        """Examples in [-1, 1]^d, sealed; what lies outside is moved to the bounds."""
        return LossTable.of(rows, neighbours=neighbours, lowest=-1, highest=1)

    def learn(self, examples: LossTable, budget_part: BudgetPart, entropy: Entropy) -> NDArray[np.float64]:
        """The weights, at the price of all choices."""
        taken = self.hedge.play(examples, budget_part, entropy)
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


_One: TypeAlias = Callable[[int, Allowance, Entropy], tuple[float, Fraction]]
"""One run of so many rounds: what was measured, and its bound."""
_BETTER = Fraction(1, 4)
"""How often the best expert is wrong; all others are wrong half of the time."""


@dataclass(frozen=True)
class ByRounds:
    """For each number of rounds what was measured, and what is exceeded with probability at most `beta`."""

    what: str
    rounds: tuple[int, ...]
    measured: tuple[float, ...]
    bound: tuple[float, ...]
    beta: Fraction

    def __str__(self) -> str:
        figures = zip(self.rounds, self.measured, self.bound, strict=True)
        lines = [f"{count:>8} {value:>9.4f} {bound:>9.4f}" for count, value, bound in figures]
        return "\n".join([f"{'rounds':>8} {self.what:>9} {'bound':>9}", *lines])

    def plot(self, path: str | Path | None = None) -> Chart:
        """Both on logarithmic axes, also written to `path` (.svg or .png). Needs the extra `plot`."""
        figure = optional("matplotlib.figure", function="ByRounds.plot", extra="plot").Figure(
            figsize=(6, 3.6), layout="constrained"
        )
        axes = figure.subplots()
        axes.plot(self.rounds, self.measured, label="measured", color="#27566b", marker="o", markersize=3)
        axes.plot(self.rounds, self.bound, label=f"bound, beta = {float(self.beta):g}", color="#d08c3c")
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=0.01)
        axes.set_xlabel("rounds")
        axes.set_ylabel(self.what)
        axes.legend(frameon=False)
        return drawn(figure, path)


def regret_by_rounds(
    rounds: Sequence[int] = (100, 300, 1000),
    *,
    experts: int = 8,
    epsilon: Number = 1,
    delta: Number = "1e-6",
    beta: Number = "0.05",
    entropy: Entropy | None = None,
) -> ByRounds:
    """The regret of `Hedge` on made-up losses, calibrated to a budget for each number of rounds.

    Textbook: S14.3.
    """

    def one(count: int, allowance: Allowance, source: Entropy) -> tuple[float, Fraction]:
        losses = _made_up(count, whole(2, experts=experts), source)
        table, budget_part = LossTable.of(losses, neighbours=allowance.neighbours), BudgetPart(allowance)
        hedge = Hedge.calibrated(table, budget_part)
        bound = sharp_regret_bound(experts=experts, rounds=count, rate=hedge.rate)
        return regret(losses, hedge.play(table, budget_part, source)), bound + likely_excess(rounds=count, beta=beta)

    return _measured("regret", rounds, one, Budget(epsilon, delta), beta, entropy)


def excess_by_rounds(
    rounds: Sequence[int] = (100, 300, 1000),
    *,
    width: int = 8,
    epsilon: Number = 1,
    delta: Number = "1e-6",
    beta: Number = "0.05",
    entropy: Entropy | None = None,
) -> ByRounds:
    """The excess of `LinearLearner` over the best weights on made-up examples of -1 and 1.

    Textbook: S14.4.
    """

    def one(count: int, allowance: Allowance, source: Entropy) -> tuple[float, Fraction]:
        made_up = 2 * _made_up(count, whole(2, width=width), source) - 1
        examples, budget_part = LinearLearner.examples(made_up, neighbours=allowance.neighbours), BudgetPart(allowance)
        learner = LinearLearner.calibrated(examples, budget_part)
        weights = learner.learn(examples, budget_part, source)
        excess = float((1 - weights[0]) * (1 - 2 * _BETTER))
        return excess, linear_excess(width=width, rounds=count, rate=learner.hedge.rate, beta=beta)

    return _measured("excess", rounds, one, Budget(epsilon, delta), beta, entropy)


def _measured(
    what: str, rounds: Sequence[int], one: _One, budget: Budget, beta: Number, entropy: Entropy | None
) -> ByRounds:
    found = []
    for count in rounds:
        with allowance_of(budget, Replace("event")) as allowance:
            found.append(one(whole(2, rounds=count), allowance, entropy or system_entropy()))
    measured, bounds = zip(*found, strict=True)
    return ByRounds(what, tuple(rounds), measured, tuple(map(float, bounds)), inside_unit(beta=beta))


def _made_up(rounds: int, experts: int, entropy: Entropy) -> NDArray[np.float64]:
    """Losses of 0 and 1, of which the first expert has fewer."""
    best = bernoulli(_BETTER, (rounds, 1), entropy=entropy)
    others = bernoulli(Fraction(1, 2), (rounds, experts - 1), entropy=entropy)
    return np.hstack([best, others]).astype(np.float64)
