"""Schedules: a few clients of one ledger, each with a connection of its own, of which one at a time takes one step.

A seed decides whose turn it is, so that every order of beginnings, statements and ends can come, and comes again.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any

from dalenius.errors import BudgetExceeded
from dalenius.ledger.accounts import AccountCharge
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from dalenius.ledger.stores import SQLiteStore
from faults.recount import Recount, recount
from faults.witness import ANALYSTS, NAME, open_accounts, units

CAP, CLIENTS, CHARGES = 50, 3, 3


class Turns:
    """Threads that wait for their turn before each step; a seed decides whose it is."""

    def __init__(self, chance: Random) -> None:
        self._chance, self._change = chance, threading.Condition()
        self._waiting: set[str] = set()
        self._running: set[str] = set()
        self._turn: str | None = None
        self.order: list[str] = []

    def step(self) -> None:
        """Wait until this thread is the one to go on."""
        name = threading.current_thread().name
        with self._change:
            if name not in self._running:
                return
            self._waiting.add(name)
            self._choose()
            while self._turn != name:
                self._change.wait()
            self._waiting.discard(name)
            self._turn = None

    def run(self, *works: Callable[[], None]) -> None:
        """Run all of them, one step of one of them at a time."""
        names = [f"client {number}" for number in range(len(works))]
        self._running = set(names)
        threads = [
            threading.Thread(target=self._until_done, args=[work], name=name)
            for name, work in zip(names, works, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _until_done(self, work: Callable[[], None]) -> None:
        try:
            self.step()
            work()
        finally:
            with self._change:
                self._running.discard(threading.current_thread().name)
                self._choose()

    def _choose(self) -> None:
        if self._waiting and self._waiting == self._running:  # nobody is in the middle of a step
            self._turn = self._chance.choice(sorted(self._waiting))
            self.order.append(self._turn)
            self._change.notify_all()


class SteppedStore(SQLiteStore):
    """A store whose every statement waits for its turn; where the file is locked it asks again when it has the next."""

    def __init__(self, path: Path, turns: Turns) -> None:
        self._turns = turns
        super().__init__(path)

    def _connected(self, *settings: str) -> Any:
        connection = super()._connected(*settings, "PRAGMA busy_timeout = 0")
        return _SteppedConnection(connection, self._turns)


class _SteppedConnection:
    def __init__(self, connection: sqlite3.Connection, turns: Turns) -> None:
        self._connection, self._turns = connection, turns

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        while True:
            self._turns.step()
            try:
                return self._connection.execute(sql, parameters)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def scheduled(place: Path, seed: int, change: Callable[[Ledger], Ledger] | None = None) -> tuple[int, Recount]:
    """Clients that charge more than there is, in the order of a seed: what was acknowledged, and what is found."""
    turns, chance = Turns(Random(seed)), Random(seed)
    acknowledged: list[int] = []

    def client(ledger: Ledger, sizes: list[int]) -> Callable[[], None]:
        def work() -> None:
            for size in sizes:
                try:
                    ledger.reserve([AccountCharge(ANALYSTS[0], units(size))], question="q", who="ana")
                    acknowledged.append(size)
                except BudgetExceeded:
                    continue

        return work

    with ExitStack() as stack:
        ledgers = [stack.enter_context(closing(_opened(place, turns, first=n == 0))) for n in range(CLIENTS)]
        ledgers = [change(ledger) for ledger in ledgers] if change else ledgers
        turns.run(*(client(ledger, [chance.randint(5, 20) for _ in range(CHARGES)]) for ledger in ledgers))
    return sum(acknowledged), recount(place / "ledger.sqlite")


def _opened(place: Path, turns: Turns, *, first: bool) -> Ledger:
    store, mark = SteppedStore(place / "ledger.sqlite", turns), Mark(SteppedStore(place / "mark.sqlite", turns), NAME)
    if not first:
        return Ledger.start(store, mark, NAME)
    ledger = Ledger.create(store, mark, NAME)
    open_accounts(ledger, cap=CAP, quota=CAP)
    return ledger
