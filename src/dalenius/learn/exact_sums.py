"""Products of integer matrices, exact and as fast as floats: float64 holds every integer below 2^53 exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_EXACT = 2**53
_WIDE = 2**63


def product(left: NDArray[Any], right: NDArray[Any], *, largest: int) -> NDArray[np.int64]:
    """The matrix product of integers, where the product of an entry of `left` and one of `right` is at most `largest`
    in size.

    Proof that it is exact: a piece of 2^53 // largest terms has partial sums below 2^53, whatever the order in which
    they are added, and float64 holds these exactly. Pieces are added as int64, which the length that is checked allows.
    """
    length = left.shape[1]
    if largest * length >= _WIDE:
        raise OverflowError("sums beyond 63 bits")
    piece = max(1, _EXACT // largest)
    total = np.zeros((left.shape[0], *right.shape[1:]), dtype=np.int64)
    for start in range(0, length, piece):
        part = left[:, start : start + piece].astype(np.float64) @ right[start : start + piece].astype(np.float64)
        total += part.astype(np.int64)
    return total
