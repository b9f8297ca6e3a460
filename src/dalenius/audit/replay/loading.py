"""Databases of made-up worlds in the embedded engine, made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import TypeAlias

from dalenius.audit.replay.neighbours import database
from dalenius.engines.conformance.comparing import SECONDS, Totals, totals_of
from dalenius.engines.conformance.worlds import ORDER, Database, World, owned, world
from dalenius.engines.duckdb.connection import Limits
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.sql.results import cells
from dalenius.query.plan.passes import Pass

Loader: TypeAlias = Callable[[int, str], DuckDBEngine]
"""From the seed of a world and the name of one of its databases to an engine that holds it."""
LIMITS = Limits(threads=1, memory="1GB")


def duckdb_of(here: World, rows: Database, names: Collection[str] = ORDER) -> DuckDBEngine:
    """An engine with these tables of a database in it. Rows of nobody are left out: an import refuses them."""
    engine, mine = DuckDBEngine(limits=LIMITS), owned(rows)
    for name in (name for name in ORDER if name in names):
        engine.register(here.tables[name], here.arrow(mine, name))
    return engine


@lru_cache(maxsize=200)
def duckdb_with(seed: int, name: str) -> DuckDBEngine:
    """An engine with a named database of a world; it stays open until the process ends."""
    here = world(seed)
    return duckdb_of(here, database(here, name))


class Databases:
    """The engines with databases of worlds that are open; closed together, so that many worlds take little room."""

    def __init__(self) -> None:
        self._engines: dict[tuple[int, str], DuckDBEngine] = {}

    def __call__(self, seed: int, name: str) -> DuckDBEngine:
        if (seed, name) not in self._engines:
            self._engines[seed, name] = duckdb_of(world(seed), database(world(seed), name))
        return self._engines[seed, name]

    def close(self) -> None:
        """Let go of all of them."""
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()


def results(engine: DuckDBEngine, passes: Sequence[Pass]) -> list[Totals]:
    """The exact results of passes over made-up rows."""
    return [totals_of(cells(step, engine.fetched(engine.spelled(step), SECONDS, None))) for step in passes]
