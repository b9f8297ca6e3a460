"""How far one neighbour step can move a query's value, in every norm that a mechanism may ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self, TypeAlias

from dalenius.errors import UnknownSensitivity
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, not_negative, of_kind, whole


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Bounds on the change d = f(x) - f(y) of a vector of numbers over all neighbours x, y.

    `l1`, `l2_squared` and `linf` bound the norms of d (the square of the second, because it is rational where the norm
    is not). A norm that was not stated is derived from the others where they imply it, and stays `None` otherwise.
    `monotone` says that no step raises one coordinate and lowers another: counts under add/remove are monotone.
    `neighbours` says for which steps the bounds hold, where that is known; an `Exact` for other neighbours refuses it.

    Textbook: S3.1 (l1), S3.2 (l2), S3.3 (linf over candidates is the utility sensitivity).
    """

    l1: Fraction | None
    l2_squared: Fraction | None
    linf: Fraction | None
    monotone: bool
    neighbours: Neighbours | None = field(compare=False)

    def __init__(
        self,
        *,
        l1: Number | None = None,
        l2_squared: Number | None = None,
        linf: Number | None = None,
        monotone: bool = False,
        neighbours: Neighbours | None = None,
    ) -> None:
        for name, value in {"l1": l1, "l2_squared": l2_squared, "linf": linf}.items():
            object.__setattr__(self, name, None if value is None else not_negative(**{name: value}))
        object.__setattr__(self, "monotone", of_kind(bool, monotone=monotone))
        object.__setattr__(self, "neighbours", None if neighbours is None else stated(neighbours))
        self._tighten()

    def _tighten(self) -> None:
        # norm_inf <= norm_1 and norm_2^2 <= norm_1 * norm_inf. The other directions need the number of coordinates.
        if self.l1 is not None:
            self._lower("linf", self.l1)
            assert self.linf is not None
            self._lower("l2_squared", self.l1 * self.linf)

    def _lower(self, name: str, bound: Fraction) -> None:
        value = getattr(self, name)
        object.__setattr__(self, name, bound if value is None else min(value, bound))

    @classmethod
    def of(cls, value: SensitivityLike) -> Sensitivity:
        """A number is the sensitivity of a single value: the same in every norm, and monotone."""
        if isinstance(value, Sensitivity):
            return value
        size = not_negative(sensitivity=value)
        return cls(l1=size, l2_squared=size * size, linf=size, monotone=True)

    @classmethod
    def sparse(
        cls, *, coordinates: int, each: Number, monotone: bool = False, neighbours: Neighbours | None = None
    ) -> Self:
        """At most `coordinates` entries change, each by at most `each`: a person in five groups, once in each."""
        size, coordinates = not_negative(each=each), whole(coordinates=coordinates)
        return cls(
            l1=coordinates * size,
            l2_squared=coordinates * size * size,
            linf=size,
            monotone=monotone,
            neighbours=neighbours,
        )

    def under(self, neighbours: Neighbours | None) -> Sensitivity:
        """The same bounds, stated for these neighbours."""
        relation = stated(neighbours)
        return Sensitivity(
            l1=self.l1, l2_squared=self.l2_squared, linf=self.linf, monotone=self.monotone, neighbours=relation
        )

    def need(self, norm: str, *, mechanism: str) -> Fraction:
        """The bound in one norm, or an error that says which mechanism misses it."""
        bound = getattr(self, norm)
        if bound is None:
            raise UnknownSensitivity(norm=norm, mechanism=mechanism)
        return Fraction(bound)

    def __mul__(self, steps: int) -> Sensitivity:
        """The sensitivity to `steps` neighbour steps (group privacy, or replace as two add/remove steps)."""
        steps = whole(1, steps=steps)
        return Sensitivity(
            l1=None if self.l1 is None else steps * self.l1,
            l2_squared=None if self.l2_squared is None else steps * steps * self.l2_squared,
            linf=None if self.linf is None else steps * self.linf,
        )


SensitivityLike: TypeAlias = Sensitivity | Number
