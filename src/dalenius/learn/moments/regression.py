"""Linear regression with scikit-learn's interface, from sums with noise.

What a linear score leaves unexplained: the sealed sum of features times residuals, cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import number
from dalenius.learn.engine_rows import Columns, Grouped, PerFeature, Sum
from dalenius.learn.losses_tabulated import HEAVIEST, WEIGHT, on_grid
from dalenius.learn.models import Learnt, Tick
from dalenius.learn.moments.adassp import Equations, adassp_weights, firm, tilted_weights
from dalenius.learn.moments.sums import (
    Crossed,
    Products,
    Sums,
    Targets,
    crossed,
    largest_l1,
    parts,
    products,
    released,
    sums,
    targets,
)
from dalenius.learn.rows import ONE, PIECE, Entries, Integers, Summable, product
from dalenius.learn.targets import PrivateRegressor
from dalenius.learn.terms import by_value, clip, column, extended, quotient, times, total
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.expressions import Expression
from dalenius.query.functions.arguments import integer
from dalenius.query.functions.functions import call
from dalenius.query.plan.relations import Relation
from dalenius.randomness.entropy import Entropy

_RESIDUAL = "r.0"


@dataclass(frozen=True)
class Unexplained:
    """The sum of residuals times features, and times 1 as the last one, in steps of 1 / ONE^2; of a residual that is
    larger than half the target's range, so much is counted. `weights` are in steps of 1 / WEIGHT, that of 1 last."""

    weights: tuple[int, ...]

    @classmethod
    def of(cls, weights: NDArray[np.float64]) -> Unexplained:
        return cls(tuple(on_grid(weights).tolist()))

    def __call__(self, entries: Entries) -> Integers:
        weights = np.array(self.weights)
        scores = product(entries.features, weights[:-1, None], largest=ONE * HEAVIEST * WEIGHT)[:, 0]
        left = (entries.target * WEIGHT - scores - weights[-1] * ONE + WEIGHT // 2) // WEIGHT
        counted = np.clip(left, -ONE, ONE) * entries.counts
        times_features = product(entries.features.T, counted[:, None], largest=ONE**2 * PIECE)[:, 0]
        return np.append(times_features, counted.sum() * ONE)

    def asked(self, columns: Columns) -> list[Grouped]:
        return self._sums(columns).asked(columns)

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        sums = self._sums(columns).put(columns, found)
        sums[-1] *= ONE
        return sums

    def _sums(self, columns: Columns) -> PerFeature:
        relation = self._with_residuals(columns)
        return PerFeature(relation, column(relation, _RESIDUAL))

    def _with_residuals(self, columns: Columns) -> Relation:
        """First what each text adds to the score, then the residual."""
        scores = {
            f"s.{place}": by_value(columns.keys[key], column(columns.relation, key), self._of_text(columns, key))
            for place, key in enumerate(columns.texts)
        }
        scored = extended(columns.relation, scores)
        parts: list[Expression] = [column(scored, name) for name in scores]
        parts += [times(column(scored, key), self.weights[columns.features(key)][0]) for key in columns.numbers]
        start = WEIGHT // 2 - self.weights[-1] * ONE
        wanted = call("add", times(column(scored, columns.target.name), WEIGHT), integer(start))
        left = quotient(call("subtract", wanted, total(parts)), WEIGHT)
        return extended(scored, {_RESIDUAL: clip(left, -ONE, ONE)}, kept=columns.keys)

    def _of_text(self, columns: Columns, key: str) -> list[int]:
        return [ONE * weight for weight in self.weights[columns.features(key)]]


def unexplained(rows: Summable, weights: NDArray[np.float64]) -> Exact[Integers]:
    """The sealed sum of what weights leave unexplained.

    Proof: a row adds its features and ONE, each times one integer of at most ONE in size. The score is an exact sum of
    integers, so the residual depends on that row and on the weights alone.
    """
    return rows.summed(
        Unexplained.of(weights),
        l2_squared=ONE**2 * (rows.norm_squared + ONE**2),
        l1=ONE * (largest_l1(rows) + ONE),
    )


_SHARES = {
    "count": Fraction(1, 100),
    "sums": Fraction(9, 100),
    "products": Fraction(65, 100),
    "crossed": Fraction(20, 100),
    "targets": Fraction(5, 100),
}
METHODS = ("sums", "objective", "adassp")
_EQUATIONS: tuple[Sum, ...] = (Sums(), Products(), Crossed(), Targets())


@dataclass(frozen=True)
class RegressionPlan:
    """How the budget part is spent: the share that pays for the equations, how many corrections the rest pays for,
    their length, and how many of the last weights the mean is taken of. All of it is public and fixed."""

    equations: Fraction
    rounds: int
    length: float
    kept: int


_GAUSSIAN = RegressionPlan(Fraction(3, 20), rounds=6, length=0.5, kept=3)
_LAPLACE = RegressionPlan(Fraction(1, 2), rounds=2, length=0.7, kept=1)


class SumsRegression(PrivateRegressor):
    """Least squares: the sum of (score - target)^2 over rows, with a penalty for the weights where one is wanted.

    `method` says how weights are learnt: `"sums"` as below; `"objective"`, by the minimum of a randomly tilted
    objective, see `tilted_weights`; or `"adassp"`, as in the paper, for comparison, see `adassp_weights`.

    Sums of products of features are released with noise, and a first guess of the weights is made from them. Then, a
    few times, the sum of features times what the score leaves unexplained is released, and the weights are corrected by
    it through the inverse of the noisy matrix. A guess far off is mended so, because noise in the matrix only counts
    times what is still unexplained.

    Guarantee: all sums together cost no more than the budget part; see `sums` and `residuals` for what a row adds to
    each.
    Reference: Wang 2018 (arXiv:1803.02596) for noisy sums; Bassily, Smith & Thakurta 2014 (arXiv:1405.7085) for
    gradients with noise, of which a correction is one.
    Textbook: S14.9, with the sum of squares that it means.
    """

    method: str

    def _require(self, *, pure: bool, most: int, neighbours: Neighbours) -> None:
        if self.method not in METHODS:
            raise InvalidParameter("method", self.method, allowed="'sums', 'objective' or 'adassp'")
        if self.method == "adassp" and pure:
            raise InvalidParameter("method", self.method, allowed="'sums' or 'objective' where there is no delta")

    def _least_units(self, *, pure: bool) -> int:
        if self.method != "sums":
            return super()._least_units(pure=pure)
        plan = _LAPLACE if pure else _GAUSSIAN
        return ceil(1 / (plan.equations * min(_SHARES.values())))

    def _penalties(self) -> NDArray[np.float64]:
        """What is added to the diagonal, for features as they are scaled."""
        return np.zeros(self.n_features_in_)

    def _sums(self, columns: Columns) -> Sequence[Sum] | None:
        if self.method != "sums":
            return None
        return [*_EQUATIONS, Unexplained.of(np.full(columns.width + 1, np.inf))]

    def _learn(self, rows: Any, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        if self.method == "sums":
            return {"weights": self._corrected(rows, budget_part, entropy, tick)}
        by = tilted_weights if self.method == "objective" else adassp_weights
        return {"weights": by(rows, self._penalties(), budget_part, entropy)}

    def _corrected(
        self, rows: Summable, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None
    ) -> NDArray[np.float64]:
        """Weights by noisy sums, corrected a few times."""
        plan = _LAPLACE if budget_part.pure else _GAUSSIAN
        equations = self._measured(rows, budget_part, plan.equations, entropy)
        inverse, weights = equations.inverse(), equations.guess()
        pull = np.append(equations.ridge, 0.0)
        part, total = budget_part.equal(plan.rounds), np.zeros_like(weights)
        for turn in range(plan.rounds):
            left = released(unexplained(rows, weights), ONE**2, budget_part, part, entropy).value
            weights = weights + plan.length * (inverse @ (left - pull * weights))
            total += weights if turn >= plan.rounds - plan.kept else 0.0
            if tick:
                tick(100 * (turn + 1) / plan.rounds)
        return total / plan.kept

    def _measured(self, rows: Summable, budget_part: BudgetPart, whole: Fraction, entropy: Entropy) -> Equations:
        rows.ready(*_EQUATIONS)
        paid = parts(budget_part, {name: share * whole for name, share in _SHARES.items()})
        count = released(rows.count(), 1, budget_part, paid["count"], entropy)
        added = released(sums(rows), ONE, budget_part, paid["sums"], entropy)
        squared = released(products(rows), ONE**2, budget_part, paid["products"], entropy)
        return Equations(
            count=count,
            sums=added,
            products=squared,
            crossed=released(crossed(rows), ONE**2, budget_part, paid["crossed"], entropy),
            targets=released(targets(rows), ONE, budget_part, paid["targets"], entropy),
            ridge=firm(self._penalties(), abs(count.number) + squared.deviation),
        )

    def _keep(self, learnt: Learnt) -> None:
        weights = learnt["weights"] * self._target_half
        self.coef_ = weights[:-1] / self._scale.size
        self.intercept_ = float(self._target_centre + weights[-1] - self._scale.centre @ self.coef_)

    def _numbers(self, entries: Entries) -> Integers:
        weights = on_grid(self.learnt_["weights"])
        scores = product(entries.features, weights[:-1, None], largest=ONE * HEAVIEST * WEIGHT)[:, 0]
        return np.asarray((scores + weights[-1] * ONE + WEIGHT // 2) // WEIGHT)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The number to expect for each row, within the bounds of the target."""
        kept = np.clip(self._features(X), self._scale.lower, self._scale.upper)
        scores = kept @ self.coef_ + self.intercept_
        return np.clip(scores, self._target_scale.lower[0], self._target_scale.upper[0])


class LinearRegression(SumsRegression):
    """Least squares."""

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        target_bounds: Any = None,
        norm: Any = None,
        neighbours: str = "add_remove",
        method: str = "sums",
    ) -> None:
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.target_bounds, self.norm, self.neighbours = bounds, target_bounds, norm, neighbours
        self.method = method


class Ridge(SumsRegression):
    """Least squares plus `alpha` times the sum of the squares of `coef_`."""

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        target_bounds: Any = None,
        norm: Any = None,
        neighbours: str = "add_remove",
        method: str = "sums",
    ) -> None:
        self.alpha = alpha
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.target_bounds, self.norm, self.neighbours = bounds, target_bounds, norm, neighbours
        self.method = method

    def _require(self, *, pure: bool, most: int, neighbours: Neighbours) -> None:
        super()._require(pure=pure, most=most, neighbours=neighbours)
        if not 0 <= number(self.alpha) < np.inf:
            raise InvalidParameter("alpha", self.alpha, allowed="a number of 0 or more")

    def _penalties(self) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            wanted = number(self.alpha) / self._scale.size**2
        return np.asarray(np.nan_to_num(wanted))
