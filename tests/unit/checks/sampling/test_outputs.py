"""Outputs of any kind are told apart as a reader would, and put in order where they are numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dalenius.checks.sampling.forms import Raised, form
from dalenius.checks.sampling.outputs import NOT_A_NUMBER, gathered
from dalenius.errors import InvalidParameter


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, 0),
        (True, 1),
        ("1", 1),
        (math.nan, 0.0),
        ((1, 2), (2, 1)),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ([1, None], [1, 0]),
        (b"a", "a"),
        ({1, 2}, {1, 3}),
        (-math.inf, math.inf),
        (0.0, -0.0),
        (1, 1.0),
        (np.int64(3), 3),
        (Decimal("1.0"), Decimal("1.00")),
        ([1, 2], (1, 2)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (2**53, 2**53 + 1),
        (2**63, 2**63 + 1),
        (math.nan, ("nan",)),
        (True, "True"),
        (Raised("ValueError", "1"), Raised("ValueError", "2")),
        (Raised("ValueError", ""), "raised ValueError"),
        (np.zeros((0, 2)), np.zeros((0, 3))),
        (np.arange(5000), np.arange(5000) * (np.arange(5000) != 2500)),
        (pd.DataFrame({"a": range(100)}), pd.DataFrame({"a": [*range(50), 0, *range(51, 100)]})),
        (pa.table({"a": range(100)}), pa.table({"a": [*range(50), 0, *range(51, 100)]})),
    ],
)
def test_outputs_that_differ_are_told_apart(one: Any, other: Any) -> None:
    outputs = gathered([one, one], [other, other])
    assert len(outputs) == 2
    assert outputs.places.tolist() in ([[0, 0], [1, 1]], [[1, 1], [0, 0]])
    assert len(gathered([one, 0.5], [other, -1])) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [(math.nan, -math.nan), ({"a": [1]}, {"a": [1]}), (np.int64(3), np.int64(3)), ({1, 2}, {2, 1})],
)
def test_outputs_that_look_the_same_are_one(one: Any, other: Any) -> None:
    assert form(one) == form(other)
    assert len(gathered([one, None], [other, None])) == 2


def test_numbers_among_other_entries_keep_their_order() -> None:
    outputs = gathered([(3, "x"), (None, "x")], [(Decimal("-1.5"), "y"), (10**30, "x")])
    ranks = {outputs.named(place): outputs.ranks[place, 0] for place in range(len(outputs))}
    assert ranks["(None, 'x')"] == NOT_A_NUMBER
    assert ranks["(Decimal('-1.5'), 'y')"] < ranks["(3, 'x')"] < ranks[f"({10**30}, 'x')"]


def test_arrays_and_lists_of_the_same_numbers_are_the_same() -> None:
    array = gathered(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [5, 6]]))
    mixed = gathered([(1, 2), (3, 4)], [(1, 2), (5, 6)])
    assert np.array_equal(array.places, mixed.places)
    assert np.array_equal(array.ranks, mixed.ranks)


def test_the_order_of_outcomes_does_not_depend_on_when_they_came() -> None:
    there = gathered(["b", "a"], ["c", None])
    back = gathered([None, "c"], ["a", "b"])
    assert [there.named(place) for place in range(4)] == [back.named(place) for place in range(4)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array([0.0, 0.0]), np.array([-0.0, -0.0])),
        (np.array([2**53, 2**53]), np.array([2**53 + 1] * 2, dtype=np.uint64)),
        (np.array([2**53 + 1] * 2), np.array([2.0**53] * 2)),
        (np.array([[1, 2**60 + 1]] * 2), np.array([[1, 2.0**60]] * 2)),
    ],
)
def test_numbers_of_arrays_that_differ_are_never_merged(first: Any, second: Any) -> None:
    assert len(gathered(first, second)) == 2


def test_the_type_of_a_whole_array_says_nothing_about_one_output() -> None:
    assert len(gathered(np.array([1, 2]), np.array([1.0, 2.0]))) == 2


def test_numbers_of_arrays_stay_in_order() -> None:
    numbers = np.array([3.5, -0.0, np.inf, -2.0, 0.0, np.nan, -np.inf, 1e-300])
    outputs = gathered(numbers[:4], numbers[4:])
    assert [str(number) for number in outputs.numbers[0]] == [
        "-inf",
        "-2.0",
        "-0.0",
        "0.0",
        "1e-300",
        "3.5",
        "inf",
        "nan",
    ]


@pytest.mark.parametrize("output", [object(), iter([1]), lambda: 1])
def test_what_shows_no_value_is_refused(output: Any) -> None:
    with pytest.raises(InvalidParameter, match="numbers, texts"):
        form(output)
