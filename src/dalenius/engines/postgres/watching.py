"""Whatever is asked of a server ends in time, also where the server does not answer at all."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TypeVar

import psycopg

from dalenius.engines.postgres.connection import Call, Connection

Result = TypeVar("Result")

TICK = 0.5
"""The seconds between two signs of life."""
GRACE = 5.0
"""How many seconds a server has to stop a question, before its connection is cut."""
_CUTTING = 1.0
"""How many seconds are waited for whoever used a connection that was cut."""
_PAUSE = 0.05


def watched(use: Callable[[Call], Result], *, seconds: float, tick: Callable[[float], object] | None = None) -> Result:
    """What `use` gives, which talks to a server in a thread of its own: from finding a connection to giving it back.

    It is stopped after `seconds`, or by an interrupt of the keyboard; what cannot be stopped, as a connection that is
    being made, is left alone. How far it is nobody knows, so `tick` is called with 0.
    """
    call, ends = Call(), time.monotonic() + seconds
    running = _started(lambda: use(call))
    try:
        while tick and not wait([running], timeout=min(TICK, seconds)).done and time.monotonic() < ends:
            tick(0.0)
        return running.result(max(0.0, ends - time.monotonic()))
    except BaseException:
        _stop(call, running)
        raise


def _started(work: Callable[[], Result]) -> Future[Result]:
    """Work in a thread that keeps no process from ending."""
    running: Future[Result] = Future()

    def run() -> None:
        try:
            running.set_result(work())
        except BaseException as error:
            running.set_exception(error)

    threading.Thread(target=run, name="dalenius-query", daemon=True).start()
    return running


def _stop(call: Call, running: Future[Result]) -> None:
    """Cancel until the work has ended; a server that does not hear is hung up on."""
    call.over, patience = True, time.monotonic() + GRACE
    if not running.done():
        _started(lambda: _cancel(call, running, patience))  # apart, since not every driver limits how long it waits
    wait([running], timeout=GRACE)
    while not running.done() and time.monotonic() < patience + _CUTTING:
        _hang_up(call.connection)
        wait([running], timeout=_PAUSE)


def _cancel(call: Call, running: Future[Result], patience: float) -> None:
    """Again and again: what comes before a statement has begun cancels nothing."""
    while not running.done() and time.monotonic() < patience:
        if call.connection is not None:
            with suppress(psycopg.Error):
                call.connection.cancel_safe(timeout=GRACE / 4)
        wait([running], timeout=_PAUSE)


def _hang_up(connection: Connection | None) -> None:
    """End a connection under the thread that waits for it."""
    if connection is not None:
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
