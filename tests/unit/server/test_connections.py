"""Connections that send no whole request, take no reply or come in masses are closed, and the others are answered."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from costs import cases
from dalenius.server.connections import Connection, Connections
from dalenius.server.limits import Limits
from dalenius.server.replies import Framed

HALF = b"GET /v1/hea"
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
LENGTH = 2**24


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers without looking at the body: /slow after half a second, /large with more than a socket holds."""
    if scope["path"] == "/slow":
        await asyncio.sleep(0.5)
    body = b"x" * (LENGTH if scope["path"] == "/large" else 2)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def listening(app: ASGIApp = app, **chosen: Any) -> AsyncIterator[int]:
    """A server in this process, and its port."""
    limits = Limits(**{"head_seconds": 0.3, "sending_seconds": 0.3, **chosen})
    options: Any = {"http": partial(Connection, crowd=Connections(limits))}
    server = uvicorn.Server(
        uvicorn.Config(app, lifespan="off", log_config=None, log_level="critical", access_log=False, **options)
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        work = asyncio.create_task(server._serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        yield int(listener.getsockname()[1])
        server.should_exit = True
        await work


class Caller:
    """A connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def at(cls, port: int, said: bytes = b"") -> Caller:
        caller = cls(*await asyncio.open_connection("127.0.0.1", port))
        await caller.say(said)
        return caller

    async def say(self, said: bytes) -> None:
        self.writer.write(said)
        await self.writer.drain()

    async def answered(self) -> bool:
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
            return head.startswith(b"HTTP/1.1 200") and await self.reader.readexactly(2) == b"xx"
        except (asyncio.IncompleteReadError, ConnectionError):
            return False

    async def closed(self, *, trickle: bytes = b"", seconds: float = 2) -> float:
        """When the server closes it, in seconds from now; a byte is sent every now and then."""
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            try:
                if trickle:
                    await self.say(trickle)
                async with asyncio.timeout(0.05):
                    if not await self.reader.read(2**16):
                        break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        self.writer.close()
        return time.monotonic() - start


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def kept_open(said: bytes, head_seconds: float) -> float:
    """How long a connection lasts that has said something and lets bytes trickle in, at most 1.2 seconds."""
    async with listening(head_seconds=head_seconds) as port:
        caller = await Caller.at(port, said)
        return await caller.closed(trickle=b"a" if said else b"", seconds=1.2)


@cases("said", [b"", HALF, WHOLE + HALF, BODY, WHOLE + BODY], fast=2)
def test_whoever_owes_a_request_is_not_waited_for_however_many_bytes_trickle_in(said: bytes) -> None:
    assert run(kept_open(said, 0.3)) < 1.1


def test_the_test_above_notices_a_connection_that_stays() -> None:
    assert run(kept_open(BODY, 30)) > 1.1


async def said_after_two_ends(app: ASGIApp) -> bytes:
    """All that comes back for a request that ends in two ways, and one more behind it on the same connection."""
    twice = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    async with listening(app) as port:
        caller = await Caller.at(port, twice)
        with suppress(ConnectionError):
            await caller.say(WHOLE)
        said = await caller.reader.read()
        caller.writer.close()
        return said


def test_a_request_with_two_ends_is_refused_and_the_last_of_its_connection() -> None:
    said = run(said_after_two_ends(Framed(app)))
    assert said.startswith(b"HTTP/1.1 400 ")
    assert said.count(b"HTTP/1.1 ") == 1


def test_the_test_above_notices_a_connection_that_goes_on() -> None:
    assert run(said_after_two_ends(app)).count(b"HTTP/1.1 200 ") == 2


def test_a_question_under_way_is_waited_for_and_its_connection_serves_the_next() -> None:
    async def work() -> list[bool]:
        async with listening() as port:
            caller = await Caller.at(port, WHOLE.replace(b"/ ", b"/slow ", 1))
            found = [await caller.answered()]
            for _ in range(3):
                await asyncio.sleep(0.2)
                await caller.say(WHOLE)
                found.append(await caller.answered())
            caller.writer.close()
            return found

    assert run(work()) == [True] * 4


@pytest.mark.parametrize("limit", [{"connections_of_one": 5}, {"connections": 5}])
def test_half_requests_make_room_for_whole_ones(limit: dict[str, int]) -> None:
    """Of those that owe a request the first are closed; whoever sends one at once is answered all the while."""

    async def work() -> tuple[list[bool], bool]:
        async with listening(head_seconds=30, **limit) as port:
            callers = [await Caller.at(port, HALF) for _ in range(8)]
            later = await Caller.at(port, WHOLE)
            answered = await later.answered()
            gone = await asyncio.gather(*(each.closed(seconds=0.2) for each in callers))
            later.writer.close()
            return [seconds < 0.2 for seconds in gone], answered

    assert run(work()) == ([True] * 4 + [False] * 4, True)


def test_questions_under_way_do_not_make_room() -> None:
    """Where none owes a request, the new connection is the one that is closed."""

    async def work() -> tuple[list[bool], bool]:
        async with listening(connections_of_one=2) as port:
            callers = [await Caller.at(port, WHOLE.replace(b"/ ", b"/slow ", 1)) for _ in range(2)]
            await asyncio.sleep(0.1)
            late = await Caller.at(port)
            closed = await late.closed(seconds=0.2) < 0.2
            found = [await caller.answered() for caller in callers]
            for caller in callers:
                caller.writer.close()
            return found, closed

    assert run(work()) == ([True, True], True)


@pytest.mark.parametrize(("sending_seconds", "whole"), [(0.3, False), (30, True)])
def test_whoever_takes_no_reply_is_not_waited_for(sending_seconds: float, whole: bool) -> None:
    async def work() -> int:
        async with listening(sending_seconds=sending_seconds) as port:
            caller = await Caller.at(port, WHOLE.replace(b"/ ", b"/large ", 1))
            await asyncio.sleep(1)
            count = 0
            try:
                while count < LENGTH and (part := await caller.reader.read(2**20)):
                    count += len(part)
            except ConnectionError:
                pass
            caller.writer.close()
            return count

    assert (run(work()) >= LENGTH) == whole


def test_a_reply_on_the_way_does_not_make_room() -> None:
    async def work() -> int:
        async with listening(connections_of_one=1, sending_seconds=30) as port:
            caller = await Caller.at(port, WHOLE.replace(b"/ ", b"/large ", 1))
            await asyncio.sleep(0.2)
            late = await Caller.at(port)
            await late.closed(seconds=0.2)
            head = await caller.reader.readuntil(b"\r\n\r\n")
            body = await caller.reader.readexactly(LENGTH)
            caller.writer.close()
            return len(head and body)

    assert run(work()) == LENGTH


class Idle(asyncio.Transport):
    """A connection on which nothing ever comes."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        return


async def seconds_to_connect(others: int) -> float:
    """How long it takes to let in 300 connections where so many are there, which is the most that may be."""
    crowd, config, state = (
        Connections(Limits(connections=others, connections_of_one=others)),
        uvicorn.Config(app),
        ServerState(),
    )
    config.load()

    def connect(count: int) -> None:
        for _ in range(count):
            Connection(config, state, {}, crowd=crowd).connection_made(Idle())

    connect(others)
    start = time.process_time()
    connect(300)
    return time.process_time() - start


def test_to_connect_takes_as_long_among_many_as_among_few() -> None:
    """Each is compared in its best of three runs."""
    few, many = (min(run(seconds_to_connect(others)) for _ in range(3)) for others in (100, 6000))
    assert many < 4 * few
