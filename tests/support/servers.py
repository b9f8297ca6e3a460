"""A server in the tests' own process: the whole application over an in-memory transport, with a desk for workers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Self

import httpx

from dalenius.ledger import tokens
from dalenius.ledger.tokens import Tokens
from dalenius.server.app import Front, application
from dalenius.server.faults import STOPPED, TOO_LONG, Faulted, fault_of
from dalenius.server.limits import Limits
from dalenius.server.logs import Log
from dalenius.server.schedule import ReplySchedule
from dalenius.server.workers.handler import TaskHandler
from dalenius.server.workers.workers import Done, Task
from dalenius.session.databases import Database

CHANGED_WORKERS = """
import sys
from dataclasses import dataclass
from dalenius.server.serving import Serving

@dataclass(frozen=True)
class Changed(Serving):
    change: str = ""

    @property
    def command(self):
        worker = "\\nimport sys\\nfrom dalenius.server.workers.worker import main\\nsys.exit(main(*sys.argv[1:]))"
        return [sys.executable, "-c", self.change + worker, *super().command[-2:]]
"""
"""What a server process needs, to start workers that run the text `change` first."""
QUICK = ReplySchedule(step=0.001, fine=0.001, growth=0.5, headroom=0)
"""A grid that costs tests no time."""
GENEROUS = Limits(rate=10_000, burst=100_000, at_once=1000, jobs=100)
COUNT = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.01"}


class DeskWorkers:
    """Does tasks in a thread, one at a time, with one database; `before` is called with each task."""

    def __init__(
        self, database: Database, grid: ReplySchedule, before: Callable[[Task], object] = lambda task: None
    ) -> None:
        self._desk, self._lock, self.before = TaskHandler(database, grid), threading.Lock(), before
        self.alive, self.waiting, self.killed = 1, 0, 0

    def settle_at_once(self) -> None:
        """Let nobody wait until paid work is due."""
        self._desk._database.settle_by(lambda elapsed, expected: None)

    async def do(self, task: Task, *, principal: str) -> Done:
        try:
            async with asyncio.timeout(task.seconds):
                return await asyncio.to_thread(self._done, task)
        except TimeoutError:
            self.killed += 1
            raise Faulted(STOPPED if task.charging else TOO_LONG) from None

    def _done(self, task: Task) -> Done:
        with self._lock:
            try:
                self.before(task)
                reply = self._desk.do(task.what, task.who, task.role, task.given, tell=task.tell)
            except BaseException as error:
                raise Faulted(fault_of(error, charging=task.charging)) from None
        return Done(reply.body if isinstance(reply.body, bytes) else reply.body.encode(), reply.facts)


class Bridge(httpx.BaseTransport):
    """Lets a plain client talk to an application whose loop runs in another thread."""

    def __init__(self, app: Any, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._transport, self._run = httpx.ASGITransport(app), run

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def sent() -> tuple[httpx.Response, bytes]:
            body = request.read()
            again = httpx.Request(request.method, request.url, headers=request.headers, content=body)
            response = await self._transport.handle_async_request(again)
            return response, await response.aread()

        response, body = self._run(sent())
        return httpx.Response(response.status_code, headers=response.headers, content=body)


@dataclass
class Served:
    """A database behind the application. `lines` is its log."""

    database: Database
    grid: ReplySchedule = QUICK
    limits: Limits = GENEROUS
    admin: bool | None = True

    def __post_init__(self) -> None:
        self.lines: list[str] = []
        self.workers = DeskWorkers(self.database, self.grid)
        self.long_workers = DeskWorkers(self.database, self.grid)
        holders = Tokens(self.database._curator.ledger)
        log = Log(self.lines.append)
        self.front = Front(holders, self.workers, self.long_workers, self.grid, self.limits, log, self.admin)
        self.app = application(self.front)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.run(self.front.jobs.close(0))
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Await something in the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def transport(self) -> Bridge:
        return Bridge(self.app, self.run)

    def token(self, who: str, role: str = "analyst") -> str:
        return tokens.issue(self.database._curator.ledger, who, role=role)

    def client(self, token: str = "") -> httpx.Client:
        """A client that sends this token."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(transport=self.transport(), base_url="http://server", headers=headers)

    def of(self, who: str, role: str = "analyst") -> httpx.Client:
        """A client of somebody in a role, with a new token."""
        return self.client(self.token(who, role))


def until(done: Callable[[], bool], *, seconds: float = 10) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.005)
