"""Stored answers: what they have in common is kept once, and none is read before somebody wants it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from clinics import clinic, visits
from costs import cases
from dalenius.errors import LedgerRefused
from dalenius.ledger import texts
from dalenius.measuring.pricing import MOST_COLUMNS, MOST_PASSES
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.encoding import encoded, pieces
from dalenius.session.databases import Database
from dalenius.session.databases import open as opened

COUNT = "SELECT COUNT(*) AS n FROM visits"
LARGEST = {
    "columns": f"SELECT {', '.join(f'SUM(age + {n}) AS c{n}' for n in range(MOST_COLUMNS))} FROM visits",
    "measurements": f"SELECT {', '.join(f'CORR(age + {n}, cost) AS c{n}' for n in range(74))} FROM visits",
    "passes": f"SELECT {', '.join(f'COUNT(DISTINCT age + {n}) AS c{n}' for n in range(MOST_PASSES))} FROM visits",
}


def kept(db: Database) -> tuple[int, int]:
    """How many texts a ledger holds, and how many bytes they and the answers that name them are."""
    with db.ledger._journal.reading() as rows:
        ((count, length),) = rows.execute("SELECT count(*), sum(length(hash) + length(body)) FROM texts")
        ((named,),) = rows.execute("SELECT sum(length(receipt) + length(pieces)) FROM answers")
    return count, length + named


@cases("what", LARGEST, fast=1)
def test_the_largest_answers_are_stored_in_at_most_100_kb(what: str) -> None:
    with clinic(data=visits(patients=3)) as db:
        answer = db.sql(LARGEST[what]).run(epsilon="0.1")
        assert kept(db)[1] < 100_000 < len(encoded(answer))


def test_what_answers_have_in_common_is_stored_once() -> None:
    with clinic() as db:
        first = db.sql(COUNT).run(epsilon="0.1")
        texts_before, bytes_before = kept(db)
        second = db.sql(COUNT).run(epsilon="0.1", fresh=True)
        assert kept(db)[0] - texts_before <= 2  # the receipt with its time, and the noisy values
        assert kept(db)[1] - bytes_before < bytes_before / 4
        for answer in (first, second):
            assert db.ledger.answer(answer.receipt) == encoded(answer)
            assert encoded(db.replay(answer.receipt)) == encoded(answer)
        assert db.ledger.check().sound


def test_the_pieces_of_an_answer_are_its_text() -> None:
    with clinic() as db:
        for answer in (db.sql(COUNT).run(epsilon="0.1"), Answer(()), db.sql(COUNT).rehearse()):
            assert "".join(pieces(answer)) == encoded(answer)


def test_a_list_of_stored_answers_shows_no_marks_that_turn_or_hide_letters() -> None:
    with clinic() as db:
        db.sql('SELECT COUNT(*) AS "n\u202e\u200bx"\nFROM visits').run(epsilon="0.1")
        (replay,) = db.replays()
        assert str(replay).isprintable()
        assert '"n��x" FROM visits' in str(replay)
        assert "\u202e" in replay.asked


# ---- what is read when


def test_an_answer_that_was_changed_is_refused_when_it_is_read_and_found_by_a_check(tmp_path: Path) -> None:
    with clinic(path=tmp_path / "clinic") as db:
        first, second = (db.sql(COUNT).run(epsilon=epsilon) for epsilon in ("0.1", "0.2"))
        changed = texts.packed([pieces(first)[4]]).pieces[0][0]
    with closing(sqlite3.connect(tmp_path / "clinic" / "ledger.sqlite")) as connection:
        ((guard,),) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'texts_never_update'").fetchall()
        connection.execute("DROP TRIGGER texts_never_update")
        connection.execute("UPDATE texts SET body = ? WHERE hash = ?", [texts.packed(["{}"]).pieces[0][1], changed])
        connection.execute(guard)
        connection.commit()
    with opened(tmp_path / "clinic") as db:
        with pytest.raises(LedgerRefused, match="an answer in it is missing or was changed"):
            db.replay(first.receipt)
        with pytest.raises(LedgerRefused, match="an answer in it is missing or was changed"):
            db.sql(COUNT).run(epsilon="0.1")
        assert encoded(db.replay(second.receipt)) == encoded(second)
        assert [each.receipt for each in db.replays()] == [first.receipt, second.receipt]
        assert "its answer is missing or was changed" in db.ledger.check().problems[0]


def test_a_text_that_was_made_to_fill_the_memory_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_BYTES", 1_000)
    with clinic() as db, db.ledger._journal.reading() as rows:
        monkeypatch.setattr(rows, "execute", lambda *_: [(texts.zlib.compress(b"0" * 10**7),)])
        assert texts.unpacked(rows, "0" * 64) is None
