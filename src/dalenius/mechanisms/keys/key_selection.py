"""Which keys may be shown, when the keys themselves come from the data: decided by how many units have them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import floor
from typing import Any, Self, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.accounting.amounts import DELTA_UNIT, whole_units
from dalenius.accounting.composition import repeated
from dalenius.errors import TheoremDoesNotApply, UnusableValue
from dalenius.privacy.losses import ApproximateDP, Loss
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, certainly_positive, least, precise
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import Real, bracket, is_below
from dalenius.randomness.integers import integer_array

Key: TypeAlias = tuple[int | bool | str | None, ...]
"""One code for each key column."""

_WORD = 1 << 64


@dataclass(frozen=True, eq=False)
class KeyCounts:
    """Every key that occurs, once, and how many units have it; a key with count 0 does not occur."""

    keys: Sequence[Key]
    counts: NDArray[np.int64]

    def in_order(self) -> tuple[list[Key], NDArray[Any]]:
        """The keys that occur and their counts, in the order of the keys and not in that of the rows or the engine."""
        counts = integer_array(self.counts)
        if counts.shape != (len(self.keys),) or (counts.size and counts.min() < 0) or _repeated(self.keys):
            raise UnusableValue("keys", "a wrong list", allowed="each key once, with a count of 0 or more for each")
        present = np.flatnonzero(counts)
        names = [rank(self.keys[place]) for place in present.tolist()]
        order = present[sorted(range(len(names)), key=names.__getitem__)]
        return [self.keys[place] for place in order.tolist()], counts[order]


def rank(key: Key) -> tuple[tuple[bool, Any], ...]:
    """What keys are ordered by: column by column, texts bytewise, NULL last."""
    return tuple((code is None, code.encode() if isinstance(code, str) else code or 0) for code in key)


def _repeated(keys: Sequence[Key]) -> bool:
    return len(set(keys)) < len(keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricKeySelection:
    """Keep each key with a probability that grows with the number of units that have it, as fast as (epsilon, delta)
    allows, and show the keys that are kept; no count is shown.

    Guarantee: if one unit has at most `groups` keys, the list of kept keys is (epsilon, delta)-DP: a list of as many
    parts as keys change (`groups`, or twice that where a unit is replaced), each with an equal share of both.
    Proof: keys are decided one by one from their own counts, and the count of a key changes by one. By construction
    pi(0) = 0, and pi(n + 1) is the largest p for which coins of chance pi(n) and p are close in all four inequalities
    p <= e^eps pi(n) + delta, 1 - pi(n) <= e^eps (1 - p) + delta (the other two follow from p >= pi(n)). A release made
    of independent parts, of which some change, composes from the changed ones.
    No mechanism with these parameters that looks at one key at a time keeps a key of any count more often. At equal
    price in a Rényi ledger `RenyiKeySelection` keeps more; this one is for reports in (epsilon, delta).
    Reference: Desfontaines, Voss, Gipson & Mandayam 2020 (arXiv:2006.03684), Theorem 1 and its closed form.
    """

    epsilon: Fraction
    delta: Fraction
    groups: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))
        object.__setattr__(self, "groups", whole(1, groups=self.groups))
        stated(self.neighbours)

    @classmethod
    def calibrated(
        cls, *, sensitivity: SensitivityLike, epsilon: Number, delta: Number, neighbours: Neighbours | None = None
    ) -> Self:
        """The selection that costs (epsilon, delta) for counts of this sensitivity: at most 1 in each key."""
        relation, target, event = stated(neighbours), positive(epsilon=epsilon), inside_unit(delta=delta)
        changed = changed_keys(sensitivity, mechanism=_NAME)
        groups = -(-changed // relation.add_remove_steps)
        return cls(epsilon=target, delta=event, groups=max(1, groups), neighbours=relation)

    @property
    def each(self) -> ApproximateDP:
        """The share of one key, in whole units of a ledger where it has many, so that all shares fit together."""
        changed = self.groups * self.neighbours.add_remove_steps
        return ApproximateDP(whole_units(self.epsilon / changed), whole_delta(self.delta / changed))

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        changed = self.groups * self.neighbours.add_remove_steps
        within(changed_keys(sensitivity, mechanism=_NAME), changed, mechanism=_NAME)
        return repeated(self.each, changed)

    def release(self, value: KeyCounts, entropy: Entropy) -> tuple[Key, ...]:
        """The keys that are kept, in order."""
        return kept_keys(value, self._chances(), entropy)

    def keep_probability(self, count: int) -> arb:
        """The probability that a key with so many units is kept."""
        with precise():
            return self._chances()(whole(0, count=count))().min(arb(1))

    def half_kept(self) -> int:
        """The least number of units with which a key is kept more often than not."""
        chance = self._chances()
        return least(lambda n: n > 0 and certainly_positive(lambda: chance(n)() - ball(Fraction(1, 2))))

    def _chances(self) -> Callable[[int], Real]:
        epsilon, delta = self.each.epsilon, self.each.delta
        return partial(partial, _climb, epsilon, delta, _turn(epsilon, delta))


_NAME = "key selection"


@lru_cache(maxsize=256)
def _turn(epsilon: Fraction, delta: Fraction) -> int:
    """The last count that is reached by e^epsilon pi + delta: from pi > (1 - delta) / (e^epsilon + 1) on, the other
    inequality binds."""

    def past(count: int) -> bool:
        if count < 1:
            return False
        return certainly_positive(lambda: _early(epsilon, delta, count) - ball(1 - delta) / (ball(epsilon).exp() + 1))

    with precise(64):
        odds = ball(epsilon).expm1() / ((ball(epsilon).exp() + 1) * ball(delta))
        guess = (odds.log() / ball(epsilon)).mid()
    return least(past, guess=max(1, int(float(guess))))


def _early(epsilon: Fraction, delta: Fraction, count: int) -> arb:
    return ball(delta) * ball(epsilon * count).expm1() / ball(epsilon).expm1()


def _climb(epsilon: Fraction, delta: Fraction, turn: int, count: int) -> arb:
    """pi(count) at the current precision, or a number above 1 where pi is 1."""
    if count <= turn:
        return _early(epsilon, delta, count)
    left = (-ball(epsilon * (count - turn))).exp()
    return (1 - left) * (1 + ball(delta) / ball(epsilon).expm1()) + left * _early(epsilon, delta, turn)


def kept_keys(value: KeyCounts, chance: Callable[[int], Real], entropy: Entropy) -> tuple[Key, ...]:
    """The keys whose independent coins, of chances that depend on their counts alone, come up heads; in order."""
    keys, counts = value.in_order()
    heads = _coins(counts, chance, entropy)
    return tuple(keys[place] for place in np.flatnonzero(heads).tolist())


def _coins(counts: NDArray[Any], chance: Callable[[int], Real], entropy: Entropy) -> NDArray[np.bool_]:
    """One coin for each count; the chances, which do not fall with the count, are worked out once for each of them."""
    distinct, labels = np.unique(counts, return_inverse=True)
    certain = bisect_left(distinct.tolist(), True, key=lambda count: bracket(chance(count), 64)[0] >= _WORD)
    reals = [chance(count) for count in distinct[:certain].tolist()]
    ends = [(least, max(most, 1) - 1) for least, most in (bracket(real, 64) for real in reals)] + [(0, 0)]
    low, high = (np.array(side, dtype=np.uint64)[np.minimum(labels, certain)] for side in zip(*ends, strict=True))
    words = entropy.words(len(counts))
    heads: NDArray[np.bool_] = (labels >= certain) | (words < low)
    for place in np.flatnonzero(~heads & (words <= high)).tolist():
        heads[place] = is_below(int(words[place]), 64, reals[labels[place]], entropy)
    return heads


def changed_keys(sensitivity: SensitivityLike, *, mechanism: str) -> int:
    """How many keys one neighbour step changes, each by one unit: counts are integers, so no more than l1 of them."""
    bounds = Sensitivity.of(sensitivity)
    if bounds.need("linf", mechanism=mechanism) > 1:
        raise TheoremDoesNotApply(
            mechanism,
            needs="a unit to count once in each key",
            given=f"counts that change by up to {bounds.linf}",
            instead="the number of units that have each key",
        )
    return floor(bounds.need("l1", mechanism=mechanism))


def within(changed: int, allowed: int, *, mechanism: str) -> None:
    """Refuse counts of which more change than a mechanism is made for."""
    if changed > allowed:
        raise TheoremDoesNotApply(
            mechanism,
            needs=f"at most {allowed} keys to change",
            given=f"counts of which {changed} can change",
            instead="more groups",
        )


def whole_delta(delta: Fraction) -> Fraction:
    """Delta rounded down to whole units of a ledger where it has many, as `whole_units` does for epsilon."""
    units = floor(delta / DELTA_UNIT)
    return units * DELTA_UNIT if units >= 1000 else delta
