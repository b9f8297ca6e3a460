"""Release cards: complete, honest, the same for every content of the tables, and never markup."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest

from clinics import add_visits, clinic, visits
from dalenius.accounting.budget import Budget
from dalenius.accounting.conversion import to_approximate
from dalenius.errors import InvalidParameter
from dalenius.query.tables import EachRow
from dalenius.query.types import Category, Int
from dalenius.session.cards.cards import Card, bulleted, fenced, listed, tabled
from dalenius.session.databases import Database, create

BY_CITY = "SELECT city, COUNT(*) AS n, AVG(cost) AS cost, MEDIAN(cost) AS m FROM visits WHERE age >= 65 GROUP BY city"
CANARY = "canary-4711"


def card_of(db: Database, sql: str = BY_CITY, **price: Any) -> Card:
    card = db.sql(sql).run(**(price or {"epsilon": "0.2"})).card
    assert card is not None
    return card


@pytest.mark.textbook("S18.13")
def test_a_card_says_who_is_protected_how_at_which_price_and_whom_one_must_trust() -> None:
    db = create()
    db.add_population("patients", budget=Budget(epsilon=3, delta="1e-9"), purpose="planning of wards")
    add_visits(db, "visits")
    answer = db.sql(BY_CITY).run(epsilon="0.2")
    card = answer.card
    assert card is not None
    (people,) = card.people
    assert (people.population, people.purpose, people.unit) == ("patients", "planning of wards", "patient_id")
    assert people.neighbours == "adding or removing all rows of one unit"
    assert (people.epsilon, people.delta) == ("3", "1e-9")
    assert people.share in answer.charge
    assert "central curator" in card.trust
    assert card.receipt == answer.receipt
    assert card.asked == answer.asked == BY_CITY
    assert "at most 3 rows in 1 group;" in card.contribution
    assert [(source.table, source.version) for source in card.sources] == [("visits", "1")]
    assert "cost" in card.bounds[0]
    assert len(card.steps) == 3
    assert all(step.theorem and step.mechanism and step.loss and step.sensitivity for step in card.steps)
    shown = card.to_markdown()
    for text in (
        answer.receipt,
        "planning of wards",
        "DiscreteLaplace",
        "What is not promised",
        "0.01",
        "epsilon = 3",
    ):
        assert listed(text) in shown


def test_a_card_is_stored_with_the_answer_and_found_by_its_receipt() -> None:
    db = clinic()
    db.grant("ana", tables=["visits"])
    ana = db.as_analyst("ana")
    answer = ana.sql(BY_CITY).run(epsilon="0.2")
    assert db.card(answer.receipt) == ana.card(answer.receipt) == answer.card
    assert Card.from_facts(json.loads(db.card(answer.receipt).to_json())) == answer.card
    with pytest.raises(InvalidParameter, match="stored answer"):
        db.card("0" * 32)


def test_a_rehearsal_has_no_card() -> None:
    assert clinic().sql(BY_CITY).rehearse().card is None


def test_a_card_is_the_same_whatever_the_rows_say() -> None:
    """All but receipt and time: full, empty and poisoned tables."""
    poisoned = visits(patients=50).set_column(5, "icd", [[CANARY] * 150])
    cards = [card_of(clinic(data=data)) for data in (visits(), visits(patients=0), poisoned)]
    facts = [{**card.facts(), "receipt": "", "at": ""} for card in cards]
    assert facts[0] == facts[1] == facts[2]
    assert CANARY not in cards[2].to_json()


def test_what_a_release_alone_promises_is_no_more_than_its_loss_implies() -> None:
    db = clinic()
    asked = db.sql(BY_CITY)
    loss = asked.cost(epsilon="0.2").loss
    (line,) = [line for line in card_of(db).promised if line.startswith("This release alone")]
    told = Fraction(line.split("epsilon = ")[1].split(",")[0].rstrip("."))
    least = to_approximate(loss, delta="1e-9").epsilon  # type: ignore[arg-type]
    assert least <= told <= Fraction(51, 50) * least


def test_group_privacy_is_told_for_several_people_and_not_beyond_what_holds() -> None:
    lines = "\n".join(card_of(clinic()).promised)
    assert "for 2, epsilon = 6, delta = 2.10856e-8" in lines
    assert "for 10, nothing is promised" in lines
    assert "for 10, epsilon = 10" in "\n".join(card_of(clinic(Budget(1)), "SELECT COUNT(*) FROM visits").promised)


def test_a_pure_budget_promises_with_certainty() -> None:
    card = card_of(clinic(Budget(1)), "SELECT city, COUNT(*), SUM(cost) FROM visits GROUP BY city", epsilon="0.1")
    assert card.promised[0].startswith("No outcome becomes more than 1.10")
    assert not any(line.startswith("Certainty") for line in card.not_promised)


def test_replace_says_that_the_number_of_units_is_not_protected() -> None:
    told = [card_of(clinic(neighbours=relation)).unprotected for relation in ("replace", "add_remove")]
    assert [any("How many units patients has" in line for line in lines) for lines in told] == [True, False]


def test_a_card_about_rows_does_not_speak_of_people() -> None:
    db = create()
    db.add_population("events", budget=Budget(1))
    db.add_table("log", visits(patients=3).select(["age"]), population="events", unit=EachRow(),
                 columns={"age": Int(0, 120)}, size=9)  # fmt: skip
    card = card_of(db, "SELECT COUNT(*) AS n FROM log", epsilon="0.1")
    assert "whether one row is in the data" in card.promised[0]
    assert "person" not in "\n".join((*card.promised, card.people[0].neighbours))
    assert any("declared 9" in line for line in card.unprotected)


def test_public_tables_are_named_as_unprotected() -> None:
    db = clinic()
    db.add_table(
        "cities", visits(patients=3).select(["city"]), columns={"city": Category("Oslo", "Bergen")}, public=True
    )
    card = card_of(db, "SELECT COUNT(*) AS n FROM visits JOIN cities ON visits.city = cities.city")
    assert any("All rows of cities" in line for line in card.unprotected)
    assert ("cities", "public") in [(source.table, source.protects) for source in card.sources]


def test_the_table_that_a_path_leads_through_is_not_named() -> None:
    db = create()
    db.add_population("customers", budget=Budget(1))
    data = visits(patients=5)
    orders = data.select(["patient_id"]).append_column("order_id", data["patient_id"])
    db.add_table("hidden_orders", orders, population="customers", unit="patient_id", max_rows=3, max_groups=1,
                 columns={}, keys=["order_id"])  # fmt: skip
    items = data.select(["age"]).append_column("order_id", data["patient_id"])
    db.add_table("items", items, population="customers", unit="order_id -> hidden_orders.patient_id",
                 max_rows=3, max_groups=1, columns={"age": Int(0, 120)})  # fmt: skip
    db.grant("ana", tables=["items"])
    answer = db.as_analyst("ana").sql("SELECT COUNT(*) AS n FROM items").run(epsilon="0.1")
    assert answer.card is not None
    assert "hidden_orders" not in answer.card.to_json()


# ---- studies


def test_a_study_card_lists_all_releases_of_the_study_with_totals_and_no_analyst() -> None:
    db = clinic(Budget(1))
    db.add_study("flu", population="patients", share="50%", purpose="Influenza", end="2099-01-01")
    for name in ("ana", "ben"):
        db.grant(name, tables=["visits"], share="30%", study="flu")
    db.grant("zoe", tables=["visits"], share="30%")
    first, second = "SELECT COUNT(*) AS n FROM visits", "SELECT SUM(age) AS n FROM visits"
    db.as_analyst("ana").sql(first).run(share="10%")
    db.as_analyst("ben").sql(second).run(share="20%")
    db.as_analyst("zoe").sql(first).run(share="5%")
    db.sql(second).run(share="1%")
    card = db.study_card("flu")
    assert [release.asked for release in card.releases] == [first, second]
    assert [release.share for release in card.releases] == ["10%", "20%"]
    assert (card.released, card.spent, card.quota, card.end) == ("30%", "30%", "50%", "2099-01-01")
    for form in (card.to_json(), card.to_markdown()):
        assert not {"ana", "ben", "zoe"} & set(form.replace('"', " ").replace("|", " ").split())
    assert json.loads(card.to_json())["study"] == "flu"
    with pytest.raises(InvalidParameter, match="one of flu"):
        db.study_card("cold")


def test_a_study_without_releases_has_a_card_too() -> None:
    db = clinic(Budget(1))
    db.add_study("flu", population="patients", share="50%")
    assert "None so far." in str(db.study_card("flu"))


# ---- markup

HOSTILE = "a|b `c` *d* [e](javascript:f) <script>g</script> $h$ \x1b[31m\n# i ```\n~~~ &lt; ![j](k) \u202e"


def test_texts_never_become_markup() -> None:
    line = listed(HOSTILE)
    assert "\n" not in line
    assert "\x1b" not in line
    assert "<script" not in line.replace("\\<", "")
    assert tabled(("x",), [(HOSTILE,)]).count("\n") == 2
    assert bulleted([HOSTILE, "b"]).count("\n") == 1
    first, *_, last = fenced(HOSTILE, "sql").split("\n")
    assert first == "````sql"
    assert last == "````"


def test_a_question_inside_a_card_cannot_leave_its_fence() -> None:
    shown = card_of(clinic(), "SELECT COUNT(*) AS n FROM visits WHERE icd = '```'").to_markdown()
    assert "````sql\nSELECT" in shown


def test_a_card_has_one_form_for_deltas_and_no_row_numbers() -> None:
    db = create()
    db.add_population("patients", budget=Budget(epsilon=3, delta="1e-10"))
    add_visits(db, "visits")
    text = card_of(db).to_markdown()
    assert "delta = 1e-11" in text  # the cap on events
    assert "delta = 0.0000" not in text.split("Of several at once")[0]
    assert not re.search(r"\bS\d+\.\d+", text)
    assert "Theorem" in text
