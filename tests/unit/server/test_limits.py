"""One token cannot ask without measure, and what it is refused depends on itself and the clock alone."""

from __future__ import annotations

import math
from contextlib import ExitStack

import pytest

from dalenius.errors import InvalidParameter
from dalenius.server.faults import TOO_OFTEN, Faulted
from dalenius.server.limits import Limits, Quotas


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def admitted(quotas: Quotas, name: str, times: int) -> int:
    count, refused = 0, set()
    for _ in range(times):
        try:
            with quotas.admitted(name):
                count += 1
        except Faulted as faulted:
            refused.add(faulted.fault)
    assert refused <= {TOO_OFTEN}
    return count


def test_a_burst_is_let_in_and_then_a_steady_rate() -> None:
    clock = Clock()
    quotas = Quotas(Limits(rate=20, burst=40), clock=clock)
    assert admitted(quotas, "ana", 100) == 40
    clock.now = 1.0
    assert admitted(quotas, "ana", 100) == 20
    clock.now = 1000.0
    assert admitted(quotas, "ana", 100) == 40


def test_tokens_do_not_use_up_each_others() -> None:
    quotas = Quotas(Limits(burst=5), clock=Clock())
    assert admitted(quotas, "ana", 50) == 5
    assert admitted(quotas, "bob", 50) == 5


def test_so_many_requests_are_under_way_at_once() -> None:
    quotas = Quotas(Limits(at_once=2), clock=Clock())
    with ExitStack() as under_way:
        under_way.enter_context(quotas.admitted("ana"))
        under_way.enter_context(quotas.admitted("ana"))
        assert admitted(quotas, "ana", 1) == 0
        assert admitted(quotas, "bob", 1) == 1
    assert admitted(quotas, "ana", 1) == 1


def test_a_request_that_fails_is_no_longer_under_way() -> None:
    quotas = Quotas(Limits(at_once=1), clock=Clock())
    for _ in range(3):
        with pytest.raises(KeyError), quotas.admitted("ana"):
            raise KeyError
    assert admitted(quotas, "ana", 1) == 1


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf])
@pytest.mark.parametrize("name", ["seconds", "job_seconds", "rate", "head_seconds", "memory", "connections"])
def test_limits_that_limit_nothing_or_everything_are_refused(name: str, wrong: float) -> None:
    with pytest.raises(InvalidParameter, match=name):
        Limits(**{name: wrong})


@pytest.mark.parametrize("seconds", [1, 60, 600])
def test_whoever_waits_outlasts_the_questions_under_way(seconds: float) -> None:
    assert Limits(seconds=seconds).patience > seconds
    assert Limits(seconds=seconds).patience >= Limits().waiting_seconds


def test_a_flood_of_names_does_not_fill_the_memory() -> None:
    clock = Clock()
    quotas = Quotas(Limits(), clock=clock)
    for number in range(12_000):
        clock.now += 0.01
        admitted(quotas, str(number), 1)
    assert len(quotas._uses) <= 10_000
