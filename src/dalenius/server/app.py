"""The application: requests are authorised and checked from the table of routes, and answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp

from dalenius.ledger.tokens import Holder
from dalenius.server.addresses import host_of, is_loopback
from dalenius.server.faults import DENIED, NO_TOKEN, NOT_ALLOWED, NOT_FOUND, Faulted, fault_of
from dalenius.server.limits import Limits, Quotas
from dalenius.server.logs import Gauges, Log, Metrics, Seen
from dalenius.server.reading import given_of, token_of
from dalenius.server.replies import Framed, arrow_headers, fault_reply, json_reply, reply
from dalenius.server.routes import ARROW, ROUTES, Route, document, permitted
from dalenius.server.schedule import ReplySchedule
from dalenius.server.timing import OnGrid
from dalenius.server.workers.jobs import Jobs, Published, Retries
from dalenius.server.workers.workers import Done, Task, Workers

ADMIN = "/admin/v1"
_PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class Holders(Protocol):
    """Whoever knows tokens."""

    def holder(self, token: str) -> Holder | None:
        """Whom a token stands for, now; None if it does not hold."""


@dataclass
class Front:
    """What the front process knows. It has no table open: whatever touches the folder is done by workers.

    `admin` True offers the admin routes, False does not, and None only to requests that name this machine as their host
    and came through no proxy that says so.
    """

    tokens: Holders
    workers: Workers
    long_workers: Workers
    grid: ReplySchedule = field(default_factory=ReplySchedule)
    limits: Limits = field(default_factory=Limits)
    log: Log = field(default_factory=Log)
    admin: bool | None = False
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.quotas = Quotas(self.limits)
        self.jobs = Jobs(self.long_workers, self.grid, self.limits)
        self.retries = Retries(self.workers)
        self.published = Published(self.workers)


def application(front: Front) -> ASGIApp:
    """The whole server as one ASGI application."""
    offered = [route for route in ROUTES if not route.admin or front.admin is not False]
    contract = document(offered)
    routes: list[StarletteRoute | Mount] = [_routed(front, route, contract) for route in offered if not route.admin]
    if front.admin is not False:
        apart = (replace(route, path=route.path.removeprefix(ADMIN)) for route in offered if route.admin)
        routes.append(Mount(ADMIN, app=_starlette(_routed(front, route, contract) for route in apart)))
    return OnGrid(Framed(_starlette(routes)), front.grid, front.log, front.metrics, jobs=lambda: front.jobs.running)


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
        seen.route, seen.reads_rows = route.name, route.lane == "charged"
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
    if route.admin and front.admin is None and not _from_this_machine(request):
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
        if holder is None:
            return await _public(front, route, contract)
        if route.name in _BY_FRONT:
            return await _BY_FRONT[route.name](front, route, given, holder)
        return await _by_worker(front, route, given, holder, seen)


def _from_this_machine(request: Request) -> bool:
    """Whether a request names this machine as its host, and no proxy has left its mark. A proxy that passes neither on
    cannot be told apart: with one, the admin routes are switched off."""
    loopback = is_loopback(host_of(request.headers.get("host", "")))
    return loopback and not any(name in request.headers for name in _PROXIES)


async def _holder(front: Front, request: Request) -> Holder | None:
    """Whose token it is. Whatever is wrong with a token, the same is done and said."""
    return await run_in_threadpool(front.tokens.holder, token_of(request))


async def _public(front: Front, route: Route, contract: dict[str, object]) -> Response:
    """What anybody may read."""
    known: dict[str, dict[str, object]] = {"health": {"status": "ok"}, "openapi": contract}
    if route.name in known:
        return json_reply(known[route.name])
    task = Task(route.name, "", "anybody", {}, front.limits.quick_seconds)
    return _sent(route, await front.published.do(task))


async def _by_worker(front: Front, route: Route, given: dict[str, object], holder: Holder, seen: Seen) -> Response:
    task = _task(front, route, given, holder)
    done = await front.retries.do(task, principal=holder.who)
    seen.late = done.facts.get("late", 0)
    return _sent(route, done, arrow="charge" in done.facts and bool(given.get("arrow")))


def _task(front: Front, route: Route, given: dict[str, object], holder: Holder) -> Task:
    charging = route.lane in ("charged", "job")
    seconds = {"charged": front.limits.seconds, "job": front.limits.job_seconds}.get(
        route.lane, front.limits.quick_seconds
    )
    name = "run" if charging else route.name
    return Task(name, holder.who, holder.role, given, seconds, charging, urgent=route.admin)


def _sent(route: Route, done: Done, *, arrow: bool = False) -> Response:
    if arrow:
        return reply(done.body, media=ARROW, headers=arrow_headers(done.facts))
    return reply(done.body, status=route.status, media=route.media[0])


async def _start_job(front: Front, route: Route, given: dict[str, object], holder: Holder) -> Response:
    job = front.jobs.start(_task(front, route, given, holder), holder)
    return json_reply(front.jobs.brief(job), status=route.status)


async def _job(front: Front, route: Route, given: dict[str, object], holder: Holder) -> Response:
    return reply(await front.jobs.status(str(given["id"]), holder, _reader(front, holder)))


async def _stop_job(front: Front, route: Route, given: dict[str, object], holder: Holder) -> Response:
    return reply(await front.jobs.stop(str(given["id"]), holder))


def _reader(front: Front, holder: Holder) -> Callable[[str], Awaitable[bytes]]:
    """Reads the stored answer of a job that is done."""

    async def read(receipt: str) -> bytes:
        task = Task("stored", holder.who, holder.role, {"id": receipt}, front.limits.quick_seconds)
        return (await front.workers.do(task, principal=holder.who)).body

    return read


async def _metrics(front: Front, route: Route, given: dict[str, object], holder: Holder) -> Response:
    task = Task("spending", holder.who, holder.role, {}, front.limits.quick_seconds)
    spending = (await front.workers.do(task, principal=holder.who)).facts
    gauges = Gauges(
        front.workers.alive + front.long_workers.alive,
        front.workers.killed + front.long_workers.killed,
        front.workers.waiting + front.long_workers.waiting,
        front.jobs.running,
    )
    text = front.metrics.text(gauges, charges=spending["charges"], spent=spending["spent"])
    return reply(text.encode(), media="text/plain")


_BY_FRONT: Mapping[str, Callable[[Front, Route, dict[str, object], Holder], Awaitable[Response]]] = {
    "start_job": _start_job,
    "job": _job,
    "stop_job": _stop_job,
    "metrics": _metrics,
}
"""What the front process does itself, for somebody with a token."""
