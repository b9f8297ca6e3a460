"""Replies leave on the grid, in classes of lengths; a reply without the grid is noticed."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinics import clinic
from dalenius.errors import InvalidParameter
from dalenius.server.schedule import LENGTHS, ReplySchedule, length_class, padded
from servers import Served


def test_the_grid_has_steps_of_50_ms_to_a_second_and_of_a_tenth_from_there() -> None:
    grid = ReplySchedule()
    assert [grid.due(at) for at in (0, 0.0499, 0.05, 0.0501)] == pytest.approx([0.05, 0.05, 0.05, 0.1])
    assert grid.due(0.98) == pytest.approx(1.0)
    assert grid.due(1.001) == pytest.approx(1.1)
    assert grid.due(1.11) == pytest.approx(1.21)
    assert grid.number(0.01) == 1
    assert grid.number(60) < 64  # so that the time of an answer within a minute tells at most 6 bits


@given(st.floats(0, 86_400), st.floats(0.001, 1), st.floats(0.01, 2))
def test_the_next_point_is_never_before_and_less_than_a_step_after(elapsed: float, step: float, growth: float) -> None:
    grid = ReplySchedule(step=step, growth=growth)
    wait = grid.due(elapsed) - elapsed
    assert 0 <= wait <= max(step, growth * elapsed) + 1e-6


@given(st.floats(0, 10_000), st.floats(0, 10_000))
def test_work_between_two_points_leaves_at_one(first: float, second: float) -> None:
    grid = ReplySchedule()
    assert (grid.number(first) == grid.number(second)) == (grid.due(first) == grid.due(second))


@pytest.mark.parametrize("wrong", [(0, 1, 0.1), (0.05, 0.01, 0.1), (0.05, 1, 0), (float("nan"), 1, 0.1)])
def test_a_grid_that_hides_nothing_is_refused(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidParameter):
        ReplySchedule(*wrong)


@given(st.binary(max_size=5000))
def test_bodies_fill_their_class_and_keep_their_bytes(body: bytes) -> None:
    filled = padded(body)
    assert filled.startswith(body)
    assert filled[len(body) :].strip() == b""
    assert len(filled) in LENGTHS
    assert len(filled) == length_class(len(body)) == length_class(len(filled))


@given(st.floats(0, 3600), st.floats(0, 3600), st.floats(0, 3600), st.floats(0.001, 1))
def test_paid_work_that_is_ready_when_due_is_over_at_the_same_time(
    one: float, other: float, expected: float, step: float
) -> None:
    grid = ReplySchedule(step=step)
    due = grid.over(0, expected=expected)
    assert due >= grid.headroom * expected
    assert log2(due / step) == round(log2(due / step))
    assert max(one, other) > due or grid.over(one, expected=expected) == grid.over(other, expected=expected) == due


def test_paid_work_that_is_not_ready_when_due_is_over_at_a_doubling() -> None:
    grid = ReplySchedule(step=0.05, headroom=1)
    assert [grid.over(at, expected=0.3) for at in (0, 0.4, 0.41, 0.81, 7)] == pytest.approx([0.4, 0.4, 0.8, 1.6, 12.8])


COUNT = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.01", "fresh": True}


def left_at(served: Served, work: float, path: str = "/v1/run", **body: object) -> float:
    """When a reply leaves, in seconds from its request, if the work takes so long before anything is charged."""
    served.workers.before = lambda task: time.sleep(work)
    start = time.perf_counter()
    method = "POST" if body else "GET"
    reply = served.of("owner", "owner").request(method, path, **({"json": body} if body else {}))
    assert reply.status_code == 200
    return time.perf_counter() - start


def test_the_test_above_notices_a_grid_that_is_too_fine() -> None:
    with clinic() as db, Served(db, grid=ReplySchedule(step=0.001)) as served:
        assert left_at(served, 0, **COUNT) < 0.5


def test_what_reads_no_rows_leaves_at_once_unless_rows_are_read_for_somebody() -> None:
    with clinic() as db, Served(db, grid=ReplySchedule(step=1, fine=9)) as served, ThreadPoolExecutor() as threads:
        assert left_at(served, 0, "/v1/balance") < 0.5
        served.workers.before = lambda task: None
        paid = threads.submit(served.of("owner", "owner").post, "/v1/run", json=COUNT)
        time.sleep(0.3)
        beside = left_at(served, 0, "/v1/health")
        assert paid.result().status_code == 200
        assert 0.9 < beside < 1.9
        assert left_at(served, 0, "/v1/health") < 0.5
