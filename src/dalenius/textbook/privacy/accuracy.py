"""What it means that private answers are accurate: alpha is the error, beta the chance to fail, never the other way.

What taking part can change about somebody's future, in the terms of an economist: expected utility.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from dalenius.errors import TheoremDoesNotApply
from dalenius.privacy.divergences import Distribution
from dalenius.privacy.losses import Loss, PureDP
from dalenius.privacy.numbers import Number, exact, not_negative, probability
from dalenius.privacy.odds import bracket

Answer = TypeVar("Answer", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy(ABC, Generic[Answer]):
    """A promise about a list of answers, up to an error `alpha`, that fails with probability at most `beta`."""

    alpha: Fraction
    beta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", not_negative(alpha=self.alpha))
        object.__setattr__(self, "beta", probability(beta=self.beta))

    @abstractmethod
    def holds(self, answers: Sequence[Answer], truths: Sequence[Number]) -> bool:
        """Whether one run kept the promise."""

    def failure(self, runs: Mapping[tuple[Answer, ...], Number], truths: Sequence[Number]) -> Fraction:
        """The exact probability that a run breaks the promise, from the distribution of whole runs."""
        return Distribution.of(runs).probability(lambda answers: not self.holds(answers, truths))

    def kept_by(self, runs: Mapping[tuple[Answer, ...], Number], truths: Sequence[Number]) -> bool:
        """Whether runs break the promise with probability at most beta."""
        return self.failure(runs, truths) <= self.beta


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdAccuracy(Accuracy[bool]):
    """Every query is answered; those said to be above are above threshold - alpha, the others below threshold + alpha.

    Reference: Dwork & Roth 2014, Definition 3.9.
    Textbook: S1.12.
    """

    threshold: Fraction

    def __post_init__(self) -> None:
        Accuracy.__post_init__(self)
        object.__setattr__(self, "threshold", exact(threshold=self.threshold))

    def holds(self, answers: Sequence[bool], truths: Sequence[Number]) -> bool:
        if len(answers) < len(truths):
            return False
        low, high = self.threshold - self.alpha, self.threshold + self.alpha
        pairs = ((above, exact(truth=truth)) for above, truth in zip(answers, truths, strict=True))
        return all(truth >= low if above else truth <= high for above, truth in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericAccuracy(Accuracy[Fraction | None]):
    """Every query is answered; numbers are within alpha, and queries without one (None) are below threshold + alpha.

    Reference: Dwork & Roth 2014, Definition 3.10.
    Textbook: S1.12.
    """

    threshold: Fraction

    def __post_init__(self) -> None:
        Accuracy.__post_init__(self)
        object.__setattr__(self, "threshold", exact(threshold=self.threshold))

    def holds(self, answers: Sequence[Fraction | None], truths: Sequence[Number]) -> bool:
        if len(answers) < len(truths):
            return False
        high = self.threshold + self.alpha
        pairs = ((answer, exact(truth=truth)) for answer, truth in zip(answers, truths, strict=True))
        return all(truth <= high if answer is None else abs(answer - truth) <= self.alpha for answer, truth in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Utility(Accuracy[Fraction]):
    """All but a part gamma of the queries are answered within alpha; with gamma = 0 this is (alpha, beta)-useful.

    Reference: Dwork & Roth 2014, Definition 9.1.
    Textbook: S1.12.
    """

    gamma: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        Accuracy.__post_init__(self)
        object.__setattr__(self, "gamma", probability(gamma=self.gamma))

    def holds(self, answers: Sequence[Fraction], truths: Sequence[Number]) -> bool:
        far = sum(abs(answer - exact(truth=t)) > self.alpha for answer, t in zip(answers, truths, strict=True))
        return far <= self.gamma * len(truths)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyAccuracy(Accuracy[Fraction]):
    """An estimate that is off by less than alpha in two runs of three: the surveyor's notion.

    Reference: Dwork & Roth 2014, Section 10.3.2.
    Textbook: S1.12.
    """

    beta: Fraction = Fraction(1, 3)

    def holds(self, answers: Sequence[Fraction], truths: Sequence[Number]) -> bool:
        return all(abs(answer - exact(truth=t)) < self.alpha for answer, t in zip(answers, truths, strict=True))


def utility_bounds(loss: Loss, *, expected: Number) -> tuple[Fraction, Fraction]:
    """Between which figures an expected utility stays when one person joins, given what it is without them.

    Guarantee: for a pure loss and any utility that is never negative, whatever happens after the release, the expected
    utility with the person lies within e^-epsilon and e^epsilon times `expected`; rounded outwards. With a delta there
    is no such bound, because a rare event can carry any utility.
    Reference: Dwork & Roth 2014, Section 2.3.1 and Definition 10.1.
    Textbook: S1.9.
    """
    if not isinstance(loss, PureDP):
        raise TheoremDoesNotApply(
            "the utility bound", needs="a pure loss", given=str(loss), instead="a pure loss, or a bounded utility"
        )
    base = not_negative(expected=expected)
    return bracket(-loss.epsilon)[0] * base, bracket(loss.epsilon)[1] * base
