"""A choice in each group: the law is that of the groups by themselves, and the price that of the groups of a unit."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.accounting.composition import repeated
from dalenius.errors import UnusableValue
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.grouped_choice import GroupedChoice
from dalenius.privacy.losses import BoundedRange
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.reals import lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity

ADD = AddRemove()


def test_the_law_is_the_product_of_the_groups() -> None:
    counts = ((3, 1), (0, 0), (5, 6))
    joint = GroupedChoice(groups=2, rate=Fraction(1), neighbours=ADD).probabilities(counts)
    one = ExponentialMechanism(rate=Fraction(1), neighbours=ADD)
    first, second, third = (one.probabilities(scores) for scores in counts)
    with precise():
        gap = joint[0, 1, 1] - first[0] * second[1] * third[1]
        assert lower(gap) < 0 < upper(gap) or upper(abs(gap)) == 0


@pytest.mark.parametrize(("relation", "monotone", "width"), [(ADD, True, 3), (ADD, False, 6), (Replace(), False, 6)])
def test_the_loss_is_one_choice_for_each_group_of_a_unit(
    relation: AddRemove | Replace, monotone: bool, width: int
) -> None:
    change = Sensitivity(linf=3, monotone=monotone)
    mechanism = GroupedChoice.calibrated(groups=4, sensitivity=change, epsilon=2, neighbours=relation)
    assert mechanism.rate * width == Fraction(1, 2)
    assert mechanism.loss(sensitivity=change) == repeated(BoundedRange(Fraction(1, 2)), 4)


def test_the_clear_winner_of_each_group_is_chosen() -> None:
    counts = np.zeros((300, 5), dtype=np.int64)
    winners = np.arange(300) % 5
    counts[np.arange(300), winners] = 1000
    chosen = GroupedChoice(groups=1, rate=Fraction(1), neighbours=ADD).release(counts, SeededEntropy("clear"))
    assert list(chosen) == winners.tolist()


def test_no_groups_give_no_choices_and_no_candidates_are_refused() -> None:
    mechanism = GroupedChoice(groups=1, rate=Fraction(1), neighbours=ADD)
    assert mechanism.release([], SeededEntropy("none")) == ()
    with pytest.raises(UnusableValue, match="candidates"):
        mechanism.release([[]], SeededEntropy("none"))


def test_the_error_is_that_of_one_choice() -> None:
    mechanism = GroupedChoice(groups=3, rate=Fraction(1, 2), neighbours=ADD)
    one = ExponentialMechanism(rate=Fraction(1, 2), neighbours=ADD)
    assert mechanism.error("0.05", candidates=10) == one.error("0.05", candidates=10)


@pytest.mark.parametrize("alpha", ["1.01", "2", "8", "40"])
def test_the_divergence_of_a_bounded_range_grows_faster_than_linearly(alpha: str) -> None:
    """So that of ranges with a given sum, few long ones cost most: the step in the proof for replaced units."""
    sizes = [Fraction(size, 20) for size in range(1, 200)]
    per_length = [BoundedRange(size).renyi(alpha) / size for size in sizes]
    assert all(shorter <= longer * (1 + Fraction(1, 10**12)) for shorter, longer in pairwise(per_length))
