"""Releases where the rows are: DuckDB, PostgreSQL and Spark give the same exact marginals, and sell the same things."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from clinics import COLUMNS, add_visits, visits
from dalenius.engines.several import Engines
from dalenius.privacy.exact import Exact, unseal
from dalenius.session.databases import Database
from dalenius.synth import Online
from dalenius.synth.tables.synthesizer import Synthesizer
from dalenius.tabular.binned_rows import BinnedRows, sealed_counts
from dalenius.tabular.counts import SealedCounts
from placed import as_reader, load, parquet, postgres
from spark_servers import session

NAMES = ["age", "city", "cost", "day"]
BINS: dict[str, int | str] = {"age": "20", "cost": 4, "day": 6}
TERMS: dict[str, Any] = {"columns": ["age", "city"], "bins": {"age": "20"}, "updates": 4, "questions": 200}


def hurtful() -> pa.Table:
    """Visits of a few patients, with missing, extreme and undeclared values, and one patient with forty rows."""
    data = visits(patients=90)
    row = {"patient_id": 10**6, "age": 30, "city": "Oslo", "cost": 9.0, "day": dt.date(2024, 5, 5), "icd": "A"}
    changes: list[dict[str, Any]] = [
        *({"age": 3 * visit, "cost": 100.0 * visit} for visit in range(40)),
        *({"patient_id": 10**6 + 1, "city": city} for city in (None, "Atlantis", "oslo", "Oslo ", "Tromsø")),
        *({"patient_id": 10**6 + 2 + place, "age": age} for place, age in enumerate((None, -1, 121, 10**9, -(2**62)))),
        *({"patient_id": 10**6 + 9, "cost": cost} for cost in (float("nan"), float("inf"), -float("inf"))),
        *({"patient_id": 10**6 + 12, "day": day} for day in (None, dt.date(1, 1, 1), dt.date(9999, 12, 31))),
    ]
    return pa.concat_tables([data, pa.Table.from_pylist([row | change for change in changes], schema=data.schema)])


def made(source: Any, *, empty: Any = None) -> Database:
    """A rich clinic over these rows, and a table that nobody is in."""
    db = dl.create()
    db.add_population("patients", budget=dl.Budget(epsilon=20, delta="1e-9"))
    add_visits(db, "visits", source, columns={name: domain.or_null(True) for name, domain in COLUMNS.items()})
    add_visits(db, "nobody", visits(patients=0) if empty is None else empty)
    return db


@pytest.fixture(scope="module")
def here() -> Iterator[Database]:
    with made(hurtful()) as db:
        yield db


@pytest.fixture(scope="module")
def there() -> Iterator[Database]:
    """The same clinic, whose rows stay in PostgreSQL."""
    with postgres() as url:
        load(url, "records", "visits", hurtful())
        load(url, "records", "nobody", visits(patients=0))
        with made((as_reader(url), "records.visits"), empty=(as_reader(url), "records.nobody")) as db:
            yield db


def crowd(db: Database, table: str = "visits", *, rows: int = 2) -> SealedCounts:
    """The sealed rows of a table on a grid, counted by its engine."""
    binned = BinnedRows.of(db.table(table), columns=NAMES, bins=BINS, most=rows)
    return sealed_counts(binned.source, binned.axes, db._curator.engine.run(binned.source.counting))


def opened(sealed: Exact[Any]) -> Any:
    return np.asarray(unseal(sealed)).tolist()


def agree(one: Database, other: Database) -> None:
    first, second = crowd(one), crowd(other)
    assert first.grid == second.grid
    assert first.rows == second.rows == 2
    for group in [("age",), ("city", "cost"), ("age", "city", "day"), tuple(NAMES)]:
        assert opened(first.marginal(group)) == opened(second.marginal(group)), group
    assert sum(opened(first.marginal(("age",)))) > 2 * 90


def test_marginals_in_postgres_are_those_of_imported_rows(here: Database, there: Database) -> None:
    agree(here, there)


def test_marginals_in_spark_are_those_of_imported_rows(
    here: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That Spark means what we mean by every function is looked at elsewhere, at length."""
    monkeypatch.setattr(Engines, "_require_fit", lambda *_: None)
    folders = parquet(tmp_path, {"visits": hurtful()})
    with made((session(), str(folders["visits"]))) as db:
        agree(here, db)


def test_marginals_of_another_bound_are_noticed(here: Database, there: Database) -> None:
    """The twin of the test above: three rows of a patient for two."""
    assert opened(crowd(here).marginal(("age",))) != opened(crowd(there, rows=3).marginal(("age",)))


def test_nobody_is_nobody_everywhere(here: Database, there: Database) -> None:
    for db in (here, there):
        assert not np.any(opened(crowd(db, "nobody").marginal(("age", "city"))))


def test_a_session_is_sold_and_answers_where_the_rows_are(there: Database) -> None:
    spent = there.spent()["patients"].share
    session_there = Online(**TERMS).open(there.table("visits"), share="20%")
    assert there.spent()["patients"].share > spent
    told = session_there.ask("age >= 20 AND age < 60")
    exact = crowd(there, rows=3)
    truth = opened(exact.marginal(("age",)))
    assert len(truth) == exact.grid.sizes["age"]
    assert abs(told.count - sum(truth[1:3])) <= 4 * told.error
    assert Online(**TERMS).open(there.table("visits"), share="20%").receipt == session_there.receipt


def test_a_synthetic_table_is_made_where_the_rows_are(there: Database) -> None:
    table = Synthesizer(columns=["age", "city"], bins={"age": "20"}, order=2).fit(there.table("visits"), share="20%")
    assert table.sample(20).column_names == ["age", "city"]


def test_everything_is_sold_over_nobody(there: Database) -> None:
    assert Online(**TERMS).open(there.table("nobody"), share="10%").ask("TRUE").error > 0
    assert Synthesizer(columns=["age", "city"], order=2).fit(there.table("nobody"), share="10%").size >= 0
