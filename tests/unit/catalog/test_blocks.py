"""Blocks of a population: what they cost, whom they hold for ever, and what is refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from costs import cases
from dalenius.accounting.amounts import Charge
from dalenius.engines.duckdb import blocks
from dalenius.engines.duckdb import dialect as names
from dalenius.engines.duckdb.dialect import OWNER
from dalenius.engines.engine import Divided
from dalenius.errors import BudgetExceeded, DataMismatch, InvalidParameter, LedgerRefused
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms
from dalenius.ledger.balances import Balances, Sums, path_text
from dalenius.ledger.ledger import Ledger
from dalenius.query.tables import ContributionBounds, EachRow
from dalenius.query.types import Bool, Category, Date, Int, Real, Text

REGIONS = ("north", "south", "west")
NORTH = "SELECT COUNT(*) AS n FROM visits WHERE region = 'north'"
SOUTH = "SELECT COUNT(*) AS n FROM visits WHERE region = 'south'"
ALL = "SELECT COUNT(*) AS n FROM visits"
PATIENTS = Account(("patients",))


def visits(*regions: str | None, ids: Any = None) -> pa.Table:
    """A visit of each patient, in this order, in these regions."""
    numbers = list(range(len(regions))) if ids is None else ids
    return pa.table({"patient_id": pa.array(numbers), "region": pa.array(regions, pa.string())})


def declared(db: dl.Database, data: pa.Table, **changes: Any) -> None:
    facts = {
        "population": "patients", "unit": "patient_id", "max_rows": 1,
        "columns": {"region": Category(*REGIONS)},
    }  # fmt: skip
    db.add_table("visits", data, **{**facts, **changes})


def clinic(data: pa.Table | None = None, path: Any = None, **people: Any) -> dl.Database:
    db = dl.create(path)
    db.add_population("patients", budget=dl.Budget(epsilon=3, delta="1e-9"), **people)
    declared(db, visits("north", "south", "west", None) if data is None else data)
    return db


@pytest.fixture
def db() -> Iterator[dl.Database]:
    with clinic() as made:
        made.partition("visits.region", ["north", "south"])
        yield made


def share(db: dl.Database) -> Fraction:
    return db.spent()["patients"].share


# ---- what is charged


@pytest.mark.textbook("S18.1")
def test_blocks_fill_to_the_cap_each_and_the_population_shows_the_largest(db: dl.Database) -> None:
    for sql in (NORTH, SOUTH):
        db.sql(sql).run(share="60%")
    assert Fraction(599, 1000) < share(db) <= Fraction(6, 10)
    db.sql(SOUTH).run(share="39%")
    db.sql(SOUTH).run(share="1%", fresh=True)
    assert share(db) > Fraction(999, 1000)
    db.sql(NORTH).run(share="40%")
    with pytest.raises(BudgetExceeded):
        db.sql(NORTH).run(share="1%")
    with pytest.raises(BudgetExceeded):
        db.sql(ALL).run(share="1%")
    assert db.verify().problems == ()


def test_what_is_asked_of_all_counts_for_every_block(db: dl.Database) -> None:
    db.sql(ALL).run(share="50%")
    db.sql(NORTH).run(share="30%")
    with pytest.raises(BudgetExceeded):
        db.sql(SOUTH).run(share="51%")
    db.sql(SOUTH).run(share="50%")
    assert share(db) > Fraction(999, 1000)


def test_without_a_partition_the_same_questions_add_up() -> None:
    """The twin of the tests above."""
    with clinic() as db:
        db.sql(NORTH).run(share="60%")
        with pytest.raises(BudgetExceeded):
            db.sql(SOUTH).run(share="60%")


@pytest.mark.parametrize(
    "where", ["region = 'west'", "region IN ('north', 'south')", "region <> 'south'", "region = 'north' OR 1 = 1"]
)
def test_overlapping_and_unlisted_predicates_are_charged_to_all(db: dl.Database, where: str) -> None:
    question = db.sql(f"{ALL} WHERE {where}")
    assert question.cost(share="1%").blocks == {}
    question.run(share="1%")
    assert [charge.block for receipt in db.history() for charge in receipt.charges] == [""]


def test_an_analyst_s_quota_adds_up_over_blocks(db: dl.Database) -> None:
    db.grant("ana", tables=["visits"], share="50%")
    ana = db.as_analyst("ana")
    ana.sql(NORTH).run(share="30%")
    with pytest.raises(BudgetExceeded):
        ana.sql(SOUTH).run(share="30%")
    ana.sql(SOUTH).run(share="20%")
    assert share(db) <= Fraction(3, 10)
    assert ana.spent()["patients"].share > Fraction(49, 100)


def test_price_derivation_and_answer_say_which_block_pays(db: dl.Database) -> None:
    db.sql(NORTH).run(share="10%")
    cost = db.sql(SOUTH).cost(share="20%")
    assert cost.blocks == {"patients": "visits.region = 'south'"}
    assert "inside the block visits.region = 'south'; 80% would be left" in str(cost)
    assert "The charge counts for this block alone" in db.sql(SOUTH).explain()
    assert "block" not in db.sql(ALL).explain().lower()
    answer = db.sql(SOUTH).run(share="20%")
    assert "(block visits.region = 'south')" in repr(answer)
    assert "80% of patients" in repr(answer)
    assert not db.sql(NORTH).cost(share="91%").affordable
    assert db.sql(NORTH).cost(share="89%").affordable


def test_any_order_of_charges_keeps_every_unit_within_both_sides_of_the_cap() -> None:
    """Each unit's own sum, counted here apart, never passes the cap, and nothing that fits is refused."""
    random, cap = Random("charges"), Charge(divergence=1000, delta=100, order=Fraction(7))
    ledger = Ledger.in_memory()
    ledger.open(PATIENTS, AccountTerms(cap))
    borne = dict.fromkeys(("", "north", "south", "east"), (0, 0))
    for _ in range(120):
        block = random.choice(list(borne))
        asked = (random.randint(1, 90), random.choice([0, 0, 1, 20]))
        hit = list(borne) if block == "" else [block]
        fits = all(borne[one][0] + asked[0] <= 1000 and borne[one][1] + asked[1] <= 100 for one in hit)
        charge = AccountCharge(PATIENTS, Charge(divergence=asked[0], delta=asked[1], order=Fraction(7)), block)
        try:
            ledger.reserve([charge], question="q", who="owner")
            assert fits
            borne |= {one: (borne[one][0] + asked[0], borne[one][1] + asked[1]) for one in hit}
        except BudgetExceeded:
            assert not fits
        spent = ledger.spent(PATIENTS)
        shown = max(borne.values(), key=lambda pair: (max(Fraction(pair[0], 1000), Fraction(pair[1], 100)), pair))
        assert (spent.divergence, spent.delta) == shown  # of the block that has spent the largest share
    ledger.close()


def test_a_ledger_that_forgets_the_whole_inside_a_block_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the test above: what was charged to all is borne in every block."""
    right = Balances._borne

    def apart(self: Balances, account: Account, block: str = "") -> list[Sums]:
        return [self._part(path_text(account), block)] if block else right(self, account)

    monkeypatch.setattr(Balances, "_borne", apart)
    with pytest.raises(AssertionError):
        test_any_order_of_charges_keeps_every_unit_within_both_sides_of_the_cap()


# ---- who is in which block, for ever


def stored(db: dl.Database) -> list[tuple[int, str | None]]:
    """The visits as they are imported: patients and their regions."""
    engine: Any = db._curator.engine
    table = db.catalog.table("visits")
    with engine.imported._file.reading() as connection:
        texts = f"LEFT JOIN {names.texts_table(table, 0)} ON {names.stored('region')} = code"
        sql = f"SELECT {OWNER}, value FROM {names.rows_table(table)} {texts} ORDER BY ALL"
        return [tuple(row) for row in connection.execute(sql).fetchall()]


@cases(
    ("later", "kept", "remark"),
    [
        (visits("south", "south"), [(1, "south")], "1 units .* 1 of their rows"),
        (visits("north", "north", ids=[0, 1]), [(0, "north")], "1 units .* 1 of their rows"),
        (visits("south", "north", "south", ids=[0, 0, 0]), [(0, "north")], "1 units .* 2 of their rows"),
        (visits("south", "north", "south", ids=[7, 7, 7]), [(7, "north")], "1 units .* 2 of their rows"),
        (visits("south", "west", None, ids=[0, 0, 0]), [(0, "west"), (0, None)], "1 units .* 1 of their rows"),
    ],
    fast=2,
)
def test_of_a_unit_that_would_be_in_two_blocks_the_rows_in_the_second_are_left_out(
    db: dl.Database, later: pa.Table, kept: list[Any], remark: str
) -> None:
    db.update_table("visits", later)
    assert stored(db) == kept
    (told,) = db.remarks("visits")
    assert re.search(remark, told)
    assert "north" not in told
    db.update_table("visits", visits("north"))
    assert db.remarks("visits") == []


def test_one_person_stops_no_import_and_changes_nobody_else_s_rows(db: dl.Database) -> None:
    """What stays of a unit is a function of its own rows: with and without the others it is the same."""
    random, versions = Random("moves"), []
    for _ in range(4):
        ids = [random.randrange(6) for _ in range(14)]
        versions.append([(each, random.choice([*REGIONS, None])) for each in ids])
    together = [_imported(db, rows) for rows in versions]
    for person in range(6):
        with clinic() as alone:
            alone.partition("visits.region", ["north", "south"])
            for rows, found in zip(versions, together, strict=True):
                own = _imported(alone, [row for row in rows if row[0] == person])
                assert own == [row for row in found if row[0] == person]


def test_an_import_that_lets_the_others_choose_a_block_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the test above: the first block of anybody in place of the unit's own."""
    right = blocks._blocks
    monkeypatch.setattr(
        blocks, "_blocks", lambda *given: right(*given).replace("l.block", "min(l.block) OVER () AS block")
    )
    with clinic() as db:
        db.partition("visits.region", ["north", "south"])
        with pytest.raises(AssertionError):
            test_one_person_stops_no_import_and_changes_nobody_else_s_rows(db)


def _imported(db: dl.Database, rows: list[tuple[int, str | None]]) -> list[tuple[int, str | None]]:
    db.update_table("visits", visits(*(region for _, region in rows), ids=pa.array([n for n, _ in rows], pa.int64())))
    return stored(db)


def test_a_unit_that_went_away_comes_back_to_its_block_alone(db: dl.Database) -> None:
    db.update_table("visits", visits("south", ids=[1]))
    db.update_table("visits", visits(None, "west", ids=[0, 1]))
    db.update_table("visits", visits("south", ids=[0]))
    assert stored(db) == []
    db.update_table("visits", visits("north", "south", "north", ids=[0, 1, 7]))
    assert len(stored(db)) == 3
    db.update_table("visits", visits("south", ids=[7]))
    assert stored(db) == []


def test_an_import_that_forgets_earlier_versions_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the test above."""
    right = blocks._write_down

    def forgetting(connection: Any, table: Any, column: str, population: str) -> None:
        connection.execute(f"DELETE FROM {blocks._units(population)}")
        right(connection, table, column, population)

    with clinic() as db:
        db.partition("region", ["north", "south"])
        monkeypatch.setattr(blocks, "_write_down", forgetting)
        with pytest.raises(AssertionError):
            test_a_unit_that_went_away_comes_back_to_its_block_alone(db)


def test_a_unit_in_no_block_may_enter_one_and_leave_it(db: dl.Database) -> None:
    """It bears what was charged to all, and to the one block that it ever was in."""
    db.update_table("visits", visits("north", "south", "north", "south"))
    db.update_table("visits", visits(None, "west", "west", None))
    db.update_table("visits", visits("north", None, "north", "north", ids=[0, 0, 2, 9]))


def test_a_refused_import_leaves_nothing_behind(db: dl.Database) -> None:
    with pytest.raises(DataMismatch):
        db.update_table("visits", visits("north", "south", ids=[8, None]))
    db.update_table("visits", visits("south", ids=[8]))  # so 8 was not written down as one of the north
    assert len(stored(db)) == 1


def test_a_partition_of_rows_that_contradict_it_is_refused() -> None:
    with clinic(visits("north", "south", ids=[3, 3])) as db:
        with pytest.raises(DataMismatch, match=r"1 of them, with 1 rows in a second block"):
            db.partition("region", ["north", "south"])
        assert len(stored(db)) == 2
        db.sql(NORTH).run(share="1%")
        assert db.history()[0].charges[0].block == ""
        assert len(db.log) == 1


def test_ids_of_every_form_are_told_apart_for_ever() -> None:
    with clinic(visits("north", "south", ids=["é", "1"])) as db:
        db.partition("region", ["north", "south"])
        db.update_table("visits", visits("north", ids=[1]))
        assert stored(db) == []
        db.update_table("visits", visits("south", ids=["e\u0301"]))
        assert stored(db) == []


def test_other_tables_of_the_population_come_and_go_as_they_like(db: dl.Database) -> None:
    db.add_table(
        "bills", pa.table({"patient_id": [0, 1], "region": ["south", "north"]}), population="patients",
        unit="patient_id", max_rows=1, max_groups=1, columns={"region": Category(*REGIONS)},
    )  # fmt: skip
    joined = "SELECT COUNT(*) AS n FROM bills b JOIN visits v ON b.patient_id = v.patient_id WHERE v.region = 'north'"
    assert db.sql(joined).cost(share="1%").blocks
    assert not db.sql("SELECT COUNT(*) AS n FROM bills WHERE region = 'north'").cost(share="1%").blocks


def test_a_table_whose_unit_lies_at_the_end_of_a_path_can_be_cut() -> None:
    people = ContributionBounds(rows=1, groups=1)
    with dl.create() as db:
        db.add_population("patients", budget=dl.Budget(epsilon=3))
        orders = pa.table({"patient_id": [1, 2], "number": [10, 20]})
        lines = {"number": [10, 20], "kind": ["a", "b"]}
        db.add_table(
            "orders",
            orders,
            population="patients",
            unit="patient_id",
            max_rows=people.rows,
            max_groups=people.groups,
            columns={},
            keys="number",
        )
        db.add_table(
            "lines",
            pa.table(lines),
            population="patients",
            unit="number -> orders.patient_id",
            max_rows=people.rows,
            max_groups=people.groups,
            columns={"kind": Category("a", "b")},
        )
        db.partition("kind", ["a", "b"])
        assert db.sql("SELECT COUNT(*) AS n FROM lines WHERE kind = 'a'").cost(share="1%").blocks
        db.update_table("lines", pa.table({"number": [10], "kind": ["b"]}))
        assert "1 of their rows" in db.remarks("lines")[0]


# ---- declaring


@pytest.mark.parametrize(
    ("column", "values", "why"),
    [
        ("visits.area", ["north"], "a column of one private table"),
        ("nowhere.region", ["north"], "a column of one private table"),
        (7, ["north"], "a column of one private table"),
        ("region", [], "each listed once"),
        ("region", ["north", "north"], "each listed once"),
        ("region", ["north", "east"], "values that region can take"),
        ("region", [None], "values that region can take"),
        ("region", [1], "values that region can take"),
    ],
)
def test_a_partition_names_one_column_and_values_that_it_can_take(column: Any, values: list[Any], why: str) -> None:
    with clinic() as db, pytest.raises(InvalidParameter, match=why):
        db.partition(column, values)


@cases(
    ("domain", "raw", "value", "other", "unfit", "where"),
    [
        (Int(0, 9), [3, 4], 3, 4, 3.5, "x = 3"),
        (Int(0, 9), [3, 40], 9, 3, 40, "x = 9"),
        (Real(0, 9, step="0.5"), [2.0, 1.0], 2, 1, "2.25", "x = 2"),
        (Bool(), [True, False], True, False, 1, "x"),
        (Date("2024-01-01", "2024-12-31"), None, "2024-02-01", "2024-03-01", "2025-01-01", "x = '2024-02-01'"),
        (Text(), ["a", "b"], "a", "b", 1, "x = 'a'"),
    ],
    fast=2,
)
def test_columns_of_every_type_can_cut_a_population(
    domain: Any, raw: Any, value: Any, other: Any, unfit: Any, where: str
) -> None:
    found = pa.array(raw) if raw else pa.array(["2024-02-01", "2024-03-01"]).cast(pa.date32())
    with dl.create() as db:
        db.add_population("patients", budget=dl.Budget(epsilon=3))
        declared(db, pa.table({"patient_id": [1, 2], "x": found}), columns={"x": domain})
        with pytest.raises(InvalidParameter, match="values that x can take"):
            db.partition("x", [value, unfit])
        db.partition("x", [value, other])
        assert db.sql(f"{ALL} WHERE {where}").cost(share="1%").blocks
        db.update_table("visits", pa.table({"patient_id": [2, 1], "x": found}))  # each takes the other's value
        assert "2 of their rows" in db.remarks("visits")[0]


def test_replaced_units_are_refused_because_they_may_move() -> None:
    with clinic(neighbours="replace") as db, pytest.raises(InvalidParameter, match="one may leave a block"):
        db.partition("region", ["north", "south"])


def test_rows_as_units_are_refused_because_they_have_no_name() -> None:
    with dl.create() as db:
        db.add_population("patients", budget=dl.Budget(epsilon=3))
        declared(db, visits("north"), unit=EachRow(), max_rows=None)
        with pytest.raises(InvalidParameter, match="in which block a row of a new version was"):
            db.partition("region", ["north"])


def test_a_partition_is_made_once_and_saying_it_again_changes_nothing(db: dl.Database) -> None:
    db.update_table("visits", visits("south", ids=[1]))
    db.partition("region", ["north", "south"])
    db.update_table("visits", visits("south", ids=[0]))
    assert stored(db) == []  # the first versions are still known
    with pytest.raises(InvalidParameter, match="never changes"):
        db.partition("region", ["north", "west"])
    assert len(db._curator.ledger.records("partition")) == 1


def test_a_partition_is_written_down_before_anything_is_charged_to_a_block(db: dl.Database) -> None:
    db.sql(NORTH).run(share="1%")
    kinds = [entry.facts.get("record", entry.kind) for entry in db.as_auditor().entries()]
    assert kinds.index("partition") < kinds.index("charge")


# ---- the folder


def test_blocks_go_on_when_a_folder_is_opened_again(tmp_path: Path) -> None:
    with clinic(path=tmp_path / "clinic") as db:
        db.partition("region", ["north", "south"])
        db.sql(NORTH).run(share="60%")
    with dl.open(tmp_path / "clinic") as db:
        db.sql(SOUTH).run(share="60%")
        assert share(db) < Fraction(61, 100)
        db.update_table("visits", visits("south", ids=[0]))
        assert stored(db) == []


def test_a_lost_or_older_file_of_tables_ends_the_blocks_and_not_the_budget(tmp_path: Path) -> None:
    """Nobody knows then who was in which block, so every charge counts for all."""
    tables = tmp_path / "clinic" / "tables.duckdb"
    with clinic(path=tmp_path / "clinic") as db:
        db.partition("region", ["north", "south"])
    shutil.copy(tables, tmp_path / "copy")
    with dl.open(tmp_path / "clinic") as db:
        db.update_table("visits", visits("north", ids=[5]))
        db.sql(NORTH).run(share="60%")
    for old in (tmp_path / "copy", None):
        tables.unlink()
        if old:
            shutil.copy(old, tables)
        with dl.open(tmp_path / "clinic") as db:
            db.update_table("visits", visits("south", ids=[5]))
            with pytest.raises(BudgetExceeded):
                db.sql(SOUTH).run(share="60%")
            with pytest.raises(LedgerRefused, match="in which blocks"):
                db.partition("region", ["north", "south"])


def test_a_file_of_tables_that_counts_on_after_a_gap_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin of the test above."""
    right = blocks.divided

    def ahead(connection: Any) -> dict[str, Divided]:
        return {name: Divided(each.table, each.column, 10**6) for name, each in right(connection).items()}

    monkeypatch.setattr(blocks, "divided", ahead)
    with pytest.raises(pytest.fail.Exception):
        test_a_lost_or_older_file_of_tables_ends_the_blocks_and_not_the_budget(tmp_path)


def test_a_column_that_is_declared_anew_keeps_its_blocks_only_if_it_reads_the_values_alike(tmp_path: Path) -> None:
    """With another step the code of 2 would stand for 1, and a block would get a second budget under another name."""
    catalog = tmp_path / "clinic" / "catalog.toml"
    with dl.create(tmp_path / "clinic") as db:
        db.add_population("patients", budget=dl.Budget(epsilon=3))
        declared(db, pa.table({"patient_id": [1, 2], "x": [2.0, 4.0]}), columns={"x": Real(0, 8, step="2")})
        db.partition("x", [2, 4])
        assert db.sql(f"{ALL} WHERE x = 2").cost(share="1%").blocks
    before, _, after = catalog.read_text().partition("[populations.patients.partition]")
    catalog.write_text((before + after[after.index("[tables") :]).replace("step = 2", "step = 1"))
    with dl.open(tmp_path / "clinic") as db:
        db.update_table("visits", pa.table({"patient_id": [7, 8], "x": [2.0, 4.0]}))
        assert db.sql(f"{ALL} WHERE x = 2").cost(share="1%").blocks == {}
        assert db.sql(f"{ALL} WHERE x = 1").cost(share="1%").blocks == {}
