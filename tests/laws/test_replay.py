"""Replaying questions on the way that paid ones take finds nothing in the product, and what is planted there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from checks import SeededEntropy
from clinics import clinic, visits
from costs import cases
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget
from dalenius.checks import sharing
from dalenius.checks.commands import bounding, semantics
from dalenius.checks.commands import replay as replaying
from dalenius.checks.observer import first_difference
from dalenius.checks.outcomes import CheckRequest, Outcome
from dalenius.checks.replay import queries
from dalenius.checks.replay.loading import LoadedDatabases, Quick, duckdb_of
from dalenius.checks.replay.neighbours import database
from dalenius.engines.conformance.worlds import world
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.sql import passes
from dalenius.errors import InvalidParameter, WorkStopped
from dalenius.measuring import measurements, releasing
from dalenius.measuring.pricing import Priced
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import unseal
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.session import executor as door

FEW = 12


def kinds(outcome: Outcome) -> set[str]:
    return {finding.split(":")[0] for finding in outcome.findings}


def few(seed: int = 0, count: int = FEW) -> Outcome:
    return replaying.check(CheckRequest(count=count, seed=seed))


def at_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """End at the first finding, as it is."""
    monkeypatch.setattr(replaying, "MOST", 1)
    monkeypatch.setattr(replaying, "shrunk", lambda pair, fails: pair)


# ---- the product


@cases("seed", [0, 5], fast=1)
def test_nothing_differs_between_neighbours_but_what_was_declared(seed: int) -> None:
    outcome = few(seed, 40)
    assert outcome.findings == ()
    assert outcome.passed


def test_the_engine_means_what_plans_mean() -> None:
    ticks: list[float] = []
    assert semantics.check(CheckRequest(count=60, tick=ticks.append)).passed
    assert ticks[-1] == 100


# ---- planted on the way


def one_group_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    right = measurements.bounded_change
    wrong = lambda neighbours, groups, **facts: right(neighbours, groups=1, **facts)  # noqa: E731
    monkeypatch.setattr(measurements, "bounded_change", wrong)


def half_of_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Priced.charge.fget  # type: ignore[attr-defined]
    half = property(lambda self: {name: amount.part(Fraction(1, 2)) for name, amount in right(self).items()})
    plenty = lambda amount: Charge(divergence=10**18, delta=10**18, order=amount.order)  # noqa: E731
    monkeypatch.setattr(Priced, "charge", half)
    monkeypatch.setattr(
        queries,
        "allowance",
        lambda priced, relations: Allowance(
            plenty(next(iter(priced.charge.values()))), neighbours=next(iter(relations.values()))
        ),
    )


def keys_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(priced: Priced, statements: Any, paid: Allowance) -> Any:
        released = door.measured(priced, statements, paid)
        exact = [unseal(statements.run(step)).totals[0] for step in priced.passes]
        size = sum(len(totals) + int(totals.sum()) for totals in exact)
        return replace(released, keys=(*released.keys, (size,)))

    monkeypatch.setattr(queries, "measured", told)
    monkeypatch.setattr(replaying, "MOST", 5)  # where an answer is made, too, it fails for such keys, on both sides


def noise_by_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(mechanism: Any, exact: Any, allowance: Any, entropy: Any) -> Any:
        if isinstance(mechanism, DiscreteLaplace):
            mechanism = replace(mechanism, scale=mechanism.scale + abs(int(unseal(exact).sum())))
        return right(mechanism, exact, allowance, entropy)

    right = releasing.measure
    monkeypatch.setattr(releasing, "measure", measured)


def a_measurement_more_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(mechanism: Any, exact: Any, allowance: Any, entropy: Any) -> Any:
        found = right(mechanism, exact, allowance, entropy)
        if isinstance(mechanism, DiscreteLaplace) and int(abs(unseal(exact)).sum()) % 2:
            right(DiscreteLaplace(mechanism.scale * 10**9, mechanism.neighbours), exact, plenty, entropy)
        return found

    right = releasing.measure
    plenty = Allowance(Charge(divergence=10**18, order=Fraction(2)), neighbours=AddRemove())
    monkeypatch.setattr(releasing, "measure", measured)


def an_error_for_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    right = DuckDBEngine.run

    def run(self: DuckDBEngine, step: Any, **how: Any) -> Any:
        found = right(self, step, **how)
        if int(unseal(found).totals[0].sum()) % 2:
            raise WorkStopped
        return found

    monkeypatch.setattr(DuckDBEngine, "run", run)
    monkeypatch.setattr(replaying, "MOST", 20)  # some fail on both sides alike, which tells nothing


def seeded_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "fresh_entropy", lambda: SeededEntropy(1))


def counts_that_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "at_most", lambda count, most: count)


@cases(
    ("plant", "kind"),
    [
        (one_group_for_several, "sensitivity"),
        (counts_that_are_not_cut, "sensitivity"),
        (half_of_the_charge, "charge"),
        (keys_of_the_data, "leak"),
        (noise_by_the_data, "parameters"),
        (a_measurement_more_for_many, "calls or parameters or charge"),
        (an_error_for_many_rows, "error"),
        (seeded_noise, "noise"),
    ],
    fast=1,
)
def test_what_is_planted_on_the_way_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_the_first(monkeypatch)
    plant(monkeypatch)
    outcome = few(count=4 * FEW)
    assert kinds(outcome) & set(kind.split(" or "))
    assert not outcome.passed


# ---- an owner's catalog, and several processes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a database whose rows and ledger are gone: only its catalog can be read."""
    with clinic(Budget(1), data=visits(patients=9), path=tmp_path / "clinic"):
        pass
    for path in (tmp_path / "clinic").iterdir():
        if path.name != "catalog.toml":
            path.unlink()
    return tmp_path / "clinic"


@cases("check", [replaying.check, bounding.check], fast=1)
def test_an_owners_catalog_is_checked_over_made_up_rows(check: Callable[[CheckRequest], Outcome], folder: Path) -> None:
    ticks: list[float] = []
    outcome = check(CheckRequest(folder=folder, count=25, tick=ticks.append))
    assert outcome.findings == ()
    assert outcome.passed
    assert outcome.figures[0].tried == 25
    assert ticks[-1] == 100


@cases("check", [replaying.check, bounding.check], fast=1)
def test_what_is_planted_is_found_with_an_owners_catalog(
    check: Callable[[CheckRequest], Outcome], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts_that_are_not_cut(monkeypatch)
    for module in (replaying, bounding):
        monkeypatch.setattr(module, "MOST", 1)
    there = folder.rename(folder.with_name("the  clinic's"))
    outcome = check(CheckRequest(folder=there, count=40))
    assert not outcome.passed
    command = re.search(r"dalenius check .* --seed \d+", outcome.findings[0])
    assert command is not None
    assert str(there) in shlex.split(command[0])  # as a shell takes it


def test_a_catalog_without_anybody_is_refused(tmp_path: Path) -> None:
    with clinic(Budget(1), data=visits(patients=9), path=tmp_path / "clinic"):
        pass
    catalog = tmp_path / "clinic" / "catalog.toml"
    catalog.write_text(catalog.read_text().split("[tables")[0])
    with pytest.raises(InvalidParameter, match="private table"):
        replaying.check(CheckRequest(folder=tmp_path / "clinic"))


def test_a_number_of_plans_names_the_same_ones_on_every_machine() -> None:
    sizes = [share.most for share in sharing.shares(2_000, seed=0)]
    assert sizes == [400, 400, 300, 225, 168, 126, 95, 71, 53, 50, 50, 50, 12]


@pytest.mark.parametrize("number", [1, 49, 50, 401, 2_000, 50_000])
def test_shares_have_every_plan_once_each_share_a_world_of_its_own_and_end_small(number: int) -> None:
    found = sharing.shares(number, seed=7)
    assert sum(share.most for share in found) == number
    assert [share.first for share in found] == list(range(7, 7 + len(found)))
    sizes = [share.most for share in found]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 50
    assert sizes[0] <= sharing.EACH


@pytest.mark.parametrize("number", [replaying.PLANS, bounding.PLANS])
def test_of_the_worlds_of_every_change_some_replace_people_and_some_do_not(number: int) -> None:
    people = [world(share.first).tables["visits"].protection for share in sharing.shares(number, seed=0)]
    assert {type(each.neighbours) for each in people if each} == {AddRemove, Replace}


# ---- quicker ways


def test_a_quick_engine_fetches_what_the_engine_does_and_fails_as_it_does() -> None:
    plans = list(islice(sharing.numbered(3), 6))
    engine = duckdb_of(plans[0].world, database(plans[0].world, "light"))
    for step in (step for plan in plans for step in plan.program.passes):
        assert first_difference(unseal(Quick(engine).run(step)), unseal(engine.run(step))) is None
    with pytest.raises(WorkStopped):
        Quick(engine).fetched("SELECT 1 FROM nowhere", 9, None)
    engine.close()


@pytest.mark.parametrize("quick", [False, True])
def test_a_whole_replay_has_one_side_in_the_engines_own_way(monkeypatch: pytest.MonkeyPatch, quick: bool) -> None:
    def stopped(*facts: Any) -> Any:
        raise WorkStopped

    monkeypatch.setattr(Quick, "fetched", stopped)
    plan = next(sharing.numbered(3))
    engine, question = duckdb_of(plan.world, database(plan.world, "light")), queries.some_price(plan.question, 3)
    assert question is not None
    found = queries.replayed(question, engine, engine, quick=quick)
    assert [finding.kind for finding in found.findings] == ([] if quick else ["error"])
    assert (found.error is None) is not quick
    engine.close()


def test_databases_hold_the_tables_of_the_populations_that_were_asked_for() -> None:
    load, plans = LoadedDatabases(), sharing.numbered(3)
    plan = next(plan for plan in plans if plan.question.relation.populations == ("people",))
    engine = load.of(plan)(plan.world.seed, "base")
    assert engine.missing(plan.world.tables.values()) == ["staff", "events"]
    assert load(plan.world.seed, "base") is engine
    assert not engine.missing(plan.world.tables.values())
    load.close()
