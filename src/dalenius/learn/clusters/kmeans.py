"""k-means with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin

from dalenius.errors import InvalidParameter
from dalenius.learn.clusters.boxes import Box, squared_distances
from dalenius.learn.clusters.plans import Lloyd, Seeded
from dalenius.learn.engine_rows import MOST_TOTALS, Columns, Sum
from dalenius.learn.models import Learnt, PrivateModel, PrivateTransformer, Tick, require_arrays
from dalenius.learn.rows import ONE, Summable
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.neighbours import Neighbours
from dalenius.randomness.entropy import Entropy

_MOST_TERMS, _MOST_CLUSTERS = 8_000, 400  # of one pass in an engine; where there are more, rows are fetched


class KMeans(ClassNamePrefixFeaturesOutMixin, PrivateTransformer, ClusterMixin, PrivateModel):
    """Centres of `n_clusters` clusters, so that rows are near to one of them.

    `method="seeded"` starts from a coarse noisy grid, or from evenly spread points if there are many columns, and adds
    up short ways from centres to rows. `"lloyd"` is the textbook's. `cluster_centers_` are in the units of the rows;
    `sizes_` says about how many rows each cluster has. Which cluster a row of the fit is in is not kept (there is no
    `labels_`): `predict` says it for rows that the caller has.

    Guarantee: that of the budget; every measurement is drawn from it.
    Textbook: S14.5.
    """

    norm = None

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        method: Literal["seeded", "lloyd"] = "seeded",
        neighbours: str = "add_remove",
    ) -> None:
        self.n_clusters, self.method = n_clusters, method
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.neighbours = bounds, neighbours

    def _require(self, *, pure: bool, most: int, neighbours: Neighbours) -> None:
        self._settings()

    def _settings(self) -> tuple[int, Seeded | Lloyd]:
        """How many clusters, and how they are found."""
        clusters = self.n_clusters
        if isinstance(clusters, bool) or not isinstance(clusters, int | np.integer) or clusters < 1:
            raise InvalidParameter("n_clusters", clusters, allowed="a whole number, 1 or more")
        if self.method not in ("seeded", "lloyd"):
            raise InvalidParameter("method", self.method, allowed="'seeded' or 'lloyd'")
        return int(clusters), Seeded() if self.method == "seeded" else Lloyd()

    def _sums(self, columns: Columns) -> Sequence[Sum] | None:
        clusters, plan = self._settings()
        if clusters * columns.width > _MOST_TERMS or clusters > _MOST_CLUSTERS or columns.width > MOST_TOTALS:
            return None
        return plan.sums(Box.of(self._scale), clusters)

    def _learn(self, rows: Summable, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        clusters, plan = self._settings()
        centres, sizes = plan.found(rows, Box.of(self._scale), clusters, budget_part, entropy, tick)
        return {"centres": centres / ONE, "sizes": sizes}

    def _keep(self, learnt: Learnt) -> None:
        self.cluster_centers_ = self._scale.restored(learnt["centres"])
        self.sizes_ = learnt["sizes"]

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> NDArray[np.int64]:  # noqa: N803
        """Learn from rows, and say which cluster each of them is in: to the one who gave them."""
        require_arrays(X, "fit_predict")
        return self.fit(X, None, **options).predict(X)

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The distance of each row to each centre."""
        return np.asarray(np.sqrt(squared_distances(self._features(X), self.cluster_centers_)))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:  # noqa: N803
        """The nearest centre of each row."""
        return np.asarray(squared_distances(self._features(X), self.cluster_centers_).argmin(axis=1))

    def score(self, X: ArrayLike, y: Any = None) -> float:  # noqa: N803
        """Less the sum of squared distances to the nearest centres, for rows that the caller has."""
        return -float(squared_distances(self._features(X), self.cluster_centers_).min(axis=1).sum())
