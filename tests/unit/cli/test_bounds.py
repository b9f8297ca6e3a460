"""Suggested bounds: an ordinary question about edges that no file can move, and what is made of its noisy answer."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.cli.proposals import around, edges, question

EDGES = edges("Int")


def place(value: int) -> int:
    """Where the question counts a value."""
    return next((index for index, edge in enumerate(EDGES) if value < edge), len(EDGES))


@given(values=st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=6), people=st.integers(50, 10**6))
def test_bounds_hold_every_value_that_many_people_have(values: list[int], people: int) -> None:
    counts = dict.fromkeys(range(len(EDGES) + 1), 0) | {place(value): people for value in values}
    found = around(EDGES, counts, Fraction(40))
    assert found is not None
    assert found[0] <= min(values) <= max(values) <= found[1]


@given(counts=st.dictionaries(st.integers(0, len(EDGES)), st.integers(-40, 40)))
def test_where_nothing_stands_out_of_the_noise_nothing_is_suggested(counts: dict[int, int]) -> None:
    assert around(EDGES, counts, Fraction(40)) is None


@pytest.mark.parametrize(
    ("low", "high", "bounds"),
    [(1, 95, (0, 200)), (60, 240, (0, 1000)), (200, 240, (100, 1000)), (-95, -1, (-200, 0)), (-3, 7, (-10, 20))],
)
def test_bounds_are_numbers_that_people_would_choose(low: int, high: int, bounds: tuple[int, int]) -> None:
    counts = {place(value): 1000 for value in range(low, high + 1)}
    assert around(EDGES, counts, Fraction(40)) == tuple(map(Decimal, bounds))


def test_a_value_that_few_have_lies_inside_as_well_if_it_is_one_edge_away() -> None:
    counts = {place(value): 1000 for value in range(20, 90)} | {place(104): 2}
    found = around(EDGES, counts, Fraction(40))
    assert found is not None
    assert found[1] >= 104


def test_the_question_names_the_table_and_the_column_and_nothing_of_a_file() -> None:
    text = question("visits_provisional", "age", "Int")
    assert text.startswith("SELECT CASE WHEN age < -1000000000000 THEN 0 WHEN age < -500000000000 THEN 1 ")
    assert text.endswith("AS units FROM visits_provisional WHERE age IS NOT NULL GROUP BY place")
    assert edges("Real") == sorted(edges("Real"))
    assert len(EDGES) == len(set(EDGES)) == 75
