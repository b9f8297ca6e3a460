"""Who counts as a neighbour: the relation that a guarantee is stated for.

A guarantee means nothing without its relation: a histogram of sensitivity 1 when a person is added or removed has
sensitivity 2 when a person's record is replaced. Mechanisms, exact values and budgets carry their relation, and
whatever joins them refuses a mismatch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, TypeVar

from dalenius.errors import InvalidParameter, MissingNeighbours, NeighbourMismatch

Thing = TypeVar("Thing", bound=Hashable)
Protects: TypeAlias = Literal["row", "unit", "event", "user", "edge", "vertex"]
"""What one step changes: one row; all rows of one unit (person); one position of a stream; all events of one user
in a stream; one edge or one vertex, with its edges, of a graph."""

_MEANING: dict[str, str] = {
    "row": "one row",
    "unit": "all rows of one unit",
    "event": "one event of a stream",
    "user": "all events of one user in a stream",
    "edge": "one edge of a graph",
    "vertex": "one vertex of a graph with its edges",
}


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A neighbour relation; use `AddRemove` or `Replace`.

    Textbook: S1.2.
    """

    protects: Protects = "unit"
    add_remove_steps: ClassVar[int]
    """How many additions or removals one step amounts to."""

    def __post_init__(self) -> None:
        if type(self) is Neighbours:
            raise MissingNeighbours(self)
        if self.protects not in _MEANING:
            raise InvalidParameter("protects", self.protects, allowed="one of " + ", ".join(_MEANING))

    def related(self, first: Mapping[Thing, int], second: Mapping[Thing, int]) -> bool:
        """Whether two multisets of protected things (see `databases.multiset`) are neighbours."""
        added = sum((Counter(first) - Counter(second)).values())
        removed = sum((Counter(second) - Counter(first)).values())
        return self._is_step(added, removed)

    def around(self, database: Mapping[Thing, int], universe: tuple[Thing, ...]) -> Iterator[Counter[Thing]]:
        """Every neighbour of a multiset over a finite universe, for exact checks of small cases."""
        raise MissingNeighbours(self)

    def _is_step(self, added: int, removed: int) -> bool:
        raise MissingNeighbours(self)


@dataclass(frozen=True, slots=True)
class AddRemove(Neighbours):
    """Neighbours differ by the presence of one protected thing: hides whether someone takes part at all."""

    add_remove_steps: ClassVar[int] = 1

    def __str__(self) -> str:
        return f"adding or removing {_MEANING[self.protects]}"

    def around(self, database: Mapping[Thing, int], universe: tuple[Thing, ...]) -> Iterator[Counter[Thing]]:
        for item in universe:
            yield Counter(database) + Counter([item])
            if Counter(database)[item] > 0:
                yield Counter(database) - Counter([item])

    def _is_step(self, added: int, removed: int) -> bool:
        return added + removed == 1


@dataclass(frozen=True, slots=True)
class Replace(Neighbours):
    """Neighbours differ in the content of one protected thing: hides what a record says; their number is public."""

    add_remove_steps: ClassVar[int] = 2

    def __str__(self) -> str:
        return f"replacing {_MEANING[self.protects]}"

    def around(self, database: Mapping[Thing, int], universe: tuple[Thing, ...]) -> Iterator[Counter[Thing]]:
        for old in [item for item in universe if Counter(database)[item] > 0]:
            for new in universe:
                if new != old:
                    yield Counter(database) - Counter([old]) + Counter([new])

    def _is_step(self, added: int, removed: int) -> bool:
        return added == removed == 1


def stated(neighbours: object) -> Neighbours:
    """The relation itself, or `MissingNeighbours` where none was stated."""
    if not isinstance(neighbours, Neighbours):
        raise MissingNeighbours(neighbours)
    return neighbours


def require_same(**relations: Neighbours) -> None:
    """Refuse parts that are calibrated for different neighbours."""
    if len(set(relations.values())) > 1:
        raise NeighbourMismatch(**relations)
