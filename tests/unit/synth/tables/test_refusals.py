"""What cannot be made or computed with is refused while it costs nothing, and no number is too large to be exact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dalenius as dl
from clinics import clinic
from dalenius.errors import InvalidParameter
from dalenius.session.databases import Database
from dalenius.synth.tables import adaptive, choosing
from dalenius.synth.tables.adaptive import Settings
from dalenius.synth.tables.choosing import FINENESS, MOST_ROWS, distance, rounded
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import MatrixWorkload, Product


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with clinic() as database:
        yield database


@pytest.mark.parametrize(
    "settings",
    [
        {"groups": []},
        {"groups": [[]]},
        {"groups": [["age"], []]},
        {"order": 6},
        {"groups": [["age"], ["age", "city", "cost", "day", "age"] * 2], "order": 9},
        {"total": 10**13},
        {"total": 10**400},
        {"total": 0},
        {"columns": "age"},
        {"columns": ["age", "patient_id"]},
        {"columns": ["age"], "bins": {"costs": 3}},
        {"columns": ["age", "city"], "bins": {"city": 2}},
        {"columns": ["cost"], "bins": {"cost": "0.001"}},
        {"columns": ["age", "cost"], "bins": {"age": 121, "cost": 9000}, "settings": Settings(largest=10**5)},
        {"settings": None},
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_charged(
    db: Database, settings: dict[str, Any]
) -> None:
    for attempt in ("cost", "fit"):
        with pytest.raises((InvalidParameter, dl.DaleniusError)):
            getattr(dl.Synthesizer(**settings), attempt)(db.table("visits"), epsilon=1)
    assert db.spent()["patients"].share == 0


@pytest.mark.parametrize("more", [{"progress": True}, {"epsilon": "1e-9"}])
def test_offers_that_make_no_sense_are_refused_too(more: dict[str, Any]) -> None:
    with clinic(dl.Budget(epsilon=3)) as pure:
        with pytest.raises(InvalidParameter):
            dl.Synthesizer().fit(pure.table("visits"), **{"epsilon": 1, **more})
        assert pure.spent()["patients"].share == 0


def test_whoever_is_told_may_end_the_work_and_keeps_what_was_measured() -> None:
    def told(percent: float) -> None:
        if percent > 20:
            raise KeyError("enough")

    with clinic() as db:
        table = dl.Synthesizer(columns=["age", "city"], order=2).fit(db.table("visits"), epsilon=1, progress=told)
        whole = dl.Synthesizer(columns=["age", "city"], order=2).fit(db.table("visits"), epsilon=1, fresh=True)
        assert 2 <= len(table.measured) < len(whole.measured)
        assert len(table.sample(10)) == 10


def test_settings_are_checked_when_they_are_made() -> None:
    for wrong in ({"batch": "x"}, {"batch": 0}, {"largest": 0}):
        with pytest.raises(InvalidParameter):
            Settings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("expected", [1e300, float("inf"), float("nan"), -1e300, 2.0**62, 0.0004])
def test_a_row_more_moves_a_distance_by_its_own_count_whatever_a_model_says(expected: float) -> None:
    told = rounded(np.full((50, 200), expected))
    nobody, somebody = np.zeros((50, 200), dtype=np.int64), np.zeros((50, 200), dtype=np.int64)
    somebody[3, 7] = 1
    assert abs(distance(somebody, told) - distance(nobody, told)) <= FINENESS
    assert distance(nobody, told) == sum(map(int, told.ravel()))
    assert 0 <= told.min() <= told.max() <= FINENESS * MOST_ROWS


def test_the_test_above_notices_counts_that_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    def naive(counts: Any, told: Any) -> int:
        return int(np.abs(FINENESS * counts - told).sum())

    monkeypatch.setitem(globals(), "distance", naive)
    with pytest.raises(AssertionError):
        test_a_row_more_moves_a_distance_by_its_own_count_whatever_a_model_says(1e300)


def test_the_model_is_rounded_where_it_meets_data() -> None:
    assert adaptive.rounded is choosing.rounded


def test_weights_of_too_many_parts_are_refused() -> None:
    line = CellDomain({"x": 2})
    with pytest.raises(InvalidParameter, match="coarser"):
        MatrixWorkload(line, [[2**32 + 1, 0]], denominator=2**33)
    with pytest.raises(InvalidParameter, match="coarser"):
        MatrixWorkload.from_numbers(line, [["0.44721359551", 0]])
    fine = MatrixWorkload(line, [[2**16, 1]], denominator=2**16)
    with pytest.raises(InvalidParameter, match="coarser"):
        Product(fine, MatrixWorkload(CellDomain({"y": 2}), [[1, 2]], denominator=2))
    many = MatrixWorkload(line, [[2**16, 0]] * 1000, denominator=2**16)
    assert many.column_norms() == (1000 * 2**16, 1000 * 2**32, 2**16)
