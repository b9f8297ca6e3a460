"""Distances between exact values are exact, and what cannot be compared is infinitely far."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.checks.observer import first_difference
from dalenius.checks.replay.distances import beyond, difference, excesses
from dalenius.mechanisms.keys.key_selection import KeyCounts
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles, ValueCounts
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity

NAN, INF = float("nan"), float("inf")


def listed(**counts: int) -> KeyCounts:
    return KeyCounts([(key,) for key in counts], np.array(list(counts.values()), dtype=np.int64))


def values(*pairs: tuple[int, int]) -> ValueCounts:
    return ValueCounts(np.array([value for value, _ in pairs]), np.array([count for _, count in pairs]))


@pytest.mark.parametrize(
    ("first", "second", "moved"),
    [
        (3, 5, {(): 2}),
        (2**80, 2**80 + 1, {(): 1}),
        (Fraction(1, 3), Fraction(1, 2), {(): Fraction(1, 6)}),
        (0.5, 0.25, {(): Fraction(-1, 4)}),
        (True, False, {(): -1}),
        ([1, 2, 3], [1, 5, 1], {1: 3, 2: -2}),
        ((1, (2, 3)), (1, (2, 4)), {(1, 1): 1}),
        (np.array([1, 2]), np.array([1, -(2**63)], dtype=np.int64), {1: -(2**63) - 2}),
        (np.array([[1, 2], [3, 4]]), np.array([[1, 2], [9, 4]]), {(1, 0): 6}),
        (np.array(7), np.array(9), {(): 2}),
        (np.array([2**70, 1], dtype=object), np.array([2**70 + 5, 1], dtype=object), {0: 5}),
        ({"a": 1, "b": 2}, {"b": 2, "c": 4}, {"a": -1, "c": 4}),
        (Counter("aab"), Counter("ab"), {"a": -1}),
        ({1, 2}, {2, 3}, {1: -1, 3: 1}),
        (listed(a=2, b=0), listed(c=1, a=2), {("c",): 1}),
        ([values((3, 1), (3, 2)), values()], [values((3, 2)), values((4, 1))], {(0, 3): -1, (1, 4): 1}),
        ("same", "same", {}),
    ],
)
def test_changes_are_exact(first: Any, second: Any, moved: dict[Any, Any]) -> None:
    assert difference(first, second) == moved
    assert difference(second, first) == {key: -step for key, step in moved.items()}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, NAN),
        (INF, 1),
        (NAN, NAN),
        ([1], [1, 2]),
        ([1], (1,)),
        (1, "1"),
        ([1], [NAN]),
        (np.array([1, 2]), np.array([[1, 2]])),
        (np.array([1.0]), np.array([NAN])),
        (np.array([NAN]), np.array([NAN])),
        ({"a": 1}, {"a": NAN}),
        ({"a": 1}, [1]),
        ("one", "two"),
        (None, 1),
        (KeyCounts([("a",), ("a",)], np.array([1, 1])), listed(a=2)),
    ],
)
def test_what_cannot_be_compared_is_infinitely_far(first: Any, second: Any) -> None:
    assert difference(first, second) is None
    assert difference(second, first) is None


def test_every_norm_that_is_stated_is_looked_at() -> None:
    moved = {0: 3, 1: -4}
    assert {excess.norm for excess in beyond(moved, Sensitivity(l1=7, l2_squared=25, linf=4))} == set()
    assert {excess.norm for excess in beyond(moved, Sensitivity(l1=6))} == {"l1"}
    assert {excess.norm for excess in beyond(moved, Sensitivity(l2_squared=24))} == {"l2_squared"}
    assert {excess.norm for excess in beyond(moved, Sensitivity(linf=3))} == {"linf"}
    assert {excess.norm for excess in beyond(moved, Sensitivity(linf=4, monotone=True))} == {"monotone"}


def test_nothing_allows_an_infinite_distance() -> None:
    neighbours = AddRemove()
    far = excesses(DiscreteLaplace(Fraction(1), neighbours), Sensitivity(linf=10**9), neighbours, 1, NAN)
    assert [excess.moved for excess in far] == ["infinitely far"]


def test_quantiles_may_change_in_few_groups_and_few_rows_of_each() -> None:
    neighbours = AddRemove()
    half = (Fraction(1, 2),)
    mechanism = PrivateQuantiles(
        targets=half, lower=0, upper=9, rate=Fraction(1), neighbours=neighbours, rows=2, groups=1
    )
    wide = Sensitivity(l1=9)
    one = [values((1, 1)), values()]
    check = lambda other: [excess.norm for excess in excesses(mechanism, wide, neighbours, one, other)]  # noqa: E731
    assert check([values((1, 1), (5, 2)), values()]) == []
    assert check([values((1, 1), (5, 1)), values((5, 1))]) == ["groups"]
    assert check([values((1, 1), (5, 3)), values()]) == ["rows of a group"]


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ([1, {"a": (2, NAN)}], [1, {"a": (3, NAN)}], "the result[1]['a'][0]"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "the result.keys()[0]"),
        (np.array([1, 2]), np.array([1, 3]), "the result[1]"),
        (np.array([1, 2]), np.array([1.0, 2.0]), "the result"),
        (1, 1.0, "the result"),
        ([1], [1, 1], "the result"),
    ],
)
def test_the_first_place_that_differs_is_told(first: Any, second: Any, place: str) -> None:
    assert first_difference(first, first) is None
    found = first_difference(first, second)
    assert found is not None
    assert found.split(":")[0] == place
