"""The journal: threads share a commit, a refusal leaves nothing, and after an error of the store nothing is written."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from dalenius.errors import BudgetExceeded, InvalidParameter, LedgerStopped
from dalenius.ledger import journal
from dalenius.ledger.accounts import AccountCharge
from dalenius.ledger.journal import Journal, Writing
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark, NoMark
from dalenius.ledger.stores import SQLiteStore, Transaction
from ledger_cases import NAME, PATIENTS, Place, charge, opened, units


class Watched:
    """A store in memory that counts its commits, waits before each if asked to, and fails if asked to."""

    append_only = SQLiteStore.append_only

    def __init__(self) -> None:
        self._store, self.commits = SQLiteStore(), 0
        self.gate = threading.Event()
        self.gate.set()
        self.failing = ""

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._store.writing() as rows:
            self.gate.wait(30)
            yield _Failing(rows, self)
            if self.failing == "commit":
                raise sqlite3.OperationalError("database or disk is full")
        self.commits += 1
        if self.failing == "after":
            raise sqlite3.OperationalError("disk I/O error")

    def is_as_made(self, rows: Transaction) -> bool:
        return self._store.is_as_made(rows)

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._store.reading()

    def close(self) -> None:
        self._store.close()


class _Failing:
    def __init__(self, rows: Transaction, watched: Watched) -> None:
        self._rows, self._watched = rows, watched

    def execute(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        if self._watched.failing and self._watched.failing in sql:
            raise sqlite3.OperationalError("disk I/O error")
        return self._rows.execute(sql, parameters)


@pytest.fixture
def watched() -> Iterator[Watched]:
    with closing(Watched()) as store:
        yield store


@pytest.fixture
def ledger(watched: Watched) -> Ledger:
    return opened(Ledger.create(watched, NoMark(), NAME), 1000, ana=1000)


def test_threads_that_wait_share_one_commit(watched: Watched, ledger: Ledger) -> None:
    watched.gate.clear()
    before = watched.commits
    with ThreadPoolExecutor(24) as pool:
        waiting = [pool.submit(charge, ledger, "ana", 1) for _ in range(24)]
        while len(ledger._journal._waiting) < 23:  # one of them holds the transaction open
            threading.Event().wait(0.001)
        watched.gate.set()
        receipts = [each.result() for each in waiting]
    assert watched.commits - before <= 2
    assert sorted(receipt.number for receipt in receipts) == list(range(4, 28))
    assert ledger.spent(PATIENTS).divergence == 24


def test_a_batch_is_closed_after_a_while(watched: Watched, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_AT_ONCE", 1)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: charge(ledger, "ana", 1), range(40)))
    assert ledger.spent(PATIENTS).divergence == 40


def test_a_refusal_in_a_batch_leaves_the_others_and_nothing_of_itself(watched: Watched, ledger: Ledger) -> None:
    def writes_and_refuses(writing: Writing) -> None:
        writing.add("record", {"record": "x"})
        writing.balances.charge([AccountCharge(PATIENTS, units(5))])
        raise InvalidParameter("x", 1, allowed="2")

    watched.gate.clear()
    with ThreadPoolExecutor(9) as pool:
        waiting = [pool.submit(charge, ledger, "ana", 1) for _ in range(4)]
        refused = pool.submit(ledger._journal.append, writes_and_refuses)
        waiting += [pool.submit(charge, ledger, "ana", 1) for _ in range(4)]
        watched.gate.set()
        assert sorted(each.result().number for each in waiting) == list(range(4, 12))
    with pytest.raises(InvalidParameter):
        refused.result()
    assert ledger.spent(PATIENTS).divergence == 8
    assert ledger.records("x") == ()


@pytest.mark.parametrize(
    "where", ["INSERT INTO entries", "INSERT INTO spent", "INSERT INTO receipts", "commit", "after"]
)
def test_after_an_error_of_the_store_nothing_is_written_for_good(watched: Watched, ledger: Ledger, where: str) -> None:
    watched.failing = where
    with pytest.raises(LedgerStopped) as stopped:
        charge(ledger, "ana", 1)
    assert "disk I/O" not in str(stopped.value)
    watched.failing = ""
    commits = watched.commits
    for attempt in (lambda: charge(ledger, "ana", 1), lambda: ledger.record("x", {})):
        with pytest.raises(LedgerStopped):
            attempt()
    assert watched.commits == commits
    assert ledger.spent(PATIENTS).divergence == (1 if where == "after" else 0)


def test_all_who_wait_are_told_that_the_ledger_stopped(watched: Watched, ledger: Ledger) -> None:
    watched.gate.clear()
    watched.failing = "commit"
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(charge, ledger, "ana", 1) for _ in range(8)]
        watched.gate.set()
        assert all(isinstance(each.exception(), LedgerStopped) for each in waiting)
    assert not ledger.spent(PATIENTS)


def test_an_interrupt_leaves_no_thread_waiting_and_no_success_untold(watched: Watched, ledger: Ledger) -> None:
    def interrupted(writing: Writing) -> None:
        raise KeyboardInterrupt

    watched.gate.clear()
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(ledger._journal.append, interrupted)
        others = [pool.submit(charge, ledger, "ana", 1) for _ in range(7)]
        watched.gate.set()
        outcomes = [each.exception(timeout=30) for each in others]
    assert isinstance(first.exception(), KeyboardInterrupt)
    assert all(outcome is None or isinstance(outcome, LedgerStopped) for outcome in outcomes)
    assert ledger.spent(PATIENTS).divergence == sum(outcome is None for outcome in outcomes)
    charge(ledger, "ana", 1)


def test_a_task_that_was_lost_is_never_told_as_done(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = Journal._taken

    def lost(self: Journal) -> list[Any]:
        taken(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "_taken", lost)
        with pytest.raises(KeyboardInterrupt):
            charge(ledger, "ana", 1)
    charge(ledger, "ana", 1)
    assert ledger.spent(PATIENTS).divergence == 1


def test_a_refusal_costs_no_commit_of_the_mark(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.ledger("create") as ledger:
        opened(ledger)
        with closing(Mark.in_file(place.mark, NAME)) as mark:
            with mark.held() as held:
                before = held.last()
            with pytest.raises(BudgetExceeded):
                charge(ledger, None, 101)
            with mark.held() as held:
                assert held.last() == before


# ---- a full disk


def test_a_full_disk_stops_the_ledger_and_loses_nothing(tmp_path: Path) -> None:
    place, charged = Place(tmp_path), 0
    with place.ledger("create") as ledger:
        opened(ledger, 10**6)
        with ledger._journal._store.writing() as rows:  # type: ignore[attr-defined]
            ((pages,),) = rows.execute("PRAGMA page_count")
            rows.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(LedgerStopped):  # noqa: PT012
            for _ in range(200):
                charge(ledger, None, 1, request="r" * 200)
                charged += 1
        with pytest.raises(LedgerStopped):
            charge(ledger, None, 1)
    with place.ledger() as ledger:
        assert ledger.spent(PATIENTS).divergence == charged > 0
        charge(ledger, None, 1)
    assert place.examined().sound
