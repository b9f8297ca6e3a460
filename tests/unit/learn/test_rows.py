"""Rows to learn from: exact integers, of which no unit moves a sum by more than is declared."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.budget import Budget
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import allowance_of, budget_of, relation
from dalenius.learn.encoding import Scale, norm_squared
from dalenius.learn.losses_tabulated import ONE as FEATURE
from dalenius.learn.losses_tabulated import SLOPE, WEIGHT, Slope
from dalenius.learn.rows import ONE, PIECE, Entries, SealedRows, entries_of, product, sealed, within_norm
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.exact import Exact, unseal
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity

ROW = AddRemove("row")


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32))
def test_products_are_exact_whatever_their_length(length: int, width: int, seed: int) -> None:
    draws = np.random.default_rng(seed)
    left = draws.integers(-(2**26), 2**26, (3, length))
    right = draws.integers(-(2**26), 2**26, (length, width))
    expected = left.astype(object) @ right.astype(object)
    assert (product(left, right, largest=2**52) == expected).all()


def test_one_piece_of_any_length_would_round() -> None:
    """The twin: what `largest` understates is added in floats beyond 2^53."""
    left = np.full((1, 9), 2**26 + 1)
    right = np.full((9, 1), 2**26 + 1)
    assert product(left, right, largest=2**53)[0, 0] == 9 * (2**26 + 1) ** 2
    assert product(left, right, largest=1)[0, 0] != 9 * (2**26 + 1) ** 2


def test_sums_that_could_wrap_are_refused() -> None:
    with pytest.raises(OverflowError):
        product(np.zeros((1, 2), dtype=int), np.zeros((2, 1), dtype=int), largest=2**62)


@given(
    st.lists(st.lists(st.integers(-ONE, ONE), min_size=3, max_size=3), min_size=1, max_size=5),
    st.integers(1, 3 * ONE**2),
)
def test_no_row_is_longer_than_the_norm(rows: list[list[int]], squared: int) -> None:
    given_rows = np.array(rows, dtype=np.float64)
    kept = within_norm(given_rows, squared).astype(np.int64)
    assert ((kept**2).sum(axis=1) <= squared).all()
    short = (given_rows**2).sum(axis=1) <= squared
    assert (kept[short] == given_rows[short]).all()


def test_what_lies_outside_the_bounds_is_moved_to_them_and_zero_stays_zero() -> None:
    scale = Scale.declared(([0, 10], [1, 20]), 2)
    assert scale.scaled([[0, 15], [7, 40], [-3, 10]]).tolist() == [[0, 0], [1, 1], [0, -1]]
    assert scale.restored(scale.scaled([[0.25, 12]])).tolist() == [[0.25, 12]]


@pytest.mark.parametrize("bounds", [None, (1, 0), (0, float("nan")), ([0, 0], [1, 1, 1]), 3])
def test_bounds_must_be_declared_and_make_sense(bounds: object) -> None:
    with pytest.raises(InvalidParameter):
        Scale.declared(bounds, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", [0, -1, float("inf"), float("nan"), True, "large"])
def test_a_norm_must_make_sense(norm: object) -> None:
    with pytest.raises(InvalidParameter):
        norm_squared(norm, 4)


def test_a_norm_is_never_more_than_the_bounds_imply() -> None:
    assert norm_squared(None, 4) == norm_squared(100.0, 4) == 4 * ONE**2
    assert norm_squared(0.5, 4) == ONE**2 // 4
    alike = (1.5, "1.5", Fraction(3, 2), np.float32(1.5), np.float64(1.5), np.float16(1.5))
    assert {norm_squared(norm, 4) for norm in alike} == {9 * ONE**2 // 4}
    assert norm_squared(np.int64(1), 4) == ONE**2


@pytest.mark.parametrize("neighbours", [ROW, Replace("row")])
@pytest.mark.parametrize("most", [1, 3])
def test_a_sum_moves_by_no_more_than_is_declared(neighbours: AddRemove | Replace, most: int) -> None:
    draws = np.random.default_rng(0)
    features = draws.uniform(-1, 1, (20, 4))
    rows = _rows(features, neighbours, most)
    total = rows.summed(_plain, l2_squared=rows.norm_squared, l1=4 * ONE)
    near = features.copy()
    near[:most] = -np.sign(near[:most])
    other = near if isinstance(neighbours, Replace) else features[most:]
    moved = unseal(total) - unseal(_rows(other, neighbours, most).summed(_plain, l2_squared=1, l1=1))
    assert (moved**2).sum() <= total.sensitivity.l2_squared
    assert np.abs(moved).sum() <= total.sensitivity.l1


def test_long_tables_are_summed_piece_by_piece() -> None:
    features = np.full((PIECE + 5, 1), 1.0)
    rows = _rows(features, ROW, 1)
    assert unseal(rows.summed(_plain, l2_squared=1, l1=1)).tolist() == [ONE * (PIECE + 5)]
    assert unseal(rows.count()).tolist() == [PIECE + 5]


def test_an_empty_table_has_sums() -> None:
    rows = _rows(np.zeros((0, 2)), ROW, 1)
    assert unseal(rows.summed(_plain, l2_squared=1, l1=1)).tolist() == [0, 0]
    assert unseal(rows.count()).tolist() == [0]


@given(st.integers(-(2**40), 2**40))
def test_slopes_are_looked_up_and_no_steeper_than_stated(margin: int) -> None:
    for slope in (Slope(), Slope(steepest=0.5), Slope("hinge")):
        (steps,) = slope.steps(np.array([margin]))
        assert 0 <= steps <= slope.cap
        exact = slope.at(np.array([np.clip(margin / (FEATURE * WEIGHT), -16, 16)]))[0]
        assert steps / SLOPE == pytest.approx(exact, abs=0.01)


def test_odds_are_those_of_the_label() -> None:
    scores = np.array([-3.0, -0.1, 0.0, 0.1, 3.0])
    assert Slope().odds(scores) == pytest.approx(np.exp(scores))
    half = Slope(steepest=0.5).odds(scores)
    assert half[2] == 1
    assert (np.diff(half) > 0).all()


def test_a_purse_is_spent_to_the_last_unit_in_equal_parts() -> None:
    with allowance_of(Budget(1, "1e-5"), ROW) as allowance:
        budget_part = BudgetPart(allowance)
        part = budget_part.equal(7)
        noise = budget_part.noise(part, Sensitivity(l1=1, l2_squared=1))
        for _ in range(7):
            allowance.draw(noise.loss(sensitivity=Sensitivity(l1=1, l2_squared=1)))
        assert allowance.left.divergence < 7


def test_budgets_and_neighbours_are_asked_for_plainly() -> None:
    assert budget_of("0.5", None, None) == Budget("0.5")
    assert budget_of(None, None, Budget(1)) == Budget(1)
    for budget in (None, 3):
        with pytest.raises(InvalidParameter):
            budget_of(None, None, budget)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        relation("others")
    assert allowance_of(Budget(Fraction(1)), ROW).left.order is None


def _plain(entries: Entries) -> np.ndarray:
    return (entries.features.astype(np.int64) * entries.counts[:, None]).sum(axis=0)


def _rows(features: np.ndarray, neighbours: AddRemove | Replace, most: int) -> SealedRows:
    target = np.zeros(len(features), dtype=np.int64)
    rows = sealed(entries_of(features, target, 2 * ONE**2), 2 * ONE**2, neighbours, most=most)
    assert isinstance(rows.entries, Exact)
    return rows
