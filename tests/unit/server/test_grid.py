"""Replies leave on the grid, in classes of lengths; a reply without the grid is noticed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinics import clinic
from dalenius.errors import InvalidParameter
from dalenius.server.grid import LENGTHS, Grid, length_class, padded
from servers import Served


def test_the_grid_has_steps_of_50_ms_to_a_second_and_of_a_tenth_from_there() -> None:
    grid = Grid()
    assert [grid.due(at) for at in (0, 0.0499, 0.05, 0.0501)] == pytest.approx([0.05, 0.05, 0.05, 0.1])
    assert grid.due(0.98) == pytest.approx(1.0)
    assert grid.due(1.001) == pytest.approx(1.1)
    assert grid.due(1.11) == pytest.approx(1.21)
    assert grid.number(0.01) == 1
    assert grid.number(60) < 64  # so that the time of an answer within a minute tells at most 6 bits


@given(st.floats(0, 86_400), st.floats(0.001, 1), st.floats(0.01, 2))
def test_the_next_point_is_never_before_and_less_than_a_step_after(elapsed: float, step: float, growth: float) -> None:
    grid = Grid(step=step, growth=growth)
    wait = grid.due(elapsed) - elapsed
    assert 0 <= wait <= max(step, growth * elapsed) + 1e-6


@given(st.floats(0, 10_000), st.floats(0, 10_000))
def test_work_between_two_points_leaves_at_one(first: float, second: float) -> None:
    grid = Grid()
    assert (grid.number(first) == grid.number(second)) == (grid.due(first) == grid.due(second))


@pytest.mark.parametrize("wrong", [(0, 1, 0.1), (0.05, 0.01, 0.1), (0.05, 1, 0), (float("nan"), 1, 0.1)])
def test_a_grid_that_hides_nothing_is_refused(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidParameter):
        Grid(*wrong)


@given(st.binary(max_size=5000))
def test_bodies_fill_their_class_and_keep_their_bytes(body: bytes) -> None:
    filled = padded(body)
    assert filled.startswith(body)
    assert filled[len(body) :].strip() == b""
    assert len(filled) in LENGTHS
    assert len(filled) == length_class(len(body)) == length_class(len(filled))


def left_at(served: Served, work: float) -> float:
    """When a reply leaves, in seconds from its request, if the work takes so long."""
    served.workers.before = lambda task: time.sleep(work)
    start = time.perf_counter()
    assert served.of("owner", "owner").get("/v1/balance").status_code == 200
    return time.perf_counter() - start


def test_replies_leave_on_the_grid_however_long_the_work_takes() -> None:
    with clinic() as db, Served(db, grid=Grid(step=1, fine=9)) as served:
        assert [round(left_at(served, work)) for work in (0, 0.1, 0.4, 1.2)] == [1, 1, 1, 2]


def test_the_test_above_notices_a_grid_that_is_too_fine() -> None:
    with clinic() as db, Served(db, grid=Grid(step=0.001)) as served:
        assert left_at(served, 0) < 0.5
