"""Worker processes: each has the folder open and does one thing at a time; whoever takes too long is killed."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalenius.errors import DaleniusError, LedgerRefused
from dalenius.server.faults import BUSY, CLOSING, INTERNAL, LEDGER_REFUSED, STOPPED, TOO_LONG, Fault, Faulted

_LONGEST_LINE = 2**28
_STARTING_SECONDS = 120
_RETRY_SECONDS = 2.0


@dataclass(frozen=True)
class Task:
    """Something for a worker to do. `charging` says that it may have been charged when it stops."""

    what: str
    who: str
    role: str
    given: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 15
    charging: bool = False
    tell: Callable[[float], object] | None = None

    @property
    def line(self) -> bytes:
        said = {"what": self.what, "who": self.who, "role": self.role, "given": self.given, "tell": bool(self.tell)}
        return json.dumps(said).encode() + b"\n"


@dataclass(frozen=True)
class Done:
    """What a worker gave: the body of a reply, ready to be sent, and facts about it for the front process."""

    body: bytes
    facts: Mapping[str, Any] = field(default_factory=dict)


class WorkerGone(Exception):
    """A worker ended by itself."""


class Worker:
    """One process. It leads a process group, so that killing it kills all that it started."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def started(cls, command: Sequence[str]) -> Worker:
        """A process that has opened the folder; raises `LedgerRefused` where it may not."""
        worker = cls(
            await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LONGEST_LINE, start_new_session=True
            )
        )
        try:
            async with asyncio.timeout(_STARTING_SECONDS):
                said = await worker._read()
        except BaseException:
            await worker.kill()
            raise
        if "refused" in said:
            await worker.kill()
            raise _refusal(said)
        return worker

    async def do(self, task: Task) -> Done:
        """Have a task done; raises `Faulted`, `TimeoutError` or `WorkerGone`, and is of no more use after the last."""
        assert self._process.stdin is not None
        async with asyncio.timeout(task.seconds):
            with suppress(ConnectionError):
                self._process.stdin.write(task.line)
                await self._process.stdin.drain()
            head = await self._read()
            while "percent" in head:
                if task.tell:
                    task.tell(head["percent"])
                head = await self._read()
            if "error" in head:
                raise Faulted(Fault.from_facts(head))
            body = await self._line()
        return Done(base64.b64decode(body) if head.get("binary") else body.rstrip(b"\n"), head)

    async def kill(self) -> None:
        """End the process and its group at once."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._process._transport.close()  # type: ignore[attr-defined]

    async def close(self) -> None:
        """Let it end by itself: it does when nothing more can come."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await self._process.wait()
        await self.kill()

    async def _read(self) -> dict[str, Any]:
        return dict(json.loads(await self._line()))

    async def _line(self) -> bytes:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise WorkerGone
        return line


class Pool:
    """So many workers, and those who wait for one, in turn by asker.

    Guarantee: no asker holds all workers while others wait or could come; a task that takes longer than its seconds is
    killed, and a fresh worker takes the place. What was charged by then stays charged.
    """

    def __init__(
        self, command: Sequence[str], size: int, *, waiting: int, patience: float | None = None, kept: bool = True
    ) -> None:
        self._command, self.size, self._most_waiting, self._kept = tuple(command), size, waiting, kept
        self._patience, self._failed = patience, (-_RETRY_SECONDS, INTERNAL)
        self._idle: list[Worker] = []
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, list[asyncio.Future[Worker]]] = {}
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
        return sum(map(len, self._waiting.values()))

    async def do(self, task: Task, *, asker: str) -> Done:
        """Have a task done by the next worker that is free for this asker."""
        if self._closing:
            raise Faulted(CLOSING)
        if self.waiting >= self._most_waiting:
            raise Faulted(BUSY)
        self._require_startable()
        worker = await self._turn(asker)
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
            raise Faulted(STOPPED if task.charging else TOO_LONG) from None
        except (WorkerGone, ValueError, ConnectionError):
            raise Faulted(STOPPED if task.charging else INTERNAL) from None
        finally:
            self._let_go(asker)
            await asyncio.shield(self._given_back(worker, usable=usable))

    async def close(self) -> None:
        """Take nothing new, and end all workers that are free; those at work end with it."""
        self._closing = True
        starting = tuple(self._starting)
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)
        for waiting in self._waiting.values():
            for future in waiting:
                if not future.done():
                    future.set_exception(Faulted(CLOSING))
        idle, self._idle = self._idle, []
        await asyncio.gather(*(worker.close() for worker in idle))
        self._count -= len(idle)

    def _require_startable(self) -> None:
        """Where no worker is left and the last did not start, try again after a while only."""
        at, fault = self._failed
        if not self._count and not self._starting and time.monotonic() - at < _RETRY_SECONDS:
            raise Faulted(fault)

    # ---- turns

    async def _turn(self, asker: str) -> Worker:
        """The next worker that is free for this asker; nobody waits for ever."""
        try:
            async with asyncio.timeout(self._patience):
                return await self._given(asker)
        except TimeoutError:
            raise Faulted(BUSY) from None

    async def _given(self, asker: str) -> Worker:
        future: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(asker, []).append(future)
        self._match()
        try:
            return await future
        except BaseException:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._let_go(asker)
                self._idle.append(future.result())
                self._match()
            raise
        finally:
            self._left(asker, future)

    def _let_go(self, asker: str) -> None:
        self._held[asker] -= 1
        if not self._held[asker]:
            del self._held[asker]

    def _left(self, asker: str, future: asyncio.Future[Worker]) -> None:
        queue = self._waiting.get(asker, [])
        if future in queue:
            queue.remove(future)
        if not queue:
            self._waiting.pop(asker, None)

    def _match(self) -> None:
        """Give free workers to those who wait, in turn by asker; start one where there are fewer than there may be."""
        for asker in tuple(self._waiting):
            if not self._idle:
                break
            queue = [future for future in self._waiting[asker] if not future.done()]
            if queue and self._held[asker] < max(1, self.size - 1):
                self._held[asker] += 1
                self._waiting[asker] = self._waiting.pop(asker)  # to the end of the row
                queue[0].set_result(self._idle.pop())
                self._left(asker, queue[0])
        if self.waiting and not self._idle and self._count + len(self._starting) < self.size and not self._closing:
            self._start_another()

    def _start_another(self) -> None:
        task = asyncio.get_running_loop().create_task(self._replaced())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _replaced(self) -> None:
        """Start a worker in place of one that is gone; where that is refused, tell those who wait."""
        try:
            await self._new()
        except (DaleniusError, WorkerGone, TimeoutError, OSError, ValueError) as error:
            fault = LEDGER_REFUSED if isinstance(error, DaleniusError) else INTERNAL
            self._failed = time.monotonic(), fault
            self._starting.discard(asyncio.current_task())  # before anybody looks again
            for future in [each for queue in self._waiting.values() for each in queue if not each.done()]:
                future.set_exception(Faulted(fault))

    async def _new(self) -> None:
        worker = await Worker.started(self._command)
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


def _refusal(said: Mapping[str, Any]) -> DaleniusError:
    """Why a worker did not start, as the error that it met."""
    if said["type"] == LedgerRefused.__name__:
        return LedgerRefused(said["refused"], instead=said["instead"])
    return DaleniusError(said["refused"])


def worker_command(folder: Path, settings: Mapping[str, Any]) -> list[str]:
    """How a worker is started. Nothing secret stands on its command line."""
    return [sys.executable, "-P", "-m", "dalenius.server.worker", str(folder), json.dumps(settings)]
