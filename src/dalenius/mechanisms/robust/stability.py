"""Answers that are exact where they are stable: the distance to instability, tested with noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from flint import arb

from dalenius.errors import InvalidParameter, TheoremDoesNotApply, UnusableValue
from dalenius.mechanisms.robust.profiles import Ordered, Reach, Values, grid, rank
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, positive, probability, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.laplace import discrete_laplace
from dalenius.randomness.laws import DiscreteLaplaceLaw

FAR = 1 << 62
"""The distance to instability of an answer that nothing can change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityTest:
    """Whether a whole number, which one step changes by at most 1, is large: with noise, and rarely wrong at 0.

    It passes if the number plus discrete Laplace noise of scale 1 / epsilon is at least `threshold`, the least T that
    the noise alone reaches with probability at most delta / 2. T is ln(1 / delta) / epsilon, less about half a step;
    a threshold of ln(1 / delta), without the division, lets delta^epsilon / 2 pass.

    Guarantee: the outcome is epsilon-DP, and at 0 it passes with probability at most delta / 2.
    Reference: Dwork & Roth 2014, Algorithms 12 and 13, with the threshold corrected for scale 1 / epsilon.
    Textbook: S11.5, S11.6.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))

    @property
    def threshold(self) -> int:
        """The least noisy number that passes."""
        return _threshold(self.epsilon, self.delta)

    def passes(self, number: int, entropy: Entropy) -> bool:
        return number + discrete_laplace(1 / self.epsilon, entropy=entropy) >= self.threshold

    def chance(self, number: int) -> arb:
        """The probability that this number passes, as an enclosure."""
        return _law(self.epsilon).tail(self.threshold - number)

    def enough(self, beta: Number) -> int:
        """The least number that passes with probability at least 1 - beta."""
        return max(0, self.threshold + _law(self.epsilon).quantile(beta, two_sided=False))


@lru_cache(maxsize=1024)
def _threshold(epsilon: Fraction, delta: Fraction) -> int:
    return _law(epsilon).quantile(delta / 2, two_sided=False) + 1


def _law(epsilon: Fraction) -> DiscreteLaplaceLaw:
    return DiscreteLaplaceLaw(1 / epsilon)


class Stable(NamedTuple):
    """An answer, and how many steps lead to a database where one more step may change the answer."""

    answer: Any
    distance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceToInstability:
    """The exact answer, if the database is far from every one that has a neighbour with another answer; else None.

    Guarantee: if the distance changes by at most 1 between neighbours and is 0 at neighbours with different answers,
    then the release is (epsilon, delta)-DP. Every function has such a distance, its distance to instability; a lower
    bound with these two properties serves as well.
    Proof: where neighbours have the same answer, what differs is the outcome of the test, which is epsilon-DP. Where
    they do not, both distances are 0, and each gives anything but None with probability at most delta / 2.
    Accuracy: the answer comes with probability at least 1 - beta where the distance is at least `enough(beta)`, about
    (ln(1 / delta) + ln(1 / beta)) / epsilon.
    Reference: Dwork & Roth 2014, Algorithm 13 and Propositions 7.2 and 7.3; Smith & Thakurta 2013.
    Textbook: S11.6.
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        test = StabilityTest(epsilon=self.epsilon, delta=self.delta)
        object.__setattr__(self, "epsilon", test.epsilon)
        object.__setattr__(self, "delta", test.delta)
        stated(self.neighbours)

    @property
    def test(self) -> StabilityTest:
        return StabilityTest(epsilon=self.epsilon, delta=self.delta)

    def loss(self, *, sensitivity: SensitivityLike) -> ApproximateDP:
        """The sensitivity is that of the distance: 1."""
        one_step(sensitivity, mechanism="the distance to instability")
        return ApproximateDP(self.epsilon, self.delta)

    def release(self, value: Stable, entropy: Entropy) -> Any:
        """The answer, or None."""
        return value.answer if self.test.passes(whole(distance=value.distance), entropy) else None

    def enough(self, beta: Number) -> int:
        """The least distance at which the answer comes with probability at least 1 - beta."""
        return self.test.enough(beta)


def stability_needed(*, epsilon: Number, delta: Number, beta: Number) -> Fraction:
    """The distance (ln(1 / delta) + ln(1 / beta)) / epsilon from which the textbook's test passes but for beta.

    The book's condition in words, with 2 ln in it, is a slip: this is what its proof shows.
    Reference: Dwork & Roth 2014, Proposition 7.3.
    Textbook: S11.6.
    """
    price, risks = positive(epsilon=epsilon), inside_unit(delta=delta) * inside_unit(beta=beta)
    with precise():
        return upper(-ball(risks).log() / ball(price))


def stable_mode(rows: Iterable[Hashable], *, labels: Sequence[Hashable], neighbours: Neighbours) -> Stable:
    """The most frequent of the public labels, the first of equals, and its distance to instability.

    One row more or less changes the lead over another label by one, a replaced row by two. Rows with other labels
    count for none.
    Reference: Dwork & Roth 2014, Section 7.3.1.
    Textbook: S11.6, S11.8.
    """
    counts = Counter(rows)
    return stable_plurality([counts[label] for label in labels], labels=labels, neighbours=neighbours)


def stable_plurality(
    counts: Sequence[int], *, labels: Sequence[Hashable], neighbours: Neighbours, rows: int = 1
) -> Stable:
    """The label with the largest count, and its distance to instability; see `stable_mode`. With up to `rows` counts
    of each unit it is a lower bound on that distance."""
    if not labels or len(counts) != len(labels) or len(set(labels)) < len(labels):
        raise UnusableValue("labels", "a wrong list", allowed="different labels, one for each count")
    first = max(range(len(counts)), key=lambda place: (counts[place], -place))
    leads = [counts[first] - count + (place > first) for place, count in enumerate(counts) if place != first]
    steps = -(-min(leads) // (rows * stated(neighbours).add_remove_steps)) if leads else FAR
    return Stable(labels[first], steps - 1)


def stable_leader(counts: Mapping[Hashable, int], *, neighbours: Neighbours, rows: int = 1) -> Stable:
    """The value with the largest count of all that occur, and a lower bound on its distance to instability, where one
    unit has up to `rows` values. Of no values it is None, at distance 0."""
    leader = max(counts, key=lambda value: counts[value], default=None)
    if leader is None:
        return Stable(None, 0)
    lead = counts[leader] - max((count for value, count in counts.items() if value != leader), default=0)
    return Stable(leader, max(0, -(-lead // (rows * stated(neighbours).add_remove_steps)) - 1))


def stable_quantile(
    values: Values, *, lower: int, upper: int, neighbours: Neighbours, p: Number = Fraction(1, 2), rows: int = 1
) -> Stable:
    """The p-quantile of integers on a public grid, and its distance to instability.

    With up to `rows` values of each unit that comes or goes, the steps to another quantile are the values that it takes
    over `rows`, rounded up; the distance is one less.
    Reference: Dwork & Roth 2014, Section 7.3.1, for the median.
    Textbook: S11.6, S11.8.
    """
    share, ends = probability(p=p), grid(lower, upper)
    ordered = Ordered.of(values, lower=ends[0], upper=ends[1])
    count = ordered.size
    here = ordered.at(rank(share, count)) if count else ends[0]
    reach = Reach(ordered, share)

    def changed(steps: int) -> bool:
        if isinstance(neighbours, AddRemove):
            return reach.ends(steps) != (here, here)
        place, most = rank(share, count), min(steps, count)
        return ordered.at(place - most) < here or (most > 0 and ordered.at(place + most) > here)

    low, high = 0, count + 1
    if not changed(high):
        return Stable(here, FAR)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if changed(middle) else (middle, high)
    return Stable(here, -(-high // rows) - 1)


def one_step(sensitivity: SensitivityLike, *, mechanism: str, most: int = 1) -> None:
    """Refuse a value that one neighbour step changes by more than `most`."""
    change = Sensitivity.of(sensitivity).need("l1", mechanism=mechanism)
    if change > most:
        raise TheoremDoesNotApply(
            mechanism,
            needs=f"a value that one step changes by at most {most}",
            given=str(change),
            instead="group privacy",
        )


def hashable_options(options: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Public options, all different and at least one."""
    found = tuple(options)
    if not found or len(set(found)) < len(found):
        raise InvalidParameter("options", len(found), allowed="at least one, and all different")
    return found
