"""Where several people may state the keys that rows find their people by, every statistic and all that a database sells
either counts in the others whom one person changes, or is refused before anything is charged."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pyarrow as pa
import pytest

import dalenius as dl
from asked_price import priced
from costs import cases
from dalenius.checks.replay.loading import duckdb_with
from dalenius.checks.replay.neighbours import shared_key_steps
from dalenius.checks.replay.queries import replayed, some_price
from dalenius.checks.replay.statistics import along_shared_keys
from dalenius.errors import QueryRefused
from dalenius.learn import MeanEstimator, QuantileEstimator, Ridge
from dalenius.measuring import measurements
from dalenius.measuring.measurements import Counts, Measurement, Numbers, SplitSums, lower
from dalenius.measuring.pricing import Priced
from dalenius.mechanisms.robust import Range
from dalenius.query.questions import Statistic
from dalenius.session import executor as door
from dalenius.session.databases import Database
from dalenius.session.executor import Purchase, QueryPurchase, require_covered
from dalenius.session.offers import Offer
from dalenius.synth import Online, Subsample
from dalenius.synth.tables.families import FamilySynthesizer, FamilyWork
from dalenius.synth.tables.synthesizer import Synthesizer

SOURCE = Path(dl.__file__).parent
STEPS = 5
STATISTICS = {
    "count": "COUNT(*)", "present": "COUNT(price)", "units": "COUNT(DISTINCT person)",
    "distinct": "COUNT(DISTINCT name)", "sum": "SUM(price)", "mean": "AVG(price)", "variance": "VARIANCE(price)",
    "stddev": "STDDEV(price)", "covariance": "COVAR_SAMP(price, size)", "correlation": "CORR(price, size)",
    "histogram": "HISTOGRAM(kind)",
}  # fmt: skip
REFUSED = {
    "quantile": "QUANTILE(price, 0.5)", "mode": "MODE(kind)", "robust_quantile": "ROBUST_QUANTILE(price, 0.5)",
    "trimmed_mean": "ROBUST_TRIMMED_MEAN(price, 0.1)", "robust_scale": "ROBUST_SCALE(price)",
    "stable_mode": "STABLE_MODE(kind)", "stable_quantile": "STABLE_QUANTILE(price, 0.5)",
    "proposed_quantile": "PROPOSED_QUANTILE(price, 0.5, 2)",
}  # fmt: skip


def shop(keys: Any) -> Database:
    numbers = list(range(60))
    db = dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=1000, delta="1e-6"), least_share="1e-15")
    common: dict[str, Any] = {"population": "people", "max_rows": 2, "max_groups": 2}
    orders = pa.table({"person": numbers, "order_id": numbers, "age": numbers})
    db.add_table("orders", orders, unit="person", columns={"age": dl.Int(0, 99)}, keys=keys, **common)
    items = pa.table({"order_id": numbers, "price": [n % 10 for n in numbers], "size": [n % 7 for n in numbers],
                      "kind": ["ab"[n % 2] for n in numbers], "name": [f"n{n}" for n in numbers]})  # fmt: skip
    columns = {"price": dl.Int(0, 9), "size": dl.Int(0, 9), "kind": dl.Category("a", "b"), "name": dl.Text()}
    db.add_table("items", items, unit="order_id -> orders.person", columns=columns, **common)
    return db


@pytest.fixture(scope="module")
def shared() -> Database:
    return shop({"order_id": 2})


@pytest.fixture(scope="module")
def unique() -> Database:
    return shop(["order_id"])


# ---- statistics


def test_every_kind_of_statistic_is_here() -> None:
    assert {*STATISTICS, *REFUSED} == set(get_args(get_type_hints(Statistic)["kind"]))
    assert not {*STATISTICS} & {*REFUSED}


@cases("groups", ["", " GROUP BY kind"], fast=1)
@pytest.mark.parametrize("kind", STATISTICS)
def test_what_is_a_sum_over_people_is_so_many_times_as_sensitive(
    shared: Database, unique: Database, kind: str, groups: str
) -> None:
    text = f"SELECT {STATISTICS[kind]} AS s FROM items{groups}"
    ours, plain = (lower(db.sql(text).question) for db in (shared, unique))
    assert len(ours.measurements) == len(plain.measurements) > 0
    for mine, one in zip(ours.measurements, plain.measurements, strict=True):
        assert isinstance(mine, Numbers | Counts | SplitSums)
        assert one.sensitivity.l1 is not None
        assert one.sensitivity.linf is not None
        assert (mine.sensitivity.l1, mine.sensitivity.linf) == (
            STEPS * one.sensitivity.l1, STEPS * one.sensitivity.linf
        )  # fmt: skip
        assert (mine.sensitivity.l2_squared or 0) >= STEPS**2 * (one.sensitivity.l2_squared or 0)
        assert mine.groups == STEPS * (one.groups or 0)
        assert not mine.sensitivity.monotone
        assert mine.sensitivity.neighbours == one.sensitivity.neighbours
    assert shared.sql(text).run(epsilon=1)


@pytest.mark.parametrize("text", [
    *(f"SELECT {term} AS s FROM items" for term in REFUSED.values()),
    "SELECT name, COUNT(*) AS n FROM items GROUP BY name",
    "SELECT name, COUNT(DISTINCT person) AS n FROM items GROUP BY name",
    "SELECT kind, COUNT(*) AS n FROM items GROUP BY kind ORDER BY n DESC LIMIT 1",
    "SELECT name, COUNT(*) AS n FROM items GROUP BY name ORDER BY n DESC LIMIT 1",
    "SELECT MEDIAN(o.age) AS m FROM orders o WHERE o.person IN (SELECT person FROM items)",
    "SELECT MEDIAN(n) AS m FROM (SELECT person, COUNT(*) AS n FROM items GROUP BY person) t",
])  # fmt: skip
def test_what_is_chosen_or_tested_is_refused_for_nothing(shared: Database, unique: Database, text: str) -> None:
    spent = len(shared.history())
    with pytest.raises(QueryRefused, match="keys that several may state"):
        shared.sql(text).run(epsilon=1)
    assert len(shared.history()) == spent
    assert lower(unique.sql(text).question).measurements


def test_all_measurements_either_count_the_others_in_or_are_refused() -> None:
    kinds = {kind for kind in Measurement.__subclasses__() if kind.__module__.startswith("dalenius.")}
    assert {kind.__name__ for kind in kinds - {Numbers, Counts, SplitSums}} == {
        "Quantiles", "Mode", "Robust", "FoundKeys", "TopKeys"
    }  # fmt: skip


# ---- all that is sold


def _mean(rows: Any) -> float:
    return float(len(rows))


SOLD: dict[str, Callable[[Database], object]] = {
    "Blockwise": lambda db: Subsample(
        _mean, columns=["price"], output=Range(0, 9, step="0.5"), seconds=12, megabytes=64, blocks=2
    ).run(db.table("items"), epsilon="0.1"),
    "Fit": lambda db: Synthesizer(columns=["price", "kind"], bins={"price": 3}).fit(db.table("items"), share="5%"),
    "FamilyWork": lambda db: FamilySynthesizer(
        Synthesizer(columns=["age"], bins={"age": 3}), Synthesizer(columns=["price", "kind"], bins={"price": 3})
    ).fit(db.table("orders"), db.table("items"), share="5%"),
    "Opening": lambda db: Online(columns=["price", "kind"], updates=3, questions=20).open(
        db.table("items"), share="5%"
    ),
    "Training": lambda db: MeanEstimator(epsilon=None).fit(db.table("items"), columns=["price"], share="1%"),
    "objective": lambda db: Ridge(epsilon=None, method="objective").fit(
        db.table("items"), "price", columns=["size"], share="1%"
    ),
    "RankTraining": lambda db: QuantileEstimator([0.5], epsilon=None).fit(
        db.table("items"), columns=["price"], share="1%"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLD)
def test_what_else_is_made_of_rows_is_refused_for_nothing(shared: Database, name: str) -> None:
    spent = len(shared.history())
    with pytest.raises(QueryRefused, match="keys that several may state"):
        SOLD[name](shared)
    assert len(shared.history()) == spent


def test_the_door_lets_no_other_work_through_than_questions(shared: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever can be paid for goes through the door, which asks this before anything else."""
    asked = shared.sql("SELECT COUNT(*) AS n FROM items")
    alone = QueryPurchase(priced(asked, _offer()), "", False, None)
    require_covered(alone)
    pair = FamilyWork(alone, alone)
    with pytest.raises(QueryRefused):
        require_covered(pair)
    other = priced(shared.sql("SELECT COUNT(*) AS n FROM orders"), _offer())
    hidden = FamilyWork(alone, QueryPurchase(other, "", False, None))
    assert hidden.question.relation.steps == 1
    with pytest.raises(QueryRefused):
        require_covered(hidden)
    monkeypatch.setattr(door, "require_covered", _told)
    with pytest.raises(_Told):
        asked.run(epsilon="0.123")


def _offer() -> Offer:
    return Offer(1, None)


class _Told(Exception):
    pass


def _told(purchase: Purchase) -> None:
    raise _Told


def test_only_questions_are_exempt_and_all_other_work_is_listed() -> None:
    """A class that can be paid for has a `run` that looks at rows."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(map(_looks, node.body)):
                found.add(node.name)
    assert found - {"Work"} == {
        Priced.__name__, QueryPurchase.__name__, FamilyWork.__name__, "Blockwise", "Comparison", "Fit", "Opening",
        "Training", "RankTraining",
    }  # fmt: skip


def _looks(node: ast.stmt) -> bool:
    named = [each.arg for each in node.args.args] if isinstance(node, ast.FunctionDef) else []
    return isinstance(node, ast.FunctionDef) and node.name == "run" and "run_pass" in named


# ---- both attacks on the way that paid questions take


def replayed_kinds() -> set[str]:
    """What a replay finds, when a victim or a hub comes, in questions along shared keys."""
    found = set()
    for plan in along_shared_keys():
        for step in shared_key_steps(plan.world):
            first, second = (duckdb_with(plan.world.seed, name) for name in (step.before, step.after))
            question = some_price(plan.question, plan.seed)
            assert question is not None
            found |= {each.kind for each in replayed(question, first, second).findings}
    return found


def test_a_replay_between_neighbours_with_and_without_a_victim_or_a_hub_finds_nothing() -> None:
    assert replayed_kinds() == set()


def test_a_replay_finds_a_sensitivity_that_leaves_the_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "over_steps", lambda part, relation, neighbours: part)
    assert "sensitivity" in replayed_kinds()
