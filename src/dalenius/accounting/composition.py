"""What several releases cost together. Composition lives here and nowhere else.

`compose` and `repeated` keep every part, so that each later question (the price in a ledger, the epsilon at some
delta) is answered from all that is known. The functions named after theorems give that theorem's figure, rounded up.

What releases on disjoint parts of the data cost together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.loss_distribution import RandomizedBits
from dalenius.privacy.losses import ApproximateDP, Loss, PureDP
from dalenius.privacy.neighbours import Neighbours, Protects, stated
from dalenius.privacy.numbers import Number, inside_unit, not_negative, probability, whole
from dalenius.privacy.reals import ball, lower, precise, upper

By: TypeAlias = Literal["value", "index", "data"]
"""What puts a thing into its part: its own content, by a rule that was public before the data was read; a public
label that no neighbour step changes (not a position that shifts when a row is removed); or a rule that was itself
learnt from the data, for which there is no parallel composition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPartition:
    """How the data is cut: `of` names the things that each lie wholly in one part."""

    of: Protects
    by: By

    def __post_init__(self) -> None:
        if self.by not in ("value", "index", "data"):
            raise InvalidParameter("by", self.by, allowed="one of value, index, data")


@dataclass(frozen=True, slots=True)
class ParallelLoss(Loss):
    """Releases on the parts of a partition, of which one neighbour step touches at most `touched`.

    The loss is that of the dearest `touched` parts together.
    """

    losses: tuple[Loss, ...]
    touched: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "touched", whole(1, touched=self.touched))

    @property
    def delta(self) -> Fraction:
        return min(Fraction(1), self.dearest([loss.delta for loss in self.losses]))

    def renyi(self, alpha: Number) -> Fraction:
        return self.dearest([loss.renyi(alpha) for loss in self.losses])

    def dearest(self, figures: list[Fraction]) -> Fraction:
        """The sum of the largest `touched` figures."""
        return sum(sorted(figures, reverse=True)[: self.touched], Fraction(0))

    def __str__(self) -> str:
        return f"the dearest {self.touched} of {len(self.losses)} parts"


def parallel_composition(losses: Iterable[Loss], *, neighbours: Neighbours | None, partition: DataPartition) -> Loss:
    """The loss of one release on each part of a partition.

    Guarantee: if the partition was fixed before the data was read, every protected thing lies in one part, and each
    loss covers whatever one neighbour step can do inside its part, then all releases together cost the largest of the
    losses. When things are replaced and their content decides their part, they cost the sum of the two largest: a
    thing can leave one part and enter another, so each loss must cover adding and removing a thing as well.
    Rows of one person in several parts are no partition of persons.
    Reference: McSherry 2009 (PINQ), Theorem 4, whose databases differ by adding or removing a row.
    Textbook: S6.2.
    """
    relation, each = stated(neighbours), tuple(losses)
    if not each:
        raise InvalidParameter("losses", each, allowed="at least one loss")
    if partition.by == "data" or partition.of != relation.protects:
        raise TheoremDoesNotApply(
            "Parallel composition",
            needs=f"a partition of what is protected ({relation.protects}) that was fixed before the data was read",
            given=f"a partition of {partition.of} by {partition.by}",
            instead="compose, which adds the losses",
        )
    for loss in each:
        parts(loss)
    touched = relation.add_remove_steps if partition.by == "value" else 1
    return ParallelLoss(each, touched=touched) if len(each) > 1 else each[0]


NOTHING = PureDP(Fraction(0))
"""The loss of releasing nothing."""


@dataclass(frozen=True, slots=True)
class Composition(Loss):
    """Several releases on the same data: each distinct loss with the number of its uses.

    Guarantee: if each release has its loss whatever the earlier outputs were, then releasing all of them, each chosen
    after seeing the earlier outputs, costs the sum of the Rényi divergences and the sum of the event deltas.
    Reference: Mironov 2017 (arXiv:1702.07476), Proposition 1; with events see docs/accounting.md, Theorem 1.
    """

    parts: tuple[tuple[Loss, int], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple((loss, whole(1, count=count)) for loss, count in self.parts))

    @property
    def delta(self) -> Fraction:
        return min(Fraction(1), sum((count * loss.delta for loss, count in self.parts), Fraction(0)))

    def renyi(self, alpha: Number) -> Fraction:
        return sum((count * loss.renyi(alpha) for loss, count in self.parts), Fraction(0))

    def __str__(self) -> str:
        return " and ".join(f"{count} times ({loss})" if count > 1 else str(loss) for loss, count in self.parts)


def compose(losses: Iterable[Loss]) -> Loss:
    """The loss of releasing all, adaptively and in any order.

    Composing in any grouping gives the same value: `repeated(loss, 6)` equals six compositions of one.
    """
    counts: Counter[Loss] = Counter()
    for loss in losses:
        for part, count in parts(loss):
            counts[part] += count
    return _combined(counts)


def repeated(loss: Loss, count: int) -> Loss:
    """The loss of `count` uses, each chosen after seeing the earlier outputs."""
    uses = whole(1, count=count)
    return _combined(Counter({part: uses * each for part, each in parts(loss)}))


def parts(loss: Loss) -> tuple[tuple[Loss, int], ...]:
    """The distinct losses that a loss is composed of, with their counts; whatever is not a loss is refused."""
    if not isinstance(loss, Loss):
        raise InvalidParameter("loss", loss, allowed="a loss such as PureDP, ApproximateDP, ZCDP or RenyiCurve")
    if loss == NOTHING:
        return ()
    return loss.parts if isinstance(loss, Composition) else ((loss, 1),)


def _combined(counts: Counter[Loss]) -> Loss:
    if not counts:
        return NOTHING
    if counts.total() == 1:
        return next(iter(counts))
    return Composition(tuple(sorted(counts.items(), key=lambda item: (type(item[0]).__name__, repr(item[0])))))


def basic_composition(losses: Iterable[Loss]) -> PureDP | ApproximateDP:
    """The sums of the epsilons and of the deltas.

    Guarantee: if each release is (epsilon_i, delta_i)-DP whatever the earlier outputs were, all together are
    (sum of epsilon_i, sum of delta_i)-DP. Tight in general for pure releases.
    Reference: Dwork & Roth 2014, Theorem 3.16 and Corollary B.2 (adaptive).
    Textbook: S6.1.
    """
    epsilon = delta = Fraction(0)
    for part, count in parts(compose(losses)):
        if not isinstance(part, PureDP | ApproximateDP):
            raise TheoremDoesNotApply(
                "Basic composition",
                needs="losses that are pure or approximate",
                given=str(part),
                instead="compose, or convert the loss with to_approximate first",
            )
        epsilon, delta = epsilon + count * part.epsilon, delta + count * part.delta
    return ApproximateDP(epsilon, min(Fraction(1), delta)) if delta else PureDP(epsilon)


def advanced_composition(*, epsilon: Number, count: int, slack: Number, delta: Number = 0) -> ApproximateDP:
    """`count` uses of (epsilon, delta)-DP for the price of about sqrt(count), with an extra `slack` of delta.

    Guarantee: count-fold adaptive composition of (epsilon, delta)-DP releases is (epsilon', count delta + slack)-DP
    with epsilon' = sqrt(2 count ln(1/slack)) epsilon + count epsilon (e^epsilon - 1), rounded up.
    Reference: Dwork & Roth 2014, Theorem 3.20; Dwork, Rothblum & Vadhan 2010. Two of the source texts print it wrong:
    one has the slack in the place of the last epsilon, one lost the 2 and a count.
    Textbook: S6.3.
    """
    each = _size(epsilon)
    with precise():
        drift = upper(ball(each) * ball(each).expm1())
    return _root_composition(each, count, slack, delta, drift)


def tight_advanced_composition(*, epsilon: Number, count: int, slack: Number, delta: Number = 0) -> ApproximateDP:
    """Advanced composition with the exact drift of one use.

    Guarantee: as `advanced_composition`, with epsilon (e^epsilon - 1) / (e^epsilon + 1), the largest expected loss of
    an epsilon-DP release, in the place of epsilon (e^epsilon - 1).
    Reference: Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776), Theorem 3.4. The source text prints delta for the slack.
    Textbook: S6.4.
    """
    each = _size(epsilon)
    with precise():
        drift = upper(ball(each) * (ball(each) / 2).tanh())
    return _root_composition(each, count, slack, delta, drift)


def _root_composition(each: Fraction, count: int, slack: Number, delta: Number, drift: Fraction) -> ApproximateDP:
    uses, extra, event = whole(1, count=count), inside_unit(slack=slack), probability(delta=delta)
    with precise():
        spread = (-2 * uses * ball(extra).log()).sqrt() * ball(each)
        total = upper(spread + uses * ball(drift))
    return ApproximateDP(total, min(Fraction(1), uses * event + extra))


def optimal_composition(*, epsilon: Number, count: int, target_delta: Number, delta: Number = 0) -> ApproximateDP:
    """The least epsilon at `target_delta` that holds for every `count`-fold adaptive use of (epsilon, delta)-DP.

    Guarantee: no smaller epsilon holds for all such uses. The worst of them is randomized response at epsilon that
    gives everything away with probability delta; its loss is binomial and is summed up exactly.
    Reference: Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776), Theorem 3.3, and the hockey stick between its points.
    Textbook: S6.6.
    """
    each, uses = _size(epsilon), whole(1, count=count)
    target = probability(target_delta=target_delta)
    room = _room(probability(delta=delta), uses, target)
    least = RandomizedBits(each, uses).epsilon_at(delta=room) if each else Fraction(0)
    return ApproximateDP(min(least, uses * each), target)


def optimal_delta(*, epsilon: Number, count: int, target_epsilon: Number, delta: Number = 0) -> Fraction:
    """The least delta at `target_epsilon` that holds for every `count`-fold adaptive use of (epsilon, delta)-DP.

    Reference: as `optimal_composition`.
    Textbook: S6.6.
    """
    each, uses, event = _size(epsilon), whole(1, count=count), probability(delta=delta)
    gap = RandomizedBits(each, uses).delta_at(epsilon=target_epsilon) if each else Fraction(0)
    if not event:
        return gap
    with precise():
        return min(Fraction(1), upper(1 - (1 - ball(event)) ** uses * (1 - ball(gap))))


def _size(epsilon: Number) -> Fraction:
    size = not_negative(epsilon=epsilon)
    if size > 10**6:
        raise InvalidParameter("epsilon", epsilon, allowed="at most 10^6")
    return size


def _room(event: Fraction, uses: int, target: Fraction) -> Fraction:
    """How much of the target delta is left to the hockey stick after the events of all uses."""
    if not event:
        return target
    with precise():
        quiet = (1 - ball(event)) ** uses
        room = lower(1 - (1 - ball(target)) / quiet) if event < 1 else Fraction(-1)
    if uses * event <= target:
        return max(Fraction(0), room)
    if room < 0:
        raise TheoremDoesNotApply(
            "Optimal composition",
            needs=f"a target_delta of at least 1 - (1 - delta)^{uses}",
            given=f"{float(target):.6g} for {uses} uses of delta = {float(event):.6g}",
            instead="a smaller delta for each use, or fewer uses",
        )
    return room
