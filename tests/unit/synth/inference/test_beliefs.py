"""Marginals of a model on a tree are those of the distribution that it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.synth.inference import beliefs as module
from dalenius.synth.inference.beliefs import Array, Beliefs, contracted, summed
from dalenius.synth.inference.calibration import Calibration
from dalenius.synth.inference.trees import clique_tree
from dalenius.tabular.domains import CellDomain, Columns
from small_models import GRID, LOOPS, all_groups, joint_of


def model(
    groups: list[Columns], seed: int, *, size: float = 1.0, grid: CellDomain = GRID
) -> tuple[Calibration, dict[Columns, Array]]:
    random = np.random.default_rng(seed)
    calibration = Calibration(grid, clique_tree(groups, grid), groups)
    return calibration, {group: random.normal(0, size, grid.shape(group)) for group in groups}


def furthest(beliefs: Beliefs, joint: Array, grid: CellDomain = GRID) -> float:
    groups = all_groups(grid)
    told = beliefs.marginals(groups)
    return max(
        float(np.abs(array - summed(joint, grid.columns, group)).max())
        for group, array in zip(groups, told, strict=True)
    )


@pytest.mark.parametrize("groups", LOOPS)
@pytest.mark.parametrize("size", [1.0, 300.0])
def test_all_marginals_are_those_of_the_whole_distribution(groups: list[Columns], size: float) -> None:
    """Even when potentials are hundreds apart, where plain exponentials overflow."""
    for seed in range(5):
        calibration, potentials = model(groups, seed, size=size)
        beliefs = calibration.beliefs(calibration.pack(potentials))
        assert furthest(beliefs, joint_of(GRID, potentials)) < 1e-9


def test_a_long_chain_with_branches_has_the_right_marginals() -> None:
    grid = CellDomain({name: 2 + place % 2 for place, name in enumerate("abcdefg")})
    groups = [("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("e", "f"), ("b", "g")]
    calibration, potentials = model(groups, 3, grid=grid)
    assert furthest(calibration.beliefs(calibration.pack(potentials)), joint_of(grid, potentials), grid) < 1e-12


def test_the_tests_above_notice_a_product_that_is_not_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(left: Array, left_columns: Columns, right: Array, right_columns: Columns, kept: Columns) -> Array:
        return contracted(np.sqrt(left), left_columns, right, right_columns, kept)

    monkeypatch.setattr(module, "contracted", wrong)
    calibration, potentials = model(LOOPS[0], 0)
    assert furthest(calibration.beliefs(calibration.pack(potentials)), joint_of(GRID, potentials)) > 1e-3


@pytest.mark.parametrize("groups", LOOPS)
def test_the_marginals_of_groups_and_the_sum_over_all_rows_are_right(groups: list[Columns]) -> None:
    calibration, potentials = model(groups, 1)
    told = calibration.unpack(calibration.marginals(calibration.pack(potentials)).copy())
    joint = joint_of(GRID, potentials)
    for group in groups:
        assert np.allclose(told[group], summed(joint, GRID.columns, group), atol=1e-12)
    sums = np.log(joint)
    some_row = (1, 2, 0, 2)
    values = dict(zip(GRID.columns, some_row, strict=True))
    here = sum(float(array[tuple(values[name] for name in group)]) for group, array in potentials.items())
    assert calibration.log_total == pytest.approx(here - sums[some_row], abs=1e-9)


@pytest.mark.parametrize("groups", LOOPS)
def test_the_greatest_row_is_found(groups: list[Columns]) -> None:
    calibration, potentials = model(groups, 2)
    joint = np.log(joint_of(GRID, potentials))
    calibration.marginals(calibration.pack(potentials))
    best = calibration.log_total + float(joint.max())
    assert calibration.greatest(calibration.pack(potentials)) == pytest.approx(best, abs=1e-9)


def test_what_is_impossible_has_probability_zero_and_the_rest_is_in_proportion() -> None:
    groups = LOOPS[0]
    random = np.random.default_rng(4)
    allowed = {clique: (random.random(GRID.shape(clique)) < 0.7) * 1.0 for clique in clique_tree(groups, GRID).cliques}
    calibration = Calibration(GRID, clique_tree(groups, GRID), groups, allowed.__getitem__)
    potentials = {group: random.normal(0, 5, GRID.shape(group)) for group in groups}
    joint = joint_of(GRID, potentials)
    for clique, array in allowed.items():
        joint = joint * array.reshape([GRID.sizes[name] if name in clique else 1 for name in GRID.columns])
    beliefs = calibration.beliefs(calibration.pack(potentials))
    assert furthest(beliefs, joint / joint.sum()) < 1e-12
    for clique, array in allowed.items():
        assert (beliefs.marginal(clique)[array == 0] == 0).all()


def test_a_table_without_possible_rows_is_refused() -> None:
    calibration = Calibration(GRID, clique_tree(LOOPS[1], GRID), LOOPS[1], lambda clique: np.zeros(GRID.shape(clique)))
    with pytest.raises(InvalidParameter, match="possible"):
        calibration.marginals(np.zeros(calibration.size))
