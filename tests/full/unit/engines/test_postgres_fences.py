"""What a role may not read is not asked for, and rows that are computed when they are read are never met too early."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import psycopg
import pytest

from dalenius.engines.conformance.comparing import Totals, totals_of
from dalenius.engines.postgres import tables
from dalenius.engines.postgres.engine import PostgresEngine
from dalenius.engines.reference.canonical import row_identities
from dalenius.errors import DataMismatch, WorkStopped
from dalenius.privacy.exact import unseal
from dalenius.query.plan.passes import Total
from dalenius.query.plan.relations import Scan
from dalenius.query.tables import EachRow, Table, TableLocation
from dalenius.query.types import Int, Text
from duckdb_tables import aggregate, private
from postgres_server import database, login_role

READER = "columns_reader"
SHAPES = {
    "foreign table": ("far", True),
    "view": ("seen", True),
    "partitioned, one foreign": ("split", True),
    "partitioned twice, one foreign": ("deep", True),
    "parent of a foreign heir": ("parent", True),
    "partitioned": ("near", False),
    "parent": ("old", False),
    "table": ("plain", False),
}
MADE = """
CREATE TABLE plain (id int, x int); CREATE VIEW seen AS SELECT * FROM plain;
CREATE TABLE old (id int, x int); CREATE TABLE heir () INHERITS (old);
CREATE TABLE near (id int, x int) PARTITION BY LIST (x); CREATE TABLE near_1 PARTITION OF near FOR VALUES IN (1);
CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE far (id int, x int) SERVER nowhere;
CREATE TABLE parent (id int, x int); CREATE FOREIGN TABLE far_heir () INHERITS (parent) SERVER nowhere;
CREATE TABLE split (id int, x int) PARTITION BY LIST (x);
CREATE FOREIGN TABLE split_1 PARTITION OF split FOR VALUES IN (1) SERVER nowhere;
CREATE TABLE deep (id int, x int) PARTITION BY LIST (x);
CREATE TABLE deep_1 PARTITION OF deep FOR VALUES IN (1) PARTITION BY LIST (id);
CREATE FOREIGN TABLE deep_1_1 PARTITION OF deep_1 FOR VALUES IN (1) SERVER nowhere;
"""


@pytest.fixture(scope="module")
def address() -> str:
    found = database("")
    execute(found, MADE)
    return found


@pytest.fixture
def engine(address: str) -> Iterator[PostgresEngine]:
    made = PostgresEngine(address)
    yield made
    made.close()


def execute(address: str, sql: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(sql.encode())


def summed(engine: PostgresEngine, table: Table) -> Totals:
    return totals_of(unseal(engine.run(aggregate(Scan(table, "t"), [Total("sum", "t.x")], keys=()))))


# ---- fences


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_is_read_elsewhere_is_fenced(engine: PostgresEngine, shape: str) -> None:
    name, fenced = SHAPES[shape]
    source, _ = engine.described(TableLocation("", name))
    assert source == (f'(SELECT "id", "x" FROM "public"."{name}" OFFSET 0)' if fenced else f'"public"."{name}"')


@pytest.fixture
def remote() -> str:
    """A partitioned table whose partition is a view of the same server, seen from afar; the view leaves out what is no
    number, after a look that takes longer than a condition of a question does."""
    found = database("")
    parts = urlsplit(found)
    execute(
        found,
        f"""
        CREATE EXTENSION postgres_fdw; CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw
          OPTIONS (host '127.0.0.1', port '{parts.port}', dbname '{parts.path[1:]}');
        CREATE USER MAPPING FOR current_user SERVER here OPTIONS (user '{parts.username}');
        CREATE TABLE raw (id int, x text); INSERT INTO raw SELECT i, i::text FROM generate_series(1, 9) i;
        CREATE FUNCTION is_number(t text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
          $$ BEGIN RETURN t ~ '^[0-9]+$'; END $$;
        CREATE VIEW numbers AS SELECT id, x::int AS x FROM raw WHERE public.is_number(x);
        CREATE TABLE split (id int, x int) PARTITION BY RANGE (id);
        CREATE FOREIGN TABLE split_1 PARTITION OF split FOR VALUES FROM (0) TO (10000) SERVER here
          OPTIONS (table_name 'numbers')
        """,
    )
    return found


def test_a_row_that_a_foreign_partition_leaves_out_is_never_looked_at(remote: str) -> None:
    engine, table = PostgresEngine(remote), private("t", {"x": Int(0, 9)})
    try:
        engine.register(table, TableLocation(remote, "split"))
        assert summed(engine, table) == {(): (45,)}
        execute(remote, "INSERT INTO raw VALUES (7, 'Alice')")
        assert summed(engine, table) == {(): (45,)}
    finally:
        engine.close()


def test_the_test_above_notices_a_partition_without_a_fence(remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "has_computed_rows", lambda family: False)
    with pytest.raises(WorkStopped):
        test_a_row_that_a_foreign_partition_leaves_out_is_never_looked_at(remote)


def test_a_table_that_becomes_a_view_is_fenced_at_the_next_look(address: str, engine: PostgresEngine) -> None:
    """Before each question there is a look."""
    place = TableLocation(address, "changing")
    table = replace(private("t", {"x": Int(0, 9)}), place=place)
    execute(address, "CREATE TABLE changing AS SELECT 1 AS id, 5 AS x")
    engine.register(table, place)
    assert engine.dialect.staying["t"].source == '"public"."changing"'
    execute(address, "DROP TABLE changing; CREATE VIEW changing AS SELECT 1 AS id, 6 AS x")
    engine.described(place)
    assert engine.dialect.staying["t"].source == '(SELECT "x", "id" FROM "public"."changing" OFFSET 0)'
    assert summed(engine, table) == {(): (6,)}


@pytest.mark.parametrize(
    ("family", "fenced"),
    [
        ([("r", False)], False),
        ([("p", False), ("r", False), ("r", False)], False),
        ([("r", True)], True),
        ([("p", False), ("r", False), ("r", True)], True),
        ([("p", False), ("f", False)], True),
    ],
)
def test_virtual_columns_are_fenced_like_foreign_tables(family: list[tuple[str, bool]], fenced: bool) -> None:
    assert tables.has_computed_rows(family) is fenced


def test_a_table_with_virtual_columns_is_fenced(address: str, engine: PostgresEngine) -> None:
    with psycopg.connect(address) as connection:
        if connection.info.server_version < 180_000:
            pytest.skip("needs PostgreSQL 18, the first with virtual columns")
    execute(address, "CREATE TABLE virtual (id int, x int, y int GENERATED ALWAYS AS (x + 1) VIRTUAL)")
    assert "OFFSET 0" in engine.described(TableLocation(address, "virtual"))[0]


def test_a_stored_column_needs_no_fence(address: str, engine: PostgresEngine) -> None:
    execute(address, "CREATE TABLE stored (id int, x int, y int GENERATED ALWAYS AS (x + 1) STORED)")
    assert engine.described(TableLocation(address, "stored"))[0] == '"public"."stored"'


# ---- rights to some columns

ROWS = [{"id": 1, "x": 5, "word": "a"}, {"id": 2, "x": 5, "word": "a"}, {"id": 3, "x": 7, "word": "b"}]
EACH = private("falls", {"x": Int(0, 9), "word": Text()}, unit=EachRow(), population="falls")


@pytest.fixture(scope="module")
def limited(address: str) -> str:
    """A table and a view with a column that the role may not read."""
    execute(
        address,
        f"""
        CREATE TABLE half (id int, secret text, x int, word text);
        INSERT INTO half VALUES (1, 's', 5, 'a'), (2, 't', 5, 'a'), (3, 'u', 7, 'b');
        CREATE VIEW half_view AS SELECT * FROM half; {login_role(READER)}
        GRANT SELECT (id, x, word) ON half, half_view TO {READER}
        """,
    )
    return address.replace("dalenius@", f"{READER}@")


@pytest.mark.parametrize("name", ["half", "half_view"])
def test_rights_to_the_declared_columns_are_enough(limited: str, name: str) -> None:
    engine = PostgresEngine(limited)
    people = private("people", {"x": Int(0, 9)})
    try:
        engine.register(people, TableLocation(limited, name))
        assert summed(engine, people) == {(): (17,)}
        engine.register(EACH, TableLocation(limited, name))
        assert summed(engine, EACH) == {(): (17,)}
        assert "secret" not in engine.dialect.staying["falls"].source
    finally:
        engine.close()


@pytest.mark.parametrize("name", ["half", "half_view"])
def test_the_test_above_notices_a_look_at_all_columns(limited: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables.Found, "listing", lambda self, columns: f"(SELECT * FROM {self.name} OFFSET 0)")
    with pytest.raises((DataMismatch, WorkStopped)):
        test_rights_to_the_declared_columns_are_enough(limited, name)


@pytest.mark.parametrize("name", ["half", "half_view"])
def test_each_row_is_the_unit_that_the_reference_says(limited: str, name: str) -> None:
    engine = PostgresEngine(limited)
    engine.register(EACH, TableLocation(limited, name))
    found = engine.fetched(engine.dialect.scan(Scan(EACH, "f")).sql, 60, None)
    assert sorted(map(int, found.column(0).to_pylist())) == sorted(row_identities(EACH, ROWS))
    engine.close()


def test_a_column_that_the_role_may_not_read_is_refused_by_its_name(limited: str) -> None:
    engine = PostgresEngine(limited)
    for table in (private("t", {"secret": Text()}), replace(EACH, columns=(*EACH.columns, ("secret", Text())))):
        with pytest.raises(DataMismatch, match="the role may not read column 'secret'"):
            engine.register(table, TableLocation(limited, "half"))
    with pytest.raises(DataMismatch, match="no column 'nothing'"):
        engine.register(private("t", {"nothing": Text()}), TableLocation(limited, "half"))
    assert engine.dialect.staying == {}
    engine.close()


def test_a_right_that_is_taken_away_is_seen_at_the_next_look(address: str, limited: str) -> None:
    engine = PostgresEngine(limited)
    assert "word" in engine.described(TableLocation(limited, "half"))[1]
    execute(address, f"REVOKE SELECT (word) ON half FROM {READER}")
    assert "word" not in engine.described(TableLocation(limited, "half"))[1]
    execute(address, f"GRANT SELECT (word) ON half TO {READER}")
    engine.close()
