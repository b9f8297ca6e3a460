"""Propose a bound on the sensitivity, test that the data are far from breaking it, and only then release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.profiles import (
    Ordered,
    Reach,
    Values,
    Windows,
    distance_beyond,
    grid,
    one_value_if_replaced,
    rank,
)
from dalenius.mechanisms.robust.stability import FAR, StabilityTest, one_step
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, positive, probability, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy

_NAME = "propose-test-release"


class Proposed(NamedTuple):
    """A whole number, and a lower bound on how many steps lead to a database that breaks the proposed bound."""

    value: int
    distance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeTestRelease:
    """A number with noise of scale 2 bound / epsilon, if the data are far from all that move it by more than `bound`.

    Guarantee: let the distance be 0 where one step moves the number by more than `bound`, and change by at most 1
    between neighbours. Then the release is (epsilon, delta)-DP: half of epsilon for the test, half for the noise. A
    failed test, which gives None, costs the same.
    Proof: if at one of two neighbours no step moves the number by more than `bound`, the numbers differ by no more, and
    test and noise cost half of epsilon each. Otherwise both distances are 0, the outcome of the test has the same
    law in both, and either passes with probability at most delta / 2. It is never pure: delta cannot be 0.
    The distance must be exact or a lower bound with these two properties; an estimate from data is neither.
    Reference: Dwork & Lei 2009; Dwork & Roth 2014, Section 7.2.
    Textbook: S11.4.
    """

    bound: int
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", whole(1, bound=self.bound))
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))
        stated(self.neighbours)

    @property
    def test(self) -> StabilityTest:
        return StabilityTest(epsilon=self.epsilon / 2, delta=self.delta)

    @property
    def noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(2 * self.bound / self.epsilon, self.neighbours)

    def loss(self, *, sensitivity: SensitivityLike) -> ApproximateDP:
        """The sensitivity is that of the distance: 1."""
        one_step(sensitivity, mechanism=_NAME)
        return ApproximateDP(self.epsilon, self.delta)

    def release(self, value: Proposed, entropy: Entropy) -> int | None:
        """The noisy number, or None if the test fails; both noises are drawn either way."""
        passed = self.test.passes(whole(distance=value.distance), entropy)
        noisy = self.noise.release(int(value.value), entropy)
        return noisy if passed else None

    def error(self, beta: Number) -> int:
        """What the noise of a released number exceeds with probability at most beta."""
        return self.noise.error(beta)

    def enough(self, beta: Number) -> int:
        """The least distance at which a number is released with probability at least 1 - beta."""
        return self.test.enough(beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedQuantile:
    """The p-quantile of integers on a public grid by propose-test-release, with the exact distance.

    Guarantee: that of `ProposeTestRelease`. The distance is the least k for which the profile of the quantile passes
    the bound: `Windows` where values are replaced, `Reach` (exact for the median of one value of each unit) where up
    to `rows` of them are added or removed.
    Reference: Dwork & Lei 2009; Dwork & Roth 2014, Section 7.2.
    Textbook: S11.4.
    """

    lower: int
    upper: int
    bound: int
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    p: Fraction = Fraction(1, 2)
    rows: int = 1

    def __post_init__(self) -> None:
        inner = self.inner
        for name in ("bound", "epsilon", "delta"):
            object.__setattr__(self, name, getattr(inner, name))
        lower, upper = grid(self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "p", probability(p=self.p))
        object.__setattr__(self, "rows", whole(1, rows=self.rows))
        one_value_if_replaced("the quantile", self.rows, self.neighbours)

    @property
    def inner(self) -> ProposeTestRelease:
        return ProposeTestRelease(bound=self.bound, epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)

    def loss(self, *, sensitivity: SensitivityLike) -> ApproximateDP:
        """The sensitivity is that of the counts of all values: those of one unit come, go or are replaced."""
        one_step(sensitivity, mechanism=_NAME, most=self.neighbours.add_remove_steps * self.rows)
        return self.inner.loss(sensitivity=1)

    def release(self, values: Values, entropy: Entropy) -> int | None:
        """The noisy quantile inside of the grid, or None."""
        noisy = self.inner.release(self.proposed(values), entropy)
        return None if noisy is None else min(max(noisy, self.lower), self.upper)

    def proposed(self, values: Values) -> Proposed:
        """The quantile and its distance from data that break the bound."""
        ordered = Ordered.of(values, lower=self.lower, upper=self.upper)
        place = rank(self.p, ordered.size)
        adds = isinstance(self.neighbours, AddRemove)
        profile = Reach(ordered, self.p, self.rows) if adds else Windows(ordered, place)
        if ordered.width <= self.bound:
            return Proposed(ordered.at(place) if ordered.size else self.lower, FAR)
        # Within n + 1 steps every profile reaches the whole width.
        far = distance_beyond(profile, self.bound, most=ordered.size + 1)
        return Proposed(ordered.at(place) if ordered.size else self.lower, far)


def textbook_delta(*, n: int, epsilon: Number) -> Fraction:
    """n^(-epsilon ln n) / 2: how often Laplace noise of scale 1 / epsilon passes the book's threshold ln^2 n.

    Reference: Dwork & Roth 2014, Section 7.2.
    Textbook: S11.4.
    """
    size, price = whole(1, n=n), positive(epsilon=epsilon)
    with precise():
        return upper((-ball(price) * ball(size).log() ** 2).exp() / 2)
