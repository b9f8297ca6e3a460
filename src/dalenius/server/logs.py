"""The server's log: a line of JSON for each request, made of public facts, with no place for a value or a token.

Figures about the server for Prometheus: what was asked how often, and what was spent. No figure depends on rows.
"""

from __future__ import annotations

import datetime as dt
import json
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction


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


@dataclass(frozen=True)
class Gauges:
    """How the workers stand at a moment."""

    alive: int
    killed: int
    waiting: int
    jobs: int


@dataclass
class Metrics:
    """Counts replies by route and status."""

    replies: Counter[tuple[str, int]] = field(default_factory=Counter)

    def count(self, route: str, status: int) -> None:
        self.replies[route, status] += 1

    def text(self, gauges: Gauges, *, charges: int, spent: Mapping[str, str]) -> str:
        """All figures, in the text format of Prometheus."""
        replies = [(f'route="{route}",status="{status}"', count) for (route, status), count in self.replies.items()]
        shares = [(f'population="{_quoted(name)}"', float(Fraction(share))) for name, share in spent.items()]
        parts = [
            _family("requests_total", "counter", "Replies by route and status.", sorted(replies)),
            _family("charges_total", "counter", "Charges in the ledger.", [("", charges)]),
            _family("spent_share", "gauge", "Share of a population's budget that was spent.", shares),
            _family("workers_alive", "gauge", "Worker processes.", [("", gauges.alive)]),
            _family("workers_killed_total", "counter", "Workers stopped at a deadline or lost.", [("", gauges.killed)]),
            _family("queue_length", "gauge", "Tasks that wait for a worker.", [("", gauges.waiting)]),
            _family("jobs_running", "gauge", "Jobs under way.", [("", gauges.jobs)]),
        ]
        return "".join(parts)


def _family(name: str, kind: str, about: str, samples: Iterable[tuple[str, float]]) -> str:
    lines = [f"# HELP dalenius_{name} {about}", f"# TYPE dalenius_{name} {kind}"]
    lines += [f"dalenius_{name}{{{labels}}} {value}" if labels else f"dalenius_{name} {value}"
              for labels, value in samples]  # fmt: skip
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
