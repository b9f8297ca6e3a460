"""The most frequent keys, when nobody may list the keys: choose among those of the data, against a public handicap."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.accounting.composition import compose, repeated
from dalenius.errors import TheoremDoesNotApply
from dalenius.mechanisms.keys.key_selection import Key, KeyCounts
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.scores import tilt, union_shortfall
from dalenius.mechanisms.selection.top_k import each_round
from dalenius.privacy.losses import ApproximateDP, BoundedRange, Loss
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, not_negative, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.integers import integer_array

_NAME = "limited-domain top-k"
_REACH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedTopK:
    """List up to k keys, largest count first: choose k times by the exponential mechanism among the `reach` most
    frequent keys of the data and one *end*, and stop where the end is chosen. The score of a key is its count; that of
    the end is the count of the next key, number reach + 1 (0 if there is none), plus `handicap`.

    Guarantee: if one neighbour step changes each count by at most `each`, the list costs k choices of bounded range
    rate * t, where t is `each` (twice that where a unit is replaced), and one event of probability delta for all k
    choices together. The number of keys that change may be anything (`changed` is None: unrestricted sensitivity), or
    at most `changed`, which then stands for `reach` in the handicap where it is smaller.
    Proof. Let s be the number of add/remove steps of a neighbour step; T and T' are the keys in reach in the two
    worlds, c and c' the counts of the next key. Equal counts are ranked by the order of keys, which is public.
    (1) Each ranked count changes by at most `each`. So a key of T that is not in T' has a count of at most c + s each,
    and likewise in the other world. (2) A key that comes into reach when a unit is added has risen, and no more leave
    than come; so at most B = min(s changed, reach) keys are in T and not in T', and in T' and not in T. (3) Let A and
    A' be the laws of the list in the two worlds, and C and C' those of choosing among the common keys and the end only.
    Scores of common keys and of the end move by at most `each`, all the same way under add/remove, so each choice of C
    has bounded range t rate beside that of C'. (4) Let z_j and z'_j be the chances of the end in choice j of C and C'
    after the same beginning; they differ by a factor of at most e^(t rate). The weights of the keys in T only sum to
    at most x = B exp(rate (s each - handicap)) times that of the end, so A >= h C and A' >= h C' on lists of common
    keys, with one h for both: the product of 1 / (1 + x max(z_j, z'_j)) over the choices that are made. (5) The mass of
    h C is at least the chance that the end comes before a dummy of x e^(t rate) times its weight, if those two were
    ranked with the common keys, which is 1 / (1 + x e^(t rate)); likewise for h C'. The handicap makes that at least
    1 - delta. (6) So with probability at least 1 - delta the list comes from C (or C'), thinned by the same h in both
    worlds, which is what a ledger's event asks for: see docs/accounting.md, Theorem 1, step 2.
    Reference: Durfee & Rogers 2019 (arXiv:1905.04273), Algorithm 1 and Theorem 1; the thinning in (4) and (5) puts its
    delta into the form that composes with Rényi divergences, for one more `each` in the handicap.
    """

    k: int
    rate: Fraction
    delta: Fraction
    neighbours: Neighbours
    each: Fraction = Fraction(1)
    reach: int = _REACH
    changed: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(1, k=self.k))
        object.__setattr__(self, "rate", positive(rate=self.rate))
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))
        object.__setattr__(self, "each", positive(each=self.each))
        object.__setattr__(self, "reach", whole(self.k, reach=self.reach))
        if self.changed is not None:
            object.__setattr__(self, "changed", whole(1, changed=self.changed))
        stated(self.neighbours)

    @classmethod
    def calibrated(
        cls,
        *,
        k: int,
        sensitivity: SensitivityLike,
        epsilon: Number,
        delta: Number,
        slack: Number = 0,
        neighbours: Neighbours | None = None,
        reach: int | None = None,
    ) -> Self:
        """The steepest weights for which the list is (epsilon, delta + slack)-DP, delta being that of the event."""
        relation = stated(neighbours)
        bounds = _bounds(sensitivity, relation)
        range_of_one = each_round(rounds=k, epsilon=epsilon, delta=slack)
        width = positive(sensitivity=tilt(bounds, neighbours=relation, mechanism=_NAME))
        return cls(
            k=k,
            rate=range_of_one / width,
            delta=inside_unit(delta=delta),
            neighbours=relation,
            each=bounds.need("linf", mechanism=_NAME),
            reach=max(_REACH, whole(1, k=k)) if reach is None else reach,
            changed=_changed(bounds, relation),
        )

    @property
    def handicap(self) -> int:
        """How far the end is ahead of the next key: 2 s each + ln(B (1 - delta) / delta) / rate, rounded up."""
        steps = self.neighbours.add_remove_steps
        strangers = self.reach if self.changed is None else min(steps * self.changed, self.reach)
        with precise():
            odds = ball(strangers * (1 - self.delta) / self.delta).log() / ball(self.rate)
            return max(0, ceil(2 * steps * self.each + upper(odds)))

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        bounds = _bounds(sensitivity, self.neighbours)
        self._check(bounds)
        width = tilt(bounds, neighbours=self.neighbours, mechanism=_NAME)
        return compose([repeated(BoundedRange(self.rate * width), self.k), ApproximateDP(0, self.delta)])

    def _check(self, bounds: Sensitivity) -> None:
        touched = _changed(bounds, self.neighbours)
        few = self.changed is None or (touched is not None and touched <= self.changed)
        if bounds.need("linf", mechanism=_NAME) > self.each or not few:
            raise TheoremDoesNotApply(
                _NAME,
                needs=f"counts that change by at most {self.each}, of {self.changed or 'any number of'} keys",
                given=f"a sensitivity of {bounds.linf} each, {bounds.l1} in all",
                instead="a mechanism that is calibrated for this sensitivity",
            )

    def release(self, value: KeyCounts, entropy: Entropy) -> tuple[Key, ...]:
        """The keys in the order of choice: k of them, or fewer if the end came first."""
        keys, scores = self.candidates(value)
        left = np.arange(len(scores))
        chosen: list[Key] = []
        choice = ExponentialMechanism(rate=self.rate, neighbours=self.neighbours)
        while len(chosen) < self.k:
            place = choice.release(scores[left], entropy)
            if left[place] == len(keys):
                break
            chosen.append(keys[left[place]])
            left = np.delete(left, place)
        return tuple(chosen)

    def probabilities(self, value: KeyCounts) -> dict[tuple[Key, ...], arb]:
        """The exact law of the list, as enclosures; for a few keys."""
        keys, scores = self.candidates(value)
        law: dict[tuple[Key, ...], arb] = {}
        with precise():
            self._follow(keys, [int(score) for score in scores], (), arb(1), law)
        return law

    def _follow(
        self, keys: list[Key], scores: list[int], so_far: tuple[Key, ...], chance: arb, law: dict[tuple[Key, ...], arb]
    ) -> None:
        if len(so_far) == self.k:
            law[so_far] = chance
            return
        odds = ExponentialMechanism(rate=self.rate, neighbours=self.neighbours).probabilities(scores)
        law[so_far] = chance * odds[-1]
        for place, key in enumerate(keys):
            fewer, rest = keys[:place] + keys[place + 1 :], scores[:place] + scores[place + 1 :]
            self._follow(fewer, rest, (*so_far, key), chance * odds[place], law)

    def error(self, beta: Number) -> Fraction:
        """With probability at least 1 - beta, every choice is at most this much below the best that is left, among the
        keys in reach and the end; so a key is missed for certain only near the end's score."""
        return union_shortfall(Fraction((self.reach + 1) * self.k), rate=self.rate, beta=beta)

    def candidates(self, value: KeyCounts) -> tuple[list[Key], NDArray[Any]]:
        """The keys in reach, and their scores with that of the end as the last one."""
        keys, counts = value.in_order()
        ranked = np.argsort(-counts, kind="stable")  # of equal counts, the first key is ahead
        best, following = ranked[: self.reach], ranked[self.reach : self.reach + 1]
        end = int(counts[following].sum()) + self.handicap
        return [keys[place] for place in best.tolist()], integer_array([*counts[best].tolist(), end])


def _bounds(sensitivity: SensitivityLike, neighbours: Neighbours) -> Sensitivity:
    """The bounds on counts: a number bounds each of them. Counts all move the same way when a unit comes or goes."""
    alike = isinstance(neighbours, AddRemove)
    if not isinstance(sensitivity, Sensitivity):
        return Sensitivity(linf=not_negative(sensitivity=sensitivity), monotone=alike)
    if alike and not sensitivity.monotone:
        raise TheoremDoesNotApply(
            _NAME, needs="counts", given="scores that may rise and fall in one step", instead="a monotone Sensitivity"
        )
    return sensitivity


def _changed(bounds: Sensitivity, neighbours: Neighbours) -> int | None:
    """How many keys one unit can touch: counts are integers, so no more than the l1 bound; None if that is unknown."""
    if bounds.l1 is None:
        return None
    return max(1, -(-floor(bounds.l1) // neighbours.add_remove_steps))
