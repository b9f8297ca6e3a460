"""A key that many units state belongs to one of them, the same in every engine; nobody moves an answer further than
declared by the keys that others state, or by stating the keys of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs import cases
from dalenius.engines.conformance.comparing import totals_of
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.hashing import group_hash, identity, key_owners
from dalenius.engines.reference.canonical import owners
from dalenius.engines.reference.engine import ReferenceEngine
from dalenius.errors import DataMismatch
from dalenius.measuring.measurements import MeasurementPlan, lower
from dalenius.privacy.exact import unseal
from dalenius.query.binding.binder import bind
from dalenius.query.sql.reader import read
from dalenius.query.tables import ContributionBounds, ForeignKey, Table, UnitColumn
from dalenius.query.types import Int, Text
from duckdb_tables import private
from opened_engines import ENGINES, engine

MOST = 3
"""How many keys of one person count."""
CROWD = 300
ASKED = "SELECT COUNT(*) AS n, SUM(price) AS s, COUNT(DISTINCT item) AS d FROM items"
VICTIM, HUB = 70_001, 70_002
Rows = dict[str, dict[str, list[Any]]]


def tables(*, texts: bool = False, deep: bool = False) -> dict[str, Table]:
    """Orders of people, items behind the keys of orders, and notes behind the keys of items."""
    orders = private("orders", {}, unit=UnitColumn("person"), keys=("order_id",), claims=(("order_id", MOST),))
    columns = {"price": Int(0, 100), "item": Text()}
    claimed = {"claims": (("item_id", 2),)} if deep else {}
    path = ForeignKey("order_id", "orders", "order_id")
    items = private("items", columns, unit=path, above=[orders], keys=("item_id",), **claimed)
    notes = private("notes", columns, unit=ForeignKey("item_id", "items", "item_id"), above=[items])
    return {table.name: table for table in (orders, items, notes)}


def crowd(write: type = int) -> Rows:
    """300 people with an order and an item each, and 300 accounts that state one of the victim's keys."""
    people, keys = list(range(CROWD)), [1000 + place for place in range(CROWD)]
    accounts = [5000 + place for place in range(CROWD)]
    stated = [9000 + place % MOST for place in range(CROWD)]
    return {
        "orders": {"person": [*map(write, people + accounts)], "order_id": [*map(write, keys + stated)]},
        "items": {
            "order_id": [*map(write, keys)], "item_id": [*map(write, keys)], "price": [100] * CROWD,
            "item": [f"item {place}" for place in range(CROWD)],
        },
        "notes": {
            "item_id": [*map(write, keys)], "price": [100] * CROWD, "item": [f"note {place}" for place in range(CROWD)]
        },
    }  # fmt: skip


def with_victim(rows: Rows, write: type = int) -> Rows:
    """One whose keys the accounts state as theirs, with the items that are behind them, and the notes on these."""
    keys = [write(9000 + place) for place in range(MOST)]
    return _more(rows, {
        "orders": {"person": [write(VICTIM)] * MOST, "order_id": keys},
        "items": {"order_id": keys * 2, "item_id": [write(7000 + place) for place in range(2 * MOST)],
                  "price": [100] * 2 * MOST, "item": [f"secret {place}" for place in range(2 * MOST)]},
        "notes": {"item_id": [write(7000 + place) for place in range(2 * MOST)], "price": [100] * 2 * MOST,
                  "item": [f"secret {place}" for place in range(2 * MOST)]},
    })  # fmt: skip


def with_hub(rows: Rows, write: type = int) -> Rows:
    """One who states the keys of 300 others as its own; their items stay."""
    keys = [write(1000 + place) for place in range(CROWD)]
    return _more(rows, {"orders": {"person": [write(HUB)] * CROWD, "order_id": keys}})


def _more(rows: Rows, more: Rows) -> Rows:
    return {
        name: {column: values + more.get(name, {}).get(column, []) for column, values in each.items()}
        for name, each in rows.items()
    }


@contextmanager
def holding(name: str, declared: dict[str, Table], rows: Rows) -> Iterator[Any]:
    """An engine with these tables; notes only where they are asked about."""
    made = DuckDBEngine() if name == "duckdb" else engine(name)
    try:
        for table in declared.values():
            made.register(table, pa.table(rows[table.name]))
        yield made
    finally:
        made.close() if name == "duckdb" else made.hold(())


def program(declared: dict[str, Table], text: str = ASKED) -> MeasurementPlan:
    return lower(bind(read(text), declared, most=ContributionBounds(rows=1, groups=1)))


def totals(made: Any, asked: MeasurementPlan) -> list[list[int]]:
    """The exact totals of each pass, in one group."""
    found = [totals_of(unseal(made.run(step))) for step in asked.passes]
    return [list(each.get((), (0,) * 9)) for each in found]


@cases("name", ENGINES, fast=1)
@pytest.mark.parametrize("attack", [with_victim, with_hub])
def test_count_sum_and_count_distinct_move_by_no_more_than_declared(name: str, attack: Any) -> None:
    declared = {key: table for key, table in tables().items() if key != "notes"}
    asked, rows = program(declared), crowd()
    with holding(name, declared, rows) as made:
        before = totals(made, asked)
    with holding(name, declared, attack(rows)) as made:
        after = totals(made, asked)
    for part in asked.measurements:
        moved = abs(after[part.source][part.total] - before[part.source][part.total])
        assert part.sensitivity.l1 is not None
        one = part.sensitivity.l1 / (1 + 2 * MOST)
        assert one < moved <= part.sensitivity.l1, part.title  # by several units, all of which are declared


@cases("name", ENGINES, fast=1)
@pytest.mark.parametrize("write", [int, str])
@pytest.mark.parametrize("deep", [False, True])
def test_every_engine_finds_the_same_owners_as_the_definition(name: str, write: type, deep: bool) -> None:
    declared = tables(texts=write is str, deep=deep)
    rows = with_hub(with_victim(crowd(write), write), write)
    rows["items"]["order_id"][:9] = [None] * 3 + rows["items"]["order_id"][:6]
    rows["orders"]["order_id"][5] = None
    raw = {key: pa.table(each).to_pylist() for key, each in rows.items()}
    asked = [program(declared, text) for text in (ASKED, ASKED.replace("items", "notes"), BY_UNIT)]
    with holding(name, declared, rows) as made:
        found = [[totals_of(unseal(made.run(step))) for step in each.passes] for each in asked]
    reference = ReferenceEngine(declared.values(), raw)
    meant = [
        [{key: tuple(row) for key, row in reference.result(step).items()} for step in each.passes] for each in asked
    ]
    assert found == meant
    assert any(each for each in found)


BY_UNIT = "SELECT n, COUNT(*) AS units FROM (SELECT person, COUNT(*) AS n FROM items GROUP BY person) t GROUP BY n"


def test_a_path_over_two_bounded_keys_multiplies_and_two_paths_add_up() -> None:
    declared = tables(deep=True)
    assert program(declared).question.relation.steps == 1 + 2 * MOST
    assert program(declared, ASKED.replace("items", "notes")).question.relation.steps == (1 + 2 * MOST) * (1 + 2 * 2)
    both = "SELECT COUNT(*) AS n FROM items WHERE person IN (SELECT person FROM notes)"
    assert program(declared, both).question.relation.steps == 7 + 35 - 1
    same = "SELECT COUNT(*) AS n FROM items WHERE person IN (SELECT person FROM items WHERE price > 3)"
    assert program(declared, same).question.relation.steps == 7


def test_a_claim_is_kept_by_the_hash_of_its_own_unit_and_won_by_the_smallest() -> None:
    stated = [(unit, key) for unit in range(20) for key in range(30)]
    found = key_owners(stated, 4)
    kept = {unit: sorted(range(30), key=lambda key: (group_hash(unit, (key,)), key))[:4] for unit in range(20)}
    for key, unit in found.items():
        rivals = [each for each, keys in kept.items() if key in keys]
        assert unit == min(rivals, key=lambda each: (group_hash(each, (key,)), identity(each)))
    assert set(found) == {key for keys in kept.values() for key in keys}


@pytest.mark.parametrize("most", [1, 2, 5])
def test_one_unit_changes_the_owners_of_no_more_keys_than_it_keeps(most: int) -> None:
    stated = [(unit, (unit * 7 + place * 5) % 40) for unit in range(30) for place in range(1 + unit % 9)]
    before = key_owners(stated, most)
    for hub in (["hub"], list(range(30))):
        for unit in hub:
            claims = [(unit, key) for key in range(40)] if unit == "hub" else []
            after = key_owners([*(pair for pair in stated if pair[0] != unit), *claims], most)
            changed = [key for key in {*before, *after} if before.get(key) != after.get(key)]
            assert len(changed) <= most


# ---- unique keys


def test_an_import_refuses_units_that_state_the_same_unique_key_and_says_how_many() -> None:
    orders = private("orders", {}, unit=UnitColumn("person"), keys=("order_id",))
    made = DuckDBEngine()
    rows = {"person": [1, 1, 2, 3, 4, 5], "order_id": [7, 7, 7, 8, 8, None]}
    with pytest.raises(DataMismatch) as refused:
        made.register(orders, pa.table(rows))
    assert refused.value.problem == (
        "some values of the key 'order_id', which is declared unique, are stated by more than one unit (2 of them, by "
        "4 units)"
    )
    assert str(refused.value).endswith(
        "Clean the source, so that each belongs to one unit; or say how many different ones of a unit count, as in "
        "keys={'order_id': 5}: each then belongs to one of the units that state it, and answers along the path get "
        "noise for the others too."
    )
    made.register(orders, pa.table({"person": [1, 1, 2, 3], "order_id": [7, 7, 8, None]}))
    made.close()


def test_behind_bounded_claims_a_unique_key_stands_beside_one_key_of_the_path() -> None:
    """Else it would depend on who states which key whether it belongs to one unit."""
    declared, rows = tables(), crowd()
    rows["items"]["item_id"][0] = rows["items"]["item_id"][1]
    made = DuckDBEngine()
    made.register(declared["orders"], pa.table(rows["orders"]))
    with pytest.raises(DataMismatch, match="stand beside more than one 'order_id' \\(1 of them\\)"):
        made.register(declared["items"], pa.table(rows["items"]))
    made.close()


def test_the_owner_is_told_how_many_keys_are_shared_and_cut() -> None:
    with holding("duckdb", tables(), with_hub(with_victim(crowd()))) as made:
        assert made.remarks("orders") == [
            f"more than one unit states {CROWD + MOST} values of the key 'order_id'; each belongs to one of them",
            f"units state {CROWD - MOST} values of the key 'order_id' beyond the {MOST} of each that count",
        ]
        assert made.remarks("items") == []


def test_a_table_whose_plans_count_other_claims_than_its_path_has_is_refused() -> None:
    declared, rows = tables(), crowd()
    made = DuckDBEngine()
    made.register(declared["orders"], pa.table(rows["orders"]))
    unaware = private("items", {"price": Int(0, 100)}, unit=ForeignKey("order_id", "orders", "order_id"))
    with pytest.raises(DataMismatch, match="keys on the path of its unit have been declared differently"):
        made.register(unaware, pa.table(rows["items"]))
    made.close()


# ---- the bound, over one and two hops

FEW, LATER = 2, 2
ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=25)


@given(orders=ROWS, items=ROWS, notes=st.lists(st.integers(0, 6), max_size=20), gone=st.integers(0, 6), data=st.data())
def test_a_unit_that_goes_changes_what_few_others_own(
    orders: list[tuple[int, int]], items: list[tuple[int, int]], notes: list[int], gone: int, data: st.DataObject
) -> None:
    """With it go any rows behind the keys that it keeps: at most K others own other items, and at most K + L + 2KL
    other notes, where L keys of items count of a unit."""
    declared = tables(deep=True)
    declared["orders"] = replace(declared["orders"], claims=(("order_id", FEW),))
    kept = sorted({key for unit, key in orders if unit == gone}, key=lambda key: (group_hash(gone, (key,)), key))[:FEW]
    behind = [place for place, (key, _) in enumerate(items) if key in kept]
    going = data.draw(st.sets(st.sampled_from(behind))) if behind else set()
    left = [pair for pair in orders if pair[0] != gone], [row for place, row in enumerate(items) if place not in going]
    before, after = (_owned(declared, *given, notes) for given in ((orders, items), left))
    for table, most in (("items", FEW), ("notes", FEW + LATER + 2 * FEW * LATER)):
        changed = {unit for unit in range(7) if before[table].get(unit) != after[table].get(unit)}
        assert len(changed - {gone}) <= most


def _owned(
    declared: dict[str, Table], orders: list[tuple[int, int]], items: list[tuple[int, int]], notes: list[int]
) -> dict[str, dict[Any, list[Any]]]:
    """The rows of each unit in both tables behind keys, by what they hold."""
    raw = {
        "orders": [{"person": unit, "order_id": key} for unit, key in orders],
        "items": [{"order_id": key, "item_id": own} for key, own in items],
        "notes": [{"item_id": key, "number": place} for place, key in enumerate(notes)],
    }
    found: dict[str, dict[Any, list[Any]]] = {"items": {}, "notes": {}}
    for name, mine in found.items():
        for row, unit in zip(raw[name], owners(declared[name], raw, declared), strict=True):
            mine.setdefault(unit, []).append(sorted(row.items()))
    return {name: {unit: sorted(rows) for unit, rows in each.items()} for name, each in found.items()}
