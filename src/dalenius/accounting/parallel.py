"""What releases on disjoint parts of the data cost together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from dalenius.accounting.composition import parts
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, Protects, stated
from dalenius.privacy.numbers import Number, whole

By: TypeAlias = Literal["value", "index", "data"]
"""What puts a thing into its part: its own content, by a rule that was public before the data was read; a public
label that no neighbour step changes (not a position that shifts when a row is removed); or a rule that was itself
learnt from the data, for which there is no parallel composition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """How the data is cut: `of` names the things that each lie wholly in one part."""

    of: Protects
    by: By

    def __post_init__(self) -> None:
        if self.by not in ("value", "index", "data"):
            raise InvalidParameter("by", self.by, allowed="one of value, index, data")


@dataclass(frozen=True, slots=True)
class ParallelLoss(Loss):
    """Releases on the parts of a partition, of which one neighbour step touches at most `touched`.

    The loss is that of the dearest `touched` parts together.
    """

    losses: tuple[Loss, ...]
    touched: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "touched", whole(1, touched=self.touched))

    @property
    def delta(self) -> Fraction:
        return min(Fraction(1), self.dearest([loss.delta for loss in self.losses]))

    def renyi(self, alpha: Number) -> Fraction:
        return self.dearest([loss.renyi(alpha) for loss in self.losses])

    def dearest(self, figures: list[Fraction]) -> Fraction:
        """The sum of the largest `touched` figures."""
        return sum(sorted(figures, reverse=True)[: self.touched], Fraction(0))

    def __str__(self) -> str:
        return f"the dearest {self.touched} of {len(self.losses)} parts"


def parallel_composition(losses: Iterable[Loss], *, neighbours: Neighbours | None, partition: Partition) -> Loss:
    """The loss of one release on each part of a partition.

    Guarantee: if the partition was fixed before the data was read, every protected thing lies in one part, and each
    loss covers whatever one neighbour step can do inside its part, then all releases together cost the largest of the
    losses. When things are replaced and their content decides their part, they cost the sum of the two largest: a
    thing can leave one part and enter another, so each loss must cover adding and removing a thing as well.
    Rows of one person in several parts are no partition of persons.
    Reference: McSherry 2009 (PINQ), Theorem 4, whose databases differ by adding or removing a row.
    Textbook: S6.2.
    """
    relation, each = stated(neighbours), tuple(losses)
    if not each:
        raise InvalidParameter("losses", each, allowed="at least one loss")
    if partition.by == "data" or partition.of != relation.protects:
        raise TheoremDoesNotApply(
            "Parallel composition",
            needs=f"a partition of what is protected ({relation.protects}) that was fixed before the data was read",
            given=f"a partition of {partition.of} by {partition.by}",
            instead="compose, which adds the losses",
        )
    for loss in each:
        parts(loss)
    touched = relation.add_remove_steps if partition.by == "value" else 1
    return ParallelLoss(each, touched=touched) if len(each) > 1 else each[0]
