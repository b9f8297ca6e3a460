"""The constructions of Lemma 3.17 give what the lemma promises."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given

from dalenius.errors import InvalidParameter
from dalenius.privacy.divergences import (
    Distribution,
    epsilon_distance,
    hockey_stick,
    largest_odds,
    statistical_distance,
)
from dalenius.textbook.privacy.models import substitute, substitutes
from strategies import distributions, odds


@pytest.mark.textbook("S7.5")
@given(distributions(), distributions(), odds())
def test_one_substitute_is_as_near_as_possible_and_within_the_odds(
    y: Distribution[int], z: Distribution[int], ratio: Fraction
) -> None:
    near = substitute(y, z, odds=ratio)
    assert statistical_distance(y, near) == hockey_stick(y, z, odds=ratio)
    assert largest_odds(near, z) <= ratio


@pytest.mark.textbook("S7.5")
@given(distributions(), distributions(), odds())
def test_two_substitutes_are_near_and_within_the_odds_both_ways(
    y: Distribution[int], z: Distribution[int], ratio: Fraction
) -> None:
    near_y, near_z = substitutes(y, z, odds=ratio)
    radius = epsilon_distance(y, z, odds=ratio) / (ratio + 1)
    assert statistical_distance(y, near_y) <= radius
    assert statistical_distance(z, near_z) <= radius
    assert max(largest_odds(near_y, near_z), largest_odds(near_z, near_y)) <= ratio


@pytest.mark.textbook("S7.5")
def test_closeness_in_one_direction_alone_proves_nothing_about_the_other() -> None:
    """Part 2 as printed asks only for nearby Y', Z' with D(Y' || Z') <= epsilon. Here Y and Z themselves are such, at
    any delta, while D(Z || Y) is infinite; substitutes that hold both ways are as far off as the lemma says."""
    y, z, ratio = {"a": 1}, {"a": Fraction(1, 2), "b": Fraction(1, 2)}, Fraction(2)
    assert largest_odds(y, z) == ratio
    assert substitute(y, z, odds=ratio) == Distribution.of(y)
    assert largest_odds(z, y, delta="0.4") == math.inf
    near_y, near_z = substitutes(y, z, odds=ratio)
    assert max(largest_odds(near_y, near_z), largest_odds(near_z, near_y)) == ratio
    gone = hockey_stick(z, y, odds=ratio) / (ratio + 1)
    assert hockey_stick(y, z, odds=ratio) == 0 < gone == Fraction(1, 6)
    assert statistical_distance(y, near_y) == statistical_distance(z, near_z) == gone


@pytest.mark.textbook("S7.5")
@given(distributions(), distributions(), odds())
def test_within_the_odds_both_ways_and_near_is_private_both_ways(
    y: Distribution[int], z: Distribution[int], ratio: Fraction
) -> None:
    """The converse of part 2, which its proof needs both directions for."""
    near_y, near_z = substitutes(y, z, odds=ratio)
    radius = max(statistical_distance(y, near_y), statistical_distance(z, near_z))
    assert epsilon_distance(y, z, odds=ratio) <= (ratio + 1) * radius


@pytest.mark.textbook("S7.5")
def test_odds_below_one_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="1 or more"):
        substitute({"a": 1}, {"a": 1}, odds="0.9")
