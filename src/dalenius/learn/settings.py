"""Settings of models written out exactly: two fits are the same request only if all their settings are the same."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from math import inf, nan
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


def exactly(value: Any) -> Any:
    """The value as something that Python writes out in full. NumPy rounds numbers when it writes them, and leaves out
    the middle of long arrays, so arrays become lists with their kind, at every depth; plain values stay."""
    if isinstance(value, np.generic):
        return "number", value.dtype.str, value.tobytes().hex() if value.dtype.kind == "f" else repr(value.item())
    if isinstance(value, BaseEstimator):
        return "model", type(value).__name__, exactly(value.get_params(deep=False))
    if isinstance(value, Mapping):
        return "mapping", sorted((repr(exactly(name)), exactly(part)) for name, part in value.items())
    if isinstance(value, AbstractSet):
        return "set", sorted(repr(exactly(part)) for part in value)
    if isinstance(value, list | tuple):
        return type(value)(map(exactly, value)) if type(value) in (list, tuple) else exactly(tuple(value))
    if hasattr(value, "__array__") and not isinstance(value, np.ndarray):
        return type(value).__name__, exactly(np.asarray(value))
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, exactly(value.ravel().tolist())
    return value


def number(value: Any) -> float:
    """A setting that should be a number, of Python's kinds or NumPy's; NaN, which no bounds hold, where it is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return nan
    try:
        return float(value)
    except OverflowError:
        return inf
