"""Boosted trees: scores that add up, and no row that moves their sums further than declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.utils.estimator_checks import check_estimator

from clinics import CITIES, clinic
from costs import cases
from dalenius.checks.replay.replaying import Replayed, replay
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import allowance_of, budget_of, relation
from dalenius.learn.encoding import Scale
from dalenius.learn.losses_tabulated import SLOPE, WEIGHT
from dalenius.learn.rows import ONE, PIECE, Entries, SealedRows, entries_of, sealed
from dalenius.learn.trees import boosting
from dalenius.learn.trees.boosting import (
    Boosting,
    BoostingLoss,
    Labels,
    Splits,
    SquaredLoss,
    _Model,
    boost,
    counts,
    slopes,
)
from dalenius.learn.trees.cells import FINE, ChoiceCells, Layout, NumberCells
from dalenius.learn.trees.ensembles import GradientBoostingClassifier, GradientBoostingRegressor
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.exact import unseal
from dalenius.privacy.neighbours import AddRemove
from dalenius.randomness.entropy import fresh_entropy

ROW = AddRemove("row")
GROUPS = [[2, 3, 4]]
BOUNDS = ([0, 0, 0, 0, 0], [1, 100, 1, 1, 1])


def rows_and_score(count: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers and three indicators, and a score that is no straight line of them."""
    chance = np.random.default_rng(0)
    first, second, third = chance.random(count), chance.random(count) * 100, chance.integers(3, size=count)
    score = 3 * (np.abs(first - 0.5) > 0.25) - 2 * (second > 40) + np.array([1.0, -1.0, 0.0])[third]
    return np.column_stack([first, second, np.eye(3)[third]]), score


def labels(count: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    rows, score = rows_and_score(count)
    return rows, (score + np.random.default_rng(1).logistic(0, 0.5, count) > 0.5).astype(int)


# ---- what is found


@pytest.mark.parametrize("settings", [{"delta": "1e-6"}, {"neighbours": "replace", "delta": "1e-6"}, {}])
def test_labels_are_told_apart(settings: dict[str, Any]) -> None:
    rows, told = labels()
    fitted = GradientBoostingClassifier(epsilon=50, bounds=BOUNDS, groups=GROUPS, classes=(0, 1), **settings)
    fitted.fit(rows, told)
    assert roc_auc_score(told, fitted.decision_function(rows)) > 0.93
    assert fitted.score(rows, told) > 0.85
    assert ((fitted.predict_proba(rows)[:, 1] > 0.5) == (fitted.predict(rows) == 1)).all()


def test_more_labels_have_a_score_each() -> None:
    rows, score = rows_and_score()
    told = np.digitize(score, [-1, 1])
    fitted = GradientBoostingClassifier(epsilon=20, delta="1e-6", bounds=BOUNDS, groups=GROUPS, classes=(0, 1, 2))
    fitted.fit(rows, told)
    assert fitted.score(rows, told) > 0.85
    assert fitted.predict_proba(rows).sum(axis=1) == pytest.approx(1)
    assert fitted.shapes_[0].shape == (FINE, 3)


@pytest.mark.parametrize("settings", [{"delta": "1e-6"}, {}])
def test_numbers_are_estimated(settings: dict[str, Any]) -> None:
    rows, score = rows_and_score()
    target = 100 + 20 * score
    fitted = GradientBoostingRegressor(
        epsilon=50, bounds=BOUNDS, target_bounds=(20, 200), groups=GROUPS, **settings
    ).fit(rows, target)
    assert r2_score(target, fitted.predict(rows)) > 0.9


def test_shapes_add_up_to_the_score_and_show_where_it_bends() -> None:
    rows, told = labels()
    fitted = GradientBoostingClassifier(epsilon=20, delta="1e-6", bounds=BOUNDS, groups=GROUPS, classes=(0, 1))
    fitted.fit(rows, told)
    first, second, third = fitted.shapes_
    edges = fitted.edges(1)
    assert edges[0] == 0
    assert edges[-1] == 100
    assert fitted.edges(2) == [2, 3, 4]
    assert second[:90].min() > second[120:].max(), "the score falls at 40"
    assert third[0] > third[2] > third[1]
    row = np.array([[0.999, 99.9, 0, 1, 0]])
    assert fitted.decision_function(row)[0] == pytest.approx(
        float(first[-1, 0] + second[-1, 0] + third[1, 0] + fitted.intercept_[0])
    )


def test_a_private_table_is_charged_and_its_texts_are_groups() -> None:
    with clinic() as db:
        fitted = GradientBoostingClassifier(epsilon=1).fit(db.table("visits"), "city", columns=["age", "cost"])
        assert db.spent()["patients"].share > 0
        assert set(fitted.predict({"age": [3, 80], "cost": [1.0, 2.0]})) <= set(CITIES)
        number = GradientBoostingRegressor(epsilon=1).fit(db.table("visits"), "cost", columns=["age", "city"])
        assert [type(feature) for feature in number.layout_.features] == [NumberCells, ChoiceCells]
        found = number.predict({"age": [3, 80], "city": ["Oslo", None]})
        assert ((found >= 0) & (found <= 5000)).all()
        with pytest.raises(InvalidParameter):
            GradientBoostingRegressor(epsilon=1).fit(db.table("visits"), "city", columns=["age"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"bounds": None},
        {"classes": None},
        {"groups": [[2, 3], [3, 4]]},
        {"groups": [[5]]},
        {"groups": [[]]},
        {"groups": 3},
        {"groups": [2, 3]},
    ],
)
def test_what_is_not_declared_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        GradientBoostingClassifier(**{"bounds": (0, 1), "classes": (0, 1), **wrong}).fit(*labels(40))


def test_bounds_of_the_target_are_declared_too() -> None:
    with pytest.raises(InvalidParameter, match="target_bounds"):
        GradientBoostingRegressor(bounds=(0, 1)).fit(*rows_and_score(40))


UNLIKE = {
    "check_fit_idempotent": "two fits differ by their noise",
    "check_classifier_data_not_an_array": "two fits differ by their noise",
    "check_regressor_data_not_an_array": "two fits differ by their noise",
    "check_supervised_y_2d": "two fits differ by their noise",
    "check_regressors_int": "two fits differ by their noise",
    "check_classifiers_train": "labels of few rows are lost in noise",
    "check_classifiers_classes": "labels of few rows are lost in noise",
    "check_regressors_train": "few rows are lost in noise",
}


@cases(
    "model",
    [
        GradientBoostingClassifier(epsilon=5000, delta="1e-5", bounds=(-10, 10), classes="public"),
        GradientBoostingRegressor(epsilon=5000, delta="1e-5", bounds=(-10, 10), target_bounds=(-4, 4)),
    ],
    fast=1,
)
def test_they_are_estimators_like_all_others(model: Any) -> None:
    results = check_estimator(model, expected_failed_checks=UNLIKE, on_fail=None, on_skip=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []


# ---- whole numbers


def layout() -> Layout:
    return Layout.of(Scale.declared(BOUNDS, 5), GROUPS)


@given(st.lists(st.lists(st.integers(-ONE, ONE), min_size=5, max_size=5), min_size=1, max_size=9))
def test_every_row_is_in_one_cell_of_each_feature_by_itself(rows: list[list[int]]) -> None:
    made = layout()
    places = made.indices(np.array(rows))
    for column, part in enumerate(made.parts):
        assert ((places[:, column] >= part.start) & (places[:, column] < part.stop)).all()
    assert places.tolist() == [made.indices(np.array([row]))[0].tolist() for row in rows]


def test_groups_take_the_first_of_the_largest_and_have_a_cell_for_none() -> None:
    group = ChoiceCells((0, 1, 2))
    rows = np.array([[0, ONE, 0], [ONE, ONE, 0], [0, 0, 0], [0, 5, ONE], [-ONE, 0, -1]])
    assert group.of(rows).tolist() == [1, 0, 3, 2, 3]


def test_cells_are_of_equal_width() -> None:
    number = NumberCells(0, -ONE, ONE)
    steps = np.arange(-ONE - 5, ONE + 6)[:, None]
    sizes = np.bincount(number.of(steps))
    assert len(sizes) == FINE
    assert sizes[1:-1].max() - sizes[1:-1].min() <= 1
    assert number.of(np.array([[-ONE], [ONE]])).tolist() == [0, FINE - 1]


def test_trees_split_numbers_into_few_leaves_and_choices_into_all() -> None:
    made = layout()
    splits = Splits.of(made, np.ones(made.cells), bins=32)
    for leaves in splits.trees(5, 6):
        assert [len(np.unique(leaves[part])) for part in made.parts] == [6, 6, 4]
        assert (np.diff(leaves) >= 0).all()
        assert leaves.max() == 15
    again = splits.trees(5, 6)
    assert all((one == other).all() for one, other in zip(again, splits.trees(5, 6), strict=True))


def test_noise_alone_makes_no_cut_fail() -> None:
    made = layout()
    for level in (-5.0, 0.0, 1e9):
        splits = Splits.of(made, np.full(made.cells, level), bins=32)
        assert all(leaves.max() < made.cells for leaves in splits.trees(3, 6))


@given(st.integers(-ONE, ONE), st.integers(-(2**40), 2**40), st.integers(0, 2))
def test_no_slope_is_steeper_than_declared(target: int, score: int, label: int) -> None:
    assert abs(int(SquaredLoss().slopes(np.array([target]), np.array([[score]]))[0, 0])) <= SquaredLoss().cap
    several = Labels(3).slopes(np.array([label]), np.array([[score, -score, 0]]))
    assert np.abs(several).max() <= Labels(3).cap


def test_slopes_are_those_of_the_loss() -> None:
    half = WEIGHT // 2
    assert SquaredLoss().slopes(np.array([ONE // 4]), np.array([[0]]))[0, 0] == SLOPE // 4
    assert SquaredLoss().slopes(np.array([ONE]), np.array([[0]]))[0, 0] == SLOPE // 2
    (slope,) = Labels(1).slopes(np.array([1]), np.array([[half]]))[0].tolist()
    assert slope / SLOPE == pytest.approx(1 / (1 + np.exp(0.5)), abs=0.01)
    (slope,) = Labels(1).slopes(np.array([0]), np.array([[-half]]))[0].tolist()
    assert slope / SLOPE == pytest.approx(-1 / (1 + np.exp(0.5)), abs=0.01)


STRANGERS = {
    "an ordinary row": [0.5, 50, 1, 0, 0],
    "far outside": [1e300, -1e300, 1e300, -1e300, 1e300],
    "all indicators": [0, 0, 1, 1, 1],
    "no indicator": [1, 100, 0, 0, 0],
}
LOSSES: list[BoostingLoss] = [Labels(1), Labels(3), SquaredLoss()]


def rows_of(data: Any, target: Any, most: int = 1) -> SealedRows:
    scaled = Scale.declared(BOUNDS, 5).scaled(data)
    return sealed(entries_of(scaled, np.asarray(target), 5 * ONE**2), 5 * ONE**2, ROW, most=most)


def model_of(made: Layout, loss: BoostingLoss) -> _Model:
    chance = np.random.default_rng(3)
    return _Model(chance.normal(0, 2, (made.cells, loss.scores)), chance.normal(0, 2, loss.scores))


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("wanted", [0, 1, ONE, -ONE])
def test_no_row_moves_a_sum_further_than_declared(stranger: str, loss: BoostingLoss, wanted: int) -> None:
    data, told = labels(40)
    more, known = np.vstack([data, STRANGERS[stranger]]), np.append(told, wanted)
    made = layout()
    (leaves,) = Splits.of(made, np.ones(made.cells), 32).trees(1, 6)
    model = model_of(made, loss)
    one, other = (made.of_rows(rows_of(*each)) for each in ((data, told), (more, known)))
    for before, after in (
        (counts(one, made), counts(other, made)),
        (slopes(one, leaves, model, loss), slopes(other, leaves, model, loss)),
    ):
        moved = np.abs(np.asarray(unseal(after)) - np.asarray(unseal(before)))
        assert moved.sum() <= before.sensitivity.l1
        assert (moved**2).sum() <= before.sensitivity.l2_squared


def test_equal_rows_that_are_one_entry_count_each() -> None:
    data, told = labels(5)
    made = layout()
    (leaves,) = Splits.of(made, np.ones(made.cells), 32).trees(1, 6)
    several = np.array([1, 7, PIECE, 2, 3])
    entries = entries_of(Scale.declared(BOUNDS, 5).scaled(data), told, 5 * ONE**2)
    together = sealed(Entries(entries.features, entries.target, several), 5 * ONE**2, ROW)
    apart = rows_of(np.repeat(data, several, axis=0), np.repeat(told, several))
    for loss in LOSSES:
        model = model_of(made, loss)
        one, other = (unseal(slopes(made.of_rows(rows), leaves, model, loss)) for rows in (together, apart))
        assert (one == other).all()
    assert (unseal(counts(made.of_rows(together), made)) == unseal(counts(made.of_rows(apart), made))).all()


# ---- neighbours


def replayed(
    stranger: str, relation_name: str = "add_remove", delta: str | None = "1e-6", *, numbers: bool = False
) -> Replayed:
    data, told = labels(60)
    extra = [] if relation_name == "add_remove" else [[0.1, 1, 0, 1, 0]]
    first = np.vstack([data, *extra]), np.append(told, [0] * len(extra))
    second = np.vstack([data, STRANGERS[stranger]]), np.append(told, 1)

    def run(given: Any) -> Any:
        facts: dict[str, Any] = {"epsilon": 1, "delta": delta, "bounds": BOUNDS, "neighbours": relation_name}
        model: Any = GradientBoostingClassifier(classes=(0, 1), groups=GROUPS, **facts)
        if numbers:
            model = GradientBoostingRegressor(target_bounds=(0, 2), groups=GROUPS, **facts)
        fitted = model.fit(*given)
        return [shape.tolist() for shape in fitted.shapes_], fitted.intercept_.tolist(), str(fitted.guarantee_)

    charge = allowance_of(budget_of(1, delta, None), relation(relation_name)).left
    found = replay(run, first, second, charged=[charge])
    assert found.error is None
    return found


@cases("numbers", [False, True], fast=1)
@pytest.mark.parametrize("delta", ["1e-6", None])
@pytest.mark.parametrize("relation_name", ["add_remove", "replace"])
@pytest.mark.parametrize("stranger", STRANGERS)
def test_one_row_changes_no_call_no_parameter_and_no_value_further_than_declared(
    stranger: str, relation_name: str, delta: str | None, numbers: bool
) -> None:
    found = replayed(stranger, relation_name, delta, numbers=numbers)
    assert not found.findings
    assert len(found.calls) > 5


def test_the_test_above_notices_cells_that_come_from_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaky(self: NumberCells, features: Any) -> Any:
        values = features[:, self.column]
        return (values - values.min()) * FINE // (values.max() - values.min() + 1)

    monkeypatch.setattr(NumberCells, "of", leaky)
    assert replayed("no indicator").findings


def test_the_test_above_notices_cuts_that_come_from_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    real_rows, real_cuts = GradientBoostingClassifier._rows, Splits.of

    def seen(self: Any, features: Any, target: Any) -> SealedRows:
        exact = np.full(layout().cells, float(len(features) % 2))
        exact[:9] = len(features)
        monkeypatch.setattr(Splits, "of", lambda made, noisy, bins: real_cuts(made, exact, bins))
        return real_rows(self, features, target)

    monkeypatch.setattr(GradientBoostingClassifier, "_rows", seen)
    assert replayed("an ordinary row").findings


def test_the_test_above_notices_slopes_without_a_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    def steep(self: SquaredLoss, target: Any, scores: Any) -> Any:
        return target[:, None] * (WEIGHT // ONE) - scores

    monkeypatch.setattr(SquaredLoss, "slopes", steep)
    assert {finding.kind for finding in replayed("an ordinary row", numbers=True).findings} == {"sensitivity"}


def test_the_test_above_notices_rows_in_several_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row adds to a leaf of every feature, but is billed for one."""
    real = boosting.slopes

    def cheap(placed: SealedRows, leaves: Any, model: Any, loss: BoostingLoss) -> Any:
        billed = placed.change(l2_squared=2 * loss.cap**2, l1=2 * loss.cap)
        return real(placed, leaves, model, loss).map(lambda sums: sums, sensitivity=billed)

    monkeypatch.setattr(boosting, "slopes", cheap)
    assert replayed("an ordinary row").findings


@pytest.mark.parametrize("stated", [3, 1])
def test_all_rows_of_a_unit_are_counted(stated: int) -> None:
    """Three rows of one unit come at once; the twin states that a unit has one."""

    def run(given: Any) -> Any:
        with allowance_of(budget_of(1, "1e-6", None), ROW) as allowance:
            found = boost(
                rows_of(*given, most=stated),
                layout(),
                Labels(1),
                Boosting(4, 0.3, 0.5),
                BudgetPart(allowance),
                fresh_entropy(),
            )
        return found.scores.tolist(), found.intercept.tolist(), found.counts.tolist()

    data, told = labels(40)
    strangers = np.array([STRANGERS["an ordinary row"]] * 3)
    found = replay(run, (data, told), (np.vstack([data, strangers]), np.append(told, [1] * 3)))
    assert found.error is None
    assert found.passed == (stated == 3)


def test_no_rows_at_all_are_learnt_from_like_others() -> None:
    with allowance_of(budget_of(1, "1e-6", None), ROW) as allowance:
        rows = rows_of(np.zeros((0, 5)), np.zeros(0, dtype=int))
        found = boost(rows, layout(), Labels(3), Boosting(4, 0.3, 0.5), BudgetPart(allowance), fresh_entropy())
    assert np.isfinite(found.scores).all()
