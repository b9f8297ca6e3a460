"""`check rng`: random bits never come twice, whatever processes and threads do, and all come from the system."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.neighbours import AddRemove
from dalenius.randomness.entropy import Entropy, fresh_entropy, system_entropy

Words: TypeAlias = NDArray[np.uint64]

WORKERS, EACH = 8, 1_000
_SPAWNED = """
import os, sys
from dalenius.checks.commands.rng import drawn
sys.stdout.buffer.write(drawn(int(sys.argv[1])).tobytes())
"""


def check(asked: CheckRequest, /) -> Outcome:
    """Draw here, in forked and started processes, in threads and again after a restart; no 64 bits come twice."""
    count = 1_000_000 if asked.count is None else asked.count
    ways: Sequence[tuple[str, Callable[[], Words]]] = (
        (f"{WORKERS} forked processes", lambda: forked(WORKERS, EACH)),
        (f"{WORKERS} started processes", lambda: started(WORKERS, EACH)),
        (f"{WORKERS} threads", lambda: threaded(WORKERS, EACH)),
        ("after everything drawn ahead is dropped", restarted),
        ("this process", lambda: drawn(max(0, count - (3 * WORKERS + 2) * 2 * EACH))),
    )
    parts, figures, findings = list[Words](), list[Figure](), list[str]()
    for place, (what, draw) in enumerate(ways, start=1):
        parts.append(draw())
        again = repeats(parts[-1])
        figures.append(Figure(f"draws of 64 bits: {what}", len(parts[-1]), f"{again} repeated", "0", again == 0))
        asked.tick(80 * place / len(ways))
    everything = np.concatenate(parts)
    again = repeats(everything)
    figures.append(Figure("all of them together", len(everything), f"{again} repeated", "0", again == 0))
    if again:
        findings.append("the same 64 random bits were given twice; shown again by dalenius check rng")
    traced = {name: _traced(use) for name, use in _USES.items()}
    loose = [name for name, source in traced.items() if not source]
    figures.append(
        Figure("ways to draw that end without the system", len(traced), f"{len(loose)} drew on", "0", not loose)
    )
    findings += [f"{name} draws without the operating system; shown again by dalenius check rng" for name in loose]
    asked.tick(100)
    return Outcome("rng", tuple(figures), tuple(findings))


def drawn(count: int, source: Entropy | None = None) -> Words:
    """So many words, half of them one by one as samplers take them."""
    entropy = source or system_entropy()
    single = np.array([entropy.word() for _ in range(min(count // 2, 10 * EACH))], dtype=np.uint64)
    return np.concatenate([single, entropy.words(count - len(single))])


def repeats(words: Words) -> int:
    """Words that came twice. Among a million honest ones there is one with probability below 3e-8."""
    return len(words) - len(np.unique(words))


def forked(workers: int, each: int) -> Words:
    """Words of processes that were forked while there was something drawn ahead, and of this one afterwards."""
    system_entropy().word()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the children never use
        parts = [_forked(2 * each) for _ in range(workers)]
    return np.concatenate([*parts, drawn(2 * each)])


def _forked(count: int) -> Words:
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(send, "wb") as pipe:
                pipe.write(drawn(count).tobytes())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        words = np.frombuffer(pipe.read(), dtype=np.uint64)
    os.waitpid(child, 0)
    return words


def started(workers: int, each: int) -> Words:
    """Words of processes that were started anew."""
    command = [sys.executable, "-c", _SPAWNED, str(2 * each)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(workers)]  # noqa: S603 - our own
    return np.concatenate([np.frombuffer(each.communicate()[0], dtype=np.uint64) for each in running])


def threaded(workers: int, each: int) -> Words:
    """Words of threads that draw at once."""
    parts: list[Words] = []
    threads = [threading.Thread(target=lambda: parts.append(drawn(2 * each))) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.concatenate(parts)


def restarted() -> Words:
    """Words before and after everything that was drawn ahead is dropped."""
    return np.concatenate([drawn(2 * EACH), drawn(2 * EACH, fresh_entropy())])


@contextmanager
def _without_the_system() -> Iterator[None]:
    right = os.urandom

    def silent(size: int) -> bytes:
        raise _NoSystem

    os.urandom = silent
    try:
        yield
    finally:
        os.urandom = right


class _NoSystem(Exception):
    """The operating system gives no random bits."""


def _traced(use: Callable[[], object]) -> bool:
    """Whether a draw ends where the operating system gives nothing: then all that it gives comes from there."""
    with _without_the_system():
        try:
            fresh_entropy()
            use()
        except _NoSystem:
            return True
        finally:
            fresh_entropy()
    return False


_USES: dict[str, Callable[[], object]] = {
    "a single word": lambda: system_entropy().word(),
    "many words": lambda: system_entropy().words(1_000),
    "some bytes": lambda: system_entropy().read(20),
    "many bytes": lambda: system_entropy().read(5_000),
    "a number below another": lambda: system_entropy().below(10**30),
    "noise for one number": lambda: DiscreteLaplace(Fraction(3), neighbours=AddRemove()).release(0, system_entropy()),
    "noise for many numbers": lambda: DiscreteLaplace(Fraction(3), neighbours=AddRemove()).release(
        np.zeros(1_000, dtype=np.int64), system_entropy()
    ),
}
