"""Canaries: a file and a port that nobody has a reason to touch, and a folder that nobody has a reason to change."""

from __future__ import annotations

import hashlib
import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SONG = "canary-d3adc0de-never-read-me"
_LONG_AGO = 1_000_000_000
_SKIPPED = ("tables.wanted",)
"""What the engine itself rewrites while it waits for its turn."""


@dataclass(frozen=True)
class Canaries:
    """A file that was never read, a port that nobody has called, and what the folder held in the beginning."""

    folder: Path
    file: Path
    listening: socket.socket

    @property
    def port(self) -> int:
        port: int = self.listening.getsockname()[1]
        return port

    def sings_in(self, text: object) -> bool:
        """Whether something was made with the file's content."""
        return _SONG in str(text)

    @property
    def touched(self) -> list[str]:
        """What happened to the canaries: nothing, if this is empty."""
        found = []
        if not self.file.exists():
            found.append("the canary file is gone")
        elif reads_show(self.folder) and self.file.stat().st_atime > _LONG_AGO + 1:
            found.append("the canary file was read")  # asked before it is read here
        if self.file.exists() and self.file.read_bytes() != _content():
            found.append("the canary file was changed")
        if select.select([self.listening], [], [], 0)[0]:
            found.append("the canary port was called")
        self.rest()
        return found

    def rest(self) -> None:
        """Forget that the file was looked at."""
        if self.file.exists():
            os.utime(self.file, (_LONG_AGO, _LONG_AGO + 1))


@contextmanager
def canaries(folder: Path) -> Iterator[Canaries]:
    """Canaries in a folder, and on a port of this machine."""
    file = folder / "canary.csv"
    file.write_bytes(_content())
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Canaries(folder, file, listening)
        made.rest()
        yield made


def reads_show(folder: Path) -> bool:
    """Whether the file system notes when a file was last read; not all do."""
    probe = folder / "probe"
    probe.write_bytes(b"x")
    os.utime(probe, (_LONG_AGO, _LONG_AGO + 1))
    probe.read_bytes()
    seen = probe.stat().st_atime > _LONG_AGO + 1
    probe.unlink()
    return seen


def contents(folder: Path) -> dict[str, str]:
    """The hash of every file in a folder, by its name."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in _SKIPPED]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _content() -> bytes:
    return f"alive,words\n1,{_SONG}\n".encode()
