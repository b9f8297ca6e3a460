"""Estimators that are made of sums: private, as scikit-learn wants them, and right where noise is small."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import decomposition, linear_model, naive_bayes
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from costs import cases
from dalenius.accounting.budget import Budget
from dalenius.checks.replay.replaying import replay
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import rectangle_of
from dalenius.learn.models import PrivateModel
from dalenius.learn.moments import regression
from dalenius.learn.moments.averages import MeanEstimator, StandardScaler
from dalenius.learn.moments.bayes import BernoulliNB, CategoricalNB, GaussianNB
from dalenius.learn.moments.covariances import PCA, Covariance, possible
from dalenius.learn.moments.quantiles import QuantileEstimator
from dalenius.learn.moments.regression import LinearRegression, Ridge, unexplained
from dalenius.learn.rows import SealedRows
from dalenius.privacy.exact import unseal

LARGE = 9000
MODELS: dict[str, Callable[..., PrivateModel]] = {
    "linear": lambda **how: LinearRegression(bounds=(-1, 1), target_bounds=(0, 2), **how),
    "ridge": lambda **how: Ridge(2.0, bounds=(-1, 1), target_bounds=(0, 2), norm=1.2, **how),
    "mean": lambda **how: MeanEstimator(bounds=(-1, 1), **how),
    "scaler": lambda **how: StandardScaler(bounds=(-1, 1), **how),
    "covariance": lambda **how: Covariance(bounds=(-1, 1), norm=1.5, **how),
    "components": lambda **how: PCA(2, bounds=(-1, 1), **how),
    "gaussian": lambda **how: GaussianNB(bounds=(-1, 1), classes=(0, 1, 2), **how),
    "bernoulli": lambda **how: BernoulliNB(classes=(0, 1, 2), **how),
    "categorical": lambda **how: CategoricalNB(categories=(2, 3, 4), classes=(0, 1, 2), **how),
    "quantiles": lambda **how: QuantileEstimator((0.25, 0.5, 0.75), step=0.01, bounds=(-1, 1), **how),
}
BUDGETS = {"pure": {"epsilon": 1}, "approximate": {"epsilon": 1, "delta": "1e-6"}}


def data(rows: int = 40) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(3)
    return draws.integers(-4, 5, (rows, 3)) / 4, draws.integers(0, 3, rows)


def shown(model: PrivateModel) -> str:
    """All that a fitted model holds, as text."""
    facts = {name: np.asarray(value).tolist() for name, value in model.learnt_.items()}
    kept = {name: str(value) for name, value in vars(model).items() if name != "learnt_"}
    return json.dumps([facts, kept], sort_keys=True)


# ---- neighbours


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "stranger", [(1.0, 1.0, 1.0, 2), (1e9, -1e9, 0.0, 1), (-1.0, 0.3, 3.0, 77), (0.0, 0.0, 0.0, 0)]
)
def test_a_row_more_moves_nothing_further_than_declared(made: Any, budget: Any, stranger: tuple[float, ...]) -> None:
    features, target = data()
    near = np.vstack([features, stranger[:3]]), np.append(target, int(stranger[3]))
    paid = rectangle_of(Budget(budget["epsilon"], budget.get("delta", 0)))
    found = replay(lambda rows: shown(made(**budget).fit(*rows)), (features, target), near, charged=paid)
    assert found.error is None
    assert found.passed, found.findings


@pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
def test_a_row_replaced_moves_nothing_further_than_declared(made: Any) -> None:
    features, target = data()
    near = features.copy(), target.copy()
    near[0][0], near[1][0] = 1.0, 2
    run = lambda rows: shown(made(epsilon=1, delta="1e-6", neighbours="replace").fit(*rows))  # noqa: E731
    found = replay(run, (features, target), near)
    assert found.error is None
    assert found.passed, found.findings


class FromData(LinearRegression):
    """The bug that a scaler from data would be."""

    def _checked(self, X: Any, y: Any) -> Any:
        self.bounds = (-np.abs(X).max(), np.abs(X).max())
        return super()._checked(X, y)


class MeanForSum(LinearRegression):
    """Residuals divided by how many rows there are: a fact that nobody paid for."""

    def _learn(self, rows: SealedRows, *how: Any) -> Any:
        count = unseal(rows.count())[0]
        return {name: array / count for name, array in super()._learn(rows, *how).items()}


def test_bounds_or_counts_from_the_data_are_found() -> None:
    features, target = data()
    near = np.vstack([features, [9.0, 0.0, 0.0]]), np.append(target, 1)
    for planted in (FromData, MeanForSum):
        run = lambda rows, model=planted: shown(model(bounds=(-1, 1), target_bounds=(0, 2)).fit(*rows))  # noqa: E731
        assert not replay(run, (features, target), near).passed, planted


def test_residuals_that_are_not_cut_off_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wild(rows: SealedRows, weights: Any) -> Any:
        honest = unexplained(rows, weights)
        return rows.entries.map(
            lambda entries: np.append(entries.features.T.astype(np.int64) @ (entries.target * 3), 0),
            sensitivity=honest.sensitivity,
        )

    monkeypatch.setattr(regression, "unexplained", wild)
    features, target = data()
    near = np.vstack([features, [1.0, 1.0, 1.0]]), np.append(target, 2)
    run = lambda rows: shown(MODELS["linear"](epsilon=1, delta="1e-6").fit(*rows))  # noqa: E731
    assert any(finding.kind == "sensitivity" for finding in replay(run, (features, target), near).findings)


# ---- scikit-learn

NOISE = "what is fitted twice differs by its noise: there is no seed"
FEW = "noise decides where rows are so few and the price so low"
ITS_OWN = "it asks every StandardScaler for a setting of scikit-learn's own"
EXPECTED = {
    "check_classifier_data_not_an_array": NOISE,
    "check_classifiers_train": FEW,
    "check_fit_idempotent": NOISE,
    "check_pipeline_consistency": NOISE,
    "check_regressor_data_not_an_array": NOISE,
    "check_regressors_int": NOISE,
    "check_regressors_train": FEW,
    "check_supervised_y_2d": NOISE,
    "check_transformer_data_not_an_array": NOISE,
    "check_transformer_general": NOISE,
}
OF_SCALERS = {"check_estimator_sparse_array": ITS_OWN, "check_estimator_sparse_matrix": ITS_OWN}
CONVENTIONAL: dict[str, PrivateModel] = {
    "linear": LinearRegression(bounds=(-100, 100), target_bounds=(-1000, 1000)),
    "ridge": Ridge(bounds=(-100, 100), target_bounds=(-1000, 1000)),
    "mean": MeanEstimator(bounds=(-100, 100)),
    "scaler": StandardScaler(bounds=(-100, 100)),
    "paid scaler": StandardScaler(bounds=(-100, 100), epsilon=1),
    "scaler of paid bounds": StandardScaler(bounds="paid", epsilon=1),
    "covariance": Covariance(bounds=(-100, 100)),
    "components": PCA(bounds=(-100, 100)),
    "gaussian": GaussianNB(bounds=(-100, 100), classes="public"),
    "bernoulli": BernoulliNB(classes="public"),
    "categorical": CategoricalNB(categories=5, classes="public"),
    "quantiles": QuantileEstimator(bounds=(-100, 100), step=0.1),
}


@cases("model", CONVENTIONAL.values(), ids=CONVENTIONAL, fast=4)
def test_scikit_learns_checks_fail_only_where_noise_makes_them(model: PrivateModel) -> None:
    expected = EXPECTED | (OF_SCALERS if isinstance(model, StandardScaler) else {})
    results = check_estimator(model, on_fail=None, on_skip=None, expected_failed_checks=expected)
    failed = {each["check_name"]: str(each["exception"])[:200] for each in results if each["status"] == "failed"}
    assert not failed


# ---- what they find where noise is small


def linear_data() -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(5)
    features = draws.uniform(0, 10, (4000, 3))
    return features, features @ [2.0, -1.0, 0.5] + 4 + draws.normal(0, 1, 4000)


@pytest.mark.textbook("S14.9")
def test_linear_regression_finds_the_weights() -> None:
    features, target = linear_data()
    plain = linear_model.LinearRegression().fit(features, target)
    model = LinearRegression(epsilon=LARGE, delta="1e-6", bounds=(0, 10), target_bounds=(-15, 35)).fit(features, target)
    assert model.coef_ == pytest.approx(plain.coef_, abs=0.02)
    assert model.intercept_ == pytest.approx(plain.intercept_, abs=0.2)
    assert model.score(features, target) > plain.score(features, target) - 0.001


@pytest.mark.textbook("S14.9")
def test_the_objective_is_the_sum_of_squares_and_not_the_square_of_the_sum() -> None:
    """The twin: a constant makes the square of the sum as small as can be, and explains nothing."""
    features, target = linear_data()
    model = LinearRegression(epsilon=LARGE, delta="1e-6", bounds=(0, 10), target_bounds=(-15, 35)).fit(features, target)
    left, of_constant = target - model.predict(features), target - target.mean()
    assert abs(of_constant.sum()) < 1e-6 <= abs(left.sum())
    assert (left**2).sum() < (of_constant**2).sum() / 10


def test_a_pipeline_and_cross_validation_take_them() -> None:
    features, target = linear_data()
    steps = make_pipeline(
        StandardScaler(bounds=(0, 10)),
        LinearRegression(epsilon=100, delta="1e-6", bounds=(-1, 1), target_bounds=(-15, 35)),
    )
    assert cross_val_score(steps, features, target, cv=3).min() > 0.9


def test_at_an_ordinary_price_little_is_lost() -> None:
    features, target = linear_data()
    plain = linear_model.LinearRegression().fit(features, target).score(features, target)
    scores = [
        LinearRegression(epsilon=1, delta="1e-6", bounds=(0, 10), target_bounds=(-15, 35)).fit(features, target)
        for _ in range(3)
    ]
    assert np.median([model.score(features, target) for model in scores]) > plain - 0.1


def test_ridge_pulls_weights_as_scikit_learns_does() -> None:
    features, target = linear_data()
    for alpha in (0.0, 2e4):
        plain = linear_model.Ridge(alpha).fit(features, target)
        settings = {"epsilon": LARGE, "delta": "1e-6", "bounds": (0, 10), "target_bounds": (-15, 35)}
        model = Ridge(alpha, **settings).fit(features, target)  # type: ignore[arg-type]
        assert model.coef_ == pytest.approx(plain.coef_, abs=0.05)
    for wrong in (-1, True, "much", float("nan")):
        with pytest.raises(InvalidParameter, match="alpha"):
            Ridge(wrong, bounds=(0, 10), target_bounds=(0, 1)).fit(features, target)  # type: ignore[arg-type]


def test_predictions_stay_within_the_declared_bounds() -> None:
    features, target = linear_data()
    model = LinearRegression(epsilon=0.01, bounds=(0, 10), target_bounds=(-5, 5)).fit(features, target)
    assert np.abs(model.predict(features * 100)).max() <= 5


def test_a_target_without_bounds_is_refused() -> None:
    features, target = linear_data()
    with pytest.raises(InvalidParameter, match="target_bounds"):
        LinearRegression(bounds=(0, 10)).fit(features, target)


def test_means_and_covariances_have_error_bars_that_hold() -> None:
    draws = np.random.default_rng(1)
    features = draws.multivariate_normal([1, 5], [[1, 0.6], [0.6, 2]], 3000)
    kept = np.clip(features, [-4, 0], [6, 10])
    means, matrix = kept.mean(axis=0), np.cov(kept.T, bias=True)
    missed = np.zeros(3)
    for _ in range(40):
        bounds = ([-4, 0], [6, 10])
        mean = MeanEstimator(epsilon=0.5, bounds=bounds).fit(features)
        spread = Covariance(epsilon=1, delta="1e-6", bounds=bounds).fit(features)
        missed += [
            (np.abs(mean.mean_ - means) > mean.mean_error_).mean(),
            abs(mean.count_ - 3000) > mean.count_error_,
            (np.abs(spread.covariance_ - matrix) > spread.covariance_error_).mean(),
        ]
        assert (np.linalg.eigvalsh(spread.covariance_) > -1e-9).all()
    assert (missed < 12).all(), "about 2 of 40 are expected"


def test_a_matrix_that_no_data_have_is_put_right() -> None:
    wrong = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert np.linalg.eigvalsh(possible(wrong)) == pytest.approx([0, 3])


@pytest.mark.textbook("S14.11")
def test_components_capture_what_scikit_learns_capture() -> None:
    draws = np.random.default_rng(2)
    features = np.clip(draws.normal(size=(5000, 2)) @ draws.normal(size=(2, 6)) * 0.2, -1, 1)
    model = PCA(2, epsilon=1, delta="1e-6", bounds=(-1, 1)).fit(features)
    plain = decomposition.PCA(2).fit(features)
    centred = features - features.mean(axis=0)
    captured = ((centred @ model.components_.T) ** 2).sum() / (centred**2).sum()
    assert captured > plain.explained_variance_ratio_.sum() - 0.02
    assert model.transform(features).shape == (5000, 2)
    assert model.inverse_transform(model.transform(features)) == pytest.approx(features, abs=0.5)
    for wrong in (0, 7, 1.5, True):
        with pytest.raises(InvalidParameter, match="n_components"):
            PCA(wrong, bounds=(-1, 1)).fit(features)  # type: ignore[arg-type]


def test_a_scaler_of_declared_bounds_costs_nothing_and_reads_nothing() -> None:
    features, _ = linear_data()
    free = StandardScaler(bounds=(0, 20)).fit(features)
    assert free.guarantee_.loss == "epsilon = 0"
    assert free.transform([[0, 10, 20]]).tolist() == [[-1, 0, 1]]
    assert shown(free) == shown(StandardScaler(bounds=(0, 20)).fit(features[:5] + 1))
    paid = StandardScaler(bounds=(0, 20), epsilon=LARGE).fit(features)
    assert paid.mean_ == pytest.approx(features.mean(axis=0), abs=0.01)
    assert paid.scale_ == pytest.approx(features.std(axis=0), abs=0.02)
    assert paid.inverse_transform(paid.transform(features)) == pytest.approx(features)


def test_naive_bayes_agrees_with_scikit_learns() -> None:
    draws = np.random.default_rng(4)
    labels = draws.integers(0, 3, 3000)
    features = np.clip(draws.normal(labels[:, None] * [0.5, -0.5, 0.2], 0.4, (3000, 3)), -2, 2)
    model = GaussianNB(epsilon=LARGE, bounds=(-2, 2), classes=(0, 1, 2)).fit(features, labels)
    plain = naive_bayes.GaussianNB().fit(features, labels)
    assert model.theta_ == pytest.approx(plain.theta_, abs=0.01)
    assert model.var_ == pytest.approx(plain.var_, abs=0.01)
    assert model.predict_proba(features) == pytest.approx(plain.predict_proba(features), abs=0.05)
    on = (features > 0).astype(int)
    assert BernoulliNB(epsilon=LARGE, classes=(0, 1, 2)).fit(on, labels).predict_proba(on) == pytest.approx(
        naive_bayes.BernoulliNB().fit(on, labels).predict_proba(on), abs=0.01
    )
    codes = np.floor(features + 2).clip(0, 3).astype(int)
    assert CategoricalNB(epsilon=LARGE, categories=4, classes=(0, 1, 2)).fit(codes, labels).predict_proba(
        codes
    ) == pytest.approx(naive_bayes.CategoricalNB(min_categories=4).fit(codes, labels).predict_proba(codes), abs=0.01)


def test_naive_bayes_wants_its_facts_declared() -> None:
    features, labels = data()
    for wrong in (None, 0, (2, 3), "many"):
        with pytest.raises(InvalidParameter, match="categories"):
            CategoricalNB(categories=wrong, classes=(0, 1, 2)).fit(features, labels)
    with pytest.raises(InvalidParameter, match="alpha"):
        BernoulliNB(alpha=0, classes=(0, 1, 2)).fit(features, labels)
    with pytest.raises(InvalidParameter, match="classes"):
        GaussianNB(bounds=(-1, 1)).fit(features, labels)


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_quantiles_are_near_those_of_the_data(budget: Any) -> None:
    draws = np.random.default_rng(6)
    values = np.rint(np.stack([draws.normal(50, 15, 5000), draws.exponential(10, 5000)], axis=1))
    shares = (0.1, 0.25, 0.5, 0.75, 0.9)
    model = QuantileEstimator(shares, step=1, bounds=(0, 200), **budget).fit(values)
    assert model.quantiles_.shape == (5, 2)
    for column in range(2):
        ordered = np.sort(np.clip(values[:, column], 0, 200))
        for share, found in zip(shares, model.quantiles_[:, column], strict=True):
            low, high = np.searchsorted(ordered, found), np.searchsorted(ordered, found, side="right")
            assert low - 250 <= share * 5000 <= high + 250


def test_the_grid_of_quantiles_is_public() -> None:
    model = QuantileEstimator(bounds=([0, -3], [20, 3])).fit([[1.0, 1.0], [2.0, 2.0]])
    assert model._steps().tolist() == [1e-5, 1e-6]
    for wrong in (0, -1, "fine", (1, 2, 3), float("nan")):
        with pytest.raises(InvalidParameter, match="step"):
            QuantileEstimator(bounds=(0, 1), step=wrong).fit([[0.5, 0.5]])
    for wrong in ((0.5, 0.2), (2,), 0.5, ("half",)):
        with pytest.raises(InvalidParameter):
            QuantileEstimator(wrong, bounds=(0, 1)).fit([[0.5], [0.2]])


@pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
def test_what_was_learnt_makes_the_model_again(made: Any) -> None:
    """A model is made of public facts and of what was released: kept again, it is the same."""
    features, target = data()
    first = made(epsilon=1).fit(features, target)
    again = clone(first)
    for name in ("n_features_in_", "classes_", "_scale", "_target_scale", "guarantee_"):
        if hasattr(first, name):
            setattr(again, name, getattr(first, name))
    assert shown(again._made(first.learnt_)) == shown(first)
