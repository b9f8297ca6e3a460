"""Why divergence and events are never traded for each other: the attack on a filter that does, and on ours.

The analyst first asks for a rare hint. If it comes, the rest of the divergence buys a confirmation; if not, whatever
the filter still allows goes into an event that gives everything away. A filter that keeps only (divergence, events)
on the right side of the conversion curve lets the analyst decide which of the two to spend after having seen the hint.
All mechanisms are finite and all probabilities exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction

import pytest

from costs import cases
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.accounting.conversion import renyi_to_delta
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import DaleniusError
from dalenius.privacy.divergences import Distribution, hockey_stick
from dalenius.privacy.loss_distribution import LossDistribution
from dalenius.privacy.losses import ApproximateDP, Loss, RenyiCurve
from dalenius.privacy.neighbours import AddRemove

BUDGET = Budget(1, "1e-5")
E = Fraction("2.718281828459045")


class Gate(ABC):
    """A filter as the analyst sees it."""

    order: Fraction

    @abstractmethod
    def allows(self, losses: list[Loss]) -> bool:
        """Whether these releases, one after the other, are all answered."""


class MovingFrontier(Gate):
    """The planted filter: it keeps the sums on the safe side of the conversion curve, wherever that is."""

    def __init__(self) -> None:
        order = RenyiFilter.of(BUDGET).order
        assert order is not None
        self.order = order

    def allows(self, losses: list[Loss]) -> bool:
        divergence = sum((loss.renyi(self.order) for loss in losses), Fraction(0))
        events = sum((loss.delta for loss in losses), Fraction(0))
        return events + renyi_to_delta(divergence=divergence, alpha=self.order, epsilon=BUDGET.epsilon) <= BUDGET.delta


class FixedRectangle(Gate):
    """The real filter."""

    def __init__(self, renyi_filter: RenyiFilter) -> None:
        assert renyi_filter.order is not None
        self.renyi_filter, self.order = renyi_filter, renyi_filter.order

    def allows(self, losses: list[Loss]) -> bool:
        budget = PrivacyFilter(self.renyi_filter, neighbours=AddRemove())
        try:
            for loss in losses:
                budget.charge(loss)
        except DaleniusError:
            return False
        return True


def largest(holds: Callable[[Fraction], bool]) -> Fraction:
    """The largest multiple of 2^-60 in (0, 1/2) for which a condition holds that fails for all larger ones."""
    low, high = 0, 2**59
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(Fraction(middle, 2**60)) else (low, middle)
    return Fraction(low, 2**60)


class Hint:
    """A release that says yes with probability `often` in one world, and `ratio` times more rarely in the other."""

    def __init__(self, often: Fraction, ratio: Fraction, order: Fraction) -> None:
        self.worlds = tuple(Distribution({True: p, False: 1 - p}) for p in (often, often / ratio))
        self.loss = RenyiCurve(((order, LossDistribution.between(*self.worlds).renyi(order)),))


def attack(gate: Gate, share: Fraction, ratio: Fraction) -> Fraction:
    """The exact delta at the budget's epsilon that this analyst reaches."""

    def hint(odds: Fraction, affordable: Callable[[Loss], bool]) -> Hint:
        return Hint(largest(lambda often: affordable(Hint(often, odds, gate.order).loss)), odds, gate.order)

    everything = largest(lambda size: gate.allows([RenyiCurve(((gate.order, 2 * size),))])) * 2
    first = hint(ratio, lambda loss: loss.renyi(gate.order) <= share * everything)
    proof = gate.order / (gate.order - 1) * E / ratio
    second = hint(proof, lambda loss: gate.allows([first.loss, loss]))
    event = largest(lambda size: gate.allows([first.loss, ApproximateDP(0, size)]))
    assert gate.allows([first.loss, second.loss])
    assert event == 0 or gate.allows([first.loss, ApproximateDP(0, event)])

    def view(world: int) -> Distribution[tuple[bool, object]]:
        then = {True: second.worlds[world], False: Distribution({f"it is world {world}": event, "?": 1 - event})}
        return Distribution(
            {(yes, last): p * q for yes, p in first.worlds[world].items() for last, q in then[yes].items()}
        )

    return hockey_stick(view(0), view(1), epsilon=BUDGET.epsilon)


def worst(gate: Gate) -> float:
    """The best of some attacks, as a multiple of the promised delta."""
    tried = [attack(gate, Fraction(share, 10), Fraction(ratio, 4)) for share in (3, 5, 7) for ratio in (6, 8, 10)]
    return float(max(tried) / BUDGET.delta)


def test_a_moving_frontier_is_no_filter() -> None:
    """Twice the promise is the limit: all of it in events, and all of it in divergence."""
    assert 1.1 < worst(MovingFrontier()) == pytest.approx(1.979, abs=1e-3)


@pytest.mark.textbook("S6.8")
@cases(("share", "reached"), [("0.1", 0.989), ("0.5", 0.995)], fast=1)
def test_the_same_attack_finds_nothing_in_a_fixed_rectangle(share: str, reached: float) -> None:
    renyi_filter = RenyiFilter.of(BUDGET, event_delta=Fraction(share) * BUDGET.delta)
    assert 1 >= worst(FixedRectangle(renyi_filter)) == pytest.approx(reached, abs=1e-3)
