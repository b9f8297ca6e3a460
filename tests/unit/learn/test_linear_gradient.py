"""Noisy gradient descent: exact sums that no row moves further than declared, and training bugs that are noticed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.accounting.budget import Budget
from dalenius.checks.replay.replaying import replay
from dalenius.learn.budgets import allowance_of, relation
from dalenius.learn.linear.conditioning import FeatureShape, _moments, moments
from dalenius.learn.linear.gradient import Descent, LabelledRows, Pulls, descended, on_grid, pull
from dalenius.learn.losses_tabulated import HEAVIEST, WEIGHT, Slope
from dalenius.learn.rows import ONE, Entries, SealedRows, sealed
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import system_entropy

SHORT = Descent(steps=4)
NORM = 3 * ONE**2
SLOPES = {"cut": Slope(steepest=0.5), "hinge": Slope("hinge")}


def entries_of(features: Any, target: Any, counts: Any = None) -> Entries:
    kept = np.asarray(features, dtype=np.int16)
    ones = np.ones(len(kept), dtype=np.int64)
    return Entries(kept, np.asarray(target, dtype=np.int64), ones if counts is None else np.asarray(counts))


def some(count: int = 30, *, labels: int = 2, seed: int = 1) -> Entries:
    draws = np.random.default_rng(seed)
    features = draws.integers(-ONE, ONE + 1, (count, 3))
    features[:, -1] = ONE
    return entries_of(features, draws.integers(0, labels, count))


def rows_of(entries: Entries, neighbours: str = "add_remove", most: int = 1) -> SealedRows:
    return sealed(entries, NORM, relation(neighbours), most=most)


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("labels", [1, 3])
def test_gradients_are_exact_and_depend_on_each_row_alone(name: str, labels: int) -> None:
    """The sum over all rows is that over single rows, in Python's integers; heavy weights included."""
    entries = some(40, labels=max(2, labels))
    entries = entries_of(entries.features, entries.target, np.arange(1, 41) * 400)
    draws = np.random.default_rng(3)
    weights = on_grid(np.where(draws.integers(0, 2, (3, labels)), draws.normal(size=(3, labels)), HEAVIEST * 2.0))
    assert np.abs(weights).max() == HEAVIEST * WEIGHT
    whole = pull(LabelledRows.of(entries, labels), weights, SLOPES[name])
    parts = np.zeros((3, labels), dtype=object)
    for place in range(40):
        row = entries_of(entries.features[[place]], entries.target[[place]])
        parts += pull(LabelledRows.of(row, labels), weights, SLOPES[name]).astype(object) * int(entries.counts[place])
    assert (whole.astype(object) == parts).all()


@given(st.lists(st.integers(-ONE, ONE), min_size=3, max_size=3), st.integers(0, 2), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_no_row_adds_more_than_declared(features: list[int], target: int, seed: int) -> None:
    weights = on_grid(np.random.default_rng(seed).normal(size=(3, 3)) * 100)
    rows = rows_of(some())
    for slope in SLOPES.values():
        change = Pulls.of(rows, 3, slope).at(np.zeros((3, 3))).sensitivity
        added = pull(LabelledRows.of(entries_of([features], [target]), 3), weights, slope).astype(object)
        assert (added**2).sum() <= change.need("l2_squared", mechanism="")
        assert np.abs(added).sum() <= change.need("l1", mechanism="")
    summed = _moments(entries_of([features], [target])).astype(object)
    declared = moments(rows).sensitivity
    assert (summed**2).sum() <= declared.need("l2_squared", mechanism="")
    assert np.abs(summed).sum() <= declared.need("l1", mechanism="")


def test_every_label_has_a_score_of_its_own() -> None:
    """With three labels each pulls at its own column, the first one too."""
    entries = some(60, labels=3)
    pulled = pull(LabelledRows.of(entries, 3), np.zeros((3, 3), dtype=np.int64), SLOPES["cut"])
    shares = -pulled[-1] / (ONE * SLOPES["cut"].steps(np.zeros(1, dtype=np.int64))[0])
    expected = [2 * (entries.target == label).sum() - 60 for label in range(3)]
    assert shares.tolist() == expected


def test_centring_is_a_change_of_coordinates() -> None:
    """Scores of centred rows are those of the rows as they are, for the weights that belong to them."""
    shape = FeatureShape(10.0, np.array([0.25, -0.5, 0.0]), np.array([0.24, 0.24, 0.0]), 0.0)
    entries = entries_of([[ONE // 2, -ONE // 4, ONE], [ONE // 8, -ONE // 2, ONE]], [0, 1])
    weights = np.random.default_rng(2).normal(size=(3, 1))
    moved = opened(shape.centred(rows_of(entries)).entries)
    assert np.allclose(entries.features @ shape.original(weights), moved.features @ weights)


@given(st.lists(st.integers(-ONE, ONE), min_size=2, max_size=2), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_no_centred_row_is_longer_than_stated_or_off_the_grid(features: list[int], seed: int) -> None:
    draws = np.random.default_rng(seed)
    shape = FeatureShape(10.0, np.append(draws.uniform(-1, 1, 2), 0), draws.uniform(-1, 1, 3), 0.1)
    rows = shape.centred(rows_of(entries_of([[*features, ONE]], [1])))
    kept = opened(rows.entries).features.astype(object)
    assert (kept**2).sum() <= rows.norm_squared <= NORM + ONE**2
    assert np.abs(kept).max() <= ONE
    assert kept[0, -1] == shape.scales[-1] * ONE


def opened(exact: Any) -> Any:
    return object.__getattribute__(exact, "_Exact__value")()


# ---- replay, and planted bugs


def training(plan: Descent = SHORT, neighbours: str = "add_remove", most: int = 1, labels: int = 1) -> Any:
    def run(entries: Entries) -> Any:
        rows = rows_of(entries, neighbours, most)
        with allowance_of(Budget(1, "1e-6"), rows.neighbours) as allowance:
            weights = descended(rows, labels, SLOPES["cut"], plan, BudgetPart(allowance), system_entropy())
        return weights.tolist()

    return run


def grown(entries: Entries, row: Any = (-ONE, ONE, ONE), target: int = 1) -> Entries:
    features = np.concatenate([entries.features, np.array([row], dtype=np.int16)])
    return entries_of(features, np.append(entries.target, target))


def findings(**how: Any) -> set[str]:
    entries = some()
    return {found.kind for found in replay(training(**how), entries, grown(entries)).findings}


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("most", [1, 2])
def test_one_row_changes_no_call_no_parameter_and_no_value_further_than_declared(most: int, labels: int) -> None:
    assert not findings(most=most, labels=labels)


def test_rows_that_are_not_clipped_are_noticed() -> None:
    entries = some()
    long = grown(entries, row=(7 * ONE, 7 * ONE, ONE))
    assert "sensitivity" in {found.kind for found in replay(training(), entries, long).findings}


def test_a_mean_for_a_sum_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for a mean needs the number of rows, and that differs."""
    real = Pulls.at

    def mean(self: Pulls, weights: Any) -> Any:
        sizes: list[int] = []
        exact = real(self, weights)
        counting = self.facts.map(lambda facts: sizes.append(len(facts.counts)) or 0, sensitivity=1)
        opened(counting)
        change = exact.sensitivity.need("l2_squared", mechanism="") / sizes[0] ** 2
        return exact.map(
            lambda summed: summed // sizes[0],
            sensitivity=Sensitivity(l2_squared=change, neighbours=self.rows.neighbours),
        )

    monkeypatch.setattr(Pulls, "at", mean)
    assert "parameters" in findings()


def test_early_stopping_by_the_data_is_noticed() -> None:
    """A step is left out where the exact number of rows is even."""

    def stopping(entries: Entries) -> Any:
        rows = rows_of(entries)
        with allowance_of(Budget(1, "1e-6"), rows.neighbours) as allowance:
            budget_part, pulls = BudgetPart(allowance), Pulls.of(rows, 1, SLOPES["cut"])
            weights = np.zeros((3, 1))
            noise = budget_part.noise(budget_part.equal(4), pulls.at(weights).sensitivity)
            for _ in range(3 + len(entries) % 2):
                weights = weights - measure(noise, pulls.at(weights), allowance, system_entropy()) / 1e9
        return weights.tolist()

    entries = some()
    assert "calls" in {found.kind for found in replay(stopping, entries, grown(entries)).findings}


def test_a_scale_from_the_data_is_noticed() -> None:
    """Features divided by the largest one that occurs: one row moves the parts of all others."""

    def scaled(entries: Entries) -> Any:
        largest = int(np.abs(entries.features[:, 0]).max())
        features = entries.features.astype(np.int64)
        features[:, 0] = features[:, 0] * ONE // largest
        return training()(entries_of(features, entries.target))

    entries = some(60)
    small = entries_of(np.column_stack([entries.features[:, 0] // 16, entries.features[:, 1:]]), entries.target)
    assert "sensitivity" in {found.kind for found in replay(scaled, small, grown(small)).findings}


def test_exact_middles_that_centre_rows_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: rows moved by the exact middle of their range, instead of a noisy mean, all move when one row comes."""
    real = FeatureShape.centred

    def leaky(self: FeatureShape, rows: SealedRows) -> SealedRows:
        features = opened(rows.entries).features[:, :-1].astype(float)
        middle = (features.min(axis=0) + features.max(axis=0)) / (2 * ONE)
        return real(FeatureShape(self.count, np.append(middle, 0), np.ones(3), self.uncertain), rows)

    monkeypatch.setattr(FeatureShape, "centred", leaky)
    entries = some(60)
    small = entries_of(np.column_stack([entries.features[:, :2] // 16, entries.features[:, 2]]), np.ones(60))
    assert "sensitivity" in {found.kind for found in replay(training(), small, grown(small)).findings}


def test_steps_cost_what_the_budget_holds_and_no_more() -> None:
    rows = rows_of(some())
    with allowance_of(Budget(1, "1e-6"), rows.neighbours) as allowance:
        budget_part = BudgetPart(allowance)
        before = budget_part.left
        descended(rows, 1, SLOPES["cut"], SHORT, budget_part, system_entropy())
        assert 0 <= budget_part.left < before * Fraction(1, 1000)


def test_progress_is_told() -> None:
    rows, seen = rows_of(some()), list[float]()
    with allowance_of(Budget(1, "1e-6"), rows.neighbours) as allowance:
        descended(rows, 1, SLOPES["cut"], SHORT, BudgetPart(allowance), system_entropy(), seen.append)
    assert seen == [25, 50, 75, 100]
