"""Finite probability distributions with exact masses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, exact, not_negative

Outcome = TypeVar("Outcome", bound=Hashable)
Result = TypeVar("Result", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Distribution(Mapping[Outcome, Fraction], Generic[Outcome]):
    """The exact masses of finitely many outcomes; outcomes of mass 0 are dropped, so the keys are the support.

    Masses are read exactly and must add up to exactly 1: 0.1, 0.2 and 0.7 do. Masses that were rounded somewhere on
    the way do not, and a figure computed from them would prove nothing.
    Reference: Dwork & Roth 2014, Definition 2.1 (probability simplex).
    """

    masses: Mapping[Outcome, Number]

    def __post_init__(self) -> None:
        if not isinstance(self.masses, Mapping):
            raise InvalidParameter("masses", self.masses, allowed="a mapping from outcomes to their probabilities")
        masses = {outcome: not_negative(mass=mass) for outcome, mass in self.masses.items()}
        if (total := sum(masses.values())) != 1:
            raise InvalidParameter(
                "masses",
                f"a total of {float(total)!r}",
                allowed="masses that add up to exactly 1",
                hint="Give fractions or decimals, or use Distribution.weighted to scale exact weights.",
            )
        object.__setattr__(self, "masses", {outcome: mass for outcome, mass in masses.items() if mass})

    @classmethod
    def of(cls, masses: Mapping[Outcome, Number]) -> Distribution[Outcome]:
        """A distribution as it is, or one made of a plain mapping."""
        return masses if isinstance(masses, Distribution) else Distribution(masses)

    @classmethod
    def weighted(cls, weights: Mapping[Outcome, Number]) -> Distribution[Outcome]:
        """Masses in proportion to exact weights, at least one of which is positive."""
        exact_weights = {outcome: not_negative(weight=weight) for outcome, weight in weights.items()}
        total = sum(exact_weights.values())
        if not total:
            raise InvalidParameter("weights", dict(weights), allowed="weights of which at least one is positive")
        return Distribution({outcome: weight / total for outcome, weight in exact_weights.items()})

    @classmethod
    def uniform(cls, outcomes: Iterable[Outcome]) -> Distribution[Outcome]:
        """Equal masses."""
        return cls.weighted(dict.fromkeys(outcomes, 1))

    def __getitem__(self, outcome: Outcome) -> Fraction:
        mass = self.masses[outcome]
        assert isinstance(mass, Fraction)
        return mass

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.masses)

    def __len__(self) -> int:
        return len(self.masses)

    def __hash__(self) -> int:
        return hash(frozenset(self.masses.items()))

    def mass(self, outcome: Outcome) -> Fraction:
        """The probability of one outcome, 0 outside the support."""
        return self[outcome] if outcome in self.masses else Fraction(0)

    def probability(self, event: Callable[[Outcome], bool]) -> Fraction:
        """The probability of the outcomes for which `event` is true."""
        return sum((mass for outcome, mass in self.items() if event(outcome)), Fraction(0))

    def mean(self, value: Callable[[Outcome], Number]) -> Fraction:
        """The expected value of a function of the outcome."""
        return sum((mass * exact(value=value(outcome)) for outcome, mass in self.items()), Fraction(0))

    def through(self, channel: Callable[[Outcome], Mapping[Result, Number]]) -> Distribution[Result]:
        """The distribution after a randomized map, which sees the outcome and nothing else.

        Guarantee: whatever the channel does, no divergence between two distributions grows when both go through it,
        so an (epsilon, delta)-DP release stays (epsilon, delta)-DP. The channel must not look at the data.
        Reference: Dwork & Roth 2014, Proposition 2.1 (post-processing).
        Textbook: S1.7.
        """
        masses: defaultdict[Result, Fraction] = defaultdict(Fraction)
        for outcome, mass in self.items():
            for result, share in Distribution.of(channel(outcome)).items():
                masses[result] += mass * share
        return Distribution(masses)

    def mapped(self, function: Callable[[Outcome], Result]) -> Distribution[Result]:
        """The distribution of a function of the outcome: post-processing without randomness."""
        return self.through(lambda outcome: {function(outcome): 1})

    def times(self, other: Mapping[Result, Number]) -> Distribution[tuple[Outcome, Result]]:
        """The distribution of the pair with an independent second outcome."""
        second = Distribution.of(other)
        return Distribution({(a, b): p * q for a, p in self.items() for b, q in second.items()})
