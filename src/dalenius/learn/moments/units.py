"""The units in which a released sum of features is told: those of the columns, where these are numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.models import PrivateModel
from dalenius.query.types import Number
from dalenius.release.axes import Axis

Floats = NDArray[np.float64]


def units(model: PrivateModel) -> tuple[Floats, Floats]:
    """For each feature, what 0 and what 1 (counted from there) stand for."""
    encoder = getattr(model, "encoder_", None)
    if encoder is None:
        return model._scale.centre, model._scale.size
    pairs = [pair for axis in encoder.axes for pair in _of_column(axis)]
    return np.array([centre for centre, _ in pairs]), np.array([size for _, size in pairs])


def _of_column(axis: Axis) -> list[tuple[float, float]]:
    """A number from the middle of its range; a date and an indicator as they are encoded."""
    if not isinstance(axis.domain, Number):
        return [(0.0, 1.0)] * (1 if hasattr(axis.domain, "lower") else axis.size)
    lower, upper, step = axis.domain.lower, axis.domain.upper, axis.domain.step
    return [(float((lower + upper) * step / 2), float(max(1, upper - lower) * step / 2))]
