"""The owner's log: why paid work failed. Its texts may depend on rows, so no analyst sees them."""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

OWNER_LOG = "owner.log"
"""The file of the folder that says why paid work failed."""
_KEPT = 1_000
_LONGEST = 10_000_000


@dataclass(frozen=True, slots=True)
class Failure:
    """Paid work that gave no answer: the receipt that stays charged, who asked, and what went wrong."""

    receipt: str
    who: str
    at: dt.datetime
    reason: str
    details: str


class OwnerLog:
    """The last failures, oldest first. `listen` names a function that gets every new one."""

    def __init__(self) -> None:
        self._failures: deque[Failure] = deque(maxlen=_KEPT)
        self._listener: Callable[[Failure], object] | None = None
        self._causes = threading.local()

    def remember(self, cause: BaseException) -> None:
        """Keep what an engine met, for the failure that this thread records next."""
        self._causes.last = cause

    def listen(self, listener: Callable[[Failure], object] | None) -> None:
        """Call `listener` with every new failure; None stops that."""
        self._listener = listener

    def record(self, receipt: str, who: str, error: BaseException) -> None:
        """Write down a failure. It never fails itself: what it met must not reach the analyst either."""
        cause = getattr(self._causes, "last", None)
        self._causes.last = None
        met = [part for part in (cause, error) if part is not None]
        details = "".join(text for part in met for text in traceback.format_exception(part))
        failure = Failure(receipt, who, dt.datetime.now(dt.UTC), type(met[0]).__name__, details)
        self._failures.append(failure)
        try:
            if self._listener:
                self._listener(failure)
        except BaseException:  # noqa: S110 - a broken listener is the owner's, and its error may quote the failure
            pass

    def __iter__(self) -> Iterator[Failure]:
        return iter(tuple(self._failures))

    def __len__(self) -> int:
        return len(self._failures)

    def __getitem__(self, index: int) -> Failure:
        return tuple(self._failures)[index]

    def __repr__(self) -> str:
        return f"<OwnerLog with {len(self)} failures>"


def keep(path: Path, failure: Failure) -> None:
    """Append to the owner's log, a file that only the owner can read: it may quote rows. An old one makes room."""
    if path.exists() and path.stat().st_size > _LONGEST:
        path.replace(path.with_suffix(".old"))
    facts = {**asdict(failure), "at": failure.at.isoformat()}
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
        file.write(json.dumps(facts) + "\n")


def keep_lost(path: Path, *, what: str, who: str, reason: str) -> None:
    """Write down that a worker was lost, who had asked, and why. Where that fails, the reply is none the later."""
    failure = Failure("", who, dt.datetime.now(dt.UTC), "WorkerLost", f"{what}: {reason}\n")
    with suppress(OSError):
        keep(path, failure)
