"""Random plans shared out over worlds, and over several processes where there are many.

A plan's number names it for good: its world is the number modulo `WORLDS`. The plans of a world are tried together, so
that its databases are loaded once.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.replay.joins import joined
from dalenius.engines.conformance.plans import Generated, generated
from dalenius.process import cores

WORLDS = 1_000
EACH = 400
"""Plans over one world at most."""
ALONE = 400
"""Up to so many plans are tried in this process."""
_LEAST, _PAUSE = 50, 0.5
_PARTS = 4
"""Of what is left, each share is so large a part on every machine: the same plans belong to the same number."""
_PROCESSES = min(8, max(2, cores()))
_COLLECTED_AFTER = 50_000
"""New objects between two looks for those that nobody needs any more: there are few, and looking takes time."""


@dataclass(frozen=True)
class PartOutcome:
    """What was tried and found for one plan, or for several."""

    counts: dict[str, int]
    findings: tuple[str, ...] = ()


@dataclass
class TotalOutcome:
    """What all parts come to."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, parts: Iterator[PartOutcome], most: int) -> TotalOutcome:
        """All parts together; after so many findings there is no need for more."""
        tally = cls()
        for part in parts:
            tally.counts.update(part.counts)
            tally.findings += part.findings
            if len(tally.findings) >= most:
                break
        return tally

    def __getitem__(self, name: str) -> int:
        return self.counts[name]


Trying: TypeAlias = Callable[[int, int], Iterator[PartOutcome]]
"""Tries plans over one world: from which number on, and how many."""


@dataclass(frozen=True)
class Share:
    """So many plans of one world, beginning with a number."""

    first: int
    most: int


def shares(number: int, seed: int) -> list[Share]:
    """How so many plans from a seed on are shared out: the first world is the seed's own, the others follow it.

    Shares grow smaller towards the end, so that of a few processes none works long after the others.
    """
    found, left = list[Share](), number
    while left:
        size = min(EACH, left, max(_LEAST, left // _PARTS))
        found.append(Share(seed + len(found), size))
        left -= size
    return found


def numbered(first: int, *, joined_too: bool = False) -> Iterator[Generated]:
    """The plans that compile from a number on, all over the same world; of more joins where these are asked for."""
    make = joined if joined_too else generated
    found = (make(number, worlds=WORLDS) for number in count(first, WORLDS))
    return (plan for plan in found if plan is not None)


def shared(trying: Trying, asked: CheckRequest, usual: int) -> Iterator[PartOutcome]:
    """What comes of all plans; the request's tick is called with the percent of them."""
    number = asked.count or usual
    if number <= ALONE:
        yield from _here(trying, shares(number, asked.seed), asked, number)
    else:
        yield from _in_processes(trying, shares(number, asked.seed), asked, number)


def alone(trying: Trying, asked: CheckRequest, usual: int) -> Iterator[PartOutcome]:
    """What comes of plans over one schema, in this process."""
    number = asked.count or usual
    return _here(trying, [Share(asked.seed, number)], asked, number)


def _here(trying: Trying, parts: list[Share], asked: CheckRequest, number: int) -> Iterator[PartOutcome]:
    done = 0
    for share in parts:
        for part in trying(share.first, share.most):
            done += part.counts.get("plans", 0)
            asked.tick(100 * done / number)
            yield part


def _in_processes(trying: Trying, parts: list[Share], asked: CheckRequest, number: int) -> Iterator[PartOutcome]:
    context = multiprocessing.get_context("spawn")
    done, enough = context.Value("q", 0), context.Event()
    pool = ProcessPoolExecutor(_PROCESSES, mp_context=context, initializer=_begun, initargs=(done, enough))
    try:
        waiting: set[Future[PartOutcome]] = {pool.submit(_together, trying, share) for share in parts}
        while waiting:
            ready, waiting = wait(waiting, timeout=_PAUSE, return_when=FIRST_COMPLETED)
            asked.tick(min(100.0, 100 * done.value / number))
            yield from (future.result() for future in ready)
    finally:
        enough.set()  # after an interrupt, or enough findings: nobody waits for plans that were begun
        pool.shutdown(cancel_futures=True)


_done: Any = None
_enough: Any = None


def _begun(done: Any, enough: Any) -> None:
    global _done, _enough
    _done, _enough = done, enough
    gc.freeze()  # what was imported stays: nobody needs to look through it again and again
    gc.set_threshold(_COLLECTED_AFTER)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process is told, and says when it is enough


def _together(trying: Trying, share: Share) -> PartOutcome:
    counts: dict[str, int] = {}
    findings: list[str] = []
    for part in trying(share.first, share.most):
        for name, size in part.counts.items():
            counts[name] = counts.get(name, 0) + size
        findings += part.findings
        with _done.get_lock():
            _done.value += part.counts.get("plans", 0)
        if len(findings) >= 10 or _enough.is_set():
            break
    return PartOutcome(counts, tuple(findings))
