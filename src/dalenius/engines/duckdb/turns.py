"""Whose turn it is with a file: a lock by which one process tells the others that it wants to write.

The lock ends with its process, whatever happens, so that a marker that was left behind means nothing. Where there are
no such locks, nobody gives way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # there are no such locks on Windows
    fcntl = None  # type: ignore[assignment]


class Turn:
    """The lock beside a file that one process at a time writes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Tell everybody to let go of the file, and wait until nobody else has this turn."""
        number = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(number, fcntl.LOCK_EX)
            yield
        finally:
            os.close(number)

    def wanted(self) -> bool:
        """Whether somebody wants to write the file, or is at it."""
        if fcntl is None:
            return False
        try:
            number = os.open(self._path, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except OSError:
            return True
        finally:
            os.close(number)
