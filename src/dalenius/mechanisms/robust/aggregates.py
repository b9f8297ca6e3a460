"""Private aggregates of the outputs of m blocks, of which one person changes at most one.

Each takes the codes of the outputs and gives the value that they stand for together. The number of blocks is public,
so one person replaces one output: sensitivities are those of replacing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any, Protocol

import numpy as np

from dalenius.accounting.composition import compose
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.order_statistics import SmoothQuantile
from dalenius.mechanisms.robust.outputs import Codes, OneOf, Range, Subset
from dalenius.mechanisms.robust.smooth import SmoothNoise
from dalenius.mechanisms.robust.stability import DistanceToInstability, stable_plurality
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Replace
from dalenius.privacy.numbers import Number, exact, inside_unit, positive, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy

BLOCK = Replace("row")
"""One of the outputs becomes another one."""
_ONE = Sensitivity(l1=2, linf=1)  # of the counts of outputs, when one is replaced


class BlockAggregate(Protocol):
    """A private value of the outputs of blocks."""

    @property
    def output(self) -> Range | OneOf | Subset:
        """What a block gives."""

    @property
    def loss(self) -> Loss:
        """What it costs that one block's output may be any other one."""

    def release(self, outputs: Sequence[Codes], entropy: Entropy, /) -> Any:
        """The private value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianOfBlocks:
    """The median of the blocks' outputs, by the exponential mechanism on ranks; see `PrivateQuantiles`.

    Textbook: S11.2.
    """

    output: Range
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))

    @property
    def loss(self) -> Loss:
        return self._mechanism.loss(sensitivity=_ONE)

    def release(self, outputs: Sequence[Codes], entropy: Entropy) -> Fraction:
        codes = np.array([code for (code,) in outputs], dtype=np.int64)
        ((found,),) = self._mechanism.release([ValueCounts(codes, np.ones(len(codes), dtype=np.int64))], entropy)
        return self.output.value(found.value)

    def rank_error(self, beta: Number) -> Fraction:
        """With probability at least 1 - beta, the value is off the median by at most this many blocks."""
        return self._mechanism.rank_error(Fraction(1, 2), beta)

    @property
    def _mechanism(self) -> PrivateQuantiles:
        return PrivateQuantiles(
            targets=(Fraction(1, 2),), lower=0, upper=self.output.most, rate=self.epsilon / 2, neighbours=BLOCK
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothMedianOfBlocks:
    """The median of the blocks' outputs, with noise of the size of its smooth sensitivity.

    Reference: Nissim, Raskhodnikova & Smith 2007, Section 4 (sample and aggregate).
    Textbook: S11.2.
    """

    output: Range
    noise: SmoothNoise

    @property
    def loss(self) -> Loss:
        return self._mechanism.loss(sensitivity=_ONE)

    def release(self, outputs: Sequence[Codes], entropy: Entropy) -> Fraction:
        return self.output.value(self._mechanism.release([code for (code,) in outputs], entropy))

    @property
    def _mechanism(self) -> SmoothQuantile:
        return SmoothQuantile(lower=0, upper=self.output.most, noise=self.noise, neighbours=BLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimmedMeanOfBlocks:
    """The mean of the blocks' outputs without the least and largest share `trim` of them, with Laplace noise.

    Guarantee: epsilon-DP. Replacing one output moves the sum of the kept ones by at most the width of the range.
    Reference: Dwork & Roth 2014, Section 7.1.
    Textbook: S11.2.
    """

    output: Range
    epsilon: Fraction
    trim: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "trim", _trim(self.trim))

    @property
    def loss(self) -> Loss:
        return self._noise(self.output.most).loss(sensitivity=self.output.most)

    def release(self, outputs: Sequence[Codes], entropy: Entropy) -> Fraction:
        kept, _ = trimmed([code for (code,) in outputs], self.trim)
        noisy = self._noise(self.output.most).release(sum(kept), entropy)
        return _inside(self.output, Fraction(noisy, len(kept)))

    def _noise(self, sensitivity: int) -> DiscreteLaplace:
        return DiscreteLaplace.calibrated(sensitivity=sensitivity, epsilon=self.epsilon, neighbours=BLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class WinsorizedMeanOfBlocks:
    """The mean of the blocks' outputs, the least and largest share `trim` of them moved to the nearest kept one.

    Guarantee: epsilon-DP. Let t of m outputs be moved on each side. Replacing one output moves the sum by at most t + 1
    times the width of the range, or m times where one is kept: it moves ranks to the next one, all the same way. The
    gaps that they cross do not overlap, so they add up to at most the width, and no rank counts more often than that.
    Reference: Dwork & Roth 2014, Section 7.1.
    Textbook: S11.2.
    """

    output: Range
    epsilon: Fraction
    blocks: int
    trim: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "blocks", whole(2, blocks=self.blocks))
        object.__setattr__(self, "trim", _trim(self.trim))

    @property
    def sensitivity(self) -> int:
        """How far one output can move the sum."""
        cut = floor(self.trim * self.blocks)
        return (self.blocks if self.blocks - 2 * cut == 1 else cut + 1) * self.output.most

    @property
    def loss(self) -> Loss:
        return self._noise.loss(sensitivity=self.sensitivity)

    def release(self, outputs: Sequence[Codes], entropy: Entropy) -> Fraction:
        if len(outputs) != self.blocks:
            raise InvalidParameter("blocks", len(outputs), allowed=f"{self.blocks}, as stated")
        total = winsorized_sum([code for (code,) in outputs], self.trim)
        return _inside(self.output, Fraction(self._noise.release(total, entropy), self.blocks))

    @property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace.calibrated(sensitivity=self.sensitivity, epsilon=self.epsilon, neighbours=BLOCK)


@dataclass(frozen=True, slots=True)
class Winner:
    """An option that won a vote, and about how many blocks were for it, where that was paid for."""

    option: Hashable
    votes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteOfBlocks:
    """The option that most blocks chose, by report noisy max; with `for_votes`, an epsilon of its own, also how many.

    Guarantee: the vote is epsilon-DP, and the number of votes costs `for_votes` besides: noisy max does not say how
    large its maximum was, so that is a second measurement. With b options, m blocks of which most agree by far more
    than ln(b) / epsilon give their choice.
    Reference: Dwork & Roth 2014, Section 7.1 and Claim 3.9.
    Textbook: S11.2, S11.3.
    """

    output: OneOf
    epsilon: Fraction
    for_votes: Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        if self.for_votes is not None:
            object.__setattr__(self, "for_votes", positive(for_votes=self.for_votes))

    @property
    def loss(self) -> Loss:
        vote = self._vote.loss(sensitivity=_ONE)
        return vote if self._count is None else compose([vote, self._count.loss(sensitivity=1)])

    def release(self, outputs: Sequence[Codes], entropy: Entropy) -> Winner:
        counts = votes(outputs, len(self.output.options))
        winner = self._vote.release(counts, entropy)
        number = None if self._count is None else self._count.release(counts[winner], entropy)
        return Winner(self.output.value(winner), number)

    def error(self, beta: Number) -> int:
        """With probability at least 1 - beta, the winner has at most this many votes less than the best option."""
        return self._vote.error(beta, candidates=len(self.output.options))

    @property
    def _vote(self) -> NoisyMax:
        return NoisyMax.calibrated(sensitivity=_ONE, epsilon=self.epsilon, neighbours=BLOCK)

    @property
    def _count(self) -> DiscreteLaplace | None:
        if self.for_votes is None:
            return None
        return DiscreteLaplace.calibrated(sensitivity=1, epsilon=self.for_votes, neighbours=BLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class StableVoteOfBlocks:
    """The option that most blocks chose, exactly, if its lead is large; else None.

    Guarantee: (epsilon, delta)-DP, by the distance to instability of the plurality.
    Reference: Dwork & Roth 2014, Algorithm 13; Smith & Thakurta 2013.
    Textbook: S11.3, S11.6.
    """

    output: OneOf
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))

    @property
    def loss(self) -> Loss:
        return self._mechanism.loss(sensitivity=1)

    def release(self, outputs: Sequence[Codes], entropy: Entropy) -> Winner | None:
        options = self.output.options
        stable = stable_plurality(votes(outputs, len(options)), labels=options, neighbours=BLOCK)
        found = self._mechanism.release(stable, entropy)
        return None if found is None else Winner(found, None)

    @property
    def _mechanism(self) -> DistanceToInstability:
        return DistanceToInstability(epsilon=self.epsilon, delta=self.delta, neighbours=BLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesOfBlocks:
    """The options (features, say) that at least a share of the blocks chose, by noisy counts.

    Guarantee: epsilon-DP. One block may choose `most_chosen` of the d options, so another choice of it changes at most
    min(d, 2 most_chosen) counts by 1.
    Reference: Dwork & Roth 2014, Section 7.1 (feature-wise votes for LASSO).
    Textbook: S11.3.
    """

    output: Subset
    epsilon: Fraction
    share: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "share", inside_unit(share=self.share))

    @property
    def sensitivity(self) -> Sensitivity:
        """Of all counts together."""
        changed = min(self.output.width, 2 * self.output.most_chosen)
        return Sensitivity.sparse(coordinates=changed, each=1)

    @property
    def loss(self) -> Loss:
        return self._noise.loss(sensitivity=self.sensitivity)

    def release(self, outputs: Sequence[Codes], entropy: Entropy) -> tuple[Hashable, ...]:
        counts = [sum(column) for column in zip(*outputs, strict=True)]
        noisy = self._noise.release(counts, entropy)
        needed = self.share * len(outputs)
        return tuple(option for option, count in zip(self.output.options, noisy, strict=True) if count >= needed)

    @property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace.calibrated(sensitivity=self.sensitivity, epsilon=self.epsilon, neighbours=BLOCK)


def votes(outputs: Sequence[Codes], options: int) -> list[int]:
    """How many outputs chose each option."""
    return [int(count) for count in np.bincount([code for (code,) in outputs], minlength=options)]


def trimmed(codes: Sequence[int], trim: Fraction) -> tuple[list[int], int]:
    """The codes in order without floor(trim m) at either end, and that number."""
    cut = floor(trim * len(codes))
    ordered = sorted(codes)
    return ordered[cut : len(ordered) - cut], cut


def winsorized_sum(codes: Sequence[int], trim: Fraction) -> int:
    """The sum of all codes, those that would be cut off moved to the nearest kept one."""
    kept, cut = trimmed(codes, trim)
    return sum(kept) + cut * (kept[0] + kept[-1])


def _trim(trim: Fraction) -> Fraction:
    share = exact(trim=trim)
    if not 0 <= share < Fraction(1, 2):
        raise InvalidParameter("trim", trim, allowed="at least 0 and below 1/2")
    return share


def _inside(output: Range, code: Fraction) -> Fraction:
    return output.value(min(max(code, Fraction(0)), Fraction(output.most)))
