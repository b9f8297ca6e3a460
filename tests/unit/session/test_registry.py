"""The epsilon registry: exact, publishable, and sensible at its edges."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import pytest

from clinics import clinic, visits
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget
from dalenius.catalog.catalog import Catalog, Population, Study
from dalenius.catalog.records import Records
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.names import as_share
from dalenius.session.databases import create
from dalenius.session.registry.registry import Registry, forecast, registry
from dalenius.session.registry.spending import Spending

START = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
PATIENTS = Account(("patients",))
DAY, WEEK = dt.timedelta(days=1), dt.timedelta(weeks=1)
PAYLOAD = '"><img src=x onerror=alert(1)>'


class World:
    """A ledger with a clock that is set by hand, and a catalog."""

    def __init__(self, budget: Budget | None = None, **population: Any) -> None:
        self.now = START
        self.ledger = Ledger.in_memory(clock=lambda: self.now)
        declared = {"neighbours": "add_remove", **population}
        self.catalog = Catalog().with_population("patients", budget=budget or Budget(1), **declared)
        self.declare(self.catalog)
        self.spending = Spending()

    def declare(self, catalog: Catalog) -> None:
        self.catalog = catalog
        for account, terms in catalog.accounts().items():
            self.ledger.open(account, terms)

    @property
    def people(self) -> Population:
        return self.catalog.population("patients")

    def spend(self, share: str, *, block: str = "", account: Account = PATIENTS) -> None:
        amount = self.people.renyi_filter.part(share=as_share(share))
        self.ledger.reserve([AccountCharge(account, amount, block)], question="q", who="canary-ana")

    def registry(self) -> Registry:
        return registry(self.catalog, Records(), self.ledger, self.spending)


@pytest.mark.textbook("S18.5")
def test_rates_and_forecast_follow_from_the_ledger() -> None:
    world = World(purpose="planning", retires=dt.datetime(2030, 1, 1, tzinfo=dt.UTC))
    for _ in range(10):
        world.spend("1%")
        world.now += WEEK
    record = world.registry()["patients"]
    assert (record.releases, record.first, record.last) == (10, START, START + 9 * WEEK)
    assert record.spent == Fraction(1, 10)
    assert record.weekly_overall == Fraction(1, 100)
    assert abs(record.weekly - Fraction(1, 100)) < Fraction(2, 1000)
    assert record.exhausted is not None
    assert abs(record.exhausted - (world.now + 90 * WEEK).date()) < 20 * WEEK


@pytest.mark.textbook("S18.5")
def test_what_was_spent_is_what_the_ledger_says_and_never_falls() -> None:
    world, before = World(Budget(1, "1e-6")), Fraction(0)
    for step in range(12):
        world.spend("3%", block="north" if step % 3 else "")
        world.now += dt.timedelta(hours=40)
        record = world.registry()["patients"]
        assert record.spent == world.people.renyi_filter.share(world.ledger.spent(PATIENTS)) >= before
        before = record.spent


def test_blocks_show_the_most_that_a_unit_bears() -> None:
    world = World()
    for share, block in (("10%", ""), ("20%", "north"), ("5%", "south"), ("10%", "south")):
        world.spend(share, block=block)
    record = world.registry()["patients"]
    assert record.spent == Fraction(3, 10)
    assert record.blocks == (("north", Fraction(3, 10)), ("south", Fraction(1, 4)))
    assert "block north: 30% spent" in str(world.registry())


def test_a_block_that_catches_up_costs_the_population_nothing_lately() -> None:
    world = World()
    world.spend("20%", block="north")
    world.now += 10 * WEEK
    world.spend("20%", block="south")
    assert world.registry()["patients"].weekly == 0


def test_what_was_taken_over_from_a_lost_copy_counts() -> None:
    world = World()
    world.spend("1%")
    raised = Charge(divergence=5 * 10**13, order=None)
    facts = {"account": ["patients"], "amount": [raised.divergence, 0, None], "block": ""}
    quota = {**facts, "account": ["patients", "ana"]}
    world.ledger._journal.append(lambda writing: writing.add("reconciled", {"mark": None, "raised": [facts, quota]}))
    record = world.registry()["patients"]
    assert record.spent == Fraction(6, 100)
    assert record.releases == 1


# ---- edges


def test_where_nothing_was_spent_there_is_no_rate_and_no_end_in_sight() -> None:
    record = World().registry()["patients"]
    assert (record.spent, record.weekly, record.weekly_overall, record.exhausted) == (0, 0, 0, None)
    assert "not in sight" in str(World().registry())


def test_where_everything_is_spent_that_is_said() -> None:
    world = World()
    world.spend("100%")
    world.now += 52 * WEEK
    assert world.registry()["patients"].exhausted == world.now.date()
    assert " spent " in str(world.registry())
    assert world.registry()["patients"].left == 0


def test_what_was_spent_within_a_day_counts_as_one_weeks_spending() -> None:
    world = World()
    for _ in range(5):
        world.spend("2%")
        world.now += dt.timedelta(minutes=1)
    record = world.registry()["patients"]
    assert record.weekly == record.weekly_overall == Fraction(1, 10)
    assert record.exhausted == (world.now + 9 * WEEK).date()


def test_a_clock_before_the_first_entry_changes_nothing_but_the_day() -> None:
    world = World()
    world.spend("10%")
    world.now = START - 200 * DAY
    record = world.registry()["patients"]
    assert record.weekly == record.weekly_overall == Fraction(1, 10)
    assert record.exhausted == (world.now + 9 * WEEK).date()


def test_an_end_beyond_all_calendars_is_not_in_sight() -> None:
    assert forecast(Fraction(0), Fraction(1, 10**30), START) is None
    assert forecast(Fraction(0), Fraction(1, 10**4), START.replace(year=9990)) is None
    assert forecast(Fraction(11, 10), Fraction(0), START) == START.date()


def test_retirement_ends_the_forecast() -> None:
    world = World(retires=START + DAY)
    world.spend("1%")
    world.now += 2 * DAY
    assert world.registry()["patients"].retired
    assert "retired" in str(world.registry())


def test_a_registry_of_nothing_is_a_registry() -> None:
    empty = registry(Catalog(), Records(), Ledger.in_memory(), Spending())
    assert json.loads(empty.to_json())["populations"] == []
    assert "No population" in empty.to_html()
    assert empty.to_csv().count("\n") == 1
    assert str(empty)


def test_reading_on_gives_the_same_as_reading_all() -> None:
    world = World()
    for share in ("1%", "2%", "3%"):
        world.spend(share)
        world.registry()
        world.now += 3 * DAY
    assert world.registry() == registry(world.catalog, Records(), world.ledger, Spending())


# ---- forms


def studied() -> World:
    world = World(purpose=f"=SUM(A1) {PAYLOAD}")
    world.declare(world.catalog.with_study(Study("flu", "patients", Fraction(1, 2), purpose=PAYLOAD, start=START)))
    ana = Account(("patients", "flu", "canary-ana"))
    world.ledger.open(ana, AccountTerms(world.people.renyi_filter.part(share=Fraction(1, 4))))
    world.spend("10%", account=ana)
    world.spend("5%", block=PAYLOAD)
    return world


def test_every_form_tells_the_same_and_names_no_analyst() -> None:
    found = studied().registry()
    facts = json.loads(found.to_json())["populations"][0]
    assert (facts["spent"], facts["studies"][0]["spent"], facts["studies"][0]["releases"]) == ("3/20", "1/10", 1)
    rows = {row["kind"]: row for row in csv.DictReader(io.StringIO(found.to_csv()))}
    assert (rows["population"]["spent_share"], rows["study"]["spent_share"], rows["block"]["spent_share"]) == (
        "0.15", "0.1", "0.15",
    )  # fmt: skip
    for form in (str(found), found.to_json(), found.to_csv(), found.to_html()):
        assert "canary" not in form
        assert "flu" in form


def test_a_purpose_is_no_formula_in_a_spreadsheet() -> None:
    rows = list(csv.reader(io.StringIO(studied().registry().to_csv())))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]


class Page(HTMLParser):
    """Tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def problems(page: str) -> list[str]:
    """What is wrong with a page: scripts, things from elsewhere, payloads that became markup, bars without words."""
    found, tags = [], Page(page).tags
    names = [tag for tag, _ in tags]
    found += [tag for tag in names if tag in ("script", "img", "link", "iframe", "object", "form", "a", "base")]
    found += [name for _, facts in tags for name in facts if name.startswith("on") or name in ("src", "href", "style")]
    found += ["a bar without words" for tag, facts in tags if tag == "svg" and not facts.get("aria-label")]
    found += ["a heading without a scope" for tag, facts in tags if tag == "th" and not facts.get("scope")]
    found += [f"no {tag}" for tag in ("title", "main", "h1", "h2", "caption", "svg") if tag not in names]
    found += ["no language"] if ("html", {"lang": "en"}) not in tags else []
    return found + (["something from elsewhere"] if "url(" in page or "@import" in page or "http:" in page else [])


def test_the_page_is_self_contained_accessible_and_escaped() -> None:
    page = studied().registry().to_html()
    assert problems(page) == []
    assert "default-src 'none'" in page
    assert "&lt;img src=x" in page


def test_the_check_above_notices_a_page_that_forgot_to_escape() -> None:
    page = studied().registry().to_html().replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    assert {"img", "onerror", "src"} <= set(problems(page))


def test_no_form_for_people_keeps_marks_that_a_terminal_obeys_or_a_page_hides() -> None:
    db, marks = create(), "\x1b[31m\x9b\u202e\u2066\u200b"
    db.add_population("people", budget=Budget(1), purpose=f"=1{marks}")
    db.add_study("one", population="people", share="10%", purpose=marks)
    for form in (str(db.registry()), db.registry().to_csv(), db.registry().to_html()):
        assert "�" in form
        assert not set(form) & set(marks) - set("[31m")


# ---- sessions


def test_owner_and_analyst_see_the_same_registry_and_it_depends_on_no_row() -> None:
    shown = set()
    for data in (visits(), visits(patients=0)):
        db = clinic(Budget(1), data=data)
        db.grant("canary", tables=["visits"], share="25%")
        db.as_analyst("canary").sql("SELECT COUNT(*) AS n FROM visits").run(share="10%")
        assert str(db.registry()) == str(db.as_analyst("canary").registry())
        record = db.registry()["patients"]
        assert (record.tables, record.unit, record.neighbours) == (("visits",), "patient_id", "add_remove")
        shown.add((record.spent, record.weekly, record.releases, record.exhausted))
        assert "canary" not in db.registry().to_json()
    assert len(shown) == 1


@pytest.mark.textbook("S18.6")
def test_new_versions_of_a_table_do_not_change_what_was_spent() -> None:
    db = clinic(Budget(1), data=visits(patients=5))
    for version in range(1, 5):
        db.sql("SELECT COUNT(*) AS n FROM visits").run(share="10%")
        db.update_table("visits", visits(patients=5))
        record = db.registry()["patients"]
        assert record.releases == version
        assert abs(record.spent - Fraction(version, 10)) < Fraction(1, 1000)
