"""What was bought before: replayed byte for byte to whoever may ask it, and to nobody else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import pytest

from clinics import add_visits, clinic, visits
from dalenius.accounting.budget import Budget
from dalenius.errors import AccessDenied, BudgetExceeded, InvalidParameter, QueryRefused, UnknownName
from dalenius.query.frames.aggregates import count, mean
from dalenius.query.frames.formulas import col
from dalenius.query.types import Category, Int, Number
from dalenius.session import executor as door
from dalenius.session import shelf
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.encoding import encoded
from dalenius.session.databases import Database
from dalenius.session.executor import fingerprint

BY_CITY = "SELECT city, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE age >= 65 GROUP BY city"
COUNT = "SELECT COUNT(*) AS n FROM visits"


def spent(db: Database) -> Fraction:
    return db.spent()["patients"].share


def stored(db: Database, answer: Answer) -> str | None:
    return db._curator.ledger.answer(answer.receipt)


# ---- the same question


SAME: dict[str, Callable[[Any], Any]] = {
    "spaces": lambda db: db.sql(f"  {BY_CITY.replace(' ', chr(10) + '  ')}  ;"),
    "case": lambda db: db.sql(
        "select city, count(*) as n, avg(COST) as cost from VISITS where AGE >= 65 group by CITY"
    ),
    "brackets": lambda db: db.sql(BY_CITY.replace("age >= 65", "((age) >= (65))")),
    "frame": lambda db: db.table("visits").where(col("age") >= 65).group_by("city").agg(n=count(), cost=mean("cost")),
}


@pytest.mark.parametrize("again", SAME.values(), ids=SAME)
def test_the_same_question_is_replayed_byte_for_byte_however_it_is_written(again: Callable[[Any], Any]) -> None:
    db = clinic()
    bought = db.sql(BY_CITY).run(epsilon="0.2")
    before = spent(db)
    db.grant("ana", tables=["visits"], share="1%")
    for session in (db, db.as_analyst("ana")):
        replayed = again(session).run(epsilon=0.2)
        assert encoded(replayed) == encoded(bought) == stored(db, bought)
        assert replayed.replayed
    assert spent(db) == before
    assert not db.as_analyst("ana").spent()["patients"].share


@pytest.mark.parametrize(
    ("change", "max_rows"),
    [
        ({"epsilon": "0.21"}, None),
        ({"level": "90%"}, None),
        ({"digits": 1}, None),
        ({"nonnegative": True}, None),
        ({"weights": {"n": 3}}, None),
        ({}, 2),
        ({"fresh": True}, None),
    ],
    ids=str,
)
def test_another_price_or_form_or_a_fresh_draw_is_paid_for(change: dict[str, Any], max_rows: int | None) -> None:
    db = clinic()
    bought = db.sql(BY_CITY).run(epsilon="0.2")
    before = spent(db)
    other = db.sql(BY_CITY, max_rows=max_rows).run(**{"epsilon": "0.2", **change})
    assert spent(db) > before
    assert encoded(other) != encoded(bought)


def test_two_ways_to_say_the_same_price_are_one_request() -> None:
    db = clinic(Budget(2))
    db.sql(COUNT).run(epsilon="0.5")
    assert db.sql(COUNT).run(share="25%").replayed


@pytest.mark.textbook("S18.6")
def test_new_versions_are_asked_anew_and_bring_no_fresh_budget() -> None:
    """Every version answers for itself, all of them spend one budget, and at the end nothing is left."""
    db, bodies = clinic(Budget(1), data=visits(patients=5)), set()
    for version in range(1, 6):
        answer = db.sql(COUNT).run(share="20%")
        bodies.add(encoded(answer))
        assert answer.card is not None
        assert answer.card.sources[0].version == str(version)
        assert db.sql(COUNT).run(share="20%").replayed
        assert Fraction(version, 5) - Fraction(1, 1000) < spent(db) <= Fraction(version, 5)
        db.update_table("visits", visits(patients=5))
    with pytest.raises(BudgetExceeded):
        db.sql(COUNT).run(share="20%")
    assert len(bodies) == 5


# ---- who may have it


def test_after_a_revoke_the_analyst_gets_nothing() -> None:
    db = clinic()
    db.grant("ana", tables=["visits"])
    ana = db.as_analyst("ana")
    asked = ana.sql(BY_CITY)
    receipt = asked.run(epsilon="0.2").receipt
    assert len(ana.replays()) == 1
    db.revoke("ana")
    for attempt in (lambda: asked.run(epsilon="0.2"), lambda: ana.sql(BY_CITY)):
        with pytest.raises(UnknownName):
            attempt()
    for attempt in (lambda: ana.replay(receipt), lambda: ana.card(receipt)):
        with pytest.raises(InvalidParameter, match="tables that may be asked"):
            attempt()
    assert ana.replays() == ()


def test_answers_about_tables_that_were_not_granted_do_not_exist() -> None:
    db = clinic()
    add_visits(db, "secret")
    both = db.sql("SELECT COUNT(*) AS n FROM visits JOIN secret ON visits.patient_id = secret.patient_id")
    secret, joined = db.sql(COUNT.replace("visits", "secret")).run(share="1%"), both.run(share="1%")
    open_one = db.sql(COUNT).run(share="1%")
    db.grant("ana", tables=["visits"])
    ana, refusals = db.as_analyst("ana"), set()
    for receipt in (secret.receipt, joined.receipt, "0" * 32):
        for attempt in (ana.replay, ana.card):
            with pytest.raises(InvalidParameter) as refusal:
                attempt(receipt)
            refusals.add(str(refusal.value).replace(receipt, "..."))
    assert len(refusals) == 1
    assert [found.receipt for found in ana.replays()] == [open_one.receipt]
    assert encoded(ana.replay(open_one.receipt)) == encoded(open_one)


def test_a_grant_that_has_ended_gives_no_replays() -> None:
    db = clinic()
    bought = db.sql(COUNT).run(share="1%")
    db.grant("ana", tables=["visits"], until=dt.date(2020, 1, 1))
    ana = db.as_analyst("ana")
    asked = lambda: ana.sql(COUNT).run(share="1%")  # noqa: E731
    for attempt in (asked, lambda: ana.replay(bought.receipt), lambda: ana.card(bought.receipt), ana.replays):
        with pytest.raises(AccessDenied, match="after 2020-01-01"):
            attempt()


def test_an_older_answer_is_left_to_whoever_bought_it() -> None:
    db = clinic(data=visits(patients=5))
    for name in ("ana", "ben"):
        db.grant(name, tables=["visits"])
    ana, ben = db.as_analyst("ana"), db.as_analyst("ben")
    bought = ana.sql(COUNT).run(share="1%")
    assert ben.replays() == ana.replays() != ()
    db.update_table("visits", visits(patients=5))
    assert ben.replays() == ana.replays() == ()
    assert encoded(ana.replay(bought.receipt)) == encoded(db.replay(bought.receipt)) == encoded(bought)
    with pytest.raises(InvalidParameter):
        ben.replay(bought.receipt)


def test_whoever_pays_for_replays_pays_out_of_the_quota_alone() -> None:
    db = clinic()
    bought = db.sql(COUNT).run(share="1%")
    db.grant("ana", tables=["visits"], share="2%", pays_for_replays=True)
    ana, before = db.as_analyst("ana"), spent(db)
    assert encoded(ana.sql(COUNT).run(share="1%")) == encoded(bought)
    assert encoded(ana.replay(bought.receipt)) == encoded(bought)
    assert Fraction(199, 10000) < ana.spent()["patients"].share <= Fraction(2, 100)
    assert spent(db) == before
    with pytest.raises(BudgetExceeded):
        ana.replay(bought.receipt)


# ---- when a budget is gone


@pytest.mark.textbook("S18.4")
def test_a_refusal_says_what_can_still_be_had() -> None:
    db = clinic(Budget(1))
    db.grant("ana", tables=["visits"], share="10%")
    ana = db.as_analyst("ana")
    with pytest.raises(BudgetExceeded) as refusal:
        ana.sql(COUNT).run(share="50%")
    assert "bought before" not in str(refusal.value)
    db.sql(COUNT).run(share="20%")
    db.sql(BY_CITY).run(share="30%")
    with pytest.raises(BudgetExceeded, match=r"2 answers that were bought before can still be had: see replays\(\)"):
        ana.sql(COUNT).run(share="50%")
    assert [found.asked for found in ana.replays()] == [COUNT, BY_CITY]
    assert [found.charged for found in ana.replays()] == ["20% of patients", "30% of patients"]
    assert COUNT in str(ana.replays()[0])


def test_one_answer_is_had_again_without_a_look_at_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    db = clinic()
    db.grant("ana", tables=["visits"])
    bought = [db.sql(COUNT).run(share="1%", fresh=True) for _ in range(3)]
    looked: list[str] = []
    described = shelf._described
    monkeypatch.setattr(
        shelf, "_described", lambda receipt, card: looked.append(receipt.id) or described(receipt, card)
    )
    ana = db.as_analyst("ana")
    ana.card(bought[1].receipt)
    ana.replay(bought[1].receipt)
    assert looked == [bought[1].receipt]
    assert [found.receipt for found in ana.replays()] == [answer.receipt for answer in bought]
    assert sorted(looked) == sorted(answer.receipt for answer in bought)  # each once
    later = db.sql(COUNT).run(share="1%", fresh=True)
    assert [found.receipt for found in ana.replays()][3:] == [later.receipt]
    db.close()


def test_a_question_that_could_not_be_stored_is_refused_before_it_is_charged() -> None:
    db = clinic(data=visits(patients=2))
    with pytest.raises(QueryRefused, match="not valid Unicode"):
        db.table("visits").agg(**{"\ud800": count()}).run(share="1%")
    assert db.history() == ()
    for name in ("a\0b", "a\nb", "ﬁ", "𝔸"):
        answer = db.table("visits").agg(**{name: count()}).run(share="1%")
        assert encoded(answer) == stored(db, answer)


# ---- keys


def test_twenty_threads_with_one_key_get_one_draw_of_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    fresh = door.fresh_entropy
    monkeypatch.setattr(door, "fresh_entropy", lambda: (drawn.append(1), fresh())[1])
    db = clinic(data=visits(patients=5))
    with ThreadPoolExecutor(20) as threads:
        answers = threads.map(lambda _: db.sql(COUNT).run(share="1%", key="k", fresh=True), range(20))
        assert len({encoded(answer) for answer in answers}) == len(drawn) == 1
    assert len(db.history()) == 1
    with pytest.raises(InvalidParameter, match="another question"):
        db.sql(BY_CITY).run(share="1%", key="k")


# ---- names of requests


DIFFERENT = [
    COUNT, "SELECT COUNT(*) AS m FROM visits", "SELECT COUNT(icd) AS n FROM visits", "SELECT SUM(age) AS n FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE age > 64", "SELECT COUNT(*) AS n FROM visits WHERE age > 65",
    "SELECT COUNT(*) AS n FROM visits WHERE icd = '1'", "SELECT COUNT(*) AS n FROM visits WHERE icd = '01'",
    "SELECT COUNT(*) AS n FROM visits WHERE icd = 'A' OR icd = 'B'", "SELECT COUNT(*) AS n FROM copy",
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "SELECT COUNT(*) + 1 AS n FROM visits",
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n",
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) > 5",
    "SELECT MEDIAN(cost) AS n FROM visits", "SELECT QUANTILE(cost, 0.4) AS n FROM visits",
]  # fmt: skip


def test_questions_that_differ_have_different_names() -> None:
    db = clinic(data=visits(patients=2))
    add_visits(db, "copy", visits(patients=2))
    names = [fingerprint(db.sql(text).question) for text in DIFFERENT]
    db.update_table("visits", visits(patients=2))
    names.append(fingerprint(db.sql(COUNT).question))
    assert len(set(names)) == len(names) == len(DIFFERENT) + 1


@dataclass(frozen=True)
class Node:
    """A node with a field that is neither shown nor compared, and a cache."""

    name: str
    parts: tuple[Any, ...] = ()
    hidden: object = field(default=None, repr=False, compare=False)

    @cached_property
    def cache(self) -> list[str]:
        return [self.name]


DIFFERING = [
    None, 0, False, 0.0, -0.0, Fraction(0), "0", "", b"", (), (0,), ((0,),), (0, 0), ("0,", "0"), ("0", ",0"), {},
    {0: 0}, {"a": (1, 2)}, {"a": (1,), 2: ()}, dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), Node("a"), Node("b"),
    Node("a", (1,)), Node("a", (Node("a"),)), Node("a", hidden=1), Node("a", hidden=Node("x")), Int(0, 9),
    Number(False, 0, 9), Int(0, 9, nullable=True), Category("a", "b"), Category("b", "a"), "\ud800", "\\ud800",
]  # fmt: skip


def test_values_that_differ_in_whatever_way_have_different_fingerprints() -> None:
    assert len({fingerprint(value) for value in DIFFERING}) == len(DIFFERING)


def test_the_test_above_notices_a_name_that_is_made_of_what_is_shown() -> None:
    """Planted bug: `repr`, which leaves out what a field does not show."""
    assert repr(Node("a")) == repr(Node("a", hidden=1))


def test_equal_values_have_equal_fingerprints_whatever_is_cached_or_shared() -> None:
    cached, shared = Node("a"), Node("x")
    assert cached.cache
    assert fingerprint(cached) == fingerprint(Node("a"))
    assert fingerprint((shared, shared)) == fingerprint((Node("x"), Node("x")))
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint(replace(cached, parts=(1, 2))) == fingerprint(Node("a", [1, 2]))  # type: ignore[arg-type]


def test_what_has_no_fixed_content_has_no_fingerprint() -> None:
    for value in (object(), {1, 2}, Node, lambda: 1, (1, object())):
        with pytest.raises(TypeError, match="no fingerprint"):
            fingerprint(value)


def test_a_list_of_100000_keys_is_hashed_once_however_often_it_occurs() -> None:
    keys = Category(*map(str, range(100_000)))
    tree = tuple(Node(str(number), (keys, Node("x", (keys,)))) for number in range(500))
    assert len(fingerprint(tree)) == 64  # a second or so; a thousand walks over the keys would take a minute
