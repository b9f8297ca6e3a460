"""How far one neighbour step tilts the scores: twice a single change, once for monotone scores under add/remove."""

from __future__ import annotations

from fractions import Fraction

import pytest

from choices import RELATIONS, changes
from dalenius.errors import InvalidParameter, TheoremDoesNotApply, UnknownSensitivity
from dalenius.mechanisms.selection.scores import tilt, union_shortfall
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike

MONOTONE = Sensitivity(linf=1, monotone=True)


def of(sensitivity: SensitivityLike, neighbours: Neighbours) -> Fraction:
    return tilt(sensitivity, neighbours=neighbours, mechanism="a choice")


@pytest.mark.textbook("S3.3", "S5.5")
def test_the_tilt_is_what_neighbours_really_do_to_the_difference_of_two_counts() -> None:
    for relation, sensitivity in zip(RELATIONS, (MONOTONE, Sensitivity(linf=1)), strict=True):
        real = max(max(move) - min(move) for move in changes(3, relation))
        assert of(sensitivity, relation) == real


@pytest.mark.textbook("S5.5")
def test_the_monotone_form_is_refused_under_replace() -> None:
    assert of(MONOTONE, AddRemove()) == 1
    with pytest.raises(TheoremDoesNotApply, match="add or remove"):
        of(MONOTONE, Replace())


def test_a_plain_number_promises_nothing_about_directions() -> None:
    assert of("1.5", AddRemove()) == of(Sensitivity(linf=Fraction(3, 2)), Replace()) == 3


def test_two_scores_never_differ_by_more_than_all_change_together() -> None:
    assert of(Sensitivity(l1=1), AddRemove()) == 1
    assert of(Sensitivity(l1=3, linf=1), Replace()) == 2


def test_a_bound_on_every_single_score_is_needed() -> None:
    with pytest.raises(UnknownSensitivity, match="linf"):
        of(Sensitivity(l2_squared=Fraction(1)), AddRemove())
    with pytest.raises(InvalidParameter, match="sensitivity"):
        of(-1, AddRemove())


def test_the_shortfall_is_zero_when_a_mistake_is_unlikely_anyway() -> None:
    assert union_shortfall(Fraction(1, 100), rate=Fraction(1), beta="0.01") == 0
    assert union_shortfall(Fraction(2, 100), rate=Fraction(1), beta="0.01") > 0
