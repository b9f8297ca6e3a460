"""A_samp and the raw-data protocol: exact on stable data, None on others, and the event of full rows is counted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import pytest

from checks import SeededEntropy
from dalenius.accounting.conversion import to_pure
from dalenius.errors import InvalidParameter, NeighbourMismatch, TheoremDoesNotApply
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.aggregates import MedianOfBlocks, StableVoteOfBlocks, VoteOfBlocks
from dalenius.mechanisms.robust.outputs import OneOf, Range
from dalenius.mechanisms.robust.subsample import Chosen, RawDataProtocol, SubsampleAggregate
from dalenius.mechanisms.robust.subsampled_stability import (
    SubsampledStability,
    binomial_excess,
    subsampling_parameters,
)
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.reals import precise, upper
from dalenius.sandbox import confinement, sandbox
from dalenius.sandbox.sandbox import Sandbox

ADD = AddRemove("row")
in_a_sandbox = pytest.mark.skipif(not confinement.supported(), reason="confining a process needs Linux")


@pytest.fixture(autouse=True)
def _no_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots are long, for a busy machine; nothing here is about their ends."""
    monkeypatch.setattr(sandbox, "_wait", lambda until: None)


def mode(rows: list[int]) -> int:
    counts = Counter(rows)
    return max(range(3), key=lambda label: (counts[label], -label))


def sampled(**options: Any) -> SubsampledStability:
    settings: dict[str, Any] = {
        "function": mode,
        "options": (0, 1, 2),
        "q": Fraction(1, 50),
        "sets": 4000,
        "epsilon": Fraction(1),
        "delta": Fraction(1, 100),
        "neighbours": ADD,
    }
    return SubsampledStability(**{**settings, **options})


@pytest.mark.textbook("S11.7")
def test_the_textbook_s_parameters() -> None:
    q, sets = subsampling_parameters(n=1000, epsilon=1, delta="1e-6")
    assert float(q) == pytest.approx(1 / (64 * 13.8155), rel=1e-4)
    assert 1.6e7 < sets < 1.9e7
    assert sampled(q=q, sets=sets).overflow < Fraction(1, 10**6)
    book = SubsampledStability.textbook(mode, (0, 1), n=1000, epsilon=1, delta="1e-6", neighbours=ADD)
    assert (book.q, book.sets) == (q, sets)


@pytest.mark.textbook("S11.7")
def test_stable_data_give_their_value_and_unstable_data_none() -> None:
    mechanism = sampled()
    stable, unstable = [1] * 400 + [0] * 20, [1] * 200 + [0] * 200
    assert [mechanism.release(stable, SeededEntropy(turn)) for turn in range(3)] == [1] * 3
    assert [mechanism.release(unstable, SeededEntropy(turn)) for turn in range(3)] == [None] * 3


@pytest.mark.textbook("S11.7")
def test_the_distance_moves_by_at_most_one_and_is_zero_where_the_winner_changes() -> None:
    """All votes of two neighbours: one row moves the votes of at most `cap` parts."""
    mechanism = sampled(q=Fraction(1, 4), sets=4, options=(0, 1))
    assert mechanism.cap == 2
    for first in product(range(2), repeat=9):
        moved = (*[1 - vote for vote in first[:2]], *first[2:])
        counts = [[votes.count(0), votes.count(1)] for votes in (first, moved)]
        near, far = (mechanism.distance(each) for each in counts)
        assert abs(near - far) <= 1
        if (counts[0][0] >= counts[0][1]) != (counts[1][0] >= counts[1][1]):
            assert near == far == 0


def test_the_check_above_notices_a_distance_without_its_subtraction() -> None:
    """A lead of 2 cap: the parts of one row can make both equal, and the first of equals wins."""
    mechanism = sampled(q=Fraction(1, 4), sets=4, options=(0, 1))
    before, after = [2, 6], [4, 4]
    assert (before[1] - before[0]) // (2 * mechanism.cap) > 0
    assert mechanism.distance(before) == mechanism.distance(after) == 0


@pytest.mark.textbook("S7.6", "S11.7")
@pytest.mark.parametrize(("trials", "q"), [(10, "0.2"), (60, "0.1"), (200, "0.02")])
def test_the_bound_on_full_rows_is_not_below_the_exact_tail(trials: int, q: str) -> None:
    chance = Fraction(q)
    for successes in range(trials + 2):
        tail = sum(
            (comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(successes, trials + 1)),
            Fraction(0),
        )
        assert binomial_excess(trials, chance, successes) >= tail


@pytest.mark.textbook("S11.7")
def test_the_event_of_full_rows_is_a_part_of_the_price() -> None:
    mechanism = sampled(q=Fraction(1, 2), sets=3)
    assert mechanism.cap == 3
    assert mechanism.overflow == 0
    few = sampled(q=Fraction(1, 10), sets=20)
    assert few.loss(sensitivity=1).delta == few.delta + few.overflow > few.delta
    assert few.overflow > Fraction(1, 100)
    with precise():
        assert upper(few.test.chance(0)) <= few.delta / 2


def test_a_full_row_ends_it() -> None:
    mechanism = sampled(q=Fraction(1, 4), sets=2, options=(0, 1), function=lambda rows: 1, epsilon=Fraction(100))
    assert mechanism.cap == 1
    found = {mechanism.release([1] * 40, SeededEntropy(turn)) for turn in range(20)}
    assert found == {None}


def test_errors_and_foreign_values_count_as_the_first_option() -> None:
    def foreign(rows: list[int]) -> Any:
        if rows and rows[0]:
            raise SystemExit
        return "other"

    assert sampled(function=foreign).release([0, 1] * 50, SeededEntropy(1)) == 0


@in_a_sandbox
def test_parts_can_run_in_a_sandbox() -> None:
    mechanism = sampled(
        sandbox=Sandbox(seconds=Fraction(30)),
        sets=12,
        q=Fraction(1, 24),
        function=lambda rows: 2,
        epsilon=Fraction(20),
        delta=Fraction(1, 10),
    )
    assert mechanism.release([1] * 2, SeededEntropy(3)) in (2, None)


def test_what_is_not_covered_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="sets"):
        sampled(q=Fraction(1, 100), sets=10)
    with pytest.raises(InvalidParameter, match="options"):
        sampled(options=(1, 1))
    with pytest.raises(TheoremDoesNotApply):
        sampled().loss(sensitivity=2)


# ---- the raw-data protocol


def larger(rows: list[tuple[int, int]]) -> str:
    return "first" if sum(a for a, _ in rows) > sum(b for _, b in rows) else "second"


def protocol(vote: Any = None, **options: Any) -> RawDataProtocol:
    aggregate = vote or StableVoteOfBlocks(
        output=OneOf(("first", "second")), epsilon=Fraction(2), delta=Fraction(1, 1000)
    )
    choice = SubsampleAggregate(
        function=larger, blocks=30, aggregate=aggregate, sandbox=Sandbox(seconds=Fraction(30)), neighbours=ADD
    )
    settings: dict[str, Any] = {
        "choice": choice,
        "statistics": {"first": lambda rows: sum(a for a, _ in rows), "second": lambda rows: sum(b for _, b in rows)},
        "mechanism": DiscreteLaplace.calibrated(sensitivity=9, epsilon=1, neighbours=ADD),
        "statistic_sensitivity": 9,
    }
    return RawDataProtocol(**{**settings, **options})


@in_a_sandbox
@pytest.mark.textbook("S11.9")
def test_analysts_agree_on_a_statistic_and_only_that_is_released() -> None:
    found = protocol().release([(1, 5)] * 600, SeededEntropy("raw"))
    assert isinstance(found, Chosen)
    assert found.option == "second"
    assert abs(found.value - 3000) < 200
    assert protocol().release([(1, 5), (5, 1)] * 300, SeededEntropy("raw")) is None


@pytest.mark.textbook("S11.9")
def test_vote_and_statistic_are_both_paid() -> None:
    assert protocol().loss(sensitivity=1).delta == Fraction(1, 1000)
    by_noise = protocol(VoteOfBlocks(output=OneOf(("first", "second")), epsilon=Fraction(2)))
    assert to_pure(by_noise.loss(sensitivity=1)) == PureDP(3)
    assert by_noise.neighbours == ADD


def test_choices_outside_of_the_options_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="statistics"):
        protocol(statistics={"first": sum})
    with pytest.raises(InvalidParameter, match="choice"):
        protocol(MedianOfBlocks(output=Range(0, 1, step=1), epsilon=Fraction(1)))
    with pytest.raises(NeighbourMismatch):
        protocol(mechanism=DiscreteLaplace(Fraction(1), Replace("row")))
