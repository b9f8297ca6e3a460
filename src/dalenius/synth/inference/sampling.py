"""Sampling: rows whose marginals are as near to the model's as whole numbers can be.

Rows are drawn clique by clique. Among all rows with the same values so far, each continuation gets its expected number
of rows, rounded up or down: one random offset rounds all of them, so that each is right on average, and chance alone
says which row gets which continuation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole
from dalenius.randomness.entropy import Entropy
from dalenius.synth.inference.beliefs import Array, Beliefs, spread, summed
from dalenius.tabular.domains import CellDomain, Columns

Codes = NDArray[np.int64]

_AT_ONCE = 1 << 22
"""How many numbers are held at once when rows are completed."""


def rows(beliefs: Beliefs, count: int, entropy: Entropy) -> Codes:
    """So many rows, one column for each of the grid's, in random order. The number of rows with any values of a clique
    is the expected number given the values that it shares with the clique before it, rounded up or down."""
    found = np.zeros((whole(0, count=count), len(beliefs.grid.columns)), dtype=np.int64)
    for place, shared in _downwards(beliefs):
        _draw(found, beliefs.grid, shared, beliefs.tree.cliques[place], beliefs.probabilities[place], entropy)
    return found[np.argsort(entropy.words(count), kind="stable")]


def rows_given(beliefs: Beliefs, known: Mapping[str, Codes], entropy: Entropy) -> Codes:
    """One row for each entry of the known columns, the others drawn from their distribution given these. Where the
    model says that known values cannot occur together, all continuations are equally likely."""
    grid, codes = beliefs.grid, _checked(beliefs.grid, known)
    given = set(known)
    found = np.zeros((len(codes), len(grid.columns)), dtype=np.int64)
    found[:, [grid.columns.index(name) for name in grid.ordered(given)]] = codes
    informed = _informed(beliefs, given)
    open_cells = max(grid.size(set(beliefs.tree.cliques[place]) - given) for place in informed)
    step, order = max(1, _AT_ONCE // open_cells), np.lexsort(codes.T)
    for begin in range(0, len(order), step):
        chosen = order[begin : begin + step]
        part = found[chosen]
        _Completion(beliefs, given, informed, part).draw(entropy)
        found[chosen] = part
    for place, shared in _downwards(beliefs):
        if place not in informed:
            _draw(found, grid, shared, beliefs.tree.cliques[place], beliefs.probabilities[place], entropy)
    return found


def _checked(grid: CellDomain, known: Mapping[str, Codes]) -> Codes:
    if len({len(values) for values in known.values()}) != 1:
        raise InvalidParameter("known", sorted(known), allowed="at least one column, all of one length")
    names = grid.ordered(known)
    codes = np.stack([np.asarray(known[name], dtype=np.int64) for name in names], axis=1)
    if (codes < 0).any() or (codes >= np.array(grid.shape(names))).any():
        raise InvalidParameter("known", sorted(known), allowed="values from 0 to one less than the column's size")
    return codes


def _downwards(beliefs: Beliefs) -> Iterator[tuple[int, Columns]]:
    """Each clique after its parent, with the columns that it shares with it."""
    yield beliefs.tree.root, ()
    for edge in reversed(beliefs.tree.edges):
        yield edge.child, edge.shared


def _informed(beliefs: Beliefs, given: set[str]) -> set[int]:
    """The root, and the cliques that have something known in or below them that their parent does not have."""
    found, known_below = {beliefs.tree.root}, {place: set[str]() for place in range(len(beliefs.tree.cliques))}
    for edge in beliefs.tree.edges:
        own = (known_below[edge.child] | set(beliefs.tree.cliques[edge.child]) & given) - set(edge.shared)
        known_below[edge.parent] |= own
        if own:
            found.add(edge.child)
    return found


class _Completion:
    """Some rows with known columns: each clique's distribution over its open columns, for each combination of known
    values and with all that is known below it."""

    def __init__(self, beliefs: Beliefs, given: set[str], informed: set[int], part: Codes) -> None:
        self._beliefs, self._given, self._part = beliefs, given, part
        self._combinations, which = np.unique(
            part[:, [name in given for name in beliefs.grid.columns]], axis=0, return_inverse=True
        )
        self._which: Codes = which.reshape(-1)
        self._tables = {place: self._at_known(place) for place in informed}
        for edge in beliefs.tree.edges:
            if edge.child in informed:
                told = self._summed(edge.child, edge.shared)
                top = told.reshape(len(told), -1).max(axis=1).reshape(-1, *[1] * (told.ndim - 1))
                told = told / np.where(top > 0, top, 1.0)
                self._tables[edge.parent] = self._tables[edge.parent] * self._spread(told, edge.shared, edge.parent)

    def draw(self, entropy: Entropy) -> None:
        """Fill in the open columns of all cliques that know something."""
        grid = self._beliefs.grid
        for place, shared in _downwards(self._beliefs):
            if place not in self._tables:
                continue
            columns, before = self._open(self._beliefs.tree.cliques[place]), self._open(shared)
            new = tuple(name for name in columns if name not in before)
            table = self._tables[place].transpose([0, *(1 + columns.index(name) for name in (*before, *new))])
            keys = self._which * grid.size(before) + _codes(self._part, grid, before)
            _assign(self._part, keys, table.reshape(-1, grid.size(new)), grid, new, entropy)

    def _open(self, columns: Columns) -> Columns:
        return tuple(name for name in columns if name not in self._given)

    def _at_known(self, place: int) -> Array:
        """A clique's probabilities given what it shares, at each combination of known values."""
        clique, known = self._beliefs.tree.cliques[place], self._beliefs.grid.ordered(self._given)
        wanted = [self._combinations[:, known.index(name)] for name in clique if name in self._given]
        first = [axis for axis, name in enumerate(clique) if name in self._given]
        last = [axis for axis, name in enumerate(clique) if name not in self._given]
        table = self._beliefs.conditionals[place].transpose([*first, *last])
        if not wanted:
            return np.broadcast_to(table, (len(self._combinations), *table.shape))
        chosen: Array = table[tuple(wanted)]
        return chosen

    def _summed(self, place: int, shared: Columns) -> Array:
        columns = ("", *self._open(self._beliefs.tree.cliques[place]))
        return summed(self._tables[place], columns, ("", *shared))

    def _spread(self, told: Array, shared: Columns, place: int) -> Array:
        return spread(told, ("", *self._open(shared)), ("", *self._open(self._beliefs.tree.cliques[place])))


def _draw(found: Codes, grid: CellDomain, given: Columns, clique: Columns, table: Array, entropy: Entropy) -> None:
    """Fill in the columns of a clique that are not given."""
    new = tuple(name for name in clique if name not in given)
    lines = table.transpose([clique.index(name) for name in (*given, *new)]).reshape(-1, grid.size(new))
    _assign(found, _codes(found, grid, given), lines, grid, new, entropy)


def _assign(found: Codes, keys: Codes, lines: Array, grid: CellDomain, new: Columns, entropy: Entropy) -> None:
    """Fill in new columns: each row's line of weights is that of its key."""
    if not new or not len(found):
        return
    used, totals = np.unique(keys, return_counts=True)
    order = np.lexsort((entropy.words(len(keys)), keys))
    numbers = _rounded(lines[used], totals, entropy)
    cells = np.repeat(np.tile(np.arange(lines.shape[1]), len(used)), numbers.ravel())
    for name, values in zip(new, np.unravel_index(cells, grid.shape(new)), strict=True):
        found[order, grid.columns.index(name)] = values


def _codes(found: Codes, grid: CellDomain, columns: Columns) -> Codes:
    """One number for each combination of values of some columns."""
    if not columns:
        return np.zeros(len(found), dtype=np.int64)
    values = tuple(found[:, grid.columns.index(name)] for name in columns)
    codes: Codes = np.ravel_multi_index(values, grid.shape(columns)).astype(np.int64)
    return codes


def _rounded(weights: Array, totals: Codes, entropy: Entropy) -> Codes:
    """Whole numbers in the proportions of each line of weights, with the line's total as their sum."""
    ends = np.cumsum(np.where(weights.any(axis=1, keepdims=True), weights, 1.0), axis=1)
    offsets = (entropy.words(len(totals)) >> np.uint64(11)) * 2.0**-53
    upto = np.ceil(totals[:, None] * (ends / ends[:, -1:]) - offsets[:, None]).astype(np.int64)
    numbers: Codes = np.diff(upto, axis=1, prepend=0)
    return numbers
