"""No more rounds are begun than were paid for, over restarts, sessions at once, and killed processes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

import dalenius as dl
from costs import cases
from dalenius.errors import MechanismFinished
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.synth.online.counts import OnlineCounts
from dalenius.synth.online.public import PublicCounts
from small_sessions import HARD, TERMS, mislead, rich, session_of, turns


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with every round that begins in this process."""
    noted: list[int] = []
    real = NumericSparse.start

    def start(self: NumericSparse, *arguments: object) -> object:
        assert self.search.cutoff == 1, "a round ends with its hard question"
        noted.append(1)
        return real(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(NumericSparse, "start", start)
    return noted


def restarted(path: Path, times: int) -> int:
    """Open a database so often, ask once each time; how many were answered."""
    answered = 0
    for _ in range(times):
        with dl.open(path) as db, contextlib.suppress(MechanismFinished):
            answered += session_of(db).ask("TRUE").left > 0
    return answered


def test_a_restart_uses_one_round_and_no_more_are_begun_than_were_paid_for(tmp_path: Path, begun: list[int]) -> None:
    with rich(tmp_path / "db") as db:
        session = session_of(db)
        assert session.left == 4
        assert not begun
    assert restarted(tmp_path / "db", 6) == 4
    assert len(begun) == 4


def test_the_test_above_notices_a_claim_that_always_says_yes(
    tmp_path: Path, begun: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OnlineCounts, "_claimed", lambda self: 1)
    with pytest.raises(AssertionError):
        test_a_restart_uses_one_round_and_no_more_are_begun_than_were_paid_for(tmp_path, begun)
    assert len(begun) == 6


def test_a_round_that_ended_with_its_hard_question_costs_a_restart_nothing(tmp_path: Path, begun: list[int]) -> None:
    with rich(tmp_path / "db") as db:
        session = session_of(db)
        mislead(session)
        assert session.ask(HARD).measured
    with dl.open(tmp_path / "db") as db:
        assert session_of(db).left == 3
    assert len(begun) == 1


def test_sessions_of_one_receipt_share_the_rounds_in_two_databases_at_once(tmp_path: Path, begun: list[int]) -> None:
    with rich(tmp_path / "db") as one, dl.open(tmp_path / "db") as two:
        first = session_of(one)
        sessions = [first, session_of(two), session_of(one)]
        assert len({session.receipt for session in sessions}) == 1
        answered = 0
        for _ in range(6):
            for session in sessions:
                mislead(session)
                try:
                    answered += session.ask(HARD).measured
                except MechanismFinished:
                    assert session.left == 0
        assert answered == 4 == len(begun) == turns(one, first)


# ---- what is kept


@pytest.fixture
def learned(tmp_path: Path) -> tuple[Path, PublicCounts, Path]:
    """A folder, the hypothesis of its session after a hard question, and the file that keeps it."""
    with rich(tmp_path / "db") as db:
        session = session_of(db)
        mislead(session)
        session.ask(HARD)
        told = session.hypothesis
    return tmp_path / "db", told, tmp_path / "db" / "online" / f"{told.receipt}.json"


def test_the_hypothesis_survives_a_restart_for_its_owners_eyes(learned: tuple[Path, PublicCounts, Path]) -> None:
    folder, told, file = learned
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    with dl.open(folder) as db:
        session = session_of(db)
        assert np.allclose(session.hypothesis.counts, told.counts)
        assert (session.hypothesis.asked, session.hypothesis.hard) == (1, 1)
        session.ask("TRUE")
        assert session.asked == 2


@cases("damage", [b"", b"{}", b"\xff\xfe", None], fast=1)
def test_a_damaged_or_missing_file_costs_accuracy_alone(
    learned: tuple[Path, PublicCounts, Path], damage: bytes | None
) -> None:
    folder, told, file = learned
    file.unlink()
    if damage is not None:
        file.write_bytes(damage)
    with dl.open(folder) as db:
        spent = db.spent()
        session = session_of(db)
        assert session.left == 3
        assert not np.allclose(session.hypothesis.counts, told.counts)
        session.ask("TRUE")
        assert turns(db, session) == 2
        assert db.spent() == spent


def test_a_file_of_another_session_is_not_taken(learned: tuple[Path, PublicCounts, Path]) -> None:
    folder, told, file = learned
    with dl.open(folder) as db:
        other = session_of(db, columns=["city"], bins={}, updates=2, share="5%")
        file.with_name(f"{other.receipt}.json").write_bytes(file.read_bytes())
        again = session_of(db, columns=["city"], bins={}, updates=2, share="5%")
        assert again.hypothesis.axes != told.axes


def test_in_memory_it_is_kept_in_memory() -> None:
    with rich() as db:
        session = session_of(db)
        mislead(session)
        session.ask(HARD)
        assert np.allclose(session_of(db).hypothesis.counts, session.hypothesis.counts)
    assert TERMS["updates"] == 4
