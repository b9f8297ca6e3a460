"""Spark's tables are read anew and under any name, nothing of a text is run, and work that is stopped has ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius.engines.spark.codes import quote, text_literal
from dalenius.engines.spark.engine import SparkEngine
from dalenius.errors import DataMismatch, InvalidParameter, WorkStopped
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.expressions import Column
from dalenius.query.functions.evaluation import like
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import Bound, Project, Scan
from dalenius.query.tables import ContributionBounds, Protection, Table, TableLocation, UnitColumn
from dalenius.query.types import Int, Text
from loaded import results
from spark_servers import session

ENDLESS = "SELECT count(*) AS n FROM range(1000000000000) a WHERE sha2(CAST(id AS STRING), 256) = 'x'"
VISITS = Table(
    "visits",
    (("age", Int(0, 120)),),
    Protection("people", UnitColumn("person"), AddRemove(), ContributionBounds(rows=2, groups=1)),
)


@pytest.fixture
def logged() -> list[BaseException]:
    return []


@pytest.fixture
def engine(logged: list[BaseException]) -> Iterator[SparkEngine]:
    found = SparkEngine(session(), log=logged.append)
    yield found
    found.close()


def visits(people: list[int]) -> pa.Table:
    return pa.table({"person": people, "age": [30] * len(people)})


def counted(table: Table) -> Aggregate:
    """How many rows there are, at most two of each person."""
    rows = Project(Scan(table, "v"), (("x", Column(Int(0, 120), "v.age")),))
    return Aggregate(Bound(rows, (), 2, None), (Total("rows"),))


# ---- tables


def test_rows_of_files_that_come_later_count(engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(visits([1, 1, 1, 2]), tmp_path / "a.parquet")
    engine.register(VISITS, TableLocation("spark", str(tmp_path)))
    assert results(engine, [counted(VISITS)]) == [{(): (3,)}]
    pq.write_table(visits([3]), tmp_path / "b.parquet")
    assert results(engine, [counted(VISITS)]) == [{(): (4,)}]
    (tmp_path / "a.parquet").unlink()
    assert results(engine, [counted(VISITS)]) == [{(): (1,)}]


def test_tables_of_the_catalog_are_read_by_their_name_and_anew(engine: SparkEngine) -> None:
    mine = session()
    mine.sql("CREATE DATABASE IF NOT EXISTS other")
    mine.createDataFrame(visits([1, 1, 1, 2])).write.mode("overwrite").saveAsTable("other.visits")
    engine.register(VISITS, TableLocation("spark", "other.visits"))
    assert results(engine, [counted(VISITS)]) == [{(): (3,)}]
    mine.createDataFrame(visits([3])).write.mode("append").saveAsTable("other.visits")
    assert results(engine, [counted(VISITS)]) == [{(): (4,)}]


def test_a_table_that_is_read_line_by_line_is_refused(engine: SparkEngine, tmp_path: Path) -> None:
    session().sql("CREATE DATABASE IF NOT EXISTS other")
    session().sql(f"CREATE TABLE other.lines (person BIGINT, city STRING) USING csv LOCATION '{tmp_path}/lines'")
    with pytest.raises(DataMismatch, match="its rows are kept by csv"):
        engine.register(VISITS, TableLocation("spark", "other.lines"))


def test_blanks_that_fill_a_char_up_mean_nothing(engine: SparkEngine, tmp_path: Path) -> None:
    table = Table("words", (("word", Text()),))
    session().sql("CREATE DATABASE IF NOT EXISTS other")
    session().sql(f"CREATE TABLE other.words (word CHAR(5)) USING parquet LOCATION '{tmp_path}/words'")
    session().sql("INSERT INTO other.words VALUES ('ab'), (' c')")
    engine.register(table, TableLocation("spark", "other.words"))
    found = engine.fetched(f"SELECT * FROM ({engine.dialect.scan(Scan(table, 't')).sql})", 300, None)
    assert sorted(found.column(0).to_pylist()) == [" c", "ab"]


def test_the_name_of_a_folder_decides_no_type(engine: SparkEngine, tmp_path: Path) -> None:
    table = Table("parts", (("k", Text()),))
    for name in ("1", "2"):
        (tmp_path / f"k={name}").mkdir()
        pq.write_table(pa.table({"x": [1]}), tmp_path / f"k={name}" / "a.parquet")
    engine.register(table, TableLocation("spark", str(tmp_path)))
    (tmp_path / "k=abc").mkdir()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "k=abc" / "a.parquet")
    engine.hold(())
    engine.register(table, TableLocation("spark", str(tmp_path)))
    found = engine.fetched(f"SELECT * FROM ({engine.dialect.scan(Scan(table, 't')).sql})", 300, None)
    assert sorted(found.column(0).to_pylist()) == ["1", "2", "abc"]


@pytest.mark.parametrize(
    "name", ["nobody", "a..b", "", "visits`; DROP TABLE x; --", "/nowhere/at/all", "x.parquet", "(SELECT 1)", "v, w"]
)
def test_what_is_no_table_is_refused(engine: SparkEngine, name: str) -> None:
    with pytest.raises(DataMismatch):
        engine.register(VISITS, TableLocation("spark", name))


# ---- names and texts

ODD = [
    "a`b",
    "a.b",
    'a"b',
    "a'b",
    "a;b--",
    "${spark.app.name}",
    "{x}",
    "a\\b",
    "аge",
    "age",
    "AGE",
    "x" * 10_000,
    "*",
    "\n",
]


def test_odd_names_are_names_and_nothing_else(engine: SparkEngine) -> None:
    table = Table("odd", tuple((name, Int(0, 99)) for name in ODD))
    engine.register(table, pa.table({name: [place] for place, name in enumerate(ODD)}))
    found = engine.fetched(engine.dialect.scan(Scan(table, "t")).sql, 300, None)
    assert found.to_pylist() == [{f"t.{name}": place for place, name in enumerate(ODD)}]


TEXTS = [*ODD, "${spark.app.name}", "\\u0041", "\\", "'", "\\'", "%", "_", "\x7f", "\u2028", "🧑‍⚕️", "?", ":x", "a\rb"]


def test_odd_texts_are_texts_and_nothing_else(engine: SparkEngine) -> None:
    terms = [f"{text_literal(text)} AS {quote(str(place))}" for place, text in enumerate(TEXTS)]
    found = engine.fetched(f"SELECT {', '.join(terms)}", 300, None)
    assert list(found.to_pylist()[0].values()) == TEXTS


PATTERNS = [
    "",
    "%",
    "%%",
    "a%",
    "%a",
    "%a%",
    "a%b",
    "%a%b%",
    "_",
    "_%",
    "%_a",
    "a\\%",
    "%\\_",
    "[a]",
    ".*",
    "%é_",
    "_a_%b__",
]
PATTERNS += ["%a" * 300 + "%b", "%a_" * 200 + "%b", "_" * 999 + "%", "%" + "a" * 500 + "b%"]
LIKED = [
    "",
    "a",
    "b",
    "ab",
    "aab",
    "xaybz",
    "a%",
    "a\\",
    "\\_",
    "[a]",
    "a\nb",
    "é!",
    "xaxyzb12",
    "🙂a",
    "a" * 1_000,
    "a" * 999 + "b",
]


def test_like_takes_no_time_for_patterns_with_many_ways(engine: SparkEngine) -> None:
    """In a second; trying all ways would take longer than the universe has been there."""
    rows = ", ".join(f"({place}, {text_literal(text)})" for place, text in enumerate(LIKED))
    terms = [f"{engine.dialect.matches_known('t', pattern)} AS p{place}" for place, pattern in enumerate(PATTERNS)]
    found = engine.fetched(f"SELECT {', '.join(terms)} FROM VALUES {rows} AS v(n, t) ORDER BY n", 300, None)
    meant = [[like(text, pattern) for pattern in PATTERNS] for text in LIKED]
    assert [list(row.values()) for row in found.to_pylist()] == meant


# ---- stopping


def no_jobs_left() -> bool:
    """Whether everything that ran has ended, which may take a moment."""
    ends = time.monotonic() + 60
    while session().sparkContext.statusTracker().getActiveJobsIds() and time.monotonic() < ends:
        time.sleep(0.1)
    return not session().sparkContext.statusTracker().getActiveJobsIds()


def test_work_is_stopped_when_its_time_is_over(engine: SparkEngine) -> None:
    told: list[float] = []
    with pytest.raises(WorkStopped):
        engine.fetched(ENDLESS, 3, told.append)
    assert told
    assert all(0 <= percent < 100 for percent in told)
    assert no_jobs_left()


def test_an_interrupt_stops_the_work_and_stays_an_interrupt(engine: SparkEngine) -> None:
    def interrupt(percent: float) -> None:
        if session().sparkContext.statusTracker().getActiveJobsIds():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.fetched(ENDLESS, 300, interrupt)
    assert no_jobs_left()


def test_a_pass_that_fails_tells_the_owner_alone(
    engine: SparkEngine, logged: list[BaseException], tmp_path: Path
) -> None:
    pq.write_table(visits([1]), tmp_path / "a.parquet")
    engine.register(VISITS, TableLocation("spark", str(tmp_path)))
    pq.write_table(pa.table({"person": ["secret"], "age": ["secret"]}), tmp_path / "b.parquet")
    with pytest.raises(WorkStopped) as stopped:
        engine.run(counted(VISITS))
    assert (stopped.value.__cause__, stopped.value.__context__) == (None, None)
    assert len(logged) == 1


# ---- sessions


def test_our_settings_stay_in_our_session(engine: SparkEngine) -> None:
    assert engine.session.conf.get("spark.sql.caseSensitive") == "true"
    assert session().conf.get("spark.sql.caseSensitive") == "false"
    assert session().catalog.listTables() == []


def test_the_application_of_the_process_is_used_and_no_other(engine: SparkEngine) -> None:
    for address in ("spark", "local[2]"):
        assert SparkEngine(address).session.sparkContext is session().sparkContext
    with pytest.raises(InvalidParameter, match="one Spark application"):
        SparkEngine("local[7]")


def test_texts_of_another_table_are_told_apart_by_their_bytes(engine: SparkEngine) -> None:
    table = Table("texts", (("x", Text()),))
    engine.register(table, pa.table({"x": ["a", "A", "a ", "e\u0301", "é", "a\0", None]}))
    found = engine.fetched(
        f"SELECT DISTINCT `t.x` AS x FROM ({engine.dialect.scan(Scan(table, 't')).sql}) q", 300, None
    )
    assert set(found.column("x").to_pylist()) == {"a", "A", "a ", "é", None}
