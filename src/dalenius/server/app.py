"""The application: requests are authorised and checked from the table of routes, and replies leave on the grid."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dalenius.curator.tokens import Holder
from dalenius.server.faults import DENIED, INTERNAL, NO_TOKEN, NOT_ALLOWED, NOT_FOUND, Faulted, fault_of
from dalenius.server.grid import Grid
from dalenius.server.jobs import Jobs
from dalenius.server.limits import Limits, Quotas
from dalenius.server.logs import Log, Seen
from dalenius.server.metrics import Gauges, Metrics
from dalenius.server.openapi import document
from dalenius.server.reading import given_of, token_of
from dalenius.server.replies import arrow_headers, fault_reply, json_reply, reply
from dalenius.server.routes import ARROW, ROUTES, Route, permitted
from dalenius.server.workers import Done, Task

ADMIN = "/admin/v1"
_PUBLIC_SECONDS = 1.0
_PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class Holders(Protocol):
    """Whoever knows tokens."""

    def holder(self, token: str) -> Holder | None:
        """Whom a token stands for, now; None if it does not hold."""


class Workers(Protocol):
    """A pool of workers."""

    async def do(self, task: Task, *, asker: str) -> Done:
        """Have a task done; raises `Faulted`."""

    @property
    def alive(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def killed(self) -> int: ...


@dataclass
class Front:
    """What the front process knows. It has no table open: whatever touches the folder is done by workers.

    `admin` True offers the admin routes, False does not, and None only to requests that came through no proxy.
    """

    tokens: Holders
    workers: Workers
    long_workers: Workers
    grid: Grid = field(default_factory=Grid)
    limits: Limits = field(default_factory=Limits)
    log: Log = field(default_factory=Log)
    admin: bool | None = False
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.quotas = Quotas(self.limits)
        self.jobs = Jobs(self.long_workers, self.grid, self.limits)
        self.attempts = Attempts(self.workers)
        self.published: dict[str, tuple[float, Done]] = {}


def application(front: Front) -> ASGIApp:
    """The whole server as one ASGI application."""
    offered = [route for route in ROUTES if not route.admin or front.admin is not False]
    contract = document(offered)
    routes: list[StarletteRoute | Mount] = [_routed(front, route, contract) for route in offered if not route.admin]
    if front.admin is not False:
        apart = (replace(route, path=route.path.removeprefix(ADMIN)) for route in offered if route.admin)
        routes.append(Mount(ADMIN, app=_starlette(_routed(front, route, contract) for route in apart)))
    return OnGrid(_starlette(routes), front)


def _starlette(routes: Iterable[StarletteRoute | Mount]) -> Starlette:
    app = Starlette(routes=list(routes), exception_handlers={HTTPException: _unrouted})
    app.router.redirect_slashes = False
    return app


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return fault_reply(NOT_ALLOWED if error.status_code == 405 else NOT_FOUND)


def _routed(front: Front, route: Route, contract: dict[str, object]) -> StarletteRoute:
    async def endpoint(request: Request) -> Response:
        seen: Seen = request.scope["seen"]
        seen.route = route.name
        try:
            return await _answered(front, route, request, seen, contract)
        except Faulted as faulted:
            return fault_reply(faulted.fault)
        except Exception as error:
            front.log.unforeseen(seen, error)
            return fault_reply(fault_of(error, charging=route.lane == "charged"))

    found = StarletteRoute(route.path, endpoint, methods=[route.method], name=route.name)
    found.methods = {route.method}  # Starlette adds HEAD
    return found


async def _answered(front: Front, route: Route, request: Request, seen: Seen, contract: dict[str, object]) -> Response:
    """Who asks, whether they may, whether too often, what they ask, and the answer: in this order."""
    if route.admin and front.admin is None and any(name in request.headers for name in _PROXIES):
        raise Faulted(NOT_FOUND)
    holder = await _holder(front, request) if route.roles is not None else None
    address = request.client.host if request.client else ""
    with front.quotas.admitted(holder.digest if holder else f"address {address}"):
        if route.roles is not None and holder is None:
            raise Faulted(NO_TOKEN)
        seen.who = holder.who if holder else ""
        if not permitted(route, holder.role if holder else None):
            raise Faulted(DENIED)
        given = await given_of(request, route, front.limits)
        if route.lane == "front" or route.lane == "job":
            return await _by_front(front, route, given, holder, contract)
        return await _by_worker(front, route, given, holder, address)


async def _holder(front: Front, request: Request) -> Holder | None:
    """Whose token it is. Whatever is wrong with a token, the same is done and said."""
    return await run_in_threadpool(front.tokens.holder, token_of(request))


async def _by_worker(
    front: Front, route: Route, given: dict[str, object], holder: Holder | None, address: str
) -> Response:
    if holder is None:
        return _sent(route, await _published(front, route, address))
    task = _task(front, route, given, holder)
    done = await front.attempts.do(task, asker=holder.who)
    return _sent(route, done, arrow="charge" in done.facts and bool(given.get("arrow")))


def _task(front: Front, route: Route, given: dict[str, object], holder: Holder) -> Task:
    charging = route.lane in ("charged", "job")
    seconds = {"charged": front.limits.seconds, "job": front.limits.job_seconds}.get(
        route.lane, front.limits.quick_seconds
    )
    return Task("run" if charging else route.name, holder.who, holder.role, given, seconds, charging)


async def _published(front: Front, route: Route, address: str) -> Done:
    """What anybody may read: worked out once a second at most, however many ask."""
    known = front.published.get(route.name)
    if known is None or time.monotonic() - known[0] > _PUBLIC_SECONDS:
        task = Task(route.name, "", "anybody", {}, front.limits.quick_seconds)
        known = time.monotonic(), await front.workers.do(task, asker=f"address {address}")
        front.published[route.name] = known
    return known[1]


def _sent(route: Route, done: Done, *, arrow: bool = False) -> Response:
    if arrow:
        return reply(done.body, media=ARROW, headers=arrow_headers(done.facts))
    return reply(done.body, status=route.status, media=route.media[0])


async def _by_front(
    front: Front, route: Route, given: dict[str, object], holder: Holder | None, contract: dict[str, object]
) -> Response:
    if route.name == "health":
        return json_reply({"status": "ok"})
    if route.name == "openapi":
        return json_reply(contract)
    assert holder is not None
    if route.name == "start_job":
        job = front.jobs.start(_task(front, route, given, holder), holder)
        return json_reply({"job": job.id, "state": "running", "seconds": 0}, status=route.status)
    if route.name == "job":
        return reply(await front.jobs.status(str(given["id"]), holder, _reader(front, holder)))
    if route.name == "stop_job":
        return reply(await front.jobs.stop(str(given["id"]), holder))
    return await _metrics(front, holder)


def _reader(front: Front, holder: Holder) -> Callable[[str], Awaitable[bytes]]:
    """Reads the stored answer of a job that is done."""

    async def read(receipt: str) -> bytes:
        task = Task("stored", holder.who, holder.role, {"id": receipt}, front.limits.quick_seconds)
        return (await front.workers.do(task, asker=holder.who)).body

    return read


async def _metrics(front: Front, holder: Holder) -> Response:
    task = Task("spending", holder.who, holder.role, {}, front.limits.quick_seconds)
    spending = (await front.workers.do(task, asker=holder.who)).facts
    gauges = Gauges(
        front.workers.alive + front.long_workers.alive,
        front.workers.killed + front.long_workers.killed,
        front.workers.waiting + front.long_workers.waiting,
        front.jobs.running,
    )
    text = front.metrics.text(gauges, charges=spending["charges"], spent=spending["spent"])
    return reply(text.encode(), media="text/plain")


class Attempts:
    """Retries that come while the first attempt is still under way get what it gets: to the ledger it has no answer
    yet, and another one is not sold under the same key."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._under_way: dict[bytes, asyncio.Task[Done]] = {}

    async def do(self, task: Task, *, asker: str) -> Done:
        """Have a task done, or wait for the same one under the same key."""
        key = task.given.get("key")
        if key is None:
            return await self._workers.do(task, asker=asker)
        name = task.line
        work = self._under_way.get(name)
        if work is None:
            work = self._under_way[name] = asyncio.ensure_future(self._workers.do(task, asker=asker))
            work.add_done_callback(lambda _: self._under_way.pop(name, None))
        return await asyncio.shield(work)


class OnGrid:
    """Holds every reply back until it is complete and its time has come.

    Guarantee: no byte leaves between two points of the grid, counted from the request's arrival; whatever fails
    before becomes an error of the fixed vocabulary and leaves on the same grid.
    """

    def __init__(self, app: ASGIApp, front: Front) -> None:
        self._app, self._front = app, front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        arrival = time.monotonic()
        seen, held = Seen(), _Held()
        try:
            await self._app({**scope, "seen": seen}, receive, held)
        except Exception as error:
            self._front.log.unforeseen(seen, error)
            held = _Held()
            await fault_reply(INTERNAL)(scope, receive, held)
        grid, elapsed = self._front.grid, time.monotonic() - arrival
        await asyncio.sleep(arrival + grid.due(elapsed) - time.monotonic())
        await held.release(send)
        self._front.metrics.count(seen.route, held.status)
        self._front.log.replied(seen, status=held.status, step=grid.number(elapsed))


class _Held:
    """Keeps the messages of a reply."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def status(self) -> int:
        return int(self._messages[0]["status"])

    async def release(self, send: Send) -> None:
        for message in self._messages:
            await send(message)
