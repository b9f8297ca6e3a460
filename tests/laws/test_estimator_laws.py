"""Every estimator on neighbours that hurt: the same calls, inputs that move no further than declared, a loss within
what was paid, and nothing in the fitted model that does not follow from what was released.

The forms are those of `dalenius check training`, and every estimator that can be had must have one. Descents and
boosting are short here; `make test-deep` has them in full length, for all relations and all neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.base import clone

from dalenius import learn
from dalenius.checks.observer import first_difference
from dalenius.checks.replay.recording import Recorder
from dalenius.checks.training.arrays import BASES, EPSILON, Arrays, NeighbouringTables, neighbouring, ordinary, pairs
from dalenius.checks.training.forms import BOUNDS, FORMS, Form, estimators, left_out, shortened
from dalenius.checks.training.replays import facts, on_arrays, on_tables
from dalenius.engines.duckdb.connection import File
from dalenius.errors import InvalidParameter
from dalenius.learn.tables import Training
from dalenius.mechanisms.door import witnessed
from dalenius.session.databases import Database

every_form = pytest.mark.parametrize("form", FORMS, ids=str)
TABLES = [form for form in FORMS if form.table]
every_form_of_tables = pytest.mark.parametrize("form", TABLES, ids=str)
ROWS = ordinary()


@pytest.fixture(scope="module")
def databases() -> Iterator[list[NeighbouringTables]]:
    with neighbouring() as every:
        yield every


@pytest.fixture(autouse=True)
def _short() -> Iterator[None]:
    with shortened():
        yield


def fitted(form: Form, rows: Arrays = ROWS, **way: Any) -> Any:
    return form.made(**way).fit(*rows.given(form.learns))


def first_way(form: Form) -> dict[str, Any]:
    return next(form.ways(few=True))


# ---- neighbours


def test_every_estimator_has_a_form() -> None:
    assert left_out() == []
    assert len(estimators()) >= 16


def test_an_estimator_without_a_form_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn, "NewForest", learn.KMeans, raising=False)
    monkeypatch.setattr(learn, "__dir__", lambda: ["KMeans", "NewForest", "load"])
    assert left_out() == ["NewForest"]


def require_alike(form: Form, *, few: bool) -> None:
    for way in form.ways(few=few):
        for pair in pairs(way["neighbours"], few=few):
            found = on_arrays(form, pair, **way)
            assert not found.findings, (way, pair.name, [str(each) for each in found.findings])
            assert found.error is None, (way, pair.name)
            assert bool(found.calls) != form.free


@every_form
def test_fits_of_arrays_are_alike_on_neighbours(form: Form) -> None:
    require_alike(form, few=True)


def fitting(form: Form, databases: list[NeighbouringTables]) -> list[NeighbouringTables]:
    return [tables for tables in databases if tables.neighbours in form.relations]


@every_form_of_tables
def test_fits_of_private_tables_are_alike_on_neighbours(form: Form, databases: list[NeighbouringTables]) -> None:
    """For each form one of the pairs: a person with many poisoned rows comes, is alone, or takes another's place."""
    several = fitting(form, databases)
    found = on_tables(form, several[TABLES.index(form) % len(several)])
    assert found.passed, [str(each) for each in found.findings]
    assert found.error is None
    assert found.calls


def test_labels_that_are_said_to_be_public_and_are_not_are_noticed() -> None:
    """The twin: a label that only one row has changes what is learnt."""
    open_labels = Form(
        "GaussianNB", "public", lambda **paid: learn.GaussianNB(bounds=BOUNDS, classes="public", **paid), "labels"
    )
    kinds = {found.kind for pair in pairs("add_remove") for found in on_arrays(open_labels, pair).findings}
    assert kinds >= {"sensitivity", "error"}


def test_rows_of_one_person_that_count_for_one_are_noticed(
    databases: list[NeighbouringTables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: three rows of a unit, priced as one."""
    right = Training.rows
    monkeypatch.setattr(Training, "rows", lambda self, cells: replace(right(self, cells), most=1))
    form = next(form for form in TABLES if str(form) == "GradientBoostingRegressor")
    assert {found.kind for found in on_tables(form, databases[0]).findings} == {"sensitivity"}


# ---- what cannot be learnt from is refused alike


def refusal(form: Form, given: tuple[Any, ...]) -> str:
    """What is said of rows that cannot be read; nothing has been measured by then."""
    seen = Recorder()
    with witnessed(seen), pytest.raises(ValueError, match=r".") as raised:
        form.made(**first_way(form)).fit(*given)
    assert not seen.calls
    return f"{type(raised.value).__name__}: {raised.value}"


@every_form
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_rows_that_are_no_numbers_are_refused_whatever_others_hold(form: Form, odd: float) -> None:
    said = {refusal(form, rows.and_one([odd, 0.123], 1, 0.5).given(form.learns)) for rows in BASES.values()}
    assert len(said) == 1, said
    assert "0.123" not in said.pop()


@every_form
def test_no_rows_at_all_are_refused(form: Form) -> None:
    nobody = Arrays(np.zeros((0, 2)), np.zeros(0, dtype=np.int64), np.zeros(0))
    assert "0 sample" in refusal(form, nobody.given(form.learns))


@pytest.mark.parametrize("form", [form for form in FORMS if form.learns == "labels"], ids=str)
def test_rows_without_a_listed_label_are_as_none(form: Form) -> None:
    """Not even that all of them were left out is told."""
    unlisted = replace(ROWS, labels=np.full(len(ROWS), 7))
    model = fitted(form, unlisted, **first_way(form))
    assert list(model.classes_) == list(fitted(form, **first_way(form)).classes_)


@pytest.mark.parametrize("form", [form for form in FORMS if not form.table], ids=str)
def test_estimators_of_arrays_refuse_private_tables_and_spend_nothing(
    form: Form, databases: list[NeighbouringTables]
) -> None:
    db, spent = databases[0].before, databases[0].before.spent()
    with pytest.raises(InvalidParameter):
        form.made().fit(db.table("visits"), "city")
    assert db.spent() == spent


# ---- what all estimators have


@every_form
def test_a_fit_keeps_parameters_and_states_its_guarantee(form: Form) -> None:
    for way in form.ways():
        model = form.made(epsilon=2, **way)
        before = clone(model).get_params()
        assert model.fit(*ROWS.given(form.learns)) is model
        assert first_difference({**before, "estimator": None}, {**model.get_params(), "estimator": None}) is None
        assert model.guarantee_.loss.startswith("epsilon = 0" if form.free else "epsilon = 2")
        assert ("delta" in model.guarantee_.loss) == (way["delta"] is not None and not form.free)
        assert ("replacing" in model.guarantee_.neighbours) == (way["neighbours"] == "replace")


@every_form
def test_a_fit_leaves_its_rows_as_they_were(form: Form) -> None:
    given = ROWS.given(form.learns)
    form.made(**first_way(form)).fit(*given)
    assert all(np.array_equal(one, other) for one, other in zip(given, ROWS.given(form.learns), strict=True))


def learnt(model: Any) -> dict[str, Any]:
    return {name: value for name, value in facts(model).items() if name.endswith("_") or name == "loss"}


@every_form
def test_a_saved_model_is_the_same_again(form: Form, tmp_path: Path) -> None:
    model = fitted(form, **first_way(form))
    model.save(tmp_path / "model.json")
    again = learn.load(tmp_path / "model.json")
    assert first_difference(learnt(model), learnt(again)) is None
    assert again.guarantee_ == model.guarantee_
    for name in ("predict", "transform", "decision_function", "predict_proba"):
        if hasattr(model, name):
            rows = BASES["ordinary rows"].features
            assert np.array_equal(getattr(model, name)(rows), getattr(again, name)(rows)), name


@every_form_of_tables
def test_a_price_is_told_without_a_row_and_is_what_a_fit_costs(form: Form, databases: list[NeighbouringTables]) -> None:
    db = fitting(form, databases)[0].before
    target, columns = form.table or (None, ())
    model = form.for_tables(epsilon=EPSILON)
    rows = db.table("visits").contributing(max_rows=form.rows_of_unit, max_groups=1)
    before = share(db)
    with patch.object(File, "reading", unplugged):
        cost = model.cost(rows, target, columns=list(columns))
        assert str(model.cost()).startswith("epsilon = 0.5")
        assert not [name for name in vars(model) if name.endswith("_")], "a price leaves nothing behind"
    assert share(db) == before
    model.fit(rows, target, columns=list(columns), fresh=True)
    assert share(db) - before == pytest.approx(float(cost.shares["people"]), abs=1e-9)
    assert "receipt" in model.guarantee_.note


def share(db: Database) -> float:
    return float(db.spent()["people"].share)


def unplugged(self: File) -> Any:
    raise OSError("unplugged")


@pytest.mark.parametrize("form", TABLES[::4], ids=str)
def test_without_its_rows_nothing_is_learnt(form: Form, databases: list[NeighbouringTables]) -> None:
    """The twin of the test above: a fit does read."""
    target, columns = form.table or (None, ())
    rows = fitting(form, databases)[0].before.table("visits").contributing(max_rows=form.rows_of_unit, max_groups=1)
    with patch.object(File, "reading", unplugged), pytest.raises(Exception, match="stopped"):
        form.for_tables(epsilon=EPSILON).fit(rows, target, columns=list(columns), fresh=True)
