"""Where DuckDB writes what does not fit into memory: encrypted blocks, in files that have no name.

DuckDB's own file system stays disabled behind the lock-down. Its temporary folder is the one place of a file system of
our own, which keeps blocks and nothing else: each is written at a place of a file, and read from there as it was
written. A file lies in the folder of the tables, was deleted when it was made (so that it ends with its process,
whatever happens), and holds what AES-256-GCM makes of the blocks, with a key that is in memory alone. DuckDB's own
encryption of temporary files needs an extension that we do not load.

Text that reached the engine finds nothing there: nothing is listed or found by name, what is written without a place
(as COPY does) or with a name that is not DuckDB's own is refused, and so are a second writer and a read of anything
but a whole block.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import weakref
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

KEPT_FREE = 10**9
"""The bytes of the disk that spilling leaves to others: the ledger must be able to write."""
_PROTOCOL = "spill"
FOLDER = f"{_PROTOCOL}://blocks"
_NAMES = re.compile(rf"{FOLDER}/duckdb_temp_[A-Za-z0-9_-]+(\.tmp|\.block)?")


def let_spill(connection: duckdb.DuckDBPyConnection, folder: Path, most: str) -> None:
    """Let all queries of a database together write at most so much; call it before the lock-down."""
    connection.register_filesystem(Blocks(folder))
    connection.execute("SET temp_file_encryption = false")  # `Blocks` encrypts
    connection.execute(f"SET temp_directory = '{FOLDER}'")
    connection.execute("SET max_temp_directory_size = ?", [most])
    # It makes an aggregate of the window that bounds units, which is kept in memory whatever there is of it.
    connection.execute("SET disabled_optimizers = 'top_n_window_elimination'")


class _SpillFile:
    """Encrypted blocks by their places. Nonce and tag of each stay in memory, so that no block stands for another."""

    def __init__(self, folder: Path, key: bytes, nonces: count[int]) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._folder, self._algorithm, self._nonces = folder, algorithms.AES(key), nonces
        self._blocks: dict[int, tuple[int, bytes, bytes]] = {}
        self._turn = threading.Lock()

    @property
    def size(self) -> int:
        return sum(length for length, _, _ in self._blocks.values())

    def write(self, place: int, block: bytes) -> None:
        if place not in self._blocks and shutil.disk_usage(self._folder).free < KEPT_FREE + len(block):
            raise OSError("the disk is nearly full")
        nonce = next(self._nonces).to_bytes(12, "big")
        cipher = Cipher(self._algorithm, modes.GCM(nonce)).encryptor()
        sealed = cipher.update(block) + cipher.finalize()
        self._at(place, sealed)
        self._blocks[place] = len(block), nonce, cipher.tag

    def read(self, place: int, length: int) -> bytes:
        written, nonce, tag = self._blocks[place]
        if written != length:
            raise OSError("blocks are read as they were written")
        cipher = Cipher(self._algorithm, modes.GCM(nonce, tag)).decryptor()
        return cipher.update(self._from(place, length)) + cipher.finalize()

    def _at(self, place: int, sealed: bytes) -> None:
        with self._turn:
            self._file.seek(place)
            left = memoryview(sealed)
            while left:
                left = left[self._file.write(left) :]

    def _from(self, place: int, length: int) -> bytes:
        with self._turn:
            self._file.seek(place)
            found = b""
            while len(found) < length:
                part = self._file.read(length - len(found))
                if not part:
                    raise OSError("a block is cut off")
                found += part
            return found


class _Handle:
    """An open file for DuckDB, whose threads share it: each has a place of its own, which a block uses up."""

    def __init__(self, file: _SpillFile) -> None:
        self._file, self._place = file, threading.local()

    def seek(self, place: int) -> None:
        self._place.next = place

    def read(self, length: int) -> bytes:
        return self._file.read(self._taken(), length)

    def write(self, block: bytes) -> int:
        self._file.write(self._taken(), block)
        return len(block)

    def flush(self) -> None:
        """Nothing outlives the process."""

    def close(self) -> None:
        """A file goes when DuckDB deletes it."""

    def _taken(self) -> int:
        place = self._place.__dict__.pop("next", None)
        if place is None:
            raise PermissionError("blocks have places")
        return int(place)


class Blocks(AbstractFileSystem):  # type: ignore[misc]
    """The file system: what DuckDB asks of its temporary folder, and nothing else."""

    protocol = _PROTOCOL
    cachable = False

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._place, self._key, self._nonces = folder, os.urandom(32), count()
        self._files: dict[str, _SpillFile] = {}

    def open(self, path: str, mode: str = "rb", **_: Any) -> _Handle:
        """A file: read, made anew, or made where it is not there."""
        if not _NAMES.fullmatch(path):
            raise PermissionError("only blocks are kept here")
        if mode == "wb" and path in self._files:
            raise FileExistsError("each file is written once")
        if mode != "rb" and path not in self._files:
            self._files[path] = _SpillFile(self._place, self._key, self._nonces)
        return _Handle(self._files[path])

    def isfile(self, path: str) -> bool:
        return path in self._files

    def isdir(self, path: str) -> bool:
        return path == FOLDER

    def size(self, path: str) -> int:
        return self._files[path].size

    def rm(self, path: str, recursive: bool = False, maxdepth: int | None = None) -> None:
        self._files.pop(path, None)

    def touch(self, path: str, truncate: bool = True, **_: Any) -> None:
        """DuckDB would cut a file, but does not say where; its place is used again."""

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        return []

    def glob(self, path: str, maxdepth: int | None = None, **_: Any) -> list[str]:
        return []

    def mv(self, path1: str, path2: str, recursive: bool = False, maxdepth: int | None = None, **_: Any) -> None:
        raise PermissionError("blocks stay where they are")

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        raise PermissionError("there is one folder")
