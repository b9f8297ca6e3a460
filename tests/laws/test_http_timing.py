"""The time of a reply tells neither whether a person is in a table nor what the noise was.

A table and the same table with one person more, whose thousands of long texts slow a question down, are asked in turn.
Replies leave on a grid; as long as the work ends within the same step, times tell nothing. Without the grid they tell
nearly everything. A sampler that takes longer for larger noise would tell the true value: the reply minus the noise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pytest

from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.server.grid import Grid
from http_pairs import database_of
from http_server import Server
from poisons import CANARY, rows_of, table_of

SLOW = "SELECT COUNT(*) AS n FROM visits WHERE LENGTH(LOWER(icd)) > 7"
NO_GRID = Grid(step=0.001, fine=1.0)
ONE_SIDED = 1.645  # standard deviations of a bound that holds with 95 %


@contextmanager
def pair(grid: Grid, rows: int) -> Iterator[tuple[Server, Server]]:
    """Servers of a table without and with the person."""
    without = rows_of(1)
    slow = [{**without[0], "patient_id": "slow", "icd": f"{CANARY} {number} " + "x" * 40} for number in range(rows)]
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(Server(database_of(table_of(each), delta="0"), grid=grid))
            for each in (without, without + slow)
        )
        yield first, second


def times(servers: tuple[Server, Server], rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of replies from both, in turn; the noise is fresh each time."""
    clients = [server.client(server.token("ana")) for server in servers]
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 3):
        for which in (number % 2, 1 - number % 2):
            started = time.perf_counter()
            reply = clients[which].post("/v1/run", json={"sql": SLOW, "epsilon": "0.001", "fresh": True})
            found[which].append(time.perf_counter() - started)
            assert reply.status_code == 200
    for client in clients:
        client.close()
    return found[0][3:], found[1][3:]  # first questions fill caches


def separation(ones: list[float], others: list[float]) -> tuple[float, float]:
    """The area under the curve of telling `others` by their longer times, and its upper bound (Hanley and McNeil)."""
    ranked = sorted([(each, 0) for each in ones] + [(each, 1) for each in others])
    ranks = sum(place for place, (_, kind) in enumerate(ranked) if kind)
    n, m = len(ones), len(others)
    area = (ranks - m * (m - 1) / 2) / (n * m)
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (area * (1 - area) + (m - 1) * (first - area**2) + (n - 1) * (second - area**2)) / (n * m)
    return area, area + ONE_SIDED * math.sqrt(spread)


def test_the_measure_tells_apart_what_differs_and_nothing_else() -> None:
    assert separation([1, 2, 3], [4, 5, 6])[0] == 1
    assert separation(list(range(0, 100, 2)), list(range(1, 101, 2)))[0] == pytest.approx(0.51)
    assert separation(list(range(500)), list(range(500)))[1] < 0.56


@pytest.mark.deep
def test_times_on_the_grid_do_not_tell_who_is_there() -> None:
    grid, at_once = Grid(step=0.2), 4
    with ExitStack() as stack, ThreadPoolExecutor(at_once) as threads:
        servers = [stack.enter_context(pair(grid, rows=2_000)) for _ in range(at_once)]
        found = list(threads.map(partial(times, rounds=300), servers))
    area, most = separation(*([each for part in found for each in part[which]] for which in (0, 1)))
    print(f"on the grid: area {area:.3f}, at most {most:.3f}")
    assert most <= 0.55


@pytest.mark.deep
def test_times_without_the_grid_do_tell() -> None:
    with pair(NO_GRID, rows=8_000) as servers:
        area, _ = separation(*times(servers, rounds=60))
    print(f"without the grid: area {area:.3f}")
    assert area >= 0.9


# ---- the time of a draw

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


@pytest.mark.deep
def test_times_on_the_grid_do_not_tell_the_noise() -> None:
    at_once, rounds = 8, 2_500
    with ExitStack() as stack, ThreadPoolExecutor(at_once) as threads:
        tables = [database_of(table_of(rows_of(1)), delta="0") for _ in range(at_once)]
        servers = [stack.enter_context(Server(each, grid=Grid(step=0.2))) for each in tables]
        found = list(threads.map(partial(sizes_and_times, rounds=rounds), servers))
    each = [correlation(part) for part in found]
    print(f"on the grid: correlation {np.mean(each):.4f} over {at_once * rounds} replies")
    assert abs(np.mean(each)) < 0.02  # 2.8 standard deviations where there is none


@pytest.mark.deep
def test_times_without_the_grid_tell_the_noise_of_a_slow_sampler(slow_sampler: None) -> None:
    with Server(database_of(table_of(rows_of(1)), delta="0"), grid=NO_GRID) as server:
        found = correlation(sizes_and_times(server, rounds=200))
    print(f"without the grid, slow sampler: correlation {found:.3f}")
    assert found > 0.5
