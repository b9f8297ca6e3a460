"""Online sessions of a database: paid once, asked in SQL, by whoever may, until the updates are used up."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import dalenius as dl
from clinics import CITIES, add_visits, clinic, visits
from costs import cases
from dalenius.errors import (
    AccessDenied,
    BudgetExceeded,
    DaleniusError,
    InvalidParameter,
    MechanismFinished,
    NotCopyable,
    QueryRefused,
    UnknownName,
    WorkStopped,
)
from dalenius.session.databases import Database
from dalenius.synth.online.counts import Online
from small_sessions import HARD, TERMS, mislead, rich, session_of, turns

NUMBERS = range(400)


@pytest.fixture
def db() -> Iterator[Database]:
    with rich() as database:
        yield database


def true_count(low: int, high: int, city: str | None = None) -> int:
    """Rows of made-up visits with an age from `low` to below `high`."""
    return sum(3 for n in NUMBERS if low <= n % 100 < high and (city is None or CITIES[n % 3] == city))


def test_it_is_paid_once_and_answers_as_often_as_one_likes(db: Database) -> None:
    cost = Online(**TERMS).cost(db.table("visits"), share="50%")
    assert db.spent()["patients"].share == 0
    session = session_of(db)
    spent = db.spent()["patients"].share
    assert spent == pytest.approx(float(cost.shares["patients"]), abs=1e-9)
    easy, hard = session.errors
    assert 0 < hard < easy == Online(**TERMS).expected_error(db.table("visits"), share="50%").easy
    for low in (0, 20, 40) * 10:
        answer = session.ask(f"age >= {low} AND city = 'Oslo'")
        assert abs(answer.count - true_count(low, 100, "Oslo")) <= 3 * easy
        assert answer.error == (hard if answer.measured else easy)
    assert db.spent()["patients"].share == spent
    assert session.asked == 30
    assert turns(db, session) >= 1


def test_an_equal_session_is_had_again_for_nothing_and_a_fresh_one_is_paid(db: Database) -> None:
    first = session_of(db)
    spent = db.spent()["patients"].share
    again = session_of(db)
    assert again.receipt == first.receipt
    assert db.spent()["patients"].share == spent
    fresh = session_of(db, fresh=True, key="second")
    assert fresh.receipt != first.receipt
    assert session_of(db, key="second").receipt == fresh.receipt
    assert db.spent()["patients"].share == 2 * spent
    with pytest.raises(BudgetExceeded):
        session_of(db, fresh=True)


def test_a_hard_question_is_measured_and_learned(db: Database) -> None:
    session = session_of(db)
    mislead(session)
    answer = session.ask(HARD)
    assert answer.measured
    assert answer.left == 3
    assert answer.questions_left == 3
    assert "measured" in str(answer)
    assert abs(answer.count - true_count(20, 60)) <= 4 * answer.error
    told = session.hypothesis.ask(HARD)
    assert abs(told.count - answer.count) <= 1 + answer.error


def test_it_ends_when_its_updates_are_used_up_and_the_hypothesis_can_still_be_asked(db: Database) -> None:
    session = session_of(db)
    for left in (3, 2, 1, 0):
        mislead(session)
        assert session.ask(HARD).left == left == session.left
    with pytest.raises(MechanismFinished, match="all 4 updates that were paid for are used up"):
        session.ask("TRUE")
    assert session.hypothesis.ask("TRUE").count == pytest.approx(1200, abs=100)
    assert "0 of 4 updates left" in repr(session)
    with pytest.raises(MechanismFinished):
        session_of(db).ask("TRUE")
    assert turns(db, session) == 4


def test_what_is_replaced_is_refused_and_asked_anew(db: Database) -> None:
    session = session_of(db)
    session.ask("TRUE")
    begun = turns(db, session)
    db.update_table("visits", visits(patients=100))
    with pytest.raises(QueryRefused, match="replaced"):
        session.ask("TRUE")
    assert turns(db, session) == begun
    assert session_of(db).receipt != session.receipt


def test_an_analyst_asks_within_the_grant_and_as_long_as_it_lasts(db: Database) -> None:
    db.grant("ada", tables=["visits"], share="60%")
    ada = db.as_analyst("ada")
    session = session_of(ada)
    session.ask("TRUE")
    assert ada.spent()["patients"].share > 0
    db.revoke("ada")
    with pytest.raises(DaleniusError):
        session.ask("TRUE")


def test_an_analyst_pays_no_more_than_the_grant_allows(db: Database) -> None:
    db.grant("bob", tables=["visits"], share="60%", most_epsilon="0.1")
    with pytest.raises(AccessDenied):
        session_of(db.as_analyst("bob"))
    add_visits(db, "others")
    db.grant("eve", tables=["others"])
    with pytest.raises(UnknownName):
        session_of(db.as_analyst("eve"))
    assert db.spent()["patients"].share == 0


@cases(
    ("condition", "told"),
    [
        ("age >= 65", "part of the bin"),
        ("cost > 3", "cost"),
        ("age >= 20 GROUP BY city", None),
        ("age >= 20; DROP TABLE visits", None),
        ("age IN (SELECT age FROM visits)", None),
        ("weight > 3", "weight"),
        ("age", None),
        ("", None),
        ("patient_id = 3", "patient_id"),
        ("COUNT(*) > 3", None),
        (3, "condition"),
    ],
    fast=3,
)
def test_what_is_no_condition_on_its_columns_is_refused_and_uses_nothing_up(
    db: Database, condition: Any, told: str | None
) -> None:
    session = session_of(db)
    with pytest.raises(DaleniusError, match=told):
        session.ask(condition)
    assert turns(db, session) == 0
    assert session.asked == 0


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ({"columns": ["age", "cost", "day"], "bins": {"age": "1", "cost": "1", "day": "1"}}, "Synthesizer"),
        ({"columns": ["icd"]}, "catalog.toml"),
        ({"within": 1}, "at least"),
        ({"updates": 0}, "updates"),
        ({"questions": 0}, "questions"),
    ],
)
def test_what_cannot_be_had_is_refused_before_it_is_paid(db: Database, terms: dict[str, Any], told: str) -> None:
    with pytest.raises((InvalidParameter, QueryRefused), match=told):
        session_of(db, **terms)
    assert db.spent()["patients"].share == 0


def test_a_wider_range_lasts_longer_and_may_be_chosen_later(db: Database) -> None:
    session = session_of(db)
    wider = session_of(db, within=500)
    assert wider.receipt == session.receipt
    assert wider.errors[0] > session.errors[0]


def test_a_pass_that_fails_tells_nothing_and_claims_nothing(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of(db)

    def failing(*_: Any, **__: Any) -> None:
        raise ValueError("Oslo, 17 years")

    with monkeypatch.context() as patch:
        patch.setattr(type(db._curator.engine), "run", failing)
        with pytest.raises(WorkStopped) as caught:
            session.ask("TRUE")
    assert "Oslo" not in str(caught.value)
    assert caught.value.__context__ is None
    assert turns(db, session) == 0
    session.ask("TRUE")


def test_threads_share_a_session_and_are_answered_one_at_a_time(db: Database) -> None:
    session = session_of(db)
    threads = [threading.Thread(target=lambda: [session.ask("age >= 20") for _ in range(10)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.asked == 40
    for forbidden in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotCopyable):
            forbidden(session)


def test_after_the_database_is_closed_nothing_is_answered() -> None:
    with rich() as db:
        session = session_of(db)
    with pytest.raises(InvalidParameter, match="closed"):
        session.ask("TRUE")


def test_a_pure_budget_buys_one_too() -> None:
    with clinic(dl.Budget(epsilon=20)) as db:
        session = session_of(db)
        assert session.ask("TRUE").count == pytest.approx(1200, abs=600)


def test_unknown_terms_are_refused_before_anything_is_paid(db: Database) -> None:
    with pytest.raises(TypeError):
        session_of(db, weights=3)
    assert db.spent()["patients"].share == 0
