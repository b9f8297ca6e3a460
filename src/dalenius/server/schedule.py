"""When replies leave, and how long they are: on a grid of times and in classes of lengths that the owner chose."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from dalenius.errors import InvalidParameter

LENGTHS = tuple(takewhile(lambda length: length < 2**40, [256, *(1024 * 2**power for power in range(31))]))
"""256 bytes, 1 KiB, and twice as much each time."""


@dataclass(frozen=True)
class ReplySchedule:
    """Points in seconds from a request's arrival: steps of `step` up to `fine`, and `growth` more each time from there;
    and when paid work is over: `headroom` times as long after its charge as its plan is expected to take, rounded up to
    a doubling of `step`, or a later doubling if it is not ready then.

    Guarantee: of the time that paid work took, a reply tells whether it was ready when due, or the next doubling, and
    nothing finer; when it is due depends on the plan and the size classes of tables alone. All else that leaves tells
    the next point.
    """

    step: float = 0.05
    fine: float = 1.0
    growth: float = 0.1
    headroom: float = 1.5

    def __post_init__(self) -> None:
        steps = 0.001 <= self.step <= self.fine <= 3600 and 0.01 <= self.growth <= 10
        if not (steps and 0 <= self.headroom <= 1000):
            raise InvalidParameter(
                "grid", (self.step, self.fine, self.growth, self.headroom),
                allowed="a step of a millisecond or more, at most `fine`, a growth between 1% and 1000%, and a "
                "headroom between 0 and 1000",
            )  # fmt: skip

    @cached_property
    def _points(self) -> tuple[float, ...]:
        """All points up to a year."""
        found = [number * self.step for number in range(1, int(self.fine / self.step + 1e-9) + 1)]
        while found[-1] < 366 * 86_400:
            found.append(found[-1] * (1 + self.growth))
        return tuple(found)

    def number(self, elapsed: float) -> int:
        """Which point comes next: 1 for the first."""
        return bisect_left(self._points, elapsed) + 1

    def due(self, elapsed: float) -> float:
        """The next point at or after `elapsed`, in seconds."""
        return self._points[min(self.number(elapsed), len(self._points)) - 1]

    def over(self, elapsed: float, *, expected: float) -> float:
        """When paid work is over, in seconds from its charge, if it took `elapsed` and its plan `expected`."""
        due = self.step
        while due < max(elapsed, self.headroom * expected):
            due *= 2
        return due


def length_class(length: int) -> int:
    """The least class that a body of this length fits into."""
    return int(LENGTHS[bisect_left(LENGTHS, length)])


def padded(body: bytes, *, filling: bytes = b" ") -> bytes:
    """A body filled up to its class: JSON with spaces, which mean nothing at its end."""
    return body + filling * (length_class(len(body)) - len(body))
