"""Databases keep their content through every form, and their distances agree."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.textbook.privacy.databases import (
    MOST_CELLS,
    all_databases,
    by_unit,
    from_histogram,
    hamming_distance,
    histogram,
    l1_distance,
    multiset,
    rows_of,
    size,
)

UNIVERSE = ("a", "b", "c")
rows = st.lists(st.sampled_from(UNIVERSE), max_size=6)


@pytest.mark.textbook("S1.1")
@given(rows)
def test_every_form_holds_the_same_rows(drawn: list[str]) -> None:
    database = multiset(drawn)
    assert sorted(rows_of(database)) == sorted(drawn)
    assert histogram(database, UNIVERSE) == tuple(drawn.count(row) for row in UNIVERSE)
    assert from_histogram(histogram(database, UNIVERSE), UNIVERSE) == database
    assert size(database) == len(drawn) == sum(histogram(database, UNIVERSE))


@pytest.mark.textbook("S1.1")
@given(rows, rows)
def test_l1_distance_is_that_of_the_histograms(first: list[str], second: list[str]) -> None:
    x, y = multiset(first), multiset(second)
    gaps = zip(histogram(x, UNIVERSE), histogram(y, UNIVERSE), strict=True)
    assert l1_distance(x, y) == l1_distance(y, x) == sum(abs(a - b) for a, b in gaps)


@pytest.mark.textbook("S1.1")
@given(st.lists(st.tuples(st.sampled_from(UNIVERSE), st.sampled_from(UNIVERSE)), max_size=5))
def test_hamming_distance_of_the_best_order_is_half_the_l1_distance(pairs: list[tuple[str, str]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    best = min(hamming_distance(first, order) for order in permutations(second))
    assert 2 * best == l1_distance(multiset(first), multiset(second))


@pytest.mark.textbook("S1.1")
def test_hamming_distance_counts_positions_and_refuses_other_lengths() -> None:
    assert hamming_distance("abca", "abba") == 1
    assert hamming_distance("ab", "ba") == 2
    with pytest.raises(InvalidParameter, match=r"as many as the first.*l1_distance"):
        hamming_distance("ab", "abc")


@pytest.mark.textbook("S1.1")
def test_enumeration_lists_every_multiset_once() -> None:
    databases = list(all_databases(UNIVERSE, range(4)))
    assert len(databases) == sum(comb(len(UNIVERSE) + count - 1, count) for count in range(4)) == 20
    assert len({histogram(database, UNIVERSE) for database in databases}) == 20


@pytest.mark.textbook("S1.1")
def test_a_histogram_over_a_huge_universe_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidParameter, match="Keep the multiset form"):
        histogram(Counter({5: 1}), range(MOST_CELLS + 1))


@pytest.mark.textbook("S1.1")
def test_rows_outside_the_universe_and_broken_counts_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="holds every row") as caught:
        histogram(Counter({"patient zero": 1}), UNIVERSE)
    assert "patient zero" not in str(caught.value)
    with pytest.raises(InvalidParameter, match="distinct"):
        histogram(Counter(), ("a", "a"))
    with pytest.raises(InvalidParameter):
        from_histogram((1, 2), UNIVERSE)
    with pytest.raises(InvalidParameter):
        from_histogram((1, 2, -1), UNIVERSE)


@pytest.mark.textbook("S1.1")
def test_a_unit_is_one_thing_however_many_rows_it_has() -> None:
    ratings = [("ann", "Vertigo"), ("ann", "Jaws"), ("ann", "Jaws"), ("bob", "Jaws")]
    without_ann = [rating for rating in ratings if rating[0] != "ann"]
    assert l1_distance(multiset(ratings), multiset(without_ann)) == 3
    assert l1_distance(by_unit(ratings), by_unit(without_ann)) == 1
    assert by_unit(ratings) == by_unit(reversed(ratings))
