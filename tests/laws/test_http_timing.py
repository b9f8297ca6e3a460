"""The time of a reply does not tell whether a person is in the table whose rows take long to work on.

A table and the same table with one person more, whose thousands of long texts slow a question down, are asked in turn.
Replies leave on a grid; as long as the work ends within the same step, times tell nothing. Without the grid they tell
nearly everything.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

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
