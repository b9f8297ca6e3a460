"""A server in this process: the real application on the real grid, with a desk in a thread in place of workers."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

import httpx

from dalenius.ledger.tokens import Tokens, issue
from dalenius.server.app import Front, application
from dalenius.server.client.connecting import RemoteAnalyst
from dalenius.server.client.wire import Wire
from dalenius.server.faults import Fault, Faulted
from dalenius.server.limits import Limits
from dalenius.server.logs import Log
from dalenius.server.schedule import ReplySchedule
from dalenius.server.workers import worker
from dalenius.server.workers.handler import TaskHandler
from dalenius.server.workers.workers import Done, Task
from dalenius.session.databases import Database

URL = "http://127.0.0.1:8765"
QUICK_GRID = ReplySchedule(step=0.001, fine=0.1, headroom=0)
OPEN_LIMITS = Limits(rate=1e6, burst=10**6, at_once=1000, jobs=1000)
T = TypeVar("T")


class InThread:
    """Does what a worker process does, with the worker's own code, one task at a time."""

    alive, waiting, killed = 1, 0, 0

    def __init__(self, database: Database, grid: ReplySchedule) -> None:
        self._desk, self._thread = TaskHandler(database, grid), ThreadPoolExecutor(1)

    async def do(self, task: Task, *, principal: str) -> Done:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._done, task)

    def _done(self, task: Task) -> Done:
        out = io.BytesIO()
        worker._reply(out, self._desk, {**json.loads(task.line(1)), "tell": False})
        _, head, body = out.getvalue().split(b"\n", 2)
        facts = json.loads(head)
        if "error" in facts:
            raise Faulted(Fault.from_facts(facts))
        return Done(body, facts)

    def close(self) -> None:
        self._thread.shutdown()


class _Bridge(httpx.BaseTransport):
    """Hands the requests of an ordinary client to the application."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._server.run(self._answered(request))

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        sent = httpx.Request(request.method, request.url, headers=request.headers.raw, content=request.read())
        transport = httpx.ASGITransport(self._server.app, raise_app_exceptions=False, client=("127.0.0.1", 1))
        reply = await transport.handle_async_request(sent)
        return httpx.Response(reply.status_code, headers=reply.headers.raw, content=await reply.aread())


class Server:
    """A database behind its application. Lines of the log are kept in `lines`."""

    def __init__(
        self,
        database: Database,
        *,
        grid: ReplySchedule = QUICK_GRID,
        limits: Limits = OPEN_LIMITS,
        admin: bool | None = True,
    ) -> None:
        self.database, self.lines = database, []
        self.workers = InThread(database, grid)
        tokens = Tokens(database._curator.ledger)
        self.front = Front(tokens, self.workers, self.workers, grid, limits, Log(self.lines.append), admin)
        self.app = application(self.front)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    lines: list[str]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def token(self, who: str, role: str = "analyst", **terms: Any) -> str:
        return issue(self.database._curator.ledger, who, role=role, **terms)

    def transport(self) -> httpx.BaseTransport:
        return _Bridge(self)

    def client(self, token: str | None = None) -> httpx.Client:
        """An ordinary client, with or without a token."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=URL, transport=self.transport(), headers=headers, trust_env=False, verify=False)

    def session(self, token: str, transport: httpx.BaseTransport | None = None, **terms: Any) -> RemoteAnalyst:
        """What `dl.connect` gives."""
        return RemoteAnalyst(Wire(URL, token, transport=transport or self.transport(), **terms))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.run(self.front.jobs.close(5))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.workers.close()
        self.database.close()


def facts_of(reply: httpx.Response) -> Mapping[str, Any]:
    """The JSON of a reply."""
    facts: Mapping[str, Any] = json.loads(reply.content)
    return facts
