"""Public keys in their fixed order, and keys that were chosen."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from dalenius.query.expressions import Column
from dalenius.query.functions.functions import call, literal
from dalenius.query.keys import KeySpace, ListedKeys, key_tuples
from dalenius.query.types import Bool, Category, Date, Int, Text

CITY, AGE = Category("b", "a", nullable=True), Int(-1, 1)
SPACE = KeySpace((CITY, AGE))


def test_every_key_appears_once_in_order_with_null_last() -> None:
    keys = SPACE.keys()
    assert keys[:4] == [("b", -1), ("b", 0), ("b", 1), ("a", -1)]
    assert keys[-1] == (None, 1)
    assert len(keys) == len(set(keys)) == SPACE.size == 9


def test_positions_agree_with_the_order_of_the_keys() -> None:
    keys = SPACE.keys()
    columns = [pa.array([key[0] for key in keys]), pa.array([key[1] for key in keys])]
    assert SPACE.positions(columns, len(keys)).tolist() == list(range(len(keys)))


def test_keys_that_do_not_occur_count_zero_and_strangers_are_left_out() -> None:
    columns = [pa.array(["a", "z", None, "a"]), pa.array([1, 1, 0, 9])]
    dense = SPACE.dense(columns, np.array([5, 100, 7, 100]))
    assert dense.tolist() == [0, 0, 0, 0, 0, 5, 0, 7, 0]


def test_without_keys_there_is_one_group_even_if_no_row_is_left() -> None:
    assert KeySpace(()).keys() == [()]
    assert KeySpace(()).dense([], np.array([], dtype=np.int64)).tolist() == [0]
    assert KeySpace(()).dense([], np.array([3])).tolist() == [3]


@pytest.mark.parametrize("codes", [pa.array([2**63 - 1, -(2**63)]), pa.array([Decimal(2**100), Decimal(-(2**100))])])
def test_codes_far_outside_do_not_wrap_around(codes: pa.Array) -> None:
    assert KeySpace((AGE,)).positions([codes], 2).tolist() == [-1, -1]


def test_wide_integers_become_plain_ones() -> None:
    assert key_tuples([pa.array([Decimal(5), None]), pa.array([True, False])], 2) == [(5, True), (None, False)]


def test_truth_values_and_days_have_places() -> None:
    space = KeySpace((Bool(), Date("2024-01-01", "2024-01-02")))
    first = space.domains[1].code("2024-01-01")
    assert space.positions([pa.array([True]), pa.array([first])], 1).tolist() == [2]


def test_texts_have_no_public_keys() -> None:
    with pytest.raises(ValueError, match="public"):
        Text().codes()


def test_listed_keys_keep_their_order_and_count_what_is_missing_as_zero() -> None:
    listed = ListedKeys((("x",), ("a",), (None,)))
    columns = [pa.array(["a", None, "q"])]
    assert listed.dense(columns, np.array([4, 5, 6])).tolist() == [0, 4, 5]


def test_months_are_keys_and_the_days_between_are_not() -> None:
    day = Date("2024-01-01", "2024-03-31")
    months = call("date_trunc", literal("month"), Column(day, "t.day")).domain
    space = KeySpace((months,))
    every = space.keys()
    assert [months.decode(key) for (key,) in every] == [date(2024, 1, 1), date(2024, 2, 1), date(2024, 3, 1)]
    codes = pa.array([day.code("2024-02-01"), day.code("2024-02-02")])
    assert space.positions([codes], 2).tolist() == [1, -1]
