"""Adaptive data analysis: whoever chooses features by their answers overfits, unless the answers are private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.budget import Budget
from dalenius.errors import InvalidParameter
from dalenius.lazy import optional
from dalenius.learn.budgets import allowance_of
from dalenius.learn.rows import ONE, Entries, Integers, product, sealed
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.neighbours import Replace
from dalenius.privacy.numbers import Number, not_negative, probability, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.randomness.exact import bernoulli
from dalenius.session.answers.charts import Chart, drawn
from dalenius.textbook.learning.queries import Oracle, StatisticalQuery

Ask: TypeAlias = Callable[[StatisticalQuery], Integers]
"""Who answers: the sums of a query, in steps."""
Votes: TypeAlias = NDArray[np.int64]
"""For each feature 1 or -1 if it votes for or against the label, 0 if it was not chosen."""


def expected_gap(*, rho: Number) -> Fraction:
    """A query with values in [0, 1] that is chosen rho-zCDP from independent rows has an average over these rows that
    exceeds its true one by at most sqrt(rho / 2), in expectation; the same holds the other way round.

    Guarantee: for neighbours that replace one row, however adaptively the query was chosen, and however many rows.
    Proof: put a fresh row in the place of row i before the query is chosen. The choice's law moves by at most
    sqrt(rho / 2) in total variation, by Pinsker's inequality and a divergence of at most rho, and then row i is fresh
    to the query. So the expected value at row i differs from the expected true average by no more; average over i.
    Reference: Dwork, Feldman, Hardt, Pitassi, Reingold & Roth 2015 (arXiv:1411.2664) for the idea; Bassily, Nissim,
    Smith, Steinke, Stemmer & Ullman 2016 (arXiv:1511.02513) for the exchange of a row; Bun & Steinke 2016.
    Textbook: S14.10.
    """
    with precise():
        return upper((ball(not_negative(rho=rho)) / 2).sqrt())


@dataclass(frozen=True)
class AccuracyCurve:
    """For each number of chosen features: the accuracy that the analyst was told, the one on the analyst's rows, and
    the one on fresh rows."""

    told: tuple[float, ...]
    on_rows: tuple[float, ...]
    fresh: tuple[float, ...]

    @property
    def gap(self) -> float:
        """How much better the rule with most features is on the rows than on fresh ones."""
        return self.on_rows[-1] - self.fresh[-1]


@dataclass(frozen=True)
class Overfitting:
    """What came of an adaptive analysis, with exact and with private answers."""

    chosen: tuple[int, ...]
    exact: AccuracyCurve
    private: AccuracyCurve
    bound: Fraction
    """What `expected_gap` allows to private answers."""
    loss: str = field(default="")

    def __str__(self) -> str:
        head = f"{'features':>8}  {'exact: told':>11} {'fresh':>6}  {'private: told':>13} {'on rows':>7} {'fresh':>6}"
        private = zip(self.private.told, self.private.on_rows, self.private.fresh, strict=True)
        lines = [
            f"{count:>8}  {told:>11.3f} {fresh:>6.3f}  {noisy:>13.3f} {rows:>7.3f} {later:>6.3f}"
            for count, told, fresh, (noisy, rows, later) in zip(
                self.chosen, self.exact.told, self.exact.fresh, private, strict=True
            )
        ]
        gaps = f"gap {self.exact.gap:.3f} with exact answers, {self.private.gap:.3f} with private ones"
        return "\n".join([head, *lines, f"{gaps} ({self.loss}), expected to be at most {float(self.bound):.3f}"])

    def plot(self, path: str | Path | None = None) -> Chart:
        """What was told and what is true, also written to `path` (.svg or .png). Needs the extra `plot`."""
        figure = optional("matplotlib.figure", function="Overfitting.plot", extra="plot").Figure(
            figsize=(8, 3.6), layout="constrained"
        )
        for axes, name, curve in zip(
            figure.subplots(1, 2, sharey=True), ("exact", "private"), (self.exact, self.private), strict=True
        ):
            axes.plot(self.chosen, curve.told, label="told", color="#d08c3c", marker="o", markersize=3)
            axes.plot(self.chosen, curve.fresh, label="on fresh rows", color="#27566b", marker="o", markersize=3)
            axes.set_title(f"{name} answers")
            axes.set_xlabel("features chosen")
        figure.axes[0].set_ylabel("accuracy")
        figure.axes[0].legend(frameon=False)
        return drawn(figure, path)


@dataclass(frozen=True, kw_only=True)
class AdaptiveAnalysis:
    """An analyst asks how each feature goes with the label, lets the best ones vote, and asks how good their votes are.

    All of it is made up: features and labels are independent coins, except that the first `informative` features
    agree with the label with probability (1 + strength) / 2. Without those nothing can be learnt, and no rule is better
    than a coin on fresh rows.
    Reference: Dwork, Feldman, Hardt, Pitassi, Reingold & Roth 2015, "The reusable holdout", Science 349.
    Textbook: S14.10.
    """

    rows: int = 1000
    features: int = 500
    informative: int = 0
    strength: Fraction = Fraction(1, 2)
    fresh: int = 4000

    def __post_init__(self) -> None:
        for name in ("rows", "features", "fresh"):
            whole(2, **{name: getattr(self, name)})
        object.__setattr__(self, "strength", probability(strength=self.strength))
        if whole(0, informative=self.informative) > self.features:
            raise InvalidParameter("informative", self.informative, allowed=f"at most {self.features}")

    @property
    def chosen(self) -> tuple[int, ...]:
        """Numbers of features of which the accuracy is asked."""
        return tuple(sorted({max(1, self.features * part // 20) for part in range(1, 11)}))

    def run(self, *, epsilon: Number = 1, delta: Number = "1e-6", entropy: Entropy | None = None) -> Overfitting:
        """Both analyses on one made-up table; epsilon and delta are what all private answers cost."""
        source = entropy or system_entropy()
        table, later = self._made_up(self.rows, source), self._made_up(self.fresh, source)
        budget, relation = Budget(epsilon, delta), Replace("row")
        kept = sealed(table, self.features * ONE**2, relation)
        with allowance_of(budget, relation) as allowance:
            budget_part = BudgetPart(allowance)
            rho = budget_part.left
            about_features = Oracle.of(kept, budget_part, source, queries=self.features, share=Fraction(1, 2))
            about_votes = Oracle.of(kept, budget_part, source, queries=len(self.chosen), share=Fraction(1, 2))
            private = self._analysed(about_features.totals, about_votes.totals, table, later)

        def plainly(query: StatisticalQuery) -> Integers:
            return query.totals(table)

        exact = self._analysed(plainly, plainly, table, later)
        bound = expected_gap(rho=rho if budget.delta else _pure(budget.epsilon))
        return Overfitting(self.chosen, exact, private, bound, str(budget))

    def _analysed(self, about_features: Ask, about_votes: Ask, table: Entries, later: Entries) -> AccuracyCurve:
        agreements = about_features(StatisticalQuery(part=_agreement, length=self.features, lower=-ONE))
        best = np.argsort(-np.abs(agreements), kind="stable")
        told, on_rows, fresh = [], [], []
        for count in self.chosen:
            votes = np.zeros(self.features, dtype=np.int64)
            votes[best[:count]] = np.where(agreements[best[:count]] < 0, -1, 1)
            query = StatisticalQuery(part=lambda entries, votes=votes: _correct(entries, votes), length=1)  # type: ignore[misc]
            told.append(int(about_votes(query)[0]) / (ONE * self.rows))
            on_rows.append(int(query.totals(table)[0]) / (ONE * self.rows))
            fresh.append(int(query.totals(later)[0]) / (ONE * self.fresh))
        return AccuracyCurve(tuple(told), tuple(on_rows), tuple(fresh))

    def _made_up(self, count: int, entropy: Entropy) -> Entries:
        """Labels 0 and 1, and features of -1 and 1."""
        bits = np.unpackbits(np.frombuffer(entropy.read(count * (self.features + 1) // 8 + 1), dtype=np.uint8))
        coins = bits[: count * (self.features + 1)].reshape(count, -1).astype(np.int16)
        labels, features = coins[:, 0].astype(np.int64), coins[:, 1:]
        if self.informative:
            agree = bernoulli((1 + self.strength) / 2, (count, self.informative), entropy=entropy)
            features[:, : self.informative] = np.where(agree, labels[:, None], 1 - labels[:, None])
        return Entries(((2 * features - 1) * ONE).astype(np.int16), labels, np.ones(count, dtype=np.int64))


def _agreement(entries: Entries) -> Integers:
    """Each feature, with the sign of the label."""
    return np.where(entries.target == 1, 1, -1)[:, None] * entries.features.astype(np.int64)


def _correct(entries: Entries, votes: Votes) -> Integers:
    """1 where the votes of chosen features get the label right; half where they tie."""
    scores = product(entries.features, votes, largest=ONE) * np.where(entries.target == 1, 1, -1)
    return (ONE // 2 * (1 + np.sign(scores)))[:, None]


def _pure(epsilon: Fraction) -> Fraction:
    """The divergence of an epsilon-DP choice, epsilon tanh(epsilon / 2): the largest expected loss."""
    with precise():
        return upper(ball(epsilon) * (ball(epsilon) / 2).tanh())
