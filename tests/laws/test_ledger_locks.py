"""Several sessions of one process with one ledger, and another process that comes and goes: no charge is lost."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from dalenius.errors import DaleniusError
from dalenius.ledger import stores
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from dalenius.ledger.stores import SQLiteStore
from faults.witness import NAME
from ledger_cases import PATIENTS, Place, charge, opened

# SQLite deletes a log when the last process that has a lock on its file closes it.
COMES_AND_GOES = """
import sqlite3, sys
for path in sys.argv[1:]:
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    connection.close()
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    with place.ledger("create", name=NAME) as ledger:
        charge(opened(ledger), None, 5)
    return place


def session(place: Place, stack: ExitStack) -> Ledger:
    mark = stack.enter_context(closing(Mark.in_file(place.mark, NAME)))
    return Ledger.start(stack.enter_context(closing(SQLiteStore(place.path))), mark, NAME)


def seen_by_others(place: Place) -> tuple[int, int]:
    """What another process finds spent, in the ledger and in the mark."""
    counts = "SELECT sum(divergence) FROM {} WHERE path = '[\"patients\"]'"
    program = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0] or 0)"
    given = [(place.path, counts.format("spent")), (place.mark, counts.format("mark_totals"))]
    done = [subprocess.run([sys.executable, "-c", program, *each], capture_output=True, check=True) for each in given]
    return int(done[0].stdout), int(done[1].stdout)


def charged_in_two_sessions(place: Place) -> tuple[int, tuple[int, int]]:
    """What a session says was spent, and what others see, after another process came and went in between."""
    with ExitStack() as stack:
        first = session(place, stack)
        session(place, stack)  # as when a cell of a notebook is run again
        subprocess.run([sys.executable, "-c", COMES_AND_GOES, place.path, place.mark], check=True)
        for _ in range(3):
            charge(first, None, 10)
        return first.spent(PATIENTS).divergence, seen_by_others(place)


@pytest.mark.textbook("S18.6")
def test_a_ledger_that_is_open_twice_here_loses_no_charge_to_a_process_that_comes_and_goes(place: Place) -> None:
    assert charged_in_two_sessions(place) == (35, (35, 35))


def test_two_ledgers_with_one_mark_lose_nothing_either(place: Place) -> None:
    with ExitStack() as stack:
        first = session(place, stack)
        stack.enter_context(closing(Mark.in_file(place.mark, "another")))
        subprocess.run([sys.executable, "-c", COMES_AND_GOES, place.mark], check=True)
        charge(first, None, 10)
        assert seen_by_others(place) == (15, 15)


def test_the_tests_above_notice_a_file_that_is_opened_and_closed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: to close any handle of a file lets go of all locks that the process has on it."""
    monkeypatch.setattr(stores, "_for_the_owner_alone", lambda path: os.close(os.open(path, os.O_RDWR | os.O_CREAT)))
    said, seen = charged_in_two_sessions(place)
    assert said == 35
    assert seen != (35, 35)


# ---- forks


def _in_a_fork(place: Place, results: Any, turns: Any) -> None:
    """Open the same ledger in a forked process, and charge when the process before has closed it."""
    try:
        with ExitStack() as stack:
            ledger = session(place, stack)
            results.put("open")
            turns.get()
            charge(ledger, None, 10)
            os._exit(0)
    except DaleniusError as error:
        results.put(str(error))


def charged_in_a_fork(place: Place) -> str:
    context = multiprocessing.get_context("fork")
    results, turns = context.SimpleQueue(), context.SimpleQueue()
    with ExitStack() as stack:
        charge(session(place, stack), None, 10)
        child = context.Process(target=_in_a_fork, args=(place, results, turns))
        child.start()
        told: str = results.get()
    turns.put("go")
    child.join(30)
    assert child.exitcode == 0
    return told


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_a_fork_cannot_open_what_was_open_before_it(place: Place) -> None:
    """SQLite in the fork believes that it has the locks of the process before, and takes none of its own."""
    assert "Start a new process" in charged_in_a_fork(place)
    with ExitStack() as stack:
        assert session(place, stack).spent(PATIENTS).divergence == 15


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_the_test_above_notices_a_fork_that_may(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_require_not_inherited", lambda path: (0, 0))
    assert charged_in_a_fork(place) == "open"
    with closing(sqlite3.connect(place.path)) as connection:
        assert connection.execute("SELECT sum(divergence) FROM spent").fetchall() == [(15,)]  # the fork's 10 are lost


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_a_fork_may_open_what_was_closed_before_it(place: Place) -> None:
    context = multiprocessing.get_context("fork")
    results, turns = context.SimpleQueue(), context.SimpleQueue()
    with ExitStack() as stack:
        session(place, stack)
    turns.put("go")
    child = context.Process(target=_in_a_fork, args=(place, results, turns))
    child.start()
    child.join(30)
    with ExitStack() as stack:
        assert session(place, stack).spent(PATIENTS).divergence == 15
