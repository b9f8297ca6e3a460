"""Databases of made-up worlds in the embedded engine, made when they are first asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeAlias

import duckdb
import pyarrow as pa

from dalenius.audit.replay.neighbours import database
from dalenius.engines.conformance.comparing import SECONDS, Totals, totals_of
from dalenius.engines.conformance.plans import Generated
from dalenius.engines.conformance.worlds import ORDER, Database, World, owned, world
from dalenius.engines.duckdb.connection import Limits
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.sql.results import cells
from dalenius.query.plan.passes import Pass
from dalenius.query.tables import Table

Loader: TypeAlias = Callable[[int, str], DuckDBEngine]
"""From the seed of a world and the name of one of its databases to an engine that holds it."""
LIMITS = Limits(threads=1, memory="1GB")


def duckdb_of(here: World, rows: Database, names: Collection[str] = ORDER) -> DuckDBEngine:
    """An engine with these tables of a database in it."""
    engine = DuckDBEngine(limits=LIMITS)
    _fill(engine, here, rows, names)
    return engine


def _fill(engine: DuckDBEngine, here: World, rows: Database, names: Collection[str]) -> None:
    """Import these tables of a database. Rows of nobody are left out: an import refuses them."""
    mine = owned({name: rows[name] for name in ORDER if name in names})
    with engine.importing():
        for name in mine:
            engine.register(here.tables[name], here.arrow(mine, name))


def read_by(plan: Generated) -> set[str]:
    """The names of the tables that a plan needs: those that it reads, and the one that lines find their units by."""
    names = {table.name for table in plan.question.relation.tables}
    return names | ({"orders"} if "lines" in names else set())


@lru_cache(maxsize=200)
def duckdb_with(seed: int, name: str) -> DuckDBEngine:
    """An engine with a named database of a world; it stays open until the process ends."""
    here = world(seed)
    return duckdb_of(here, database(here, name))


class Databases:
    """The engines with databases of worlds that are open; closed together, so that many worlds take little room."""

    def __init__(self) -> None:
        self._engines: dict[tuple[int, str], DuckDBEngine] = {}
        self._held: dict[tuple[int, str], set[str]] = {}

    def __call__(self, seed: int, name: str) -> DuckDBEngine:
        return self._with(seed, name, set(ORDER))

    def of(self, plan: Generated) -> Loader:
        """Loads the tables of a plan's populations; those of others wait until a plan needs them."""
        names = {table.name for table in plan.world.tables.values() if _concerns(table, plan)}
        return lambda seed, name: self._with(seed, name, names)

    def _with(self, seed: int, name: str, names: set[str]) -> DuckDBEngine:
        if (seed, name) not in self._engines:
            self._engines[seed, name], self._held[seed, name] = DuckDBEngine(limits=LIMITS), set()
        engine, held = self._engines[seed, name], self._held[seed, name]
        if names - held:
            _fill(engine, world(seed), database(world(seed), name), names - held)
            held |= names
        return engine

    def close(self) -> None:
        """Let go of all of them."""
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()
        self._held.clear()


def _concerns(table: Table, plan: Generated) -> bool:
    return table.protection is None or table.protection.population in plan.question.relation.populations


class Quick(DuckDBEngine):
    """An engine's own file, read in this thread and without a time limit, by a text that is parsed and bound once.

    All else is the engine's, and what fails goes its way. It takes two thirds of the time.
    """

    def __init__(self, engine: DuckDBEngine) -> None:
        vars(self).update(vars(engine))

    def fetched(self, sql: str, seconds: float, tick: Callable[[float], object] | None) -> pa.Table:
        with warnings.catch_warnings(), suppress(duckdb.Error), self._file.reading() as connection:
            warnings.simplefilter("ignore", UserWarning)  # that rows are copied once: here they are few
            return connection.execute(_parsed(sql)).to_arrow_table()
        return super().fetched(sql, seconds, tick)


@lru_cache(maxsize=64)
def _parsed(sql: str) -> duckdb.Statement:
    """A text as the engine reads it, which takes a sixth of the time; the next one to run it is a neighbour."""
    (statement,) = duckdb.extract_statements(sql)
    return statement


def results(engine: DuckDBEngine, passes: Sequence[Pass]) -> list[Totals]:
    """The exact results of passes over made-up rows."""
    return [totals_of(cells(step, engine.fetched(engine.spelled(step), SECONDS, None))) for step in passes]
