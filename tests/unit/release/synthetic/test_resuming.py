"""A fit that was stopped goes on with the same key: charged once, and no outcome that was kept is drawn again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from stopping import KEY, STAGES, TABLE, fitted, killed

import dalenius as dl
from clinics import clinic, visits
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Amount
from dalenius.curator.databases import Database
from dalenius.curator.ledger.ledger import STEP, Ledger
from dalenius.errors import InvalidParameter, WorkStopped
from dalenius.privacy.losses import Loss
from dalenius.release.synthetic import journal
from dalenius.release.synthetic.journal import FOLDER, Journal, Kept, entries


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
            most=dl.Most(rows=1, groups=1),
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


def kept(folder: Path) -> list[Kept]:
    """What the journal of the one fit holds."""
    with dl.open(folder) as db:
        (receipt,) = db._curator.ledger.history()
        return entries(file_of(folder).read_bytes(), receipt)[0]


def marginals(outcomes: list[Any]) -> list[list[int]]:
    """The noisy marginals among outcomes that were kept; the others are choices."""
    return [facts[1] for facts in outcomes if not isinstance(facts, int)]


def in_order(table: Any) -> list[list[int]]:
    return [[int(count) for count in part.counts.ravel()] for part in table.measured]


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


@pytest.mark.parametrize(
    ("stage", "number", "expected"),
    [(STAGES[0], 1, 0), (STAGES[1], 4, 3), (STAGES[2], 5, 5), (STAGES[3], 6, 6), ("before the answer", 0, None)],
)
def test_a_killed_fit_goes_on_for_nothing_and_draws_nothing_again(
    folder: Path, drawn: list[Any], stage: str, number: int, expected: int | None
) -> None:
    """An outcome that was drawn and not yet in the file died with its process, unseen, and is drawn anew."""
    elsewhere = killed(folder, stage, number)
    before = kept(folder)
    assert expected is None or len(before) == expected
    assert elsewhere - len(before) == (stage == STAGES[1])
    with dl.open(folder) as db:
        spent = db.spent()
        price = TABLE.cost(db.table("visits"), epsilon=1).amounts
        table = fitted(db)
        assert db.spent() == spent
        assert spent["patients"].amount == price["patients"]
        assert len(db._curator.ledger.history()) == 1
        steps = len(db._curator.ledger.records(STEP))
        assert steps == len(before) + len(drawn)
        assert not list((folder / FOLDER).iterdir())
        found = in_order(table)
        old = marginals([each.outcome for each in before])
        assert found[: len(old)] == old
        assert found[len(old) :] == [np.ravel(each).tolist() for each in drawn if np.ndim(each)]
        assert table.report().marginals == len(found)
        assert len(table.sample(5)) == 5
        again = fitted(db)
        assert again.source.replayed
        assert in_order(again) == found


def test_the_test_above_notices_a_journal_that_is_ignored(
    folder: Path, drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(self: Journal, path: Path, ledger: Ledger, receipt: Any) -> None:
        self._path, self._ledger, self._receipt = path, ledger, receipt
        self._left, self._head = journal.deque(), ledger.last_step(receipt)

    monkeypatch.setattr(Journal, "__init__", forgetful)
    with pytest.raises(AssertionError):
        test_a_killed_fit_goes_on_for_nothing_and_draws_nothing_again(folder, drawn, STAGES[3], 6, 6)
    assert len(drawn) > 6


def test_a_fit_that_died_after_its_answer_was_stored_is_replayed_and_its_journal_let_go(
    folder: Path, drawn: list[Any]
) -> None:
    killed(folder, "after the answer", 0)
    assert kept(folder)
    with dl.open(folder) as db:
        assert fitted(db).source.replayed
        assert not drawn
        TABLE.fit(db.table("visits"), epsilon=1, key="another", fresh=True)
        assert not list((folder / FOLDER).iterdir())


def test_a_family_goes_on_from_its_parents_to_its_children(folder: Path, drawn: list[Any]) -> None:
    killed(folder, STAGES[3], 5, "family")
    before = kept(folder)
    with dl.open(folder) as db:
        spent = db.spent()
        family = fitted(db, "family")
        assert db.spent() == spent
        found = [*in_order(family.parents), *in_order(family.children)]
        old = marginals([each.outcome for each in before])
        assert found[: len(old)] == old
        assert found[len(old) :] == [np.ravel(each).tolist() for each in drawn if np.ndim(each)]
        new, visits_of = family.sample(10)
        assert len(new) == 10
        assert visits_of.column_names == ["patient_id", "cost"]


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
    prices: list[Amount] = []
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
    real = Journal.measured

    def generous(self: Journal, about: Any, mechanism: Any, exact: Any, allowance: Any, entropy: Any) -> Any:
        if self._left:
            return journal._outcome(self._left.popleft().outcome)
        return real(self, about, mechanism, exact, allowance, entropy)

    monkeypatch.setattr(Journal, "measured", generous)
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


@pytest.mark.parametrize("tail", [b"half of an outc", b"\0" * 40, b"ab cd\n"])
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


@pytest.mark.parametrize("how", edited(b"1\n2\n"))
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
    from dalenius.release.synthetic import adaptive

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
    monkeypatch.setattr("dalenius.curator.folder.files._taken", lambda number: True)
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

    monkeypatch.setattr(Journal, "__init__", broken)
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
