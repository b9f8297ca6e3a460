"""k-means: good centres from noisy counts and sums, and no row that moves them further than declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import check_estimator

from clinics import clinic
from costs import cases
from dalenius.checks.replay.replaying import Replayed, replay
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import allowance_of, budget_of, relation
from dalenius.learn.clusters import plans as rounds
from dalenius.learn.clusters.boxes import FINEST, Box, Lattice, cluster, cost
from dalenius.learn.clusters.kmeans import KMeans
from dalenius.learn.clusters.plans import (
    ClusterRound,
    Lloyd,
    Seeded,
    filled,
    occupied,
    shortened,
    totals,
    typical_spacing,
)
from dalenius.learn.encoding import Scale
from dalenius.learn.rows import ONE, Entries, SealedRows, entries_of, sealed
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.exact import unseal
from dalenius.privacy.neighbours import AddRemove
from dalenius.randomness.entropy import fresh_entropy

SQUARE = Box.of(Scale.declared((0, 1), 2))
ROW = AddRemove("row")


def blobs(count: int = 3000) -> np.ndarray:
    chance = np.random.default_rng(0)
    middles = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.9]])
    return np.clip(middles[chance.integers(3, size=count)] + chance.normal(0, 0.05, (count, 2)), 0, 1)


# ---- what is found


@pytest.mark.parametrize("settings", [{"delta": "1e-6"}, {}, {"neighbours": "replace"}, {"method": "lloyd"}])
def test_centres_are_found(settings: dict[str, Any]) -> None:
    fitted = KMeans(3, epsilon=20, bounds=(0, 1), **settings).fit(blobs())
    found = fitted.cluster_centers_[fitted.cluster_centers_[:, 0].argsort()]
    assert np.abs(found - [[0.2, 0.2], [0.5, 0.9], [0.8, 0.3]]).max() < 0.03
    assert np.abs(fitted.sizes_ - 1000).max() < 150
    assert fitted.score(blobs()) / 3000 == pytest.approx(-0.005, abs=0.001)
    assert len(np.unique(fitted.predict(blobs()))) == 3
    assert not hasattr(fitted, "labels_")


def test_distances_are_those_of_the_columns_as_they_were_given() -> None:
    """A column of large numbers decides, as it does without privacy."""
    rows = blobs() * [1, 1000]
    fitted = KMeans(3, epsilon=20, bounds=([0, 0], [1, 1000])).fit(rows)
    assert np.abs(np.sort(fitted.cluster_centers_[:, 1]) - [200, 300, 900]).max() < 30


def test_many_columns_start_from_spread_points() -> None:
    chance = np.random.default_rng(1)
    middles = np.where(chance.random((3, 20)) < 0.5, 0.2, 0.8)
    rows = np.clip(middles[chance.integers(3, size=4000)] + chance.normal(0, 0.05, (4000, 20)), 0, 1)
    box = Box.of(Scale.declared((0, 1), 20))
    assert Lattice.largest(box, 2048) is None
    fitted = KMeans(3, epsilon=100, bounds=(0, 1)).fit(rows)
    assert -fitted.score(rows) / 4000 < 0.5 * ((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean()


def test_a_private_table_is_charged() -> None:
    with clinic() as db:
        fitted = KMeans(2, epsilon=1).fit(db.table("visits"), columns=["age", "cost"])
        assert db.spent()["patients"].share > 0
        assert fitted.cluster_centers_.shape == (2, 2)
        assert fitted.predict({"age": [3, 80], "cost": [1.0, 2.0]}).shape == (2,)
        spent = db.spent()["patients"].share
        for model, target in ((KMeans(0), None), (KMeans(2, method="k"), None), (KMeans(2), "age")):  # type: ignore[arg-type]
            with pytest.raises(InvalidParameter):
                model.fit(db.table("visits"), target, columns=["age", "cost"])
        assert db.spent()["patients"].share == spent


@pytest.mark.parametrize(
    "wrong", [{"n_clusters": 0}, {"n_clusters": 1.5}, {"n_clusters": True}, {"method": "k"}, {"bounds": None}]
)
def test_what_is_not_declared_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        KMeans(**{"bounds": (0, 1), **wrong}).fit(blobs(30))


UNLIKE = {
    "check_pipeline_consistency": "two fits differ by their noise",
    "check_transformer_data_not_an_array": "two fits differ by their noise",
    "check_transformer_general": "two fits differ by their noise",
    "check_fit_idempotent": "two fits differ by their noise",
    "check_clustering": "labels of the rows of a fit are not kept",
}


def test_it_is_an_estimator_like_all_others() -> None:
    results = check_estimator(
        KMeans(epsilon=50, bounds=(-10, 10)), expected_failed_checks=UNLIKE, on_fail=None, on_skip=None
    )
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []


# ---- whole numbers


@given(st.integers(0, 2**32))
def test_the_nearest_centre_is_exact_and_the_row_s_own(seed: int) -> None:
    chance = np.random.default_rng(seed)
    box = Box.of(Scale.declared(([0, -3, 17], [1, 5, 90]), 3))
    centres = chance.integers(box.lower, box.upper + 1, (5, 3))
    centres[4] = centres[1]
    rows = np.vstack([chance.integers(box.lower, box.upper + 1, (20, 3)), centres[3:]])
    step = ClusterRound(box, centres, 1000, False)
    found = step.nearest(rows)
    exact = [
        [sum(int(part) ** 2 for part in (row - centre) * box.lengths) for centre in centres] for row in rows.tolist()
    ]
    assert found.tolist() == [distances.index(min(distances)) for distances in exact]
    assert found.tolist() == [int(step.nearest(row[None])[0]) for row in rows]


@given(st.lists(st.integers(-(2**22), 2**22), min_size=3, max_size=3), st.integers(1, 2**22), st.booleans())
def test_no_way_is_longer_than_the_radius(way: list[int], radius: int, pure: bool) -> None:
    box = Box(np.full(3, -(2**22)), np.full(3, 2**22), np.ones(3, dtype=np.int64))
    limits = ClusterRound(box, np.zeros((1, 3), dtype=np.int64), radius, pure).limits
    (short,) = shortened(np.array([way]), limits, pure).tolist()
    length = sum(map(abs, short)) if pure else sum(step**2 for step in short)
    assert length <= (radius if pure else radius**2)
    assert all(one * other >= 0 for one, other in zip(short, way, strict=True))
    whole = sum(map(abs, way)) if pure else sum(step**2 for step in way) ** 0.5
    assert whole > radius or short == way
    assert length ** (1 if pure else 0.5) >= min(whole, radius) * 16 / 17 - 4, "not much shorter than it has to be"


def test_rows_are_counted_at_the_nearest_point_of_a_grid() -> None:
    lattice = Lattice.largest(SQUARE, 30)
    assert lattice is not None
    assert lattice.levels == (5, 5)
    rows = np.random.default_rng(3).integers(-9, ONE + 9, (500, 2))
    kept = np.clip(rows, 0, ONE)
    nearest = ((lattice.points[None] - kept[:, None]) ** 2).sum(axis=2).min(axis=1)
    found = ((lattice.points[lattice.indices(rows)] - kept) ** 2).sum(axis=1)
    assert (found == nearest).all()


def test_narrow_columns_have_fewer_levels() -> None:
    box = Box.of(Scale.declared(([0, 0, 0], [1, 0.5, 0.001]), 3))
    lattice = Lattice.largest(box, 100)
    assert lattice is not None
    assert lattice.levels[0] > lattice.levels[1] > lattice.levels[2] == 1
    assert box.lengths.tolist() == [FINEST, FINEST // 2, 1]


def test_spread_points_fill_the_box_and_go_on() -> None:
    points = SQUARE.spread(64)
    assert ((points >= 0) & (points <= ONE)).all()
    assert np.histogram2d(*points.T, bins=4)[0].min() >= 2
    assert (SQUARE.spread(60, skipped=4) == points[4:]).all()


def test_weighted_points_are_clustered_well() -> None:
    chance = np.random.default_rng(4)
    points, weights = chance.random((200, 2)), chance.random(200)
    centres = cluster(points, weights, 5)
    assert cost(points, weights, centres) < 0.3 * cost(points, weights, points.mean(axis=0)[None])
    assert np.array_equal(centres, cluster(points, weights, 5))


def test_clusters_of_few_rows_are_moved_next_to_large_ones() -> None:
    centres = np.array([[100, 100], [3000, 3000], [10, 4000]])
    after = filled(SQUARE, centres, np.array([900.0, 0.0, 800.0]), 0)
    assert (after[[0, 2]] == centres[[0, 2]]).all()
    assert np.abs(after[1] - centres[0]).max() < 0.2 * ONE
    assert (filled(SQUARE, centres, np.zeros(3), 0) == centres).all()


STRANGERS = {
    "a corner": [1.0, 1.0],
    "far outside": [1e300, -1e300],
    "in the middle": [0.5, 0.5],
    "minus zero": [-0.0, 0.0],
}


def moved_by(before: Any, after: Any) -> np.ndarray:
    return np.abs(np.asarray(unseal(after)) - np.asarray(unseal(before)))


def rows_of(data: Any) -> SealedRows:
    scaled = Scale.declared((0, 1), 2).scaled(data)
    return sealed(entries_of(scaled, np.zeros(len(data), dtype=int), 2 * ONE**2), 2 * ONE**2, ROW)


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("pure", [False, True])
def test_no_row_moves_a_sum_further_than_declared(stranger: str, pure: bool) -> None:
    data = blobs(40)
    more = np.vstack([data, STRANGERS[stranger]])
    step = ClusterRound(SQUARE, SQUARE.spread(3), typical_spacing(SQUARE, SQUARE.spread(3)), pure)
    lattice = Lattice(SQUARE, (4, 4))
    pairs = [
        (step.of(rows_of(data)), step.of(rows_of(more))),
        (occupied(rows_of(data), lattice), occupied(rows_of(more), lattice)),
        *zip(totals(rows_of(data), SQUARE, step.centres), totals(rows_of(more), SQUARE, step.centres), strict=True),
    ]
    for before, after in pairs:
        moved = moved_by(before, after)
        assert moved.sum() <= before.sensitivity.l1
        assert (moved**2).sum() <= before.sensitivity.l2_squared


def test_equal_rows_that_are_one_entry_count_each() -> None:
    step = ClusterRound(SQUARE, SQUARE.spread(3), 1000, False)
    features = np.array([[5, 4000], [4000, 90]], dtype=np.int16)
    zeros = np.zeros(5, dtype=int)
    once = Entries(features[[0, 0, 0, 1, 1]], zeros, zeros + 1)
    together = Entries(features, zeros[:2], np.array([3, 2]))
    assert (step.summed(once) == step.summed(together)).all()


# ---- neighbours


def replayed(data: tuple[Any, Any], *, relation_name: str = "add_remove", delta: str | None = "1e-6",
             method: str = "seeded") -> Replayed:  # fmt: skip
    def run(rows: Any) -> Any:
        fitted = KMeans(
            3,
            epsilon=1,
            delta=delta,
            bounds=(0, 1),
            neighbours=relation_name,
            method=method,  # type: ignore[arg-type]
        ).fit(rows)
        return fitted.cluster_centers_.tolist(), fitted.sizes_.tolist(), str(fitted.guarantee_)

    charge = allowance_of(budget_of(1, delta, None), relation(relation_name)).left
    found = replay(run, *data, charged=[charge])
    assert found.error is None
    return found


def pair(stranger: str, relation_name: str) -> tuple[Any, Any]:
    data = blobs(60)
    more = np.vstack([data, STRANGERS[stranger]])
    return (data if relation_name == "add_remove" else np.vstack([data, [[0.1, 0.9]]])), more


@pytest.mark.textbook("S14.5")
@cases("method", ["seeded", "lloyd"], fast=1)
@pytest.mark.parametrize("delta", ["1e-6", None])
@pytest.mark.parametrize("relation_name", ["add_remove", "replace"])
@pytest.mark.parametrize("stranger", STRANGERS)
def test_one_row_changes_no_call_no_parameter_and_no_value_further_than_declared(
    stranger: str, relation_name: str, delta: str | None, method: str
) -> None:
    found = replayed(pair(stranger, relation_name), relation_name=relation_name, delta=delta, method=method)
    assert not found.findings
    assert len(found.calls) >= 5


def test_the_test_above_notices_ways_that_are_not_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "shortened", lambda ways, radius, pure: ways)
    monkeypatch.setattr(rounds, "typical_spacing", lambda box, centres: 1000)
    assert {finding.kind for finding in replayed(pair("a corner", "add_remove")).findings} == {"sensitivity"}


def test_the_test_above_notices_rows_that_are_not_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divided by the largest of all rows instead of moved into the bounds."""
    real = Scale.scaled

    def rescaled(self: Scale, values: Any) -> Any:
        return values / np.abs(values).max() if np.ndim(values) == 2 else real(self, values)

    monkeypatch.setattr(Scale, "scaled", rescaled)
    assert replayed(pair("far outside", "add_remove"), method="lloyd").findings


def test_the_test_above_notices_a_start_that_comes_from_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    real = KMeans._rows

    def seen(self: KMeans, features: Any, target: Any) -> SealedRows:
        rows = real(self, features, target)
        start = np.rint(self._scale.scaled(features[-3:]) * ONE).astype(int)
        monkeypatch.setattr(Box, "spread", lambda box, count, skipped=0: start)
        return rows

    monkeypatch.setattr(KMeans, "_rows", seen)
    assert replayed(pair("a corner", "add_remove"), method="lloyd").findings


def test_the_test_above_notices_empty_clusters_that_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ClusterRound.summed

    def leaky(self: ClusterRound, entries: Entries) -> Any:
        found = real(self, entries)
        return np.where((found[:, :1] > 0).all(), found, 0)

    monkeypatch.setattr(ClusterRound, "summed", leaky)
    start = np.array([[0, 0], [9, 9], [ONE, ONE]])
    monkeypatch.setattr(Seeded, "_start", lambda self, *facts: start)
    monkeypatch.setattr(Box, "spread", lambda self, count, skipped=0: start)
    data = np.zeros((50, 2))
    data[:20] = 9 / ONE
    assert replayed((data, np.vstack([data, [[1.0, 1.0]]]))).findings


def test_the_test_above_notices_counts_and_sums_that_are_billed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SealedRows.change

    def half(self: SealedRows, *, l2_squared: int, l1: int) -> Any:
        return real(self, l2_squared=max(1, l2_squared // 16), l1=max(1, l1 // 4))

    monkeypatch.setattr(SealedRows, "change", half)
    assert replayed(pair("a corner", "add_remove"), method="lloyd").findings


@pytest.mark.parametrize("plan", [Seeded(), Lloyd()])
@pytest.mark.parametrize("stated", [3, 1])
def test_all_rows_of_a_unit_are_counted(plan: Seeded | Lloyd, stated: int) -> None:
    """Three rows of one unit come at once; the twin states that a unit has one."""

    def run(data: Any) -> Any:
        rows = SealedRows(rows_of(data).entries, 2, 2 * ONE**2, stated)
        with allowance_of(budget_of(1, "1e-6", None), ROW) as allowance:
            centres, sizes = plan.found(rows, SQUARE, 3, BudgetPart(allowance), fresh_entropy(), None)
        return centres.tolist(), sizes.tolist()

    data = blobs(40)
    found = replay(run, data, np.vstack([data, [[1.0, 1.0]] * 3]))
    assert found.error is None
    assert found.passed == (stated == 3)


@pytest.mark.parametrize("plan", [Seeded(), Lloyd()])
@pytest.mark.parametrize("delta", ["1e-6", None])
def test_no_rows_at_all_are_learnt_from_like_others(plan: Seeded | Lloyd, delta: str | None) -> None:
    with allowance_of(budget_of(1, delta, None), ROW) as allowance:
        centres, sizes = plan.found(rows_of(np.zeros((0, 2))), SQUARE, 3, BudgetPart(allowance), fresh_entropy(), None)
    assert ((centres >= 0) & (centres <= ONE)).all()
    assert np.isfinite(sizes).all()


# ---- centres that fall together


@cases("method", ["seeded", "lloyd"], fast=1)
def test_centres_that_fall_together_cost_nothing_more_and_fail_nowhere(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a table as of arrays: the first of them has all rows, and all others none."""
    monkeypatch.setattr(Box, "inside", lambda self, points: np.zeros(np.shape(points), dtype=np.int64))
    with clinic() as db:
        for model in (
            KMeans(4, bounds=(-1, 1), method=method).fit(np.zeros((30, 2))),
            KMeans(4, epsilon=1, method=method).fit(db.table("visits"), columns=["age", "city"]),
        ):
            assert len(np.unique(model.cluster_centers_, axis=0)) == 1
            assert len(model.sizes_) == 4


def test_rows_that_are_all_alike_have_as_many_centres_as_were_asked_for() -> None:
    model = KMeans(5, epsilon=100, bounds=(0, 1)).fit(np.full((500, 2), 0.25))
    assert model.cluster_centers_.shape == (5, 2)
    assert model.predict([[0.25, 0.25]]).shape == (1,)
