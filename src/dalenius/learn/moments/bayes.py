"""Naive Bayes: for each class, how many rows it has and what their features sum up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import number
from dalenius.learn.encoding import Scale
from dalenius.learn.engine_rows import TARGET, Columns, Grouped, PerFeature, Sum
from dalenius.learn.losses_tabulated import HEAVIEST, WEIGHT, on_grid
from dalenius.learn.models import Learnt, Tick
from dalenius.learn.moments.sums import largest_l1, parts, released
from dalenius.learn.rows import ONE, Entries, Integers, Summable, entries_of, product
from dalenius.learn.tables import Training
from dalenius.learn.targets import PrivateClassifier
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.types import Ranged
from dalenius.randomness.entropy import Entropy
from dalenius.tabular.binned_rows import BinnedRows

Floats = NDArray[np.float64]
_LEAST = 1.0  # no class or value is held to be rarer than one row


class NaiveBayes(PrivateClassifier):
    """Classes by their own rates, times what each feature alone says."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The label of each row."""
        joint = self.predict_joint_log_proba(X)
        return np.asarray(self.classes_[joint.argmax(axis=1)])

    def predict_joint_log_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The logarithm of the probability of each class together with the row, up to a constant."""
        likelihoods = self._likelihoods(self._features(X))
        return np.asarray(likelihoods + self.class_log_prior_)

    def predict_log_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The logarithm of the probability of each class for each row."""
        joint = self.predict_joint_log_proba(X)
        above = joint - joint.max(axis=1, keepdims=True)
        return np.asarray(above - np.log(np.exp(above).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The probability of each class for each row."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def _likelihoods(self, features: Floats) -> Floats:
        raise NotImplementedError

    def _labels(self, entries: Entries) -> Integers:
        return np.asarray(self._scores(entries).argmax(axis=1))

    def _scores(self, entries: Entries) -> Integers:
        """The logarithms of the joint probabilities in whole steps of one size, from each entry's features alone."""
        raise NotImplementedError

    def _priors(self, counts: Floats) -> None:
        self.class_count_ = np.maximum(counts, _LEAST)
        self.class_prior_ = self.class_count_ / self.class_count_.sum()
        self.class_log_prior_ = np.log(self.class_prior_)


class GaussianNB(NaiveBayes):
    """Features that are normal within a class: from sums and sums of squares, each with noise.

    Guarantee: a row adds to the sums of its own class alone: itself, and the squares of its features.
    Reference: Vaidya, Shafiq, Basu & Hong 2013 (WI), with sums in place of means.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        norm: Any = None,
        classes: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.norm, self.classes, self.neighbours = bounds, norm, classes, neighbours

    def _sums(self, columns: Columns) -> Sequence[Sum]:
        return [ClassSums(len(self.classes_)), ClassSums(len(self.classes_), 2)]

    def _learn(self, rows: Summable, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        classes, squared = len(self.classes_), rows.norm_squared
        paid = parts(budget_part, {"count": Fraction(1, 10), "sums": Fraction(9, 20), "squares": Fraction(9, 20)})
        rows.ready(ClassSums(classes), ClassSums(classes, 2))
        counts = rows.summed(ClassCounts(classes), l2_squared=1, l1=1)
        totals = rows.summed(ClassSums(classes), l2_squared=squared, l1=largest_l1(rows))
        spreads = rows.summed(ClassSums(classes, 2), l2_squared=ONE**2 * squared, l1=squared)
        spread = released(spreads, ONE**2, budget_part, paid["squares"], entropy)
        return {
            "counts": released(counts, 1, budget_part, paid["count"], entropy).value[:, 0],
            "sums": released(totals, ONE, budget_part, paid["sums"], entropy).value,
            "squares": spread.value,
            "deviation": np.array([spread.deviation]),
        }

    def _keep(self, learnt: Learnt) -> None:
        self._priors(learnt["counts"])
        mean, variance = self._normals(learnt)
        self.theta_ = mean * self._scale.size + self._scale.centre
        self.var_ = variance * self._scale.size**2

    def _normals(self, learnt: Learnt) -> tuple[Floats, Floats]:
        """Means and variances of features as they are scaled; no variance is below 1 / ONE^2."""
        counts = self.class_count_[:, None]
        mean = np.clip(learnt["sums"] / counts, -1.0, 1.0)
        least = np.maximum(learnt["deviation"] / counts, 1 / ONE**2)
        return mean, np.clip(learnt["squares"] / counts - mean**2, np.minimum(least, 1.0), 1.0)

    def _scores(self, entries: Entries) -> Integers:
        """In steps of 2^-16. A square is at most 2^26 and its factor 2^35, so no product is beyond 2^61."""
        mean, variance = self._normals(self.learnt_)
        middle = np.rint(mean * ONE).astype(np.int64)
        factors = np.rint(2.0**36 / (2 * ONE**2 * variance)).astype(np.int64)
        start = np.rint((self.class_log_prior_ - np.log(variance).sum(axis=1) / 2) * 2**16).astype(np.int64)
        away = (entries.features[:, None, :] - middle) ** 2
        return np.asarray(start - (away * factors >> 20).sum(axis=2))

    def _likelihoods(self, features: Floats) -> Floats:
        kept = np.clip(features, self._scale.lower, self._scale.upper)
        away = (kept[:, None, :] - self.theta_) ** 2 / self.var_
        return np.asarray(-0.5 * (away + np.log(2 * np.pi * self.var_)).sum(axis=2))


class _Indicators(NaiveBayes):
    """How often each indicator is on, within each class."""

    alpha: float

    def _sums(self, columns: Columns) -> Sequence[Sum]:
        return [ClassSums(len(self.classes_), 0)]

    def _learn(self, rows: Summable, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        """A row adds 1 for its class, and 1 for each of its features that is ONE: at most norm / ONE^2 of them."""
        classes, most = len(self.classes_), rows.norm_squared // ONE**2
        rows.ready(ClassSums(classes, 0))
        counts = rows.summed(ClassCounts(classes), l2_squared=1, l1=1)
        paid = parts(budget_part, {"count": Fraction(1, 5), "on": Fraction(4, 5)})
        on = rows.summed(ClassSums(classes, 0), l2_squared=most, l1=most)
        return {
            "counts": released(counts, 1, budget_part, paid["count"], entropy).value[:, 0],
            "on": released(on, 1, budget_part, paid["on"], entropy).value,
        }

    def _logarithms(self) -> tuple[Floats, Floats]:
        """For each class, those of the chances that an indicator is on, and off."""
        raise NotImplementedError

    def _scores(self, entries: Entries) -> Integers:
        """In steps of 1 / WEIGHT: an indicator that is on adds what it says more than if it were off."""
        on, off = (on_grid(part) for part in self._logarithms())
        said = product(entries.features == ONE, (on - off).T, largest=2 * HEAVIEST * WEIGHT)
        return np.asarray(said + on_grid(self.class_log_prior_) + off.sum(axis=1))

    def _planned(self, *rows: Any, **how: Any) -> tuple[BinnedRows, Training]:
        binned, training = super()._planned(*rows, **how)
        numbers = [axis.name for axis in training.encoder.axes if isinstance(axis.domain, Ranged)]
        if numbers:
            raise InvalidParameter("columns", numbers[0], allowed="columns of listed texts or truth values")
        return binned, training

    def _require(self, *, pure: bool, most: int, neighbours: Neighbours) -> None:
        _ = self._smoothing

    @property
    def _smoothing(self) -> float:
        if not 0 < number(self.alpha) < np.inf:
            raise InvalidParameter("alpha", self.alpha, allowed="a number above 0")
        return number(self.alpha)


class BernoulliNB(_Indicators):
    """Features that are on, where they are above `binarize`, or off: how often each is on in each class.

    `alpha` rows are added for each, on and off. In a private table, features are the indicators of its columns.
    """

    norm = None

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        binarize: float = 0.0,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        classes: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.alpha, self.binarize = alpha, binarize
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.classes, self.neighbours = classes, neighbours

    bounds = (0, 1)

    def _require_uncontradicted(self, hidden: Neighbours, delta: Fraction) -> None:
        super()._require_uncontradicted(hidden, delta)
        if not 0 <= number(self.binarize) < 1:
            raise InvalidParameter(
                "binarize", self.binarize, allowed="left out, or below 1: in a table what is off is 0, and on is 1"
            )

    def _entries(self, features: Floats, target: Integers) -> Entries:
        return super()._entries((features > self.binarize).astype(np.float64), target)

    def _keep(self, learnt: Learnt) -> None:
        self._priors(learnt["counts"])
        self.feature_count_ = np.clip(learnt["on"], 0.0, self.class_count_[:, None])
        on = (self.feature_count_ + self._smoothing) / (self.class_count_[:, None] + 2 * self._smoothing)
        self.feature_log_prob_, self._off = np.log(on), np.log(1 - on)

    def _logarithms(self) -> tuple[Floats, Floats]:
        return self.feature_log_prob_, self._off

    def _likelihoods(self, features: Floats) -> Floats:
        on = (features > self.binarize).astype(np.float64)
        return np.asarray(on @ (self.feature_log_prob_ - self._off).T + self._off.sum(axis=1))


class CategoricalNB(_Indicators):
    """Columns with values 0, 1, ..., of which `categories` says how many there are, one number or one for each column.

    A value that is not listed counts for no category. `alpha` rows are added for every category.
    """

    norm = None
    bounds = (0, 1)

    def __init__(
        self,
        *,
        categories: Any = None,
        alpha: float = 1.0,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        classes: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.categories, self.alpha = categories, alpha
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.classes, self.neighbours = classes, neighbours

    def _entries(self, features: Floats, target: Integers) -> Entries:
        columns = features.shape[1]
        self._scale = Scale.declared(self.bounds, columns)
        return entries_of(_indicators(features, self._sizes(columns)), target, self._norm_squared())

    def _sizes(self, columns: int) -> list[int]:
        """How many categories each column has."""
        encoder = getattr(self, "encoder_", None)
        if encoder is not None:
            return [axis.size for axis in encoder.axes]
        if self.categories is None:
            raise InvalidParameter("categories", None, allowed="declared: how many values a column has")
        try:
            sizes: list[int] = np.broadcast_to(np.asarray(self.categories), (columns,)).tolist()
        except ValueError:
            sizes = []
        if not sizes or not all(isinstance(size, int) and size >= 1 for size in sizes):
            raise InvalidParameter("categories", self.categories, allowed=f"a whole number, or {columns} of them")
        return sizes

    def _keep(self, learnt: Learnt) -> None:
        self._priors(learnt["counts"])
        sizes = self._sizes(self.n_features_in_)
        blocks = np.split(np.maximum(learnt["on"], 0.0) + self._smoothing, np.cumsum(sizes)[:-1], axis=1)
        self.feature_log_prob_ = [np.log(block / block.sum(axis=1, keepdims=True)) for block in blocks]

    def _logarithms(self) -> tuple[Floats, Floats]:
        on = np.hstack(self.feature_log_prob_)
        return on, np.zeros_like(on)

    def _likelihoods(self, features: Floats) -> Floats:
        on = features if hasattr(self, "encoder_") else _indicators(features, self._sizes(features.shape[1]))
        return np.asarray(on @ np.hstack(self.feature_log_prob_).T)


@dataclass(frozen=True)
class ClassCounts:
    """How many rows each class has; a row of no class adds nothing."""

    classes: int

    def __call__(self, entries: Entries) -> Integers:
        return _by_class(entries, np.ones((len(entries), 1), dtype=np.int64), self.classes)

    def asked(self, columns: Columns) -> list[Grouped]:
        return [Grouped(columns.relation, (TARGET,))]

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return found[0][: self.classes]


@dataclass(frozen=True)
class ClassSums:
    """What the features of each class add up to (`power` 1), or their squares (2), or those that are ONE, counted (0).
    A row of no class adds nothing."""

    classes: int
    power: int = 1

    def __call__(self, entries: Entries) -> Integers:
        features = entries.features.astype(np.int64)
        return _by_class(entries, features**self.power if self.power else features == ONE, self.classes)

    def asked(self, columns: Columns) -> list[Grouped]:
        return self._sums(columns).asked(columns)

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return self._sums(columns).put(columns, found)[: self.classes, :-1]

    def _sums(self, columns: Columns) -> PerFeature:
        return PerFeature(columns.relation, by=(TARGET,), power=self.power)


def _by_class(entries: Entries, values: NDArray[Any], classes: int) -> Integers:
    weighted = values.astype(np.int64) * entries.counts[:, None]
    return np.stack([weighted[entries.target == label].sum(axis=0) for label in range(classes)])


def _indicators(features: Floats, sizes: Sequence[int]) -> Floats:
    """1 for the category of each column, 0 for all others."""
    blocks = [column[:, None] == np.arange(size) for column, size in zip(features.T, sizes, strict=True)]
    return np.hstack(blocks).astype(np.float64)
