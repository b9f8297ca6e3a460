"""Subsample and aggregate: one unit moves one output, and every aggregate keeps its claim for that."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from checks import ALARM, SeededEntropy
from dalenius.accounting.conversion import to_pure
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.robust.aggregates import (
    FeaturesOfBlocks,
    MedianOfBlocks,
    SmoothMedianOfBlocks,
    StableVoteOfBlocks,
    TrimmedMeanOfBlocks,
    VoteOfBlocks,
    Winner,
    WinsorizedMeanOfBlocks,
    trimmed,
    votes,
    winsorized_sum,
)
from dalenius.mechanisms.robust.outputs import OneOf, Range, Subset
from dalenius.mechanisms.robust.smooth import SmoothCauchy
from dalenius.mechanisms.robust.subsample import SubsampleAggregate
from dalenius.privacy.losses import ApproximateDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.sandbox import confinement, sandbox
from dalenius.sandbox.sandbox import Sandbox

ADD, REPLACE = AddRemove(), Replace()
ONE, GRID = Fraction(1), Range(0, 100, step="0.5")
SANDBOX = Sandbox(seconds=Fraction(30))
VOTE = VoteOfBlocks(output=OneOf("abc"), epsilon=ONE)
relations = pytest.mark.parametrize("neighbours", [ADD, REPLACE], ids=str)
in_a_sandbox = pytest.mark.skipif(not confinement.supported(), reason="confining a process needs Linux")


@pytest.fixture(autouse=True)
def _no_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots are long, for a busy machine; nothing here is about their ends."""
    monkeypatch.setattr(sandbox, "_wait", lambda until: None)


def of_blocks(aggregate: Any, function: Any = sum, blocks: int = 4, neighbours: Neighbours = ADD) -> SubsampleAggregate:
    return SubsampleAggregate(
        function=function, blocks=blocks, aggregate=aggregate, sandbox=SANDBOX, neighbours=neighbours
    )


# ---- the division


@pytest.mark.textbook("S11.2")
def test_one_unit_more_changes_one_block() -> None:
    mechanism = of_blocks(VOTE)
    for turn in range(30):
        fewer = mechanism.divided(list(range(40)), SeededEntropy(turn))
        more = mechanism.divided(list(range(41)), SeededEntropy(turn))
        assert sum(first != second for first, second in zip(fewer, more, strict=True)) == 1
        assert sorted(unit for block in more for unit in block) == list(range(41))


@pytest.mark.textbook("S11.2")
def test_one_unit_replaced_changes_one_block_and_blocks_are_of_equal_size() -> None:
    mechanism = of_blocks(VOTE, neighbours=REPLACE)
    for turn in range(30):
        units = list(range(41))
        first = mechanism.divided(units, SeededEntropy(turn))
        second = mechanism.divided([*units[:7], -1, *units[8:]], SeededEntropy(turn))
        assert sum(one != other for one, other in zip(first, second, strict=True)) == 1
        assert sorted(map(len, first)) == [10, 10, 10, 11]


@relations
def test_every_unit_is_as_likely_in_every_block(neighbours: Neighbours) -> None:
    mechanism, source = of_blocks(VOTE, neighbours=neighbours), SeededEntropy("where")
    seen: Counter[int] = Counter()
    for _ in range(4000):
        blocks = mechanism.divided(list(range(8)), source)
        seen[next(place for place, block in enumerate(blocks) if 3 in block)] += 1
    assert stats.chisquare([seen[place] for place in range(4)]).pvalue > ALARM


# ---- the aggregates


@pytest.mark.textbook("S11.2")
@pytest.mark.parametrize(("blocks", "trim"), [(3, "0.4"), (4, "0.25"), (5, "0.2"), (5, "0.4"), (4, "0"), (2, "0.4")])
def test_one_output_moves_the_sums_by_no_more_than_is_stated(blocks: int, trim: str) -> None:
    share, grid = Fraction(trim), Range(0, 3, step=1)
    stated = WinsorizedMeanOfBlocks(output=grid, epsilon=ONE, blocks=blocks, trim=share).sensitivity
    by_trim, by_winsor = 0, 0
    for outputs in product(range(4), repeat=blocks):
        for other in range(4):
            second = (other, *outputs[1:])
            by_trim = max(by_trim, abs(sum(trimmed(outputs, share)[0]) - sum(trimmed(second, share)[0])))
            by_winsor = max(by_winsor, abs(winsorized_sum(outputs, share) - winsorized_sum(second, share)))
    assert by_trim <= grid.most
    assert by_winsor == stated


def test_the_check_above_notices_winsorizing_billed_as_trimming() -> None:
    assert abs(winsorized_sum([0, 0, 3, 3], Fraction(1, 4)) - winsorized_sum([0, 3, 3, 3], Fraction(1, 4))) > 3


def codes(values: list[int]) -> list[tuple[int, ...]]:
    return [(value,) for value in values]


NUMERIC = [
    MedianOfBlocks(output=GRID, epsilon=ONE),
    SmoothMedianOfBlocks(output=GRID, noise=SmoothCauchy.calibrated(epsilon=1)),
    TrimmedMeanOfBlocks(output=GRID, epsilon=ONE),
    WinsorizedMeanOfBlocks(output=GRID, epsilon=ONE, blocks=101),
]


@pytest.mark.textbook("S11.2")
@pytest.mark.parametrize("aggregate", NUMERIC, ids=lambda each: type(each).__name__)
def test_numbers_are_near_the_middle_of_the_outputs_and_cost_what_was_asked(aggregate: Any) -> None:
    outputs = codes([96 + place % 9 for place in range(101)])  # 48 to 52
    found = [float(aggregate.release(outputs, SeededEntropy(turn))) for turn in range(60)]
    assert abs(np.median(found) - 50) < 8
    assert all(0 <= each <= 100 for each in found)
    assert to_pure(aggregate.loss).epsilon == 1


@pytest.mark.textbook("S11.2", "S11.3")
def test_a_vote_names_the_option_of_most_blocks_and_counting_it_costs_more() -> None:
    outputs = codes([1] * 40 + [0] * 5 + [2] * 5)
    assert votes(outputs, 4) == [5, 40, 5, 0]
    assert [VOTE.release(outputs, SeededEntropy(turn)) for turn in range(20)] == [Winner("b", None)] * 20
    counted = VoteOfBlocks(output=OneOf("abc"), epsilon=ONE, for_votes=Fraction(1, 2))
    assert VOTE.loss == PureDP(1)
    assert to_pure(counted.loss).epsilon == Fraction(3, 2)
    number = counted.release(outputs, SeededEntropy(1)).votes
    assert number is not None
    assert abs(number - 40) < 30


@pytest.mark.textbook("S11.3", "S11.6")
def test_a_stable_vote_is_exact_and_an_unstable_one_is_none() -> None:
    vote = StableVoteOfBlocks(output=OneOf("abc"), epsilon=ONE, delta=Fraction(1, 10**6))
    assert vote.loss == ApproximateDP(1, Fraction(1, 10**6))
    assert vote.release(codes([1] * 100), SeededEntropy(1)) == Winner("b", None)
    assert vote.release(codes([1] * 50 + [2] * 50), SeededEntropy(1)) is None


@pytest.mark.textbook("S11.3")
def test_features_that_most_blocks_keep_are_found() -> None:
    features = FeaturesOfBlocks(output=Subset(range(10), most_chosen=3), epsilon=ONE)
    outputs = [tuple(int(place in (2, 5, 7 + turn % 3)) for place in range(10)) for turn in range(200)]
    assert features.release(outputs, SeededEntropy(1)) == (2, 5)
    assert features.sensitivity.l1 == 6
    assert FeaturesOfBlocks(output=Subset(range(4)), epsilon=ONE).sensitivity.l1 == 4
    assert to_pure(features.loss).epsilon == 1


def test_one_block_changes_as_many_feature_counts_as_stated() -> None:
    subset = Subset(range(4), most_chosen=1)
    choices = [codes for codes in product((0, 1), repeat=4) if subset.accepts(codes)]
    worst = max(sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x in choices for y in choices)
    assert worst == FeaturesOfBlocks(output=subset, epsilon=ONE).sensitivity.l1


# ---- all together


@in_a_sandbox
@pytest.mark.textbook("S11.2")
@relations
def test_any_function_can_be_asked(neighbours: Neighbours) -> None:
    def slope(rows: list[Any]) -> float:
        x, y = np.array(rows, dtype=float).T
        return float(np.polyfit(x, y, 1)[0])

    rows = [(x, 3 * x + (x * 7919) % 11) for x in range(600)]
    mechanism = of_blocks(
        MedianOfBlocks(output=Range(-10, 10, step="0.01"), epsilon=Fraction(4)), slope, 12, neighbours
    )
    assert abs(float(mechanism.release(rows, SeededEntropy("slope"))) - 3) < 0.5
    assert mechanism.seconds == pytest.approx(12 * (30.05 + 512 * 0.0005))
    assert to_pure(mechanism.loss(sensitivity=1)).epsilon == 4


def strongest(rows: list[Any]) -> set[int]:
    """The three features that go best with the target: a stand-in for a sparse regression."""
    table = np.array(rows, dtype=float)
    strength = [abs(np.corrcoef(table[:, place], table[:, -1])[0, 1]) for place in range(8)]
    return {int(place) for place in np.argsort(strength)[-3:]}


@in_a_sandbox
@pytest.mark.textbook("S11.3")
def test_features_of_a_sparse_model_are_found_by_votes_and_as_a_whole_set() -> None:
    made = np.random.default_rng(5)
    inputs = made.normal(size=(1200, 8))
    target = inputs[:, 1] * 3 - inputs[:, 4] * 2 + inputs[:, 6] * 2 + made.normal(size=1200)
    rows = [(*one, y) for one, y in zip(inputs.tolist(), target.tolist(), strict=True)]
    by_feature = FeaturesOfBlocks(output=Subset(range(8), most_chosen=3), epsilon=Fraction(4))
    assert of_blocks(by_feature, strongest, 24).release(rows, SeededEntropy("votes")) == (1, 4, 6)
    sets = OneOf([frozenset({0, 1, 2}), frozenset({1, 4, 6}), frozenset({3, 5, 7})])
    whole = VoteOfBlocks(output=sets, epsilon=Fraction(2))
    found = of_blocks(whole, lambda part: frozenset(strongest(part)), 12).release(rows, SeededEntropy("sets"))
    assert found.option == frozenset({1, 4, 6})


def test_how_far_off_votes_and_medians_are_is_stated() -> None:
    assert VOTE.error("0.05") > 0
    assert 0 < NUMERIC[0].rank_error("0.05") < 101  # type: ignore[union-attr]


@in_a_sandbox
def test_a_function_that_fails_on_one_unit_changes_one_output_only() -> None:
    def sensitive(rows: list[int]) -> int:
        return 1 // 0 if 13 in rows else 1

    seen: list[list[tuple[int, ...]]] = []

    class Kept(VoteOfBlocks):
        def release(self, outputs: Any, entropy: Any) -> Any:
            seen.append(list(outputs))

    mechanism = of_blocks(Kept(output=OneOf((0, 1)), epsilon=ONE), sensitive, neighbours=REPLACE)
    for rows in ([*range(13), 99], list(range(14))):
        mechanism.release(rows, SeededEntropy("one"))
    assert sum(first != second for first, second in zip(*seen, strict=True)) == 1


def test_what_is_not_covered_is_refused() -> None:
    with pytest.raises(TheoremDoesNotApply, match="at most 1"):
        of_blocks(VOTE).loss(sensitivity=2)
    with pytest.raises(InvalidParameter, match="blocks"):
        of_blocks(VOTE, blocks=1)
    with pytest.raises(InvalidParameter, match="trim"):
        TrimmedMeanOfBlocks(output=GRID, epsilon=ONE, trim=Fraction(1, 2))
    with pytest.raises(InvalidParameter, match="blocks"):
        WinsorizedMeanOfBlocks(output=GRID, epsilon=ONE, blocks=3).release(codes([1, 2]), SeededEntropy(0))
