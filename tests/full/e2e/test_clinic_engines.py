"""The clinic's questions where the rows are: DuckDB, PostgreSQL and Spark give one price, one exact result, one law."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from dalenius.engines.several import Engines
from dalenius.measuring.measurements import lower
from dalenius.measuring.pricing import Priced, priced
from dalenius.privacy.exact import Exact, unseal
from dalenius.query.plan.passes import Cells, Pass
from examples.clinic import data
from examples.clinic.catalog import clinic
from examples.clinic.questions import QUESTIONS, Question
from http_pairs import with_same_noise
from placed import as_reader, load, parquet, postgres, run
from spark_servers import session

PATIENTS = 200


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


def in_postgres(url: str, schema: str, tables: Mapping[str, pa.Table]) -> dl.Database:
    for name, rows in tables.items():
        load(url, schema, name, rows)
    run(url, f"CREATE UNIQUE INDEX ON {schema}.visits (visit_id)")
    return clinic(sources={name: (as_reader(url), f"{schema}.{name}") for name in tables})


@pytest.fixture(scope="module", params=["postgres", "spark"])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dl.Database, dl.Database]]:
    """The clinic, imported, and the same clinic, whose rows stay elsewhere. Spark keeps no key unique."""
    tables, visits = data.tables(patients=PATIENTS), "unique" if request.param == "postgres" else 50
    if request.param == "postgres":
        there = in_postgres(request.getfixturevalue("server"), "clinic", tables)
    else:
        folders = parquet(tmp_path_factory.mktemp("clinic"), tables)
        sources = {name: (session(), str(folder)) for name, folder in folders.items()}
        there = clinic(sources=sources, visits_of_one=visits)
    with there, clinic(patients=PATIENTS, visits_of_one=visits) as here:
        yield here, there


@pytest.fixture(scope="module")
def here(both: tuple[dl.Database, dl.Database]) -> dl.Database:
    return both[0]


@pytest.fixture(scope="module")
def there(both: tuple[dl.Database, dl.Database]) -> dl.Database:
    return both[1]


def words(question: Question) -> str:
    return question.words


def price(db: dl.Database, sql: str) -> Priced:
    offered = dl.accounting.PrivacyFilter(dl.Budget(20, "1e-9"), neighbours=dl.AddRemove())
    amount = {"patients": offered.amount(epsilon=1)}
    return priced(db.sql(sql).question, amounts=amount)


def exact(db: dl.Database, sql: str) -> list[Any]:
    """The exact result of every pass, before noise."""
    return [plain(db._curator.engine.run(step)) for step in lower(db.sql(sql).question).passes]


def plain(sealed: Exact[Cells]) -> Any:
    cells = unseal(sealed)
    return [key.to_pylist() for key in cells.keys], [total.tolist() for total in cells.totals]


def asked(db: dl.Database, sql: str, patch: pytest.MonkeyPatch) -> tuple[list[Any], Any]:
    """The exact results that a question met on its way, and its answer with noise that follows from the question."""
    met: list[Any] = []
    run = Engines.run

    def recorded(self: Engines, step: Pass, **more: Any) -> Exact[Cells]:
        found = run(self, step, **more)
        met.append(plain(found))
        return found

    with patch.context() as here:
        here.setattr(Engines, "run", recorded)
        with_same_noise(here.setattr, sql)
        answer = db.sql(sql).run(epsilon="0.5", fresh=True)
    return met, (answer.to_arrow(), answer.charge)


@pytest.mark.parametrize("question", QUESTIONS, ids=words)
def test_a_question_has_the_same_price_and_law(question: Question, here: dl.Database, there: dl.Database) -> None:
    assert price(here, question.sql).steps == price(there, question.sql).steps
    assert here.sql(question.sql).cost(epsilon=1).amounts == there.sql(question.sql).cost(epsilon=1).amounts
    assert here.sql(question.sql).expected_error(epsilon=1) == there.sql(question.sql).expected_error(epsilon=1)


@pytest.mark.parametrize("question", QUESTIONS, ids=words)
def test_a_question_has_the_same_exact_result_and_with_equal_noise_the_same_answer(
    question: Question, here: dl.Database, there: dl.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, answer), (second, other) = (asked(db, question.sql, monkeypatch) for db in (here, there))
    assert first == second
    assert len(first) == len(lower(here.sql(question.sql).question).passes)
    assert answer == other


def test_nothing_was_imported(there: dl.Database) -> None:
    engines, tables = there._curator.engine, there.catalog.tables.values()
    assert isinstance(engines, Engines)
    assert all(table.place for table in tables)
    assert engines.imported.missing(tables) == [table.name for table in tables]


def test_the_comparison_notices_one_row_that_differs(server: str, here: dl.Database) -> None:
    tables = data.tables(patients=PATIENTS)
    tables["visits"] = tables["visits"].slice(1)
    with in_postgres(server, "shorter", tables) as db:
        assert exact(db, QUESTIONS[0].sql) != exact(here, QUESTIONS[0].sql)
