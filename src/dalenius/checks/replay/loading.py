"""Made-up databases in the embedded engine, made when they are first asked for, and closed together."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

import duckdb
import pyarrow as pa

from dalenius.checks.replay.neighbours import database
from dalenius.engines.conformance.comparing import SECONDS, Totals, totals_of
from dalenius.engines.conformance.plans import Generated
from dalenius.engines.conformance.worlds import ORDER, Database, World, owned, world
from dalenius.engines.duckdb.connection import QueryLimits
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.sql.passes import cells
from dalenius.query.plan.passes import Pass
from dalenius.query.tables import Table

Loader: TypeAlias = Callable[[int, str], DuckDBEngine]
"""From the seed of a world and the name of one of its databases to an engine that holds it."""
Key = TypeVar("Key", bound=Hashable)
"""What a made-up database is known by."""
LIMITS = QueryLimits(threads=1, memory="1GB")


class OpenEngines(Generic[Key]):
    """Engines that are open, each made when its database is first asked for; closed together."""

    def __init__(self, make: Callable[[Key], DuckDBEngine]) -> None:
        self._make, self._engines = make, dict[Key, DuckDBEngine]()

    def engine(self, key: Key) -> DuckDBEngine:
        if key not in self._engines:
            self._engines[key] = self._make(key)
        return self._engines[key]

    def close(self) -> None:
        """Let go of all of them."""
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()


def filled(tables: Iterable[tuple[Table, pa.Table]], engine: DuckDBEngine | None = None) -> DuckDBEngine:
    """An engine, a new one unless it is given, with these tables in it besides."""
    engine = engine or DuckDBEngine(limits=LIMITS)
    with engine.importing():
        for table, rows in tables:
            engine.register(table, rows)
    return engine


def duckdb_of(here: World, rows: Database, names: Collection[str] = ORDER) -> DuckDBEngine:
    """An engine with these tables of a database in it."""
    return filled(_tables(here, rows, names))


def _tables(here: World, rows: Database, names: Collection[str]) -> Iterable[tuple[Table, pa.Table]]:
    """These tables of a database. Rows of nobody are left out: an import refuses them."""
    mine = owned({name: rows[name] for name in ORDER if name in names})
    return ((here.tables[name], here.arrow(mine, name)) for name in mine)


def read_by(plan: Generated) -> set[str]:
    """The names of the tables that a plan needs: those that it reads, and the one that lines find their units by."""
    names = {table.name for table in plan.question.relation.tables}
    return names | ({"orders"} if "lines" in names else set())


@lru_cache(maxsize=200)
def duckdb_with(seed: int, name: str) -> DuckDBEngine:
    """An engine with a named database of a world; it stays open until the process ends."""
    here = world(seed)
    return duckdb_of(here, database(here, name))


class LoadedDatabases(OpenEngines[tuple[int, str]]):
    """The engines with databases of worlds, which hold no more tables of them than plans have needed."""

    def __init__(self) -> None:
        super().__init__(lambda key: DuckDBEngine(limits=LIMITS))
        self._held = defaultdict[tuple[int, str], set[str]](set)

    def __call__(self, seed: int, name: str) -> DuckDBEngine:
        return self._with(seed, name, set(ORDER))

    def of(self, plan: Generated) -> Loader:
        """Loads the tables of a plan's populations; those of others wait until a plan needs them."""
        names = {table.name for table in plan.world.tables.values() if _concerns(table, plan)}
        return lambda seed, name: self._with(seed, name, names)

    def _with(self, seed: int, name: str, names: set[str]) -> DuckDBEngine:
        engine, held = self.engine((seed, name)), self._held[seed, name]
        if names - held:
            filled(_tables(world(seed), database(world(seed), name), names - held), engine)
            held |= names
        return engine

    def close(self) -> None:
        super().close()
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
    return [totals_of(cells(step, engine.fetched(engine.compile_sql(step), SECONDS, None))) for step in passes]
