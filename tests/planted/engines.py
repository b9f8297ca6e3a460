"""Bugs in what an engine computes, and in what keeps texts away from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from dalenius.checks.commands import static
from dalenius.checks.commands.planted import Planted
from dalenius.engines.duckdb import codes, connection
from dalenius.engines.duckdb.dialect import DuckDBDialect
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.several import Engines
from dalenius.errors import QueryRefused
from dalenius.session.sessions import Session

from_decimal = codes._from_decimal
sources = static.sources
compile_sql = DuckDBEngine.compile_sql


@contextmanager
def not_a_number_kept() -> Iterator[None]:
    """NaN is no longer looked for, and passes every comparison of a clamp."""

    def careless(domain: Any, double: Any, text: Any) -> Any:
        first, *rest = from_decimal(domain, double, text) or (None,)
        if first is None:
            return None
        return [lambda column: first(column).replace("OR isnan", "AND isnan"), *rest]

    with patch.object(codes, "_from_decimal", careless):
        yield


@contextmanager
def texts_as_written() -> Iterator[None]:
    """Texts that look alike stay apart."""
    wrong = lambda column: f"{column}::VARCHAR"  # noqa: E731
    with patch.object(codes, "text", wrong):
        yield


@contextmanager
def raw_when_refused() -> Iterator[None]:
    """What the reader refuses goes to the engine as it stands."""
    right = Session.sql

    def sql(self: Session, text: str, **more: Any) -> Any:
        try:
            return right(self, text, **more)
        except QueryRefused:
            engine = self._curator.engine
            assert isinstance(engine, Engines)
            with engine.imported._file.reading() as reader:
                reader.execute(text)
            raise

    with patch.object(Session, "sql", sql):
        yield


def at_most_a_million(self: DuckDBEngine, step: Any) -> str:
    """Rows of a result are cut off where they happen to lie, as soon as there are very many."""
    return f"{compile_sql(self, step)} LIMIT 1000000"


def source_with(line: str, path: str = "query/planted.py") -> Callable[[], Any]:
    """The source of the package with one more file."""
    return lambda: patch.object(static, "sources", lambda: {**sources(), path: line})


BUGS = (
    Planted("float sum", ("A3",), "float",
            lambda: patch.object(DuckDBDialect, "summed", lambda d, column: f"sum({column}::DOUBLE)::HUGEINT"),
            count=1_000),
    Planted("NaN through the clamp", ("B1",), "semantics", not_a_number_kept, count=20),
    Planted("texts compared as written", ("B4",), "semantics", texts_as_written, count=200),
    Planted("trim as the engine has it", ("B2",), "semantics",
            lambda: patch.object(DuckDBDialect, "trimmed", lambda d, text: f"trim({text})"), count=20),
    Planted("quotes of constants not doubled", ("L4",), "escape",
            lambda: patch.object(DuckDBDialect, "text_literal", lambda d, text: f"'{text}'"), count=20),
    Planted("a LIMIT in the engine's texts", ("C6", "L4"), "escape",
            lambda: patch.object(DuckDBEngine, "compile_sql", at_most_a_million), count=20),
    Planted("no lock-down", ("L1",), "escape", lambda: patch.object(connection, "_LOCK", ()), count=0),
    Planted("refused texts sent to the engine", ("D5", "L1", "L4"), "escape", raw_when_refused, count=0),
    Planted("SQL from an f-string", ("L4",), "static",
            source_with("def ask(c, name):\n    return c.execute(f'SELECT * FROM {name}')\n")),
    Planted("answers loaded by pickle", ("L5",), "static", source_with("import pickle\n")),
    Planted("a second place that opens exact values", ("C2", "J6"), "static",
            source_with("from dalenius.privacy.exact import unseal\n", "curator/planted.py")),
    Planted("a seed in what is public", ("I1",), "static",
            source_with("def release(value, seed=None):\n    return value\n", "mechanisms/planted.py")),
    Planted("noise drawn in the engine", ("I3",), "static",
            source_with("NOISE = 'SELECT count(*) + random() FROM t'\n", "engines/duckdb/planted.py")),
)  # fmt: skip
