"""Query classes answer as defined, have the stated sizes, and their sensitivities are the exact worst cases."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb

import pytest

from dalenius.errors import InvalidParameter, MissingNeighbours, TheoremDoesNotApply
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.textbook.privacy.queries import (
    LinearQueries,
    LinearQuery,
    conjunctions,
    cube,
    histogram_query,
    intervals,
    marginals,
    monotone_conjunctions,
)
from dalenius.textbook.privacy.sensitivities import global_sensitivity

CLASSES = {
    "monotone conjunctions": monotone_conjunctions(2),
    "conjunctions": conjunctions(1),
    "marginals": marginals(3, ways=2),
    "intervals": intervals(range(4)),
    "histogram": histogram_query({"low": [0, 1], "high": [2, 3]}),
    "linear": LinearQueries(
        (LinearQuery("age", {0: 0, 1: Fraction(1, 3), 2: 1}), LinearQuery("pay", {0: 1, 1: 0, 2: 1}))
    ),
}


@pytest.mark.textbook("S1.6")
@pytest.mark.parametrize("name", CLASSES)
def test_sensitivities_are_the_exact_worst_cases(name: str) -> None:
    workload = CLASSES[name]
    for relation in (AddRemove(), Replace()):
        stated = workload.sum_sensitivity(relation)
        assert stated == global_sensitivity(
            workload.sums,
            universe=workload.universe,
            sizes=[0, 1] if relation == AddRemove() else [1],
            neighbours=relation,
        )
        assert stated.linf is not None
        assert stated.linf <= 1


@pytest.mark.textbook("S1.6")
@pytest.mark.parametrize("name", CLASSES)
def test_averages_move_by_the_sums_divided_by_a_public_size(name: str) -> None:
    workload = CLASSES[name]
    for size in (1, 2):
        exact = global_sensitivity(workload.averages, universe=workload.universe, sizes=[size], neighbours=Replace())
        assert workload.average_sensitivity(Replace(), size=size) == exact


@pytest.mark.textbook("S1.6")
def test_an_average_without_a_public_size_has_no_sensitivity_one_over_n() -> None:
    """Adding one row to two can move an average by 1/3 and to one by 1/2: not 1/n for the n that anybody knows."""
    share = LinearQueries((LinearQuery("share", {0: 0, 1: 1}),))
    moved = global_sensitivity(share.averages, universe=(0, 1), sizes=[1, 2, 3], neighbours=AddRemove())
    assert moved.l1 == Fraction(1, 2)
    with pytest.raises(TheoremDoesNotApply, match="a noisy sum and a noisy count"):
        share.average_sensitivity(AddRemove(), size=3)


@pytest.mark.textbook("S1.6")
def test_a_counting_query_counts() -> None:
    adults = LinearQuery.counting("adults", lambda age: age >= 18, range(100))
    database = Counter({17: 2, 18: 3, 60: 1})
    assert adults.is_counting
    assert adults.sum(database) == 4
    assert adults.average(database) == Fraction(2, 3)
    for relation in (AddRemove(), Replace()):
        assert LinearQueries((adults,)).sum_sensitivity(relation).l1 == 1


@pytest.mark.textbook("S1.6")
def test_conjunction_classes_have_the_stated_sizes() -> None:
    assert len(monotone_conjunctions(3)) == 2**3
    assert len(conjunctions(2)) == 2**4
    assert [len(marginals(5, ways=k)) for k in range(6)] == [comb(5, k) for k in range(6)]


@pytest.mark.textbook("S1.6")
def test_monotone_conjunctions_multiply_their_features() -> None:
    query = {q.name: q for q in monotone_conjunctions(3)}["x1 and x3"]
    assert all(query.weights[row] == row[0] * row[2] for row in cube(3))
    assert {q.name for q in marginals(3, ways=2)} == {"x1 and x2", "x1 and x3", "x2 and x3"}


@pytest.mark.textbook("S1.6")
def test_negated_features_are_the_second_half_of_twice_as_many() -> None:
    query = {q.name: q for q in conjunctions(2)}["x1 and x4"]  # x4 is not x2
    assert all(query.weights[row] == row[0] * (1 - row[1]) for row in cube(2))
    contradiction = {q.name: q for q in conjunctions(2)}["x1 and x3"]
    assert set(contradiction.weights.values()) == {0}


@pytest.mark.textbook("S1.6")
def test_intervals_count_what_lies_inside() -> None:
    workload = intervals(range(5))
    assert len(workload) == 1 + 5 * 6 // 2
    query = {q.name: q for q in workload}["[1, 3]"]
    assert query.sum(Counter({0: 1, 1: 1, 3: 2, 4: 5})) == 3


@pytest.mark.textbook("S1.6")
def test_a_histogram_is_one_for_add_remove_and_two_for_replace() -> None:
    cells = histogram_query({"a": "a", "b": "b", "c": "c"})
    one, two = cells.sum_sensitivity(AddRemove()), cells.sum_sensitivity(Replace())
    assert (one.l1, one.l2_squared, one.linf, one.monotone) == (1, 1, 1, True)
    assert (two.l1, two.l2_squared, two.linf, two.monotone) == (2, 2, 1, False)
    with pytest.raises(InvalidParameter, match="disjoint"):
        histogram_query({"a": "ab", "b": "b"})


@pytest.mark.textbook("S1.6")
def test_classes_too_large_to_list_are_refused_at_once() -> None:
    for build in (monotone_conjunctions, conjunctions, cube):
        with pytest.raises(InvalidParameter, match="few enough"):
            build(60)


@pytest.mark.textbook("S1.6")
def test_bad_queries_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        LinearQuery("too heavy", {0: Fraction(3, 2)})
    with pytest.raises(InvalidParameter, match="at least one query"):
        LinearQueries(())
    with pytest.raises(InvalidParameter, match="same universe"):
        LinearQueries((LinearQuery("a", {0: 1}), LinearQuery("b", {1: 1})))
    with pytest.raises(MissingNeighbours):
        CLASSES["linear"].sum_sensitivity(None)
    with pytest.raises(InvalidParameter):
        marginals(3, ways=4)
    with pytest.raises(InvalidParameter, match="at least one row"):
        LinearQuery("a", {0: 1}).average(Counter())
    with pytest.raises(InvalidParameter) as caught:
        LinearQuery("a", {0: 1}).sum(Counter({"patient zero": 1}))
    assert "patient zero" not in str(caught.value)
