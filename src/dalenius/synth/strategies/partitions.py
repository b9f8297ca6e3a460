"""Private partitions: ordered cells in buckets that are nearly even inside, found with a part of the price.

The rest of the price measures the buckets. It pays where people are few and evenness is common, as on sparse data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.reals import ball, lower, precise
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.laplace import discrete_laplace
from dalenius.synth.online.sealed import wide
from dalenius.synth.strategies.estimates import Answers, Estimate, width
from dalenius.synth.strategies.strategy import Price, batches, divided, stated_rows, whole_price
from dalenius.synth.strategies.trees import Hierarchical, Identity, grouped
from dalenius.tabular.workloads import Integers, Reals, Workload

BUCKET, FINE = 2, 4
"""The public handicaps of a bucket and of a piece that is kept cell by cell, in scales of the noise."""
_PIECES = 128
_BRANCHING = 8
SHARE = Fraction(1, 4)
"""The part of a price that finds the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivatePartition:
    """Cut ordered cells into buckets by the least noisy cost.

    Pieces of `piece` cells are leaves of a binary tree. A partition takes whole blocks of that tree as buckets, or
    keeps a piece cell by cell. The cost of a block is half the sum of the distances of its cells from their mean,
    rounded down, and that of a kept piece is 0; every block and every piece gets a public handicap and noise of its own
    with P[Z = z] proportional to exp(-|z| / scale). The cheapest partition is released, the first of equals in the
    order where a block comes before what it is made of.

    Guarantee: if |x - x'|_1 <= s for all neighbours' histograms, the partition is (2 s / scale)-DP.
    Proof: let x and x' differ by 1 in one cell. The cost of a block or piece that holds the cell changes by at most 1,
    since half the sum of distances changes by less than 1; no other cost changes. Let B be chosen on x, and b be what
    holds the cell in B. Lower the noise of b by 2. On x' the noisy cost of every partition that uses b changes as that
    of B does, which falls by at least 1; that of any other falls by at most 1. So B is chosen on x', ties falling as
    before. The shift by 2 changes the probability of the noise by a factor of at most exp(2 / scale); s steps multiply.
    Reference: Li, Hay, Miklau & Wang 2014 (arXiv:1410.0265), the first stage of DAWA, here on a tree and with noise on
    single cells too, which the argument needs.
    """

    scale: Fraction
    cells: int
    piece: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(scale=self.scale))
        whole(1, cells=self.cells), whole(1, piece=self.piece), stated(self.neighbours)

    @classmethod
    def calibrated(
        cls,
        *,
        cells: int,
        sensitivity: SensitivityLike,
        epsilon: Number,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The least noise that costs at most `epsilon`, with pieces of about a 128th of the cells."""
        scale = 2 * _steps(sensitivity) / positive(epsilon=epsilon)
        piece = max(2, whole(1, cells=cells) // _PIECES)
        return cls(scale=scale, cells=cells, piece=piece, neighbours=stated(neighbours))

    def loss(self, *, sensitivity: SensitivityLike) -> PureDP:
        return PureDP(2 * _steps(sensitivity) / self.scale)

    def release(self, histogram: Integers, entropy: Entropy) -> tuple[int, ...]:
        """The first cell of each bucket, and the number of cells as the last entry."""
        if len(histogram) != self.cells:
            raise InvalidParameter("histogram", "another", allowed=f"{self.cells} counts")
        handicap, fine = ceil(BUCKET * self.scale), ceil(FINE * self.scale)
        costs, block = [], self.piece
        while True:
            cost = uneven(histogram, block)
            costs.append(self._noisy(cost, handicap, entropy))
            if len(cost) == 1:
                break
            block *= 2
        kept = self._noisy(np.zeros(len(costs[0]), dtype=np.int64), fine, entropy)
        return _cheapest(costs, kept, cells=self.cells, piece=self.piece)

    def _noisy(self, costs: Integers, handicap: int, entropy: Entropy) -> NDArray[Any]:
        noise = np.asarray(discrete_laplace(self.scale, len(costs), entropy=entropy))
        found: NDArray[Any] = costs.astype(object) + noise.astype(object) + handicap
        return found


@dataclass(frozen=True, eq=False)
class BucketEstimate:
    """A histogram that is even inside each bucket, with the estimate of the buckets themselves.

    Guarantee: answers agree with each other. Bars hold the noise alone: how uneven the cells of a bucket are is not
    known, and no bar can cover it.
    """

    histogram: Reals
    bounds: tuple[int, ...]
    buckets: Estimate

    def answers(self, workload: Workload, *, confidence: Number = "0.95") -> Answers:
        """The answers to a workload, with bars for the noise."""
        values = np.asarray(workload.answers(self.histogram), dtype=np.float64) / workload.denominator
        starts, sizes = np.array(self.bounds[:-1]), np.diff(self.bounds)
        strategy, parts = self.buckets.strategy, []
        for rows in batches(workload):
            spread = np.add.reduceat(rows, starts, axis=-1) / sizes
            parts.append((spread * strategy.solved(spread)).sum(axis=-1))
        squares = float(self.buckets.noise.law.variance()) * np.concatenate(parts) / workload.denominator**2
        level = positive(confidence=confidence)
        deviations = np.sqrt(squares)
        return Answers(values, deviations, deviations * width(self.buckets.noise, level), level)


def release_partitioned(
    exact: Exact[Integers],
    cells: int,
    allowance: Allowance,
    entropy: Entropy,
    *,
    price: Price | None = None,
    rows: int = 1,
) -> BucketEstimate:
    """Find buckets with a quarter of the price, and measure a tree over them with the rest.

    Guarantee: it draws at most the price, if the sealed histogram counts units of at most `rows` rows.
    """
    stated_rows(exact, rows)
    searching, measuring = divided(price or whole_price(allowance), SHARE, allowance)
    moved = Sensitivity(l1=exact.neighbours.add_remove_steps * rows, neighbours=exact.neighbours)
    finding = PrivatePartition.calibrated(
        cells=cells, sensitivity=moved, epsilon=_pure(searching), neighbours=exact.neighbours
    )
    bounds = measure(finding, exact.map(lambda counts: counts, sensitivity=moved), allowance, entropy)
    sizes, starts = np.diff(bounds), np.array(bounds[:-1])
    totals = exact.map(lambda counts: _added(counts, starts), sensitivity=moved)
    strategy = Identity(len(sizes)) if len(sizes) <= _BRANCHING else Hierarchical.rootless(len(sizes), _BRANCHING)
    estimate = strategy.release(totals, allowance, entropy, price=measuring, rows=rows)
    return spread_out(estimate, bounds)


def spread_out(estimate: Estimate, bounds: Sequence[int]) -> BucketEstimate:
    """The estimate of buckets as one of cells, each bucket's count spread evenly over its cells."""
    sizes = np.diff(bounds)
    return BucketEstimate(np.repeat(estimate.histogram / sizes, sizes), tuple(bounds), estimate)


def uneven(histogram: NDArray[Any], block: int) -> NDArray[Any]:
    """For each block, half the sum of the distances of its cells from their mean, rounded down: an integer that one
    person changes by at most 1. No sum that is formed is above twice a block's size times the sizes of all counts."""
    counts = wide(histogram, times=2 * block)
    held = grouped(np.ones(len(counts), dtype=np.int64), block)
    cells, sizes = grouped(counts, block), held.sum(axis=-1)
    above = (sizes[:, None] * cells - cells.sum(axis=-1)[:, None]) * held
    found: NDArray[Any] = np.where(above > 0, above, 0).sum(axis=-1) // sizes
    return found


def _added(counts: Integers, starts: NDArray[Any]) -> NDArray[Any]:
    """The counts of buckets."""
    found: NDArray[Any] = np.add.reduceat(wide(counts), starts)
    return found


def _cheapest(costs: Sequence[NDArray[Any]], kept: NDArray[Any], *, cells: int, piece: int) -> tuple[int, ...]:
    """The bounds of the cheapest partition; `costs` are those of the blocks, from pieces up to all cells."""
    whole_blocks = [costs[0] <= kept]
    best = np.where(whole_blocks[0], costs[0], kept)
    for blocks in costs[1:]:
        below = grouped(best, 2).sum(axis=-1)
        whole_blocks.append(blocks <= below)
        best = np.where(whole_blocks[-1], blocks, below)
    bounds, open_blocks = [0], [(len(costs) - 1, 0)]
    while open_blocks:
        level, place = open_blocks.pop()
        if place >= len(costs[level]):
            continue
        start, end = (place * piece) << level, min(cells, ((place + 1) * piece) << level)
        if whole_blocks[level][place]:
            bounds.append(end)
        elif level == 0:
            bounds.extend(range(start + 1, end + 1))
        else:
            open_blocks += [(level - 1, 2 * place + 1), (level - 1, 2 * place)]
    return tuple(int(bound) for bound in bounds)


def _pure(price: Price) -> Fraction:
    """An epsilon that costs no more: pure epsilon-DP is (epsilon^2 / 2)-zCDP."""
    if isinstance(price, PureDP):
        return price.epsilon
    with precise():
        return lower(ball(2 * price.rho).sqrt())


def _steps(sensitivity: SensitivityLike) -> int:
    return ceil(Sensitivity.of(sensitivity).need("l1", mechanism="the private partition"))
