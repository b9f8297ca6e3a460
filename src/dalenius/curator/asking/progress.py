"""Signs of life of long work: what an analyst sees depends on the clock and the plan alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How long the work has been going on; the percent of rows that are done is for the owner alone."""

    seconds: float
    percent: float | None = None

    def __str__(self) -> str:
        done = "" if self.percent is None else f", {self.percent:.0f} % of the rows"
        return f"{self.seconds:.0f} s{done}"


def ticking(tell: Callable[[Progress], object], *, owner: bool) -> Callable[[float], object]:
    """What an engine calls as time goes by, from now on."""
    started = time.monotonic()
    return lambda percent: tell(Progress(time.monotonic() - started, percent if owner else None))
