"""Neighbour relations relate exactly what they say, and parts for different ones do not mix."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from dalenius.errors import InvalidParameter, MissingNeighbours, NeighbourMismatch
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace, require_same, stated
from dalenius.textbook.privacy.databases import (
    Graph,
    all_databases,
    by_unit,
    graphs_related,
    l1_distance,
    multiset,
    size,
    streams_related,
)

UNIVERSE = ("a", "b", "c")
DATABASES = list(all_databases(UNIVERSE, range(4)))


def key(database: Counter[str]) -> frozenset[tuple[str, int]]:
    return frozenset(database.items())


@pytest.mark.textbook("S1.2")
@pytest.mark.parametrize("relation", [AddRemove(), Replace()])
def test_listing_neighbours_and_testing_for_them_agree(relation: Neighbours) -> None:
    for x in DATABASES:
        listed = {key(y) for y in relation.around(x, UNIVERSE)}
        assert listed == {key(y) for y in all_databases(UNIVERSE, range(5)) if relation.related(x, y)}
        assert all(relation.related(y, x) for y in DATABASES if relation.related(x, y))


@pytest.mark.textbook("S1.2")
def test_add_remove_is_l1_distance_one_and_replace_keeps_the_size() -> None:
    for x, y in product(DATABASES, repeat=2):
        assert AddRemove().related(x, y) == (l1_distance(x, y) == 1)
        assert Replace().related(x, y) == (size(x) == size(y) and l1_distance(x, y) == 2)


@pytest.mark.textbook("S1.2")
def test_replacing_is_two_additions_or_removals() -> None:
    for x in DATABASES:
        two_steps = {key(z) for y in AddRemove().around(x, UNIVERSE) for z in AddRemove().around(y, UNIVERSE)}
        assert {key(y) for y in Replace().around(x, UNIVERSE)} <= two_steps
    assert (AddRemove().add_remove_steps, Replace().add_remove_steps) == (1, 2)


@pytest.mark.textbook("S1.2")
def test_parts_for_different_relations_or_levels_are_refused() -> None:
    require_same(mechanism=AddRemove(), value=AddRemove())
    with pytest.raises(NeighbourMismatch, match=r"the mechanism is for adding or removing.*the value is for replacing"):
        require_same(mechanism=AddRemove(), value=Replace())
    with pytest.raises(NeighbourMismatch, match="one event of a stream"):
        require_same(mechanism=AddRemove("event"), value=AddRemove("user"))


@pytest.mark.textbook("S1.2")
@pytest.mark.parametrize("missing", [None, "add_remove", AddRemove])
def test_a_relation_must_be_stated(missing: object) -> None:
    with pytest.raises(MissingNeighbours, match="Say who is protected"):
        stated(missing)


@pytest.mark.textbook("S1.2")
def test_no_relation_without_a_kind_or_with_an_unknown_level() -> None:
    with pytest.raises(MissingNeighbours):
        Neighbours()
    with pytest.raises(InvalidParameter, match="one of row, unit"):
        AddRemove("planet")


@pytest.mark.textbook("S1.2")
def test_movie_ratings_at_event_level_and_at_user_level() -> None:
    ratings = [("ann", "Vertigo"), ("ann", "Jaws"), ("bob", "Jaws")]
    one_less, no_ann = ratings[1:], ratings[2:]
    assert AddRemove("event").related(multiset(ratings), multiset(one_less))
    assert not AddRemove("event").related(multiset(ratings), multiset(no_ann))
    assert AddRemove("user").related(by_unit(ratings), by_unit(no_ann))
    assert Replace("user").related(by_unit(ratings), by_unit(one_less))


@pytest.mark.textbook("S1.2")
@pytest.mark.parametrize(
    ("relation", "second", "expected"),
    [
        (AddRemove("user"), "bcb", True),  # every a is gone
        (AddRemove("user"), "abcb", False),  # one a stayed
        (AddRemove("event"), "abcb", True),
        (AddRemove("event"), "bcb", False),
        (AddRemove("event"), "abacb", False),  # nothing changed
        (Replace("event"), "cbacb", True),
        (Replace("event"), "cbccb", False),  # two positions
        (Replace("user"), "cbccb", True),  # both a became c
        (Replace("user"), "cbacb", True),  # one of them: some instances suffice
        (Replace("user"), "cbbcb", False),  # a became two different symbols
        (Replace("user"), "cbacc", False),  # a and b changed
        (Replace("user"), "abac", False),  # another length
    ],
)
def test_stream_neighbours_at_each_level(relation: Neighbours, second: str, expected: bool) -> None:
    assert streams_related("abacb", second, relation) is expected
    assert streams_related(second, "abacb", relation) is expected


def graph(vertices: str, *edges: str) -> Graph:
    return Graph(frozenset(vertices), frozenset(frozenset(edge) for edge in edges))


@pytest.mark.textbook("S1.2")
@pytest.mark.parametrize(
    ("relation", "second", "expected"),
    [
        (AddRemove("edge"), graph("abcd", "ab", "bc"), True),
        (AddRemove("edge"), graph("abcd", "ab"), False),
        (AddRemove("edge"), graph("abc", "ab", "bc", "ca"), False),  # a vertex left, no edge did
        (Replace("edge"), graph("abcd", "ab", "bc", "cd"), True),
        (AddRemove("vertex"), graph("bcd", "bc"), True),  # a left with both its edges
        (AddRemove("vertex"), graph("bcd", "bc", "cd"), False),  # and another edge came
        (AddRemove("vertex"), graph("abcd", "bc"), False),  # the edges left, the vertex did not
        (Replace("vertex"), graph("abcd", "bc", "ad"), True),  # a has other edges
        (Replace("vertex"), graph("abcd", "ad", "bd"), False),  # a and b have
    ],
)
def test_graph_neighbours_at_each_level(relation: Neighbours, second: Graph, expected: bool) -> None:
    triangle = graph("abcd", "ab", "bc", "ca")
    assert graphs_related(triangle, second, relation) is expected
    assert graphs_related(second, triangle, relation) is expected


@pytest.mark.textbook("S1.2")
def test_levels_and_kinds_of_data_must_fit() -> None:
    with pytest.raises(InvalidParameter, match="event or user"):
        streams_related("a", "b", AddRemove("row"))
    with pytest.raises(InvalidParameter, match="edge or vertex"):
        graphs_related(graph("a"), graph("ab"), AddRemove("unit"))
    with pytest.raises(InvalidParameter, match="two different vertices"):
        graph("ab", "ac")
