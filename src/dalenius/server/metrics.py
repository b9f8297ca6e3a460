"""Figures about the server for Prometheus: what was asked how often, and what was spent. No figure depends on rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction


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
