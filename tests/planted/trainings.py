"""Bugs of private training: clipping, noise of another scale, batches, and what is read from the rows for free."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from dalenius.checks.commands.planted import Planted
from dalenius.learn import rows, selection
from dalenius.learn.encoding import Scale
from dalenius.learn.linear import batches, conditioning, gradient
from dalenius.learn.linear import classifiers as methods
from dalenius.learn.linear.conditioning import FeatureShape
from dalenius.learn.linear.gradient import Pulls
from dalenius.learn.models import PrivateModel
from dalenius.learn.rows import Entries, SealedRows, entries_of
from dalenius.learn.selection import moved
from dalenius.learn.targets import PrivateClassifier
from dalenius.privacy.exact import unseal
from dalenius.privacy.sensitivity import Sensitivity

pull, at, counted, centred = gradient.pull, Pulls.at, conditioning.counted, FeatureShape.centred
descended, by_batches = methods.descended, batches.descended
fitted, checked = PrivateModel._fitted, PrivateClassifier._checked
FEWER = 10


def replaced(owner: Any, name: str, wrong: Any) -> Callable[[], Any]:
    return lambda: patch.object(owner, name, wrong)


# ---- clipping and the scale of noise


def as_long_as_they_are(features: Any, norm_squared: int) -> Any:
    return features.astype(np.int16)


@contextmanager
def not_shortened() -> Iterator[None]:
    with (
        patch.object(rows, "within_norm", as_long_as_they_are),
        patch.object(conditioning, "within_norm", as_long_as_they_are),
    ):
        yield


@contextmanager
def gradients_uncut() -> Iterator[None]:
    """A row pulls a hundred times as hard as is paid for."""
    wrong = lambda *facts: 100 * pull(*facts)  # noqa: E731
    with patch.object(gradient, "pull", wrong), patch.object(batches, "pull", wrong):
        yield


@contextmanager
def counted_twice() -> Iterator[None]:
    """Every row is in two small batches that are clipped one by one."""
    wrong = lambda *facts: 2 * pull(*facts)  # noqa: E731
    with patch.object(gradient, "pull", wrong), patch.object(batches, "pull", wrong):
        yield


def mean_for_sum(self: Pulls, weights: Any) -> Any:
    """Noise for a mean of ten rows, on their sum."""
    exact = at(self, weights)
    change = exact.sensitivity
    fewer = Sensitivity(l1=change.l1 / FEWER, l2_squared=change.l2_squared / FEWER**2)
    return exact.map(lambda value: value, sensitivity=fewer.under(exact.neighbours))


def norm_ignored(self: FeatureShape, known: SealedRows) -> SealedRows:
    """SealedRows are cut at another norm than the one that noise is made for."""
    moved = centred(self, known)
    return replace(moved, norm_squared=moved.norm_squared // 1000)


def longest_of_the_rows(self: FeatureShape, known: SealedRows) -> SealedRows:
    moved = centred(self, known)
    features = unseal(moved.entries).features.astype(np.int64)
    return replace(moved, norm_squared=int((features**2).sum(axis=1).max(initial=1)))


# ---- batches


class Shuffled:
    """Goes through the rows in a shuffled order, and shuffles them again when all of them were there."""

    def __init__(self) -> None:
        self._left: list[int] = []

    def __call__(self, entries: Entries, rate: Any, entropy: Any) -> Entries:
        size = max(1, int(rate * len(entries)))
        if len(self._left) < size:
            self._left = np.argsort(entropy.words(len(entries))).tolist()
        chosen, self._left = self._left[:size], self._left[size:]
        return Entries(entries.features[chosen], entries.target[chosen], entries.counts[chosen])


def share_of_a_fixed_size(known: SealedRows, labels: int, slope: Any, plan: Any, share: float, *paid: Any) -> Any:
    """Batches of eight rows: their chance is eight over the number of rows."""
    return by_batches(known, labels, slope, plan, min(1.0, 8 / max(1, len(unseal(known.entries)))), *paid)


def divided_by_the_rows(known: SealedRows, *paid: Any) -> float:
    counted(known, *paid)
    return float(max(1, len(unseal(known.entries))))


# ---- what is read from the rows


def scaled_by_the_rows(self: PrivateModel, features: Any, target: Any) -> Entries:
    near = np.clip(features, -1e6, 1e6)
    self._scale = Scale(near.min(axis=0), near.max(axis=0) + 1e-9)
    scaled = np.hstack([self._scale.scaled(features), np.ones((len(features), self._intercept))])
    return entries_of(scaled, target, self._norm_squared())


def labels_of_the_rows(self: PrivateClassifier, X: Any, y: Any) -> Any:
    with patch.object(self, "classes", np.union1d(self.classes, y)):
        return checked(self, X, y)


def stopped_when_all_are_right(known: SealedRows, *given: Any) -> Any:
    exact = unseal(known.entries)

    def walked(noisy: Any, size: Any, plan: Any, length: float, tick: Any = None) -> Any:
        weights = np.zeros(size)
        for _ in range(plan.steps):
            weights = weights - length * noisy(weights)
            if np.array_equal(exact.features @ weights[:, 0] > 0, exact.target == 1):
                break
        return weights

    with patch.object(gradient, "walked", walked):
        return descended(known, *given)


def with_its_loss(self: PrivateModel, X: Any, y: Any, *paid: Any) -> Any:
    made = fitted(self, X, y, *paid)
    made.mistakes_ = int((made.predict(X) != y).sum())  # type: ignore[attr-defined]
    return made


def best_for_free(models: Any, given: Any, *paid: Any) -> int:
    return int(np.argmax(unseal(given.points(models, moved(models, given.most, given.hidden)))))


def moved_by_one_row(models: Any, most: int, hidden: Any) -> Sensitivity:
    """A unit with many rows is thought to move the points of a model as far as one row."""
    return moved(models, 1, hidden)


GRADIENT, BATCHES = "replay: LogisticRegression by gradient", "replay: LogisticRegression by batches"
BUGS = (
    Planted("rows longer than the norm", ("J5",), "training", not_shortened, part=GRADIENT),
    Planted("norm of clipping ignored in batches", ("J5",), "training", replaced(FeatureShape, "centred", norm_ignored),
            part=BATCHES),
    Planted("gradients not clipped", ("J5",), "training", gradients_uncut, part="gradients: full", count=400),
    Planted("gradients of batches not clipped", ("J5",), "training", gradients_uncut, part="gradients: Poisson",
            count=400),
    Planted("microbatches clipped one by one", ("J5",), "training", counted_twice, part=GRADIENT),
    Planted("microbatches of a Poisson batch", ("J5",), "training", counted_twice, part=BATCHES),
    Planted("mean for sum", ("J5",), "training", replaced(Pulls, "at", mean_for_sum), part=GRADIENT),
    Planted("clipped at the longest of the rows", ("J5",), "training",
            replaced(FeatureShape, "centred", longest_of_the_rows), part=GRADIENT),
    Planted("shuffled batches billed as Poisson", ("J4",), "training",
            lambda: patch.object(batches, "batch", Shuffled()), part="batches", count=2_000),
    Planted("batch size from the number of rows", ("J4",), "training",
            replaced(batches, "descended", share_of_a_fixed_size), part=BATCHES),
    Planted("gradients divided by the number of rows", ("J5",), "training",
            replaced(conditioning, "counted", divided_by_the_rows), part=GRADIENT),
    Planted("scaler from the data", ("J3",), "training", replaced(PrivateModel, "_entries", scaled_by_the_rows),
            part="replay: MeanEstimator"),
    Planted("labels from the data", ("J3",), "training", replaced(PrivateClassifier, "_checked", labels_of_the_rows),
            part="replay: GaussianNB"),
    Planted("early stopping on the data", ("J3", "J6"), "training",
            replaced(methods, "descended", stopped_when_all_are_right),
            part="replay in full: LogisticRegression by gradient"),
    Planted("best model for free", ("J3",), "training", replaced(selection, "chosen", best_for_free),
            part="replay in full: PrivateGridSearch of norms"),
    Planted("choice of a model for one row of many", ("J3", "J6"), "training",
            replaced(selection, "moved", moved_by_one_row), part="tables: PrivateGridSearch of penalties"),
    Planted("mistakes beside the model", ("J6",), "training", replaced(PrivateModel, "_fitted", with_its_loss),
            part="replay: LogisticRegression by output"),
)  # fmt: skip
