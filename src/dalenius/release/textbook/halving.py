"""The halving algorithm: predict by majority, and drop those who were wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole


@dataclass(eq=False)
class Halving:
    """Learns one of finitely many concepts, each a row of yes or no for every example, from its own mistakes.

    Guarantee: at most log2(#C) mistakes, if the labels are those of one of the concepts: a mistake drops at least half
    of the concepts that are left, and the right one is never dropped. It looks at labels as they are and adds no noise:
    it is not private, and the ancestor of the median mechanism, which is.
    Reference: Dwork & Roth 2014, Section 5.2, after Definition 5.4.
    Textbook: S9.14.
    """

    concepts: NDArray[np.bool_]
    mistakes: int = 0

    def __init__(self, concepts: ArrayLike) -> None:
        table = np.asarray(concepts)
        if table.ndim != 2 or table.dtype.kind != "b" or not len(table):
            raise InvalidParameter("concepts", table.shape, allowed="a row of truth values for each concept")
        self.concepts, self.mistakes = table, 0

    @property
    def most_mistakes(self) -> int:
        """log2 of the number of concepts that are left, rounded down: no more mistakes than this can follow."""
        return len(self.concepts).bit_length() - 1

    def predict(self, example: int) -> bool:
        """What at least half of the concepts that are left say; yes where it is a draw."""
        says = self.concepts[:, whole(example=example)]
        return bool(2 * int(says.sum()) >= len(says))

    def learn(self, example: int, label: bool) -> None:
        """Hear the label of an example; after a mistake, drop all concepts that say otherwise."""
        if self.predict(example) == label:
            return
        right = self.concepts[:, example] == label
        if not right.any():
            raise InvalidParameter("label", "of no concept", allowed="the label of one of the concepts")
        self.concepts, self.mistakes = self.concepts[right], self.mistakes + 1
