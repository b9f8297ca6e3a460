"""Any function on a private table: charged before a row is read, one block for each unit, and nothing seen of a block
that fails."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from clinics import CITIES, clinic, visits
from costs import cases
from dalenius.checks.replay.queries import neighbours_of
from dalenius.checks.replay.replaying import Replayed, replay
from dalenius.engines.conformance.comparing import results
from dalenius.engines.engine import Engine, Statements
from dalenius.engines.reference.engine import ReferenceEngine, as_cells
from dalenius.errors import DaleniusError, InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.robust import OneOf, Range, Subset
from dalenius.mechanisms.robust.aggregates import VoteOfBlocks
from dalenius.mechanisms.robust.subsample import AggregatedBlocks, BlockRows
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.sandbox import Program, confinement
from dalenius.sandbox import sandbox as sandbox_module
from dalenius.sandbox.sandbox import Sandbox
from dalenius.session.databases import Database
from dalenius.session.executor import allowance, measured
from dalenius.session.offers import Offer
from dalenius.synth.blockwise import Blockwise, Subsample
from opened_engines import ENGINES, engine

pytestmark = pytest.mark.skipif(not confinement.supported(), reason="confining a process needs Linux")
AGES = Range(0, 120, step="0.5")
QUICK: dict[str, Any] = {"columns": ["age"], "output": AGES, "seconds": 12, "megabytes": 64, "blocks": 4}


@pytest.fixture(autouse=True)
def _no_padding(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Slots are long, for a busy machine; one test waits for their ends."""
    if "padded" not in request.fixturenames:
        monkeypatch.setattr(sandbox_module, "_wait", lambda until: None)


def mean_age(rows: list[Any]) -> float:
    return float(sum(row[0] for row in rows) / len(rows))


def sold(
    db: Database, function: Any, *, rows: Any = None, epsilon: int, fresh: bool = False, key: str | None = None,
    **terms: Any,
) -> Any:  # fmt: skip
    return Subsample(function, **terms).run(rows or db.table("visits"), epsilon=epsilon, key=key, fresh=fresh)


def planned(db: Database, **changes: Any) -> Blockwise:
    made = Subsample(**{"function": mean_age, **QUICK, **changes})
    return made.planned(db.table("visits"), Offer("0.5", None))[1]


@pytest.mark.textbook("S11.2", "S18.2")
def test_a_function_runs_on_a_private_table_and_is_charged() -> None:
    with clinic(dl.Budget(epsilon=500, delta="1e-9"), data=visits(patients=1500, each=2)) as db:
        answer = sold(db, mean_age, **QUICK, epsilon=400)
        assert abs(answer["value"][0] - 49.5) < 6
        assert db.spent()["patients"].share > 0
        assert answer.receipt
        older = db.table("visits").where(dl.col("age") >= 50)
        assert abs(sold(db, mean_age, **QUICK, rows=older, epsilon=90)["value"][0] - 74.5) < 6


@pytest.mark.textbook("S11.3")
def test_blocks_vote_for_options_exactly_or_with_noise() -> None:
    terms = {**QUICK, "columns": ["city", "icd"], "blocks": 6}
    data = visits(patients=900, each=1).set_column(2, "city", pa.array(["Bergen"] * 900))

    def first(rows: list[Any]) -> Any:
        return rows[0][0]

    with clinic(dl.Budget(epsilon=900, delta="1e-3"), data=data) as db:
        noisy = sold(db, first, **{**terms, "output": OneOf(CITIES)}, epsilon=300)
        exact = sold(db, first, **{**terms, "output": OneOf(CITIES), "exact": True}, epsilon=300)
        some = Subset(CITIES, most_chosen=1)
        chosen = sold(db, lambda rows: {rows[0][0]}, **{**terms, "output": some}, epsilon=200)
        assert [noisy["choice"], exact["choice"], chosen["chosen"]] == [("Bergen",)] * 3


def test_an_equal_program_is_replayed_for_nothing_and_another_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "theirs.py"
    path.write_text("def middle(rows):\n    return sorted(row[0] for row in rows)[len(rows) // 2]\n")
    terms = {**QUICK, "blocks": 2}
    with clinic() as db:
        first = sold(db, Program(str(path), "middle"), **terms, epsilon=1)
        spent = db.spent()["patients"].share
        again = sold(db, Program(str(path), "middle"), **terms, epsilon=1)
        assert (again["value"], again.receipt) == (first["value"], first.receipt)
        assert db.spent()["patients"].share == spent
        path.write_text("def middle(rows):\n    return 3\n")
        assert sold(db, Program(str(path), "middle"), **terms, epsilon=1).receipt != first.receipt


def test_an_equal_function_is_replayed_for_nothing_unless_a_fresh_draw_is_asked_for() -> None:
    with clinic() as db:
        first = sold(db, mean_age, **QUICK, epsilon=1)
        spent = db.spent()["patients"].share
        assert sold(db, mean_age, **QUICK, epsilon=1)["value"] == first["value"]
        assert db.spent()["patients"].share == spent
        sold(db, mean_age, **QUICK, epsilon=1, fresh=True)
        assert db.spent()["patients"].share > spent


def test_a_key_that_paid_for_one_function_gives_nothing_for_another() -> None:
    def above(least: int) -> Callable[[list[Any]], float]:
        return lambda rows: float(sum(row[0] > least for row in rows))

    with clinic() as db:
        sold(db, above(10), **QUICK, epsilon=1, key="mine")
        for other in (above(11), lambda rows: 1.0):
            with pytest.raises(DaleniusError, match="key"):
                sold(db, other, **QUICK, epsilon=1, key="mine")


@pytest.mark.textbook("S11.2")
@cases("rows", [1, 10_000], fast=1)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_neighbours_are_treated_alike_however_many_rows_a_patient_has(rows: int, relation: str) -> None:
    one, other = (_with(rows, 40), _with(rows, 41)) if relation == "replace" else (visits(40, 2), _with(rows, 40))
    with clinic(data=one, neighbours=relation) as before, clinic(data=other, neighbours=relation) as after:
        made = planned(before, blocks=3)
        found = _replayed(made, before, after)
        assert found.error is None
        assert found.passed, found.findings


def test_replay_notices_rows_of_one_patient_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin: rows are dealt out one by one, wherever their unit is."""
    dealt = Blockwise.rows

    def one_by_one(self: Blockwise, cells: Any) -> BlockRows:
        rows = [row for block in dealt(self, cells).blocks for row in block]
        return BlockRows(tuple(tuple(rows[place :: self.mechanism.blocks]) for place in range(self.mechanism.blocks)))

    with clinic(data=visits(40, 2)) as before, clinic(data=_with(10, 40)) as after:
        made = planned(before, blocks=3)
        monkeypatch.setattr(Blockwise, "rows", one_by_one)
        assert "sensitivity" in {each.kind for each in _replayed(made, before, after).findings}


def _replayed(made: Blockwise, before: Database, after: Database) -> Replayed:
    def run(engine: Engine) -> Any:
        with allowance(made, neighbours_of(made.question)) as paid:  # type: ignore[arg-type]
            return made.encode(measured(made, Statements(engine), paid))["value"]

    engines = [db._principal.curator.engine for db in (before, after)]
    return replay(run, *engines, charged=list(made.charge.values()), both_ways=False)


def _with(rows: int, patient: int) -> pa.Table:
    more = visits(patients=rows, each=1)
    more = more.set_column(0, "patient_id", pa.array([patient] * rows, pa.int64()))
    return pa.concat_tables([visits(patients=40, each=2), more])


@cases("name", [*ENGINES[:2], pytest.param("spark", marks=pytest.mark.deep)], fast=1)
def test_engines_and_the_reference_divide_units_alike(name: str) -> None:
    with clinic(data=visits(60, 3)) as db:
        made = planned(db, columns=["age", "city", "icd"], blocks=5)
        (step,) = made.passes
        (table,) = made.question.relation.tables
        engine(name).register(table, visits(60, 3))
        reference = ReferenceEngine([table], {table.name: visits(60, 3).to_pylist()})
        found = made.rows(results(engine(name), step))
        engine(name).hold(())
        assert found == made.rows(as_cells(step, reference.result(step)))
        sizes = [len(block) for block in found.blocks]
        assert sum(sizes) == 180
        assert min(sizes) > 0


def test_what_cannot_be_done_is_refused_and_nothing_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    with clinic(dl.Budget(epsilon=3)) as db:
        for wrong in (
            {"columns": "age"},
            {"columns": ["age", "age"]},
            {"output": 7},
            {"exact": True},
            {"output": OneOf(CITIES), "exact": True},
            {"blocks": 1},
            {"seconds": 3600},
            {"columns": ["patient_id"]},
            {"output": OneOf([(1, 2)])},
            {"output": Subset(range(5000))},
            {"function": sandbox_module.one_thread},
        ):
            with pytest.raises(dl.errors.DaleniusError):
                sold(db, **{"function": mean_age, **QUICK, **wrong}, epsilon=1)
        with pytest.raises(InvalidParameter, match="function"):
            sold(db, "mean", **QUICK, epsilon=1)

        def unfit(self: Sandbox, function: Any) -> None:
            raise TheoremDoesNotApply("running", needs="a sandbox", given="none; nothing was charged", instead="one")

        monkeypatch.setattr(Sandbox, "require", unfit)
        with pytest.raises(TheoremDoesNotApply, match="nothing was charged"):
            sold(db, mean_age, **QUICK, epsilon=1)
        assert db.spent()["patients"].share == 0
        assert not db.replays()


def test_a_replaced_unit_is_paid_for_in_two_blocks() -> None:
    made = {
        "function": mean_age,
        "blocks": 4,
        "aggregate": VoteOfBlocks(output=OneOf(("a", "b")), epsilon=Fraction(1)),
        "sandbox": Sandbox(seconds=Fraction(1)),
    }
    assert AggregatedBlocks(**made, neighbours=AddRemove()).loss(sensitivity=1) == PureDP(1)
    assert AggregatedBlocks(**made, neighbours=Replace()).loss(sensitivity=2) == PureDP(2)
    with pytest.raises(TheoremDoesNotApply):
        AggregatedBlocks(**made, neighbours=AddRemove()).loss(sensitivity=2)
