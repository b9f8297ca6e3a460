"""A ledger in a real PostgreSQL keeps every promise of one in SQLite."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import dalenius as dl
from dalenius.accounting.amounts import UNBOUNDED, Charge
from dalenius.errors import BudgetExceeded, InvalidParameter, LedgerRefused, LedgerStopped
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms, Receipt
from dalenius.ledger.checking import examined
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark, NoMark
from dalenius.ledger.postgres import PostgresStore
from dalenius.ledger.stores import SQLiteStore
from ledger_cases import Clock, compared
from postgres_server import server

NAME, NUMBERS = "postgres", count(1)
PEOPLE, ANA = Account(("people",)), Account(("people", "ana"))
PEOPLE_TOO = Account(("people too",))


@pytest.fixture(scope="module")
def running() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture
def places(running: str) -> tuple[str, str]:
    """Two empty schemas, one for a ledger and one for its mark."""
    return schema(running), schema(running)


def schema(url: str) -> str:
    name = f"place_{next(NUMBERS)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}?options=-csearch_path%3D{name}"


def units(number: int) -> Charge:
    return Charge(divergence=number, order=None)


def opened(places: tuple[str, str], *, cap: int = 100) -> Ledger:
    ledger = Ledger.create(PostgresStore(places[0]), Mark(PostgresStore(places[1]), NAME), NAME)
    ledger.open(PEOPLE, AccountTerms(units(cap)))
    ledger.open(ANA, AccountTerms(units(cap)))
    return ledger


def started(places: tuple[str, str]) -> Ledger:
    store, mark = PostgresStore(places[0]), Mark(PostgresStore(places[1]), NAME)
    try:
        return Ledger.start(store, mark, NAME)
    except LedgerRefused:
        store.close()
        mark.close()
        raise


def charge(ledger: Ledger, number: int, **facts: Any) -> Receipt:
    return ledger.reserve([AccountCharge(ANA, units(number))], question="q", who="ana", **facts)


def test_what_was_charged_and_stored_is_there_after_a_restart(places: tuple[str, str]) -> None:
    ledger = opened(places)
    receipt = charge(ledger, 30, key="once", request="r")
    ledger.store(receipt, '{"answer": "±"}')
    with pytest.raises(BudgetExceeded):
        charge(ledger, 71)
    ledger.close()
    again = started(places)
    assert again.spent(PEOPLE) == units(30)
    assert again.answer(receipt.id) == '{"answer": "±"}'
    assert charge(again, 30, key="once", request="r") == receipt
    assert again.left(ANA) == units(70)
    again.close()


def test_the_database_itself_refuses_to_change_or_delete_an_entry(places: tuple[str, str]) -> None:
    ledger = opened(places)
    charge(ledger, 1)
    ledger.close()
    for change in (
        "DELETE FROM entries",
        "UPDATE entries SET body = ''",
        "TRUNCATE entries",
        "DELETE FROM answers",
        "DELETE FROM texts",
    ):
        with psycopg.connect(places[0], autocommit=True) as rows, pytest.raises(psycopg.Error, match="taken back"):
            rows.execute(change)
    store = PostgresStore(places[0])
    assert examined(store).sound
    store.close()


def test_an_entry_that_was_changed_all_the_same_is_found(places: tuple[str, str]) -> None:
    ledger = opened(places)
    charge(ledger, 40)
    ledger.close()
    with psycopg.connect(places[0], autocommit=True) as connection:
        connection.execute("ALTER TABLE entries DISABLE TRIGGER ALL")
        connection.execute("UPDATE entries SET body = replace(body, '[40,', '[4,')")
        connection.execute("UPDATE spent SET divergence = 4")
        connection.execute("ALTER TABLE entries ENABLE TRIGGER ALL")
    with pytest.raises(LedgerRefused, match="hash does not follow"):
        started(places)


WALLS = {
    "a trigger": "CREATE TRIGGER x AFTER INSERT ON receipts FOR EACH ROW EXECUTE FUNCTION dalenius_refuse()",
    "a rule": "CREATE RULE x AS ON UPDATE TO spent DO INSTEAD NOTHING",
    "a guard that sleeps": "ALTER TABLE entries DISABLE TRIGGER ALL",
    "a guard that is gone": "DROP TRIGGER answers_never_changed ON answers",
    "a guard that does nothing": "CREATE OR REPLACE FUNCTION dalenius_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RETURN NULL; END $$",
    "hidden rows": "ALTER TABLE spent ENABLE ROW LEVEL SECURITY",
    "a value of its own": "ALTER TABLE spent ALTER divergence SET DEFAULT 0",
}


@pytest.mark.parametrize("what", WALLS)
def test_what_the_database_would_do_to_a_ledger_is_looked_at(places: tuple[str, str], what: str) -> None:
    opened(places).close()
    started(places).close()
    with psycopg.connect(places[0], autocommit=True) as connection:
        connection.execute(WALLS[what])
    with pytest.raises(LedgerRefused, match="what guards them"):
        started(places)


def test_a_ledger_and_a_mark_of_before_open_and_go_on(places: tuple[str, str]) -> None:
    """What was charged before epsilon was added up counts as not pure, except in a pure ledger."""
    order, doctors = Fraction(15), Account(("doctors",))
    ledger = opened(places)
    ledger.open(doctors, AccountTerms(Charge(divergence=100, order=order)))
    charge(ledger, 7)
    ledger.reserve([AccountCharge(doctors, Charge(divergence=9, order=order))], question="q", who="owner")
    ledger.close()
    for place, table in zip(places, ("spent", "mark_totals"), strict=True):
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN epsilon".encode())
    again = started(places)
    again.open(doctors, AccountTerms(Charge(divergence=100, order=order, epsilon=200)))
    pure = [AccountCharge(doctors, Charge(divergence=50, order=order, epsilon=60))]
    again.reserve(pure, question="q", who="owner")
    with pytest.raises(BudgetExceeded):  # addition would take it, but for what was charged before
        again.reserve(pure, question="q", who="owner")
    charge(again, 1)
    assert again.spent(PEOPLE) == units(8)
    assert again.check().sound
    again.close()
    totals = []
    for place, table in zip(places, ("spent", "mark_totals"), strict=True):
        with psycopg.connect(place, autocommit=True) as connection:
            sql = f'SELECT path, divergence, epsilon FROM {table} ORDER BY path COLLATE "C"'
            totals.append(connection.execute(sql.encode()).fetchall())
    assert totals[0] == totals[1]
    assert totals[0][0] == ('["doctors"]', 59, UNBOUNDED)


def test_sums_of_epsilons_stop_at_the_largest_number(places: tuple[str, str]) -> None:
    ledger, order = opened(places), Fraction(15)
    ledger.open(PEOPLE_TOO, AccountTerms(Charge(divergence=100, order=order)))
    for epsilon in (5, UNBOUNDED - 1, UNBOUNDED, 5):
        charged = [AccountCharge(PEOPLE_TOO, Charge(divergence=5, order=order, epsilon=epsilon))]
        ledger.reserve(charged, question="q", who="owner")
    assert ledger.spent(PEOPLE_TOO) == Charge(divergence=20, order=order)
    assert ledger.check().sound
    ledger.close()


@pytest.mark.parametrize("histories", [300, pytest.param(10_000, marks=pytest.mark.deep)])
def test_ledger_filter_model_and_recount_agree_on_every_charge(running: str, histories: int) -> None:
    """As in tests/laws/test_ledger_sums.py; nothing here waits for the disk."""
    with psycopg.connect(running, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    found = compared(lambda clock: in_postgres(running, clock), histories)
    assert found.wrong is None
    assert found.taken > 4 * histories
    assert found.refused > 2 * histories


def in_postgres(url: str, clock: Clock) -> Ledger:
    return Ledger.create(PostgresStore(schema(url)), NoMark(), NAME, clock=clock)


def test_a_standby_that_lags_behind_is_refused(places: tuple[str, str]) -> None:
    ledger = opened(places)
    charge(ledger, 40)
    ledger.close()
    with psycopg.connect(places[0], autocommit=True) as connection:  # what a standby without the last commit holds
        connection.execute("ALTER TABLE entries DISABLE TRIGGER ALL")
        connection.execute("DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)")
        connection.execute("DELETE FROM receipts")
        connection.execute("DELETE FROM spent")
        connection.execute("ALTER TABLE entries ENABLE TRIGGER ALL")
    with pytest.raises(LedgerRefused, match="shorter"):
        started(places)


def _client(places: tuple[str, str], attempts: int, results: Any) -> None:
    ledger, charged = started(places), []

    def ask() -> None:
        for _ in range(attempts):
            try:
                charged.append(charge(ledger, 1))
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close()
    results.put(len(charged))


def test_servers_that_share_a_ledger_meet_its_cap_to_the_unit(places: tuple[str, str]) -> None:
    opened(places, cap=60).close()
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    servers = [context.Process(target=_client, args=(places, 10, results)) for _ in range(3)]
    for process in servers:
        process.start()
    charged = sum(results.get(timeout=120) for _ in servers)
    for process in servers:
        process.join()
    ledger = started(places)
    assert charged == 60
    assert ledger.spent(PEOPLE) == units(60)
    ledger.close()


def test_a_server_that_dies_loses_no_charge(tmp_path: Path) -> None:
    with server() as url:
        place = schema(url)
        ledger = Ledger.create(PostgresStore(place), Mark(SQLiteStore(tmp_path / "mark.sqlite"), NAME), NAME)
        ledger.open(PEOPLE, AccountTerms(units(100)))
        ledger.reserve([AccountCharge(PEOPLE, units(7))], question="q", who="owner")
    with pytest.raises(LedgerStopped):  # the server is gone
        ledger.reserve([AccountCharge(PEOPLE, units(7))], question="q", who="owner")
    ledger.close()
    with pytest.raises(LedgerStopped) as failed:
        PostgresStore(place.replace("dalenius@", "dalenius:canary-4711@"))
    assert "canary" not in str(failed.value)


def test_a_database_may_keep_ledger_and_mark_in_postgresql(places: tuple[str, str], tmp_path: Path) -> None:
    db = dl.create(tmp_path / "clinic", ledger=places[0], mark=places[1])
    db.add_population("patients", budget=dl.Budget(epsilon=1))
    rows = pa.table({"patient_id": [1, 2, 3], "age": [30, 40, 50]})
    db.add_table("visits", rows, population="patients", unit="patient_id", max_rows=1, max_groups=1,
                 columns={"age": dl.Int(0, 120)})  # fmt: skip
    answer = db.sql("SELECT COUNT(*) AS n FROM visits").run(epsilon="0.5")
    db.close()
    with dl.open(tmp_path / "clinic") as again:
        assert again.sql("SELECT COUNT(*) AS n FROM visits").run(epsilon="0.5")["n"] == answer["n"]
        assert again.left()["patients"].share == Fraction(1, 2)
        with pytest.raises(BudgetExceeded):
            again.sql("SELECT COUNT(*) AS n FROM visits").run(epsilon="0.6")
    assert not (tmp_path / "clinic" / "ledger.sqlite").exists()


def test_a_closed_store_says_so(places: tuple[str, str]) -> None:
    ledger = opened(places)
    ledger.close()
    with pytest.raises(InvalidParameter, match="closed"):
        ledger.spent(PEOPLE)
