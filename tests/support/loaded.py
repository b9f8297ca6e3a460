"""Databases of the generator, loaded into an engine once per process, and exact results for tests."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from functools import lru_cache

import duckdb

from dalenius.checks.replay.neighbours import database
from dalenius.engines.conformance.comparing import Totals, totals_of
from dalenius.engines.conformance.worlds import ORDER, Database, World, world
from dalenius.engines.duckdb.connection import QueryLimits
from dalenius.engines.duckdb.dialect import OWNER, rows_table, texts_table
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.engine import Engine
from dalenius.engines.hashing import identity
from dalenius.engines.reference.engine import ReferenceEngine
from dalenius.privacy.exact import unseal
from dalenius.query.plan.passes import Pass, Values
from dalenius.query.tables import EachRow, Table
from dalenius.query.types import Text

LIMITS = QueryLimits(threads=1, memory="1GB")
_NOBODY = {True: "nobody, to be NULL", False: 2**62 + 77}


@lru_cache(maxsize=200)
def duckdb_with(seed: int, name: str) -> DuckDBEngine:
    """The DuckDB engine with a named database of a world; it stays open until the process ends."""
    here = world(seed)
    if name == "base":
        return duckdb_of(here, database(here, name))
    base, rows = database(here, "base"), database(here, name)
    folder = _folder()
    shutil.copy(duckdb_with(seed, "base")._file._path, folder)
    changed = [table for table in ORDER if rows[table] is not base[table]]
    _forget(folder, [here.tables[table] for table in changed])
    kept = [here.tables[table] for table in ORDER if table not in changed]
    return _filled(DuckDBEngine(folder, tables=kept, limits=LIMITS), here, rows, changed)


def duckdb_of(here: World, rows: Database) -> DuckDBEngine:
    """A DuckDB engine with a database in it. Rows of nobody, which an import refuses, are put there behind its back:
    no scan may count them."""
    return _filled(DuckDBEngine(_folder(), limits=LIMITS), here, rows, ORDER)


def _filled(engine: DuckDBEngine, here: World, given: Database, names: Sequence[str]) -> DuckDBEngine:
    owner = {"person": _NOBODY[here.texts_as_ids], "number": None}  # nobody states no key
    for name in names:
        rows = [row | owner if row.get("person", owner) is None else row for row in given[name]]
        engine.register(here.tables[name], here.arrow({name: rows}, name))
    _disown(engine, here)
    return engine


def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="dalenius-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _forget(folder: str, tables: Sequence[Table]) -> None:
    with duckdb.connect(f"{folder}/tables.duckdb") as connection:
        for table in tables:
            connection.execute(f"DROP TABLE {rows_table(table)}")
            for index, (_, domain) in enumerate(table.columns):
                if isinstance(domain, Text):
                    connection.execute(f"DROP TABLE {texts_table(table, index)}")


def _disown(engine: DuckDBEngine, here: World) -> None:
    nobody = _NOBODY[here.texts_as_ids]
    number = nobody if isinstance(nobody, int) else identity(nobody)
    with engine._file.writing() as connection:
        for table in here.tables.values():
            if table.protection and not isinstance(table.protection.unit, EachRow):
                connection.execute(f"UPDATE {rows_table(table)} SET {OWNER} = NULL WHERE {OWNER} = {number}")


@lru_cache(maxsize=200)
def reference_with(seed: int, name: str) -> ReferenceEngine:
    """The reference engine with a named database of a world."""
    return ReferenceEngine(world(seed).tables.values(), database(world(seed), name))


def results(engine: Engine, passes: Sequence[Pass]) -> list[Totals]:
    """The exact results of passes. Only tests may open them."""
    return [totals_of(unseal(engine.run(step))) for step in passes]


def quick_results(engine: DuckDBEngine, passes: Sequence[Pass]) -> list[Totals]:
    """The same, straight from the engine's text and connection: half the time where thousands are run."""
    with engine._file.reading() as connection:
        return [_totals(step, connection.execute(engine.compile_sql(step)).fetchall()) for step in passes]


def _totals(step: Pass, rows: list[tuple[object, ...]]) -> Totals:
    width = len(step.child.keys) + isinstance(step, Values)
    found: Totals = {row[:width]: tuple(map(int, row[width:])) for row in rows}  # type: ignore[misc, call-overload]
    assert len(found) == len(rows), "a key occurs twice"
    return found
