"""`dalenius serve`: starts the workers and the front process, and ends both in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path

import uvicorn

from dalenius.catalog.folder import opened
from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.ledger.tokens import Tokens
from dalenius.server.addresses import is_loopback
from dalenius.server.app import Front, application
from dalenius.server.connections import Connection, Connections
from dalenius.server.limits import Limits, confine
from dalenius.server.logs import Log
from dalenius.server.schedule import ReplySchedule
from dalenius.server.workers.pool import Apart, Pool
from dalenius.server.workers.workers import Task, WorkerGone, worker_command
from dalenius.session.log import OWNER_LOG, keep_lost

_LEAST_WORKERS, _MOST_WORKERS, _OTHERS = 2, 1000, 2
_NICE = 10
"""Workers that read rows give way to the others, in whose times their work would show."""
_HEADER_BYTES = 32_768


@dataclass(frozen=True)
class Serving:
    """Where a server listens and how it works.

    `admin` None offers the admin routes on loopback alone. `certificate` and `key` are files for TLS; without them
    only loopback is listened on, unless `insecure` says that something else keeps the way safe.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8765
    admin: bool | None = None
    workers: int | None = None
    grid: ReplySchedule = field(default_factory=ReplySchedule)
    limits: Limits = field(default_factory=Limits)
    certificate: Path | None = None
    key: Path | None = None
    insecure: bool = False

    def __post_init__(self) -> None:
        if self.workers is not None and not _LEAST_WORKERS <= self.workers <= _MOST_WORKERS:
            allowed = f"{_LEAST_WORKERS} or more, so that one slow question does not stop the others"
            raise InvalidParameter("workers", self.workers, allowed=allowed)
        if not 0 <= self.port <= 65_535:
            raise InvalidParameter("port", self.port, allowed="between 0, for any that is free, and 65535")
        if (self.certificate is None) != (self.key is None):
            raise InvalidParameter("certificate", self.certificate, allowed="given together with its key")
        if not (is_loopback(self.host) or self.certificate or self.insecure):
            raise InvalidParameter(
                "host",
                self.host,
                allowed="loopback, unless a certificate and a key for TLS are given",
                hint="Anybody on the way could read tokens. With insecure=True something else has to prevent that.",
            )
        if self.certificate and self.key:
            _require_usable(self.certificate, self.key)

    @property
    def size(self) -> int:
        """How many workers read rows; two more are there for what reads none."""
        return self.workers or max(_LEAST_WORKERS, os.cpu_count() or 1)

    @property
    def offers_admin(self) -> bool | None:
        """Whether the admin routes are there: as said, else on loopback for requests through no proxy."""
        return self.admin if self.admin is not None or is_loopback(self.host) else False

    @property
    def command(self) -> list[str]:
        """How its workers are started."""
        limits = {name: getattr(self.limits, name) for name in ("memory", "cpu_seconds", "values")}
        return worker_command(self.folder, {**limits, "grid": astuple(self.grid)})


def serve(
    serving: Serving,
    *,
    announce: Callable[[str], object] = lambda address: None,
    log: Callable[[str], object] | None = None,
) -> None:
    """Answer until told to stop; `announce` gets the address once it is listened on, `log` the lines of the log.

    Raises `LedgerRefused`, and answers nothing, where the ledger may not be used. At SIGTERM or SIGINT nothing new is
    taken, and what is under way ends.
    """
    confine(memory=None, cpu_seconds=None)
    try:
        asyncio.run(_serving(serving, announce, Log(log)))
    except WorkerGone:
        raise DaleniusError("a worker process could not start; nothing was answered. Try `dalenius check`.") from None


async def _serving(serving: Serving, announce: Callable[[str], object], log: Log) -> None:
    async with opened_front(serving, log) as front:
        server = _server(serving, front)
        with listening(serving) as listener:
            announce(address(serving, listener))
            log.said("started")
            with _told(server):
                await server.serve(sockets=[listener])
    log.said("stopped")


@asynccontextmanager
async def opened_front(serving: Serving, log: Log) -> AsyncIterator[Front]:
    """The front process with its workers, while they are needed."""
    _, ledger = opened(serving.folder)
    limits = serving.limits

    def report(task: Task, reason: str) -> None:
        keep_lost(serving.folder / OWNER_LOG, what=task.what, who=task.who, reason=reason)

    start = partial(Pool, serving.command, waiting=limits.waiting, report=report)
    readers = start(serving.size, patience=limits.patience, nice=_NICE)
    pool = Apart(readers, start(_OTHERS, patience=limits.patience))
    long_pool = start(serving.size, kept=False, nice=_NICE)
    front = Front(Tokens(ledger), pool, long_pool, serving.grid, limits, log, serving.offers_admin)
    try:
        await pool.start()
        yield front
    finally:
        await front.jobs.close(limits.closing_seconds)
        await asyncio.gather(pool.close(), long_pool.close())
        ledger.close()


def listening(serving: Serving) -> socket.socket:
    """A socket that listens."""
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    try:
        listener = socket.create_server((serving.host, serving.port), family=family, backlog=serving.limits.connections)
        # Head and body leave in two parts; without this the second would wait for the client's word on the first.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise InvalidParameter(
            "port", serving.port, allowed=f"free on {serving.host}", hint=f"The system says: {error.strerror}."
        ) from None


def address(serving: Serving, listener: socket.socket) -> str:
    """Where to connect to."""
    scheme = "https" if serving.certificate else "http"
    host = f"[{serving.host}]" if ":" in serving.host else serving.host
    return f"{scheme}://{host}:{listener.getsockname()[1]}"


def _require_usable(certificate: Path, key: Path) -> None:
    """Refuse files that no TLS can be spoken with, before anything is started."""
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError):
        raise InvalidParameter(
            "certificate",
            str(certificate),
            allowed="a file in PEM form that can be read, with a key that belongs to it and has no password",
        ) from None


class _Server(uvicorn.Server):
    """Uvicorn raises the signal that ended it once more, which would end the process before its workers are told."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _server(serving: Serving, front: Front) -> _Server:
    return _Server(
        uvicorn.Config(
            application(front),
            http=partial(Connection, crowd=Connections(serving.limits)),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=int(serving.limits.closing_seconds),
            h11_max_incomplete_event_size=_HEADER_BYTES,
            ssl_certfile=serving.certificate,
            ssl_keyfile=serving.key,
        )
    )


@contextlib.contextmanager
def _told(server: uvicorn.Server) -> Iterator[None]:
    """Signals to end reach the server, where this is the thread that gets them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, ending = asyncio.get_running_loop(), (signal.SIGTERM, signal.SIGINT)
    for number in ending:
        loop.add_signal_handler(number, server.handle_exit, number, None)
    try:
        yield
    finally:
        for number in ending:
            loop.remove_signal_handler(number)
