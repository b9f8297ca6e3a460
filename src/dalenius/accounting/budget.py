"""How much may ever be learnt: a budget, and the fixed caps on sums of charges that a ledger keeps for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import floor

from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT, LARGEST, UNBOUNDED, Charge
from dalenius.accounting.conversion import epsilon_to_renyi, renyi_to_epsilon, valley
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import (
    Number,
    exact,
    exact_written,
    format_number,
    inside_unit,
    not_negative,
    positive,
    probability,
)

EVENT_SHARE = Fraction(1, 10)
"""The part of delta that a rectangle sets apart for events, unless told otherwise. It costs about 1 % of what Gaussian
noise can buy (1.1 % at epsilon = 1, delta = 10^-5; 0.6 % at delta = 10^-9), while an event's noise grows only with
the logarithm of its delta."""


_MOST = 9223
"""The largest epsilon of a budget, so that sums of charges fit into 64 bits."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A cap on the composed loss: all releases together are (epsilon, delta)-DP."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=exact_written(epsilon=epsilon)))
        event = not_negative(delta=exact_written(delta=delta))
        object.__setattr__(self, "delta", inside_unit(delta=delta) if event else event)

    def __str__(self) -> str:
        text = f"epsilon = {format_number(self.epsilon)}"
        return f"{text}, delta = {format_number(self.delta)}" if self.delta else text


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiFilter:
    """A budget as a ledger keeps it: the most that charges may sum up to, in event probability and in divergence.

    A pure budget caps the sum of epsilons. A budget (epsilon, delta) is turned once into a Rényi order alpha, a cap R
    on the divergence of that order and a cap on the event deltas, which are never traded for each other. Of the two
    sums of divergence, that of order alpha and that of epsilons, one has to stay within its cap: whichever lasts
    longer.

    Guarantee: as long as the sums are `admitted` by `cap`, everything released is (epsilon, delta)-DP, however
    adaptively the releases were chosen. The constructor checks that R, converted at delta less the events' cap, gives
    no more than epsilon.
    Reference: Feldman & Zrnic 2021 (arXiv:2008.11193) for the fixed order; docs/accounting.md, Theorem 1.
    Textbook: S6.8.
    """

    budget: Budget
    cap: Charge

    def __post_init__(self) -> None:
        if not self.cap.divergence:
            raise InvalidParameter("budget", self.budget, allowed="enough for one unit of 10^-15 of divergence")
        pure = self.cap.epsilon * DIVERGENCE_UNIT if self.cap.epsilon < UNBOUNDED else Fraction(0)
        if max(pure, self._implied()) > self.budget.epsilon:
            raise InvalidParameter("cap", self.cap, allowed=f"within the budget {self.budget}")

    def _implied(self) -> Fraction:
        """The epsilon that the cap implies at the budget's delta."""
        divergence, events = self.cap.divergence * DIVERGENCE_UNIT, self.cap.delta * DELTA_UNIT
        if self.order is None:
            if events or self.budget.delta:
                raise InvalidParameter("order", None, allowed="a Rényi order when there is a delta")
            return divergence
        return renyi_to_epsilon(divergence=divergence, alpha=self.order, delta=self.budget.delta - events)

    @classmethod
    def of(cls, budget: Budget, *, alpha: Number | None = None, event_delta: Number | None = None) -> RenyiFilter:
        """The rectangle of a budget.

        By default a tenth of delta goes to events, and alpha is the order, among those with two digits in alpha - 1,
        at which the cap holds most Gaussian noise: the largest R / alpha.
        """
        if budget.epsilon > _MOST:
            raise InvalidParameter("epsilon", budget.epsilon, allowed="at most 9223, so that charges fit into 64 bits")
        if not budget.delta:
            return cls(budget=budget, cap=Charge.within(divergence=budget.epsilon, delta=Fraction(0), order=None))
        share = budget.delta * EVENT_SHARE if event_delta is None else probability(event_delta=event_delta)
        events = min(share // DELTA_UNIT, LARGEST) * DELTA_UNIT
        order = gaussian_order(budget.epsilon, budget.delta - events) if alpha is None else exact(alpha=alpha)
        divergence = epsilon_to_renyi(epsilon=budget.epsilon, alpha=order, delta=budget.delta - events)
        sizes = {"divergence": max(Fraction(0), divergence), "epsilon": budget.epsilon}
        return cls(budget=budget, cap=Charge.within(**sizes, delta=events, order=order))

    @property
    def order(self) -> Fraction | None:
        """The Rényi order of all charges; None for a pure budget."""
        return self.cap.order

    def amount(self, *, epsilon: Number) -> Charge:
        """What `epsilon` buys of the rectangle: the share that a budget (epsilon, delta) of the same delta would be.

        Budgets are compared by the Gaussian noise that they can pay for, so the whole epsilon buys everything.
        """
        size = positive(epsilon=epsilon)
        if size > self.budget.epsilon:
            raise InvalidParameter("epsilon", epsilon, allowed=f"at most the budget's {self.budget}")
        capacity = self._capacity(size)
        if capacity <= 0:
            raise InvalidParameter("epsilon", epsilon, allowed="large enough for a Rényi order of at most 10^19")
        return self.part(share=capacity / self._capacity(self.budget.epsilon)).rectangle

    def alone(self, *, epsilon: Number) -> tuple[Charge, ...]:
        """What one answer may cost that is (epsilon, delta)-DP by itself, by either of two proofs: each limits one of
        the sums of divergence, that of order infinity or that of the Rényi order which is best for this epsilon.

        Events take as much of their cap as this is of the whole epsilon. The whole epsilon is for one answer alone,
        which is charged all that there is, so its events may have all of delta.
        """
        size = positive(epsilon=epsilon)
        if size > self.budget.epsilon:
            raise InvalidParameter("epsilon", epsilon, allowed=f"at most the budget's {self.budget}")
        if self.order is None:
            return (self.part(share=size / self.budget.epsilon),)
        everything = size == self.budget.epsilon
        events = self.budget.delta // DELTA_UNIT if everything else floor(self.cap.delta * size / self.budget.epsilon)
        units = floor(size / DIVERGENCE_UNIT)
        if not units:
            raise InvalidParameter("epsilon", epsilon, allowed="at least 10^-15, the unit of a ledger")
        pure = Charge(divergence=units, delta=min(LARGEST, events), order=self.order, epsilon=units)
        try:
            best = self if everything else RenyiFilter.of(Budget(size, self.budget.delta))
        except InvalidParameter:  # too little for any Rényi order
            return (pure,)
        return pure, replace(best.cap.rectangle, delta=min(events, best.cap.delta))

    def room(self, *, share: Number, spent: Sequence[Charge]) -> tuple[Charge, ...]:
        """What one answer may cost that takes this share of the budget as it now stands: `spent` is what the units of
        each block bear. Each limits the sums of divergence: as far beyond what is spent of one of them as the share
        that a block shows may rise, by addition where that is open, or by divergence for all blocks."""
        size = exact(share=share)
        part = self.part(share=size)
        if self.order is None or (size == 1 and not any(spent)):
            return self.alone(epsilon=self.budget.epsilon * size)
        rooms = [self._room(sums, size) for sums in spent]
        by_divergence = min(divergence for divergence, _ in rooms)
        pure = min((epsilon for _, epsilon in rooms if epsilon > 0), default=0)
        closed = min((divergence for divergence, epsilon in rooms if epsilon <= 0), default=LARGEST)
        found = [replace(part, divergence=min(pure, closed), epsilon=pure)] if min(pure, closed) > 0 else []
        found += [replace(part, divergence=by_divergence, epsilon=UNBOUNDED)] if by_divergence > 0 else []
        return tuple(found) or (part.rectangle,)

    def _room(self, spent: Charge, share: Fraction) -> tuple[int, int]:
        """How much of either sum of divergence is left until the share of it that lasts longer has risen so far."""
        reached = replace(spent, delta=0).share(self.cap) + share
        pure = 0 if spent.epsilon == UNBOUNDED else floor(self.cap.epsilon * reached) - spent.epsilon
        return floor(self.cap.divergence * reached) - spent.divergence, pure

    def part(self, *, share: Number) -> Charge:
        """The caps of a share of this budget (0.01 for one percent), rounded down, and at least one unit."""
        size = positive(share=share)
        if size > 1:
            raise InvalidParameter("share", share, allowed="at most 1, the whole budget")
        part = self.cap.part(size)
        return replace(part, divergence=max(1, part.divergence), epsilon=max(1, part.epsilon))

    def share(self, spent: Charge) -> Fraction:
        """The share of this budget that is spent after such charges: see `Charge.share`.

        It is at most 1 as long as they are admitted. It does not add up: a release takes what the share of all charges
        rises by.
        """
        if spent.order != self.order:
            raise InvalidParameter("order", spent.order, allowed=f"{self.order}, the order of this budget")
        if spent.delta and not self.cap.delta:
            raise InvalidParameter("amount", spent, allowed="without delta: this budget has none for events")
        return spent.share(self.cap)

    def _capacity(self, epsilon: Fraction) -> Fraction:
        if self.order is None:
            return epsilon
        room = self.budget.delta - self.cap.delta * DELTA_UNIT
        order = gaussian_order(epsilon, room)
        return epsilon_to_renyi(epsilon=epsilon, alpha=order, delta=room) / order


@lru_cache(maxsize=1024)
def gaussian_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The order alpha, with two digits in alpha - 1, whose R / alpha is largest: R implies (epsilon, delta) there."""

    def dearth(index: int) -> Fraction:
        order = _grid(index)
        return -epsilon_to_renyi(epsilon=epsilon, alpha=order, delta=delta) / order

    return _grid(valley(dearth, -90 * 6, 90 * 18))


def _grid(index: int) -> Fraction:
    """Orders 1 + 1.0, 1 + 1.1, ..., 1 + 9.9, 1 + 10, ... for indices 0, 1, ..., 89, 90, ...; and downwards."""
    decade, step = divmod(index, 90)
    return 1 + Fraction(step + 10, 10) * Fraction(10) ** decade
