"""Several processes with one folder: they change it one after the other, and see what the others have done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

import clinics
import dalenius as dl
from clinics import add_visits, clinic, visits
from dalenius.catalog import folder as folders
from dalenius.catalog.records import Records
from dalenius.engines.duckdb import connection
from dalenius.engines.duckdb.connection import FileTurn
from dalenius.errors import BudgetExceeded, DataMismatch, InvalidParameter, UnknownName
from dalenius.ledger.accounts import Entry
from postgres_server import server

COUNT = "SELECT COUNT(*) AS n FROM visits"
SMALL = visits(patients=4)
FILE = "file = db._curator.engine.imported._file\n"
SUPPORT = Path(clinics.__file__).parent
BEGIN = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
import clinics
import dalenius as dl
from clinics import add_visits, visits
db = dl.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    clinic(dl.Budget(1), data=SMALL, path=tmp_path / "clinic").close()
    return tmp_path / "clinic"


@contextmanager
def other(place: Path, work: str) -> Iterator[subprocess.Popen[str]]:
    """Another process with the folder open, which works when it gets a line; each line that it prints is a sign."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + work, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert heard(process) == "ready"
        yield process
    finally:
        process.kill()
        process.communicate()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


# ---- the catalog


def test_no_change_of_two_processes_is_lost(place: Path) -> None:
    work = "for n in range(8): db.grant(f'theirs{n}', tables=['visits'])\nprint('done', flush=True)\n"
    with other(place, work) as process, dl.open(place) as db:
        tell(process)
        for number in range(8):
            db.grant(f"ours{number}", tables=["visits"])
        assert heard(process) == "done"
        expected = {f"{whose}{number}" for whose in ("ours", "theirs") for number in range(8)}
        assert set(db._curator.folder.read().grants) == expected  # type: ignore[union-attr]
        assert db.as_analyst("theirs7").tables()


def test_the_test_above_notices_a_process_that_does_not_read_again(place: Path) -> None:
    first, second = dl.open(place), dl.open(place)
    stale = second._curator.folder.read()  # type: ignore[union-attr]
    first.grant("ana", tables=["visits"])
    with pytest.raises(InvalidParameter, match="Try again"):
        second._curator.folder.file.write(stale, stale)  # type: ignore[union-attr]
    second.grant("ben", tables=["visits"])
    assert set(second._curator.catalog.grants) == {"ana", "ben"}
    first.close()
    second.close()


def test_whoever_waits_too_long_for_the_catalog_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_EDIT_SECONDS", 0.05)
    with dl.open(place) as db:
        changes = pytest.raises(InvalidParameter, match="another process changes the catalog")
        with db._curator.folder.editing(), changes:  # type: ignore[union-attr]
            db.grant("ana", tables=["visits"])
        db.grant("ana", tables=["visits"])


def test_two_processes_cannot_make_one_folder(tmp_path: Path) -> None:
    """Both find it empty; only one gets it."""
    made, refused = [], []

    def attempt() -> None:
        try:
            made.append(dl.create(tmp_path / "clinic"))
        except InvalidParameter:
            refused.append(1)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 3)
    made[0].close()
    dl.open(tmp_path / "clinic").close()


# ---- rows


def test_an_import_gets_the_tables_from_a_process_that_is_idle(place: Path) -> None:
    """It lets go while it waits, and answers from the new version afterwards."""
    work = f"""
ana = db.as_analyst("ana")
print(ana.sql({COUNT!r}).run(share="1%", fresh=True).receipt, flush=True)
sys.stdin.readline()
print(ana.sql({COUNT!r}).run(share="30%", fresh=True)["n"][0], flush=True)
sys.stdin.readline()
try:
    ana.sql({COUNT!r})
except dl.errors.UnknownName:
    print("out", flush=True)
"""
    with dl.open(place) as db:
        db.grant("ana", tables=["visits"])
        with other(place, work) as process:
            tell(process)
            assert heard(process)
            db.sql(COUNT).run(share="1%", fresh=True)  # both hold the file open now
            db.update_table("visits", visits(patients=300))
            tell(process)
            assert abs(float(heard(process)) - 900) < 300
            db.revoke("ana")
            tell(process)
            assert heard(process) == "out"


def test_an_import_that_does_not_get_the_tables_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = FILE + "with file.reading():\n    print('reading', flush=True)\n    sys.stdin.readline()\n"
    with dl.open(place) as db, other(place, work) as process:
        tell(process)
        assert heard(process) == "reading"
        with monkeypatch.context() as impatient:
            impatient.setattr(connection, "HANDOVER", 0.2)
            with pytest.raises(DataMismatch, match="another process keeps the tables open"):
                db.update_table("visits", SMALL)
        db.sql(COUNT).run(share="1%")  # what was there is still asked
        tell(process)
        db.update_table("visits", SMALL)
        assert db._curator.catalog.table("visits").version == 2


def test_a_question_waits_for_an_import_under_way(place: Path) -> None:
    work = FILE + "with file.writing():\n    print('writing', flush=True)\n    sys.stdin.readline()\n"
    with dl.open(place) as db, other(place, work) as process:
        tell(process)
        assert heard(process) == "writing"
        timer = threading.Timer(0.3, tell, [process])
        timer.start()
        begun = time.monotonic()
        db.sql(COUNT).run(share="1%")
        assert time.monotonic() - begun > 0.25
        timer.join()


def test_a_killed_importer_blocks_nobody(place: Path) -> None:
    work = FILE + "with file.writing():\n    print('writing', flush=True)\n    sys.stdin.readline()\n"
    with dl.open(place) as db, other(place, work) as process:
        tell(process)
        assert heard(process) == "writing"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert (place / "tables.wanted").exists()
        assert not FileTurn(place / "tables.wanted").wanted()
        db.sql(COUNT).run(share="1%")
        db.update_table("visits", SMALL)


def test_idle_workers_let_go_when_asked(place: Path) -> None:
    with dl.open(place) as db:
        db.sql(COUNT).run(share="1%")
        engine = db._curator.engine
        assert not engine.release_if_wanted()  # type: ignore[attr-defined]
        assert engine.imported._file._reader is not None  # type: ignore[attr-defined]
        with FileTurn(place / "tables.wanted").taken():
            assert engine.release_if_wanted()  # type: ignore[attr-defined]
        db.sql(COUNT).run(share="1%", fresh=True)


def test_two_sessions_in_one_process_share_a_folder(place: Path) -> None:
    first, second = dl.open(place), dl.open(place)
    for db in (first, second):
        db.sql(COUNT).run(share="1%", fresh=True)
    second.update_table("visits", visits(patients=300))
    assert first.sql(COUNT).run(share="40%")["n"][0] > 600
    add_visits(first, "more", SMALL)
    assert second.sql("SELECT COUNT(*) AS n FROM more").run(share="1%")
    second.remove_table("more")
    with pytest.raises(UnknownName):
        first.table("more")
    assert first.spent() == second.spent()
    first.close()
    second.close()


def test_to_look_for_changes_is_cheap(place: Path) -> None:
    with dl.open(place) as db:
        best = 1.0
        for _ in range(20):
            begun = time.perf_counter()
            db._curator.refresh()
            best = min(best, time.perf_counter() - begun)
        assert best < 0.005  # 0.03 ms on a quiet machine


def test_what_was_declared_is_read_without_what_was_charged(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charges and answers are most of a ledger, and none of its records."""
    with dl.open(place) as db:
        for _ in range(3):
            db.sql(COUNT).run(share="1%", fresh=True)
        read: list[str] = []
        decoded = Entry.from_body
        monkeypatch.setattr(Entry, "from_body", lambda body: read.append(body) or decoded(body))
        updated = Records().updated(db._curator.ledger)
        monkeypatch.undo()
        assert updated == db._curator.records.updated(db._curator.ledger)
        kinds = [decoded(body).kind for body in read]
        assert sorted(set(kinds)) == ["account", "record"]
        assert updated.last == len(list(db.as_auditor().entries())) == len(kinds) + 1 + 2 * 3


# ---- forks


def in_a_fork(work: Callable[[], object]) -> str:
    """What work says in a forked process, which must not hang or crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            said = repr(work())
        except Exception as error:
            said = str(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        said = told.read()
    assert os.waitpid(child, 0)[1] == 0
    return said


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_a_fork_may_close_and_nothing_else_and_waits_for_no_lock(place: Path) -> None:
    with dl.open(place) as db:
        db.grant("ana", tables=["visits"])
        db.sql(COUNT).run(share="1%")  # the tables are open in DuckDB too
        ana, held, done = db.as_analyst("ana"), threading.Event(), threading.Event()

        def hold() -> None:
            with db._curator.lock:
                held.set()
                done.wait(30)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(30)
        try:
            assert "a fork" in in_a_fork(ana.left)
        finally:
            done.set()
            holder.join()
        assert "a fork" in in_a_fork(lambda: db.sql(COUNT).run(share="1%", fresh=True))
        assert "a fork" in in_a_fork(lambda: dl.open(place))
        assert in_a_fork(db.close) == "None"
        db.sql(COUNT).run(share="1%", fresh=True)
        assert len(db.history()) == 2


# ---- a ledger in PostgreSQL


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as url:
        yield url


def test_ledger_and_mark_may_lie_in_a_database_and_their_places_are_kept_secret(postgres: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE ledger")
        connection.execute("CREATE DATABASE mark")
    ledger, mark = (postgres.replace("/postgres", f"/{name}") for name in ("ledger", "mark"))
    db = dl.create(tmp_path / "clinic", ledger=ledger, mark=mark)
    db.add_population("patients", budget=dl.Budget(1))
    add_visits(db, "visits", SMALL)
    db.sql(COUNT).run(share="60%")
    db.close()
    assert not (tmp_path / "clinic" / "ledger.sqlite").exists()
    assert ledger not in (tmp_path / "clinic" / "catalog.toml").read_text(encoding="utf-8")
    with dl.open(tmp_path / "clinic") as again:
        with pytest.raises(BudgetExceeded):
            again.sql(COUNT).run(share="61%")
        again.update_table("visits", SMALL)
        assert again.verify().sound
    with pytest.raises(InvalidParameter) as refusal:
        dl.create(tmp_path / "other", ledger=ledger)
    assert ledger not in str(refusal.value)
    assert not any(path.name != "catalog.lock" for path in (tmp_path / "other").iterdir())
