"""What a worker process does: it opens the folder, takes a task a line from its input, and gives a line and a body.

`python -m dalenius.server.workers.worker FOLDER SETTINGS`, started by the server alone.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from dalenius.errors import DaleniusError, LedgerRefused
from dalenius.server.faults import Faulted, fault_of
from dalenius.server.limits import confine, end_with_parent
from dalenius.server.schedule import ReplySchedule
from dalenius.server.workers.handler import TaskHandler
from dalenius.session.databases import open as opened
from dalenius.session.log import OWNER_LOG, keep

_IDLE_SECONDS = 0.25
_TELL_EVERY = 0.5


def main(folder: str, settings: str) -> int:
    """Serve until nothing more can come; 3 if the folder may not be opened."""
    chosen = json.loads(settings)
    out, tasks = _own_output(), _tasks()
    end_with_parent()
    confine(memory=chosen["memory"], cpu_seconds=chosen["cpu_seconds"])
    try:
        database = opened(folder)
    except DaleniusError as error:
        _send(out, _refusal(error))
        return 3
    database.log.listen(lambda failure: keep(Path(folder) / OWNER_LOG, failure))
    desk = TaskHandler(database, ReplySchedule(*chosen["grid"]), values=chosen["values"])
    desk.warm_up()
    _send(out, {"ready": True})
    while True:  # it ends with its input, see below
        _reply(out, desk, _next(tasks, desk))


def _own_output() -> BinaryIO:
    """The pipe to the server, for replies alone: whatever else prints to it goes nowhere."""
    own = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return own


def _refusal(error: DaleniusError) -> dict[str, Any]:
    if isinstance(error, LedgerRefused):
        return {"refused": error.problem, "type": LedgerRefused.__name__, "instead": error.instead}
    return {"refused": str(error), "type": type(error).__name__}


def _tasks() -> queue.SimpleQueue[bytes]:
    """The lines of the input, read aside: when it ends the server is gone, and this process ends at once."""
    found: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            found.put(line)
        os._exit(0)  # a charge under way is durable or was never made; its answer has nobody to go to

    threading.Thread(target=read, daemon=True).start()
    return found


def _next(tasks: queue.SimpleQueue[bytes], desk: TaskHandler) -> dict[str, Any]:
    """The next task. Meanwhile files that the owner wants to write are let go."""
    while True:
        try:
            return dict(json.loads(tasks.get(timeout=_IDLE_SECONDS)))
        except queue.Empty:
            desk.rest()


def _reply(out: BinaryIO, desk: TaskHandler, task: dict[str, Any]) -> None:
    """Say that a task is begun, do it, and send its number, facts and the length of the body, and then the body."""
    _send(out, {"number": task["number"], "begun": True})
    try:
        reply = desk.do(
            task["what"], task["who"], task["role"], task["given"], tell=_teller(out, task), seconds=task["seconds"]
        )
        head, body = reply.facts, reply.body if isinstance(reply.body, bytes) else reply.body.encode()
    except BaseException as error:
        if not isinstance(error, DaleniusError | Faulted):
            desk.note(task["who"], error)
        head, body = fault_of(error, charging=task["what"] == "run").facts, b""
    _send(out, {**head, "number": task["number"], "length": len(body)}, body)


def _teller(out: BinaryIO, task: dict[str, Any]) -> Callable[[float | None], object] | None:
    """Tells the percent of rows that are done, for the owner alone."""
    if not task["tell"] or task["role"] != "owner":
        return None
    last = -_TELL_EVERY

    def tell(percent: float | None) -> None:
        nonlocal last
        if percent is not None and time.monotonic() - last >= _TELL_EVERY:
            last = time.monotonic()
            _send(out, {"number": task["number"], "percent": percent})

    return tell


def _send(out: BinaryIO, head: dict[str, Any], body: bytes = b"") -> None:
    try:
        out.write(json.dumps(head).encode() + b"\n" + body)
        out.flush()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
