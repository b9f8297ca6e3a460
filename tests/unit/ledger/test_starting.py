"""A ledger starts only if it is whole, the right one, and not behind its mark; every refusal says what to do."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dalenius.errors import InvalidParameter, LedgerRefused, LedgerStopped
from dalenius.ledger import journal, marks
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Figures, Head, Mark
from dalenius.ledger.stores import SQLiteStore
from ledger_cases import NAME, PATIENTS, Place, charge, opened, without_syncs


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    without_syncs(monkeypatch)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A ledger that has charged 10, a backup of then, and 5 more since."""
    place = Place(tmp_path)
    with place.ledger("create") as ledger:
        charge(opened(ledger), None, 10)
    place.backup("backup")
    with place.ledger() as ledger:
        charge(ledger, None, 5)
    return place


def test_a_ledger_goes_on_where_it_was(place: Place) -> None:
    with place.ledger() as ledger:
        assert ledger.spent(PATIENTS).divergence == 15
        charge(ledger, None, 1)
    with place.ledger() as ledger:
        assert len(ledger.history()) == 3


def test_nothing_is_created_where_a_ledger_is(place: Place) -> None:
    with pytest.raises(InvalidParameter, match="in use"), place.ledger("create"):
        pass


def test_nothing_is_created_under_a_mark_that_was_used(place: Place) -> None:
    place.path.unlink()
    with pytest.raises(LedgerRefused, match="shorter"), place.ledger("create"):
        pass


def _without(*suffixes: str) -> Callable[[Place], None]:
    return lambda place: [place.path.with_name(place.path.name + suffix).unlink() for suffix in suffixes] and None


def _cut(place: Place, keep: float) -> None:
    data = place.path.read_bytes()
    place.path.write_bytes(data[: int(len(data) * keep)])


def _flipped(place: Place, at: int) -> None:
    data = bytearray(place.path.read_bytes())
    data[at % len(data)] ^= 0xFF
    place.path.write_bytes(bytes(data))


def _other_name(place: Place) -> None:
    """The ledger of another database in place of this one."""
    other = Place(place.folder / "other")
    other.folder.mkdir()
    with other.ledger("create", name="another") as ledger:
        charge(opened(ledger), None, 1)
    place.copy(other.path, place.path)


REFUSED: dict[str, tuple[Callable[[Place], object], str]] = {
    "no file": (_without(""), "tables are missing"),
    "an empty file": (lambda p: p.path.write_bytes(b""), "tables are missing"),
    "no entries": (lambda p: p.tamper("DELETE FROM entries"), "damaged"),
    "empty tables": (
        lambda p: p.tamper(*(f"DELETE FROM {t}" for t in ("entries", "spent", "accounts", "receipts"))), "it is empty"
    ),
    "missing tables": (lambda p: p.tamper("DROP TABLE receipts"), "tables are missing"),
    "another file": (lambda p: p.path.write_bytes(b"not a database at all" * 400), "cannot be read as a database"),
    "half a file": (lambda p: _cut(p, 0.5), "damaged"),
    "another database": (_other_name, "another database"),
    "a backup": (lambda p: p.restore("backup"), "shorter than it has been"),
    "no mark": (lambda p: p.mark.unlink(), "its high-water mark is not here"),
    "a damaged mark": (lambda p: p.mark.write_bytes(b"x" * 8192), "damaged"),
    "sums that were lowered": (lambda p: p.tamper("UPDATE spent SET divergence = 0"), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_ledger_that_cannot_be_trusted_is_refused_with_what_to_do(place: Place, what: str) -> None:
    change, problem = REFUSED[what]
    change(place)
    with pytest.raises(LedgerRefused, match=problem) as refusal, place.ledger():
        pass
    assert "nothing was run or charged" in str(refusal.value)
    assert str(place.folder) not in str(refusal.value)
    assert any(word in refusal.value.instead for word in ("backup", "reconcile", "Put back"))


@pytest.mark.parametrize("part", range(24))
def test_a_flipped_byte_is_refused_or_changes_nothing(place: Place, part: int) -> None:
    """In a free part of a page it changes nothing; anywhere else it is refused."""
    _flipped(place, 1000 + part * 2503)
    try:
        with place.ledger() as ledger:
            assert ledger.spent(PATIENTS).divergence == 15
            assert len(ledger.history()) == 2
    except LedgerRefused:
        pass


def test_a_clone_that_went_on_elsewhere_is_refused(place: Place) -> None:
    """The other machine has a mark of its own; whoever brings its ledger back meets the mark that stayed here."""
    elsewhere = Place(place.folder / "elsewhere")
    elsewhere.folder.mkdir()
    shutil.copy(place.path, elsewhere.path)
    with pytest.raises(LedgerRefused, match="copied from another machine"), elsewhere.ledger():
        pass
    elsewhere.reconcile()
    with elsewhere.ledger() as ledger:
        charge(ledger, None, 7)
    with place.ledger() as ledger:
        charge(ledger, None, 1)
    place.copy(elsewhere.path, place.path)
    with pytest.raises(LedgerRefused, match="not the one that was used last"), place.ledger():
        pass


def test_of_two_copies_that_run_at_once_one_is_stopped(place: Place) -> None:
    shutil.copy(place.path, place.folder / "clone.sqlite")
    with (
        place.ledger() as first,
        closing(SQLiteStore(place.folder / "clone.sqlite")) as store,
        closing(Mark.in_file(place.mark, NAME)) as mark,
    ):
        second = Ledger.start(store, mark, NAME)
        charge(first, None, 1)
        for _ in range(2):
            with pytest.raises(LedgerRefused, match="shorter"):
                charge(second, None, 1)
        charge(first, None, 1)


def test_a_running_ledger_whose_mark_is_exchanged_is_stopped(place: Place) -> None:
    with place.ledger() as ledger:
        with closing(sqlite3.connect(place.mark)) as connection, connection:
            connection.execute("DELETE FROM marks")
        with pytest.raises(LedgerRefused, match="mark is not here"):
            charge(ledger, None, 1)
        assert ledger.spent(PATIENTS).divergence == 15


# ---- a crash between the two commits


def _dies(*_: object) -> None:
    raise OSError("the process is gone")


def test_a_mark_that_was_left_behind_by_a_crash_is_moved_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.ledger() as ledger, monkeypatch.context() as patched:
        patched.setattr(marks.HeldMark, "move", _dies)
        with pytest.raises(LedgerStopped):
            charge(ledger, None, 20)
    assert _marked(place)[0].number < place.examined().head.number
    with place.ledger() as ledger:
        assert ledger.spent(PATIENTS).divergence == 35
    head, figures = _marked(place)
    assert head == place.examined().head
    assert figures.spent['["patients"]', ""] == (35, 0, 35)


def test_what_a_crashed_process_spent_reaches_the_mark_with_the_next_commit(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process runs on; its own change is to another block than that of the one that died."""
    with place.ledger() as survivor, place.ledger() as ledger:
        with monkeypatch.context() as patched:
            patched.setattr(marks.HeldMark, "move", _dies)
            with pytest.raises(LedgerStopped):
                charge(ledger, None, 20, block="north")
        charge(survivor, None, 1, block="south")
    assert _marked(place)[1].spent['["patients"]', "north"] == (20, 0, 20)


def test_the_test_above_notices_a_mark_that_keeps_own_changes_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = journal.Balances.figures
    monkeypatch.setattr(journal.Balances, "figures", lambda self, changed_only: figures(self, changed_only=True))
    with pytest.raises(KeyError):
        test_what_a_crashed_process_spent_reaches_the_mark_with_the_next_commit(place, monkeypatch)


def _marked(place: Place) -> tuple[Head, Figures]:
    with closing(Mark.in_file(place.mark, NAME)) as mark, mark.held() as held:
        last = held.last()
        assert last
        return last, held.figures()
