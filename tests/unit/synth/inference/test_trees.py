"""Cliques hold every group, and what is known of a column can be passed between all cliques that have it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalenius.synth.inference.trees import Edge, Growth, Tree, clique_tree
from dalenius.tabular.domains import CellDomain, Columns

GRID = CellDomain({name: 2 + place % 4 for place, name in enumerate("abcdefgh")})


def random_groups(seed: int) -> list[Columns]:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 10))
    return [
        GRID.ordered(random.choice(list(GRID.columns), size=int(random.integers(1, 4)), replace=False).tolist())
        for _ in range(count)
    ]


def is_sound(tree: Tree) -> bool:
    """Each clique but the root is a child once and after all its children; and whatever column a clique has in common
    with any clique nearer to the root, it shares with its parent."""
    children = [edge.child for edge in tree.edges]
    if sorted([*children, tree.root]) != list(range(len(tree.cliques))):
        return False
    seen = {tree.root}
    for edge in reversed(tree.edges):
        inside = set(tree.cliques[edge.child])
        before = set().union(*(tree.cliques[place] for place in seen))
        if edge.parent not in seen or set(edge.shared) != inside & set(tree.cliques[edge.parent]):
            return False
        if inside & before != set(edge.shared):
            return False
        seen.add(edge.child)
    return True


@pytest.mark.parametrize("seed", range(30))
def test_trees_of_random_groups_are_sound(seed: int) -> None:
    groups = random_groups(seed)
    tree = clique_tree(groups, GRID)
    assert is_sound(tree)
    assert all(tree.holding(group) is not None for group in groups)
    assert {name for clique in tree.cliques for name in clique} == set(GRID.columns)


def test_the_test_above_notices_an_edge_to_the_wrong_clique() -> None:
    tree = clique_tree([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], GRID)
    wrong = [replace(edge, parent=tree.root) for edge in tree.edges]
    assert any(edge.parent != tree.root for edge in tree.edges)
    shared = [
        Edge(edge.child, edge.parent, tuple(n for n in tree.cliques[edge.child] if n in tree.cliques[edge.parent]))
        for edge in wrong
    ]
    assert not is_sound(replace(tree, edges=tuple(shared)))


@pytest.mark.parametrize("seed", range(10))
def test_the_cells_of_larger_trees_are_known_before_they_are_made(seed: int) -> None:
    groups, others = random_groups(seed), random_groups(seed + 100)
    expected = [clique_tree([*groups, other], GRID).cells(GRID) for other in others]
    growth = Growth(GRID, groups)
    assert [growth.cells(other) for other in others] == expected
