"""Products of workloads: every combination of one question on each of several separate groups of columns."""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.release.grid import Grid
from dalenius.release.workloads.workload import Integers, Workload, few_parts


class Product(Workload):
    """Questions q1 and q2 and ..., one of each factor: a person's weight is the product of the weights. The factors'
    grids have no column in common; the last factor's questions run fastest."""

    def __init__(self, *factors: Workload) -> None:
        if not factors:
            raise InvalidParameter("factors", 0, allowed="at least one workload")
        names = [name for factor in factors for name in factor.grid.columns]
        if len(set(names)) < len(names):
            raise InvalidParameter("columns", sorted(names), allowed="in one factor only")
        self.factors = factors
        self.grid = Grid({name: size for factor in factors for name, size in factor.grid.sizes.items()})
        self.denominator = few_parts(prod(factor.denominator for factor in factors))

    @property
    def count(self) -> int:
        return prod(factor.count for factor in self.factors)

    def answers(self, histogram: NDArray[Any]) -> NDArray[Any]:
        found = np.asarray(histogram).reshape([factor.grid.cells for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            found = np.apply_along_axis(factor.answers, axis, found)
        return found.ravel()

    def weights(self, question: int) -> Integers:
        parts = zip(self.factors, self._places(question), strict=True)
        rows = [factor.weights(place) for factor, place in parts]
        return reduce(np.multiply.outer, rows).ravel()

    def title(self, question: int) -> str:
        return " and ".join(f.title(place) for f, place in zip(self.factors, self._places(question), strict=True))

    def column_norms(self) -> tuple[int, int, int]:
        """A cell's weights are all products of its weights in the factors, so every norm is a product."""
        l1, l2_squared, linf = zip(*(factor.column_norms() for factor in self.factors), strict=True)
        return prod(l1), prod(l2_squared), prod(linf)

    def _places(self, question: int) -> list[int]:
        return [int(place) for place in np.unravel_index(question, [factor.count for factor in self.factors])]
