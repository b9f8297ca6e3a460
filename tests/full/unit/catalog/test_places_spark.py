"""Tables that stay in Spark: Parquet folders and tables of its catalog, with a session or by an address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl
from clinics import add_visits, visits
from dalenius.engines import several
from dalenius.errors import DataMismatch, InvalidParameter, QueryRefused
from dalenius.measuring.measurements import lower
from dalenius.privacy.exact import unseal
from dalenius.session.databases import Database
from placed import parquet
from spark_servers import session

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return parquet(tmp_path_factory.mktemp("spark"), {"visits": visits(patients=40)})["visits"]


@pytest.fixture(scope="module")
def spark() -> Any:
    return session()


class All(set[str]):
    """Engines that are all fit: that Spark is, is checked elsewhere."""

    def __contains__(self, identity: object) -> bool:
        return True


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several, "_FIT", All())


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with dl.create(tmp_path / "clinic") as made:
        made.add_population("patients", budget=dl.Budget(epsilon=3, delta="1e-9"))
        yield made


def exact(db: Database, sql: str) -> list[int]:
    return [int(unseal(db._curator.engine.run(step)).totals[0].sum()) for step in lower(db.sql(sql).question).passes]


def test_a_folder_is_asked_through_a_session_and_later_through_another(
    db: Database, spark: Any, folder: Path, tmp_path: Path
) -> None:
    add_visits(db, "visits", (spark, folder))
    assert exact(db, COUNT) == [120]
    assert f'source = ["spark", "{folder}"]' in (tmp_path / "clinic" / "catalog.toml").read_text()
    with pytest.raises(InvalidParameter, match="a second SparkSession"):
        add_visits(db, "more", (spark.newSession(), folder))
    db.close()
    with dl.open(tmp_path / "clinic", spark=spark.newSession()) as again:
        assert exact(again, COUNT) == [120]
    with dl.open(tmp_path / "clinic") as again:  # the session of this process
        assert again.sql(COUNT).run(share="1%").receipt


def test_a_table_of_the_catalog_is_asked_by_an_address(db: Database, spark: Any, folder: Path) -> None:
    spark.sql(f"CREATE TABLE IF NOT EXISTS beneath USING parquet LOCATION '{folder}'")
    add_visits(db, "visits", ("local[2]", "default.beneath"))
    assert exact(db, COUNT) == [120]
    assert db.source_columns("local[2]#default.beneath")["age"] == "bigint"


def test_tables_of_two_addresses_are_not_joined(db: Database, folder: Path) -> None:
    add_visits(db, "visits", ("local[2]", folder))
    add_visits(db, "others", ("spark", folder))
    with pytest.raises(QueryRefused, match="two places"):
        db.sql("SELECT COUNT(*) AS n FROM visits JOIN others USING (patient_id)").run(share="1%")


def test_what_is_not_there_is_refused(db: Database, folder: Path) -> None:
    with pytest.raises(DataMismatch, match="could not be read"):
        add_visits(db, "visits", ("local[2]", folder / "nothing"))
    with pytest.raises(InvalidParameter, match="one Spark application"):
        add_visits(db, "visits", ("local[1]", folder))


@pytest.fixture
def beneath(spark: Any, folder: Path) -> Iterator[None]:
    """A table with views above it, which are gone afterwards: others use the same catalog."""
    spark.sql(f"CREATE TABLE IF NOT EXISTS beneath USING parquet LOCATION '{folder}'")
    spark.sql("CREATE OR REPLACE VIEW above AS SELECT * FROM beneath")
    spark.sql("SELECT * FROM beneath").createOrReplaceGlobalTempView("above")
    yield
    spark.catalog.dropGlobalTempView("above")
    for gone in ("VIEW above", "TABLE beneath"):
        spark.sql(f"DROP {gone}")


@pytest.mark.usefixtures("beneath")
def test_a_view_is_refused(db: Database) -> None:
    for view in ("above", "global_temp.above"):
        with pytest.raises(DataMismatch, match="it is a view"):
            add_visits(db, "other", ("local[2]", view))
    add_visits(db, "other", ("local[2]", "beneath"))
