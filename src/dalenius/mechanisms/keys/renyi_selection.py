"""Which keys may be shown, decided as well as a ledger's own Rényi order allows."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Self, TypeAlias

from flint import arb

from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT, Charge, whole_units
from dalenius.accounting.composition import repeated
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.keys.key_selection import Key, KeyCounts, changed_keys, kept_keys, whole_delta, within
from dalenius.privacy.losses import Loss, RenyiCurve, valid_order
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import inside_unit, positive, whole
from dalenius.privacy.reals import ball, certainly_positive, precise
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy

_NAME = "key selection"
_FINE = 1 << 128  # chances are multiples of 1 / _FINE
_MOST_STEPS = 2_000  # from there on a key is kept as often as at the last step

Curve: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
"""Pairs (order, divergence)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiKeySelection:
    """Keep each key with a probability that grows with the number of units that have it, as fast as Rényi divergences
    of given orders and an event allow, and show the keys that are kept; no count is shown.

    `curve` has pairs (order, divergence): one for each ledger that is charged.

    Guarantee: if one unit has at most `groups` keys, the list of kept keys costs these divergences at their orders
    (and at lower ones) and an event of probability `delta`; all are split evenly over the keys that change.
    Proof: keys are decided one by one from their own counts, and the count of a key changes by one, so it is enough to
    compare coins of chance p = pi(n) and q = pi(n + 1), for the shares r and d of one key. Set apart an event of
    probability d, in which the key is kept in the second world and not in the first; what is left are coins of chance
    p / (1 - d) and (q - d) / (1 - d), whose divergence of each order is at most r in both directions: that is checked
    with certainty for every step of the ladder 0 = pi(0) < pi(1) = d < pi(2) < ... = 1, whatever rounding has made of
    it. From p >= 1 - d on nothing is left to compare, and q = 1.
    Every step is the largest possible one, up to rounding. At equal price a key needs between a third and four fifths
    of the units that Gaussian thresholding asks for, and still less of what truncated geometric selection does.
    Reference: Harrison & Manurangsi 2026 (arXiv:2603.09167), optimal partition selection under approximate Rényi
    privacy; Desfontaines, Voss, Gipson & Mandayam 2020 (arXiv:2006.03684) for the same ladder under (epsilon, delta).
    """

    curve: Curve
    delta: Fraction
    groups: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        pairs = sorted((valid_order(order), positive(divergence=size)) for order, size in self.curve)
        if not pairs:
            raise InvalidParameter("curve", self.curve, allowed="at least one pair (order, divergence)")
        object.__setattr__(self, "curve", tuple(pairs))
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))
        object.__setattr__(self, "groups", whole(1, groups=self.groups))
        stated(self.neighbours)

    @classmethod
    def calibrated(
        cls, *, amounts: Sequence[Charge], sensitivity: SensitivityLike, neighbours: Neighbours | None = None
    ) -> Self:
        """The selection that costs no more than any of these amounts, for counts that change by 1 in each key."""
        relation = stated(neighbours)
        groups = -(-max(1, changed_keys(sensitivity, mechanism=_NAME)) // relation.add_remove_steps)
        changed = groups * relation.add_remove_steps
        # Whole units for each key, so that the price of all keys together is never above the amounts.
        orders = [(amount.order, amount.divergence // changed) for amount in amounts if amount.order is not None]
        if len(orders) < len(amounts) or not amounts:
            raise InvalidParameter("amounts", list(map(str, amounts)), allowed="amounts with a Rényi order")
        event = min(amount.delta for amount in amounts) // changed
        if not event or not all(units for _, units in orders):
            raise InvalidParameter(
                "price",
                "too small",
                allowed=f"at least one unit of divergence and of delta for each of {changed} keys that a unit changes",
                hint="Offer more, or lower max_groups.",
            )
        curve = tuple((order, units * changed * DIVERGENCE_UNIT) for order, units in orders)
        return cls(curve=curve, delta=event * changed * DELTA_UNIT, groups=groups, neighbours=relation)

    @property
    def each(self) -> RenyiCurve:
        """The share of one key, in whole units of a ledger where it has many, so that all shares fit together."""
        changed = self.groups * self.neighbours.add_remove_steps
        points = tuple((order, whole_units(size / changed)) for order, size in self.curve)
        return RenyiCurve(points, event=whole_delta(self.delta / changed))

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        changed = self.groups * self.neighbours.add_remove_steps
        within(changed_keys(sensitivity, mechanism=_NAME), changed, mechanism=_NAME)
        return repeated(self.each, changed)

    def release(self, value: KeyCounts, entropy: Entropy) -> tuple[Key, ...]:
        """The keys that are kept, in order."""
        ladder = self._ladder()
        return kept_keys(value, lambda count: partial(ball, Fraction(ladder.at(count), _FINE)), entropy)

    def keep_probability(self, count: int) -> arb:
        """The probability that a key with so many units is kept."""
        with precise():
            return ball(Fraction(self._ladder().at(whole(0, count=count)), _FINE))

    def half_kept(self) -> int | None:
        """The least number of units with which a key is kept at least every other time; None if that is very large."""
        return self._ladder().first(_FINE // 2)

    def _ladder(self) -> _Ladder:
        return _ladder(self.each.points, self.each.event)


@lru_cache(maxsize=64)
def _ladder(curve: Curve, delta: Fraction) -> _Ladder:
    return _Ladder(curve, delta)


class _Ladder:
    """pi(0), pi(1), ... in units of 1 / _FINE, as far as they were asked for; every one follows from the one before."""

    def __init__(self, curve: Curve, delta: Fraction) -> None:
        self._curve, self._delta = curve, Fraction(int(delta * _FINE), _FINE)
        if not self._delta:
            raise InvalidParameter("delta", "too small", allowed="at least 2^-128 for each key")
        self._chances: tuple[int, ...] = (0, int(self._delta * _FINE))
        self._width, self._lock = 1.0, threading.Lock()

    def at(self, count: int) -> int:
        """The chance of a count; that of the last step where there are no more, as a constant chance costs nothing."""
        with self._lock:
            chances = self._chances
            while len(chances) <= min(count, _MOST_STEPS) and chances[-1] < _FINE:
                chances = self._climb(chances)
            return chances[min(count, len(chances) - 1)]

    def first(self, chance: int) -> int | None:
        """The least count that has at least this chance."""
        with self._lock:
            chances = self._chances
            while chances[-1] < chance and len(chances) <= _MOST_STEPS // 2:
                chances = self._climb(chances)
            return bisect_left(chances, chance) if chances[-1] >= chance else None

    def _climb(self, chances: tuple[int, ...]) -> tuple[int, ...]:
        self._chances = longer = (*chances, self._next(Fraction(chances[-1], _FINE)))
        return longer

    def _next(self, chance: Fraction) -> int:
        """The largest chance that is certainly allowed, up to a relative 2^-12 of its distance in log-odds."""
        if chance >= 1 - self._delta:
            return _FINE
        here = chance / (1 - self._delta)
        width = Fraction(self._widest(here))
        while True:
            there = self._above(here, width)
            if self._allowed(here, (Fraction(there, _FINE) - self._delta) / (1 - self._delta)):
                self._width = float(width)
                return there
            width -= width / 2**12

    def _above(self, here: Fraction, width: Fraction) -> int:
        """The chance that lies `width` above `here` in log-odds, then with the event, rounded down."""
        with precise(192):
            odds = ball(here / (1 - here)) * ball(width).exp()
            there = odds / (1 + odds) * ball(1 - self._delta) + ball(self._delta)
            point = (there * _FINE).lower().floor().unique_fmpz()
            assert point is not None
            return int(point)

    def _allowed(self, here: Fraction, there: Fraction) -> bool:
        """Whether coins of these chances certainly have no more than the divergences, in both directions."""
        assert here < there < 1
        return all(
            certainly_positive(partial(_room, order, size, *pair))
            for order, size in self._curve
            for pair in ((there, here), (here, there))
        )

    def _widest(self, here: Fraction) -> float:
        """About the largest step in log-odds: a search that is trusted for nothing, since `_allowed` decides."""
        with precise(64):
            kept, not_kept = ball(here), ball(1 - here)
            return min(
                _root(partial(_excess, ball(order), ball((order - 1) * size), kept, not_kept), self._width)
                for order, size in self._curve
            )


def _room(order: Fraction, size: Fraction, first: Fraction, second: Fraction) -> arb:
    """How far the moment of the first coin's odds over the second's is below its bound."""
    power, rest = ball(order), ball(1 - order)
    kept, not_kept = ball(first) ** power * ball(second) ** rest, ball(1 - first) ** power * ball(1 - second) ** rest
    return ball((order - 1) * size).exp() - kept - not_kept


def _excess(power: arb, bound: arb, kept: arb, not_kept: arb, width: float) -> float:
    """The same in logarithms, for the larger of both directions, `width` above the chance `kept` in log-odds."""
    raised = arb(width).exp()
    whole_odds = kept * raised + not_kept
    up = (kept * raised**power + not_kept) / whole_odds**power
    down = (kept * raised ** (1 - power) + not_kept) * whole_odds ** (power - 1)
    return float((up.max(down).log() - bound).mid())


def _root(excess: Callable[[float], float], guess: float) -> float:
    """About where an increasing function is zero, from below: false position in a bracket around the guess."""
    low, high = guess * 0.95, guess * 1.05
    below, above = excess(low), excess(high)
    while above < 0:
        low, below, high = high, above, 2 * high
        above = excess(high)
    while below > 0:
        high, above, low = low, below, low / 2
        below = excess(low)
    while high - low > high * 2.0**-13:
        # Half the weight to an end that stays (the Illinois rule), so that both ends close in.
        middle = low + (high - low) * min(0.99, max(0.01, -below / (above - below)))
        value = excess(middle)
        if value < 0:
            low, below, above = middle, value, above / 2
        else:
            high, above, below = middle, value, below / 2
    return low
