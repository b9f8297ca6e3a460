"""Covariances with error bars, and principal components of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_array, check_is_fitted

from dalenius.errors import InvalidParameter
from dalenius.learn.engine_rows import Columns, Sum
from dalenius.learn.models import Learnt, PrivateModel, PrivateTransformer, Tick
from dalenius.learn.moments.averages import BAR, units
from dalenius.learn.moments.sums import Products, Sums, parts, products, released, square, sums
from dalenius.learn.rows import ONE, Summable
from dalenius.learn.tables import require_own
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.neighbours import Neighbours
from dalenius.randomness.entropy import Entropy

Floats = NDArray[np.float64]
_SHARES = {"count": Fraction(1, 50), "sums": Fraction(4, 25), "products": Fraction(41, 50)}


class _Spread(PrivateModel):
    """The count, the sums and the sums of products of features, released with noise."""

    def _sums(self, columns: Columns) -> Sequence[Sum]:
        return [Sums(), Products()]

    def _learn(self, rows: Summable, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        rows.ready(Sums(), Products())
        paid = parts(budget_part, _SHARES)
        count = released(rows.count(), 1, budget_part, paid["count"], entropy)
        total = released(sums(rows), ONE, budget_part, paid["sums"], entropy)
        pairs = released(products(rows), ONE**2, budget_part, paid["products"], entropy)
        deviations = np.array([count.deviation, total.deviation, pairs.deviation])
        return {"count": count.value, "sums": total.value, "products": pairs.value, "deviations": deviations}


class Covariance(_Spread):
    """The means and the covariances of columns.

    `location_` and `covariance_`, with `location_error_` and `covariance_error_`: what noise moves them by at most, 19
    times out of 20. Where noise made the matrix one that no data have, it was put right: negative eigenvalues count as
    0. In a private table a NULL counts as the middle of its column's range.

    Guarantee: noise is added to the sums of products of features, each pair once; see `products` for what a row adds.
    Reference: Dwork, Talwar, Thakurta & Zhang 2014 (STOC), Analyze Gauss, Algorithm 1.
    Textbook: S14.11.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        norm: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.norm, self.neighbours = bounds, norm, neighbours

    def _keep(self, learnt: Learnt) -> None:
        centre, size = units(self)
        noisy_count, noisy_sum, noisy_product = learnt["deviations"]
        self.count_, mean, matrix = _moments(learnt)
        self.location_ = mean * size + centre
        self.covariance_ = possible(matrix) * np.outer(size, size)
        off = np.sqrt(noisy_sum**2 + (mean * noisy_count) ** 2)
        self.location_error_ = BAR * size * off / self.count_
        sums_off = np.sqrt(np.add.outer(off**2, off**2)) * np.maximum.outer(np.abs(mean), np.abs(mean))
        whole = np.sqrt(noisy_product**2 + sums_off**2 + (matrix * noisy_count) ** 2)
        self.covariance_error_ = BAR * np.outer(size, size) * whole / self.count_


class PCA(ClassNamePrefixFeaturesOutMixin, PrivateTransformer, _Spread):
    """The directions along which rows differ most, from covariances with noise.

    Guarantee: noise is added to the sums of products of features, each pair once; see `products` for what a row adds.
    Reference: Dwork, Talwar, Thakurta & Zhang 2014 (STOC), Analyze Gauss, Algorithm 1.
    Textbook: S14.11.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        norm: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.n_components = n_components
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.norm, self.neighbours = bounds, norm, neighbours

    def _require(self, *, pure: bool, most: int, neighbours: Neighbours) -> None:
        self._number(self.n_features_in_)

    def _number(self, width: int) -> int:
        wanted = width if self.n_components is None else self.n_components
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer) or not 1 <= wanted <= width:
            raise InvalidParameter("n_components", wanted, allowed=f"a whole number from 1 to {width}, or None")
        return int(wanted)

    def _keep(self, learnt: Learnt) -> None:
        self.count_, mean, matrix = _moments(learnt)
        size = self._scale.size
        values, vectors = np.linalg.eigh(matrix * np.outer(size, size))
        self.n_components_ = self._number(self.n_features_in_)
        order = np.argsort(values)[::-1][: self.n_components_]
        largest = np.abs(vectors[:, order]).argmax(axis=0)
        signs = np.where(vectors[largest, order] < 0, -1.0, 1.0)
        self.components_ = (vectors[:, order] * signs).T
        self.explained_variance_ = np.maximum(values[order], 0.0)
        self.explained_variance_ratio_ = self.explained_variance_ / max(np.maximum(values, 0.0).sum(), 1e-300)
        self.mean_ = mean * size + self._scale.centre

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The place of each row along the components."""
        return np.asarray((self._features(X) - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The rows that lie at places along the components."""
        check_is_fitted(self)
        require_own(X)
        return np.asarray(check_array(X, dtype=np.float64) @ self.components_ + self.mean_)


def possible(matrix: Floats) -> Floats:
    """The nearest matrix that has no negative eigenvalue."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _moments(learnt: Learnt) -> tuple[float, Floats, Floats]:
    """How many rows there are, their mean, and their covariances, all of scaled features."""
    count = max(1.0, float(learnt["count"][0]))
    mean = np.clip(learnt["sums"] / count, -1.0, 1.0)
    return count, mean, square(learnt["products"], len(mean)) / count - np.outer(mean, mean)
