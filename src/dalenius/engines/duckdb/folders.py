"""Temporary folders: private, locked while their process lives, and deleted with it or by the next one.

A process that is killed cannot delete its folder. Each folder is locked (flock) by the process that made it, and the
lock ends with the process whatever happens; a new folder is made only after those without a lock were deleted. Where
there are no such locks, nothing is deleted but one's own.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dalenius.process import identity

try:
    import fcntl
except ImportError:  # there are no such locks on Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX, _UNLOCKED = "dalenius-locked-", "dalenius-new-"
_locks: dict[Path, int] = {}


def temporary() -> Path:
    """A new folder that only this user can enter, after those of dead processes were deleted."""
    for stale in _stale():
        shutil.rmtree(stale, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=_UNLOCKED))
    lock = None if fcntl is None else _locked(made)
    if lock is None:
        return made
    # It gets the name by which others look for it only now, when they find it locked.
    place = made.rename(made.with_name(made.name.replace(_UNLOCKED, _PREFIX)))
    _locks[place] = lock
    return place


def delete(place: Path, process: tuple[int, int]) -> None:
    """Delete a folder, in the process that made it: a fork that ends must not."""
    if identity() != process:
        return
    shutil.rmtree(place, ignore_errors=True)
    lock = _locks.pop(place, None)
    if lock is not None:
        os.close(lock)


def _stale() -> Iterator[Path]:
    """Folders of this user whose process is gone."""
    if fcntl is None:
        return
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            facts = place.lstat()
            if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
                continue
            lock = _locked(place)
            if lock is not None:
                yield place
                os.close(lock)


def _locked(place: Path) -> int | None:
    """An open lock on a folder, or None if somebody else holds it."""
    number = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return number
    except OSError:
        os.close(number)
        return None
