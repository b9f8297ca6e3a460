"""The server's log: a line of JSON for each request, made of public facts, with no place for a value or a token."""

from __future__ import annotations

import datetime as dt
import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False)
class Seen:
    """What is known of a request so far: the route's name, who holds its token, whether rows may be read for it, and
    how many doublings after it was due its answer was ready."""

    route: str = "none"
    who: str = ""
    reads_rows: bool = False
    late: int = 0


class Log:
    """Writes lines to whoever wants them; without anybody they go nowhere.

    Guarantee: a line is made of the name of a route, a status class, a step of the grid, doublings after an answer was
    due, a name out of the ledger and the time. No header, address, body, text of a question, token or message of an
    error enters it.
    """

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write

    def replied(self, seen: Seen, *, status: int, step: int) -> None:
        """A reply left at a step of the grid."""
        late = {"late": seen.late} if seen.late else {}
        self._line(route=seen.route, status=f"{status // 100}xx", step=step, who=seen.who, **late)

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
