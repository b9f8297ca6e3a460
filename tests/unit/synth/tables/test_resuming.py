"""A fit that was stopped goes on with the same key: charged once, and no outcome that was kept is drawn again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from clinics import clinic, visits
from costs import cases
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.errors import InvalidParameter, WorkStopped
from dalenius.ledger.ledger import STEP, Ledger
from dalenius.privacy.losses import Loss
from dalenius.session.databases import Database
from dalenius.synth.tables import journal
from dalenius.synth.tables.journal import FOLDER, OutcomeJournal
from stopping import KEY, TABLE, fitted


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A database with a table of patients and one of their visits."""
    data = visits(patients=60)
    with clinic(path=tmp_path / "db", data=data) as db:
        people = pa.table({name: data[name].to_pylist()[::3] for name in ("patient_id", "age", "city")})
        db.add_table(
            "patients",
            people,
            population="patients",
            unit="patient_id",
            max_rows=1,
            max_groups=1,
            columns={"age": dl.Int(0, 120), "city": dl.Category("Oslo", "Bergen", "Tromsø")},
        )
    return tmp_path / "db"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows with every outcome that is drawn in this process for a fit that is kept."""
    noted: list[Any] = []
    real = journal.measure

    def noting(*arguments: Any) -> Any:
        noted.append(real(*arguments))
        return noted[-1]

    monkeypatch.setattr(journal, "measure", noting)
    return noted


def file_of(folder: Path) -> Path:
    (found,) = (folder / FOLDER).iterdir()
    return found


def stopped(db: Database, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Interrupt a fit in this process after so many outcomes were kept."""
    real, steps = Ledger.step, 0

    def interrupting(self: Ledger, *arguments: Any, **named: Any) -> None:
        nonlocal steps
        real(self, *arguments, **named)
        steps += 1
        if steps == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "step", interrupting)
        with pytest.raises(KeyboardInterrupt):
            fitted(db)


def test_an_interrupt_or_an_error_stops_a_fit_that_can_go_on(
    folder: Path, drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with dl.open(folder) as db:
        stopped(db, monkeypatch, after=4)
        first = len(drawn)
        assert first == 4
        with monkeypatch.context() as patch:
            patch.setattr(journal, "measure", lambda *_: 1 / 0)
            with pytest.raises(WorkStopped):
                fitted(db)
        fitted(db)
        assert len(drawn) == len(db._curator.ledger.records(STEP))
        assert len(db._curator.ledger.history()) == 1


def test_what_was_kept_is_paid_for_again_out_of_the_same_charge(
    folder: Path, drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prices of all outcomes, kept and drawn, are within what was charged."""
    prices: list[Charge] = []
    real = Allowance.draw

    def noting(self: Allowance, loss: Loss) -> None:
        prices.append(self.price(loss))
        real(self, loss)

    with dl.open(folder) as db:
        stopped(db, monkeypatch, after=5)
        monkeypatch.setattr(Allowance, "draw", noting)
        fitted(db)
        assert len(prices) == len(db._curator.ledger.records(STEP)) == len(drawn)
        assert sum(prices[1:], prices[0]) <= db.spent()["patients"].amount


def test_the_test_above_notices_outcomes_that_are_handed_back_for_nothing(
    folder: Path, drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = OutcomeJournal.measured

    def generous(self: OutcomeJournal, about: Any, mechanism: Any, exact: Any, allowance: Any, entropy: Any) -> Any:
        if self._left:
            return journal._outcome(self._left.popleft().outcome)
        return real(self, about, mechanism, exact, allowance, entropy)

    monkeypatch.setattr(OutcomeJournal, "measured", generous)
    with pytest.raises(AssertionError):
        test_what_was_kept_is_paid_for_again_out_of_the_same_charge(folder, drawn, monkeypatch)


def test_the_file_is_its_owners_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with dl.open(folder) as db:
        stopped(db, monkeypatch, after=2)
    assert file_of(folder).stat().st_mode & 0o777 == 0o600
    assert file_of(folder).parent.stat().st_mode & 0o777 == 0o700


# ---- what was changed meanwhile


@pytest.fixture
def paused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Database, Path, bytes]]:
    """A fit that was stopped after five outcomes, and its journal."""
    with dl.open(folder) as db:
        stopped(db, monkeypatch, after=5)
        file = file_of(folder)
        yield db, file, file.read_bytes()


@cases("tail", [b"half of an outc", b"\0" * 40, b"ab cd\n"], fast=1)
def test_an_outcome_that_was_cut_off_in_the_middle_of_its_write_is_drawn_again(
    paused: tuple[Database, Path, bytes], drawn: list[Any], tail: bytes
) -> None:
    db, file, known = paused
    file.write_bytes(known + tail)
    fitted(db)
    assert len(db._curator.ledger.records(STEP)) == 5 + len(drawn)


def edited(known: bytes) -> dict[str, bytes]:
    """A journal as somebody or something may have changed it."""
    lines = known.splitlines(keepends=True)
    return {
        "lost": b"",
        "cut": b"".join(lines[:-1]),
        "cut in a line": known[:-5],
        "another digit": known.replace(b'"outcome":[', b'"outcome": [', 1),
        "in another order": b"".join([lines[1], lines[0], *lines[2:]]),
        "without the first": b"".join(lines[1:]),
    }


@cases("how", edited(b"1\n2\n"), fast=2)
def test_a_journal_that_was_changed_or_rolled_back_is_refused_and_nothing_drawn(
    paused: tuple[Database, Path, bytes], drawn: list[Any], how: str
) -> None:
    db, file, known = paused
    file.write_bytes(edited(known)[how])
    with pytest.raises(InvalidParameter, match="journal"):
        fitted(db)
    assert not drawn
    file.write_bytes(known)
    fitted(db)
    assert drawn


def test_the_test_above_notices_a_ledger_that_knows_no_steps(
    paused: tuple[Database, Path, bytes], drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "last_step", lambda *_: None)
    monkeypatch.setattr(Ledger, "step", lambda *_, **__: None)
    with pytest.raises(pytest.fail.Exception):
        test_a_journal_that_was_changed_or_rolled_back_is_refused_and_nothing_drawn(paused, drawn, "cut")


def test_a_journal_of_another_receipt_is_refused(paused: tuple[Database, Path, bytes], drawn: list[Any]) -> None:
    db, file, known = paused
    TABLE.fit(db.table("visits"), epsilon="0.5", key="another")
    drawn.clear()
    with pytest.raises(KeyboardInterrupt):
        TABLE.fit(db.table("visits"), epsilon="0.25", key="a third", progress=interrupt)
    (third,) = set(file.parent.iterdir()) - {file}
    shutil.copy(third, file)
    drawn.clear()
    with pytest.raises(InvalidParameter, match="journal"):
        fitted(db)
    assert not drawn
    file.write_bytes(known)


def interrupt(percent: float) -> None:
    if percent > 40:
        raise KeyboardInterrupt


def test_rows_that_were_replaced_meanwhile_are_refused(paused: tuple[Database, Path, bytes], drawn: list[Any]) -> None:
    db, _, _ = paused
    db.update_table("visits", visits(patients=61))
    spent = db.spent()
    with pytest.raises(InvalidParameter, match="rows since replaced"):
        fitted(db)
    assert not drawn
    assert db.spent() == spent


def test_another_fit_with_the_same_key_is_refused(paused: tuple[Database, Path, bytes], drawn: list[Any]) -> None:
    db, _, _ = paused
    for other, epsilon in ((TABLE, "0.5"), (dl.Synthesizer(columns=["age"], order=1), 1)):
        with pytest.raises(InvalidParameter, match="key"):
            other.fit(db.table("visits"), epsilon=epsilon, key=KEY)
    assert not drawn


def test_calls_that_are_not_those_whose_outcomes_were_kept_stop_the_work(
    paused: tuple[Database, Path, bytes], drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade that measures something else."""
    db, file, known = paused
    from dalenius.synth.tables import adaptive

    monkeypatch.setattr(adaptive, "_ROUNDS_OF_COLUMN", 8)
    with pytest.raises(WorkStopped):
        fitted(db)
    assert not drawn
    assert file.read_bytes() == known


# ---- two at once


def test_of_two_who_go_on_at_once_one_is_refused_and_draws_nothing(
    paused: tuple[Database, Path, bytes], drawn: list[Any], folder: Path
) -> None:
    db, _, _ = paused
    told: list[int] = []

    def meanwhile(percent: float) -> None:
        if not told:
            told.append(len(drawn))
            with dl.open(folder) as other, pytest.raises(InvalidParameter, match="another process"):
                fitted(other)
            assert len(drawn) == told[0]

    fitted(db, progress=meanwhile)
    assert told
    assert len(db._curator.ledger.records(STEP)) == 5 + len(drawn)


def test_without_a_lock_the_ledger_lets_only_one_go_on(
    paused: tuple[Database, Path, bytes], drawn: list[Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on two machines that share a ledger: whoever is second has drawn one outcome at most, which nobody saw."""
    db, file, known = paused
    monkeypatch.setattr("dalenius.catalog.places._taken", lambda number: True)
    told: list[int] = []

    def meanwhile(percent: float) -> None:
        if not told:
            told.append(len(drawn))
            with dl.open(folder) as other:
                fitted(other)
            file.write_bytes(known)

    with pytest.raises(WorkStopped):
        fitted(db, progress=meanwhile)
    steps = db._curator.ledger.records(STEP)
    assert len(drawn) == len(steps) - 5 + 1
    assert len({each["hash"] for each in steps}) == len(steps)
    assert fitted(db).source.replayed


def test_in_memory_and_without_a_key_nothing_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(OutcomeJournal, "__init__", broken)
    with clinic() as db:
        fitted(db)
    with dl.open(folder) as db:
        TABLE.fit(db.table("visits"), epsilon=1)
        assert not (folder / FOLDER).exists()
    with clinic() as db:
        real = Ledger.store
        monkeypatch.setattr(Ledger, "store", broken)
        with pytest.raises(WorkStopped):
            fitted(db)
        monkeypatch.setattr(Ledger, "store", real)
        with pytest.raises(WorkStopped):
            fitted(db)
