"""A mechanism in a case so small that its exact law can be computed.

A case has all values that a tiny database can give and all neighbours of them, found by enumerating databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations_with_replacement
from typing import Any, TypeAlias

from flint import arb

from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.verify.checked import CheckedPairs, finite

Law: TypeAlias = dict[Any, arb]
Calibrated: TypeAlias = Callable[..., Any]
LawOf: TypeAlias = Callable[[Any, Any], Law]
Values: TypeAlias = tuple[Any, ...]
Pairs: TypeAlias = tuple[tuple[Any, Any], ...]
ADD, REPLACE = AddRemove("row"), Replace("row")


@dataclass(frozen=True)
class Case:
    """One mechanism on one kind of value, with its exact law."""

    name: str
    neighbours: Neighbours
    sensitivity: SensitivityLike
    calibrated: Calibrated
    values: Values
    pairs: Pairs
    law: LawOf
    tight: bool = True
    """Whether some outcome of these pairs attains the bound: for pure cases the epsilon, else the divergence."""
    complete: bool = True
    """Whether the law lists every outcome, and not only those near the value."""
    pure: bool = True
    """Whether the loss of every single outcome is bounded."""
    targeted: bool = True
    """Whether the loss that it states is the `epsilon` that it was calibrated for."""
    event: bool = False
    """Whether the loss has an event in which nothing is promised."""

    def at(self, epsilon: Fraction) -> Any:
        return self.calibrated(sensitivity=self.sensitivity, epsilon=epsilon, neighbours=self.neighbours)

    def claim(self, epsilon: Fraction) -> Loss:
        """What the mechanism says that one release costs."""
        loss: Loss = self.at(epsilon).loss(sensitivity=self.sensitivity)
        return loss

    def tables(self, epsilon: Fraction) -> dict[Any, Law]:
        """The exact law of every value."""
        mechanism = self.at(epsilon)
        return {value: self.law(mechanism, value) for value in self.values}

    def checked(self, epsilon: Fraction) -> CheckedPairs:
        """What the exact laws say about the claim."""
        return finite(self.tables(epsilon), self.pairs, truncated=not self.complete)

    def __str__(self) -> str:
        return f"{self.name}, {type(self.neighbours).__name__}"


def databases(universe: Iterable[Any], most: int) -> Iterator[tuple[Any, ...]]:
    for size in range(most + 1):
        yield from combinations_with_replacement(tuple(universe), size)


def neighbouring(
    query: Callable[[Iterable[Any]], Any],
    relation: Neighbours,
    universe: tuple[Any, ...],
    most: int = 2,
    also: Iterable[tuple[Any, ...]] = (),
) -> tuple[Values, Pairs]:
    """All values of a query on small databases, and on some others, and all pairs of values on neighbours of these."""
    pairs: dict[tuple[Any, Any], None] = {}
    for rows in chain(databases(universe, most), also):
        here = {row: rows.count(row) for row in set(rows)}
        for there in relation.around(here, universe):
            pairs[query(rows), query(tuple(there.elements()))] = None
    return tuple(dict.fromkeys(value for pair in pairs for value in pair)), tuple(pairs)
