"""Jobs: answers that nobody waits for. The ledger keeps what they give; this table only knows how they stand.

Work that several wait for: it is done once, and all get what it gives.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from dalenius.ledger.ledger import new_name
from dalenius.ledger.tokens import Holder
from dalenius.server.faults import CLOSING, INTERNAL, NO_JOB, STOPPED, TOO_OFTEN, Fault, Faulted
from dalenius.server.limits import Limits
from dalenius.server.schedule import ReplySchedule
from dalenius.server.workers.workers import Done, Task, Workers

_PUBLIC_SECONDS = 1.0


class _Shared:
    """What is under way, by name. Whoever no longer waits takes nothing from the others."""

    def __init__(self) -> None:
        self._under_way: dict[bytes, asyncio.Task[Done]] = {}

    async def do(self, name: bytes, work: Callable[[], Awaitable[Done]]) -> Done:
        """What the work of this name gives; it is begun unless it is under way."""
        task = self._under_way.get(name)
        if task is None:
            task = self._under_way[name] = asyncio.ensure_future(work())
            task.add_done_callback(lambda ended: self._ended(name, ended))
        return await asyncio.shield(task)

    def _ended(self, name: bytes, task: asyncio.Task[Done]) -> None:
        self._under_way.pop(name, None)
        if not task.cancelled():
            task.exception()  # it is told to those who still wait, if there are any


class Retries:
    """Retries that come while the first attempt is still under way get what it gets: to the ledger it has no answer
    yet, and another one is not sold under the same key."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._shared = workers, _Shared()

    async def do(self, task: Task, *, principal: str) -> Done:
        """Have a task done, or wait for the same one under the same key."""
        if task.given.get("key") is None:
            return await self._workers.do(task, principal=principal)
        return await self._shared.do(task.name, lambda: self._workers.do(task, principal=principal))


class Published:
    """What anybody may read: worked out once a second at most, however many ask."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._shared = workers, _Shared()
        self._known: dict[bytes, tuple[float, Done]] = {}

    async def do(self, task: Task) -> Done:
        """What was worked out within the last second, or is being worked out now."""
        known = self._known.get(task.name)
        if known is not None and time.monotonic() - known[0] <= _PUBLIC_SECONDS:
            return known[1]
        return await self._shared.do(task.name, lambda: self._worked_out(task))

    async def _worked_out(self, task: Task) -> Done:
        done = await self._workers.do(task, principal=task.role)
        self._known[task.name] = time.monotonic(), done
        return done


_MOST_KNOWN = 1000


@dataclass
class Job:
    """One job. What became of it shows from the next point of the grid on, measured from its start."""

    id: str
    who: str
    role: str
    started: float = field(default_factory=time.monotonic)
    percent: float | None = None
    ended: float | None = None
    stopped: float | None = None
    done: Done | None = None
    fault: Fault | None = None
    work: asyncio.Task[None] | None = None
    name: bytes = b""
    """What was asked under which key."""

    def visible_end(self, grid: ReplySchedule) -> float | None:
        """When its end may be seen, in seconds from its start."""
        return None if self.ended is None else grid.due(self.ended - self.started)


class Jobs:
    """The jobs of this process, so many at most; of those that ended the oldest are forgotten first."""

    def __init__(
        self, workers: Workers, grid: ReplySchedule, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._workers, self._grid, self._limits, self._clock = workers, grid, limits, clock
        self._jobs: dict[str, Job] = {}
        self._closing = False

    @property
    def running(self) -> int:
        """How many jobs nobody has seen the end of."""
        return sum(map(self._is_open, self._jobs.values()))

    def start(self, task: Task, holder: Holder) -> Job:
        """Begin a job, unless its holder has as many as are allowed."""
        if self._closing:
            raise Faulted(CLOSING)
        known = self._retried(task) if task.given.get("key") is not None else None
        if known is not None:
            return known
        open_jobs = [job for job in self._jobs.values() if job.who == holder.who and self._is_open(job)]
        if len(open_jobs) >= self._limits.jobs or not self._room():
            raise Faulted(TOO_OFTEN)
        job = Job(new_name(), holder.who, holder.role, self._clock(), name=task.name)
        tell = (lambda percent: setattr(job, "percent", percent)) if holder.role == "owner" else None
        self._jobs[job.id] = job
        job.work = asyncio.get_running_loop().create_task(self._run(job, replace(task, tell=tell)))
        return job

    def _retried(self, task: Task) -> Job | None:
        """The job of an equal attempt under the same key, whose reply was lost: one that runs, is done, or was stopped
        after its charge. One that was refused is started again."""
        for job in self._jobs.values():
            error = self._state(job).get("error")
            if job.name == task.name and (error is None or error["code"] == STOPPED.code):
                return job
        return None

    def _is_open(self, job: Job) -> bool:
        """Whether it runs as far as anybody can see: that it ended may depend on rows until the grid shows it."""
        return bool(self._state(job)["state"] == "running")

    def brief(self, job: Job) -> dict[str, Any]:
        """How a job stands, without what came of it."""
        state = self._state(job)
        return {key: state[key] for key in ("job", "state", "seconds")}

    async def status(self, name: str, holder: Holder, stored: Callable[[str], Awaitable[bytes]]) -> bytes:
        """How a job stands, with its answer if it is done; `stored` reads an answer from the ledger."""
        job = self._of(name, holder)
        state = self._state(job)
        if state["state"] != "done":
            return _written(state)
        assert job.done is not None
        facts = {name: job.done.facts[name] for name in ("left", "replayed")}
        answer = await stored(job.done.facts["receipt"])
        return _written({**state, **facts})[:-1] + b',"answer":' + answer + b"}"

    async def stop(self, name: str, holder: Holder) -> bytes:
        """Stop a job whose end was not seen yet; its charge stays."""
        job = self._of(name, holder)
        if self._state(job)["state"] == "running":
            if job.work is not None:
                job.work.cancel()
                with suppress(asyncio.CancelledError):
                    await job.work
            job.done, job.fault, job.stopped = None, STOPPED, self._clock()
        return _written(self.brief(job))

    async def close(self, seconds: float) -> None:
        """Take no more jobs, wait so long for those under way, and stop what is left of them."""
        self._closing = True
        work = [job.work for job in self._jobs.values() if job.work is not None and not job.work.done()]
        if work:
            await asyncio.wait(work, timeout=seconds)
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    async def _run(self, job: Job, task: Task) -> None:
        try:
            job.done = await self._workers.do(task, principal=job.who)
        except Faulted as faulted:
            job.fault = faulted.fault
        except Exception:
            job.fault = STOPPED
        finally:
            job.ended = self._clock()

    def _state(self, job: Job) -> dict[str, Any]:
        elapsed, end = self._clock() - job.started, job.visible_end(self._grid)
        if job.stopped is not None:
            return {"job": job.id, "state": "stopped", "seconds": int(job.stopped - job.started), **STOPPED.facts}
        if end is None or elapsed < end:
            percent = {"percent": round(job.percent)} if job.percent is not None else {}
            return {"job": job.id, "state": "running", "seconds": int(elapsed), **percent}
        seconds = math.ceil(end)
        if job.fault is None and job.done is not None:
            return {"job": job.id, "state": "done", "seconds": seconds}
        fault = job.fault or INTERNAL
        return {"job": job.id, "state": "stopped", "seconds": seconds, **fault.facts}

    def _of(self, name: str, holder: Holder) -> Job:
        """A job of this holder; those of others do not exist."""
        job = self._jobs.get(name)
        if job is None or (job.who, job.role) != (holder.who, holder.role):
            raise Faulted(NO_JOB)
        return job

    def _room(self) -> bool:
        """Whether there is room for one more, after the oldest that ended was forgotten."""
        if len(self._jobs) < _MOST_KNOWN:
            return True
        ended = next((job.id for job in self._jobs.values() if not self._is_open(job)), "")
        return self._jobs.pop(ended, None) is not None


def _written(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, ensure_ascii=False).encode()
