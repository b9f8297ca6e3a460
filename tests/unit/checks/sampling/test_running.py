"""What an audit is given to run: what cannot be audited is refused, with what to do, and does not take long."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import dalenius as dl
from dalenius.errors import InvalidParameter, UnfitRelease


def audited(release: Any, first: Any = 0, second: Any = 1, **options: Any) -> Any:
    return dl.audit(release, first, second, claim=1, **({"samples": 200} | options))  # type: ignore[operator]


@pytest.mark.parametrize("used_up", [iter([1, 2]), (row for row in [1, 2])])
def test_data_that_can_be_read_once_is_refused_before_anything_runs(used_up: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"read again.*nothing was run"):
        audited(sum, used_up, [1])


@pytest.mark.parametrize("vectorised", [False, True])
def test_a_release_that_changes_its_input_is_refused(vectorised: bool) -> None:
    """It would count an empty list from the second run on, and seem private."""

    def release(rows: list[int], *size: int) -> Any:
        found = sum(rows.pop() for _ in range(len(rows)))
        return [found] * size[0] if size else found

    with pytest.raises(UnfitRelease, match="changes its input"):
        audited(release, [1, 2, 3], [1, 2], vectorised=vectorised)


async def awaited(value: int) -> int:
    return value


@pytest.mark.parametrize(
    "release", [lambda value: object(), lambda value: (value, threading.Lock()), lambda value: iter([value])]
)
def test_outputs_that_show_no_value_are_refused_at_the_first_run(release: Any) -> None:
    runs = 0

    def counted(value: int) -> Any:
        nonlocal runs
        runs += 1
        return release(value)

    with pytest.raises(UnfitRelease, match=r"what it charged stays charged.* such as a tuple"):
        audited(counted)
    assert runs == 1


@pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")
def test_a_coroutine_is_refused() -> None:
    with pytest.raises(UnfitRelease, match="a coroutine"):
        audited(awaited)


@pytest.mark.parametrize("output", [1.0, None, np.array(3.0), "abc", {"a": 1}, [1, 2]])
def test_a_release_of_two_arguments_that_gives_one_output_is_told_what_to_do(output: Any) -> None:
    with pytest.raises(UnfitRelease, match="vectorised=False"):
        audited(lambda value, epsilon: output)


def test_what_is_no_function_and_what_is_no_time_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="a function of the data"):
        audited(5)
    for seconds in (-5, "soon", float("nan")):
        with pytest.raises(InvalidParameter, match="seconds"):
            audited(lambda value: value, seconds=seconds)


def test_a_time_that_is_too_short_is_refused_soon() -> None:
    runs = 0

    def slow(value: int) -> int:
        nonlocal runs
        runs += 1
        time.sleep(0.01)
        return value

    with pytest.raises(UnfitRelease, match="fewer than 40 runs"):
        audited(slow, seconds="0.1")
    assert runs <= 8


def test_a_time_that_is_long_enough_bounds_the_runs() -> None:
    assert 40 <= audited(lambda value: time.sleep(0.001) or value, seconds=1, samples=10**6).samples < 2000
