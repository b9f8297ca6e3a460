"""A workload: many linear questions over one grid, each a whole number of parts of one for every cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.privacy.numbers import whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.release.grid import Grid

Integers: TypeAlias = NDArray[np.int64]
Reals: TypeAlias = NDArray[np.float64]

MOST_PARTS = 2**16
"""The most parts of one that weights are counted in: with them, no sum of squared weights, and no answer about as many
rows as any table has, leaves 63 bits."""
MOST_ENTRIES = 10**8
"""The most entries of a workload that is written out in full."""


class Workload(ABC):
    """Linear questions over a grid. Question q gives a person in cell x the weight w_q(x) / denominator in [0, 1], and
    its answer is the sum of the weights of all people: a count, where all weights are 0 or 1.

    Weights are integers, so that exact answers are; `answers` of a histogram of integers is an array of integers, in
    parts of 1 / denominator, and of a histogram of real numbers an array of real numbers in the same parts.
    """

    grid: Grid
    denominator: int = 1

    @property
    @abstractmethod
    def count(self) -> int:
        """How many questions there are."""

    @abstractmethod
    def answers(self, histogram: NDArray[Any]) -> NDArray[Any]:
        """The answers to all questions, in order, in parts of 1 / denominator."""

    @abstractmethod
    def weights(self, question: int) -> Integers:
        """The weights of one question over all cells."""

    @abstractmethod
    def title(self, question: int) -> str:
        """What a question asks, for people."""

    def answer(self, question: int, histogram: NDArray[Any]) -> Any:
        """The answer to one question, in parts of 1 / denominator."""
        return self.weights(question) @ histogram

    def column_norms(self) -> tuple[int, int, int]:
        """The largest l1 norm, squared l2 norm and entry of a cell's weights in all questions together."""
        matrix = self.matrix
        return int(matrix.sum(axis=0).max()), int((matrix**2).sum(axis=0).max()), int(matrix.max())

    @cached_property
    def matrix(self) -> Integers:
        """All weights, a row for each question."""
        entries = self.count * self.grid.cells
        if entries > MOST_ENTRIES:
            raise InvalidParameter(
                "workload",
                f"{self.count} questions over {self.grid.cells} cells",
                allowed=f"at most {MOST_ENTRIES} weights in all where every one is needed",
                hint="Use fewer columns or bins, or a method that works by marginals.",
            )
        return np.stack([self.weights(question) for question in range(self.count)])

    def sensitivity(self, neighbours: Neighbours, *, rows: int = 1) -> Sensitivity:
        """How far one unit with at most `rows` rows moves the vector of `answers`, in parts of 1 / denominator.

        Proof: a row adds its cell's weights, which no norm of the sum of `rows` such vectors exceeds `rows` times. A
        replaced row changes by the difference of two vectors with entries of the same sign: its l1 and squared l2 norm
        are at most the sums of both, its largest entry at most the larger one.
        """
        l1, l2_squared, linf = self.column_norms()
        if isinstance(neighbours, AddRemove):
            return Sensitivity(
                l1=rows * l1, l2_squared=rows**2 * l2_squared, linf=rows * linf, monotone=True, neighbours=neighbours
            )
        return Sensitivity(
            l1=2 * rows * l1, l2_squared=2 * rows**2 * l2_squared, linf=rows * linf, neighbours=neighbours
        )

    def normalised(self, answers: NDArray[Any], total: int | Fraction) -> Reals:
        """Answers as shares of a number of people."""
        shares: Reals = np.asarray(answers, dtype=np.float64) / float(self.denominator * total)
        return shares

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<{self.count} questions over {' x '.join(map(str, self.grid.shape()))} cells>"


def few_parts(denominator: int) -> int:
    """A denominator, refused where weights would have too many parts to be computed with safely."""
    if whole(1, denominator=denominator) > MOST_PARTS:
        raise InvalidParameter(
            "denominator", denominator, allowed=f"at most {MOST_PARTS}", hint="Round the weights to a coarser grid."
        )
    return denominator
