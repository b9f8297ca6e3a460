"""Passes over PostgreSQL tables give what the reference gives, from SQL without randomness, float sums or shadows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from dalenius.engines.conformance.comparing import Totals, totals_of
from dalenius.engines.postgres.dialect import PostgresDialect
from dalenius.engines.postgres.engine import PostgresEngine
from dalenius.engines.reference.engine import ReferenceEngine
from dalenius.engines.sql import passes, relations
from dalenius.errors import DataMismatch, QueryRefused
from dalenius.privacy.exact import unseal
from dalenius.query.expressions import Column
from dalenius.query.plan.passes import Aggregate, DistinctValues, Pass, Total, Values
from dalenius.query.plan.relations import (
    Bound,
    Clamp,
    Distinct,
    Filter,
    Group,
    Join,
    Project,
    Relation,
    Scan,
    Union,
    UnitFilter,
    UnitTotal,
)
from dalenius.query.tables import EachRow, ForeignKey, Table, TableLocation
from dalenius.query.types import Bool, Category, Int, Number, Real, Text
from duckdb_tables import aggregate, private, scanned
from postgres_server import database, login_role

VISITS = private(
    "visits",
    {
        "city": Category("Oslo", "Bodø"), "icd": Text(), "cost": Int(-50, 100, nullable=True), "old": Bool(),
        "rate": Real(-1, 1, step="0.01", nullable=True),
    },
    keys=("number",),
    claims=(("number", 3),),
)  # fmt: skip
ROWS = {
    "id": [1, 1, 1, 1, 2, 2, 3, 4, 4, 4],
    "city": ["Oslo", "Oslo", "Oslo", None, "Oslo", "Bodø", "Bodø", None, None, "x"],
    "icd": ["a", "b", "b", "c", "a", "é", "e\u0301", "A", "a", "z"],
    "cost": [10, -7, None, 5, 100, 900, -900, 1, 2, None],
    "old": [True, True, False, True, False, False, True, True, True, True],
    "rate": [0.1, 0.2, float("nan"), float("inf"), -0.005, 0.005, None, 5e-324, -1e308, 0.3],
    "number": [11, 12, 13, 14, 21, 22, 31, 41, 41, 43],
}
LINES = private(
    "lines",
    {"number": Int(0, 99), "unit": Text(), "amount": Int(-3, 30)},
    unit=ForeignKey("number", "visits", "number"),
    above=[VISITS],
)
LINE_ROWS = {
    "number": [11, 41, 41, 77, 22, 11],
    "unit": ["kg", "g", "kg", "kg", "g", "g"],
    "amount": [1, 2, 3, 4, 5, 99],
}
EVENTS = private("events", {"kind": Text(), "value": Int(0, 9, nullable=True)}, unit=EachRow(), population="events")
EVENT_ROWS = {"kind": ["a", "a", "a", None, "b"], "value": [1, 1, 2, 3, None], "unit": [1, 2, 3, 4, 5],
              "content": [1, 2, 3, 4, 5], "copy": [1, 2, 3, 4, 5]}  # fmt: skip
TABLES: dict[str, tuple[Table, dict[str, Any]]] = {
    "visits": (VISITS, ROWS),
    "lines": (LINES, LINE_ROWS),
    "events": (EVENTS, EVENT_ROWS),
}


@pytest.fixture(scope="module", params=["numbers", "texts"])
def engine(request: pytest.FixtureRequest) -> Iterator[PostgresEngine]:
    """The tables in a database; units are numbers, or texts that print them."""
    address = database()
    kind = "bigint" if request.param == "numbers" else "text"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE visits (id {kind}, city text, icd varchar, cost int, old boolean, rate float8, number int);"
            "CREATE SCHEMA shop; CREATE TABLE shop.lines (number bigint, unit text, amount smallint);"
            "CREATE TABLE event (kind text, value int, unit int, content int, copy int);"
            "CREATE VIEW events AS SELECT * FROM event".encode()
        )
        for name, rows in (("visits", ROWS), ("shop.lines", LINE_ROWS), ("event", EVENT_ROWS)):
            with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
                for row in zip(*rows.values(), strict=True):
                    copy.write_row(row)
        connection.execute(limited(name := "reader_of_" + kind).encode())
    made = PostgresEngine(address.replace("dalenius@", f"{name}@"))
    made.register(VISITS, TableLocation(address, "visits"))
    made.register(LINES, TableLocation(address, "shop.lines"))
    made.register(EVENTS, TableLocation(address, "events"))
    yield made
    made.close()


def limited(role: str) -> str:
    """A role that may SELECT, and may call no function that gives something else each time and no sum of floats."""
    return f"""
        {login_role(role)} GRANT USAGE ON SCHEMA shop TO {role};
        GRANT SELECT ON visits, shop.lines, events TO {role};
        DO $$ DECLARE found regprocedure; BEGIN
          FOR found IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
            AND (provolatile = 'v' OR prokind = 'a' AND proargtypes::oid[] && ARRAY[700, 701]::oid[]) LOOP
            EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', found);
          END LOOP; END $$
    """


@pytest.fixture
def reference(engine: PostgresEngine) -> ReferenceEngine:
    rows = {name: pa.table(content).to_pylist() for name, (_, content) in TABLES.items()}
    if engine.dialect.kind_of_units("people") == "text":
        rows["visits"] = [row | {"id": str(row["id"])} for row in rows["visits"]]
    return ReferenceEngine([table for table, _ in TABLES.values()], rows)


def exact(engine: PostgresEngine, step: Pass) -> Totals:
    return totals_of(unseal(engine.run(step)))


def meant(reference: ReferenceEngine, step: Pass) -> Totals:
    return {key: tuple(numbers) for key, numbers in reference.result(step).items()}


def rich_plans() -> list[Pass]:
    """A pass of each kind over each kind of relation."""
    scan, again = Scan(VISITS, "v"), Scan(VISITS, "w")
    lines, events = Scan(LINES, "l"), Scan(EVENTS, "e")
    on = ((Column(Text(), "v.icd"), Column(Text(), "w.icd")),)
    old = Filter(again, Column(Bool(), "w.old"))
    per_unit = Group(
        scan,
        (("g.city", Column(scan.schema["v.city"], "v.city")),),
        (
            ("g.n", UnitTotal("count", None, 2, Number(False, 0, 2))),
            ("g.s", UnitTotal("sum", Column(scan.schema["v.cost"], "v.cost"), 2, Number(True, -100, 200))),
            ("g.m", UnitTotal("min", Column(scan.schema["v.icd"], "v.icd"), 2, Text())),
            ("g.d", UnitTotal("distinct", Column(scan.schema["v.icd"], "v.icd"), 2, Number(False, 0, 2))),
        ),
    )
    parts: list[tuple[Relation, str, str]] = [
        (scan, "v.icd", "v.rate"),
        (Filter(scan, Column(Bool(), "v.old")), "v.city", "v.cost"),
        (Join(scan, again, on), "w.city", "v.cost"),
        (Join(scan, old, on, "left"), "w.icd", "w.rate"),
        (per_unit, "g.m", "g.s"),
        (per_unit, "g.city", "g.d"),
        (UnitFilter(scan, old), "v.icd", "v.cost"),
        (UnitFilter(scan, old, negated=True), "v.icd", "v.cost"),
        (Union((_named(scan, "v"), _named(again, "w"))), "u.icd", "u.cost"),
        (Distinct(_named(scan, "v")), "u.icd", "u.cost"),
        (Clamp(scan, (("v.cost", -3, 3),)), "v.icd", "v.cost"),
        (lines, "l.unit", "l.amount"),
        (events, "e.kind", "e.value"),
    ]
    found: list[Pass] = []
    for relation, key, value in parts:
        for rows, groups in ((1, 1), (2, None)):
            bound = Bound(relation, (key,), rows, groups)
            totals = (Total("rows"), Total("units"), Total("present", value), Total("sum", value))
            found.append(Aggregate(bound, totals))
            found += [Values(bound, value), DistinctValues(Bound(relation, (), rows, groups), key)]
    return found


def _named(relation: Scan, label: str) -> Project:
    columns = {"u.icd": f"{label}.icd", "u.cost": f"{label}.cost"}
    return Project(relation, tuple((new, Column(relation.schema[old], old)) for new, old in columns.items()))


def test_every_relation_gives_what_the_reference_gives(engine: PostgresEngine, reference: ReferenceEngine) -> None:
    for step in rich_plans():
        assert exact(engine, step) == meant(reference, step), step


def differing(engine: PostgresEngine, reference: ReferenceEngine) -> bool:
    return any(exact(engine, step) != meant(reference, step) for step in rich_plans())


def test_a_wrong_hash_is_noticed(
    engine: PostgresEngine, reference: ReferenceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "group_hash", lambda unit, key: f"({unit} + {key}) % 1000")
    assert differing(engine, reference)


def test_a_clamp_that_turns_null_into_a_bound_is_noticed(
    engine: PostgresEngine, reference: ReferenceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "clamped", lambda value, lower, upper: f"greatest(least({value}, {upper}), {lower})")
    assert differing(engine, reference)


def test_the_order_of_the_database_is_noticed(
    engine: PostgresEngine, reference: ReferenceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = PostgresDialect.code
    monkeypatch.setattr(PostgresDialect, "code", lambda self, domain, column: _uncollated(plain(self, domain, column)))
    assert differing(engine, reference)


def _uncollated(sql: str | None) -> str | None:
    return None if sql is None else sql.replace(' COLLATE "C"', "")


def test_sums_far_beyond_64_bits_are_exact() -> None:
    table = private("t", {"x": Number(False, -(2**85), 2**85)})
    engine = PostgresEngine(database())
    engine.register(table, pa.table({"id": [1, 1, 2], "x": [2**53 + 1, 2**53 + 1, 2**62 - 1]}))
    step = aggregate(scanned(table, x0="x"), [Total("sum", "x.0")], keys=(), rows=1, groups=None)
    assert exact(engine, step) == {(): (2**53 + 1 + 2**62 - 1,)}
    narrow = private("n", {"x": Int(0, 2**63 - 1)})
    engine.register(narrow, pa.table({"id": list(range(9)), "x": [2**63 - 1] * 9}))
    cells = unseal(engine.run(aggregate(scanned(narrow, x0="x"), [Total("sum", "x.0")], keys=(), groups=None)))
    assert cells.totals[0].tolist() == [9 * (2**63 - 1)]
    engine.close()


# ---- what the server is given to run


def explained(engine: PostgresEngine, sql: str) -> str:
    with engine._server.reading(60) as connection:
        return "\n".join(line for (line,) in connection.execute(f"EXPLAIN (VERBOSE) {sql}".encode()).fetchall()).lower()


def test_no_plan_names_randomness(engine: PostgresEngine) -> None:
    for step in rich_plans()[::3]:
        plan = explained(engine, engine.compile_sql(step))
        assert not [word for word in ("random", "sample", "now()", "timestamp()") if word in plan]


@pytest.mark.parametrize(
    "sql", ["SELECT random()", "SELECT sum(rate) FROM public.visits", "SELECT avg(rate) FROM public.visits"]
)
def test_the_role_of_these_tests_may_call_nothing_random_and_no_sum_of_floats(engine: PostgresEngine, sql: str) -> None:
    with engine._server.reading(60) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(sql.encode())


def test_what_others_made_in_the_database_stands_for_nothing(
    reference: ReferenceEngine, engine: PostgresEngine
) -> None:
    address = database()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE visits (id bigint, city text, icd varchar, cost int, old boolean, rate float8, number int)"
        )
        with connection.cursor() as cursor, cursor.copy("COPY visits FROM STDIN") as copy:
            for row in zip(*ROWS.values(), strict=True):
                copy.write_row(row)
        for shadow in SHADOWS:
            connection.execute(shadow.encode())
        connection.execute("ALTER ROLE dalenius SET search_path = public, pg_catalog")
    try:
        shadowed = PostgresEngine(f"{address}?options=-csearch_path%3Dpublic,pg_catalog")
        shadowed.register(VISITS, TableLocation(address, "visits"))
        for step in rich_plans()[:6]:
            assert exact(shadowed, step) == exact(engine, step)
        shadowed.close()
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("ALTER ROLE dalenius RESET search_path")


SHADOWS = [
    "CREATE DOMAIN public.text AS pg_catalog.text CHECK (VALUE <> 'a')",
    "CREATE FUNCTION public.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT 'x'::bytea $$",
    "CREATE FUNCTION public.length(pg_catalog.text) RETURNS int LANGUAGE sql AS $$ SELECT 7 $$",
    "CREATE FUNCTION public.div(numeric, numeric) RETURNS numeric LANGUAGE sql AS $$ SELECT 7 $$",
    "CREATE FUNCTION public.same(bigint, bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$",
    "CREATE OPERATOR public.> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = public.same)",
    "CREATE OPERATOR public.> (LEFTARG = bigint, RIGHTARG = int, FUNCTION = pg_catalog.int84eq)",
    "CREATE AGGREGATE public.sum(bigint) (SFUNC = int8pl, STYPE = bigint, INITCOND = '1000')",
]


def test_the_shadows_would_change_results_if_they_were_seen(engine: PostgresEngine) -> None:
    address = database()
    with psycopg.connect(address, autocommit=True) as connection:
        for shadow in SHADOWS:
            connection.execute(shadow.encode())
        connection.execute("SET search_path = public, pg_catalog")
        row = connection.execute("SELECT sum(1::bigint), length('a'::text), 1::bigint > 2::bigint").fetchone()
    assert row == (1001, 7, True)


# ---- names


@pytest.mark.parametrize(
    "name", ['a"b', "a;DROP TABLE t", "a'b", "x" * 10_000, "é" * 40, "a.b", "\N{CYRILLIC SMALL LETTER A}", " ", "a\0b"]
)  # fmt: skip
def test_odd_names_of_columns_pass_through(name: str) -> None:
    alike = "x" * 9_999 + "y"
    table = private("t", {name: Int(0, 9), alike: Int(0, 9)})
    engine = PostgresEngine(database(""))
    engine.register(table, pa.table({"id": [1, 2], name: [3, 4], alike: [5, 6]}))
    step = aggregate(
        Scan(table, "label" * 20), [Total("sum", f"{'label' * 20}.{name}")], keys=(f"{'label' * 20}.{alike}",)
    )
    assert exact(engine, step) == {(5,): (3,), (6,): (4,)}
    engine.close()


def test_different_names_stay_different() -> None:
    quote = PostgresDialect().quote
    names = ["a", "A", "a ", "", "\0", "x" * 64, "x" * 65, "é" * 32, "e\u0301" * 32, "\ud800", "?" * 64, 'q"' * 40]
    names += [quote(name)[1:-1] for name in names]  # names that others are replaced by
    quoted = {name: quote(name) for name in dict.fromkeys(names)}
    assert len(set(quoted.values())) == len(quoted)
    for text in quoted.values():
        inner = text[1:-1].replace('""', "")
        assert '"' not in inner
        assert "\0" not in inner
        assert 0 < len(text[1:-1].replace('""', '"').encode()) <= 63


@pytest.mark.parametrize(
    "name", ["no such", "shop", "visits; DROP TABLE visits", "x" * 100, "a\0b", '"visits"', "VISITS"]
)
def test_a_table_that_is_not_there_is_refused(engine: PostgresEngine, name: str) -> None:
    with pytest.raises(DataMismatch, match="no table of this name"):
        engine.register(private("other", {"icd": Text()}), TableLocation("", name))


def test_a_table_with_dots_and_quotes_in_its_name_is_found_once() -> None:
    address = database("")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "a.b"; CREATE SCHEMA a; CREATE TABLE "a.b"."c""; x" (id int, x int)')
        connection.execute('CREATE TABLE "a.b".d (id int, x int); CREATE TABLE a."b.d" (id int, x int)')
        connection.execute('INSERT INTO "a.b"."c""; x" VALUES (1, 5)')
    engine, table = PostgresEngine(address), private("t", {"x": Int(0, 9)})
    engine.register(table, TableLocation(address, 'a.b.c"; x'))
    assert exact(engine, aggregate(Scan(table, "t"), [Total("sum", "t.x")], keys=())) == {(): (5,)}
    with pytest.raises(DataMismatch, match="two tables of this name"):
        engine.register(table, TableLocation(address, "a.b.d"))
    engine.close()


@pytest.mark.parametrize("kind", ["view", "materialized view", "partitioned", "foreign"])
def test_every_kind_of_table_is_read(kind: str) -> None:
    address = database("")
    made = {
        "view": "CREATE VIEW found AS SELECT 1 AS id, 5 AS x",
        "materialized view": "CREATE MATERIALIZED VIEW found AS SELECT 1 AS id, 5 AS x",
        "partitioned": "CREATE TABLE found (id int, x int) PARTITION BY LIST (x); "
        "CREATE TABLE part PARTITION OF found FOR VALUES IN (5); INSERT INTO found VALUES (1, 5)",
        "foreign": "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; CREATE FOREIGN TABLE "
        "found (id int, x int) SERVER files OPTIONS (program 'echo 1,5', format 'csv')",
    }[kind]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(made.encode())
    engine, table = PostgresEngine(address), private("t", {"x": Int(0, 9)})
    engine.register(table, TableLocation(address, "public.found"))
    assert exact(engine, aggregate(Scan(table, "t"), [Total("sum", "t.x")], keys=())) == {(): (5,)}
    engine.close()


def test_a_sum_that_could_overflow_is_refused_before_anything_is_read(engine: PostgresEngine) -> None:
    table = private("wide", {"x": Number(False, 0, 2**120)})
    engine.register(table, pa.table({"id": [1], "x": [1]}))
    with pytest.raises(QueryRefused):
        engine.compile_sql(aggregate(scanned(table, x0="x"), [Total("sum", "x.0")], keys=()))
    engine.hold([each for each, _ in TABLES.values()])


def test_a_population_names_its_units_in_one_way(engine: PostgresEngine) -> None:
    table = private("more", {"kind": Text()}, unit=EachRow())
    with pytest.raises(DataMismatch, match="another way"):
        engine.register(table, pa.table({"kind": ["a"]}))
    engine.register(private("more", {"kind": Text()}, unit=EachRow(), population="others"), pa.table({"kind": ["a"]}))
