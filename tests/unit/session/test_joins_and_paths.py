"""In a session no row decides whether there is an answer, whose rows others have, or which tables somebody knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from dalenius.checks.replay.bounding import difference
from dalenius.engines.conformance.comparing import totals_of
from dalenius.measuring.measurements import lower
from dalenius.privacy.exact import unseal
from dalenius.query.tables import ContributionBounds
from dalenius.session.databases import Database

MOST = ContributionBounds(rows=300, groups=1)


def people() -> Database:
    db = dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=3, delta="1e-9"))
    return db


def changed(before: Database, after: Database, sql: str) -> int:
    """By how much the exact result of a question differs, over all groups."""
    question = before.sql(sql).question
    assert question == after.sql(sql).question
    first, second = (totals_of(unseal(db._curator.engine.run(lower(question).passes[0]))) for db in (before, after))
    return sum(map(abs, difference(first, second, 0).values()))


# ---- joins


def test_a_public_table_nested_many_times_is_refused_before_anything_is_read() -> None:
    db = people()
    db.add_table(
        "t",
        pa.table({"pid": [1], "x": [0]}),
        population="people",
        unit="pid",
        max_rows=MOST.rows,
        max_groups=MOST.groups,
        columns={"x": dl.Int(0, 9)},
    )
    db.add_table("pub", pa.table({"n": [1, 2, 3]}), public=True, columns={"n": dl.Int(0, 10)})
    inner = "SELECT pid, x FROM t"
    for i in range(5):
        inner = f"SELECT l{i}.pid AS pid, c{i}.n AS x FROM ({inner}) l{i} JOIN pub c{i} ON l{i}.x = c{i}.n*0"
    assert db.sql(f"SELECT COUNT(*) FROM ({inner}) q").question.relation.fan_out == 3**5
    with pytest.raises(dl.errors.QueryRefused, match="218,700 rows"):
        db.sql(f"SELECT COUNT(*) FROM ({inner}) q JOIN pub c ON q.x*0 = c.n*0")


def test_the_figures_of_a_public_table_follow_its_rows() -> None:
    db = people()
    db.add_table("pub", pa.table({"n": [1, 1, 2]}), public=True, columns={"n": dl.Int(0, 10)})
    assert (db._curator.catalog.table("pub").rows, db._curator.catalog.table("pub").repeats) == (3, (("n", 2),))
    db.update_table("pub", pa.table({"n": [5] * 7}))
    assert (db._curator.catalog.table("pub").rows, db._curator.catalog.table("pub").repeats) == (7, (("n", 7),))


def test_a_unit_with_many_rows_joins_with_itself_and_gets_an_answer() -> None:
    db = people()
    db.add_table("t", pa.table({"pid": [1] * 20_000, "x": [n % 10 for n in range(20_000)]}), population="people",
                 unit="pid", max_rows=MOST.rows, max_groups=MOST.groups, columns={"x": dl.Int(0, 9)})  # fmt: skip
    triple = "t a JOIN t b ON a.pid = b.pid JOIN t c ON a.pid = c.pid"
    asked = db.sql(f"SELECT COUNT(*) AS n FROM {triple}")
    assert "with at most 300 rows of a unit" in asked.explain(share="1%")
    assert len(asked.run(share="1%").to_arrow()) == 1


# ---- ids and keys


def test_one_odd_id_in_a_file_moves_no_group_of_anybody_else(tmp_path: Path) -> None:
    def world(name: str, more: str) -> Database:
        rows = "".join(f"{n % 60},{'abcdefgh'[n * n % 7]}\n" for n in range(360))
        (tmp_path / name).write_text(f"pid,city\n{rows}{more}")
        db = people()
        db.add_table("t", tmp_path / name, population="people", unit="pid", max_rows=1, max_groups=1,
                     columns={"city": dl.Category(*"abcdefgh")})  # fmt: skip
        return db

    sql = "SELECT city, COUNT(*) FROM t GROUP BY city"
    assert changed(world("a.csv", ""), world("b.csv", "007,a\n"), sql) == 1


def test_one_odd_key_in_a_file_takes_no_row_from_anybody_else(tmp_path: Path) -> None:
    def world(name: str, more: str) -> Database:
        (tmp_path / name).write_text("order_id,pid\n" + "".join(f"{n},{n % 9}\n" for n in range(30)) + more)
        (tmp_path / "lines.csv").write_text("order_id,x\n" + "".join(f"{n},1\n" for n in range(30)))
        return with_lines(tmp_path / name, tmp_path / "lines.csv")

    assert changed(world("a.csv", ""), world("b.csv", "X1,999\n"), "SELECT COUNT(*) FROM lines") == 0


def test_keys_beyond_the_bounds_of_their_column_give_nobody_the_rows_of_others() -> None:
    def world(count: int) -> Database:
        keys = [5000 + n for n in range(count)]
        orders = pa.table({"order_id": keys, "pid": list(range(count))})
        return with_lines(orders, pa.table({"order_id": keys, "x": [1] * count}), order_id=dl.Int(0, 999))

    assert changed(world(200), world(201), "SELECT COUNT(*) FROM lines") == 1


def with_lines(orders: Any, lines: Any, **columns: Any) -> Database:
    """Orders of people, and lines that find their people by the order."""
    db = people()
    db.add_table(
        "orders",
        orders,
        population="people",
        unit="pid",
        max_rows=MOST.rows,
        max_groups=MOST.groups,
        columns=columns,
        keys=["order_id"],
    )
    db.add_table(
        "lines",
        lines,
        population="people",
        unit="order_id -> orders.pid",
        max_rows=MOST.rows,
        max_groups=MOST.groups,
        columns={"x": dl.Int(0, 1)},
    )
    return db


# ---- what an analyst knows


def test_the_table_of_a_path_is_named_only_to_those_who_may_ask_about_it() -> None:
    db = with_lines(pa.table({"order_id": [1], "pid": [1]}), pa.table({"order_id": [1], "x": [1]}))
    db.grant("ana", tables=["lines"], share="10%")
    db.grant("bo", tables=["lines", "orders"], share="10%")
    assert "orders" in told(db.as_analyst("bo"))
    assert "orders" not in told(db.as_analyst("ana"))
    assert "a table of the same population" in told(db.as_analyst("ana"))


def told(session: Any) -> str:
    """All that somebody reads about the lines."""
    with pytest.raises(dl.errors.QueryRefused) as refused:
        session.sql("SELECT COUNT(*) FROM lines WHERE order_id = 3")
    asked = session.sql("SELECT COUNT(*) FROM lines")
    return f"{session.tables()} {refused.value} {asked.explain(share='1%')} {asked!r}"
