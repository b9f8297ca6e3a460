"""The most common beginning of a name, letter by letter; every letter costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dalenius.accounting.composition import repeated
from dalenius.errors import InvalidParameter, UnusableValue
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.scores import union_shortfall
from dalenius.mechanisms.selection.top_k import each_round
from dalenius.privacy.losses import BoundedRange, Loss
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy

_NAME = "prefix search"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixSearch:
    """Find a common name by choosing `length` letters one after the other: how many names begin with A, with B, ...;
    then with Aa, Ab, ...; each choice by the exponential mechanism.

    Guarantee: if no neighbour step changes the counts of all names by more than s in the l1 norm, then each letter has
    bounded range rate * s, and the answer costs `length` times that: a search over names is not one question but one
    per level.
    Proof of the first: the names behind different letters are different names, so two letters' counts together move by
    at most s, and so does their difference.
    Textbook: S5.7.
    """

    alphabet: str
    length: int
    rate: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", whole(1, length=self.length))
        object.__setattr__(self, "rate", positive(rate=self.rate))
        stated(self.neighbours)
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise InvalidParameter("alphabet", self.alphabet, allowed="at least one letter, and none twice")

    @classmethod
    def calibrated(
        cls,
        *,
        alphabet: str,
        length: int,
        sensitivity: SensitivityLike,
        epsilon: Number,
        delta: Number = 0,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The steepest weights for which the whole name is (epsilon, delta)-DP."""
        each = each_round(rounds=length, epsilon=epsilon, delta=delta)
        rate = each / positive(sensitivity=_total(sensitivity))
        return cls(alphabet=alphabet, length=length, rate=rate, neighbours=stated(neighbours))

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        return repeated(BoundedRange(self.rate * _total(sensitivity)), self.length)

    def release(self, counts: Mapping[str, int], entropy: Entropy) -> str:
        """The first letters of a common name, or all of it if it is shorter than `length`."""
        level = ExponentialMechanism(rate=self.rate, neighbours=self.neighbours)
        found = ""
        for _ in range(self.length):
            choice = level.release(self.scores(counts, found), entropy)
            if choice == len(self.alphabet):
                break
            found += self.alphabet[choice]
        return found

    def scores(self, counts: Mapping[str, int], found: str) -> list[int]:
        """How many names go on with each letter after `found`, and last, how many end there."""
        if not isinstance(counts, Mapping) or not all(isinstance(name, str) for name in counts):
            raise UnusableValue("counts", type(counts), allowed="a mapping from names to their counts")
        following: Counter[str] = Counter()
        for name, count in counts.items():
            if name.startswith(found):
                following[name[len(found) : len(found) + 1]] += int(count)
        return [following[letter] for letter in (*self.alphabet, "")]

    def error(self, beta: Number) -> Fraction:
        """With probability at least 1 - beta, every letter's count is at most this much below the best at its level.

        The best beginning at one level need not lead to the best name.
        """
        return union_shortfall(Fraction((len(self.alphabet) + 1) * self.length), rate=self.rate, beta=beta)


def _total(sensitivity: SensitivityLike) -> Fraction:
    return Sensitivity.of(sensitivity).need("l1", mechanism=_NAME)
