"""Linear regression with scikit-learn's interface, from sums with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.engine_rows import Columns, Sum
from dalenius.learn.exact_sums import product
from dalenius.learn.models import Learnt, Tick
from dalenius.learn.moments.adassp import adassp_weights
from dalenius.learn.moments.residuals import Unexplained, unexplained
from dalenius.learn.moments.solving import Equations, firm
from dalenius.learn.moments.sums import (
    Crossed,
    Products,
    Sums,
    Targets,
    crossed,
    parts,
    products,
    released,
    sums,
    targets,
)
from dalenius.learn.moments.targets import PrivateRegressor
from dalenius.learn.moments.tilted import tilted_weights
from dalenius.learn.rows import ONE, Entries, Integers, Summable
from dalenius.learn.settings import number
from dalenius.learn.slopes import HEAVIEST, WEIGHT, on_grid
from dalenius.mechanisms.purse import Purse
from dalenius.privacy.neighbours import Neighbours
from dalenius.randomness.entropy import Entropy

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
class Plan:
    """How the purse is spent: the share that pays for the equations, how many corrections the rest pays for, their
    length, and how many of the last weights the mean is taken of. All of it is public and fixed."""

    equations: Fraction
    rounds: int
    length: float
    kept: int


_GAUSSIAN = Plan(Fraction(3, 20), rounds=6, length=0.5, kept=3)
_LAPLACE = Plan(Fraction(1, 2), rounds=2, length=0.7, kept=1)


class SumsRegression(PrivateRegressor):
    """Least squares: the sum of (score - target)^2 over rows, with a penalty for the weights where one is wanted.

    `method` says how weights are learnt: `"sums"` as below; `"objective"`, by the minimum of a randomly tilted
    objective, see `tilted_weights`; or `"adassp"`, as in the paper, for comparison, see `adassp_weights`.

    Sums of products of features are released with noise, and a first guess of the weights is made from them. Then, a
    few times, the sum of features times what the score leaves unexplained is released, and the weights are corrected by
    it through the inverse of the noisy matrix. A guess far off is mended so, because noise in the matrix only counts
    times what is still unexplained.

    Guarantee: all sums together cost no more than the purse; see `sums` and `residuals` for what a row adds to each.
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

    def _learn(self, rows: Any, purse: Purse, entropy: Entropy, tick: Tick | None) -> Learnt:
        if self.method == "sums":
            return {"weights": self._corrected(rows, purse, entropy, tick)}
        by = tilted_weights if self.method == "objective" else adassp_weights
        return {"weights": by(rows, self._penalties(), purse, entropy)}

    def _corrected(self, rows: Summable, purse: Purse, entropy: Entropy, tick: Tick | None) -> NDArray[np.float64]:
        """Weights by noisy sums, corrected a few times."""
        plan = _LAPLACE if purse.pure else _GAUSSIAN
        equations = self._measured(rows, purse, plan.equations, entropy)
        inverse, weights = equations.inverse(), equations.guess()
        pull = np.append(equations.ridge, 0.0)
        part, total = purse.equal(plan.rounds), np.zeros_like(weights)
        for turn in range(plan.rounds):
            left = released(unexplained(rows, weights), ONE**2, purse, part, entropy).value
            weights = weights + plan.length * (inverse @ (left - pull * weights))
            total += weights if turn >= plan.rounds - plan.kept else 0.0
            if tick:
                tick(100 * (turn + 1) / plan.rounds)
        return total / plan.kept

    def _measured(self, rows: Summable, purse: Purse, whole: Fraction, entropy: Entropy) -> Equations:
        rows.ready(*_EQUATIONS)
        paid = parts(purse, {name: share * whole for name, share in _SHARES.items()})
        count = released(rows.count(), 1, purse, paid["count"], entropy)
        added = released(sums(rows), ONE, purse, paid["sums"], entropy)
        squared = released(products(rows), ONE**2, purse, paid["products"], entropy)
        return Equations(
            count=count,
            sums=added,
            products=squared,
            crossed=released(crossed(rows), ONE**2, purse, paid["crossed"], entropy),
            targets=released(targets(rows), ONE, purse, paid["targets"], entropy),
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
