"""What somebody who wants a row tries on tables that stay in PostgreSQL: one more person changes no status."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

import dalenius as dl
from dalenius.engines.addresses import staying
from dalenius.engines.postgres import engine as results
from dalenius.engines.postgres import tables
from dalenius.engines.several import Engines
from dalenius.engines.sql import relations
from dalenius.errors import WorkStopped
from dalenius.measuring.measurements import lower
from dalenius.privacy.exact import unseal
from dalenius.session.databases import Database
from placed import READER, as_reader, load, postgres, run

NUMBERS = count(1)
MARK = "\ufeff"
"""A byte order mark: some readers of files take it for no text."""
MARKED = f"CASE WHEN t = 'Alice' THEN '{MARK}a' WHEN t = 'nobody' THEN 'b' ELSE '{MARK}b' END"
NARROW = (
    "SELECT COUNT(*) AS c FROM (SELECT LENGTH(dx) * 2305843009213693952 AS k FROM people WHERE "
    "(dx = 'no' AND n < 6 AND t <> 'x' AND t <> 'xx') OR ('no' = dx AND n > 5 AND t <> 'y')) s WHERE k > 5"
)
"""LENGTH of a text that is known to be 'no' fits; of any other listed one it would not."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture
def schema(server: str) -> str:
    name, rows = f"attacked_{next(NUMBERS)}", range(200)
    load(server, name, "people", pa.table({"id": [*rows], "n": [row % 7 for row in rows], "dx": ["no"] * 200,
                                           "t": [f"person {row}" for row in rows]}))  # fmt: skip
    return name


def opened(server: str, schema: str, table: str = "people") -> Database:
    db = dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=1000), least_share="1e-15")
    db.add_table(
        "people", (as_reader(server), f"{schema}.{table}"), population="people", unit="id",
        max_rows=1, max_groups=1,
        columns={"n": dl.Int(0, 10), "dx": dl.Category("no", "hiv positive"), "t": dl.Text()},
    )  # fmt: skip
    return db


def status(db: Database, sql: str) -> str:
    try:
        db.sql(sql).run(epsilon="0.001", fresh=True)
    except WorkStopped:
        return "stopped"
    return "answered"


def totals(db: Database, sql: str) -> dict[str, int]:
    (step,) = lower(db.sql(sql).question).passes
    found = unseal(db._curator.engine.run(step))
    return dict(zip(found.keys[0].to_pylist(), map(int, found.totals[0]), strict=True))


def test_a_key_with_a_mark_before_it_stays_itself(server: str, schema: str) -> None:
    question = f"SELECT k, COUNT(*) AS c FROM (SELECT {MARKED} AS k FROM people) s GROUP BY k"
    with opened(server, schema) as db:
        assert totals(db, question) == {f"{MARK}b": 200}
        run(server, f"INSERT INTO {schema}.people VALUES (900, 1, 'no', 'Alice')")
        assert totals(db, question) == {f"{MARK}a": 1, f"{MARK}b": 200}


def test_the_test_above_notices_a_reader_that_drops_the_mark(
    server: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = results._read
    monkeypatch.setattr(results, "_read", lambda content, *terms: honest(content.replace(MARK.encode(), b""), *terms))
    with pytest.raises(AssertionError):
        test_a_key_with_a_mark_before_it_stays_itself(server, schema)


def test_a_term_that_relies_on_a_condition_fails_for_nobody(server: str, schema: str) -> None:
    with opened(server, schema) as db:
        assert status(db, NARROW) == "answered"
        run(server, f"UPDATE {schema}.people SET dx = 'hiv positive' WHERE id = 42")
        assert status(db, NARROW) == "answered"


def test_the_test_above_notices_a_filter_that_keeps_other_texts(
    server: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "_narrowed", lambda d, opened, name, domain: d.quote(name))
    with pytest.raises(AssertionError):
        test_a_term_that_relies_on_a_condition_fails_for_nobody(server, schema)


def _view(server: str, schema: str) -> None:
    run(
        server,
        f"CREATE TABLE {schema}.raw AS SELECT i AS id, 1 AS kind, (i % 10)::text AS n FROM generate_series(1, 300) i",
        f"CREATE TABLE {schema}.kinds AS SELECT 1 AS kind, 'number' AS name UNION ALL SELECT 2, 'word'",
        f"CREATE VIEW {schema}.view AS SELECT r.id, r.n::int AS n, 'no' AS dx, 'a' AS t FROM {schema}.raw r "
        f"JOIN {schema}.kinds k USING (kind) WHERE k.name = 'number'",
        f"GRANT SELECT ON {schema}.view TO {READER}",
    )


def test_a_row_that_a_view_leaves_out_is_never_looked_at(server: str, schema: str) -> None:
    _view(server, schema)
    with opened(server, schema, "view") as db:
        question = "SELECT COUNT(*) AS c FROM people WHERE n > 3"
        assert status(db, question) == "answered"
        run(server, f"INSERT INTO {schema}.raw VALUES (7, 2, 'Alice')")
        assert status(db, question) == "answered"


def test_the_test_above_notices_a_view_without_a_fence(
    server: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_FOUND", tables._FOUND.replace("IN ('v', 'f')", "IN ('?')"))
    with pytest.raises(AssertionError):
        test_a_row_that_a_view_leaves_out_is_never_looked_at(server, schema)


def test_a_path_does_not_name_the_tables_that_it_leads_through(server: str, schema: str) -> None:
    load(server, schema, "items", pa.table({"hidden_oid": [1, 2], "n": [1, 2]}))
    with opened(server, schema) as db:
        db.add_table(
            "secret_orders", (as_reader(server), f"{schema}.people"), population="people", unit="id", columns={},
            max_rows=1, max_groups=1, keys={"cust": 2}, rename={"cust": "n"},
        )  # fmt: skip
        db.add_table(
            "items", (as_reader(server), f"{schema}.items"), population="people", columns={"n": dl.Int(0, 9)},
            unit="oid -> secret_orders.cust", max_rows=1, max_groups=1, rename={"oid": "hidden_oid"},
        )  # fmt: skip
        db.grant("ana", tables=["items"], share="1%")
        asked = db.as_analyst("ana").sql("SELECT COUNT(*) AS n FROM items")
        told = f"{asked.explain()} {asked.run(epsilon=1).derivation}"
        assert "a table of the same population" in told
        assert not any(word in told for word in ("secret_orders", "cust", "hidden_oid"))


def test_a_mistyped_password_leaves_the_right_one(server: str, schema: str, tmp_path: Path) -> None:
    address, place = as_reader(server), f"{schema}.people"
    with dl.create(tmp_path / "db") as db:
        db.add_population("people", budget=dl.Budget(epsilon=9))
        db.add_table("t", (address.replace("@", ":hushhush@"), place), population="people", unit="id",
                     max_rows=1, max_groups=1, columns={"n": dl.Int(0, 10)})  # fmt: skip
        engine, mistyped = db._curator.engine, staying((address.replace("@", ":wrong@"), place))
        assert isinstance(engine, Engines)
        assert mistyped is not None
        with pytest.raises(WorkStopped), engine.meeting(mistyped):
            raise WorkStopped
        assert engine._given == {address: "hushhush"}
        assert db.sql("SELECT COUNT(*) AS n FROM t").run(epsilon=1)
