"""Files that only their owner reads, that are replaced as a whole, and locks that end with their process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dalenius.errors import InvalidParameter

try:
    import fcntl
except ImportError:  # there are no such locks on Windows
    fcntl = None  # type: ignore[assignment]

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_PAUSE = 0.02


def make_folder(path: Path) -> None:
    """A folder, and those above it, that only this user can enter, whatever the umask; one that is there is kept."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        path.chmod(PRIVATE_FOLDER)


def replace_text(path: Path, text: str) -> None:
    """Give a file a new content.

    Guarantee: after a crash at any moment the file has the old content or the new one, whole; when this has returned,
    the new one is durable. Nobody but the owner can read it.
    """
    with drafted(path, text) as take:
        take()


@contextmanager
def drafted(path: Path, text: str) -> Iterator[Callable[[], None]]:
    """A new content for a file, durable beside it: there is room for it. It takes its place when what is given here is
    called, and is forgotten otherwise."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.new")

    def take() -> None:
        draft.replace(path)
        sync_folder(path.parent)

    try:
        number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
        with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(PRIVATE_FILE)
        yield take
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Make the names of new and deleted files durable."""
    if os.name == "nt":  # folders cannot be opened there
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def locked(path: Path, *, seconds: float, what: str) -> Iterator[None]:
    """Shut out everybody else who locks this file, in other processes too; wait for them up to `seconds`."""
    number = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        ends = time.monotonic() + seconds
        while not _taken(number):
            if time.monotonic() > ends:
                raise InvalidParameter(
                    "database", "in use", allowed=f"free: another process {what}", hint="Try again when it has ended."
                )
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(number)


def _taken(number: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
