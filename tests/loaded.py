"""Databases of the generator, loaded into an engine once per process, and exact results for tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from changes import Totals, totals_of
from worlds import Database, World, world

from dalenius.engines.duckdb.connection import Limits
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.duckdb.names import OWNER, rows_table
from dalenius.engines.engine import Engine
from dalenius.engines.hashing import identity
from dalenius.engines.reference import ReferenceEngine
from dalenius.privacy.exact import unseal
from dalenius.query.plan import Pass
from dalenius.query.tables import EachRow

ORDER = ("places", "visits", "orders", "lines", "staff", "events")
_NOBODY = {True: "nobody, to be NULL", False: 2**62 + 77}


@lru_cache(maxsize=200)
def duckdb_with(seed: int, name: str) -> DuckDBEngine:
    """The DuckDB engine with a named database of a world; it stays open until the process ends."""
    return duckdb_of(world(seed), world(seed).database(name))


def duckdb_of(here: World, database: Database) -> DuckDBEngine:
    """A DuckDB engine with a database in it. Rows of nobody, which an import refuses, are put there behind its back:
    no scan may count them."""
    engine = DuckDBEngine(limits=Limits(threads=1))
    nobody = _NOBODY[here.texts_as_ids]
    for name in ORDER:
        rows = [row | {"person": nobody} if row.get("person", nobody) is None else row for row in database[name]]
        engine.register(here.tables[name], here.arrow({name: rows}, name))
    _disown(engine, here)
    return engine


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
    return ReferenceEngine(world(seed).tables.values(), world(seed).database(name))


def results(engine: Engine, passes: Sequence[Pass]) -> list[Totals]:
    """The exact results of passes. Only tests may open them."""
    return [totals_of(unseal(engine.run(step))) for step in passes]
