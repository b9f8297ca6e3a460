"""A database that is closed while somebody asks: what was paid for is stored before the files are let go."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl
from clinics import clinic, visits
from dalenius.errors import InvalidParameter, WorkStopped
from dalenius.session import executor as door
from dalenius.session.answers.answers import Answer
from dalenius.session.attempts import Underway

COUNT = "SELECT COUNT(*) AS n FROM visits"


def closed_while_asked(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], bool]:
    """What a question gave during which the database was closed, and whether the close had to wait."""
    measured, measuring, go_on = door.measured, threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        released = measured(*given)
        measuring.set()
        assert go_on.wait(20)
        return released

    monkeypatch.setattr(door, "measured", slow)
    db, found = clinic(data=visits(patients=6), path=path), list[Any]()

    def ask() -> None:
        try:
            found.append(db.sql(COUNT).run(share="5%"))
        except BaseException as error:
            found.append(error)

    asking, closing = threading.Thread(target=ask), threading.Thread(target=db.close)
    asking.start()
    assert measuring.wait(20)
    closing.start()
    closing.join(0.2)
    waited = closing.is_alive()
    with pytest.raises(InvalidParameter, match="closed"):
        db.sql(COUNT)
    go_on.set()
    asking.join(20)
    closing.join(20)
    return found, waited


def test_a_close_waits_for_questions_and_their_answers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (answer,), waited = closed_while_asked(tmp_path / "clinic", monkeypatch)
    assert waited
    assert isinstance(answer, Answer)
    with dl.open(tmp_path / "clinic") as again:
        assert [found.receipt for found in again.replays()] == [answer.receipt]


def test_the_test_above_notices_a_close_that_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Underway, "wait", lambda self: None)
    (answer,), waited = closed_while_asked(tmp_path / "clinic", monkeypatch)
    assert not waited
    assert isinstance(answer, WorkStopped)
    with dl.open(tmp_path / "clinic") as again:
        assert again.replays() == ()


def test_work_does_not_close_the_database_that_it_is_done_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait for itself for ever."""
    with clinic(data=visits(patients=6)) as db:
        refused = list[BaseException]()

        def closing(*_: Any) -> None:
            try:
                db.close()
            except InvalidParameter as error:
                refused.append(error)
            raise ValueError

        with monkeypatch.context() as broken:
            broken.setattr(door, "measured", closing)
            with pytest.raises(WorkStopped):
                db.sql(COUNT).run(share="1%")
        assert "at work here" in str(refused[0])
        db.sql(COUNT).run(share="2%")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork_nobody_is_waited_for() -> None:
    underway = Underway()
    with underway.counted():
        child = os.fork()
        if child == 0:  # the thread that was at work is not here
            underway.wait()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def asked_during(db: dl.Database, change: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a question gives that was charged, and had read nothing yet, when the owner made a change."""
    measured, charged, go_on = door.measured, threading.Event(), threading.Event()

    def waiting(*given: Any) -> Any:
        charged.set()
        assert go_on.wait(20)
        return measured(*given)

    monkeypatch.setattr(door, "measured", waiting)
    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(db.sql(COUNT).run(share="5%"))
        except BaseException as error:
            found.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert charged.wait(20)
    change(db)
    go_on.set()
    asking.join(20)
    return found[0]


def three_versions(db: dl.Database) -> None:
    for _ in range(3):
        db.update_table("visits", visits(patients=6))


@pytest.mark.parametrize("change", [three_versions, lambda db: db.remove_table("visits")])
def test_a_question_that_was_paid_for_keeps_its_rows(
    change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(data=visits(patients=6), path=tmp_path / "clinic") as db:
        assert isinstance(asked_during(db, change, monkeypatch), Answer)


def test_rows_that_are_dropped_under_a_question_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Underway, "alone", lambda self: True)
    with clinic(data=visits(patients=6), path=tmp_path / "clinic") as db:
        assert isinstance(asked_during(db, three_versions, monkeypatch), WorkStopped)
