"""The check: an independent recount accepts every sound ledger, and notices every change of one."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dalenius.accounting.amounts import Charge
from dalenius.ledger import checking, journal
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms
from dalenius.ledger.checking import Findings, examined
from dalenius.ledger.journal import Writing
from dalenius.ledger.ledger import Ledger, new_name
from dalenius.ledger.stores import SQLiteStore
from dalenius.ledger.texts import keep, packed
from ledger_cases import ANA, BEN, PATIENTS, Place, charge, opened, units, without_syncs

CANARY = "canary-4711"


def facts_of(body: str) -> dict[str, Any]:
    return dict(json.loads(body))


def written(facts: dict[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    without_syncs(monkeypatch)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A ledger with entries of every kind but 'reconciled'."""
    place = Place(tmp_path)
    with place.ledger("create") as ledger:
        opened(ledger, ana=50, ben=80)
        ledger.open(BEN, AccountTerms(units(70, 70), reserve=units(5)))
        first = charge(ledger, "ana", 10, 3, request="r", key="k", question=CANARY)
        charge(ledger, None, 20, block="north")
        ledger.store(first, "the answer")
        ledger.read(first, [AccountCharge(BEN, units(4))], who="ben")
        ledger.record("table", {"table": "visits", "version": 1})
    return place


def test_a_sound_ledger_is_sound_and_its_balances_are_told(place: Place) -> None:
    findings = place.examined()
    assert findings.problems == ()
    assert findings.balances == {PATIENTS: units(30, 3), ANA: units(10, 3), BEN: units(4)}
    with place.ledger() as ledger:
        assert {account: ledger.spent(account) for account in findings.balances} == findings.balances


def _changed(number: int, **changes: object) -> Callable[[Place], None]:
    """Write other facts into an entry, and leave its hash."""

    def change(place: Place) -> None:
        rewrite(place, {number: changes}, chained=False)

    return change


def rewrite(place: Place, changes: dict[int, dict[str, object]], *, chained: bool = True) -> None:
    """Change entries as somebody would who can also compute hashes."""
    with place.unguarded() as connection:
        entries = connection.execute("SELECT number, body, hash FROM entries ORDER BY number").fetchall()
        previous = "0" * 64
        for number, body, digest in entries:
            text = written({**facts_of(body), **changes[number]}) if number in changes else body
            previous = hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest() if chained else digest
            connection.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", [text, previous, number])


def _plainly(place: Place, *statements: str) -> None:
    """Change a file and leave its guards as they are then."""
    with closing(sqlite3.connect(place.path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


WALLS = "its tables are missing, or they or what guards them were changed"
TAMPERED: dict[str, tuple[Callable[[Place], None], str]] = {
    "an entry that was changed": (_changed(6, question="other"), "entry 6: its hash"),
    "an entry taken out": (lambda p: p.tamper("DELETE FROM entries WHERE number = 6"), "entry 6: it is missing"),
    "the first entry taken out": (lambda p: p.tamper("DELETE FROM entries WHERE number = 1"), "entry 1: it is missing"),
    "an entry before the first": (lambda p: p.tamper("INSERT INTO entries VALUES (0, '{}', '')"), "entry 1"),
    "an entry with a gap": (lambda p: p.tamper("UPDATE entries SET number = 99 WHERE number = 10"), "entry 10"),
    "another hash": (lambda p: p.tamper("UPDATE entries SET hash = 'a' WHERE number = 3"), "entry 3: its hash"),
    "two entries swapped": (
        lambda p: p.tamper(
            "UPDATE entries SET number = -1 WHERE number = 6",
            "UPDATE entries SET number = 6 WHERE number = 7",
            "UPDATE entries SET number = 7 WHERE number = -1",
        ),
        "entry 6: its hash",
    ),
    "less that was spent": (
        lambda p: p.tamper("UPDATE spent SET divergence = divergence - 1 WHERE path = '[\"patients\"]'"), "spent:"
    ),
    "spending forgotten": (lambda p: p.tamper("DELETE FROM spent"), "spent:"),
    "a block renamed": (lambda p: p.tamper("UPDATE spent SET block = 'south' WHERE block = 'north'"), "spent:"),
    "a larger cap": (lambda p: p.tamper("UPDATE accounts SET terms = replace(terms, '100', '999')"), "accounts:"),
    "a reserve forgotten": (lambda p: p.tamper("UPDATE accounts SET reserving = 0"), "accounts:"),
    "an account too many": (
        lambda p: p.tamper("INSERT INTO accounts SELECT '[\"x\"]', 'x', terms, 0 FROM accounts LIMIT 1"), "accounts:"
    ),
    "a receipt forgotten": (lambda p: p.tamper("DELETE FROM receipts WHERE key = 'k'"), "entry 6: its receipt"),
    "a receipt too many": (
        lambda p: p.tamper("INSERT INTO receipts VALUES ('x', 6, 'ana', NULL, '', 0)"), "receipts: there are 3"
    ),
    "a receipt of somebody else": (lambda p: p.tamper("UPDATE receipts SET who = 'ben'"), "entry 6: its receipt"),
    "an older receipt": (lambda p: p.tamper("UPDATE receipts SET second = 0"), "entry 6: its receipt"),
    "an answer that was changed": (lambda p: p.tamper("UPDATE texts SET body = x'00'"), "entry 8: its answer"),
    "an answer of other pieces": (lambda p: p.tamper("UPDATE answers SET pieces = ''"), "entry 8: its answer"),
    "an answer of another entry": (lambda p: p.tamper("UPDATE answers SET number = 7"), "entry 8: its answer"),
    "a text that is gone": (lambda p: p.tamper("DELETE FROM texts"), "entry 8: its answer"),
    "a text too many": (lambda p: p.tamper("INSERT INTO texts VALUES ('x', x'00')"), "texts: there are 2"),
    "an answer that is gone": (lambda p: p.tamper("DELETE FROM answers"), "entry 8: its answer"),
    "an answer too many": (lambda p: p.tamper("INSERT INTO answers VALUES ('x', 8, 'y')"), "answers: there are 2"),
    "tables that are gone": (lambda p: p.tamper("DROP TABLE spent"), "its tables are missing"),
    "a trigger that takes charges back": (
        lambda p: p.tamper("CREATE TRIGGER x AFTER INSERT ON receipts BEGIN UPDATE spent SET divergence = 0; END"),
        WALLS,
    ),
    "a guard that is gone": (lambda p: _plainly(p, "DROP TRIGGER entries_never_delete"), WALLS),
    "a guard that does nothing": (
        lambda p: _plainly(
            p,
            "DROP TRIGGER entries_never_delete",
            "CREATE TRIGGER entries_never_delete BEFORE delete ON entries BEGIN SELECT 1; END",
        ),
        WALLS,
    ),
    "a view in place of a table": (
        lambda p: p.tamper("ALTER TABLE spent RENAME TO s", "CREATE VIEW spent AS SELECT path, block, 0, 0 FROM s"),
        WALLS,
    ),
    "an index that lets go of a key": (lambda p: p.tamper("DROP INDEX receipts_by_time"), WALLS),
}  # fmt: skip


def test_the_tests_below_notice_a_check_that_ignores_triggers(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: entries and sums alone are looked at, and six charges of half the budget are answered."""
    monkeypatch.setattr(SQLiteStore, "is_as_made", lambda self, rows: True)
    TAMPERED["a trigger that takes charges back"][0](place)
    assert place.examined().sound
    with place.ledger() as ledger:
        for _ in range(6):
            charge(ledger, None, 50)


@pytest.mark.parametrize("what", TAMPERED)
def test_a_ledger_that_was_changed_is_noticed(place: Place, what: str) -> None:
    change, problem = TAMPERED[what]
    change(place)
    findings = place.examined()
    assert not findings.sound
    assert findings.problems[0].startswith(problem)
    assert not any(CANARY in text for text in findings.problems)


EARLIER = "2020-01-01T00:00:00+00:00"
PATIENT = {"account": ["patients"], "block": "", "amount": [1, 0, None]}
REWRITTEN: dict[str, tuple[int, dict[str, object], str]] = {
    "another number inside": (6, {"number": 7}, "it has another number inside"),
    "a time that runs back": (6, {"at": EARLIER}, "it is older than the one before"),
    "a time without a zone": (6, {"at": "2099-01-01T00:00:00"}, "its time has no zone"),
    "a kind that is unknown": (6, {"kind": "refund"}, "it has not the names of its kind"),
    "a name too many": (6, {"refund": 1}, "it has not the names of its kind"),
    "a second name of the ledger": (6, {"kind": "ledger"}, "a ledger has one name"),
    "a record without a kind": (10, {"record": ""}, "a record has no kind"),
    "no charge at all": (6, {"charges": []}, "it charges a population twice, or none"),
    "two charges": (6, {"charges": [PATIENT, PATIENT]}, "it charges a population twice, or none"),
    "nothing charged": (6, {"charges": [{**PATIENT, "amount": [0, 0, None]}]}, "it charges nothing"),
    "less than nothing": (6, {"charges": [{**PATIENT, "amount": [-1, 0, None]}]}, "it has an amount that no"),
    "a number too large": (6, {"charges": [{**PATIENT, "amount": [2**63, 0, None]}]}, "it has an amount that no"),
    "true for one": (6, {"charges": [{**PATIENT, "amount": [True, 0, None]}]}, "it has an amount that no"),
    "half a unit": (6, {"charges": [{**PATIENT, "amount": [0.5, 0, None]}]}, "it is not JSON"),
    "another order": (6, {"charges": [{**PATIENT, "amount": [1, 0, "2"]}]}, "it charges in another unit"),
    "more than the cap": (6, {"charges": [{**PATIENT, "amount": [101, 0, None]}]}, "it charges more than was left"),
    "more than the reserve leaves": (
        6, {"charges": [{**PATIENT, "amount": [96, 0, None]}]}, "it charges more than was left"
    ),
    "more delta than the cap": (6, {"charges": [{**PATIENT, "amount": [1, 101, None]}]}, "it charges more than was"),
    "an account that was not opened": (6, {"charges": [{**PATIENT, "account": ["x"]}]}, "it charges an account that"),
    "an account without a name": (6, {"charges": [{**PATIENT, "account": []}]}, "it names no account"),
    "another cap": (
        5, {"account": ["patients"], "terms": {"cap": [500, 500, None], "start": None, "end": None, "reserve": None}},
        "it changes a population's cap",
    ),
    "a quota in nothing": (3, {"account": ["x", "ana"]}, "its account lies in none"),
    "terms that end before": (
        2, {"terms": {"cap": [100, 100, None], "start": None, "end": EARLIER, "reserve": None}},
        "it charges an account after its end",
    ),
    "terms that start later": (
        2, {"terms": {"cap": [100, 100, None], "start": "2999-01-01T00:00:00+00:00", "end": None, "reserve": None}},
        "it charges an account before its start",
    ),
    "an answer to no charge": (8, {"receipt": "x"}, "no charge before it paid for it"),
    "a replay of nothing": (9, {"receipt": "x"}, "no charge before it paid for it"),
}  # fmt: skip


@pytest.mark.parametrize("what", REWRITTEN)
def test_a_history_that_no_ledger_would_write_is_noticed_behind_right_hashes(place: Place, what: str) -> None:
    number, changes, problem = REWRITTEN[what]
    rewrite(place, {number: changes})
    findings = place.examined()
    assert any(problem in text for text in findings.problems), findings.problems
    assert not any(CANARY in text for text in findings.problems)


@pytest.mark.parametrize("body", ['{"number":6, "at":1}', '{"kind":"charge","at":1}', "[]", "6", "{", '{"a":1,"a":1}'])
def test_a_line_in_another_form_is_noticed_behind_right_hashes(place: Place, body: str) -> None:
    with place.unguarded() as connection:
        ((previous,),) = connection.execute("SELECT hash FROM entries WHERE number = 5").fetchall()
        digest = hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()
        connection.execute("UPDATE entries SET body = ?, hash = ? WHERE number = 6", [body, digest])
    assert place.examined().problems[0].startswith("entry 6: it ")


def test_charges_past_a_cap_are_noticed_at_the_time_of_each_charge() -> None:
    """A quota that was raised later does not excuse a charge that it did not allow."""
    with closing(opened(Ledger.in_memory(), ana=10)) as ledger:
        facts = _receipt_facts(AccountCharge(ANA, units(11)))
        ledger._journal.append(lambda writing: _forced(writing, facts, AccountCharge(ANA, units(11))))
        ledger.open(ANA, AccountTerms(units(90, 90)))
        assert examined(ledger._journal._store).problems == ("entry 4: it charges more than was left",)


def _receipt_facts(part: AccountCharge) -> dict[str, Any]:
    amount = [part.amount.divergence, part.amount.delta, None]
    charged = {"account": list(part.account.path), "amount": amount, "block": part.block}
    return {"receipt": new_name(), "who": "ana", "question": "q", "request": "", "key": None, "charges": [charged]}


def _forced(writing: Writing, facts: dict[str, Any], part: AccountCharge) -> None:
    """A charge as a ledger without caps would write it."""
    entry = writing.add("charge", facts)
    writing.balances.charge([part])
    row = [facts["receipt"], entry.number, "ana", None, "", int(entry.at.timestamp())]
    writing.rows.execute("INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?)", row)


@pytest.mark.parametrize(("amounts", "sound"), [([40, 60], True), ([40, 61], False)])
def test_what_all_and_what_a_block_spent_is_compared_with_the_cap(amounts: list[int], sound: bool) -> None:
    with closing(opened(Ledger.in_memory())) as ledger:
        for amount, block in zip(amounts, ["", "north"], strict=True):
            part = AccountCharge(PATIENTS, units(amount), block)
            ledger._journal.append(lambda writing, part=part: _forced(writing, _receipt_facts(part), part))
        assert examined(ledger._journal._store).sound is sound


# ---- planted bugs: the tests above would notice them


def _skips_the_body(previous: str, body: str) -> str:
    return hashlib.sha256(previous.encode()).hexdigest()


def test_a_ledger_whose_chain_skips_the_bodies_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "linked", _skips_the_body)
    with closing(Ledger.in_memory()) as ledger:
        assert examined(ledger._journal._store).problems[0].startswith("entry 1: its hash")


def test_a_check_whose_chain_skips_the_bodies_would_not_notice_another_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> Findings:
        place = Place(tmp_path / new_name())
        place.folder.mkdir()
        with place.ledger("create") as ledger:
            charge(opened(ledger), None, 1)
        _changed(3, question="other")(place)
        return place.examined()

    assert not found().sound
    monkeypatch.setattr(journal, "linked", _skips_the_body)
    monkeypatch.setattr(checking, "_chained", _skips_the_body)
    assert found().sound


def test_a_recount_of_the_sums_alone_would_not_notice_a_broken_chain(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    _changed(6, question="other")(place)
    assert not place.examined().sound
    monkeypatch.setattr(checking._Check, "_entry", _without_hashes)
    assert place.examined().sound


def _without_hashes(check: Any, number: int, body: str, digest: str) -> dict[str, Any]:
    entry = facts_of(body)
    check.recount.take(entry)
    check.head = journal.Head(number, digest)
    return entry


# ---- time


def test_the_times_of_a_ledger_are_zoned_and_told_by_their_own_clock() -> None:
    later = dt.datetime(2027, 5, 5, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    with closing(opened(Ledger.in_memory(clock=lambda: later))) as ledger:
        assert charge(ledger, None, 1).at == later
        assert examined(ledger._journal._store).sound


def many(count: int) -> Ledger:
    """A ledger of so many charges, each with an answer, written in one transaction."""
    ledger = Ledger.in_memory()
    ledger.open(PATIENTS, AccountTerms(Charge(divergence=10**15, order=None)))
    ledger.open(ANA, AccountTerms(Charge(divergence=10**15, order=None)))
    part = AccountCharge(Account(("patients", "ana")), units(3), "")

    def write(writing: Writing) -> None:
        for _ in range(count // 2):
            facts = _receipt_facts(part)
            _forced(writing, facts, part)
            entry = writing.add("answer", {"receipt": facts["receipt"], "sha256": hashlib.sha256(b"x").hexdigest()})
            keep(writing.rows, facts["receipt"], entry.number, packed(["x"]))

    ledger._journal.append(write)
    return ledger


def test_a_check_reads_any_number_of_pages() -> None:
    with closing(many(2 * checking.PAGE + 1)) as ledger:
        findings = examined(ledger._journal._store)
        assert findings.sound
        assert findings.balances[PATIENTS] == units(3 * checking.PAGE)
