"""Choices among models are paid for; curves and cards show what was released."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.utils.estimator_checks import check_estimator

from costs import cases
from dalenius.accounting.budget import Budget
from dalenius.checks.replay.replaying import replay
from dalenius.checks.training.arrays import CITIES, database, people, table
from dalenius.errors import InvalidParameter, MissingExtra
from dalenius.learn import (
    PCA,
    BernoulliNB,
    CategoricalNB,
    Covariance,
    GaussianNB,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    KMeans,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MeanEstimator,
    PrivateGridSearch,
    Ridge,
    StandardScaler,
    learning_curve,
    load,
)
from dalenius.learn.models import PrivateModel
from dalenius.learn.rows import ONE, Entries
from dalenius.learn.selection import _whole as whole
from dalenius.learn.selection import moved, points
from dalenius.learn.targets import PrivateClassifier, PrivateRegressor
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.session.databases import Database

DRAWS = np.random.default_rng(0)
X = DRAWS.uniform(0, 1, (600, 2))
Y = (X[:, 0] > 0.5).astype(int)
NOISE = "what is fitted twice differs by its noise, and where rows are few noise decides"
EXPECTED = dict.fromkeys(
    (
        "check_classifier_data_not_an_array",
        "check_classifiers_train",
        "check_fit_idempotent",
        "check_pipeline_consistency",
        "check_regressor_data_not_an_array",
        "check_regressors_int",
        "check_regressors_train",
        "check_supervised_y_2d",
    ),
    NOISE,
)


def model(**settings: Any) -> LogisticRegression:
    return LogisticRegression(**{"epsilon": 5, "delta": "1e-6", "bounds": (0, 1), "classes": (0, 1), **settings})


def test_the_better_of_two_settings_is_chosen() -> None:
    search = PrivateGridSearch(model(epsilon=50), {"bounds": [(5, 6), (0, 1)]}).fit(X, Y)
    assert search.best_params_ == {"bounds": (0, 1)}
    assert search.score(X, Y) > 0.9
    assert "2 candidates" in str(search.guarantee_)


@pytest.mark.parametrize("grid", [{"norm": [1.0]}, {"epsilon": [1, 2]}, {"norm": list(range(1, 200))}])
def test_what_cannot_be_priced_is_refused(grid: dict[str, list[Any]]) -> None:
    with pytest.raises(InvalidParameter):
        PrivateGridSearch(model(), grid).fit(X, Y)


@pytest.mark.parametrize("base", [KMeans(bounds=(0, 1)), "LogisticRegression", SklearnLogistic()])
def test_what_predicts_no_label_and_no_number_privately_is_not_chosen_among(base: Any) -> None:
    with pytest.raises(InvalidParameter, match="a private classifier or regressor"):
        PrivateGridSearch(base, {"bounds": [(0, 1), (0, 2)]}).fit(X, Y)


# ---- points


NUMBERS = X @ [0.6, 0.3]
USUAL: dict[str, Any] = {"epsilon": 20, "bounds": (0, 1)}
FITTED = {
    "linear": LogisticRegression(classes=(0, 1, 2), **USUAL),
    "normal": GaussianNB(classes=(0, 1), **USUAL),
    "indicators": BernoulliNB(epsilon=20, classes=(0, 1), binarize=0.5),
    "categories": CategoricalNB(epsilon=20, classes=(0, 1), categories=2),
    "trees": GradientBoostingClassifier(classes=(0, 1), **USUAL),
    "trees of three": GradientBoostingClassifier(classes=(0, 1, 2), **USUAL),
    "regression": LinearRegression(target_bounds=(0, 1), **USUAL),
    "ridge": Ridge(target_bounds=(-1, 2), **USUAL),
    "regressing trees": GradientBoostingRegressor(target_bounds=(0, 1), **USUAL),
}


def judged(base: PrivateModel) -> tuple[PrivateModel, Entries, np.ndarray]:
    """A fitted model, rows as it is judged by them, and what it predicts for these."""
    features = np.rint(X) if isinstance(base, CategoricalNB) else X
    target = NUMBERS if isinstance(base, PrivateRegressor) else Y
    fitted = clone(base).fit(features, target)
    return fitted, whole(fitted, features, target), fitted.predict(features)


@pytest.mark.parametrize("name", FITTED)
def test_points_are_those_of_predictions(name: str) -> None:
    fitted, entries, predicted = judged(FITTED[name])
    if isinstance(fitted, PrivateClassifier):
        assert (fitted._labels(entries) == predicted).mean() > 0.99
    else:
        (half,) = np.abs(fitted._target_scale.restored(np.ones(1)) - fitted._target_scale.restored(np.zeros(1)))
        unit = fitted._target_half if isinstance(fitted, LinearRegression | Ridge) else half
        error = float(np.mean((predicted - NUMBERS) ** 2)) / unit**2
        assert 1 - points(fitted, entries) / len(X) / ONE**2 == pytest.approx(error, abs=1e-3)


@pytest.mark.parametrize("name", FITTED)
def test_the_points_of_a_row_are_its_own_and_within_their_bounds(name: str) -> None:
    """Whichever rows are beside it, and whatever they and its target are."""
    fitted, entries, _ = judged(FITTED[name])
    together = fitted._merits(entries)
    alone = [fitted._merits(part(entries, slice(place, place + 1)))[0] for place in range(100)]
    assert together[:100].tolist() == [int(each) for each in alone]
    assert together[::-1].tolist() == fitted._merits(part(entries, slice(None, None, -1))).tolist()
    assert fitted._points is not None
    wild = replace(entries, target=np.arange(len(entries)) % 3 * 10**6 - 10**6)
    for each in (together, fitted._merits(wild)):
        assert each.dtype == np.int64
        assert 0 <= each.min() <= each.max() <= fitted._points


def part(entries: Entries, which: slice) -> Entries:
    return Entries(entries.features[which], entries.target[which], entries.counts[which])


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("neighbours", [AddRemove("unit"), Replace("unit")])
def test_a_unit_moves_points_by_as_many_as_all_its_rows_can_get(most: int, neighbours: Neighbours) -> None:
    change = moved([FITTED["ridge"]] * 2, most, neighbours)
    assert change.linf == most * ONE**2
    assert change.monotone == isinstance(neighbours, AddRemove)


def test_rows_are_judged_as_they_are_predicted_for_and_not_shortened() -> None:
    fitted = model(norm=0.5, epsilon=50).fit(X, Y)
    assert (whole(fitted, X, Y).features[:, -1] == ONE).all()
    assert (fitted._entries(X, Y).features[:, -1] < ONE).any()
    assert fitted.norm == 0.5


# ---- all that a fitted model has


def test_what_the_chosen_model_can_do_the_search_can() -> None:
    search = PrivateGridSearch(model(epsilon=50), {"norm": [0.8, 1.2]})
    assert not hasattr(search, "transform")
    search.fit(X, Y)
    assert is_classifier(search)
    for name in ("predict", "predict_proba", "decision_function"):
        assert np.array_equal(getattr(search, name)(X), getattr(search.best_estimator_, name)(X)), name
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)
    assert not hasattr(PrivateGridSearch(LinearSVC(), {}), "predict_proba")


def test_the_better_of_two_penalties_is_chosen_for_numbers() -> None:
    base = Ridge(epsilon=500, bounds=(0, 1), target_bounds=(0, 1))
    search = PrivateGridSearch(base, {"alpha": [1e6, 0.1]}).fit(X, NUMBERS)
    assert is_regressor(search)
    assert search.best_params_ == {"alpha": 0.1}
    assert search.score(X, NUMBERS) > 0.9


def test_a_search_says_how_far_it_is() -> None:
    told = list[float]()
    PrivateGridSearch(model(), {"norm": [0.5, 1.0, 1.5]}).fit(X, Y, progress=told.append)
    assert told == [25, 50, 75, 100]


def test_a_card_says_what_was_chosen_from_what(tmp_path: Path) -> None:
    grid = ({"bounds": ((5, 6), (0, 1))}, {"norm": (0.5, 1)})
    search = PrivateGridSearch(model(epsilon=50), grid).fit(X, Y)
    card = str(search.card())
    assert "- Chosen: " in card
    assert "chosen (1 numbers), weights (3 numbers)" in card
    search.save(tmp_path / "search.json")
    assert str(load(tmp_path / "search.json").card()) == card


@cases("kind", ["labels", "numbers"], fast=1)
def test_scikit_learns_checks_of_a_search_fail_only_where_noise_makes_them(kind: str) -> None:
    bases = {
        "labels": (GaussianNB(bounds=(-100, 100), classes="public"), {"norm": [1.0, 2.0]}),
        "numbers": (Ridge(bounds=(-100, 100), target_bounds=(-1000, 1000)), {"alpha": [1.0, 2.0]}),
    }
    results = check_estimator(
        PrivateGridSearch(*bases[kind]), on_fail=None, on_skip=None, expected_failed_checks=EXPECTED
    )
    failed = {each["check_name"]: str(each["exception"])[:200] for each in results if each["status"] == "failed"}
    assert not failed


# ---- on a private table


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with database(table(people(200)), "add_remove") as made:
        yield made


def test_a_choice_on_a_private_table_is_one_purchase_and_the_same_again_for_nothing(db: Database) -> None:
    rows, grid = db.table("visits"), {"alpha": [0.1, 1.0, 100.0]}
    search = PrivateGridSearch(Ridge(epsilon=1), grid)
    cost, before = search.cost(rows, "cost", columns=["age", "city"]), db.spent()["people"].share
    assert str(search.cost()) == str(Ridge(epsilon=1).cost())
    search.fit(rows, "cost", columns=["age", "city"])
    paid = db.spent()["people"].share
    assert float(paid - before) == pytest.approx(float(cost.shares["people"]), abs=1e-9)
    again = PrivateGridSearch(Ridge(epsilon=1), grid).fit(rows, "cost", columns=["age", "city"])
    assert db.spent()["people"].share == paid
    assert again.best_params_ == search.best_params_
    assert np.array_equal(again.best_estimator_.coef_, search.best_estimator_.coef_)
    assert again.guarantee_ == again.best_estimator_.guarantee_
    assert again.guarantee_.amount == search.guarantee_.amount
    assert "replayed for nothing" in again.guarantee_.note
    assert "3 candidates" in search.guarantee_.note
    assert again.predict({"age": [30], "city": ["Oslo"]}).shape == (1,)


@pytest.mark.parametrize(
    "other",
    [
        PrivateGridSearch(Ridge(epsilon=1), {"alpha": [0.2, 1.0]}),
        PrivateGridSearch(Ridge(epsilon=1), {"alpha": [0.1, 1.0]}, choosing=0.3),
        PrivateGridSearch(LinearRegression(epsilon=1), [{}, {}]),
    ],
)
def test_another_choice_is_another_purchase(db: Database, other: PrivateGridSearch) -> None:
    rows = db.table("visits")
    PrivateGridSearch(Ridge(epsilon=1), {"alpha": [0.1, 1.0]}).fit(rows, "cost", columns=["age"])
    before = db.spent()["people"].share
    other.fit(rows, "cost", columns=["age"])
    assert db.spent()["people"].share > before


def test_a_choice_among_classifiers_of_a_private_table_predicts_its_labels(db: Database) -> None:
    base = LogisticRegression(epsilon=5)
    search = PrivateGridSearch(base, {"method": ["output", "objective"]}).fit(
        db.table("visits"), "city", columns=["age", "smoker"]
    )
    assert list(search.classes_) == list(CITIES)
    assert search.predict_proba({"age": [30, 40], "smoker": [True, None]}).shape == (2, 3)


# ---- neighbours


def searched(rows: tuple[np.ndarray, np.ndarray]) -> Any:
    search = PrivateGridSearch(model(), {"norm": [0.5, 1.0]}).fit(*rows)
    return search.best_index_, search.best_estimator_.coef_.tolist()


def test_neighbours_are_treated_alike() -> None:
    found = replay(searched, (X, Y), (X[1:], Y[1:]), charged=[])
    assert not [each for each in found.findings if each.kind != "charge"]
    assert [call for call in found.calls if "Exponential" in str(call)], "the choice is one of the calls"


def test_a_candidate_whose_count_moves_by_two_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PrivateClassifier._merits
    monkeypatch.setattr(PrivateClassifier, "_merits", lambda self, entries: 2 * right(self, entries))
    kinds = (
        {each.kind for each in replay(searched, (X[:30], Y[:30]), (X[1:30], Y[1:30]), charged=[]).findings}
        for _ in range(40)
    )
    assert any("sensitivity" in found for found in kinds)


# ---- curves and cards


@pytest.mark.parametrize(
    "curved",
    [
        model(budget=Budget(1, "1e-6")),
        Ridge(bounds=(0, 1), target_bounds=(0, 1)),
        KMeans(n_clusters=2, bounds=(0, 1)),
        GaussianNB(bounds=(0, 1), classes=(0, 1)),
        PrivateGridSearch(Ridge(bounds=(0, 1), target_bounds=(0, 1)), {"alpha": [0.1, 1]}),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_model_with_a_score_has_a_curve(curved: Any) -> None:
    before = str(curved.get_params())
    target = None if isinstance(curved, KMeans) else NUMBERS if is_regressor(curved) else Y
    curve = learning_curve(curved, X, target, epsilons=("0.5", "8"), runs=1)
    assert np.isfinite(curve.means).all()
    assert str(curved.get_params()) == before
    dearer = curved._for(7)
    assert str(dearer.cost()).startswith("epsilon = 7")
    assert dearer._budget().delta == curved._budget().delta


@pytest.mark.parametrize("kind", [MeanEstimator, Covariance, PCA, StandardScaler])
def test_what_has_no_score_has_no_curve(kind: Any) -> None:
    with pytest.raises(InvalidParameter, match="one with a score"):
        learning_curve(kind(epsilon=1, bounds=(0, 1)), X)


def test_curves_of_private_tables_and_without_labels_are_refused(db: Database) -> None:
    spent = db.spent()["people"].share
    with pytest.raises(InvalidParameter, match="a private table"):
        learning_curve(model(), db.table("visits"), "city")  # type: ignore[arg-type]
    assert db.spent()["people"].share == spent
    with pytest.raises(InvalidParameter, match="labels or numbers"):
        learning_curve(model(), X)
    with pytest.raises(InvalidParameter, match="a private estimator"):
        learning_curve(SklearnLogistic(), X, Y)  # type: ignore[arg-type]


# ---- early prices


def test_a_price_for_so_many_rows_says_how_exactly_one_count_would_be_known(db: Database) -> None:
    pure = str(MeanEstimator(epsilon=1, bounds=(0, 1)).cost(n=1000))
    assert pure.startswith("epsilon = 1")
    assert "off by about 1.4, and a share of 1,000 rows by 0.14 percentage points" in pure
    assert "more than all of them" in str(model(epsilon="0.001").cost(n=1))
    assert "share" not in str(model().cost())
    search = PrivateGridSearch(Ridge(epsilon=1), {"alpha": [0.1, 1]})
    rows = db.table("visits")
    assert "a share of 400 rows" in str(search.cost(rows, "cost", columns=["age"], n=400))
    assert "of the budget" in str(search.cost(rows, "cost", columns=["age"], n=400))
    for odd in (0, -3, 2.5, "many"):
        with pytest.raises(InvalidParameter):
            model().cost(n=odd)  # type: ignore[arg-type]


def test_a_card_says_what_was_released() -> None:
    text = str(model().fit(X, Y).card())
    assert "epsilon = 5" in text
    assert "weights (3 numbers)" in text
    assert "Not for" in text


def test_without_scikit_learn_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import dalenius.learn

    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delattr(dalenius.learn, "KMeans", raising=False)
    for name in [name for name in sys.modules if name.startswith(("sklearn.", "dalenius.learn."))]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtra, match="learn"):
        dalenius.learn.KMeans  # noqa: B018
