"""The embedded engine: DuckDB on the curator's own machine.

Temporary folders: private, locked while their process lives, and deleted with it or by the next one.

A process that is killed cannot delete its folder. Each folder is locked (flock) by the process that made it, and the
lock ends with the process whatever happens; a new folder is made only after those without a lock were deleted. Where
there are no such locks, nothing is deleted but one's own.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from dalenius.engines import durations
from dalenius.engines.duckdb import blocks, snapshots
from dalenius.engines.duckdb import sources as csv_files
from dalenius.engines.duckdb.connection import File, QueryLimits, TablesInUse, run
from dalenius.engines.duckdb.dialect import DUCKDB
from dalenius.engines.engine import AS_DECLARED, Divided, Reading
from dalenius.engines.sql.passes import cells, compile_sql
from dalenius.errors import DataMismatch
from dalenius.privacy.exact import Exact
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.process import identity
from dalenius.query.plan.passes import Cells, Pass
from dalenius.query.tables import Table
from dalenius.query.types import Code

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


Found = TypeVar("Found")


class DuckDBEngine:
    """Snapshots in one DuckDB file of `folder`, or of a private temporary folder that goes with the engine.

    `tables` are those that the file already holds; `log` gets what failed, for the owner alone. Several processes read
    the file of a folder at once; one that imports asks the others to let go of it, which they do between questions.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        *,
        tables: Iterable[Table] = (),
        limits: QueryLimits | None = None,
        log: Callable[[BaseException], object] = lambda error: None,
    ) -> None:
        # Without a folder too the rows lie in a file: only a file can be opened read-only.
        place = temporary() if folder is None else Path(folder)
        # At the latest with the process; an engine that nobody closed is no reason for a warning.
        self._delete = weakref.finalize(self, delete, place, identity()) if folder is None else None
        self._limits = limits or QueryLimits()
        path = place / "tables.duckdb"
        self._file, self._log = File(path, self._limits, shared=folder is not None), log
        self._tables = {table.name: table for table in tables}
        self._imported: set[tuple[str, int]] = set()
        self._sizes: dict[tuple[str, int], int] = {}
        if not path.exists():
            with self._file.writing() as connection:
                snapshots.prepare(connection)
            self._file.keep_private()

    def hold(self, tables: Iterable[Table]) -> None:
        """Take over which versions count: those that somebody else has imported too."""
        self._tables = {table.name: table for table in tables}

    def missing(self, tables: Iterable[Table]) -> list[str]:
        """The names of tables whose version is not in the file."""
        unsure = [table for table in tables if (table.name, table.version) not in self._imported]
        if not unsure:
            return []
        rows = self._looked(lambda file: snapshots.rows_of(file, unsure), unsure[0].name)
        self._sizes |= {known: durations.size_class(count) for known, count in rows.items()}
        return [table.name for table in unsure if (table.name, table.version) not in rows]

    def discard(self) -> None:
        """Drop the rows of tables that are not held; where others keep the file, the next import does it."""
        with suppress(TablesInUse, duckdb.Error, OSError), self._file.writing() as connection:
            snapshots.discard_tables(connection, self._tables)

    def release_if_wanted(self) -> bool:
        """Let go of the file if another process wants to import and no question is under way here."""
        return self._file.release_if_wanted()

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Open the file once for all imports within, each of which is written as a whole or not at all."""
        with self._file.writing():
            yield

    def register(
        self,
        table: Table,
        source: Any,
        *,
        counts: bool = False,
        reading: Reading = AS_DECLARED,
        keep_earlier: bool = False,
    ) -> None:
        """Import the rows of a table; raises `DataMismatch` and keeps nothing if they disagree with it."""
        problem: DataMismatch | None = None
        try:
            self._require_new(table)
            with self._file.writing() as connection:
                snapshots.prepare(connection)
                snapshots.discard_orphan(connection, table, self._tables)
                if not keep_earlier:
                    snapshots.discard(connection, self._tables)
                snapshots.write(connection, table, source, self._tables, counts=counts, reading=reading)
                rows = snapshots.rows_of(connection, [table])
            self._tables = {**self._tables, table.name: table}
            self._imported.add((table.name, table.version))
            self._sizes |= {known: durations.size_class(count) for known, count in rows.items()}
            return
        except TablesInUse:
            problem = _in_use(table.name)
        except DataMismatch as error:
            problem = error
        except Exception as error:
            self._log(error)
            known = csv_files.explained(error) if csv_files.is_csv(source) else None
            problem = DataMismatch(table.name, problem=known[0], instead=known[1]) if known else None
        raise problem or DataMismatch(
            table.name,
            problem="the source could not be read",
            instead="The owner's log says why; the reason may quote rows.",
        )

    def _require_new(self, table: Table) -> None:
        known = self._tables.get(table.name)
        if known is not None and table.version <= known.version:
            raise DataMismatch(table.name, problem="this version already exists", instead="Import the next version.")

    def counted(self, table: Table) -> Table:
        """A public table with its figures; a private one as it is."""
        return table if table.protection else self._looked(lambda file: snapshots.counted(file, table), table.name)

    def divide(self, table: Table, column: str, values: Sequence[Code]) -> None:
        """Partition the units of a table's population; raises `DataMismatch` where units now have two of the values."""
        problem: DataMismatch | None = None
        try:
            with self._file.writing() as connection:
                return blocks.divide(connection, table, column, values)
        except TablesInUse:
            problem = _in_use(table.name)
        except DataMismatch as error:
            problem = error
        except Exception as error:
            self._log(error)
        raise problem or DataMismatch(
            table.name, problem="its rows could not be read", instead="The owner's log says why; it may quote rows."
        )

    def divided(self) -> Mapping[str, Divided]:
        """The partitions, by their populations."""
        return self._looked(blocks.divided, next(iter(self._tables), "(none)"))

    def remarks(self, table: str) -> list[str]:
        """What the owner should know of the last import of a table; it says what was found in rows."""
        units, rows = self._looked(lambda file: blocks.left_out(file, table), table)
        known = self._tables.get(table)
        keys = self._looked(lambda file: snapshots.shared_keys(file, known), table) if known and known.claims else []
        if not units:
            return keys
        return [
            f"{units:,} units had values of two blocks, now or compared with an earlier version; {rows:,} of their "
            "rows were left out. A unit stays in its block for ever; leave the value empty where it is not known",
            *keys,
        ]

    def _looked(self, look: Callable[[duckdb.DuckDBPyConnection], Found], table: str) -> Found:
        """What a look into the file gives; what goes wrong is said in other words than the engine's."""
        problem: DataMismatch | None = None
        try:
            with self._file.reading() as connection:
                return look(connection)
        except TablesInUse:
            problem = _in_use(table)
        except (duckdb.Error, OSError) as error:
            self._log(error)
        raise problem or DataMismatch(
            table, problem="the file tables.duckdb cannot be opened",
            instead="Put back a copy of it, or take it away and update all tables.",
        )  # fmt: skip

    def compile_sql(self, step: Pass) -> str:
        """The SQL of a pass; it depends on public facts alone."""
        return compile_sql(step, DUCKDB)

    def expected_seconds(self, step: Pass) -> float:
        """About how long a pass takes, by public facts: the plan, and the size class of each table."""
        return durations.expected_seconds(step, self._size)

    def _size(self, table: Table) -> int:
        """How many rows a table has by the owner's word, a public one by count, and else the class of their number."""
        return table.size or table.rows or self._sizes.get((table.name, table.version), durations.LEAST_CLASS)

    def run(
        self,
        step: Pass,
        *,
        sql: str | None = None,
        seconds: float | None = None,
        tick: Callable[[float], object] | None = None,
    ) -> Exact[Cells]:
        """The result of a pass, sealed; stopped after `seconds`, or the engine's own limit."""
        table = self.fetched(sql or self.compile_sql(step), self._limits.seconds if seconds is None else seconds, tick)
        return Exact(cells(step, table), sensitivity=Sensitivity(), neighbours=step.child.neighbours)

    def fetched(self, sql: str, seconds: float, tick: Callable[[float], object] | None) -> pa.Table:
        """The result of a query, stopped after `seconds`."""
        return run(self._file, sql, seconds=seconds, log=self._log, tick=tick)

    def close(self) -> None:
        """Close the file; a temporary folder is deleted."""
        self._file.close()
        if self._delete:
            self._delete()


def _in_use(table: str) -> DataMismatch:
    return DataMismatch(
        table,
        problem="another process keeps the tables open",
        instead="Wait for the questions that run there, or close the database there, and try again.",
    )
