"""What all private estimators have in common: a budget, declared facts, one way to be fitted, and what was learnt.

An estimator splits in two. `_learn` is all that touches rows: it measures, and gives named arrays of noisy numbers.
`_keep` makes a model of these arrays and of public facts alone, so it can be run again: on what a ledger has stored, or
on what a file has kept.

Model cards: what a model was made of, what it promises, and what it is not for.

What a price means for so many rows, before anything is fitted.

Who is told how far a fit has come: how often depends on public facts alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import DIVERGENCE_UNIT, Charge
from dalenius.accounting.budget import Budget
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import Guarantee, allowance_of, budget_of, exactly, rectangle_of, relation
from dalenius.learn.encoding import Scale, norm_squared
from dalenius.learn.engine_rows import Columns, Sum
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows, sealed, steps_of
from dalenius.learn.tables import Encoder, Training, chosen, require_own
from dalenius.mechanisms.budget_parts import BudgetPart, deviation
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.numbers import Number, exact, format_number, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.frames.frames import Frame
from dalenius.randomness.entropy import Entropy, fresh_entropy
from dalenius.session.offers import Offer
from dalenius.session.progress import bar_of
from dalenius.session.purchases import Cost
from dalenius.tabular.binned_rows import BinnedRows, Bins
from dalenius.tabular.columns import BinnedColumn


def yardstick(amount: Charge, hidden: Neighbours, *, n: int, most: int = 1) -> str:
    """In words, how far off a share of `n` rows would be, of which a unit has at most `most`, if the whole amount paid
    for one count: the same yardstick for all estimators, each of which divides its price among more than that."""
    rows, budget_part = whole(1, n=n), BudgetPart(Allowance(amount, neighbours=hidden))
    change = Sensitivity(l1=most, l2_squared=most**2, neighbours=hidden)
    off = deviation(budget_part.noise(budget_part.equal(1), change))
    share = f"{100 * off / rows:.2g} percentage points" if off < rows else "more than all of them"
    counted = f"if all of it paid for one count, that would be off by about {off:.2g}"
    return f"{counted}, and a share of {rows:,} rows by {share}"


@contextmanager
def watched(progress: Callable[[float], object] | bool | None, what: str) -> Iterator[Callable[[float], object] | None]:
    """What a fit tells its percent to: a function that somebody gave, a bar, or nobody."""
    if isinstance(progress, bool):
        if not progress:
            yield None
            return
        with bar_of(what) as show:
            yield show
        return
    if progress is not None and not callable(progress):
        raise InvalidParameter(
            "progress", progress, allowed="True for a bar, or a function that takes the percent of the work done"
        )
    yield progress


Learnt: TypeAlias = Mapping[str, NDArray[Any]]
"""What was released, by name."""
Tick: TypeAlias = Callable[[float], object]
_DECLARED = ("bounds", "norm", "classes", "target_bounds", "groups", "categories", "step")
"""Settings that a catalog takes the place of."""
_FACTS = ("n_features_in_", "feature_names_in_", "classes_", "encoder_", "_scale", "_target_scale", "_target_line")
"""Public facts about rows that a model is fitted to, besides its settings."""
_UNITS = 100  # no measurement of most models gets less than a hundredth
_BLOCK = 2**11  # rows that are scaled at once: few enough to stay near the processor


class PrivateModel(BaseEstimator, ABC):
    """An estimator that pays for what it learns.

    `epsilon` and `delta`, or a ready `budget`, are what a fit may lose; `neighbours` says what is hidden: whether a row
    is there at all (`add_remove`), or what it holds (`replace`). `bounds` are declared, never read from the data, and
    `norm` is the largest Euclidean norm of a row after it was scaled to them: longer rows are shortened.
    """

    epsilon: Any
    delta: Any
    budget: Any
    neighbours: str
    bounds: Any
    norm: Any

    _intercept = 0
    """How many constant features are added to those of a row."""
    _points: int | None = None
    """The most points that a prediction gets for one row, where models of this kind can be compared; see `_merits`."""
    _training: type[Training] = Training
    """How rows of a private table are looked at."""

    def fit(
        self,
        X: ArrayLike | Frame,  # noqa: N803 - the name that everybody uses
        y: ArrayLike | str | None = None,
        *,
        columns: Sequence[str] | None = None,
        bins: Bins | None = None,
        share: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
        progress: Tick | bool | None = None,
    ) -> Self:
        """Learn from rows, and lose no more than the budget.

        `X` and `y` are arrays, or `X` is rows of a private table and `y` the name of the column to learn. A fit on a
        private table is charged to its population: what `epsilon`, or that of `budget`, buys, or a `share` of what the
        population has; its delta is its own. `columns` are the features, all that have declared values if none are
        named; `bins` says how finely numbers are read; `key` and `fresh` are as for questions. `progress=True` shows
        a bar in terminals and notebooks; a function is told the percent of the work that is done.
        """
        with watched(progress, type(self).__name__) as tick:
            if isinstance(X, Frame):
                return self._bought(X, y, columns, bins or {}, share, key, fresh, tick)
            budget, hidden = self._budget(), self._hidden()
            with allowance_of(budget, hidden) as allowance:
                self.guarantee_ = Guarantee.of_budget(budget, hidden)
                try:
                    return self._fitted(X, y, BudgetPart(allowance), fresh_entropy(), tick)
                except BaseException:
                    del self.guarantee_  # of nothing
                    raise

    def _fitted(self, X: Any, y: Any, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None = None) -> Self:  # noqa: N803
        """Learn from arrays, at the expense of a budget part."""
        self.__dict__.pop("encoder_", None)  # of an earlier fit on a table
        features, target = self._checked(X, y)
        self._require(pure=budget_part.pure, most=1, neighbours=relation(self.neighbours))
        self._require_enough(budget_part.allowance.left)
        return self._made(self._learn(self._rows(features, target), budget_part, entropy, tick))

    def _bought(
        self,
        rows: Frame,
        y: Any,
        columns: Sequence[str] | None,
        bins: Bins,
        share: Number | None,
        key: str | None,
        fresh: bool,
        progress: Tick | None,
    ) -> Self:
        """Charge a population, and learn from its rows."""
        binned, training = self._planned(rows, y, columns=columns, bins=bins, share=share, progress=progress)
        text = f"LEARN {type(self).__name__} {binned.text}"
        answer = binned.session.buy(training, text=text, key=key, fresh=fresh)
        self.guarantee_ = Guarantee.of_answer(answer, training)
        return self._made(training.decode(answer))

    def _planned(
        self,
        rows: Frame,
        y: Any,
        *,
        columns: Sequence[str] | None = None,
        bins: Bins | None = None,
        share: Number | None = None,
        progress: Tick | None = None,
    ) -> tuple[BinnedRows, Training]:
        """The fit of rows of a private table; nothing is read or spent."""
        binned, target = self._chosen(rows, y, columns, bins or {})
        self._require_uncontradicted(binned.source.relation.neighbours, binned.delta)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit on arrays
        self.encoder_ = Encoder(binned.axes[:-1] if target else binned.axes)
        self.n_features_in_ = len(self.encoder_.names)
        self._scale = Scale.declared((-1, 1), self.n_features_in_)
        epsilon = self.epsilon if self.budget is None else budget_of(None, None, self.budget).epsilon
        charge = binned.charge(Offer(None if share is not None else epsilon, share))
        meaning, question = self._meaning(target), binned.source
        pure = all(amount.order is None for amount in charge.values())
        self._require(pure=pure, most=question.most.rows, neighbours=question.relation.neighbours)
        for amount in charge.values():
            self._require_enough(amount)
        return binned, self._training(question, self.encoder_, target, meaning, self, charge, progress)

    def _chosen(
        self, rows: Frame, y: Any, columns: Sequence[str] | None, bins: Bins
    ) -> tuple[BinnedRows, BinnedColumn | None]:
        """The rows of a private table that are learnt from, and the column to learn."""
        return chosen(rows, y, columns, bins)

    def _budget(self) -> Budget:
        """What a fit on arrays may lose."""
        return budget_of(self.epsilon, self.delta, self.budget)

    def _hidden(self) -> Neighbours:
        """What a fit on arrays hides."""
        return relation(self.neighbours)

    def _terms(self) -> tuple[object, ...]:
        """What makes a fit another one, but for its price."""
        params = self.get_params(deep=False).items()
        kept = sorted((name, exactly(value)) for name, value in params if name not in ("epsilon", "delta"))
        return type(self).__name__, repr(kept)

    def _like(self, known: PrivateModel) -> Self:
        """This model, with the public facts about rows that another one has."""
        facts = {name: vars(known)[name] for name in _FACTS if name in vars(known)}
        for name in _FACTS:
            self.__dict__.pop(name, None)
        self.__dict__.update(facts)
        return self

    def _merits(self, entries: Entries) -> Integers:
        """From 0 to `_points` for each entry: how well it is predicted, in whole numbers and by its own alone."""
        raise NotImplementedError

    def _made(self, learnt: Learnt) -> Self:
        self.learnt_ = {name: np.asarray(array) for name, array in learnt.items()}
        self._keep(self.learnt_)
        return self

    def _features(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Rows to predict for: features as they were fitted, or a table with the columns of the one that was."""
        check_is_fitted(self)
        require_own(X)
        known = getattr(self, "encoder_", None)
        plain = X if known is None or isinstance(X, np.ndarray | list) else known.transform(X)
        return np.asarray(validate_data(self, plain, dtype=np.float64, reset=False))

    def _meaning(self, target: BinnedColumn | None) -> Integers | None:
        """What each place of the target's column stands for, as a whole number; the last one, NULL, is left out."""
        if target is not None:
            raise InvalidParameter("y", target.name, allowed=f"left out: {type(self).__name__} learns no column")
        return None

    def _require_uncontradicted(self, hidden: Neighbours, delta: Fraction) -> None:
        """Refuse settings that say otherwise than the catalog does, of which the guarantee and the features are."""
        usual = type(self)
        declared = [
            name
            for name in _DECLARED
            if repr(exactly(getattr(self, name, None))) != repr(exactly(getattr(usual, name, None)))
        ]
        if declared:
            raise InvalidParameter(declared[0], getattr(self, declared[0]), allowed="left out: the catalog declares it")
        stated = self.delta if self.budget is None else budget_of(None, None, self.budget).delta
        if stated is not None and exact(delta=stated) < delta:
            raise InvalidParameter(
                "delta", stated, allowed=f"left out, or no less than the population's, {format_number(delta)}"
            )
        if type(relation(self.neighbours)) is Replace and type(hidden) is AddRemove:
            raise InvalidParameter("neighbours", self.neighbours, allowed="left out: the population's hold")

    def _require(self, *, pure: bool, most: int, neighbours: Neighbours) -> None:
        """Refuse settings with which nothing can be learnt, by public facts alone, before anything is charged."""

    def _least_units(self, *, pure: bool) -> int:
        """How many units of a ledger are enough for every measurement to get one: no part of a price is less than one
        in so many of the whole."""
        return _UNITS

    def _require_enough(self, amount: Charge) -> None:
        """Refuse a price that is too little to be divided among all measurements, before anything is charged."""
        least = self._least_units(pure=amount.order is None)
        if amount.divergence < least:
            raise InvalidParameter(
                "price",
                str(amount),
                allowed=f"{least} units of {format_number(DIVERGENCE_UNIT)} or more, as it is divided",
                hint="Offer a larger epsilon or share.",
            )

    def cost(
        self,
        X: Frame | None = None,  # noqa: N803
        y: str | None = None,
        *,
        n: int | None = None,
        **how: Any,
    ) -> Cost | Guarantee:
        """What a fit would cost; nothing is read or spent.

        Of rows of a private table, with `columns`, `bins` and `share` as for `fit`; of none, what the budget may lose.
        With `n`, a public guess of how many rows there are, it is told how exactly one count of them could be known.
        """
        if X is None:
            budget, hidden = self._budget(), self._hidden()
            price = Guarantee(str(budget), str(hidden))
            return price if n is None else replace(price, note=yardstick(rectangle_of(budget), hidden, n=n))
        unfitted: Self = clone(self)
        binned, training = unfitted._planned(X, y, **how)
        cost = binned.session.cost_of(training)
        if n is None:
            return cost
        (amount,), question = training.charge.values(), training.question
        said = yardstick(amount, question.relation.neighbours, n=n, most=question.most.rows)
        return replace(cost, note="; ".join(filter(None, [cost.note, said])))

    def _for(self, epsilon: Number) -> Self:
        """The same model, not fitted, for another epsilon; with the same delta."""
        budget = None if self.budget is None else Budget(epsilon, budget_of(None, None, self.budget).delta)
        unfitted: Self = clone(self)
        unfitted.set_params(**({"epsilon": epsilon} if budget is None else {"budget": budget}))
        return unfitted

    def card(self) -> ModelCard:
        """What this model was made of, what it promises, and what it is not for."""
        check_is_fitted(self)
        return card(self)

    def save(self, path: str | Path) -> None:
        """Write the fitted model into a file of plain JSON; `dalenius.learn.load` reads it."""
        check_is_fitted(self)
        from dalenius.learn.saving import save  # it knows all models, and this one

        save(self, path)

    def _rows(self, features: NDArray[np.float64], target: Integers) -> SealedRows:
        """The rows, scaled and sealed."""
        return sealed(self._entries(features, target), self._norm_squared(), relation(self.neighbours))

    def _entries(self, features: NDArray[np.float64], target: Integers) -> Entries:
        """The rows, scaled to their declared bounds, with their constant features."""
        self._scale = Scale.declared(self.bounds, features.shape[1])
        steps = np.zeros((len(features), features.shape[1] + self._intercept), dtype=np.int16)
        for start in range(0, len(features), _BLOCK):
            scaled = self._scale.scaled(features[start : start + _BLOCK])
            whole = np.hstack([scaled, np.ones((len(scaled), self._intercept))])
            steps[start : start + _BLOCK] = steps_of(whole, self._norm_squared())
        return Entries(steps, np.asarray(target), np.ones(len(steps), dtype=np.int64))

    def _norm_squared(self) -> int:
        return norm_squared(self.norm, self.n_features_in_) + self._intercept * ONE**2

    def _checked(self, X: Any, y: Any) -> tuple[NDArray[np.float64], Integers]:  # noqa: N803
        """Rows as floats, and a whole number for each of them."""
        features = validate_data(self, X, dtype=np.float64)
        return features, np.zeros(len(features), dtype=np.int64)

    def _sums(self, columns: Columns) -> Sequence[Sum] | None:
        """For an estimator that needs sums over rows alone, one of every form that it asks of an engine."""
        return None

    @abstractmethod
    def _learn(self, rows: Any, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        """Measure, at the expense of the budget part. All else is made of what this gives, and of public facts."""

    @abstractmethod
    def _keep(self, learnt: Learnt) -> None:
        """Make the model of what was learnt."""


class PrivateTransformer(TransformerMixin):
    """Turns rows into other rows: those that the caller has, never those of a private table."""

    def fit_transform(self, X: Any, y: Any = None, **how: Any) -> Any:  # noqa: N803
        """Learn from rows, and turn them into others: for the one who gave them."""
        require_arrays(X, "fit_transform")
        return super().fit_transform(X, y, **how)


def require_arrays(rows: Any, method: str) -> None:
    """Refuse rows of a private table where a method would have to show what became of each of them."""
    if isinstance(rows, Frame):
        raise InvalidParameter(
            "X", "a private table", allowed=f"arrays with {method}; of a table, call fit, which shows no rows"
        )


_NOT_FOR = (
    "It says nothing certain about a person whose row was in the data, and must not be used to look for one.",
    "Its weights are noisy: a small weight may be noise alone.",
    "Values outside the declared bounds were moved to them, and rows with labels that are not listed left out.",
)

_OF_ARRAYS = ("epsilon", "delta", "neighbours")  # of a table the guarantee says them


@dataclass(frozen=True)
class ModelCard:
    """A card, in lines of Markdown."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return str(self)


def card(model: PrivateModel) -> ModelCard:
    """The card of a fitted model."""
    encoder = getattr(model, "encoder_", None)
    unused = _OF_ARRAYS if encoder else ()
    stated = model.get_params(deep=False).items()
    settings = {name: value for name, value in stated if value is not None and name not in unused}
    classes = getattr(model, "classes_", None)
    lines = [f"# {type(model).__name__}", "", f"- Guarantee: {model.guarantee_}"]
    lines += [f"- Features: {model.n_features_in_}" + (f" ({', '.join(encoder.names)})" if encoder else "")]
    lines += [f"- Labels: {', '.join(map(str, classes))}"] if classes is not None else []
    lines += [f"- Settings: {_listed(settings)}"]
    chosen = getattr(model, "best_params_", None)
    lines += [f"- Chosen: {_listed(chosen)}"] if chosen is not None else []
    lines += [f"- Released: {', '.join(f'{name} ({array.size} numbers)' for name, array in model.learnt_.items())}"]
    return ModelCard((*lines, "", "Not for:", "", *(f"- {line}" for line in _NOT_FOR)))


def _listed(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())
