"""Stability by trying all databases: the oracles of small cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, TypeAlias

from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, probability, whole

Database: TypeAlias = Mapping[Any, int]
Statistic: TypeAlias = Callable[[Counter[Any]], Hashable]
_Key: TypeAlias = frozenset[tuple[Any, int]]


def is_stable(
    function: Statistic, database: Database, *, steps: int, universe: Sequence[Any], neighbours: Neighbours
) -> bool:
    """Whether a function has the same value at all databases within so many steps: k-stability.

    Reference: Dwork & Roth 2014, Definition 7.2.
    Textbook: S11.8.
    """
    here = function(Counter(database))
    return all(
        function(other) == here
        for shell in _shells(database, whole(steps=steps), universe, neighbours)
        for other in shell
    )


def distance_to_instability(
    function: Statistic, database: Database, *, most: int, universe: Sequence[Any], neighbours: Neighbours
) -> int:
    """How many steps lead to a database with a neighbour where the function differs; at most `most`.

    The steps are counted from the given database (the book's definition says from the other one).
    Reference: Dwork & Roth 2014, Definition 7.3.
    Textbook: S11.8, S11.6.
    """
    for distance, shell in enumerate(_shells(database, whole(1, most=most) - 1, universe, neighbours)):
        if any(not is_stable(function, other, steps=1, universe=universe, neighbours=neighbours) for other in shell):
            return distance
    return most


def subsampling_chance(function: Callable[[tuple[Any, ...]], Hashable], rows: Sequence[Any], *, q: Number) -> Fraction:
    """The exact probability that a function has the same value on a random part, each row kept with probability q.

    Textbook: S11.8.
    """
    keep, whole_value = probability(q=q), function(tuple(rows))
    total = Fraction(0)
    for kept in product((False, True), repeat=len(rows)):
        part = tuple(row for row, stays in zip(rows, kept, strict=True) if stays)
        if function(part) == whole_value:
            total += prod((keep if stays else 1 - keep for stays in kept), start=Fraction(1))
    return total


def is_subsampling_stable(function: Callable[[tuple[Any, ...]], Hashable], rows: Sequence[Any], *, q: Number) -> bool:
    """Whether a function has the same value on a random part with probability at least 3/4: q-subsampling stability.

    Reference: Dwork & Roth 2014, Definition 7.4.
    Textbook: S11.8.
    """
    return subsampling_chance(function, rows, q=q) >= Fraction(3, 4)


def _shells(database: Database, most: int, universe: Sequence[Any], neighbours: Neighbours) -> list[list[Counter[Any]]]:
    """The databases at 0, 1, ..., `most` steps."""
    relation, start = stated(neighbours), Counter(database)
    seen: set[_Key] = {_key(start)}
    shells = [[start]]
    for _ in range(most):
        fresh = {_key(other): other for each in shells[-1] for other in relation.around(each, tuple(universe))}
        shells.append([other for key, other in fresh.items() if key not in seen])
        seen |= set(fresh)
    return shells


def _key(database: Counter[Any]) -> _Key:
    return frozenset((+database).items())
