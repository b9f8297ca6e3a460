"""SQLite over the simulated disk, and a ledger's store on top of it that runs the same code as the real one."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import apsw

from dalenius.ledger.stores import SQLiteStore
from faults.disk import Disk, DiskFailed

Result = TypeVar("Result")
_numbers = itertools.count()
_SMALL_LOG = 12
"""Pages in the write-ahead log before they are moved to the database: few, so that power is cut meanwhile as well."""


class SimulatedStore(SQLiteStore):
    """A store whose file lies on a simulated disk. It has one connection, for reading too: the lock is exclusive."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._files, self._name = _Files(disk), name
        super().__init__(None)

    def _connected(self, *settings: str) -> Any:
        connection = _as_sqlite3(lambda: _Connection(self._files, self._name))
        try:
            for setting in ("PRAGMA locking_mode = EXCLUSIVE", *settings, f"PRAGMA wal_autocheckpoint = {_SMALL_LOG}"):
                connection.execute(setting)
        except BaseException:
            with suppress(sqlite3.DatabaseError):
                connection.close()
            raise
        return connection

    def close(self) -> None:
        super().close()
        self._files.unregister()


class SeldomSynced(SimulatedStore):
    """Planted bug: the setting that many use for speed, with which a commit is not synced."""

    def _connected(self, *settings: str) -> Any:
        return super()._connected(
            *(setting.replace("synchronous = FULL", "synchronous = NORMAL") for setting in settings)
        )


class StartedUnsynced(SimulatedStore):
    """Planted bug: what a killed process has written is read, and not synced, when the next one starts."""

    def _connected(self, *settings: str) -> Any:
        return super()._connected(*(setting for setting in settings if "checkpoint" not in setting))


class _Connection:
    """The part of Python's own connection that a store uses, with its errors."""

    def __init__(self, files: _Files, name: str) -> None:
        self._connection = apsw.Connection(name, vfs=files.name)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> _Found:
        return _as_sqlite3(lambda: _Found(self._connection.execute(sql, tuple(parameters)).fetchall()))

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def close(self) -> None:
        _as_sqlite3(lambda: self._connection.close(True))


class _Found:
    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows


def _as_sqlite3(call: Callable[[], Result]) -> Result:
    try:
        return call()
    except apsw.Error as error:
        told = sqlite3.DatabaseError(str(error))
        told.sqlite_errorcode = getattr(error, "extendedresult", 0)
        raise told from None


class _Files(apsw.VFS):
    """A file system of SQLite."""

    def __init__(self, disk: Disk) -> None:
        self.name, self._disk = f"simulated-{next(_numbers)}", disk
        super().__init__(self.name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        _told(lambda: self._disk.make(path))
        flags[1] = flags[0]
        return _File(self._disk, path)

    def xAccess(self, pathname: str, flags: int) -> bool:
        return pathname in self._disk.files

    def xDelete(self, filename: str, syncdir: bool) -> None:
        if filename not in self._disk.files:
            raise apsw.IOError
        _told(lambda: self._disk.delete(filename))

    def xFullPathname(self, name: str) -> str:
        return name

    def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:
        return True


class _File:
    def __init__(self, disk: Disk, name: str) -> None:
        self._disk, self._name = disk, name

    def xRead(self, amount: int, offset: int) -> bytes:
        return _told(lambda: self._disk.read(self._name, amount, offset))

    def xWrite(self, data: Any, offset: int) -> None:
        _told(lambda: self._disk.write(self._name, bytes(data), offset))

    def xTruncate(self, newsize: int) -> None:
        _told(lambda: self._disk.cut(self._name, newsize))

    def xSync(self, flags: int) -> None:
        _told(lambda: self._disk.sync(self._name))

    def xFileSize(self) -> int:
        return len(self._disk.files[self._name])

    def xSectorSize(self) -> int:
        return 512

    def xDeviceCharacteristics(self) -> int:
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xLock(self, level: int) -> None:
        pass

    def xUnlock(self, level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, ptr: int) -> bool:
        return False

    def xClose(self) -> None:
        pass

    def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:
        return True


def _told(call: Callable[[], Result]) -> Result:
    """The disk's failures in the words of SQLite."""
    try:
        return call()
    except DiskFailed as failure:
        raise (apsw.FullError if failure.kind in ("full", "short") else apsw.IOError) from None
