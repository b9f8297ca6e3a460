"""Exact answers where they are stable: distances equal those found by trying all, and unstable data rarely pass."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import pytest
from flint import arb

from checks import SeededEntropy
from dalenius.errors import InvalidParameter, TheoremDoesNotApply, UnusableValue
from dalenius.mechanisms.robust.predicates import (
    distance_to_instability,
    is_stable,
    is_subsampling_stable,
    subsampling_chance,
)
from dalenius.mechanisms.robust.profiles import rank
from dalenius.mechanisms.robust.stability import (
    FAR,
    DistanceToInstability,
    StabilityTest,
    Stable,
    stability_needed,
    stable_mode,
    stable_plurality,
    stable_quantile,
)
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.verify.checked import finite

ADD, REPLACE = AddRemove("row"), Replace("row")
DELTA = Fraction(1, 10**6)
relations = pytest.mark.parametrize("neighbours", [ADD, REPLACE], ids=str)


def mode(rows: Counter[Any]) -> int:
    return max(range(3), key=lambda label: (rows[label], -label))


def quantile(p: Fraction) -> Any:
    def found(rows: Counter[Any]) -> int:
        values = sorted(rows.elements())
        return values[rank(p, len(values))] if values else 0

    return found


@pytest.mark.textbook("S11.6", "S11.8")
@relations
def test_the_distance_of_the_mode_is_the_one_found_by_trying_all(neighbours: Neighbours) -> None:
    for size in range(1, 7):
        for rows in combinations_with_replacement(range(3), size):
            found = stable_mode(rows, labels=(0, 1, 2), neighbours=neighbours)
            tried = distance_to_instability(mode, Counter(rows), most=7, universe=(0, 1, 2), neighbours=neighbours)
            assert found == Stable(mode(Counter(rows)), tried)


@pytest.mark.textbook("S11.6", "S11.8")
@relations
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 4), Fraction(1)], ids=str)
def test_the_distance_of_a_quantile_is_the_one_found_by_trying_all(neighbours: Neighbours, p: Fraction) -> None:
    universe = (0, 1, 2)
    for size in range(0 if neighbours == ADD else 1, 6):
        for rows in combinations_with_replacement(universe, size):
            found = stable_quantile(rows, lower=0, upper=2, neighbours=neighbours, p=p)
            tried = distance_to_instability(
                quantile(p), Counter(rows), most=7, universe=universe, neighbours=neighbours
            )
            assert found == Stable(quantile(p)(Counter(rows)), tried)


def test_the_equality_above_notices_a_distance_that_forgets_the_order_of_equals() -> None:
    wrong = [
        rows
        for rows in combinations_with_replacement(range(3), 4)
        if sorted(Counter(rows).values())[-1] - sorted([*Counter(rows).values(), 0])[-2]
        != distance_to_instability(mode, Counter(rows), most=9, universe=(0, 1, 2), neighbours=ADD)
    ]
    assert wrong


@relations
def test_an_answer_that_nothing_changes_is_infinitely_stable(neighbours: Neighbours) -> None:
    assert stable_mode(["a"], labels=["a"], neighbours=neighbours).distance == FAR - 1
    assert stable_quantile([3, 3], lower=3, upper=3, neighbours=neighbours) == Stable(3, FAR)


# ---- the test


@pytest.mark.textbook("S11.5", "S11.6")
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_unstable_data_pass_with_probability_at_most_half_of_delta(epsilon: str, delta: str) -> None:
    """By the exact law; and a threshold one lower would let more pass."""
    test = StabilityTest(epsilon=Fraction(epsilon), delta=Fraction(delta))
    with precise():
        assert upper(test.chance(0)) <= test.delta / 2
        assert lower(test.chance(1)) > test.delta / 2


@pytest.mark.textbook("S11.6")
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_enough_is_enough_and_at_most_what_the_textbook_asks(epsilon: str) -> None:
    mechanism = DistanceToInstability(epsilon=Fraction(epsilon), delta=DELTA, neighbours=ADD)
    enough = mechanism.enough("0.05")
    with precise():
        assert lower(mechanism.test.chance(enough)) >= Fraction(95, 100)
        assert upper(mechanism.test.chance(enough - 1)) < Fraction(95, 100)
    assert enough <= stability_needed(epsilon=epsilon, delta=DELTA, beta="0.05") + 1


def passing(threshold: Fraction, epsilon: Fraction, distance: int) -> arb:
    """The chance that Laplace noise on a distance exceeds a threshold."""
    with precise():
        gap = ball(epsilon * (threshold - distance))
        return (-gap).exp() / 2 if gap > 0 else 1 - gap.exp() / 2


def decisions(chance: arb, answer: str) -> dict[str, arb]:
    return {answer: chance, "none": 1 - chance}


@pytest.mark.textbook("S11.5")
def test_the_threshold_without_its_division_is_refuted_and_ours_is_not() -> None:
    """Neighbours in different bins, both one step from the edge, at epsilon = 0.1 (IQR scale, A = 1)."""
    epsilon = Fraction(1, 10)
    with precise():
        published = upper(-ball(DELTA).log())
        broken = passing(published, epsilon, 0)
        ours = StabilityTest(epsilon=epsilon, delta=DELTA).chance(0)
        assert Fraction(12, 100) < upper(broken) < Fraction(13, 100)
        tables = {
            name: {"left": decisions(chance, "a"), "right": decisions(chance, "b")}
            for name, chance in {"broken": broken, "ours": ours}.items()
        }
        pair = [("left", "right")]
        assert finite(tables["broken"], pair).holds(ApproximateDP(4 * epsilon, DELTA)) is False
        assert finite(tables["ours"], pair).holds(ApproximateDP(epsilon, DELTA)) is True


@pytest.mark.textbook("S11.6")
@relations
def test_the_exact_laws_of_all_small_databases_keep_the_claim(neighbours: Neighbours) -> None:
    mechanism = DistanceToInstability(epsilon=Fraction(1), delta=Fraction(1, 20), neighbours=neighbours)
    databases = [rows for size in range(1, 7) for rows in combinations_with_replacement(range(2), size)]
    tables = {}
    for rows in databases:
        stable = stable_mode(rows, labels=(0, 1), neighbours=neighbours)
        with precise():
            tables[rows] = decisions(mechanism.test.chance(stable.distance), str(stable.answer))
    pairs = [(x, y) for x in databases for y in databases if neighbours.related(Counter(x), Counter(y))]
    assert finite(tables, pairs).holds(mechanism.loss(sensitivity=1), tolerance=Fraction(1, 10**12)) is True
    too_cheap = ApproximateDP(Fraction(9, 10), Fraction(1, 1000))
    assert finite(tables, pairs).holds(too_cheap) is False


def test_stable_answers_come_out_exactly_and_unstable_ones_do_not() -> None:
    mechanism = DistanceToInstability(epsilon=Fraction(1), delta=DELTA, neighbours=ADD)
    rows = ["a"] * 100 + ["b"] * 20
    sure = stable_mode(rows, labels=("a", "b", "c"), neighbours=ADD)
    assert [mechanism.release(sure, SeededEntropy(turn)) for turn in range(50)] == ["a"] * 50
    unsure = stable_mode(["a", "b"], labels=("a", "b", "c"), neighbours=ADD)
    assert [mechanism.release(unsure, SeededEntropy(turn)) for turn in range(50)] == [None] * 50


def test_what_is_not_covered_is_refused() -> None:
    mechanism = DistanceToInstability(epsilon=Fraction(1), delta=DELTA, neighbours=ADD)
    with pytest.raises(TheoremDoesNotApply, match="at most 1"):
        mechanism.loss(sensitivity=2)
    with pytest.raises(InvalidParameter, match="delta"):
        DistanceToInstability(epsilon=Fraction(1), delta=Fraction(0), neighbours=ADD)
    with pytest.raises(UnusableValue, match="labels"):
        stable_plurality([1], labels=["a", "b"], neighbours=ADD)
    with pytest.raises(InvalidParameter, match="distance"):
        mechanism.release(Stable("a", -1), SeededEntropy(0))


# ---- predicates


@pytest.mark.textbook("S11.8")
def test_stability_within_k_steps_is_the_distance_to_instability_plus_one() -> None:
    for rows in combinations_with_replacement(range(3), 4):
        far = distance_to_instability(mode, Counter(rows), most=6, universe=(0, 1, 2), neighbours=ADD)
        held = [is_stable(mode, Counter(rows), steps=k, universe=(0, 1, 2), neighbours=ADD) for k in range(6)]
        assert held == [k <= far for k in range(6)]


@pytest.mark.textbook("S11.8")
def test_subsampling_stability_is_decided_by_exact_probabilities() -> None:
    def most(rows: tuple[int, ...]) -> int:
        return mode(Counter(rows))

    assert subsampling_chance(most, (1,), q="0.3") == Fraction(3, 10)
    assert subsampling_chance(most, (0, 0, 0), q="0.3") == 1
    assert is_subsampling_stable(most, (1, 1, 1, 1, 0), q="0.9")
    assert not is_subsampling_stable(most, (1, 1, 0), q="0.5")
