"""Independent noise for every question: its price, its error, and the answers that are remembered."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import log
from typing import Any, TypeAlias

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.accounting.conversion import to_delta, to_pure
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.losses import LaplaceDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Marginals, MatrixWorkload, parities
from dalenius.textbook.release.per_query import LaplaceEach, PerQuery
from dalenius.textbook.release.repeats import Repeats

Given: TypeAlias = Callable[..., Any]
ROWS, BETA = Replace(), Fraction(1, 10)
WORKLOAD = parities(4)
KINDS: dict[str, Callable[[], PerQuery]] = {
    "pure Laplace": lambda: PerQuery.laplace(WORKLOAD, epsilon=1, neighbours=ROWS),
    "Laplace": lambda: PerQuery.laplace(WORKLOAD, epsilon=1, delta="1e-6", neighbours=ROWS),
    "textbook": lambda: PerQuery.textbook(WORKLOAD, epsilon="0.9", delta="1e-6", neighbours=ROWS),
    "Gaussian": lambda: PerQuery.gaussian(WORKLOAD, epsilon=1, delta="1e-6", neighbours=ROWS),
}


@pytest.mark.textbook("S9.18")
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_costs_what_was_asked(kind: str) -> None:
    release = KINDS[kind]()
    loss = release.loss()
    if kind == "pure Laplace":
        assert Fraction(99, 100) < to_pure(loss).epsilon <= 1
    elif isinstance(release.mechanism, DiscreteGaussian):  # by its own law, of which its loss tells less
        assert release.mechanism.delta(sensitivity=release.sensitivity, epsilon=1) <= Fraction(1, 10**6)
    else:
        assert to_delta(loss, epsilon=1) <= Fraction(1, 10**6)


@pytest.mark.textbook("S9.18")
@pytest.mark.parametrize("kind", KINDS)
def test_all_answers_are_within_the_stated_error(
    kind: str, sealed: Given, paid: Given, broken_too_often: Given
) -> None:
    """With the twin: at a third of it they are not."""
    made, counts, runs = KINDS[kind](), np.arange(16) * 10, 40
    truth = WORKLOAD.answers(counts)
    delta = "" if kind == "pure Laplace" else "1e-6"
    gaps = []
    for run in range(runs):
        release = made.release(sealed(counts), paid(made.loss(), delta=delta), SeededEntropy(run), beta=BETA)
        gaps.append(np.abs(release.answers - truth).max())
    assert not broken_too_often(sum(gap > made.error(BETA) for gap in gaps), runs, BETA)
    assert broken_too_often(sum(gap > made.error(BETA) / 3 for gap in gaps), runs, BETA)


def test_with_a_delta_less_noise_is_needed_than_by_the_l1_change() -> None:
    grid = CellDomain({"x": 40})
    many = MatrixWorkload(grid, np.tri(40, dtype=np.int64).repeat(25, axis=0))
    pure = PerQuery.laplace(many, epsilon=1, neighbours=AddRemove())
    shared = PerQuery.laplace(many, epsilon=1, delta="1e-9", neighbours=AddRemove())
    normal = PerQuery.gaussian(many, epsilon=1, delta="1e-9", neighbours=AddRemove())
    assert normal.error(BETA) < shared.error(BETA) < pure.error(BETA)


def test_a_person_in_few_answers_pays_for_few() -> None:
    marginals = Marginals.all(CellDomain({"x": 10, "y": 10, "z": 10}), 1)
    made = PerQuery.laplace(marginals, epsilon=1, neighbours=AddRemove())
    assert isinstance(made.mechanism, LaplaceEach)
    assert float(made.mechanism.noise.scale) == pytest.approx(3)


def worst_ratio(scale: Fraction, moves: Sensitivity, count: int) -> float:
    """The largest log-ratio of Laplace noise over all integer changes that the bounds allow."""
    assert moves.l1 is not None
    assert moves.linf is not None
    steps = range(-int(moves.linf), int(moves.linf) + 1)
    changes = [change for change in product(steps, repeat=count) if sum(map(abs, change)) <= moves.l1]
    return max(sum(map(abs, change)) for change in changes) / float(scale)


@pytest.mark.parametrize(("l1", "linf"), [(1, 1), (3, 1), (3, 2), (4, 2), (5, 3), (9, 3)])
def test_the_uses_that_are_counted_cover_every_change(l1: int, linf: int) -> None:
    moves, count, scale = Sensitivity(l1=l1, linf=linf), 3, Fraction(10)
    mechanism = LaplaceEach(DiscreteLaplace(scale, ROWS), count)
    assert worst_ratio(scale, moves, count) <= to_pure(mechanism.loss(sensitivity=moves)).epsilon + 1e-12
    assert (
        LaplaceDP(Fraction(linf, 10), linf) == mechanism.loss(sensitivity=Sensitivity(l1=linf, linf=linf)) or linf > 1
    )


def test_the_textbooks_noise() -> None:
    made = KINDS["textbook"]()
    assert isinstance(made.mechanism, LaplaceEach)
    assert float(made.mechanism.noise.scale) == pytest.approx((8 * 16 * log(10**6)) ** 0.5 / 0.9)
    with pytest.raises(TheoremDoesNotApply):
        PerQuery.textbook(WORKLOAD, epsilon=1, delta="1e-6", neighbours=ROWS)


def repeats(**facts: Any) -> Repeats:
    noise = DiscreteLaplace.calibrated(sensitivity=1, epsilon=1, neighbours=ROWS)
    return Repeats(noise, people=1000, beta=BETA, **facts)


@pytest.mark.textbook("S9.16")
def test_a_question_that_is_asked_again_hears_the_same_answer_and_pays_once(sealed: Given, paid: Given) -> None:
    memory, entropy, counts = repeats(), SeededEntropy(1), sealed([600, 300, 100])
    allowance = paid(memory.mechanism.loss(sensitivity=1))
    first = memory.ask([1, 0, 1], counts, allowance, entropy)
    assert first.fresh
    again = [memory.ask([1, 0, 1], counts, allowance, entropy) for _ in range(1000)]
    assert {(answer.people, answer.fresh) for answer in again} == {(first.people, False)}
    assert again[0].error == first.error


@pytest.mark.textbook("S9.16")
def test_a_near_question_is_answered_from_memory_with_a_wider_bar(sealed: Given, paid: Given) -> None:
    """All people, and all but those in one cell: the differencing attack hears nothing new."""
    memory = repeats(most_in_a_cell=5, nearness=10)
    allowance = paid(memory.mechanism.loss(sensitivity=1))
    everybody = memory.ask([1, 1, 1, 1], sealed([5, 5, 5, 5]), allowance, SeededEntropy(1))
    without = memory.ask([1, 1, 1, 0], sealed([5, 5, 5, 5]), allowance, SeededEntropy(2))
    assert (without.people, without.fresh, without.error) == (everybody.people, False, everybody.error + 5)
    memory.ask([1, 0, 0, 0], sealed([5, 5, 5, 5]), paid(memory.mechanism.loss(sensitivity=1)), SeededEntropy(2))
    nearer = memory.ask([1, 1, 0, 0], sealed([5, 5, 5, 5]), allowance, SeededEntropy(2))
    assert nearer.error == everybody.error + 5
    with pytest.raises(InvalidParameter):
        memory.ask([1, 1], sealed([5, 5, 5, 5]), allowance, SeededEntropy(2))
    with pytest.raises(InvalidParameter):
        memory.ask([0.5, 0, 0, 0], sealed([5, 5, 5, 5]), allowance, SeededEntropy(2))
