"""Mechanisms whose outcomes are too many for a table: a pair of neighbours for each, and how it is run on them.

Nothing is known here of how they draw. Blocks of rows are given to functions of our own, in this process: that others'
functions are confined is another promise, with tests of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import price
from dalenius.accounting.conversion import epsilon_to_renyi, renyi_to_epsilon
from dalenius.learn.linear import batches, objective
from dalenius.learn.linear.losses_piecewise import Bend
from dalenius.learn.linear.minimum import RowCounts
from dalenius.learn.linear.output import SphericalNoise
from dalenius.learn.losses_tabulated import Slope
from dalenius.learn.rows import ONE, entries_of, sealed
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.aggregates import (
    BlockAggregate,
    FeaturesOfBlocks,
    MedianOfBlocks,
    SmoothMedianOfBlocks,
    StableVoteOfBlocks,
    TrimmedMeanOfBlocks,
    VoteOfBlocks,
    WinsorizedMeanOfBlocks,
)
from dalenius.mechanisms.robust.outputs import Codes, OneOf, Range, Subset
from dalenius.mechanisms.robust.smooth import SmoothCauchy
from dalenius.mechanisms.robust.subsample import AggregatedBlocks, BlockRows, RawDataProtocol, SubsampleAggregate
from dalenius.mechanisms.robust.subsampled_stability import SubsampledStability
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ApproximateDP, Loss
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.sandbox.sandbox import Function, OutputForm, Sandbox
from dalenius.synth.online.multiplicative_weights import MultiplicativeWeights
from dalenius.synth.strategies.partitions import BUCKET, FINE, PrivatePartition
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Ranges
from dalenius.textbook.release.boosting import QueryBoosting
from dalenius.textbook.release.generators import BruteForceGenerator
from dalenius.textbook.release.iterative_construction import IterativeConstruction
from dalenius.textbook.release.nets import Net, NetMechanism
from dalenius.textbook.release.per_query import LaplaceEach, PerQuery
from dalenius.textbook.release.projection import ProjectedLaplace

ADD, REPLACE = AddRemove("row"), Replace("row")
EVENT, BETA = Fraction(1, 100), Fraction(1, 10)
PREFIXES = Ranges.prefixes(CellDomain({"x": 2}))
PEOPLE, FEW = 10**6, 2
ORDER, SHARE = Fraction(18), 0.8

Made = Callable[[Fraction], Any]
"""A mechanism for an epsilon."""


@dataclass(frozen=True)
class Trial:
    """How a mechanism runs on two neighbouring values, and what it claims."""

    claim: Loss
    first: Any
    second: Any
    run: Callable[[Any, Entropy], Any]

    def released(self, value: Any) -> Any:
        """One output, from fresh randomness."""
        return self.run(value, system_entropy())


@dataclass(frozen=True)
class BlackBox:
    """A mechanism without an exact law, by its name, and how it is tried at an epsilon."""

    name: str
    at: Callable[[Fraction], Trial]

    def __str__(self) -> str:
        return self.name


@cache
def black_boxes() -> tuple[BlackBox, ...]:
    """One or more for each mechanism without an exact law."""
    return (*_of_blocks(), *_on_blocks(), *_of_histograms(), *_of_rows())


class Here(Sandbox):
    """Runs a function in this process."""

    __slots__ = ()

    def require(self, function: Function) -> None:
        """Nothing."""

    def outputs(self, function: Function, blocks: Iterable[Any], output: OutputForm) -> list[Codes]:
        return [output.codes(function(block)) for block in blocks]  # type: ignore[operator]


HERE = Here(seconds=Fraction(1))


def _of_blocks() -> Iterable[BlackBox]:
    """Aggregates of the outputs of blocks, of which one becomes another one."""
    bits, options = Range(0, 1, step=1), OneOf("ab")
    few, more = [(0,), (0,), (1,)], [(0,), (1,), (1,)]

    def box(made: Callable[[Fraction], BlockAggregate], first: Any = few, second: Any = more) -> BlackBox:
        def at(epsilon: Fraction) -> Trial:
            aggregate = made(epsilon)
            return Trial(aggregate.loss, first, second, aggregate.release)

        return BlackBox(_name(made), at)

    def stable(epsilon: Fraction) -> StableVoteOfBlocks:
        return StableVoteOfBlocks(output=options, epsilon=epsilon, delta=EVENT)

    yield box(lambda epsilon: MedianOfBlocks(output=bits, epsilon=epsilon))
    yield box(lambda epsilon: SmoothMedianOfBlocks(output=bits, noise=SmoothCauchy.calibrated(epsilon=epsilon)))
    yield box(lambda epsilon: TrimmedMeanOfBlocks(output=bits, epsilon=epsilon))
    yield box(lambda epsilon: WinsorizedMeanOfBlocks(output=bits, epsilon=epsilon, blocks=3))
    yield box(lambda epsilon: VoteOfBlocks(output=options, epsilon=epsilon / 2, for_votes=epsilon / 2))
    yield box(stable)
    yield box(stable, [(0,)] * 8, [*[(0,)] * 7, (1,)])
    yield box(lambda epsilon: FeaturesOfBlocks(output=Subset("ab", most_chosen=1), epsilon=epsilon), [(1, 0)], [(0, 1)])


def _on_blocks() -> Iterable[BlackBox]:
    """Functions that run on blocks or on random parts of the rows."""

    def filled(rows: Sequence[Any]) -> int:
        return int(len(rows) > 0)

    def aggregated(kind: type, epsilon: Fraction, aggregate: Callable[[Fraction], BlockAggregate]) -> Any:
        return kind(function=filled, blocks=2, aggregate=aggregate(epsilon), sandbox=HERE, neighbours=ADD)

    def mean(epsilon: Fraction) -> TrimmedMeanOfBlocks:
        return TrimmedMeanOfBlocks(output=Range(0, 1, step=1), epsilon=epsilon)

    def vote(epsilon: Fraction) -> VoteOfBlocks:
        return VoteOfBlocks(output=OneOf((0, 1)), epsilon=epsilon)

    def agreed(epsilon: Fraction) -> RawDataProtocol:
        return RawDataProtocol(
            choice=aggregated(SubsampleAggregate, epsilon / 2, vote),
            statistics={0: len, 1: len},
            mechanism=DiscreteLaplace.calibrated(sensitivity=1, epsilon=epsilon / 2, neighbours=ADD),
            statistic_sensitivity=1,
        )

    yield _plain(lambda epsilon: aggregated(SubsampleAggregate, epsilon, mean), [], ["row"])
    yield _plain(
        lambda epsilon: aggregated(AggregatedBlocks, epsilon, mean), BlockRows(((), ())), BlockRows((("row",), ()))
    )
    yield _plain(agreed, [], ["row"])
    yield _plain(
        lambda epsilon: SubsampledStability(
            function=filled, options=(0, 1), q=Fraction(1, 2), sets=1, epsilon=epsilon, delta=EVENT, neighbours=ADD
        ),
        [],
        ["row"],
    )


def _of_histograms() -> Iterable[BlackBox]:
    """Releases from the counts of two cells; the first one gets a person more, or one of the other."""

    def query(epsilon: Fraction) -> PerQuery:
        return PerQuery.laplace(PREFIXES, epsilon=epsilon, neighbours=ADD)

    def each(epsilon: Fraction) -> LaplaceEach:
        return LaplaceEach(DiscreteLaplace.calibrated(sensitivity=1, epsilon=epsilon / 2, neighbours=ADD), 2)

    def built(epsilon: Fraction) -> IterativeConstruction:
        rule = MultiplicativeWeights(cells=2, people=PEOPLE, alpha=Fraction(1, 4))
        return IterativeConstruction.calibrated(rule, PREFIXES, epsilon=epsilon, beta=BETA, neighbours=ADD)

    def constructed(epsilon: Fraction) -> Trial:
        """One person more is an update more, but for the noise: both cells begin with half of all people."""
        edge = PEOPLE // 2 + built(epsilon).threshold
        return _sealed(built, [edge - 1, 0], [edge, 0], beta=None).at(epsilon)

    def boosted(epsilon: Fraction) -> QueryBoosting:
        base = BruteForceGenerator(
            workload=PREFIXES, people=FEW, draws=2, scale=4 / epsilon, tolerance=1, beta=BETA, neighbours=REPLACE
        )
        return QueryBoosting(workload=PREFIXES, base=base, rounds=2, gap=100, eta=Fraction(1, 3))

    def partitioned(epsilon: Fraction) -> PrivatePartition:
        return PrivatePartition.calibrated(cells=2, sensitivity=1, epsilon=epsilon, neighbours=ADD)

    def cut(epsilon: Fraction) -> Trial:
        """With one person more it is cheaper to cut the bucket in two, but for the noise."""
        scale = partitioned(epsilon).scale
        edge = 2 * (ceil(FINE * scale) - ceil(BUCKET * scale)) + 1
        return _plain(partitioned, np.array([edge, 0]), np.array([edge + 1, 0])).at(epsilon)

    yield _plain(each, np.array([0, 0]), np.array([1, 1]), sensitivity=Sensitivity(l1=2, linf=1))
    yield _sealed(query, [0, 0], [1, 0])
    yield _sealed(lambda epsilon: ProjectedLaplace(noisy=query(epsilon), people=PEOPLE), [9, 0], [10, 0])
    yield _sealed(
        lambda epsilon: NetMechanism.calibrated(
            Net.of_size(2, FEW, alpha=1), PREFIXES, people=FEW, epsilon=epsilon, neighbours=REPLACE
        ),
        [1, 1],
        [2, 0],
        neighbours=REPLACE,
    )
    yield BlackBox(_name(built), constructed)
    yield _plain(boosted, np.array([1, 1]), np.array([2, 0]), sensitivity=2, told=lambda found: found.rounds)
    yield BlackBox(_name(partitioned), cut)


def _of_rows() -> Iterable[BlackBox]:
    """What linear models are trained by: noise on a vector, a tilted minimum, a gradient of a batch."""
    nobody, somebody = (entries_of(np.ones((count, 1)), np.ones(count, dtype=np.int64), ONE**2) for count in (0, 1))
    rows = sealed(nobody, ONE**2, ADD)
    change = Sensitivity(l2_squared=100**2, neighbours=ADD)

    @cache
    def tilted(epsilon: Fraction) -> objective.TiltedMinimum:
        return objective.calibrated(rows, Bend(Slope()), 1, price=epsilon, order=None)

    @cache
    def batched(epsilon: Fraction) -> batches.BatchGradient:
        dear = epsilon_to_renyi(epsilon=epsilon, alpha=ORDER, delta=EVENT)
        return batches.calibrated(rows, 1, Slope(steepest=0.5), batches.rate_of(SHARE), price=dear, order=ORDER)

    def descended(epsilon: Fraction) -> Trial:
        """The claim is what the ledger's order says of it."""
        trial = _plain(batched, RowCounts(nobody), RowCounts(somebody)).at(epsilon)
        divergence = trial.claim.renyi(ORDER)
        bound = renyi_to_epsilon(divergence=divergence, alpha=ORDER, delta=EVENT)
        return replace(trial, claim=ApproximateDP(bound, EVENT))

    yield _plain(
        lambda epsilon: SphericalNoise.calibrated(sensitivity=change, epsilon=epsilon, neighbours=ADD),
        np.array([0, 0]),
        np.array([100, 0]),
        sensitivity=change,
    )
    yield _plain(tilted, RowCounts(nobody), RowCounts(somebody))
    yield BlackBox(_name(batched), descended)


def _plain(
    made: Made,
    first: Any,
    second: Any,
    *,
    sensitivity: SensitivityLike = 1,
    told: Callable[[Any], Any] = lambda found: found,
) -> BlackBox:
    """A mechanism as the door knows it; `told` is what is looked at of its output."""

    def at(epsilon: Fraction) -> Trial:
        mechanism = made(epsilon)
        claim = mechanism.loss(sensitivity=sensitivity)
        return Trial(claim, first, second, lambda value, entropy: told(mechanism.release(value, entropy)))

    return BlackBox(_name(made), at)


def _sealed(
    made: Made,
    first: Sequence[int],
    second: Sequence[int],
    *,
    neighbours: Neighbours = ADD,
    beta: Fraction | None = BETA,
) -> BlackBox:
    """A release that takes a sealed histogram and pays by itself; its answers are looked at."""
    moved = Sensitivity(l1=neighbours.add_remove_steps, linf=1)
    more = {} if beta is None else {"beta": beta}

    def at(epsilon: Fraction) -> Trial:
        mechanism = made(epsilon)
        claim = mechanism.loss()
        amount = price(claim, order=None)

        def run(counts: Sequence[int], entropy: Entropy) -> Any:
            exact = Exact(np.array(counts), sensitivity=moved, neighbours=neighbours)
            return mechanism.release(exact, Allowance(amount, neighbours=neighbours), entropy, **more).answers

        return Trial(claim, first, second, run)

    return BlackBox(_name(made), at)


def _name(made: Made) -> str:
    return type(made(Fraction(1))).__name__
