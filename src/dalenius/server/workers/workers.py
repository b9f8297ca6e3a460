"""Worker processes: each has the folder open and does one thing at a time; whoever takes too long is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from dalenius.errors import DaleniusError, LedgerRefused
from dalenius.server.faults import STATUSES, Fault, Faulted

_LONGEST_LINE = 2**24
_STARTING_SECONDS = 600


@dataclass(frozen=True)
class Task:
    """Something for a worker to do. `charging` says that it may have been charged when it stops; `urgent` is what the
    owner decides, such as a revocation."""

    what: str
    who: str
    role: str
    given: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 15
    charging: bool = False
    tell: Callable[[float], object] | None = None
    urgent: bool = False

    @property
    def name(self) -> bytes:
        """What is asked of whom by whom: equal for equal tasks."""
        said = {"what": self.what, "who": self.who, "role": self.role, "given": self.given}
        return json.dumps(said).encode()

    def line(self, number: int) -> bytes:
        """The task as a worker reads it; the reply repeats its number."""
        said = {"what": self.what, "who": self.who, "role": self.role, "given": self.given}
        how = {"number": number, "seconds": self.seconds, "tell": bool(self.tell)}
        return json.dumps({**said, **how}).encode() + b"\n"


@dataclass(frozen=True)
class Done:
    """What a worker gave: the body of a reply, ready to be sent, and facts about it for the front process."""

    body: bytes
    facts: Mapping[str, Any] = field(default_factory=dict)


class Workers(Protocol):
    """Whoever has tasks done: a pool of workers."""

    async def do(self, task: Task, *, principal: str) -> Done:
        """Have a task done; raises `Faulted`."""

    @property
    def alive(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def killed(self) -> int: ...


class WorkerGone(Exception):
    """A worker ended by itself, or says what no worker says."""


class WorkerEnded(WorkerGone):
    """A worker ended where a line should begin."""


class NotBegun(WorkerGone):
    """A worker ended before it began with a task, of which nothing was done or charged."""


class Worker:
    """One process. It leads a process group, so that killing it kills all that it started.

    Guarantee: what `do` gives is the reply to that task, and to no other: every reply repeats the number of its task
    and tells its length. Whatever else comes makes the worker one that is gone.
    """

    def __init__(self, process: Process) -> None:
        self._process, self._number = process, 0

    @classmethod
    async def started(cls, command: Sequence[str], *, nice: int = 0) -> Worker:
        """A process that has opened the folder, and gives way to others by `nice`; raises `LedgerRefused` where it may
        not."""
        worker = cls(
            await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LONGEST_LINE, start_new_session=True
            )
        )
        with suppress(OSError):  # it may have ended already
            own = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, worker._process.pid, own + nice)
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

    @property
    def ended(self) -> bool:
        """Whether the process is known to have ended."""
        return self._process.returncode is not None

    async def do(self, task: Task) -> Done:
        """Have a task done; raises `Faulted`, `TimeoutError` or `WorkerGone`, and is of no more use after the last.

        A worker says first that it begins, so that a question is not lost with one that had ended by then.
        """
        assert self._process.stdin is not None
        self._number += 1
        async with asyncio.timeout(task.seconds):
            with suppress(ConnectionError):
                self._process.stdin.write(task.line(self._number))
                await self._process.stdin.drain()
            try:
                head = await self._head()
            except WorkerEnded:
                raise NotBegun from None
            while "begun" in head or "percent" in head:
                if task.tell and "percent" in head:
                    task.tell(head["percent"])
                head = await self._head()
            if "error" in head:
                raise Faulted(_fault(head))
            return Done(await self._bytes(head.get("length")), head)

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

    async def _head(self) -> dict[str, Any]:
        head = await self._read()
        if head.get("number") != self._number:
            raise WorkerGone
        return head

    async def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            line = await self._process.stdout.readline()
            if not line:
                raise WorkerEnded
            found = json.loads(line)
        except ValueError:  # no JSON, no end of the line, or none within reach
            raise WorkerGone from None
        if not isinstance(found, dict):
            raise WorkerGone
        return found

    async def _bytes(self, length: object) -> bytes:
        assert self._process.stdout is not None
        if not isinstance(length, int) or length < 0:
            raise WorkerGone
        try:
            return await self._process.stdout.readexactly(length)
        except asyncio.IncompleteReadError:
            raise WorkerGone from None


def _fault(head: Mapping[str, Any]) -> Fault:
    try:
        fault = Fault.from_facts(head)
    except (KeyError, TypeError):
        raise WorkerGone from None
    if fault.code not in STATUSES:
        raise WorkerGone
    return fault


def _refusal(said: Mapping[str, Any]) -> DaleniusError:
    """Why a worker did not start, as the error that it met."""
    if said["type"] == LedgerRefused.__name__:
        return LedgerRefused(said["refused"], instead=said["instead"])
    return DaleniusError(said["refused"])


def worker_command(folder: Path, settings: Mapping[str, Any]) -> list[str]:
    """How a worker is started. Nothing secret stands on its command line."""
    return [sys.executable, "-P", "-m", "dalenius.server.workers.worker", str(folder), json.dumps(settings)]
