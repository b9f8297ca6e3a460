"""Sums of features, products and targets: exact, and moved by one row no further than is declared."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.learn.budgets import allowance_of, budget_of
from dalenius.learn.moments.bayes import ClassSums
from dalenius.learn.moments.regression import unexplained
from dalenius.learn.moments.sums import (
    crossed,
    parts,
    products,
    released,
    square,
    squares,
    sums,
    targets,
)
from dalenius.learn.rows import ONE, PIECE, Entries, Integers, SealedRows, entries_of, sealed
from dalenius.mechanisms.budget_parts import BudgetPart, deviation
from dalenius.privacy.exact import Exact, unseal
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import fresh_entropy

ROW = AddRemove("row")
WEIGHTS = np.array([0.5, -2.0, 900.0, 0.25])
SUMS: dict[str, Callable[[SealedRows], Exact[Integers]]] = {
    "sums": sums,
    "squares": squares,
    "products": products,
    "crossed": crossed,
    "targets": targets,
    "unexplained": lambda rows: unexplained(rows, WEIGHTS),
}


def rows_of(
    features: np.ndarray, target: np.ndarray, neighbours: Neighbours = ROW, most: int = 1, norm: float | None = None
) -> SealedRows:
    squared = 3 * ONE**2 if norm is None else int((norm * ONE) ** 2)
    return sealed(entries_of(features, target, squared), squared, neighbours, most=most)


def excess(total: Exact[Integers], moved: Integers) -> bool:
    """Whether a change is larger than the sensitivity of the sum."""
    size = moved.astype(object).ravel()
    squared, length = sum(size * size), sum(abs(size))
    return bool(squared > total.sensitivity.l2_squared or length > total.sensitivity.l1)


corners = st.sampled_from([-1.0, 1.0, 0.0, 0.5, -0.999, 1e9, -1e9])


@given(
    row=st.lists(corners, min_size=3, max_size=3),
    target=st.sampled_from([-ONE, ONE, 0, 17, 10**9, -(10**9)]),
    norm=st.sampled_from([None, 1.0, 0.3, 1.5, 0.001]),
    name=st.sampled_from(sorted(SUMS)),
)
def test_no_row_moves_a_sum_further_than_is_declared(
    row: list[float], target: int, norm: float | None, name: str
) -> None:
    draws = np.random.default_rng(0)
    features, targets_ = draws.uniform(-1, 1, (5, 3)), draws.integers(-ONE, ONE, 5)
    near = np.vstack([features, row]), np.append(targets_, target)
    total = SUMS[name](rows_of(features, targets_, norm=norm))
    assert not excess(total, unseal(SUMS[name](rows_of(*near, norm=norm))) - unseal(total))


@pytest.mark.parametrize("name", sorted(SUMS))
@pytest.mark.parametrize("neighbours", [ROW, Replace("row")])
@pytest.mark.parametrize("most", [1, 3])
def test_the_worst_rows_come_close_to_what_is_declared(name: str, neighbours: Neighbours, most: int) -> None:
    """Rows at a corner of the bounds reach the bound in one of the norms, so that no smaller one would do."""
    features, target = np.zeros((most, 3)), np.zeros(most, dtype=np.int64)
    worst, large = np.ones((most, 3)), np.full(most, ONE)
    other = (np.zeros((0, 3)), large[:0]) if isinstance(neighbours, AddRemove) else (features, target)
    total = SUMS[name](rows_of(worst, large, neighbours, most))
    moved = unseal(total) - unseal(SUMS[name](rows_of(*other, neighbours, most)))
    assert not excess(total, moved)
    steps = 1 if isinstance(neighbours, AddRemove) else 2
    assert steps**2 * int((moved.astype(object) ** 2).sum()) * 1.2 >= total.sensitivity.l2_squared


def test_a_sum_that_understates_its_norm_would_be_found() -> None:
    """The twin: pairs of features counted as if a row's products had no more than half of their squares."""
    rows = rows_of(np.ones((1, 3)), np.zeros(1, dtype=np.int64))
    honest = products(rows)
    planted = rows.entries.map(lambda _: unseal(honest), sensitivity=Sensitivity(l1=1, l2_squared=ONE**4))
    assert excess(planted, unseal(honest))
    assert not excess(honest, unseal(honest))


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_sums_are_those_of_the_rows(seed: int, size: int) -> None:
    draws = np.random.default_rng(seed)
    steps = draws.integers(-ONE, ONE + 1, (size, 3))
    target = draws.integers(-ONE, ONE + 1, size)
    rows = rows_of(steps / ONE, target)
    assert unseal(sums(rows)).tolist() == steps.sum(axis=0).tolist()
    assert unseal(squares(rows)).tolist() == (steps**2).sum(axis=0).tolist()
    assert square(unseal(products(rows)).astype(float), 3).tolist() == (steps.T @ steps).tolist()
    assert unseal(crossed(rows)).tolist() == (steps.T @ target).tolist()
    assert unseal(targets(rows)).tolist() == [target.sum()]


def test_an_entry_counts_for_all_rows_that_it_stands_for() -> None:
    steps, target = np.array([[ONE, -5, 7], [3, 3, -ONE]], dtype=np.int16), np.array([ONE, -9])
    counts = np.array([PIECE, 3])
    unstated = Sensitivity(neighbours=ROW)

    def rows(entries: Entries) -> SealedRows:
        return SealedRows(Exact(entries, sensitivity=unstated, neighbours=ROW), 3, 3 * ONE**2)

    packed = rows(Entries(steps, target, counts))
    each = rows(
        Entries(np.repeat(steps, counts, axis=0), np.repeat(target, counts), np.ones(PIECE + 3, dtype=np.int64))
    )
    for name, total in SUMS.items():
        assert unseal(total(packed)).tolist() == unseal(total(each)).tolist(), name
    for label in (ONE, -9):
        some = Entries(steps, (target == label).astype(np.int64), counts)
        assert ClassSums(2)(some)[1].tolist() == (steps * counts[:, None])[target == label].sum(0).tolist()


def test_what_is_left_unexplained_is_exact_and_cut_off() -> None:
    steps, target = np.array([[ONE, 0, 0], [0, ONE, 0], [0, 0, ONE // 2]]), np.array([0, 0, ONE])
    rows = rows_of(steps / ONE, target)
    first, second = ONE * np.array([-0.25, 1.0, 0.5])[[0, 1]]
    weights = np.array([0.5, -0.75, 0.0, -0.25])
    left = np.array([-ONE // 4, ONE, ONE])
    found = unseal(unexplained(rows, weights))
    assert found.tolist() == [*(steps.T @ left).tolist(), left.sum() * ONE]
    assert first == left[0]
    assert second == left[1]


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_parts_sum_up_to_no_more_than_the_purse(delta: object) -> None:
    shares = {"one": Fraction(1, 3), "other": Fraction(2, 3)}
    rows = rows_of(np.ones((4, 3)), np.zeros(4, dtype=np.int64))
    with allowance_of(budget_of(1, delta, None), ROW) as allowance:
        budget_part = BudgetPart(allowance)
        paid = parts(budget_part, shares)
        noisy = released(sums(rows), ONE, budget_part, paid["one"], fresh_entropy())
        assert noisy.deviation == deviation(budget_part.noise(paid["one"], sums(rows).sensitivity)) / ONE
        released(products(rows), ONE**2, budget_part, paid["other"], fresh_entropy())
        assert allowance.left.divergence < 3


def test_norms_that_are_not_square_are_rounded_to_the_safe_side() -> None:
    rows = SealedRows(rows_of(np.ones((1, 3)), np.zeros(1, dtype=np.int64)).entries, 3, 7)
    assert products(rows).sensitivity.l1 == (3 * 7 + 7) // 2
    assert products(rows).sensitivity.l2_squared <= 49
    assert sums(rows).sensitivity.l1 == isqrt(21)
