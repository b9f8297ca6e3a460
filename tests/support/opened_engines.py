"""The engines that are compared, each opened once in a process and closed with it; PostgreSQL and Spark are real."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import lru_cache
from typing import Any

import postgres_server
import spark_servers
from dalenius.engines.duckdb.connection import QueryLimits
from dalenius.engines.duckdb.dialect import DuckDBDialect
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.postgres.dialect import PostgresDialect
from dalenius.engines.postgres.engine import PostgresEngine
from dalenius.engines.spark.dialect import SparkDialect
from dalenius.engines.spark.engine import SparkEngine

ENGINES = ["duckdb", "postgres", "spark"]
DIALECTS: dict[str, type] = {"duckdb": DuckDBDialect, "postgres": PostgresDialect, "spark": SparkDialect}


@lru_cache(maxsize=3)
def engine(name: str) -> Any:
    """The engine of this name, without tables."""
    stack = ExitStack()
    atexit.register(stack.close)
    made: Any = _made(name, stack)
    stack.callback(made.close)
    return made


def _made(name: str, stack: ExitStack) -> Any:
    if name == "duckdb":
        return DuckDBEngine(limits=QueryLimits(threads=1, memory="1GB"))
    if name == "postgres":
        return PostgresEngine(stack.enter_context(postgres_server.server()))
    return SparkEngine(spark_servers.session())
