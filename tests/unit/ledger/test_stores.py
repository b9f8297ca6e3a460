"""The SQLite store: for its owner alone, append-only, one moment for readers, and nothing after a fork or a close."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dalenius.errors import InvalidParameter, LedgerRefused, LedgerStopped
from dalenius.ledger import stores
from dalenius.ledger.ledger import Ledger, prepare
from dalenius.ledger.stores import SQLiteStore
from ledger_cases import PATIENTS, Place, charge, opened, without_syncs


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SQLiteStore]:
    without_syncs(monkeypatch)
    with closing(SQLiteStore(tmp_path / "ledger.sqlite")) as store:
        prepare(store)
        yield store


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_ledger_and_mark_are_for_the_owner_alone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.ledger("create") as ledger:
        charge(opened(ledger), None, 1)
        files = [*place.folder.glob("ledger.sqlite*"), *place.mark.parent.glob("mark.sqlite*")]
        assert len(files) == 6
        assert {mode(path) for path in files} == {0o600}
        assert mode(place.mark.parent) == 0o700


@pytest.mark.usefixtures("open_umask")
def test_a_file_that_others_could_read_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE x (y)")
        assert mode(path) == 0o644
        with closing(SQLiteStore(path)):
            assert {mode(each) for each in tmp_path.iterdir()} == {0o600}


def test_full_sync_and_wal_are_on(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "ledger.sqlite")) as store, store.reading() as rows:
        assert rows.execute("PRAGMA journal_mode") == [("wal",)]
    with closing(SQLiteStore(tmp_path / "ledger.sqlite")) as store, store.writing() as rows:
        assert rows.execute("PRAGMA synchronous") == [(2,)]


@pytest.mark.parametrize("table", ["entries", "answers", "texts"])
@pytest.mark.parametrize("change", ["UPDATE {} SET rowid = 7", "DELETE FROM {}"])
def test_sqlite_itself_refuses_to_change_or_delete(store: SQLiteStore, table: str, change: str) -> None:
    with store.writing() as rows:
        rows.execute("INSERT INTO entries VALUES (1, 'a', 'b')")
        rows.execute("INSERT INTO answers VALUES ('a', 1, 'b')")
        rows.execute("INSERT INTO texts VALUES ('b', x'00')")
    with pytest.raises(sqlite3.IntegrityError, match="taken back"), store.writing() as rows:
        rows.execute(change.format(table))
    with store.reading() as rows:
        assert rows.execute("SELECT count(*) FROM entries, answers, texts WHERE entries.body = 'a'") == [(1,)]


def test_a_block_that_raises_leaves_nothing(store: SQLiteStore) -> None:
    with pytest.raises(KeyboardInterrupt), store.writing() as rows:  # noqa: PT012
        rows.execute("INSERT INTO entries VALUES (1, 'a', 'b')")
        raise KeyboardInterrupt
    with store.reading() as rows:
        assert rows.execute("SELECT * FROM entries") == []


def test_integers_of_64_bits_are_kept(store: SQLiteStore) -> None:
    with store.writing() as rows:
        rows.execute("INSERT INTO spent VALUES ('p', '', ?, ?, ?)", [2**63 - 1] * 3)
    with store.reading() as rows:
        assert rows.execute("SELECT divergence, delta, epsilon FROM spent") == [(2**63 - 1,) * 3]


def test_readers_do_not_wait_for_a_writer_and_see_one_moment(store: SQLiteStore) -> None:
    seen: list[Any] = []

    def read() -> None:
        with store.reading() as rows:
            seen.append(rows.execute("SELECT count(*) FROM entries"))

    with store.reading() as early:
        assert early.execute("SELECT count(*) FROM entries") == [(0,)]
        with store.writing() as rows:
            rows.execute("INSERT INTO entries VALUES (1, 'a', 'b')")
            thread = threading.Thread(target=read)
            thread.start()
            thread.join(10)
            assert seen == [[(0,)]]  # while the writer is at it
        assert early.execute("SELECT count(*) FROM entries") == [(0,)]
    read()
    assert seen[1] == [(1,)]


def test_readers_cannot_write(store: SQLiteStore) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"), store.reading() as rows:
        rows.execute("INSERT INTO entries VALUES (1, 'a', 'b')")


def test_connections_of_readers_are_used_again(store: SQLiteStore) -> None:
    for _ in range(20):
        with store.reading() as one, store.reading() as two:
            assert one.execute("SELECT 1") == two.execute("SELECT 1")
    assert len(store._idle) == 2


def test_a_closed_store_says_so_and_a_reader_may_finish(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "ledger.sqlite")
    with store.reading() as rows:
        store.close()
        assert rows.execute("SELECT 1") == [(1,)]
    for block in (store.reading, store.writing):
        with pytest.raises(InvalidParameter, match="closed"), block():
            pass
    store.close()


def _used_in_a_fork(store: SQLiteStore, ledger: Ledger, results: Any) -> None:
    for attempt in (store.reading().__enter__, store.writing().__enter__, lambda: charge(ledger, None, 1)):
        try:
            attempt()
            results.put("used")
        except InvalidParameter as error:
            results.put(str(error))
    store.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_is_refused_before_any_lock_is_touched(tmp_path: Path) -> None:
    """All locks are held by a thread that does not exist in the fork: whoever waits for one waits for ever."""
    context, place = multiprocessing.get_context("fork"), Place(tmp_path)
    results = context.SimpleQueue()
    with place.ledger("create") as ledger, closing(SQLiteStore(tmp_path / "other.sqlite")) as store:
        opened(ledger)
        with store._lock, store._reading, ledger._journal._changed:
            child = context.Process(target=_used_in_a_fork, args=(store, ledger, results))
            child.start()
            child.join(30)
        assert child.exitcode == 0
        assert all("a fork" in results.get() for _ in range(3))
        charge(ledger, None, 1)
        assert ledger.spent(PATIENTS).divergence == 1


def test_tables_and_indexes_that_disagree_are_refused(tmp_path: Path) -> None:
    """A sum that is in the table and not in its index would be looked up as nothing."""
    place = Place(tmp_path)
    with place.ledger("create") as ledger:
        charge(opened(ledger), None, 1)
    with closing(sqlite3.connect(place.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        sql = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        ((root,),) = connection.execute(sql, ["sqlite_autoindex_spent_1"]).fetchall()
        ((other,),) = connection.execute(sql, ["sqlite_autoindex_answers_1"]).fetchall()
    data = bytearray(place.path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    data[(root - 1) * size : root * size] = data[(other - 1) * size : other * size]  # an empty index
    place.path.write_bytes(bytes(data))
    with pytest.raises(LedgerRefused, match="do not agree"):
        SQLiteStore(place.path)


def test_the_test_above_notices_a_store_that_does_not_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SQLiteStore, "_require_whole", lambda self: None)
    with pytest.raises(pytest.fail.Exception):
        test_tables_and_indexes_that_disagree_are_refused(tmp_path)


def test_another_process_that_holds_the_file_too_long_stops_nobody_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "BUSY_SECONDS", 0.05)
    place = Place(tmp_path)
    with place.ledger("create") as ledger:
        opened(ledger)
        with closing(sqlite3.connect(place.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerStopped):
                charge(ledger, None, 1)
            other.execute("ROLLBACK")
        charge(ledger, None, 1)
        assert ledger.spent(PATIENTS).divergence == 1
