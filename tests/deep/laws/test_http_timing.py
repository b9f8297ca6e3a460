"""The dear tests of `laws/test_http_timing.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.full.laws import test_http_timing
from tests.full.laws.test_http_timing import MANY_PAIRS, NO_DUE_TIME, all_shapes, replies
from tests.laws.test_http_timing import separation
from timing_pairs import Left, timed_server

clinic = test_http_timing.clinic

ALL_PAIRS = """
from functools import partial
from dalenius.query.binding import limits, sources, terms
from dalenius.query.plan.relations import Join
sources.Join, terms._placed = partial(Join, most=90_000), terms.restricted
sources.MOST_ROWS_OF_UNIT = limits.MOST_ROWS_OF_UNIT = limits.MOST_WORK_OF_UNIT = 10**12
"""
"""Joins as they were: 300 x 300 pairs of a unit, and all conditions above them."""


def test_400_times_of_each_kind_do_not_tell_right_guesses_from_wrong_ones(clinic: tuple[Path, dict[str, str]]) -> None:
    with timed_server(*clinic) as server:
        found = all_shapes(server, MANY_PAIRS)
    areas = {shape: separation(*map(seconds, kinds[::-1])) for shape, kinds in found.items()}
    for shape, (area, most) in areas.items():
        print(f"{shape}: area {area:.3f}, at most {most:.3f}")
    assert max(most for _, most in areas.values()) <= 0.6


@pytest.mark.parametrize(
    ("shape", "change", "grid"),
    [("many conditions", "", NO_DUE_TIME), ("self-join", ALL_PAIRS, {})],
    ids=["no due times", "all pairs"],
)
def test_without_a_defence_times_do_tell(
    clinic: tuple[Path, dict[str, str]], shape: str, change: str, grid: dict[str, float]
) -> None:
    with timed_server(*clinic, change=change, **grid) as server:
        right, wrong = replies(server, shape, 60)
    area, _ = separation(seconds(wrong), seconds(right))
    print(f"{shape}: area {area:.3f}")
    assert area >= 0.8


def seconds(found: Sequence[Left]) -> list[float]:
    return [each.seconds for each in found]
