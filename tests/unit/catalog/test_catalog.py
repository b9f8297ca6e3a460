"""The catalog says everything and reads nothing; people, unit and budget stay what they are."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from typing import Any

import pytest

from clinics import clinic as clinic_database
from dalenius.accounting.budget import Budget
from dalenius.catalog.catalog import DEFAULT_RATE, Catalog, Draft, Study
from dalenius.errors import InvalidParameter
from dalenius.ledger.accounts import Account, Rate
from dalenius.ledger.names import as_share
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.query.tables import ContributionBounds, EachRow, ForeignKey, UnitColumn
from dalenius.query.types import Category, Choice, Date, Days, Int, Moments, Number, Real, Text, Timestamp

MOST = ContributionBounds(rows=20, groups=5)
FLU = Study("flu", "patients", Fraction(1, 2))


def clinic(**changes: Any) -> Catalog:
    declared = {"budget": Budget("1"), "neighbours": "add_remove", **changes}
    return Catalog().with_population("patients", **declared)


def added(catalog: Catalog, name: str = "visits", **changes: Any) -> Catalog:
    declared: dict[str, Any] = {
        "columns": {"age": Int(0, 120)}, "population": "patients", "unit": "patient_id", "most": MOST,
        "public": False, "size": None,
    }  # fmt: skip
    return catalog.with_table(name, **{**declared, **changes})


def test_declared_types_become_plan_domains() -> None:
    columns = {
        "age": Int(0, 120, nullable=False),
        "cost": Real(0, 5000, step="0.01"),
        "day": Date("2024-01-01", "2026-12-31"),
        "at": Timestamp("2024-01-01", "2026-12-31"),
        "city": Category("Oslo", "Bergen"),
        "icd": Text(),
    }
    table = added(clinic(), columns=columns).table("visits")
    kinds = [type(domain) for _, domain in table.columns]
    assert kinds == [Number, Number, Days, Moments, Choice, Text]
    assert dict(table.columns)["age"] == Number(False, 0, 120, Fraction(1))
    assert table.protection
    assert table.protection.unit == UnitColumn("patient_id")


@pytest.mark.parametrize("arrow", ["->", "→", " -> ", "  →  "])
def test_a_path_is_read_and_checked(arrow: str) -> None:
    catalog = added(clinic(), "orders", columns={}, keys=["order_id"], unit="customer_id")
    lines = added(catalog, "lines", unit=f"order_id{arrow}orders.customer_id").table("lines")
    assert lines.protection
    assert lines.protection.unit == ForeignKey("order_id", "orders", "order_id")


@pytest.mark.parametrize(
    "unit",
    [
        "order_id -> orders.other_id",  # not the unit of orders
        "order_id -> nothing.customer_id",  # no such table
        "line_id -> orders.customer_id",  # orders declares no line_id
        ForeignKey("order_id", "orders", key="id"),
        ForeignKey("order_id", "places", key="place"),  # public
        ForeignKey("order_id", "staff", key="order_id"),  # another population
        ForeignKey("order id", "orders", key="order_id"),
        "", "a b", "select", None, 7, UnitColumn("x y"),
    ],
)  # fmt: skip
def test_a_unit_that_leads_nowhere_is_refused(unit: Any) -> None:
    catalog = added(clinic(), "orders", columns={}, keys=["order_id"], unit="customer_id")
    catalog = added(catalog, "places", columns={"place": Text()}, population=None, unit=None, most=None, public=True)
    catalog = catalog.with_population("doctors", budget=Budget(1), neighbours="add_remove")
    catalog = added(catalog, "staff", keys=["order_id"], population="doctors", unit="doctor_id")
    with pytest.raises(InvalidParameter):
        added(catalog, "lines", unit=unit)


def test_a_path_leads_through_keys_and_not_through_declared_columns_which_are_clamped() -> None:
    catalog = added(clinic(), "orders", columns={"order_id": Int(1, 9)}, unit="customer_id")
    with pytest.raises(InvalidParameter, match=r"keys=\['order_id'\]"):
        added(catalog, "lines", unit="order_id -> orders.customer_id")


def test_a_path_may_follow_a_path() -> None:
    catalog = added(clinic(), "orders", columns={"order_id": Int(1, 9)}, keys=["order_id"], unit="customer_id")
    catalog = added(catalog, "lines", keys=["line_id"], unit="order_id -> orders.customer_id")
    notes = added(catalog, "notes", unit=ForeignKey("line_id", "lines", key="line_id")).table("notes")
    assert notes.protection
    assert notes.protection.unit == ForeignKey("line_id", "lines", "line_id")
    with pytest.raises(InvalidParameter, match="ForeignKey"):
        added(catalog, "notes", unit="line_id -> lines.customer_id")


def test_public_is_said_and_never_assumed() -> None:
    nobody: dict[str, Any] = {"population": None, "unit": None, "most": None}
    with pytest.raises(InvalidParameter, match="public=True"):
        added(clinic(), **nobody)
    assert added(clinic(), **nobody, public=True).table("visits").protection is None
    with pytest.raises(InvalidParameter, match="public"):
        added(clinic(), public=True)


def test_most_is_required_unless_each_row_is_a_unit() -> None:
    with pytest.raises(InvalidParameter, match="max_rows"):
        added(clinic(), most=None)
    assert added(clinic(), unit=EachRow(), most=None).table("visits").protection
    with pytest.raises(InvalidParameter, match="left out"):
        added(clinic(), unit=EachRow())


@pytest.mark.parametrize(
    "name", ["", "1a", "a b", 'a"b', "a;b", "e\u0301", "ﬁ", "SELECT", "x" * 64, None, "a.b", "a\0"]
)
def test_names_are_plain_words(name: Any) -> None:
    with pytest.raises(InvalidParameter):
        added(clinic(), name)
    with pytest.raises(InvalidParameter):
        added(clinic(), columns={name: Int(0, 1)})
    with pytest.raises(InvalidParameter):
        Catalog().with_population(name, budget=Budget(1), neighbours="add_remove")


@pytest.mark.parametrize("name", ["Kjønn", "måned_2", "Straße", "数"])
def test_names_may_be_written_in_any_script(name: str) -> None:
    catalog = added(clinic(), name, columns={name: Int(0, 1)})
    assert [column for column, _ in catalog.table(name).columns] == [name]
    with pytest.raises(InvalidParameter, match="new"):
        added(catalog, name.upper().replace("STRASSE", "STRAẞE"))


def test_a_bad_name_is_refused_with_the_way_to_rename_it() -> None:
    with pytest.raises(InvalidParameter, match=r"rename=\{'new_name': 'hours-per-week'\}"):
        added(clinic(), columns={"hours-per-week": Int(0, 99)})


@pytest.mark.parametrize(
    ("rename", "problem"),
    [
        ({"hours": "h"}, "a declared column, the unit or a key"),
        ({"age": 5}, "a dict"),
        (["age"], "a dict"),
        ({"age": "patient_id"}, "another column of the source for each name"),
    ],
)
def test_a_renaming_that_makes_no_sense_is_refused(rename: Any, problem: str) -> None:
    with pytest.raises(InvalidParameter, match=problem):
        added(clinic(), columns={"age": Int(0, 1)}, rename=rename)


def test_columns_are_a_dict_and_nulls_are_texts() -> None:
    with pytest.raises(InvalidParameter, match="a dict from names to types"):
        added(clinic(), columns=["age"])
    with pytest.raises(InvalidParameter, match="nulls"):
        added(clinic(), nulls=[None])


def test_names_are_taken_whatever_their_case() -> None:
    catalog = added(clinic())
    with pytest.raises(InvalidParameter, match="new"):
        added(catalog, "VISITS")
    with pytest.raises(InvalidParameter, match="new"):
        added(catalog, "other", columns={"age": Int(0, 1), "Age": Int(0, 1)})
    with pytest.raises(InvalidParameter, match="without the unit"):
        added(catalog, "other", columns={"Patient_ID": Int(0, 1)})
    with pytest.raises(InvalidParameter, match="new"):
        catalog.with_population("Patients", budget=Budget(9), neighbours="add_remove")


def test_a_column_needs_a_declared_type() -> None:
    for domain in (int, "int", None, 3):
        with pytest.raises(InvalidParameter, match="column age"):
            added(clinic(), columns={"age": domain})


def test_rows_as_units_stand_alone() -> None:
    by_row = added(clinic(), unit=EachRow(), most=None)
    for unit, most in ((EachRow(), None), ("patient_id", MOST)):
        with pytest.raises(InvalidParameter, match="each row"):
            added(by_row, "copy", unit=unit, most=most)
    with pytest.raises(InvalidParameter, match="each row"):
        added(added(clinic()), "copy", unit=EachRow(), most=None)


def test_tables_of_the_same_people_share_their_budget() -> None:
    catalog = added(added(clinic()), "copy")
    protections = [catalog.table(name).protection for name in ("visits", "copy")]
    assert {protection.population for protection in protections if protection} == {"patients"}
    assert list(catalog.populations) == ["patients"]


def test_a_population_never_changes() -> None:
    population = clinic().population("patients")
    with pytest.raises(FrozenInstanceError):
        population.renyi_filter = None  # type: ignore[misc, assignment]


def test_neighbours_are_one_of_two() -> None:
    assert clinic().population("patients").neighbours == AddRemove()
    assert clinic(neighbours="replace").population("patients").neighbours == Replace()
    for wrong in ("swap", None, 1):
        with pytest.raises(InvalidParameter):
            clinic(neighbours=wrong)


def test_grants_add_up_and_name_known_tables() -> None:
    catalog = added(added(clinic()), "bills").with_grant("ana", tables=["visits"], share=Fraction(1, 4))
    assert list(catalog.tables_for("ana")) == ["visits"]
    assert list(catalog.tables_for("ben")) == []
    more = catalog.with_grant("ana", tables="bills", share=Fraction(1, 2))
    assert list(more.tables_for("ana")) == ["visits", "bills"]
    assert more.grants["ana"].shares == (("patients", Fraction(1, 2)),)
    for tables in ([], ["nothing"]):
        with pytest.raises(InvalidParameter):
            catalog.with_grant("ana", tables=tables, share=Fraction(1))
    for name in ("", "owner", "a/b", "Owner", None):
        with pytest.raises(InvalidParameter):
            catalog.with_grant(name, tables=["visits"], share=Fraction(1))  # type: ignore[arg-type]


def test_granting_again_keeps_the_terms_that_are_not_mentioned() -> None:
    terms = {"most_epsilon": Fraction(1, 2), "rate": Rate(5, 60), "pays_for_replays": True}
    catalog = added(clinic()).with_grant("ana", tables=["visits"], share=Fraction(1, 4), **terms)
    again = catalog.with_grant("ana", tables=["visits"], share=None, most_epsilon=Fraction(1, 3))
    grant = again.grants["ana"]
    assert (grant.most_epsilon, grant.rate, grant.pays_for_replays) == (Fraction(1, 3), Rate(5, 60), True)
    assert grant.shares == (("patients", Fraction(1, 4)),)
    new = again.without_grant("ana").with_grant("ana", tables=["visits"], share=None).grants["ana"]
    assert (new.most_epsilon, new.rate, new.shares) == (None, DEFAULT_RATE, (("patients", Fraction(1)),))


def test_names_of_people_and_studies_differ_by_more_than_capital_letters() -> None:
    catalog = added(clinic()).with_grant("ana", tables=["visits"], share=None).with_study(FLU)
    for wrong in (
        lambda: catalog.with_grant("Ana", tables=["visits"], share=None),
        lambda: catalog.with_study(replace(FLU, name="Flu")),
    ):
        with pytest.raises(InvalidParameter, match="capital letters"):
            wrong()
    assert catalog.with_grant("ana", tables=["visits"], share=Fraction(1, 2)).with_study(FLU)


def test_a_study_stays_with_its_people_while_somebody_asks_inside_it() -> None:
    catalog = added(clinic()).with_population("staff", budget=Budget(1), neighbours="add_remove").with_study(FLU)
    granted = catalog.with_grant("ana", tables=["visits"], share=None, study="flu")
    with pytest.raises(InvalidParameter, match="patients, as long as ana"):
        granted.with_study(replace(FLU, population="staff"))
    assert granted.with_study(replace(FLU, share=Fraction(1, 3))).studies["flu"].share == Fraction(1, 3)
    assert granted.without_grant("ana").with_study(replace(FLU, population="staff"))


def test_studies_hold_no_more_than_there_is() -> None:
    held = replace(FLU, share=Fraction(4, 5), reserve=Fraction(4, 5))
    catalog = clinic().with_study(held)
    with pytest.raises(InvalidParameter, match="at most 20%"):
        catalog.with_study(replace(held, name="cold"))
    assert catalog.with_study(held).with_study(replace(held, name="cold", reserve=Fraction(1, 5)))
    assert catalog.with_study(replace(held, reserve=None)).with_study(replace(held, name="cold"))
    other = catalog.with_population("staff", budget=Budget(1), neighbours="add_remove")
    assert other.with_study(replace(held, name="cold", population="staff"))


def test_only_what_was_granted_is_revoked() -> None:
    with pytest.raises(InvalidParameter, match="one of none so far"):
        clinic().without_grant("ana")


def test_a_path_names_the_unit_that_it_leads_to_or_the_key_that_it_goes_by() -> None:
    catalog = added(clinic(), "orders", keys=["id", "order_id"])
    for text, key in (("order_id -> orders.patient_id", "order_id"), ("order_id → orders.id", "id")):
        unit = added(catalog, "lines", unit=text).table("lines").protection
        assert unit is not None
        assert unit.unit == ForeignKey("order_id", "orders", key)


def test_a_removed_table_is_gone_from_grants_too() -> None:
    catalog = added(added(clinic()), "bills").with_grant("ana", tables=["visits", "bills"], share=Fraction(1))
    catalog = catalog.with_grant("ben", tables=["bills"], share=Fraction(1))
    left = catalog.without_table("bills")
    assert list(left.tables) == ["visits"]
    assert {name: grant.tables for name, grant in left.grants.items()} == {"ana": ("visits",)}
    with pytest.raises(InvalidParameter, match="nothing"):
        catalog.without_table("nothing")


def test_a_table_that_others_need_is_not_removed() -> None:
    catalog = added(clinic(), "orders", keys=["id"])
    catalog = added(catalog, "lines", unit=ForeignKey("id", "orders", "id"))
    with pytest.raises(InvalidParameter, match="lines"):
        catalog.without_table("orders")
    assert list(catalog.without_table("lines").tables) == ["orders"]


def test_a_draft_is_known_and_nothing_more() -> None:
    catalog = clinic().with_draft(Draft("visits", ("max_rows",), "patients"))
    catalog = catalog.with_grant("ana", tables=["visits"], share=Fraction(1, 2))
    assert catalog.tables_for(None) == catalog.tables_for("ana") == {}
    assert catalog.named_for("ana") == ("visits",)
    with pytest.raises(InvalidParameter, match=r"tables\.visits\.max_rows"):
        catalog.table("visits")
    assert catalog.accounts()[Account(("patients", "ana"))]
    assert added(catalog).drafts == {}
    with pytest.raises(InvalidParameter, match="new"):
        added(catalog, "Visits")


def test_shares_are_read_exactly() -> None:
    assert as_share("25%") == as_share("0.25") == as_share(0.25) == as_share(" 25 % ") == Fraction(1, 4)
    for wrong in ("0%", "101%", "-1%", "nan", "%", "", True, 2):
        with pytest.raises(InvalidParameter):
            as_share(wrong)


def test_an_analyst_has_a_rate_from_the_first_grant_on_and_the_owner_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    with clinic_database() as db:
        db.grant("ana", tables=["visits"])
        monkeypatch.setattr(db.ledger, "reserve", lambda *charges, rate, **terms: asked.append(rate) or 1 / 0)
        for session in (db, db.as_analyst("ana")):
            with pytest.raises(ZeroDivisionError):
                session.sql("SELECT COUNT(*) AS n FROM visits").run(share="1%")
    assert asked == [None, DEFAULT_RATE]
