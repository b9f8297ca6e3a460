"""Descent: the least value of a smooth function whose curvature is at least one, by the L-BFGS method.

Reference: Nocedal & Wright 2006, algorithms 7.4 and 3.1. Because the curvature is at least one in every direction, the
value is above its minimum by at most half the square of the gradient, which is when to stop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalenius.synth.inference.beliefs import Array

REMEMBERED = 40
"""How many steps the curvature is estimated from."""

_ENOUGH = 1e-4
_SHORTEST = 1e-10


@dataclass(frozen=True)
class Point:
    """Where a descent is: the place, the value there and the gradient."""

    place: Array
    value: float
    gradient: Array

    @property
    def excess(self) -> float:
        """How far the value is above the least one, at most."""
        return 0.5 * float(self.gradient @ self.gradient)


def descend(
    function: Callable[[Array], tuple[float, Array]], start: Array, *, excess: float, steps: int
) -> tuple[Array, int]:
    """Descend until the value is within `excess` of the least one, or for so many evaluations; and how many it took."""
    here, done = Point(start, *function(start)), 1
    memory: deque[tuple[Array, Array, float]] = deque(maxlen=REMEMBERED)
    while here.excess > excess and done < steps:
        direction = _direction(here.gradient, memory)
        there, tries = _searched(function, here, direction, first=not memory)
        done += tries
        if there is None:
            if not memory:
                break
            memory.clear()
            continue
        moved, bent = there.place - here.place, there.gradient - here.gradient
        curvature = float(moved @ bent)
        if curvature > 0.0:
            memory.append((moved, bent, 1.0 / curvature))
        here = there
    return here.place, done


def _searched(
    function: Callable[[Array], tuple[float, Array]], here: Point, direction: Array, *, first: bool
) -> tuple[Point | None, int]:
    """A point along the direction that is low enough, and the number of tries; None if there is none."""
    slope = float(here.gradient @ direction)
    if slope >= 0:
        return None, 0
    size, tries = (min(1.0, 1.0 / float(np.sqrt(-slope))) if first else 1.0), 0
    while size > _SHORTEST:
        place = here.place + size * direction
        there, tries = Point(place, *function(place)), tries + 1
        if there.value <= here.value + _ENOUGH * size * slope + 1e-13 * abs(here.value):
            return there, tries
        rise = there.value - here.value - size * slope
        size *= min(0.5, max(0.1, -0.5 * size * slope / rise)) if rise > 0 else 0.5
    return None, tries


def _direction(gradient: Array, memory: deque[tuple[Array, Array, float]]) -> Array:
    """Minus the gradient, times the inverse curvature that the remembered steps suggest."""
    if not memory:
        return -gradient
    found, parts = -gradient, []
    for moved, bent, inverse in reversed(memory):
        part = inverse * float(moved @ found)
        found -= part * bent
        parts.append(part)
    _, bent, inverse = memory[-1]
    found /= inverse * float(bent @ bent)
    for (moved, bent, inverse), part in zip(memory, reversed(parts), strict=True):
        found += (part - inverse * float(bent @ found)) * moved
    return found
