"""Synthetic patients with visits: one charge, a guarantee for each patient, and keys that join what was made up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from checks import SeededEntropy
from costs import cases
from dalenius.checks.replay.replaying import replay
from dalenius.engines.engine import Statements
from dalenius.errors import BudgetExceeded, InvalidParameter, QueryRefused
from dalenius.query import rows
from dalenius.query.tables import ContributionBounds
from dalenius.session.databases import Database
from dalenius.session.executor import allowance, measured
from dalenius.session.offers import Offer
from dalenius.synth.tables import evaluating, families
from dalenius.synth.tables import families as pairs
from dalenius.synth.tables.families import FamilySynthesizer, FamilyWork, PartOfAllowance
from dalenius.synth.tables.synthesizer import Synthesizer

MOST = 4
FAMILY = FamilySynthesizer(
    parent=Synthesizer(columns=["age", "sex"], bins={"age": "30"}, order=2),
    child=Synthesizer(columns=["cost", "kind"], bins={"cost": "25"}, order=2, rows=MOST),
)


def patients(count: int = 60) -> pa.Table:
    numbers = range(count)
    return pa.table(
        {
            "patient_id": pa.array(numbers, pa.int64()),
            "age": pa.array([number % 90 for number in numbers], pa.int64()),
            "sex": pa.array(["FM"[number % 2] for number in numbers], pa.string()),
        }
    )


def visits(count: int = 60) -> pa.Table:
    """Every third patient has no visit, the others one or two; women's are of kind A, men's of kind B."""
    owners = [number for number in range(count) for _ in range(number % 3)]
    return pa.table(
        {
            "patient": pa.array(owners, pa.int64()),
            "cost": pa.array([float(10 * owner % 100) for owner in owners], pa.float64()),
            "kind": pa.array(["AB"[owner % 2] for owner in owners], pa.string()),
        }
    )


def hospital(
    older: pa.Table | None = None,
    younger: pa.Table | None = None,
    *,
    neighbours: str = "add_remove",
    epsilon: int = 3,
    delta: str = "1e-9",
) -> Database:
    db = dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=epsilon, delta=delta), neighbours=neighbours)
    db.add_table(
        "patients",
        patients() if older is None else older,
        population="people",
        unit="patient_id",
        max_rows=1,
        max_groups=1,
        columns={"age": dl.Int(0, 89), "sex": dl.Category("F", "M")},
    )
    db.add_table(
        "visits",
        visits() if younger is None else younger,
        population="people",
        unit="patient",
        max_rows=6,
        max_groups=1,
        columns={"cost": dl.Real(0, 100, step="0.01"), "kind": dl.Category("A", "B")},
    )
    return db


@pytest.fixture
def db() -> Iterator[Database]:
    with hospital() as database:
        yield database


def rows_of(db: Database) -> tuple[Any, Any]:
    return db.table("patients"), db.table("visits")


def pair_of(db: Database) -> FamilyWork:
    return FamilyWork(*FAMILY._fits(FAMILY._binned(*rows_of(db)), Offer(epsilon=1)))


def test_a_family_is_charged_once_and_then_had_for_nothing(db: Database) -> None:
    cost = FAMILY.cost(*rows_of(db), epsilon=1)
    assert db.spent()["people"].share == 0
    first = FAMILY.fit(*rows_of(db), epsilon=1)
    spent = db.spent()["people"].share
    assert spent == pytest.approx(float(cost.shares["people"]), abs=1e-9)
    again = FAMILY.fit(*rows_of(db), epsilon=1)
    assert again.parents.source.replayed
    assert db.spent()["people"].share == spent
    for one, other in ((first.parents, again.parents), (first.children, again.children)):
        assert [part.counts.tolist() for part in one.measured] == [part.counts.tolist() for part in other.measured]
    with pytest.raises(BudgetExceeded):
        FAMILY.fit(*rows_of(db), epsilon=3)
    assert db.spent()["people"].share == spent


def test_both_tables_have_the_declared_columns_and_a_key_that_joins_them(db: Database) -> None:
    parents, children = FAMILY.fit(*rows_of(db), epsilon=1).sample(500)
    assert parents.column_names == ["patient_id", "age", "sex"]
    assert children.column_names == ["patient_id", "cost", "kind"]
    owners = Counter(children["patient_id"].to_pylist())
    assert set(owners) <= set(parents["patient_id"].to_pylist()) == set(range(500))
    assert max(owners.values()) <= MOST


def test_a_large_family_is_learnt_with_parents_who_have_no_children() -> None:
    """At a large epsilon: a third has no visit, and what a visit is about follows from its patient's sex."""
    with hospital(patients(3000), visits(3000), epsilon=100) as large:
        family = FAMILY.fit(*rows_of(large), epsilon=100)
        parents, children = family.sample(entropy=SeededEntropy(7))
    assert abs(len(parents) - 3000) < 60
    owners = Counter(children["patient_id"].to_pylist())
    numbers = Counter(owners[number] for number in range(len(parents)))
    assert all(abs(numbers[visits] - 1000) < 60 for visits in range(3)), numbers
    sexes = dict(zip(parents["patient_id"].to_pylist(), parents["sex"].to_pylist(), strict=True))
    kinds = Counter(
        (sexes[owner], kind)
        for owner, kind in zip(children["patient_id"].to_pylist(), children["kind"].to_pylist(), strict=True)
    )
    assert kinds["F", "A"] + kinds["M", "B"] > 0.97 * len(children), kinds
    assert family.children.report().rows > 2900


def test_the_test_above_notices_children_that_are_drawn_without_their_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    real = families.rows_given

    def shuffled(beliefs: Any, known: Any, entropy: Any) -> Any:
        return real(beliefs, {name: np.roll(places, 1) for name, places in known.items()}, entropy)

    monkeypatch.setattr(families, "rows_given", shuffled)
    with pytest.raises(AssertionError):
        test_a_large_family_is_learnt_with_parents_who_have_no_children()


def test_conditions_may_speak_of_the_number_of_children(db: Database) -> None:
    made = FamilySynthesizer(
        parent=Synthesizer(bins={"age": "30"}, impossible=["sex = 'M' AND children > 0"], total=1_000),
        child=Synthesizer(bins={"cost": "25"}, rows=MOST, impossible=["kind = 'B' AND sex = 'F'"]),
    )
    parents, children = made.fit(*rows_of(db), epsilon=1).sample()
    assert len(parents) == 1_000
    sexes = parents["sex"].to_pylist()
    assert {sexes[owner] for owner in children["patient_id"].to_pylist()} <= {"F", None}
    pairs = zip(children["patient_id"].to_pylist(), children["kind"].to_pylist(), strict=True)
    assert not [owner for owner, kind in pairs if kind == "B" and sexes[owner] == "F"]


def test_children_that_were_declared_impossible_are_drawn_anew_or_not_at_all(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the children's model knows nothing of a parent, any possible child will do; or none, where none is."""
    made = FamilySynthesizer(
        parent=Synthesizer(bins={"age": "30"}),
        child=Synthesizer(bins={"cost": "25"}, rows=MOST, impossible=["kind = 'B' AND sex = 'F'", "sex = 'M'"]),
    )
    family = made.fit(*rows_of(db), epsilon=3)
    real = families.rows_given
    model = family.children.model.beliefs

    def ignorant(beliefs: Any, known: Any, entropy: Any) -> Any:
        drawn = real(beliefs, known, entropy)
        if beliefs is model:
            drawn[:, beliefs.grid.columns.index("kind")] = 1
        return drawn

    monkeypatch.setattr(families, "rows_given", ignorant)
    parents, children = family.sample(400)
    sexes = parents["sex"].to_pylist()
    found = {
        (sexes[owner], kind)
        for owner, kind in zip(children["patient_id"].to_pylist(), children["kind"].to_pylist(), strict=True)
    }
    assert ("F", "A") in found
    assert not found & {("F", "B"), ("M", "A"), ("M", "B"), ("M", None)}


def test_rows_may_be_chosen_and_no_columns_shared(db: Database) -> None:
    chosen = db.table("patients").where(dl.col("age") >= 30), db.table("visits").where(dl.col("kind") == "A")
    made = FamilySynthesizer(FAMILY.parent, FAMILY.child, shared=[])
    family = made.fit(*chosen, epsilon=1)
    assert family.children.grid.columns == ("cost", "kind")
    assert len(family.sample(200)[0]) == 200
    assert [len(table) for table in family.sample(0)] == [0, 0]


def test_progress_goes_from_one_table_to_the_other(db: Database) -> None:
    seen: list[float] = []
    FAMILY.fit(*rows_of(db), epsilon=1, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(100, abs=1)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (FamilySynthesizer(parent=Synthesizer(rows=2)), "unit of its own"),
        (FamilySynthesizer(child=Synthesizer(rows=301)), "at most 300"),
        (FamilySynthesizer(shared=["cost"]), "columns of the parents"),
        (FamilySynthesizer(shared=["age", "age"]), "columns of the parents"),
        (FamilySynthesizer(parent=Synthesizer(columns=["weight"])), "weight"),
    ],
)
def test_what_cannot_be_made_is_refused_before_anything_is_charged(
    db: Database, made: FamilySynthesizer, told: str
) -> None:
    with pytest.raises((QueryRefused, InvalidParameter, dl.errors.UnknownName), match=told):
        made.fit(*rows_of(db), epsilon=1)
    assert db.spent()["people"].share == 0


def test_a_family_inside_one_block_is_charged_to_that_block(db: Database) -> None:
    db.partition("patients.sex", ["F", "M"])
    women = db.table("patients").where(dl.col("sex") == "F")
    assert FAMILY.cost(women, db.table("visits"), epsilon=1).blocks
    assert not FAMILY.cost(*rows_of(db), epsilon=1).blocks


def test_children_of_one_block_with_everybody_as_parents_are_refused(db: Database) -> None:
    """The children alone would be charged to their block, while the parents are everybody."""
    db.partition("visits.kind", ["A", "B"])
    some = db.table("visits").where(dl.col("kind") == "A")
    with pytest.raises(InvalidParameter, match="the same for parents and children"):
        FAMILY.fit(db.table("patients"), some, epsilon=1)
    assert db.spent()["people"].share == 0


def test_the_test_above_notices_when_blocks_are_not_compared(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families._FamilyRows, "require_one_block", lambda self, *fits: None)
    with pytest.raises(pytest.fail.Exception):
        test_children_of_one_block_with_everybody_as_parents_are_refused(db)


def test_a_part_of_an_allowance_draws_from_the_whole_and_never_past_itself(db: Database) -> None:
    fit = pair_of(db)
    (amount,) = fit.charge.values()
    relation = db._curator.catalog.population("people").neighbours
    with allowance(fit, {"people": relation}) as whole:
        part = PartOfAllowance(whole, amount.part(Fraction(1, 2)))
        loss = fit.parent.loss
        part.draw(loss)
        assert whole.left == amount - whole.price(loss)
        with pytest.raises(BudgetExceeded):
            part.draw(loss)
        assert whole.left == amount - whole.price(loss)


def test_a_family_is_evaluated_for_one_charge() -> None:
    """By hand: how many patients have how many visits, and what kind of visit women and men have."""
    with hospital(patients(300), visits(300), epsilon=100) as db:
        family = FAMILY.fit(*rows_of(db), epsilon=1)
        before = db.spent()["people"].share
        older, younger = family.evaluate(*rows_of(db), epsilon=50)
        spent = db.spent()["people"].share
        assert spent > before
        assert family.evaluate(*rows_of(db), epsilon=50)[0].answer.replayed
        assert db.spent()["people"].share == spent
    numbers = np.array([100, 100, 100, 0, 0])
    error = np.abs(family.parents.counts(["children"]) - numbers).sum() / family.parents.size
    assert abs(older.errors["children",] - error) < 3 * older.bar
    kinds = np.array([[150, 0, 0], [0, 150, 0], [0, 0, 0]])
    error = np.abs(family.children.counts(["kind", "sex"]) - kinds).sum() / family.children.size
    assert abs(younger.errors["kind", "sex"] - error) < 3 * younger.bar
    assert sorted(map(len, older.errors)) == [1, 1, 1, 2, 2, 2]


def test_a_pure_budget_buys_a_family_too() -> None:
    with hospital(delta="0") as db:
        family = FAMILY.fit(*rows_of(db), epsilon=1)
        assert len(family.sample(50)[0]) == 50
        assert db.spent()["people"].share == Fraction(1, 3)


def test_children_along_a_key_belong_to_the_parent_at_its_end(db: Database) -> None:
    numbers = range(40)
    stays = pa.table({"stay": pa.array(numbers, pa.int64()), "patient_id": pa.array(numbers, pa.int64())})
    tests = pa.table({"stay": pa.array([n % 20 for n in numbers], pa.int64()), "value": pa.array(numbers, pa.int64())})
    once = ContributionBounds(rows=2, groups=1)
    db.add_table(
        "stays",
        stays,
        population="people",
        unit="patient_id",
        keys=["stay"],
        max_rows=once.rows,
        max_groups=once.groups,
        columns={},
    )
    path, columns = "stay -> stays.patient_id", {"value": dl.Int(0, 39)}
    db.add_table(
        "tests", tests, population="people", unit=path, max_rows=once.rows, max_groups=once.groups, columns=columns
    )
    _, children = FamilySynthesizer().fit(db.table("patients"), db.table("tests"), epsilon=1).sample(50)
    assert children.column_names == ["patient_id", "value"]


def test_rows_that_are_units_of_their_own_have_no_children(db: Database) -> None:
    db.add_population("events", budget=dl.Budget(epsilon=1))
    rows = pa.table({"day": pa.array([1, 2], pa.int64())})
    db.add_table("events", rows, population="events", unit=dl.EachRow(), columns={"day": dl.Int(0, 9)})
    for pair in (("events", "visits"), ("patients", "events")):
        with pytest.raises(InvalidParameter, match="names the parent"):
            FamilySynthesizer().fit(*map(db.table, pair), epsilon=1)


# ---- neighbours


def shown(db: Database) -> Any:
    """What a fit of a family shows of a database."""
    fit = pair_of(db)
    relation = db._curator.catalog.population("people").neighbours
    with allowance(fit, {"people": relation}) as paid:
        found = measured(fit, Statements(db._curator.engine), paid)
    return [(part.columns, part.counts.tolist(), part.deviation) for table in found for part in table]


def grown(patient: dict[str, Any], visit: dict[str, Any], number: int) -> tuple[pa.Table, pa.Table]:
    """Both tables, with one more patient who has so many visits."""
    older, younger = patients(), visits()
    someone = {"patient_id": 10**6, "age": 44, "sex": "F", **patient}
    theirs = [{"patient": 10**6, "cost": 2.0 * each, "kind": "B", **visit} for each in range(number)]
    return (
        pa.concat_tables([older, pa.Table.from_pylist([someone], schema=older.schema)]),
        pa.concat_tables([younger, pa.Table.from_pylist(theirs, schema=younger.schema)]),
    )


STRANGERS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "forty visits": ({}, {}, 40),
    "no visit": ({}, {}, 0),
    "categories that nobody had": ({"sex": "X"}, {"kind": "Z"}, 40),
    "extreme values": ({"age": 10**9}, {"cost": 1e300}, 7),
}


@cases("neighbours", ["add_remove", "replace"], fast=1)
@pytest.mark.parametrize("stranger", STRANGERS)
def test_one_patient_more_changes_no_call_and_no_value_further_than_declared(stranger: str, neighbours: str) -> None:
    """One patient is one row among the parents, and at most four among the children, whatever they bring along."""
    before = (patients(), visits()) if neighbours == "add_remove" else grown({"age": 3}, {"kind": "A"}, 9)
    with (
        hospital(*before, neighbours=neighbours) as one,
        hospital(*grown(*STRANGERS[stranger]), neighbours=neighbours) as other,
    ):
        fit = pair_of(one)
        found = replay(shown, one, other, charged=list(fit.charge.values()))
    assert not found.findings
    assert len(found.calls) > 6


@cases("stranger", STRANGERS, fast=1)
def test_one_patient_more_moves_an_evaluation_no_further_than_declared(stranger: str) -> None:
    with hospital() as one, hospital(*grown(*STRANGERS[stranger])) as other:
        family = FAMILY.fit(*rows_of(one), epsilon=1)
        tables = family.parents, family.children

        def compared(db: Database) -> FamilyWork:
            fits = FAMILY._fits(FAMILY._binned(*rows_of(db)), Offer(epsilon=1))
            parts = zip(fits, tables, strict=True)
            return FamilyWork(
                *(evaluating.compared(fit, table.model, table.evaluated(), rows=table.size) for fit, table in parts)
            )

        def run(db: Database) -> Any:
            relation = db._curator.catalog.population("people").neighbours
            with allowance(compared(db), {"people": relation}) as paid:
                return measured(compared(db), Statements(db._curator.engine), paid)

        found = replay(run, one, other, charged=list(compared(one).charge.values()))
    assert not found.findings
    assert len(found.calls) == 2


def test_the_test_above_notices_children_that_count_as_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children that are said to be one row of a unit, as parents are."""
    real = evaluating.sealed_counts

    def one_row(question: Any, axes: Any, cells: Any) -> Any:
        return replace(real(question, axes, cells), rows=1)

    monkeypatch.setattr(evaluating, "sealed_counts", one_row)
    with pytest.raises(AssertionError):
        test_one_patient_more_moves_an_evaluation_no_further_than_declared("forty visits")


def test_the_replay_of_fits_notices_children_that_are_not_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LimitPerUnit", lambda child, most: child)
    with pytest.raises(AssertionError):
        test_one_patient_more_changes_no_call_and_no_value_further_than_declared("forty visits", "add_remove")


def test_the_replay_of_fits_notices_a_part_that_is_not_drawn_from_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then both tables together cost more than was charged."""
    monkeypatch.setattr(PartOfAllowance, "draw", pairs.Allowance.draw)
    with pytest.raises(AssertionError):
        test_one_patient_more_changes_no_call_and_no_value_further_than_declared("no visit", "add_remove")
