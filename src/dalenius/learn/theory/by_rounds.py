"""How regret, and the excess of LinearLearner, fall with the number of rounds: measured, and as theorems bound them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.budget import Budget
from dalenius.curator.answers.charts import Chart, drawn
from dalenius.curator.extras import optional
from dalenius.learn.budgets import allowance_of
from dalenius.learn.theory.experts import Hedge, LossTable, likely_excess, regret, sharp_regret_bound
from dalenius.learn.theory.linear_learner import LinearLearner, linear_excess
from dalenius.mechanisms.purse import Purse
from dalenius.privacy.neighbours import Replace
from dalenius.privacy.numbers import Number, inside_unit, whole
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.randomness.exact import bernoulli

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
        table, purse = LossTable.of(losses, neighbours=allowance.neighbours), Purse(allowance)
        hedge = Hedge.calibrated(table, purse)
        bound = sharp_regret_bound(experts=experts, rounds=count, rate=hedge.rate)
        return regret(losses, hedge.play(table, purse, source)), bound + likely_excess(rounds=count, beta=beta)

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
        examples, purse = LinearLearner.examples(made_up, neighbours=allowance.neighbours), Purse(allowance)
        learner = LinearLearner.calibrated(examples, purse)
        weights = learner.learn(examples, purse, source)
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
