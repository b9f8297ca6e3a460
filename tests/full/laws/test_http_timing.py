"""The dear tests of `laws/test_http_timing.py`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.server.schedule import ReplySchedule
from http_pairs import database_of
from http_server import Server
from poisons import rows_of, table_of
from timing_pairs import SHAPES, Left, TimedServer, by_kind, guesses, make_folder, timed_server

PAIRS, MANY_PAIRS = 40, 400
ALARM = 1e-5
"""How often a fair coin would show such a difference: the chance of a false alarm for each shape."""


NO_DUE_TIME = {"step": 0.01, "headroom": 0.0}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    place = tmp_path_factory.mktemp("timing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place / "state"))
        yield place / "clinic", make_folder(place / "clinic")


def replies(server: TimedServer, shape: str, pairs: int) -> tuple[list[Left], list[Left]]:
    """When replies to right and to wrong guesses left; the first ones, which fill caches, are not looked at."""
    server.asked(shape, guesses(2))
    asked = guesses(pairs)
    return by_kind(asked, server.asked(shape, asked))


def all_shapes(server: TimedServer, pairs: int) -> dict[str, tuple[list[Left], list[Left]]]:
    """Those of all shapes, asked side by side: most of the time is spent waiting."""
    with ThreadPoolExecutor(len(SHAPES)) as threads:
        found = threads.map(partial(replies, server, pairs=pairs), SHAPES)
        return dict(zip(SHAPES, found, strict=True))


def told(right: Sequence[Left], wrong: Sequence[Left]) -> float:
    """How likely a fair coin decides at least as one-sidedly which of two guesses is later, where one of them is."""
    later = [one.late > other.late for one, other in zip(right, wrong, strict=True) if one.late != other.late]
    return binomtest(sum(later), len(later)).pvalue if later else 1.0


def test_right_and_wrong_guesses_leave_at_the_same_point_but_for_doublings_that_hit_both(
    clinic: tuple[Path, dict[str, str]],
) -> None:
    with timed_server(*clinic) as server:
        found = all_shapes(server, PAIRS)
    for shape, (right, wrong) in found.items():
        late = [sum(each.late > 0 for each in kind) for kind in (right, wrong)]
        print(f"{shape}: {late[0]} right and {late[1]} wrong of {PAIRS} late")
    assert {shape: p for shape, kinds in found.items() if (p := told(*kinds)) < ALARM} == {}


def test_the_law_above_notices_a_server_without_due_times(clinic: tuple[Path, dict[str, str]]) -> None:
    with timed_server(*clinic, **NO_DUE_TIME) as server:
        assert told(*replies(server, "many conditions", PAIRS)) < ALARM


# ---- noise

NO_GRID = ReplySchedule(step=0.001, fine=1.0, headroom=0)
QUICK = "SELECT COUNT(*) AS n FROM visits"
SLOWED = 1e-6  # seconds that a planted sampler takes longer for each step of its noise, of which there are thousands


def sizes_and_times(server: Server, rounds: int) -> list[tuple[float, float]]:
    """Sizes of replies, which are that of their noise as long as rows are few, and their seconds."""
    client, found = server.client(server.token("ana")), []
    for _ in range(rounds + 3):
        started = time.perf_counter()
        reply = client.post("/v1/run", json={"sql": QUICK, "epsilon": "0.0001", "fresh": True})
        taken = time.perf_counter() - started
        found.append((abs(float(reply.json()["answer"]["columns"][0]["values"][0])), taken))
    client.close()
    return found[3:]


def correlation(found: list[tuple[float, float]]) -> float:
    """Of ranks, so that no single late reply decides."""
    sizes, seconds = (np.argsort(np.argsort(column)) for column in zip(*found, strict=True))
    return float(np.corrcoef(sizes, seconds)[0, 1])


@pytest.fixture
def slow_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that takes the longer the larger it is."""
    right = DiscreteLaplace.release

    def slowly(self: DiscreteLaplace, value: object, entropy: object) -> object:
        found = right(self, value, entropy)  # type: ignore[arg-type]
        time.sleep(min(0.2, SLOWED * float(np.abs(np.asarray(found)).max())))
        return found

    monkeypatch.setattr(DiscreteLaplace, "release", slowly)


@pytest.mark.parametrize(("rounds", "most"), [(100, 0.18), pytest.param(2_500, 0.02, marks=pytest.mark.deep)])
def test_times_on_the_grid_do_not_tell_the_noise(rounds: int, most: float) -> None:
    at_once = 8
    with ExitStack() as stack, ThreadPoolExecutor(at_once) as threads:
        tables = [database_of(table_of(rows_of(1)), delta="0") for _ in range(at_once)]
        servers = [stack.enter_context(Server(each, grid=ReplySchedule(step=0.2, headroom=0))) for each in tables]
        found = list(threads.map(partial(sizes_and_times, rounds=rounds), servers))
    each = [correlation(part) for part in found]
    print(f"on the grid: correlation {np.mean(each):.4f} over {at_once * rounds} replies")
    assert abs(np.mean(each)) < most  # 5 standard deviations where there is none, or 2.8 of many replies


def test_times_without_the_grid_tell_the_noise_of_a_slow_sampler(slow_sampler: None) -> None:
    with Server(database_of(table_of(rows_of(1)), delta="0"), grid=NO_GRID) as server:
        found = correlation(sizes_and_times(server, rounds=200))
    print(f"without the grid, slow sampler: correlation {found:.3f}")
    assert found > 0.5
