"""What an answer says about itself."""

from __future__ import annotations

import pytest

import dalenius as dl
from clinics import clinic
from dalenius.session.answers.answers import BARS_COVER_NOISE, FEWER_THAN_ASKED, KEYS_LEFT_OUT

DB = pytest.fixture(clinic, scope="module", name="db")


def notes(db: dl.Database, sql: str, epsilon: str) -> str:
    return "\n".join(db.sql(sql).run(epsilon=epsilon).notes)


def test_every_answer_says_what_its_bars_leave_out(db: dl.Database) -> None:
    assert BARS_COVER_NOISE in notes(db, "SELECT COUNT(*) FROM visits", "0.1")


def test_answers_with_keys_found_privately_say_so(db: dl.Database) -> None:
    assert KEYS_LEFT_OUT in notes(db, "SELECT icd, COUNT(*) FROM visits GROUP BY icd", "0.1")
    top = "SELECT icd FROM visits GROUP BY icd ORDER BY COUNT(*) DESC LIMIT 2"
    assert FEWER_THAN_ASKED in notes(db, top, "0.1")
    assert KEYS_LEFT_OUT not in notes(db, "SELECT city, COUNT(*) FROM visits GROUP BY city", "0.1")


@pytest.mark.textbook("S18.12")
def test_groups_that_are_too_small_for_their_noise_are_named(db: dl.Database) -> None:
    asked = db.sql("SELECT city, COUNT(*) AS visits FROM visits WHERE age = 119 GROUP BY city")
    answer = asked.run(epsilon="0.001", level="99.9999999%")  # noise beyond the bar in 1 of 10^9 groups
    assert (
        "visits: in 4 of 4 groups the bar is larger than the value. Offer more, or ask for larger groups."
        in answer.notes
    )
