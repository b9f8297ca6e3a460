"""The embedded engine: DuckDB on the curator's own machine."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dalenius.engines.duckdb import csv_files, folders, passes, snapshots
from dalenius.engines.duckdb.connection import File, Limits, run
from dalenius.engines.duckdb.results import cells
from dalenius.engines.engine import AS_DECLARED, Reading
from dalenius.errors import DataMismatch
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours, require_same
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.process import identity
from dalenius.query.cells import Cells
from dalenius.query.plan.passes import Pass
from dalenius.query.tables import Table


class DuckDBEngine:
    """Snapshots in one DuckDB file of `folder`, or of a private temporary folder that goes with the engine.

    `tables` are those that the file already holds; `log` gets what failed, for the owner alone.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        *,
        tables: Iterable[Table] = (),
        limits: Limits | None = None,
        log: Callable[[BaseException], object] = lambda error: None,
    ) -> None:
        # Without a folder too the rows lie in a file: only a file can be opened read-only.
        place = folders.temporary() if folder is None else Path(folder)
        # At the latest with the process; an engine that nobody closed is no reason for a warning.
        self._delete = weakref.finalize(self, folders.delete, place, identity()) if folder is None else None
        self._limits = limits or Limits()
        self._file, self._log = File(place / "tables.duckdb", self._limits), log
        self._tables = {table.name: table for table in tables}
        with self._file.writing() as connection:
            snapshots.prepare(connection)
        self._file.keep_private()

    def register(self, table: Table, source: Any, *, counts: bool = False, reading: Reading = AS_DECLARED) -> None:
        """Import the rows of a table; raises `DataMismatch` and keeps nothing if they disagree with it."""
        problem: DataMismatch | None = None
        try:
            with self._file.writing() as connection:
                snapshots.write(connection, table, source, self._tables, counts=counts, reading=reading)
            self._tables[table.name] = table
            return
        except DataMismatch as error:
            problem = error
        except Exception as error:
            self._log(error)
            known = csv_files.explained(error) if csv_files.is_csv(source) else None
            problem = DataMismatch(table.name, problem=known[0], instead=known[1]) if known else None
        raise problem or DataMismatch(
            table.name,
            problem="the source could not be read, or this version is there already",
            instead="The owner's log says why; the reason may quote rows.",
        )

    def counted(self, table: Table) -> Table:
        """A public table with its figures; a private one as it is."""
        if table.protection is not None:
            return table
        with self._file.writing() as connection:
            return snapshots.counted(connection, table)

    def spelled(self, step: Pass) -> str:
        """The SQL of a pass; it depends on public facts alone."""
        return passes.spelled(step)

    def run(
        self, step: Pass, *, seconds: float | None = None, tick: Callable[[float], object] | None = None
    ) -> Exact[Cells]:
        """The result of a pass, sealed; stopped after `seconds`, or the engine's own limit."""
        limit = self._limits.seconds if seconds is None else seconds
        table = run(self._file, self.spelled(step), seconds=limit, log=self._log, tick=tick)
        return Exact(cells(step, table), sensitivity=Sensitivity(), neighbours=neighbours(step))

    def close(self) -> None:
        """Close the file; a temporary folder is deleted."""
        self._file.close()
        if self._delete:
            self._delete()


def neighbours(step: Pass) -> Neighbours:
    """The one neighbour relation of the tables that a pass reads."""
    found = {table.name: table.protection.neighbours for table in step.child.tables if table.protection}
    require_same(**found)
    return next(iter(found.values()))
