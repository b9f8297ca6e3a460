"""The dear tests of `laws/test_replay.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import pytest

from dalenius.checks import sharing
from dalenius.checks.commands import bounding, semantics
from dalenius.checks.commands import replay as replaying
from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.replay.queries import shrunk
from dalenius.measuring import measurements
from dalenius.privacy.neighbours import AddRemove
from dalenius.query import blocks
from tests.laws.test_replay import at_the_first, counts_that_are_not_cut, few, kinds


def test_one_unit_stays_within_what_was_declared_over_joins() -> None:
    outcome = bounding.check(CheckRequest(count=25, seed=3))
    assert outcome.passed
    assert all(figure.tried for figure in outcome.figures[:7])


def an_addition_for_a_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    right = measurements.bounded_change
    wrong = lambda neighbours, **facts: right(AddRemove(), **facts).under(neighbours)  # noqa: E731
    monkeypatch.setattr(measurements, "bounded_change", wrong)


def test_an_addition_for_a_replacement_is_found_where_units_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_first(monkeypatch)
    an_addition_for_a_replacement(monkeypatch)
    assert "sensitivity" in kinds(few(9, 60))


def test_a_finding_is_small_and_shows_again_from_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    counts_that_are_not_cut(monkeypatch)
    monkeypatch.setattr(replaying, "MOST", 1)
    monkeypatch.setattr(replaying, "shrunk", partial(shrunk, tries=12))
    (said,) = few(count=60).findings
    seed = re.search(r"dalenius check replay --plans 1 --seed (\d+)", said)
    small = re.search(r"in both (\d+) rows.*; before (\d+) rows.*; after (\d+) rows", said)
    assert seed is not None
    assert small is not None
    assert sum(map(int, small.groups())) <= 1000  # of more than 10,000
    again = few(int(seed[1]), 1)
    assert again.figures[0].tried == 1
    assert any(f"plan {seed[1]}," in finding for finding in again.findings)


def test_bounds_that_are_broken_are_found_over_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    counts_that_are_not_cut(monkeypatch)
    monkeypatch.setattr(bounding, "MOST", 100)  # the questions that are always asked show many
    outcome = bounding.check(CheckRequest(count=25, seed=3))
    assert not outcome.passed
    assert any("dalenius check bounding --plans 1 --seed" in finding for finding in outcome.findings)


def test_a_question_charged_to_another_block_is_found_and_its_number_shows_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "block_of", lambda question, partition: min(partition.values))
    monkeypatch.setattr(bounding, "MOST", 1)
    outcome = bounding.check(CheckRequest(count=25, seed=3))
    seed = re.search(r"charged to one block .* dalenius check bounding --plans 1 --seed (\d+)", outcome.findings[0])
    assert seed is not None
    assert f"question {seed[1]} " in bounding.check(CheckRequest(count=1, seed=int(seed[1]))).findings[0]


def test_an_engine_that_means_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    counts_that_are_not_cut(monkeypatch)
    outcome = semantics.check(CheckRequest(count=300))
    assert not outcome.passed
    assert "dalenius check semantics --count 300 --seed 0" in outcome.findings[0]


def test_many_questions_are_shared_by_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = few(count=6)
    monkeypatch.setattr(sharing, "ALONE", 0)
    monkeypatch.setattr(sharing, "_LEAST", 3)
    ticks: list[float] = []
    outcome = replaying.check(CheckRequest(count=6, tick=ticks.append))
    assert outcome.passed
    assert outcome.figures[0].tried == alone.figures[0].tried == 6
    assert ticks[-1] == 100


def endless(first: int, most: int) -> Iterator[sharing.PartOutcome]:
    while True:
        yield sharing.PartOutcome({"plans": 1})


def test_an_interrupt_ends_the_processes_in_the_middle_of_their_plans() -> None:
    parts = sharing.shared(endless, CheckRequest(count=sharing.ALONE + 1, tick=interrupted), usual=1)
    with pytest.raises(KeyboardInterrupt):
        next(parts)  # without an end for those at work it would wait for them for ever


def interrupted(percent: float) -> None:
    if percent:
        raise KeyboardInterrupt
