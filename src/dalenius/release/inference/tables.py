"""Arrays over some of the columns, with one axis for each, always in the order of the grid."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.release.grid import Columns

Array: TypeAlias = NDArray[np.float64]


def summed(array: Array, columns: Columns, kept: Columns) -> Array:
    """The array added up over all columns that are not kept."""
    dropped = tuple(axis for axis, name in enumerate(columns) if name not in kept)
    return array.sum(axis=dropped) if dropped else array


def spread(array: Array, columns: Columns, wider: Columns) -> Array:
    """The array as it is broadcast over more columns."""
    if columns == wider:
        return array
    inside = set(columns)
    lengths = iter(array.shape)
    return array.reshape([next(lengths) if name in inside else 1 for name in wider])


def contracted(left: Array, left_columns: Columns, right: Array, right_columns: Columns, kept: Columns) -> Array:
    """The product of two arrays, added up over all columns that are not kept; such columns must be in both."""
    both = [name for name in left_columns if name in right_columns]
    each, gone = [name for name in both if name in kept], [name for name in both if name not in kept]
    only_left = [name for name in left_columns if name not in both]
    only_right = [name for name in right_columns if name not in both]
    if not gone:
        return spread(left, left_columns, kept) * spread(right, right_columns, kept)
    lengths = dict(zip(left_columns, left.shape, strict=True)) | dict(zip(right_columns, right.shape, strict=True))

    def matrix(array: Array, columns: Columns, *parts: list[str]) -> Array:
        turned = array.transpose([columns.index(name) for part in parts for name in part])
        return turned.reshape([prod(lengths[name] for name in part) for part in parts])

    first = matrix(left, left_columns, each, only_left, gone)
    second = matrix(right, right_columns, each, gone, only_right)
    order = [*each, *only_left, *only_right]
    product: Array = (first @ second).reshape([lengths[name] for name in order])
    return product.transpose([order.index(name) for name in kept])
