"""Drawn rows have the model's marginals, as near as whole numbers allow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from checks import ALARM, SeededEntropy
from dalenius.errors import InvalidParameter
from dalenius.synth.inference import sampling
from dalenius.synth.inference.beliefs import Array, Beliefs
from dalenius.synth.inference.calibration import Calibration
from dalenius.synth.inference.sampling import Codes, rows, rows_given
from dalenius.synth.inference.trees import clique_tree
from dalenius.tabular.domains import CellDomain, Columns
from small_models import GRID, LOOPS, all_groups


def model(groups: list[Columns], seed: int, grid: CellDomain = GRID) -> Beliefs:
    random = np.random.default_rng(seed)
    calibration = Calibration(grid, clique_tree(groups, grid), groups)
    return calibration.beliefs(random.normal(0, 1.0, calibration.size))


def counted(found: Codes, columns: Columns, grid: CellDomain = GRID) -> Array:
    values = tuple(found[:, grid.columns.index(name)] for name in columns)
    cells = np.ravel_multi_index(values, grid.shape(columns))
    return np.bincount(cells, minlength=grid.size(columns)).reshape(grid.shape(columns)).astype(float)


@pytest.mark.parametrize("groups", LOOPS)
def test_cliques_have_their_expected_numbers_rounded_given_what_they_share(groups: list[Columns]) -> None:
    beliefs, count = model(groups, 1), 997
    found = rows(beliefs, count, SeededEntropy(groups))
    assert found.shape == (count, len(GRID.columns))
    root = beliefs.tree.cliques[beliefs.tree.root]
    assert (np.abs(counted(found, root) - count * beliefs.marginal(root)) < 1 + 1e-9).all()
    for edge in beliefs.tree.edges:
        clique = beliefs.tree.cliques[edge.child]
        wide = [GRID.sizes[name] if name in edge.shared else 1 for name in clique]
        shared = beliefs.marginal(edge.shared) if edge.shared else np.ones(1)
        so_far = counted(found, edge.shared) if edge.shared else np.full(1, count)
        expected = (so_far / shared).reshape(wide) * beliefs.marginal(clique)
        assert (np.abs(counted(found, clique) - expected) < 1 + 1e-9).all()


def furthest_from_chance(beliefs: Beliefs, draw: int) -> float:
    """The least p-value of all marginals of many rows: rounding makes them nearer than chance would, not farther."""
    found = rows(beliefs, 20_000, SeededEntropy(draw))
    values = []
    for group in all_groups(GRID):
        expected = 20_000 * beliefs.marginal(group).ravel()
        seen = counted(found, group).ravel()
        statistic = float(((seen - expected) ** 2 / expected).sum())
        values.append(float(stats.chi2.sf(statistic, expected.size - 1)))
    return min(values)


@pytest.mark.parametrize("groups", LOOPS)
def test_all_marginals_of_drawn_rows_are_the_models(groups: list[Columns]) -> None:
    assert furthest_from_chance(model(groups, 2), 3) > ALARM


def test_the_test_above_notices_rows_that_are_continued_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without chance in who gets what, columns that do not depend on each other would."""

    def in_order(keys: tuple[Array, ...]) -> Codes:
        return np.argsort(keys[-1], kind="stable")

    monkeypatch.setattr(sampling.np, "lexsort", in_order)
    assert furthest_from_chance(model(LOOPS[1], 2), 3) < ALARM


def test_each_number_is_right_on_average() -> None:
    beliefs = model(LOOPS[1], 4)
    draws = np.array([counted(rows(beliefs, 7, SeededEntropy(draw)), ("a", "b")) for draw in range(2_000)])
    expected = 7 * beliefs.marginal(("a", "b"))
    error = np.maximum(draws.std(axis=0), 0.01) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) < 7 * error).all()


@pytest.mark.parametrize("groups", LOOPS)
@pytest.mark.parametrize("known", [("a",), ("b", "d"), ("a", "c", "d"), ("a", "b", "c", "d")])
def test_completed_rows_keep_what_is_known_and_follow_the_model(groups: list[Columns], known: Columns) -> None:
    """The known columns come from the model itself, so all columns together must have its marginals."""
    beliefs, count = model(groups, 5), 20_000
    given = rows(beliefs, count, SeededEntropy(("given", groups)))
    columns = {name: given[:, GRID.columns.index(name)] for name in known}
    found = rows_given(beliefs, columns, SeededEntropy(("rest", groups, known)))
    for name, values in columns.items():
        assert (found[:, GRID.columns.index(name)] == values).all()
    expected = count * beliefs.marginal(GRID.columns).ravel()
    statistic = float(((counted(found, GRID.columns).ravel() - expected) ** 2 / expected).sum())
    assert stats.chi2.sf(statistic, GRID.cells - 1) > ALARM


def test_known_columns_change_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows with one value each follow the distribution given it; forgetting what is below a clique is noticed."""
    beliefs = model([("a", "b"), ("b", "c"), ("c", "d")], 6)
    joint = beliefs.marginal(GRID.columns)

    def p_value() -> float:
        found = rows_given(beliefs, {"a": np.full(20_000, 2), "d": np.full(20_000, 1)}, SeededEntropy(8))
        expected = 20_000 * joint[2, :, :, 1] / joint[2, :, :, 1].sum()
        seen = counted(found, ("b", "c"))
        return float(stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), expected.size - 1))

    assert p_value() > ALARM
    monkeypatch.setattr(sampling._Completion, "_spread", lambda self, told, shared, place: np.ones(1))
    assert p_value() < ALARM


def test_impossible_known_values_are_completed_all_the_same() -> None:
    grid = CellDomain({"a": 2, "b": 2, "c": 2})
    possible = np.array([[1.0, 0.0], [0.0, 1.0]])
    calibration = Calibration(
        grid,
        clique_tree([("a", "b"), ("b", "c")], grid),
        [("a", "b"), ("b", "c")],
        lambda clique: possible if clique == ("a", "b") else np.ones((2, 2)),
    )
    beliefs = calibration.beliefs(np.zeros(calibration.size))
    found = rows_given(beliefs, {"a": np.zeros(9, dtype=np.int64), "b": np.ones(9, dtype=np.int64)}, SeededEntropy(1))
    assert (found[:, 0] == 0).all()
    assert (found[:, 1] == 1).all()
    assert set(found[:, 2].tolist()) == {0, 1}


def test_no_rows_and_bad_rows() -> None:
    beliefs = model(LOOPS[0], 7)
    assert rows(beliefs, 0, SeededEntropy(1)).shape == (0, 4)
    assert rows_given(beliefs, {"a": np.zeros(0, dtype=np.int64)}, SeededEntropy(1)).shape == (0, 4)
    with pytest.raises(InvalidParameter, match="count"):
        rows(beliefs, -1, SeededEntropy(1))
    with pytest.raises(InvalidParameter, match="known"):
        rows_given(beliefs, {}, SeededEntropy(1))
    with pytest.raises(InvalidParameter, match="known"):
        rows_given(beliefs, {"a": np.array([3])}, SeededEntropy(1))
    with pytest.raises(InvalidParameter, match="known"):
        rows_given(beliefs, {"a": np.array([0]), "b": np.array([0, 1])}, SeededEntropy(1))
