"""How many charges a second become durable, in a file with its mark in another, and how fast a ledger is recounted."""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dalenius.accounting.amounts import Charge
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms
from dalenius.ledger.checking import examined
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from dalenius.ledger.stores import SQLiteStore

NAME = "benchmark"
ANALYST = Account(("patients", "study", "ana"))
DISK = Path(".bench")
"""Not the system's temporary folder, which may lie in memory."""
SECONDS = 10.0
PROCESSES, THREADS_EACH = 8, 4


@dataclass(frozen=True)
class LedgerRun:
    """Charges a second, by how many asked at once, and entries a second of the recount."""

    syncs: float
    charges: dict[str, float]
    entries: int
    checked: float
    started: float


def measured(seconds: float = SECONDS) -> LedgerRun:
    DISK.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ledger-", dir=DISK) as name:
        folder = Path(name)
        with _ledger(folder, Ledger.create) as ledger:
            for account in reversed(ANALYST.lineage):
                ledger.open(account, AccountTerms(_units(10**15)))
        charges = {
            "1 thread": _threads(folder, 1, seconds),
            "32 threads": _threads(folder, 32, seconds),
            f"{PROCESSES} processes of {THREADS_EACH} threads": _processes(folder, seconds),
        }
        return LedgerRun(_syncs(folder, seconds / 5), charges, *_checked(folder))


@contextmanager
def _ledger(folder: Path, opened: Callable[..., Ledger]) -> Iterator[Ledger]:
    with (
        closing(SQLiteStore(folder / "ledger.sqlite")) as store,
        closing(Mark.in_file(folder / "mark.sqlite", NAME)) as mark,
    ):
        yield opened(store, mark, NAME)


def _units(size: int) -> Charge:
    return Charge(divergence=size, order=None)


def _threads(folder: Path, count: int, seconds: float) -> float:
    """Charges a second of threads that each ask again as soon as they were charged."""
    with _ledger(folder, Ledger.start) as ledger:
        return _charged(ledger, count, seconds) / seconds


def _charged(ledger: Ledger, count: int, seconds: float) -> int:
    end, done = time.perf_counter() + seconds, [0] * count

    def work(number: int) -> None:
        while time.perf_counter() < end:
            ledger.reserve([AccountCharge(ANALYST, _units(1))], question="q" * 64, who="ana", request="r" * 64)
            done[number] += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done)


def _processes(folder: Path, seconds: float) -> float:
    """Charges a second of processes that share the file."""
    context = multiprocessing.get_context("spawn")
    barrier, counts = context.Barrier(PROCESSES), context.SimpleQueue()
    workers = [context.Process(target=_process, args=(folder, seconds, barrier, counts)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    total: int = sum(counts.get() for _ in workers)
    for worker in workers:
        worker.join()
    return total / seconds


def _process(
    folder: Path, seconds: float, barrier: threading.Barrier, counts: multiprocessing.SimpleQueue[int]
) -> None:
    with _ledger(folder, Ledger.start) as ledger:
        barrier.wait(300)
        counts.put(_charged(ledger, THREADS_EACH, seconds))


def _syncs(folder: Path, seconds: float) -> float:
    """What the disk allows: commits a second of one row, in a bare SQLite file with full sync."""
    with closing(sqlite3.connect(folder / "bare.sqlite", isolation_level=None)) as connection:
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (x TEXT)"):
            connection.execute(statement)
        start, count = time.perf_counter(), 0
        while time.perf_counter() < start + seconds:
            connection.execute("INSERT INTO t VALUES (?)", ["x" * 300])
            count += 1
        return count / (time.perf_counter() - start)


def _checked(folder: Path) -> tuple[int, float, float]:
    """Entries, how many of them are recounted a second, and how long opening takes in all."""
    with closing(SQLiteStore(folder / "ledger.sqlite")) as store:
        start = time.perf_counter()
        findings = examined(store)
        took = time.perf_counter() - start
        assert findings.sound
    start = time.perf_counter()
    with _ledger(folder, Ledger.start):
        started = time.perf_counter() - start
    return findings.head.number, findings.head.number / took, started
