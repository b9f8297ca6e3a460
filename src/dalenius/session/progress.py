"""Signs of life of long work: what an analyst sees depends on the clock and the plan alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_BAR, _WHOLE, _REST = 24, "█", "▒"


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


def bar(percent: float) -> str:
    """How much of the work is done, as a bar."""
    done = min(_BAR, int(_BAR * percent / 100))
    return f"{_WHOLE * done}{_REST * (_BAR - done)} {percent:.0f} %"


@contextmanager
def bar_of(what: str) -> Iterator[Callable[[float], None] | None]:
    """What work tells its percent to, and a bar shows on one line while it goes on; None where nobody watches."""
    stream = sys.stderr
    if stream is None or not (stream.isatty() or "ipykernel" in sys.modules):
        yield None
        return

    def show(text: str) -> None:
        stream.write(f"\r{text.ljust(len(what) + _BAR + 10)}")
        stream.flush()

    def tell(percent: float) -> None:
        text = f"{what} ... {bar(percent)}"
        show(text if _can_show(stream.encoding) else text.replace(_WHOLE, "#").replace(_REST, ":"))

    try:
        tell(0)
        yield tell
    finally:
        show("")
        stream.write("\r")


def _can_show(letters: str | None) -> bool:
    try:
        (_WHOLE + _REST).encode(letters or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
