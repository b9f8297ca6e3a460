"""Prefix search: its exact law over a small universe of names, and its price of one budget per level."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from flint import arb

from checks import SeededEntropy
from choices import RELATIONS, ROUNDING, losses
from dalenius.accounting.composition import repeated
from dalenius.accounting.conversion import to_pure
from dalenius.errors import InvalidParameter, MissingNeighbours, UnknownSensitivity
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.prefix import PrefixSearch
from dalenius.privacy.losses import BoundedRange
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import precise
from dalenius.privacy.sensitivity import Sensitivity

UNIVERSE = ("", "a", "b", "aa", "ab", "ba", "bb")
CHANGE = {AddRemove("row"): 1, Replace("row"): 2}
"""One person's name: the counts of names change by one in all, or by two if a name is replaced."""


def calibrated(neighbours: Neighbours) -> PrefixSearch:
    return PrefixSearch.calibrated(
        alphabet="ab", length=2, sensitivity=CHANGE[neighbours], epsilon=1, neighbours=neighbours
    )


def law(search: PrefixSearch, names: Counter[str]) -> list[arb]:
    """The chance of each answer, by following every path."""

    def follow(found: str, chance: arb) -> None:
        if len(found) == search.length:
            answers[found] = chance
            return
        level = ExponentialMechanism(rate=search.rate, neighbours=search.neighbours)
        for letter, part in zip((*search.alphabet, ""), level.probabilities(search.scores(names, found)), strict=True):
            if letter:
                follow(found + letter, chance * part)
            else:
                answers[found] = chance * part

    answers: dict[str, arb] = {}
    with precise():
        follow("", arb(1))
    return [answers[name] for name in UNIVERSE]


@pytest.mark.textbook("S5.7")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_exact_worst_loss_is_within_the_sum_over_the_levels_but_above_one_level(relation: Neighbours) -> None:
    search = calibrated(relation)
    claim = search.loss(sensitivity=CHANGE[relation])
    databases = [
        Counter(aa=200, ba=100),
        Counter(["a", "ab", "bb"]),
        Counter(aa=3, b=2),
        Counter(bb=300, b=150, aa=100),
    ]
    worst = max(
        abs(loss)
        for names in databases
        for other in relation.around(names, UNIVERSE)
        for loss in losses(lambda database: law(search, database), names, other)  # type: ignore[arg-type]
    )
    assert claim == repeated(BoundedRange(Fraction(1, 2)), 2)
    assert worst <= to_pure(claim).epsilon + ROUNDING
    # Charging one level for the whole search is flagged.
    assert worst > Fraction(7, 5) * to_pure(claim).epsilon / search.length


@pytest.mark.textbook("S5.7")
def test_a_price_for_ten_levels_is_ten_times_that_of_one() -> None:
    deep = PrefixSearch(alphabet="abc", length=10, rate=Fraction(1, 5), neighbours=AddRemove())
    assert to_pure(deep.loss(sensitivity=1)).epsilon == 10 * Fraction(1, 5)


def test_people_who_hold_many_names_need_the_l1_sensitivity() -> None:
    search = PrefixSearch(alphabet="ab", length=3, rate=Fraction(1), neighbours=AddRemove())
    assert to_pure(search.loss(sensitivity=Sensitivity.sparse(coordinates=5, each=1))).epsilon == 15
    with pytest.raises(UnknownSensitivity):
        search.loss(sensitivity=Sensitivity(linf=1))


def test_a_clear_leader_is_spelled_out_or_cut_at_the_length() -> None:
    names = {"anna": 900, "an": 100, "bob": 200, "Ünal": 5000}
    search = PrefixSearch.calibrated(alphabet="abno", length=9, sensitivity=1, epsilon=2, neighbours=AddRemove())
    assert search.release(names, SeededEntropy(1)) == "anna"
    short = PrefixSearch(alphabet="abno", length=2, rate=search.rate, neighbours=AddRemove())
    assert short.release(names, SeededEntropy(1)) == "an"
    assert search.scores(names, "an") == [0, 0, 900, 0, 100]


def test_the_error_covers_every_level() -> None:
    search = PrefixSearch(alphabet="ab", length=2, rate=Fraction(1), neighbours=AddRemove())
    level = ExponentialMechanism(rate=Fraction(1), neighbours=AddRemove())
    assert search.error("0.1") == level.error("0.05", candidates=3)


def test_bad_input_is_refused() -> None:
    with pytest.raises(MissingNeighbours):
        PrefixSearch.calibrated(alphabet="ab", length=2, sensitivity=1, epsilon=1)
    for alphabet, length in (("", 2), ("aa", 2), ("ab", 0)):
        with pytest.raises(InvalidParameter):
            PrefixSearch(alphabet=alphabet, length=length, rate=Fraction(1), neighbours=AddRemove())
