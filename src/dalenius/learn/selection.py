"""Choosing among settings, at a price: every candidate is fitted for a part of the budget, and so is the choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dalenius.accounting.allowance import Allowance, PartOfAllowance
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget
from dalenius.accounting.shares import split_amount
from dalenius.errors import InvalidParameter
from dalenius.learn.models import Learnt, PrivateModel, Tick
from dalenius.learn.rows import Entries, SealedRows
from dalenius.learn.tables import Training
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.privacy.numbers import Number, exact, inside_unit
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy
from dalenius.tabular.binned_rows import BinnedRows

MOST = 100
"""How many candidates may be tried."""
CHOSEN = "chosen"
"""What the place of the chosen candidate is called among what was learnt; the rest is what that one learnt."""


def _offered(method: str) -> Callable[[Any], bool]:
    """Whether the chosen model has a method; before there is one, whether candidates do."""
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), method)


class PrivateGridSearch(MetaEstimatorMixin, PrivateModel):
    """The best of several settings of a private classifier or regressor, by how well it predicts.

    `grid` lists the values to try for each parameter, as scikit-learn's own search does. Every candidate is fitted to
    all rows for an equal part of the estimator's budget; the part `choosing` pays for the choice, by the exponential
    mechanism on the points that each candidate gets: 1 for a row whose label is right; for a number, 1 less its squared
    error on the target's grid, and never below 0.

    Guarantee: fits and choice compose within the budget, and within one charge on a private table. A unit with r rows
    moves the points of each candidate by at most r times those of one row, and all of them up or all of them down if it
    comes or goes: the points of a row are whole numbers of steps, from 0 to 1, and computed exactly, from that row and
    the fitted model alone.
    """

    def __init__(self, estimator: PrivateModel, grid: Mapping[str, Sequence[Any]], *, choosing: Any = 0.2) -> None:
        self.estimator, self.grid, self.choosing = estimator, grid, choosing

    def _budget(self) -> Budget:
        return self._base._budget()

    def _hidden(self) -> Neighbours:
        return self._base._hidden()

    def _for(self, epsilon: Number) -> Self:
        return type(self)(self._base._for(epsilon), self.grid, choosing=self.choosing)

    def _terms(self) -> tuple[object, ...]:
        candidates = [model._terms() for model in self._candidates()]
        return type(self).__name__, str(exact(choosing=self.choosing)), *candidates

    def _candidates(self) -> list[PrivateModel]:
        """The models to be fitted, with all their settings."""
        inside_unit(choosing=self.choosing)
        return [clone(self._base).set_params(**setting) for setting in self._settings()]

    @property
    def _base(self) -> PrivateModel:
        if not isinstance(self.estimator, PrivateModel) or self.estimator._points is None:
            kind = type(self.estimator).__name__
            raise InvalidParameter("estimator", kind, allowed="a private classifier or regressor")
        return self.estimator

    def _settings(self) -> list[dict[str, Any]]:
        found = list(ParameterGrid(self.grid))
        if not 2 <= len(found) <= MOST:
            raise InvalidParameter("grid", f"{len(found)} candidates", allowed=f"2 to {MOST}")
        if paid := {"epsilon", "delta", "budget", "neighbours"} & {name for each in found for name in each}:
            raise InvalidParameter("grid", sorted(paid)[0], allowed="settings that do not change the budget")
        return found

    def _fitted(self, X: Any, y: Any, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None = None) -> Self:  # noqa: N803
        models, given = self._candidates(), _Arrays(X, y, self._hidden())
        for model in models:  # all of them, before anything is measured
            model._checked(X, y)
            model._require(pure=budget_part.pure, most=given.most, neighbours=given.hidden)
        self._divided(models, budget_part.allowance.left)
        learnt = self._tried(models, given, budget_part, entropy, tick)
        return self._like(models[int(learnt[CHOSEN][0])])._made(learnt)

    def _planned(self, *rows: Any, **how: Any) -> tuple[BinnedRows, Training]:
        models = self._candidates()
        (binned, training), *_ = [model._planned(*rows, **how) for model in models]
        for amount in training.charge.values():
            self._divided(models, amount)
        self._like(models[0])
        self._intercept = models[0]._intercept
        return binned, replace(training, model=self)

    def _learn(self, rows: SealedRows, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        models = [model._like(self) for model in self._candidates()]
        return self._tried(models, _Table(rows), budget_part, entropy, tick)

    def _divided(self, models: Sequence[PrivateModel], amount: Charge) -> tuple[Charge, ...]:
        """A part of the price for each model, and one for the choice; refused where any of them is too little."""
        last = inside_unit(choosing=self.choosing)
        found = split_amount(amount, [*[(1 - last) / len(models)] * len(models), last])
        least = max(model._least_units(pure=amount.order is None) for model in models)
        if 2 * len(models) * least <= amount.divergence and found[0].divergence < least:
            raise InvalidParameter("choosing", self.choosing, allowed="a smaller share: this one leaves nothing to fit")
        for model, part in zip(models, found[:-1], strict=True):
            model._require_enough(part)
        if not found[-1].divergence:
            raise InvalidParameter("choosing", self.choosing, allowed="a larger share: this one buys no choice")
        return found

    def _tried(
        self,
        models: Sequence[PrivateModel],
        given: _Given,
        budget_part: BudgetPart,
        entropy: Entropy,
        tick: Tick | None,
    ) -> Learnt:
        """What the chosen one of these models learnt, and which one it is."""
        *parts, choosing = self._divided(models, budget_part.allowance.left)
        for place, (model, part) in enumerate(zip(models, parts, strict=True)):
            with PartOfAllowance(budget_part.allowance, part) as allowance:
                model._made(model._learn(given.rows(model), BudgetPart(allowance), entropy, None))
            if tick:
                tick(100 * (place + 1) / (len(models) + 1))
        with PartOfAllowance(budget_part.allowance, choosing) as allowance:
            best = chosen(models, given, allowance, entropy)
        if tick:
            tick(100)
        return {CHOSEN: np.array([float(best)]), **models[best].learnt_}

    def _keep(self, learnt: Learnt) -> None:
        settings = self._settings()
        self.best_index_ = int(learnt[CHOSEN][0])
        self.best_params_ = settings[self.best_index_]
        best = clone(self._base).set_params(**self.best_params_)._like(self)
        note = f"{len(settings)} candidates and the choice among them"
        if note not in self.guarantee_.note:
            self.guarantee_ = replace(self.guarantee_, note="; ".join(filter(None, [note, self.guarantee_.note])))
        best.guarantee_ = self.guarantee_  # all candidates were paid for to know which is best
        self.best_estimator_ = best._made({name: array for name, array in learnt.items() if name != CHOSEN})

    # ---- what the chosen model does

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The labels or numbers that the chosen model predicts."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(_offered("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class for each row, by the chosen model."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    @available_if(_offered("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The scores that the chosen model gives to each row."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(_offered("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The rows that the chosen model makes of rows."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.transform(X))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:  # noqa: N803
        """How well the chosen model predicts: the share of right labels, or R^2. Exact, so not for private rows."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Tags:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags


class _Given(Protocol):
    """Rows to fit candidates to, and to judge them by; a unit has at most `most` of them."""

    @property
    def most(self) -> int: ...

    @property
    def hidden(self) -> Neighbours: ...

    def rows(self, model: PrivateModel) -> SealedRows:
        """The rows as a model learns from them."""

    def points(self, models: Sequence[PrivateModel], change: Sensitivity) -> Exact[list[int]]:
        """The sealed points that models get, each by the rows as it predicts for them."""


@dataclass(frozen=True)
class _Arrays:
    """Rows of arrays, which candidates may scale each in its own way."""

    X: Any
    y: Any
    hidden: Neighbours
    most = 1

    def rows(self, model: PrivateModel) -> SealedRows:
        return model._rows(*model._checked(self.X, self.y))

    def points(self, models: Sequence[PrivateModel], change: Sensitivity) -> Exact[list[int]]:
        sealed = Exact((self.X, self.y), sensitivity=change, neighbours=self.hidden)
        return sealed.map(lambda both: [points(model, _whole(model, *both)) for model in models], sensitivity=change)


@dataclass(frozen=True)
class _Table:
    """Rows of a private table, the same for all candidates."""

    known: SealedRows

    @property
    def most(self) -> int:
        return self.known.most

    @property
    def hidden(self) -> Neighbours:
        return self.known.neighbours

    def rows(self, model: PrivateModel) -> SealedRows:
        return self.known

    def points(self, models: Sequence[PrivateModel], change: Sensitivity) -> Exact[list[int]]:
        return self.known.entries.map(lambda rows: [points(model, rows) for model in models], sensitivity=change)


def chosen(models: Sequence[PrivateModel], given: _Given, allowance: Allowance, entropy: Entropy) -> int:
    """The place of the model with most points, or nearly so, chosen for the whole allowance."""
    change = moved(models, given.most, given.hidden)
    budget_part = BudgetPart(allowance)
    return int(
        measure(budget_part.choice(budget_part.equal(1), change), given.points(models, change), allowance, entropy)
    )


def moved(models: Sequence[PrivateModel], most: int, hidden: Neighbours) -> Sensitivity:
    """How far a unit moves the points of each model: its rows get no less than 0 and no more than `_points` each, so
    its own part of the points lies between 0 and that times `most`, whether it comes, goes or changes."""
    largest = max(model._points or 0 for model in models)
    return Sensitivity(linf=most * largest, monotone=isinstance(hidden, AddRemove), neighbours=hidden)


def points(model: PrivateModel, entries: Entries) -> int:
    """The points of all rows together."""
    return sum(int((model._merits(piece) * piece.counts).sum()) for piece in entries.pieces())


def _whole(model: PrivateModel, X: Any, y: Any) -> Entries:  # noqa: N803
    """Rows as a model predicts for them: scaled to their bounds, and none shortened. The model stays as it is."""
    judge = copy(model)
    judge.norm = None
    return judge._entries(*judge._checked(X, y))
