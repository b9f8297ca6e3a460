"""Ledgers and marks of before, which added up no epsilon, open and go on; what they charged counts as not pure."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from dalenius.accounting.amounts import UNBOUNDED, Charge
from dalenius.errors import BudgetExceeded, InvalidParameter, LedgerRefused
from dalenius.ledger import accounts, checking
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms
from dalenius.ledger.checking import examined
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.stores import SQLiteStore
from ledger_cases import ANA, PATIENTS, Place, as_before, without_syncs

ORDER = Fraction(15)
DOCTORS, STUDENTS = Account(("doctors",)), Account(("students",))


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    without_syncs(monkeypatch)


def amount(divergence: int, epsilon: int = UNBOUNDED, delta: int = 0, order: Fraction | None = ORDER) -> Charge:
    return Charge(divergence=divergence, delta=delta, order=order, epsilon=epsilon)


def charge(ledger: Ledger, account: Account, size: Charge, block: str = "") -> None:
    ledger.reserve([AccountCharge(account, size, block)], question="q", who="ana")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Three populations as they were written before: one with a quota, a reserve, blocks and charges, a pure one, and
    one of which nothing was spent. A backup is from before the last charge."""
    place = Place(tmp_path)
    with place.ledger("create") as ledger:
        ledger.open(PATIENTS, AccountTerms(amount(100, delta=10)))
        ledger.open(ANA, AccountTerms(amount(80, delta=10), reserve=amount(20)))
        ledger.open(DOCTORS, AccountTerms(amount(50, order=None)))
        ledger.open(STUDENTS, AccountTerms(amount(100, delta=10)))
        charge(ledger, ANA, amount(30, 35, 2))
        charge(ledger, PATIENTS, amount(10), "north")
        charge(ledger, DOCTORS, amount(7, order=None))
        place.backup("backup")
        charge(ledger, PATIENTS, amount(5, 6), "south")
    place.copy(place.mark, place.folder / "mark")
    as_before(place.folder / "backup", place.folder / "mark")
    as_before(place.path, place.mark)
    return place


SPENT = {
    ('["patients"]', ""): (30, 2, UNBOUNDED),
    ('["patients"]', "north"): (10, 0, UNBOUNDED),
    ('["patients"]', "south"): (5, 0, UNBOUNDED),
    ('["patients","ana"]', ""): (30, 2, UNBOUNDED),
    ('["doctors"]', ""): (7, 0, 7),
}


def kept(path: Path, table: str) -> dict[tuple[str, str], tuple[int, ...]]:
    with closing(sqlite3.connect(path)) as rows:
        found = rows.execute(f"SELECT path, block, divergence, delta, epsilon FROM {table}")
        return {(name, block): tuple(sums) for name, block, *sums in found}


def entries(place: Place) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(place.path)) as rows:
        return [json.loads(body) for (body,) in rows.execute("SELECT body FROM entries ORDER BY number")]


def test_a_ledger_of_before_is_sound_and_nothing_is_written_by_looking_at_it(place: Place) -> None:
    amounts = [each["amount"] for entry in entries(place) if entry["kind"] == "charge" for each in entry["charges"]]
    assert [len(each) for each in amounts] == [3, 3, 3, 3]
    before = place.path.read_bytes()
    findings = place.examined()
    assert findings.problems == ()
    assert findings.balances[PATIENTS] == amount(40, delta=2)
    assert place.path.read_bytes() == before


def test_it_opens_with_what_was_spent_in_every_account(place: Place) -> None:
    count = len(entries(place))
    with place.ledger() as ledger:
        assert ledger.spent(PATIENTS) == amount(40, delta=2)
        assert (ledger.spent(ANA), ledger.spent(DOCTORS)) == (amount(30, delta=2), amount(7, order=None))
        assert len(list(ledger.entries())) == count
    assert kept(place.path, "spent") == kept(place.mark, "mark_totals") == SPENT
    assert place.examined().problems == ()
    with closing(SQLiteStore(place.path)) as store, store.reading() as rows:
        assert store.is_as_made(rows)


def test_a_population_of_before_gets_an_epsilon_once(place: Place) -> None:
    with place.ledger() as ledger:
        for cap in (amount(100, 200, 10), amount(100, 200, 10)):
            ledger.open(PATIENTS, AccountTerms(cap))
        assert ledger.terms(PATIENTS).cap == amount(100, 200, 10)
        for cap in (amount(100, 201, 10), amount(100, delta=10), amount(101, 200, 10), amount(100, 200, 11)):
            with pytest.raises(InvalidParameter, match="set once"):
                ledger.open(PATIENTS, AccountTerms(cap))
        for cap in (amount(101, 200, 10), amount(100, 200, 11), amount(50, order=None)):
            with pytest.raises(InvalidParameter, match="set once"):
                ledger.open(STUDENTS, AccountTerms(cap))
    assert place.examined().problems == ()
    with closing(sqlite3.connect(place.mark)) as rows:
        ((terms,),) = rows.execute("SELECT terms FROM mark_caps WHERE path = '[\"patients\"]'").fetchall()
    assert json.loads(terms)["cap"] == [100, 10, "15", 200]


def additions(place: Place) -> list[bool]:
    """Whether pure charges beyond the rectangle are taken of a population that has spent, and of one that has not."""
    taken = []
    with place.ledger() as ledger:
        ledger.open(ANA, AccountTerms(amount(80, 160, 10)))
        for account in (PATIENTS, STUDENTS):
            ledger.open(account, AccountTerms(amount(100, 200, 10)))
            charge(ledger, account, amount(60, 90))
            try:
                charge(ledger, account, amount(60, 90))
                taken.append(True)
            except BudgetExceeded:
                taken.append(False)
    return taken


def test_what_was_charged_before_counts_as_not_pure(place: Place) -> None:
    assert additions(place) == [False, True]
    assert place.examined().problems == ()


def test_the_test_above_notices_charges_of_before_that_count_as_no_epsilon(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = checking.Recount.totals
    monkeypatch.setattr(
        checking.Recount, "totals", lambda self: {name: (*sums[:2], 0) for name, sums in right(self).items()}
    )
    assert additions(place) == [True, True]
    monkeypatch.undo()
    assert place.examined().problems == ("entry 13: it charges more than was left",)


@pytest.mark.parametrize(
    ("cap", "sound"),
    [
        ([100, 10, "15", 200], True),
        ([100, 10, "15", UNBOUNDED], False),
        ([101, 10, "15", 200], False),
        ([100, 11, "15", 200], False),
        ([100, 10, "16", 200], False),
        ([100, 10, "15", 200, 1], False),
        ([100, 10, "15", True], False),
        ([100, 10, "15", -1], False),
        ([100, 10, None, 200], False),
    ],
)
def test_the_recount_believes_in_a_cap_with_an_epsilon_and_in_no_other_change(cap: list[Any], sound: bool) -> None:
    """An entry as somebody would write it who can also compute hashes."""
    with closing(Ledger.in_memory()) as ledger:
        ledger.open(PATIENTS, AccountTerms(amount(100, delta=10)))
        _opened_by_hand(ledger, cap)
        assert _believed(ledger) is sound
        if sound:
            _opened_by_hand(ledger, [100, 10, "15", 201])
            assert not _believed(ledger)


def _opened_by_hand(ledger: Ledger, cap: list[Any]) -> None:
    terms = {"cap": cap, "start": None, "end": None, "reserve": None}
    text = accounts.canonical(terms)
    ledger._journal.append(lambda writing: writing.add("account", {"account": ["patients"], "terms": terms}))
    ledger._journal.append(lambda writing: writing.rows.execute("UPDATE accounts SET terms = ?", [text]))


def _believed(ledger: Ledger) -> bool:
    return examined(ledger._journal._store).sound


@pytest.mark.parametrize("change", ["UPDATE spent SET divergence = divergence - 1", "DELETE FROM spent"])
def test_sums_of_before_that_were_lowered_are_refused_and_not_made_anew(place: Place, change: str) -> None:
    place.tamper(change)
    with pytest.raises(LedgerRefused, match="damaged"), place.ledger():
        pass
    with pytest.raises(LedgerRefused, match="damaged"):
        place.reconcile()


def test_a_crash_while_the_column_is_added_leaves_the_ledger_as_it_was(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = place.examined()
    with monkeypatch.context() as patched:
        patched.setattr(checking, "SPENT", "the process is gone")
        with pytest.raises(sqlite3.OperationalError), place.ledger():
            pass
    assert place.examined() == before
    test_it_opens_with_what_was_spent_in_every_account(place)


def test_a_backup_of_before_is_reconciled_with_a_mark_of_before(place: Place) -> None:
    place.restore("backup")
    (raised,) = place.reconcile().raised
    assert (raised.account, raised.amount) == (PATIENTS, amount(5))
    with place.ledger() as ledger:
        assert ledger.spent(PATIENTS) == amount(45, delta=2)
    assert place.examined().problems == ()


def test_a_backup_of_before_is_reconciled_with_a_mark_that_went_on(place: Place) -> None:
    """What the lost copy spent on students was pure, and so is what is taken over; the cap got its epsilon there."""
    with place.ledger() as ledger:
        for account in (PATIENTS, STUDENTS):
            ledger.open(account, AccountTerms(amount(100, 200, 10)))
        charge(ledger, PATIENTS, amount(2, 3))
        charge(ledger, STUDENTS, amount(40, 50, 1))
        charge(ledger, STUDENTS, amount(20, 30), "north")
    place.restore("backup")
    raised = {each.account: each.amount for each in place.reconcile().raised}
    assert raised == {PATIENTS: amount(7), STUDENTS: amount(60, 80, 1)}
    with place.ledger() as ledger:
        ledger.open(STUDENTS, AccountTerms(amount(100, 200, 10)))
        charge(ledger, STUDENTS, amount(60, 70))
        with pytest.raises(BudgetExceeded):
            charge(ledger, STUDENTS, amount(60, 70))
    assert place.examined().problems == ()


def test_a_mark_file_of_another_form_is_left_alone(place: Place) -> None:
    with closing(sqlite3.connect(place.mark)) as rows:
        rows.execute("ALTER TABLE mark_totals ADD COLUMN epsilon BIGINT")
    with pytest.raises(InvalidParameter, match="another file"), place.ledger():
        pass


@pytest.mark.parametrize("budget", [dl.Budget(epsilon=1, delta="1e-6"), dl.Budget(epsilon=1)])
def test_a_folder_of_before_opens_and_goes_on(tmp_path: Path, budget: dl.Budget) -> None:
    ask = "SELECT COUNT(*) AS n FROM visits WHERE age >= {}"
    with dl.create(tmp_path / "clinic", mark=tmp_path / "mark.sqlite") as db:
        db.add_population("patients", budget=budget)
        rows = pa.table({"patient_id": [1, 2, 3], "age": [30, 40, 50]})
        db.add_table("visits", rows, population="patients", unit="patient_id", max_rows=1, max_groups=1,
                     columns={"age": dl.Int(0, 120)})  # fmt: skip
        db.add_study("flu", population="patients", share="50%", reserve="10%")
        db.grant("ana", tables=["visits"], share="20%", study="flu")
        first = db.as_analyst("ana").sql(ask.format(40)).run(share="1%")
    as_before(tmp_path / "clinic" / "ledger.sqlite", tmp_path / "mark.sqlite")
    with dl.open(tmp_path / "clinic") as again:
        ledger, people = again._curator.ledger, again.catalog.populations["patients"]
        assert ledger.terms(PATIENTS).cap == people.renyi_filter.cap
        assert again.as_analyst("ana").replay(first.receipt)["n"] == first["n"]
        again.as_analyst("ana").sql(ask.format(50)).run(share="1%")
        again.sql(ask.format(60)).run(share="1%")
        assert again.verify().sound
        count = len(list(ledger.entries()))
    with dl.open(tmp_path / "clinic") as once_more:
        assert len(list(once_more._curator.ledger.entries())) == count
        assert once_more.verify().sound
