"""The pool: so many worker processes for all who ask; whoever takes too long is killed.

Turns: who gets the next worker that is free.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dalenius.errors import DaleniusError
from dalenius.server.faults import BUSY, CLOSING, INTERNAL, LEDGER_REFUSED, RESTARTING, STOPPED, TOO_LONG, Faulted
from dalenius.server.workers.workers import Done, NotBegun, Task, Worker, WorkerGone


@dataclass(frozen=True, eq=False)
class WorkerTurn:
    """Somebody who waits for a worker, or has one. What is `urgent`, the owner's decisions, comes first."""

    principal: str
    urgent: bool
    given: asyncio.Future[Any]


class Turns:
    """Those who wait for one of `size` workers, in turn by principal, and those who have one.

    Guarantee: no principal holds all workers, unless there is one alone; what is urgent comes before everything else.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._rows: dict[str, list[WorkerTurn]] = {}
        self._held: Counter[str] = Counter()

    @property
    def waiting(self) -> list[WorkerTurn]:
        """All who wait, in the order in which they would be looked at."""
        found = [turn for row in self._rows.values() for turn in row if not turn.given.done()]
        return sorted(found, key=lambda turn: not turn.urgent)

    def join(self, turn: WorkerTurn) -> None:
        """Wait, at the end of this principal's row."""
        self._rows.setdefault(turn.principal, []).append(turn)

    def leave(self, turn: WorkerTurn) -> None:
        """Wait no longer."""
        row = self._rows.get(turn.principal, [])
        if turn in row:
            row.remove(turn)
        if not row:
            self._rows.pop(turn.principal, None)

    def next(self) -> WorkerTurn | None:
        """Whose turn it is, if anybody's; from now on they hold a worker, and their principal is last in line."""
        turn = next(filter(self._may, self.waiting), None)
        if turn is None:
            return None
        self._rows[turn.principal] = self._rows.pop(turn.principal)
        self.leave(turn)
        self._held[turn.principal] += 1
        return turn

    def let_go(self, turn: WorkerTurn) -> None:
        """Hold the worker no longer."""
        self._held[turn.principal] -= 1
        if not self._held[turn.principal]:
            del self._held[turn.principal]

    def _may(self, turn: WorkerTurn) -> bool:
        return turn.urgent or self._held[turn.principal] < max(1, self._size - 1)


_RETRY_SECONDS = 2.0
Report = Callable[[Task, str], object]
"""Gets what was being done when a worker was lost, and why: for the owner alone."""


class Pool:
    """So many workers, and those who wait for one, in turn by principal.

    Guarantee: no principal holds all workers while others wait or could come; a task that takes longer than its seconds
    is killed, and a fresh worker takes the place. What was charged by then stays charged.
    """

    def __init__(
        self,
        command: Sequence[str],
        size: int,
        *,
        waiting: int,
        patience: float | None = None,
        kept: bool = True,
        nice: int = 0,
        report: Report = lambda task, reason: None,
    ) -> None:
        self._command, self.size, self._most_waiting, self._kept = tuple(command), size, waiting, kept
        self._patience, self._report, self._failed = patience, report, (-_RETRY_SECONDS, RESTARTING)
        self._turns, self._nice = Turns(size), nice
        self._idle: list[Worker] = []
        self._starting: set[asyncio.Task[None]] = set()
        self._count, self.killed, self._closing = 0, 0, False

    async def start(self) -> None:
        """Start all workers; raises what the first that fails met."""
        found = await asyncio.gather(*(self._new() for _ in range(self.size)), return_exceptions=True)
        failed = [each for each in found if isinstance(each, BaseException)]
        if failed:
            await self.close()
            raise failed[0]

    @property
    def alive(self) -> int:
        return self._count

    @property
    def waiting(self) -> int:
        return len(self._turns.waiting)

    async def do(self, task: Task, *, principal: str) -> Done:
        """Have a task done by the next worker that is free for this principal."""
        if self._closing:
            raise Faulted(CLOSING)
        if self.waiting >= self._most_waiting and not task.urgent:
            raise Faulted(BUSY)
        for _ in range(self.size + 1):
            self._require_startable()
            with suppress(NotBegun):  # one that ended while it had nothing to do: the next takes the task
                return await self._done(task, principal)
        raise Faulted(RESTARTING)

    async def _done(self, task: Task, principal: str) -> Done:
        turn, worker = await self._turn(task, principal)
        usable = False
        try:
            done = await worker.do(task)
            usable = True
            return done
        except Faulted as faulted:
            # A ledger that could not be written is not written again by this process; another one looks anew.
            usable = faulted.fault.code != "ledger_stopped"
            raise
        except TimeoutError:
            self._report(task, f"it took longer than its {task.seconds:g} seconds, and its worker was killed")
            raise Faulted(STOPPED if task.charging else TOO_LONG) from None
        except NotBegun:
            raise
        except (WorkerGone, ConnectionError):
            self._report(task, "its worker ended, or said what no worker says; did it run out of memory?")
            raise Faulted(STOPPED if task.charging else INTERNAL) from None
        finally:
            self._turns.let_go(turn)
            await asyncio.shield(self._given_back(worker, usable=usable))

    async def close(self) -> None:
        """Take nothing new, and end all workers that are free; those at work end with it."""
        self._closing = True
        starting = tuple(self._starting)
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)
        for turn in self._turns.waiting:
            turn.given.set_exception(Faulted(CLOSING))
        idle, self._idle = self._idle, []
        await asyncio.gather(*(worker.close() for worker in idle))
        self._count -= len(idle)

    def _require_startable(self) -> None:
        """Where no worker is left and the last did not start, try again after a while only."""
        at, fault = self._failed
        if not self._count and not self._starting and time.monotonic() - at < _RETRY_SECONDS:
            raise Faulted(fault)

    # ---- turns

    async def _turn(self, task: Task, principal: str) -> tuple[WorkerTurn, Worker]:
        """The next worker that is free for this principal; nobody waits for ever."""
        turn = WorkerTurn(principal, task.urgent, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(self._patience):
                return turn, await self._given(turn)
        except TimeoutError:
            raise Faulted(BUSY) from None

    async def _given(self, turn: WorkerTurn) -> Worker:
        self._turns.join(turn)
        self._match()
        given = turn.given
        try:
            worker: Worker = await given
            return worker
        except BaseException:
            if given.done() and not given.cancelled() and given.exception() is None:
                self._turns.let_go(turn)
                self._idle.append(given.result())
                self._match()
            raise
        finally:
            self._turns.leave(turn)

    def _match(self) -> None:
        """Give free workers to those whose turn it is; start one where there are fewer than there may be."""
        self._forget_ended()
        while self._idle and (turn := self._turns.next()):
            turn.given.set_result(self._idle.pop())
        if self.waiting and not self._idle and self._count + len(self._starting) < self.size and not self._closing:
            self._start_another()

    def _forget_ended(self) -> None:
        """Hand nothing to workers that ended while they had nothing to do: a question must not be lost with them."""
        ended = [worker for worker in self._idle if worker.ended]
        self._idle = [worker for worker in self._idle if worker not in ended]
        self._count -= len(ended)
        self.killed += len(ended)

    def _start_another(self) -> None:
        task = asyncio.get_running_loop().create_task(self._replaced())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _replaced(self) -> None:
        """Start a worker in place of one that is gone; where that is refused, tell those who wait."""
        try:
            await self._new()
        except (DaleniusError, WorkerGone, TimeoutError, OSError, ValueError) as error:
            fault = LEDGER_REFUSED if isinstance(error, DaleniusError) else RESTARTING
            self._failed = time.monotonic(), fault
            self._starting.discard(asyncio.current_task())  # before anybody looks again
            for turn in self._turns.waiting:
                turn.given.set_exception(Faulted(fault))

    async def _new(self) -> None:
        worker = await Worker.started(self._command, nice=self._nice)
        self._count += 1
        self._idle.append(worker)
        self._match()

    async def _given_back(self, worker: Worker, *, usable: bool) -> None:
        """Keep a worker for the next task; one that is not usable is killed, and another takes its place."""
        if usable and self._kept and not self._closing:
            self._idle.append(worker)
        else:
            self._count -= 1
            self.killed += not usable
            if self._kept and not self._closing:
                self._start_another()
            await (worker.close() if usable else worker.kill())
        self._match()


class Apart:
    """Workers that read rows, and others that never do.

    Guarantee: what is not charged waits for no worker that reads rows, so that nothing of a row reaches its queue.
    """

    def __init__(self, readers: Pool, others: Pool) -> None:
        self._readers, self._others = readers, others

    async def start(self) -> None:
        """Start all workers; raises what the first that fails met."""
        found = await asyncio.gather(self._readers.start(), self._others.start(), return_exceptions=True)
        if failed := [each for each in found if isinstance(each, BaseException)]:
            await self.close()
            raise failed[0]

    async def do(self, task: Task, *, principal: str) -> Done:
        """Have a task done: what is charged by a worker that reads rows, and all else by one that does not."""
        return await (self._readers if task.charging else self._others).do(task, principal=principal)

    @property
    def alive(self) -> int:
        return self._readers.alive + self._others.alive

    @property
    def waiting(self) -> int:
        return self._readers.waiting + self._others.waiting

    @property
    def killed(self) -> int:
        return self._readers.killed + self._others.killed

    async def close(self) -> None:
        """Take nothing new, and end all workers that are free."""
        await asyncio.gather(self._readers.close(), self._others.close())
