"""From what a row holds to features on a public grid: by declared bounds alone, never by what the data hold."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.rows import ONE
from dalenius.privacy.numbers import positive

Bounds: TypeAlias = "tuple[ArrayLike, ArrayLike]"
"""The least and the largest value, for all columns or one for each."""
Floats: TypeAlias = NDArray[np.float64]
LARGEST = 1e150
"""No bound is larger in size and no range narrower than one over it, so that squares of both are floats too."""


@dataclass(frozen=True)
class Scale:
    """Brings columns from their declared bounds to -1 ... 1, and back.

    A column whose bounds hold 0 keeps it at 0, so that indicators stay short; others are centred between their bounds.
    """

    lower: Floats
    upper: Floats

    @classmethod
    def declared(cls, bounds: Bounds | None, width: int, *, what: str = "bounds") -> Scale:
        """The scale for so many columns; without declared bounds it is refused."""
        if bounds is None:
            raise InvalidParameter(
                what, None, allowed=f"declared, such as {what}=(0, 1): reading them from the data would tell about rows"
            )
        try:
            ends = [np.asarray(end, dtype=np.float64) for end in bounds]
            lower, upper = (np.broadcast_to(end, (width,)).copy() for end in ends)
        except (TypeError, ValueError):
            raise InvalidParameter(what, bounds, allowed=f"(lower, upper), numbers or {width} of them each") from None
        sizes = np.abs([lower, upper])
        if not ((sizes <= LARGEST).all() and (lower < upper).all() and (upper - lower >= 1 / LARGEST).all()):
            allowed = f"each lower bound below its upper bound, and none larger than {LARGEST:g} in size"
            raise InvalidParameter(what, bounds, allowed=allowed)
        return cls(lower, upper)

    @property
    def centre(self) -> Floats:
        """What becomes 0."""
        keeps = (self.lower <= 0) & (self.upper >= 0)
        return np.where(keeps, 0.0, (self.lower + self.upper) / 2)

    @property
    def size(self) -> Floats:
        """What becomes 1, counted from the centre."""
        return np.asarray(np.maximum(self.upper - self.centre, self.centre - self.lower))

    def scaled(self, values: ArrayLike) -> Floats:
        """Values from -1 to 1; what lies outside the bounds is moved to them."""
        kept = np.clip(np.asarray(values, dtype=np.float64), self.lower, self.upper)
        kept -= self.centre
        kept /= self.size
        return kept

    def restored(self, scaled: Floats) -> Floats:
        """Values as they were before they were scaled."""
        return np.asarray(scaled * self.size + self.centre)


def norm_squared(norm: Any, width: int) -> int:
    """The square of the largest norm of scaled rows, in steps of the grid: as declared, or what their bounds imply."""
    if norm is None:
        return width * ONE**2
    try:
        largest = positive(norm=norm)
    except InvalidParameter:
        allowed = "a number above 0, the largest Euclidean norm of a scaled row"
        raise InvalidParameter("norm", norm, allowed=allowed) from None
    return min(width * ONE**2, ceil((largest * ONE) ** 2))
