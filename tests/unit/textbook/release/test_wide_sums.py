"""Counts of any size: no sum wraps before noise is added, and what is no integer is refused.

A sum that wraps moves by 2^64 where one person comes: the noise hides nothing then.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from costs import cases
from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.checks.replay.replaying import Replayed, replay
from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import fresh_entropy
from dalenius.synth.online import sealed
from dalenius.synth.online.multiplicative_weights import MultiplicativeWeights
from dalenius.synth.online.rounds import OnlinePlan
from dalenius.synth.strategies.partitions import release_partitioned, uneven
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Marginals, MatrixWorkload, Product, Ranges, Workload
from dalenius.textbook.release import iterative_construction, nets, repeats
from dalenius.textbook.release.boosting import MOST_SCORE, QueryBoosting
from dalenius.textbook.release.generators import LinearGenerator
from dalenius.textbook.release.iterative_construction import IterativeConstruction
from dalenius.textbook.release.nets import Net, NetMechanism
from dalenius.textbook.release.per_query import PerQuery
from dalenius.textbook.release.repeats import Repeats
from dalenius.textbook.release.syntheticizer import release_synthetic

CELLS, PEOPLE = 4, 100
GRID = CellDomain({"x": CELLS})
PREFIXES = Ranges.prefixes(GRID)
EDGE = np.array([2**62, 2**62 - 1, 0, 0])
"""Two cells whose sum is the largest that 64 bits hold: with one person more it wraps."""
OVER = EDGE + np.array([0, 1, 0, 0])
PEOPLE_MOVE = Replace()


def sealed_histogram(counts: Any) -> Exact[Any]:
    return Exact(np.asarray(counts), sensitivity=Sensitivity(l1=2, linf=1), neighbours=PEOPLE_MOVE)


def per_query(counts: Any) -> Any:
    plan = PerQuery.laplace(PREFIXES, epsilon=1, neighbours=PEOPLE_MOVE)
    paid = PrivacyFilter(Budget(1), neighbours=PEOPLE_MOVE).allow(plan.loss())
    return plan.release(sealed_histogram(counts), paid, fresh_entropy(), beta="0.1").answers


def net(counts: Any) -> Any:
    plan = NetMechanism.calibrated(
        Net.of_size(CELLS, 2, alpha=1), PREFIXES, people=PEOPLE, epsilon=1, neighbours=PEOPLE_MOVE
    )
    paid = PrivacyFilter(Budget(1), neighbours=PEOPLE_MOVE).allow(plan.loss())
    return plan.release(sealed_histogram(counts), paid, fresh_entropy(), beta="0.1").answers


def construction(counts: Any) -> Any:
    rule = MultiplicativeWeights(cells=CELLS, people=10**6, alpha=Fraction(1, 2))
    plan = IterativeConstruction.calibrated(rule, PREFIXES, epsilon=1, beta="0.1", neighbours=PEOPLE_MOVE)
    paid = PrivacyFilter(Budget(1), neighbours=PEOPLE_MOVE).allow(plan.loss())
    return plan.release(sealed_histogram(counts), paid, fresh_entropy()).answers


def session(counts: Any) -> Any:
    plan = OnlinePlan.practical(
        cells=CELLS, people=PEOPLE, queries=10, updates=2, epsilon=1, delta="1e-6", neighbours=PEOPLE_MOVE
    )
    paid = PrivacyFilter(Budget(2, "1e-6"), neighbours=PEOPLE_MOVE).allow(plan.loss())
    return plan.start(sealed_histogram(counts), paid, fresh_entropy()).ask(np.array([1, 1, 0, 0])).people


def repeated(counts: Any) -> Any:
    noise = PerQuery.laplace(PREFIXES, epsilon=1, neighbours=PEOPLE_MOVE).mechanism.noise  # type: ignore[union-attr]
    paid = PrivacyFilter(Budget(9), neighbours=PEOPLE_MOVE).allow(noise.loss(sensitivity=1))
    asked = Repeats(noise, people=PEOPLE, beta="0.1")
    return asked.ask([1, 1, 0, 0], sealed_histogram(counts), paid, fresh_entropy()).people


def synthetic(counts: Any) -> Any:
    paid = PrivacyFilter(Budget(1), neighbours=PEOPLE_MOVE).allow(PureDP(1))
    price = PureDP(1)
    return release_synthetic(sealed_histogram(counts), PREFIXES, paid, fresh_entropy(), people=PEOPLE, price=price).rows


def partition(counts: Any) -> Any:
    paid = PrivacyFilter(Budget(1), neighbours=PEOPLE_MOVE).allow(PureDP(1))
    return release_partitioned(sealed_histogram(counts), CELLS, paid, fresh_entropy()).histogram


RELEASES: list[Callable[[Any], Any]] = [per_query, net, construction, session, repeated, synthetic, partition]


def compared(release: Callable[[Any], Any]) -> Replayed:
    """At the edge; the scores of a net are answers times the size of its databases, which is 2."""
    edge = np.array([2**61, 2**61 - 1, 0, 0]) if release is net else EDGE
    return replay(release, edge, edge + np.array([0, 1, 0, 0]))


@cases("release", RELEASES, ids=lambda release: release.__name__, fast=3)
def test_one_person_moves_huge_counts_no_further_than_declared(release: Callable[[Any], Any]) -> None:
    found = compared(release)
    assert found.calls
    assert not found.findings


@cases("release", [per_query, net, construction, session, repeated], ids=lambda one: one.__name__, fast=2)
def test_the_test_above_notices_sums_of_64_bits(release: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (sealed, nets, iterative_construction, repeats):
        monkeypatch.setattr(room, "wide", lambda counts, times=1: np.asarray(counts, dtype=np.int64))
    assert {finding.kind for finding in compared(release).findings} & {"sensitivity", "leak"}


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.__name__)
@pytest.mark.parametrize("counts", [[0.5, 1, 2, 3], [np.nan, 1, 2, 3], [1.0, 2, 3, 4]], ids=["halves", "NaN", "floats"])
def test_counts_that_are_no_integers_are_refused(release: Callable[[Any], Any], counts: list[float]) -> None:
    with pytest.raises(DaleniusError):
        release(np.array(counts))


def test_counts_without_a_sign_are_counts_all_the_same() -> None:
    for workload in (PREFIXES, Marginals(GRID, [["x"]]), MatrixWorkload(GRID, np.eye(4, dtype=np.int64))):
        found = sealed.exact_answers(workload, EDGE.astype(np.uint64))
        assert found.dtype.kind in "iO"
    assert uneven(np.arange(4, dtype=np.uint64), 4).dtype.kind == "i"


@pytest.mark.parametrize(
    "workload",
    [
        PREFIXES,
        Marginals(CellDomain({"x": 2, "y": 2}), [["x"], ["y"], ["x", "y"]]),
        MatrixWorkload(GRID, np.array([[3, 3, 0, 0], [0, 1, 2, 3]]), denominator=3),
        Product(Ranges.all(CellDomain({"x": 2})), Ranges.all(CellDomain({"y": 2}))),
    ],
    ids=["ranges", "marginals", "questions", "product"],
)
def test_answers_are_exact_at_any_size(workload: Workload) -> None:
    for counts in (EDGE, OVER, -OVER, np.array([3, 1, 4, 1])):
        exact = [
            sum(int(weight) * int(count) for weight, count in zip(workload.weights(place), counts, strict=True))
            for place in range(workload.count)
        ]
        assert [int(answer) for answer in sealed.exact_answers(workload, counts)] == exact


@pytest.mark.parametrize("largest", [1, 2**51, 2**61, 2**62])
def test_unevenness_is_exact_at_any_size(largest: int) -> None:
    counts = np.zeros(1024, dtype=np.int64)
    counts[:512] = largest
    mean = Fraction(sum(map(int, counts)), 1024)
    half = sum(abs(int(count) - mean) for count in counts) / 2
    assert [int(cost) for cost in uneven(counts, 1024)] == [half.numerator // half.denominator]


def test_scores_of_boosting_stay_within_64_bits() -> None:
    base = LinearGenerator.calibrated(
        PREFIXES, people=10**4, draws=4, epsilon=1, delta="1e-6", beta="0.1", neighbours=PEOPLE_MOVE
    )
    QueryBoosting(workload=PREFIXES, base=base, rounds=4, gap=MOST_SCORE // 4, eta=Fraction(1, 3))
    with pytest.raises(InvalidParameter, match="gap"):
        QueryBoosting(workload=PREFIXES, base=base, rounds=4, gap=MOST_SCORE // 2, eta=Fraction(1, 3))


@pytest.mark.parametrize("least", [5e-324, 1e-300, 1e-12])
def test_a_cell_that_seems_empty_can_still_be_learned(least: float) -> None:
    plan = OnlinePlan.practical(
        cells=CELLS, people=1000, queries=10, updates=4, epsilon=8, delta="1e-6", neighbours=PEOPLE_MOVE
    )
    paid = PrivacyFilter(Budget(30, "1e-6"), neighbours=PEOPLE_MOVE).allow(plan.loss())
    running = plan.start(
        sealed_histogram([0, 0, 0, 1000]), paid, fresh_entropy(), hypothesis=np.array([1.0, 1.0, 1.0, least])
    )
    assert running.ask([0, 0, 0, 1]).measured
    assert np.isfinite(running.hypothesis).all()
    assert abs(running.ask([0, 0, 0, 1]).people - 1000) < 500
