"""Randomized response: every answer is randomized on its own, and the truth about the crowd is estimated.

An answer is a code 0, ..., choices - 1; for yes or no, 1 or True is yes. One neighbour step changes what somebody
answers, so the relation is `Replace`: how many answered is public. A sensitivity counts the answers that one step can
change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter, NeighbourMismatch, UnusableValue
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import Neighbours, Replace, stated
from dalenius.privacy.numbers import Number, exact, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import flips, uniform_below
from dalenius.randomness.integers import Integers, integer_array, like


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Unbiased estimates of what share of the people has each answer, made from their randomized answers.

    An estimate may lie outside of [0, 1]; that is the price of being unbiased. The standard errors are those of the
    randomization: the people who were asked are taken as they are.
    """

    estimates: NDArray[np.float64]
    standard_errors: NDArray[np.float64]

    def clipped(self) -> NDArray[np.float64]:
        """The estimates moved into [0, 1]: after averaging, since clipping each answer would add up to a bias."""
        return np.clip(self.estimates, 0, 1)


class Response(ABC):
    """What all forms share: the true answer with one probability, or else one of the others, each equally likely."""

    __slots__ = ()

    @property
    @abstractmethod
    def choices(self) -> int:
        """How many different answers there are."""

    @abstractmethod
    def _truth(self) -> arb:
        """The probability that the true answer is reported, at the current precision."""

    def chance(self, *, answer: int, report: int) -> arb:
        """The probability of a report, given the answer."""
        with precise():
            return self._truth() if report == answer else self._other()

    def release(self, value: Integers, entropy: Entropy) -> Integers:
        """The randomized answers, of the same kind and shape."""
        answers = self._codes(value)
        honest = flips(answers.shape, self._truth, entropy)
        others = uniform_below(self.choices - 1, answers.shape, entropy=entropy)
        others += others >= answers  # skips the true answer
        return like(value, np.where(honest, answers, others))

    def estimate(self, reports: Any) -> Shares:
        """Unbiased estimates of the shares of all answers, with their standard errors."""
        codes = self._codes(reports)
        count = whole(1, reports=codes.size)
        with precise():
            truth, other, gain = self._truth(), self._other(), self._gain()
            shift, factor = float(other), float(gain)
            noise_true, noise_other = (float(p * (1 - p) * gain**2 / count) for p in (truth, other))
        estimates = factor * (np.bincount(codes.ravel(), minlength=self.choices) / count - shift)
        share = np.clip(estimates, 0, 1)
        return Shares(estimates, np.sqrt(share * noise_true + (1 - share) * noise_other))

    def error(self, beta: Number, *, count: int, two_sided: bool = True) -> Fraction:
        """A width that the error of an estimated share, from `count` answers, exceeds with probability at most beta.

        Reference: Hoeffding 1963, Theorem 2: the randomized answers are independent and each moves the estimate by at
        most its gain / count.
        """
        risk = inside_unit(beta=beta) / (2 if two_sided else 1)
        with precise():
            return upper((-ball(risk).log() / (2 * whole(1, count=count))).sqrt() * self._gain())

    def _other(self) -> arb:
        return (1 - self._truth()) / (self.choices - 1)

    def _gain(self) -> arb:
        return 1 / (self._truth() - self._other())

    def _codes(self, value: Any) -> NDArray[np.int64]:
        answers = np.asarray(value)
        codes = answers.astype(np.int64) if answers.dtype == np.bool_ else integer_array(value)
        if codes.size and (codes.min() < 0 or codes.max() >= self.choices):
            # The bounds may be named, the answer may not.
            raise UnusableValue("value", type(value), allowed=f"codes from 0 to {self.choices - 1}")
        return codes


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Response):
    """Report the true answer with probability e^epsilon / (e^epsilon + choices - 1), else another one at random.

    Guarantee: each answer is released epsilon-DP when it is replaced by any other, and no smaller epsilon holds; a step
    that changes k answers costs k epsilon. The probabilities are exact, though irrational.
    Reference: Warner 1965; Kairouz, Oh & Viswanath 2014 (arXiv:1407.1338) for more than two choices.
    Textbook: S4.2.
    """

    epsilon: Fraction
    neighbours: Neighbours = field(default_factory=partial(stated, None))
    choices: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "choices", whole(2, choices=self.choices))
        _require_replace(self.neighbours)

    @classmethod
    def calibrated(
        cls,
        *,
        epsilon: Number,
        sensitivity: SensitivityLike = 1,
        choices: int = 2,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The least randomization with which a step that changes `sensitivity` answers costs epsilon."""
        each = positive(epsilon=epsilon) / positive(sensitivity=_answers(sensitivity))
        return cls(each, stated(neighbours), choices)

    def _truth(self) -> arb:
        return 1 / (1 + (self.choices - 1) * (-ball(self.epsilon)).exp())

    def loss(self, *, sensitivity: SensitivityLike = 1) -> PureDP:
        """The loss of one release."""
        return PureDP(_answers(sensitivity) * self.epsilon)


@dataclass(frozen=True, slots=True)
class CoinResponse(Response):
    """Report yes or no truly with a rational probability; with the textbook's two coins it is 3/4.

    The coins: on tails tell the truth; on heads toss again and say yes for heads and no for tails.
    Guarantee: each answer is released (ln(p / (1 - p)))-DP when it is replaced, with p the probability of the truth;
    for the coins that is ln 3. The probabilities are exact; the loss is irrational and rounded up.
    Reference: Dwork & Roth 2014, Section 2.3 and Claim 3.5.
    Textbook: S4.1.
    """

    probability: Fraction = Fraction(3, 4)
    neighbours: Neighbours = field(default_factory=partial(stated, None))

    def __post_init__(self) -> None:
        chance = exact(probability=self.probability)
        if not Fraction(1, 2) < chance < 1:
            raise InvalidParameter("probability", self.probability, allowed="strictly between 1/2 and 1")
        object.__setattr__(self, "probability", chance)
        _require_replace(self.neighbours)

    @property
    def choices(self) -> int:
        return 2

    def _truth(self) -> arb:
        return ball(self.probability)

    def loss(self, *, sensitivity: SensitivityLike = 1) -> PureDP:
        """The loss of one release."""
        with precise():
            each = upper(ball(self.probability / (1 - self.probability)).log())
        return PureDP(_answers(sensitivity) * each)


def _answers(sensitivity: SensitivityLike) -> int:
    return ceil(Sensitivity.of(sensitivity).need("l1", mechanism="randomized response"))


def _require_replace(neighbours: Neighbours) -> None:
    relation = stated(neighbours)
    if not isinstance(relation, Replace):
        raise NeighbourMismatch(mechanism=Replace(relation.protects), request=relation)
