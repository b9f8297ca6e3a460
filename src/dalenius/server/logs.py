"""Two logs. The server's: a line of JSON for each request, made of public facts, with no place for a value or a token.
And the owner's, which says why work failed and may quote rows."""

from __future__ import annotations

import datetime as dt
import json
import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from dalenius.curator.log import Failure

OWNER_LOG = "owner.log"
"""The file of the folder that says why paid work failed."""
_LONGEST_LOG = 10_000_000


@dataclass
class Seen:
    """What is known of a request so far: the route's name, and who holds its token."""

    route: str = "none"
    who: str = ""


class Log:
    """Writes lines to whoever wants them; without anybody they go nowhere.

    Guarantee: a line is made of the name of a route, a status class, a step of the grid, a name out of the ledger and
    the time. No header, address, body, text of a question, token or message of an error enters it.
    """

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write

    def replied(self, seen: Seen, *, status: int, step: int) -> None:
        """A reply left at a step of the grid."""
        self._line(route=seen.route, status=f"{status // 100}xx", step=step, who=seen.who)

    def unforeseen(self, seen: Seen, error: BaseException) -> None:
        """Something failed that nobody foresaw: the class of the error and the lines of code, and not its text."""
        frames = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-8:]]
        self._line(route=seen.route, unforeseen=type(error).__name__, at=" ".join(frames))

    def said(self, event: str) -> None:
        """Something about the server itself."""
        self._line(event=event)

    def _line(self, **facts: object) -> None:
        if self._write is not None:
            now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
            self._write(json.dumps({"time": now, **facts}, ensure_ascii=False))


def keep(path: Path, failure: Failure) -> None:
    """Append to the owner's log, a file that only the owner can read: it may quote rows. An old one makes room."""
    if path.exists() and path.stat().st_size > _LONGEST_LOG:
        path.replace(path.with_suffix(".old"))
    facts = {**asdict(failure), "at": failure.at.isoformat()}
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
        file.write(json.dumps(facts) + "\n")


def keep_lost(path: Path, *, what: str, who: str, reason: str) -> None:
    """Write down that a worker was lost, who had asked, and why. Where that fails, the reply is none the later."""
    failure = Failure("", who, dt.datetime.now(dt.UTC), "WorkerLost", f"{what}: {reason}\n")
    with suppress(OSError):
        keep(path, failure)
