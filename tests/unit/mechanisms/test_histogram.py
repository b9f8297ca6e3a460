"""Counting questions: stated sensitivities are those of brute force, and the lecture's table comes out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter, MissingNeighbours, NeighbourMismatch
from dalenius.mechanisms.noise.histogram import BoundedTotal, Cumulative, Histogram, OneWayMarginals, joint_sensitivity
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.textbook.pricing import revenues

RELATIONS: list[Neighbours] = [AddRemove(), Replace()]
TABLE = [(0, 0, 0), (1, 0, 1), (0, 1, 0), (1, 0, 1), (0, 0, 0), (0, 0, 1), (1, 1, 0), (0, 0, 0), (0, 1, 0), (1, 0, 1)]
"""Ten people and three yes-or-no columns, from the lecture on formal methods."""
NUMBERS = [4 * a + 2 * b + c for a, b, c in TABLE]


def brute_force(
    answer: Callable[[list[Any]], Sequence[int]], universe: tuple[Hashable, ...], relation: Neighbours
) -> tuple[int, int, int]:
    """The largest l1, squared l2 and l-infinity change over all neighbours of at most two rows."""
    l1 = l2 = linf = 0
    for size in range(3):
        for rows in combinations_with_replacement(universe, size):
            for other in relation.around({item: rows.count(item) for item in universe}, universe):
                moves = [abs(x - y) for x, y in zip(answer(list(rows)), answer(list(other.elements())), strict=True)]
                l1, l2, linf = max(l1, sum(moves)), max(l2, sum(m * m for m in moves)), max(linf, *moves)
    return l1, l2, linf


def norms(sensitivity: Sensitivity) -> tuple[Fraction | None, ...]:
    return sensitivity.l1, sensitivity.l2_squared, sensitivity.linf


@pytest.mark.textbook("S4.4", "S4.10")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_stated_sensitivities_are_those_of_brute_force(relation: Neighbours) -> None:
    histogram, cumulative, marginals, total = (
        Histogram(("a", "b", "c")),
        Cumulative((0, 2)),
        OneWayMarginals(2),
        BoundedTotal(-2, 3),
    )
    letters, numbers, bits = ("a", "b", "c", "z"), tuple(range(-5, 6)), tuple(product((0, 1), repeat=2))
    assert norms(histogram.sensitivity(relation)) == brute_force(histogram.counts, letters, relation)
    assert norms(cumulative.sensitivity(relation)) == brute_force(cumulative.counts, numbers, relation)
    assert norms(marginals.sensitivity(relation)) == brute_force(marginals.counts, bits, relation)
    assert norms(total.sensitivity(relation)) == brute_force(lambda rows: [total.total(rows)], numbers, relation)


@pytest.mark.textbook("S4.4")
def test_a_histogram_costs_one_when_rows_come_and_go_and_two_when_they_change() -> None:
    histogram = Histogram(tuple("abcdef"))
    assert histogram.sensitivity(AddRemove()).l1 == 1
    assert histogram.sensitivity(Replace()).l1 == 2
    assert histogram.sensitivity(AddRemove()).monotone
    assert not histogram.sensitivity(Replace()).monotone


@pytest.mark.textbook("S4.4")
def test_cells_are_fixed_in_advance_with_the_empty_ones() -> None:
    histogram = Histogram(("Ada", "Bob", "Cy"))
    assert histogram.counts(["Cy", "Ada", "Cy", "Zoe"]) == [1, 0, 2]
    assert histogram.counts([]) == [0, 0, 0]


@pytest.mark.textbook("S4.10")
def test_the_lecture_table_gives_its_distribution_function_and_marginals() -> None:
    cumulative = [Fraction(count, 10) for count in Cumulative(tuple(range(8))).counts(NUMBERS)]
    assert cumulative == [Fraction(tenths, 10) for tenths in (3, 4, 6, 6, 6, 9, 10, 10)]
    assert [Fraction(count, 10) for count in OneWayMarginals(3).counts(TABLE)] == [Fraction(n, 10) for n in (4, 3, 4)]


@pytest.mark.textbook("S4.10")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_lecture_noise_on_the_distribution_function_is_ten_times_too_large(relation: Neighbours) -> None:
    """Each value is a count divided by 10. The slide's L(1 / epsilon) on the share is 10 / epsilon on the count."""
    epsilon = Fraction(1, 5)
    for query in (Cumulative((3,)), OneWayMarginals(1)):
        sensitivity = query.sensitivity(relation)
        right = DiscreteLaplace.calibrated(sensitivity=sensitivity, epsilon=epsilon, neighbours=relation)
        slide = DiscreteLaplace(10 / epsilon, relation)
        assert right.scale == 1 / epsilon  # 1 / (10 epsilon) on the share, as the slide has it for the marginals
        assert slide.loss(sensitivity=sensitivity).epsilon == epsilon / 10


@pytest.mark.textbook("S4.10")
def test_separate_answers_cost_the_sum_of_their_epsilons() -> None:
    epsilons = [Fraction(n, 100) for n in range(1, 9)]
    mechanisms = [DiscreteLaplace.calibrated(sensitivity=1, epsilon=e, neighbours=Replace()) for e in epsilons]
    joint = Cumulative(tuple(range(8))).sensitivity(Replace())
    together = DiscreteLaplace.calibrated(sensitivity=joint, epsilon=sum(epsilons), neighbours=Replace())
    assert sum(m.loss(sensitivity=1).epsilon for m in mechanisms) == together.loss(sensitivity=joint).epsilon


@pytest.mark.textbook("S4.10")
def test_the_mean_of_numbers_between_zero_and_one_has_sensitivity_one_over_n() -> None:
    rows, n = [0, 1, 1, 0, 1], 5
    total = BoundedTotal(0, 1)
    mechanism = DiscreteLaplace.calibrated(sensitivity=total.sensitivity(Replace()), epsilon=2, neighbours=Replace())
    assert Fraction(total.total(rows), n) == Fraction(3, 5)
    assert mechanism.scale / n == Fraction(1, n) / 2  # the seeds' L(1 / (n epsilon))
    assert total.total([-50, 7]) == 1  # bounded first


@pytest.mark.textbook("S4.5")
def test_any_queries_together_have_the_sum_of_their_sensitivities() -> None:
    joint = joint_sensitivity(1, 3, Sensitivity.sparse(coordinates=2, each=2))
    assert norms(joint) == (1 + 3 + 4, 1 + 9 + 8, 3)
    assert not joint.monotone
    assert joint_sensitivity(1, Sensitivity(l2_squared=Fraction(4))).l1 is None
    assert joint_sensitivity(1, Sensitivity(l2_squared=Fraction(4))).l2_squared == 5
    assert joint_sensitivity(0, 0).l1 == 0


def test_every_row_has_an_answer() -> None:
    """A row that does not fit must not stop a question: the stop itself would tell that it is there."""
    assert OneWayMarginals(2).counts([(1,), (1, 1, 1), (), (5, float("nan"))]) == [2, 1]  # type: ignore[list-item]
    assert BoundedTotal(1, 3).total([float("nan"), float("inf"), -7, 2]) == 1 + 3 + 1 + 2  # type: ignore[list-item]
    assert Cumulative((0,)).counts([float("nan"), -1]) == [1]  # type: ignore[list-item]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Histogram(()),
        lambda: Histogram(("a", "a")),
        lambda: Cumulative(()),
        lambda: OneWayMarginals(0),
        lambda: BoundedTotal(2, 1),
        lambda: BoundedTotal(1, float("nan")),  # type: ignore[arg-type]
        lambda: BoundedTotal(float("-inf"), 1),  # type: ignore[arg-type]
        lambda: BoundedTotal(0, 1.5),  # type: ignore[arg-type]
        lambda: BoundedTotal(False, True),
        lambda: Histogram("Oslo"),  # type: ignore[arg-type]
        lambda: Histogram(5),  # type: ignore[arg-type]
        lambda: joint_sensitivity(),
        lambda: joint_sensitivity(-1),
    ],
)
def test_bad_questions_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_a_missing_relation_is_refused() -> None:
    with pytest.raises(MissingNeighbours):
        Histogram(("a",)).sensitivity(None)  # type: ignore[arg-type]


def test_numbers_of_numpy_do_not_wrap_around() -> None:
    ages = np.full(3, 100, dtype=np.uint8)
    assert BoundedTotal(0, 120).total(ages) == 300
    assert revenues([127, 127], prices=np.array([100], dtype=np.int8)) == [200]  # type: ignore[arg-type]


def test_every_row_of_any_kind_has_an_answer() -> None:
    odd = [None, "7", [], {}, float("nan"), Decimal("NaN"), object(), (1, [2])]
    assert BoundedTotal(2, 10).total([*odd, 3.7]) == 2 * len(odd) + 3
    assert Cumulative((1,)).counts(odd) == [0]
    assert Histogram(("7",)).counts(odd) == [1]
    assert OneWayMarginals(2).counts([*odd, (1, 0), (True, 1)])[1] == 1
    assert revenues(odd, prices=[1, 5]) == [0, 0]  # type: ignore[arg-type]


def test_questions_answered_together_must_agree_on_their_neighbours() -> None:
    cells = Histogram(("a", "b"))
    assert joint_sensitivity(cells.sensitivity(AddRemove()), cells.sensitivity(AddRemove())).neighbours == AddRemove()
    with pytest.raises(NeighbourMismatch):
        joint_sensitivity(cells.sensitivity(AddRemove()), cells.sensitivity(Replace()))


def test_rows_of_one_column_count_as_their_value() -> None:
    """Before, tuples were at or below no point, and nobody said so."""
    assert Cumulative((1, 3)).counts([(1,), (2,), [3], 4]) == [1, 3]
    column = np.array([[1], [2], [3], [4]])
    assert repr(Cumulative((1, 3)).counts(column)) == "[1, 3]"
    assert BoundedTotal(0, 9).total(column) == 10  # type: ignore[arg-type]
    assert Cumulative((1,)).counts([([1, [2]],), np.array(1), np.array([[1]])]) == [0]  # type: ignore[list-item]
    assert BoundedTotal(0, 10).total([(1,), [2], 3]) == 6
    with pytest.raises(InvalidParameter, match="points"):
        Cumulative(((1,), (3,)))  # type: ignore[arg-type]
