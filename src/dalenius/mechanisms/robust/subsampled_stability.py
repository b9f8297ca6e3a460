"""The value that a function has on most random parts of the data, exactly, if nearly all parts agree: A_samp."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.robust.outputs import OneOf
from dalenius.mechanisms.robust.stability import StabilityTest, hashable_options, one_step
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import bernoulli
from dalenius.sandbox.sandbox import Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledStability:
    """Run a function on `sets` random parts of the rows, each row in each part with probability `q`; name the value
    that most parts have, if its lead is large; else None.

    The function gives one of the public options (anything else, or an error, counts as the first). Without a `sandbox`
    it runs in this process, and is trusted to end and to keep no state. No row may be in more than `cap` = 2 q sets
    parts; if one is, the answer is None.

    Guarantee: (epsilon, delta + e)-DP for adding, removing or replacing one row, where e, `overflow`, bounds the
    probability that one row is in too many parts.
    Proof: leave out the event that the differing row is in more than `cap` parts, and fix who is in which part. The
    row then changes the value on at most `cap` parts, so the lead of the first over the second value changes by at most
    2 cap, and where the winner changes, both leads are at most 2 cap. So max(0, floor(lead / (2 cap)) - 1) changes by
    at most 1, and is 0 on both sides where the winners differ: `DistanceToInstability` does the rest. Whether another
    row is in too many parts is the same on both sides. The number of rows is not used.
    Accuracy: with the parameters of `textbook`, if the function has its value on a random part with probability at
    least 3/4, that value comes with probability at least 1 - 3 delta.
    Reference: Smith & Thakurta 2013; Dwork & Roth 2014, Algorithm 14 and Theorem 7.3; the event is counted here, which
    the published proof leaves out.
    Textbook: S11.7.
    """

    function: Callable[[list[Any]], Hashable]
    options: tuple[Hashable, ...]
    q: Fraction
    sets: int
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    sandbox: Sandbox | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", hashable_options(self.options))
        object.__setattr__(self, "q", inside_unit(q=self.q))
        object.__setattr__(self, "sets", whole(1, sets=self.sets))
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))
        stated(self.neighbours)
        if not self.cap:
            raise InvalidParameter("sets", self.sets, allowed="at least 1 / (2 q)")

    @classmethod
    def textbook(
        cls,
        function: Callable[[list[Any]], Hashable],
        options: Sequence[Hashable],
        *,
        n: int,
        epsilon: Number,
        delta: Number,
        neighbours: Neighbours,
    ) -> Self:
        """With q and the number of sets of the theorem, for n rows: 18 million sets at epsilon = 1, delta = 10^-6."""
        q, sets = subsampling_parameters(n=n, epsilon=epsilon, delta=delta)
        return cls(
            function=function,
            options=tuple(options),
            q=q,
            sets=sets,
            epsilon=positive(epsilon=epsilon),
            delta=inside_unit(delta=delta),
            neighbours=neighbours,
        )

    @property
    def cap(self) -> int:
        """In how many parts a row may be."""
        return int(2 * self.q * self.sets)

    @property
    def overflow(self) -> Fraction:
        """A bound on the probability that one row is in more than `cap` parts."""
        return binomial_excess(self.sets, self.q, self.cap + 1)

    @property
    def test(self) -> StabilityTest:
        return StabilityTest(epsilon=self.epsilon, delta=self.delta)

    def loss(self, *, sensitivity: SensitivityLike) -> ApproximateDP:
        """The sensitivity is the number of rows that one step changes: 1."""
        one_step(sensitivity, mechanism="subsampled stability")
        if self.sandbox is not None:
            self.sandbox.require(self.function)
        return ApproximateDP(self.epsilon, min(Fraction(1), self.delta + self.overflow))

    def release(self, rows: Sequence[Any], entropy: Entropy) -> Hashable | None:
        """The value, or None."""
        seen = np.zeros(len(rows), dtype=np.int64)
        parts = self._parts(rows, seen, entropy)
        if self.sandbox is None:
            voted = [self._voted(part) for part in parts]
        else:
            voted = [code for (code,) in self.sandbox.outputs(self.function, parts, OneOf(self.options))]
        counts = np.bincount(voted, minlength=len(self.options)).tolist()
        winner = max(range(len(counts)), key=lambda place: (counts[place], -place))
        passed = self.test.passes(self.distance(counts), entropy)
        return self.options[winner] if passed and not (seen > self.cap).any() else None

    def distance(self, counts: Sequence[int]) -> int:
        """By how many rows, at least, the plurality is safe."""
        first, second = sorted([*counts, 0], reverse=True)[:2]
        return max(0, (first - second) // (2 * self.cap) - 1)

    def _voted(self, part: list[Any]) -> int:
        try:
            return self.options.index(self.function(part))
        except (Exception, SystemExit):
            return 0

    def _parts(self, rows: Sequence[Any], seen: NDArray[np.int64], entropy: Entropy) -> Iterator[list[Any]]:
        """Part after part; `seen` counts in how many each row was."""
        for _ in range(self.sets):
            inside = np.asarray(bernoulli(self.q, len(rows), entropy=entropy))
            seen += inside
            yield [rows[place] for place in np.flatnonzero(inside).tolist()]


def subsampling_parameters(*, n: int, epsilon: Number, delta: Number) -> tuple[Fraction, int]:
    """q = epsilon / (64 ln(1 / delta)), rounded down, and ln(n / delta) / q^2 sets, rounded up.

    Reference: Dwork & Roth 2014, Algorithm 14.
    Textbook: S11.7.
    """
    price, risk, size = positive(epsilon=epsilon), inside_unit(delta=delta), whole(1, n=n)
    with precise():
        q = Fraction(int(lower(ball(price) / (-64 * ball(risk).log())) * (1 << 40)), 1 << 40)
        return q, ceil(upper(ball(size / risk).log() / ball(q) ** 2))


def binomial_excess(trials: int, q: Fraction, successes: int) -> Fraction:
    """A bound on the probability of at least so many successes, more than expected: exp(-trials KL(s / trials, q)).

    Reference: Hoeffding 1963, Theorem 1.
    Textbook: S7.6, S11.7.
    """
    if successes > trials:
        return Fraction(0)
    share = Fraction(successes, trials)
    if share <= q:
        return Fraction(1)
    with precise():
        rate = ball(share) * ball(share / q).log()
        if share < 1:
            rate += ball(1 - share) * ball((1 - share) / (1 - q)).log()
        return upper((-trials * rate).exp())
