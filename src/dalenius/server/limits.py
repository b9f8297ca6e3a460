"""How much one token may ask of the server at once and over time, whatever its budget."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields

from dalenius.errors import InvalidParameter
from dalenius.server.faults import TOO_OFTEN, Faulted

_MOST_KNOWN = 10_000
_MOST = 2**62
_PARENT_DIES = 1


@dataclass(frozen=True)
class Limits:
    """The owner's choice: requests a second and at once, jobs, what may wait and how long, and what work may take.

    `seconds` is for an answer, `quick_seconds` for what reads no data, `job_seconds` for jobs; whoever takes longer is
    stopped. A connection has `head_seconds` for the head of a request, `body_seconds` for its body and
    `sending_seconds` to take on a reply that waits. An answer with public keys shows at most `values`, keys times
    columns: the ledger keeps it for ever. `memory` and `cpu_seconds` bound each worker process, if given.
    """

    rate: float = 20
    burst: int = 40
    at_once: int = 4
    jobs: int = 4
    waiting: int = 200
    waiting_seconds: float = 30
    connections: int = 1000
    connections_of_one: int = 200
    head_seconds: float = 10
    body: int = 1_000_000
    values: int = 200_000
    body_seconds: float = 10
    sending_seconds: float = 60
    seconds: float = 60
    quick_seconds: float = 15
    job_seconds: float = 3600
    closing_seconds: float = 60
    memory: int | None = None
    cpu_seconds: int | None = None

    @property
    def patience(self) -> float:
        """How long a task waits for a worker: longer than questions under way may take, so that its turn comes."""
        return max(self.waiting_seconds, self.seconds + self.quick_seconds)

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if not (value is None and part.default is None) and not 0 < value < _MOST:
                raise InvalidParameter(part.name, value, allowed="a number above zero, and not infinity")


class _Use:
    """What one token has used: a bucket that fills at a steady rate, and how many requests are under way."""

    __slots__ = ("at", "drops", "under_way")

    def __init__(self, drops: float, now: float) -> None:
        self.drops, self.at, self.under_way = drops, now, 0


class Quotas:
    """Counts requests for each token, or address where there is no token. What it refuses depends on the requests of
    that token and on the clock alone."""

    def __init__(self, limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._uses: dict[Hashable, _Use] = {}

    @contextmanager
    def admitted(self, name: Hashable) -> Iterator[None]:
        """Let one request of `name` in, or raise."""
        use = self._filled(name)
        if use.drops < 1 or use.under_way >= self._limits.at_once:
            raise Faulted(TOO_OFTEN)
        use.drops -= 1
        use.under_way += 1
        try:
            yield
        finally:
            use.under_way -= 1

    def _filled(self, name: Hashable) -> _Use:
        now, burst = self._clock(), self._limits.burst
        if name not in self._uses and len(self._uses) >= _MOST_KNOWN:
            self._forget(now)
        use = self._uses.setdefault(name, _Use(burst, now))
        use.drops = min(burst, use.drops + (now - use.at) * self._limits.rate)
        use.at = now
        return use

    def _forget(self, now: float) -> None:
        """Forget those whose bucket is full again: they are as good as new. If all are in use, the oldest goes."""
        full = self._limits.burst / self._limits.rate
        gone = [name for name, use in self._uses.items() if now - use.at > full and not use.under_way]
        for name in gone or list(self._uses)[:1]:
            del self._uses[name]


def confine(*, memory: int | None, cpu_seconds: int | None) -> None:
    """Bound what this process may use. Core dumps are off: they would hold rows or tokens."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if cpu_seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    os.umask(0o077)


def end_with_parent() -> None:
    """Have the kernel kill this process with the one that started it, whatever it is doing then (Linux alone).

    What watches the end of the input from a thread waits while another thread holds the interpreter.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGKILL, 0, 0, 0)
