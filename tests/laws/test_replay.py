"""Replaying questions on the way that paid ones take finds nothing in the product, and what is planted there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from checks import SeededEntropy
from clinics import clinic, visits
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Amount
from dalenius.accounting.budget import Budget
from dalenius.audit.checks import bounding, semantics, sharing
from dalenius.audit.checks import replay as replaying
from dalenius.audit.checks.outcomes import Asked, Outcome
from dalenius.audit.replay import queries
from dalenius.audit.replay.likeness import first_difference
from dalenius.audit.replay.loading import Databases, Quick, duckdb_of
from dalenius.audit.replay.neighbours import database
from dalenius.audit.replay.shrinking import shrunk
from dalenius.curator import door
from dalenius.engines.conformance.worlds import world
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.sql import passes
from dalenius.errors import InvalidParameter, WorkStopped
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.privacy.exact import unseal
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.query import blocks
from dalenius.query.pricing import measurements, releasing
from dalenius.query.pricing.pricing import Priced

FEW = 12


def kinds(outcome: Outcome) -> set[str]:
    return {finding.split(":")[0] for finding in outcome.findings}


def few(seed: int = 0, count: int = FEW) -> Outcome:
    return replaying.check(Asked(count=count, seed=seed))


def at_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """End at the first finding, as it is."""
    monkeypatch.setattr(replaying, "MOST", 1)
    monkeypatch.setattr(replaying, "shrunk", lambda pair, fails: pair)


# ---- the product


@pytest.mark.parametrize("seed", [0, 5])
def test_nothing_differs_between_neighbours_but_what_was_declared(seed: int) -> None:
    outcome = few(seed, 40)
    assert outcome.findings == ()
    assert outcome.passed


@pytest.mark.deep
def test_nothing_differs_in_2000_questions() -> None:
    assert replaying.check(Asked()).findings == ()


def test_one_unit_stays_within_what_was_declared_over_joins() -> None:
    outcome = bounding.check(Asked(count=25, seed=3))
    assert outcome.passed
    assert all(figure.tried for figure in outcome.figures[:7])


def test_the_engine_means_what_plans_mean() -> None:
    ticks: list[float] = []
    assert semantics.check(Asked(count=60, tick=ticks.append)).passed
    assert ticks[-1] == 100


# ---- planted on the way


def one_group_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    right = measurements.bounded_change
    wrong = lambda neighbours, groups, **facts: right(neighbours, groups=1, **facts)  # noqa: E731
    monkeypatch.setattr(measurements, "bounded_change", wrong)


def an_addition_for_a_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    right = measurements.bounded_change
    wrong = lambda neighbours, **facts: right(AddRemove(), **facts).under(neighbours)  # noqa: E731
    monkeypatch.setattr(measurements, "bounded_change", wrong)


def half_of_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Priced.charge.fget  # type: ignore[attr-defined]
    half = property(lambda self: {name: amount.part(Fraction(1, 2)) for name, amount in right(self).items()})
    plenty = lambda amount: Amount(divergence=10**18, delta=10**18, order=amount.order)  # noqa: E731
    monkeypatch.setattr(Priced, "charge", half)
    monkeypatch.setattr(
        queries,
        "allowance",
        lambda priced, relations: Allowance(
            plenty(next(iter(priced.charge.values()))), neighbours=next(iter(relations.values()))
        ),
    )


def keys_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(priced: Priced, engine: Any, paid: Allowance) -> Any:
        released = door.measured(priced, engine, paid)
        size = sum(len(unseal(engine.run(step)).totals[0]) + int(unseal(engine.run(step)).totals[0].sum())
                   for step in priced.passes)  # fmt: skip
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
    plenty = Allowance(Amount(divergence=10**18, order=Fraction(2)), neighbours=AddRemove())
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


@pytest.mark.parametrize(
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
)
def test_what_is_planted_on_the_way_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_the_first(monkeypatch)
    plant(monkeypatch)
    outcome = few(count=4 * FEW)
    assert kinds(outcome) & set(kind.split(" or "))
    assert not outcome.passed


def test_an_addition_for_a_replacement_is_found_where_units_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_first(monkeypatch)
    an_addition_for_a_replacement(monkeypatch)
    assert "sensitivity" in kinds(few(9, 60))


def test_a_finding_is_small_and_shows_again_from_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    counts_that_are_not_cut(monkeypatch)
    monkeypatch.setattr(replaying, "MOST", 1)
    monkeypatch.setattr(replaying, "shrunk", partial(shrunk, tries=12))
    (said,) = few(count=60).findings
    seed = re.search(r"dalenius check replay --plans 1 --seed (\d+)", said)
    small = re.search(r"in both (\d+) rows.*; before (\d+) rows.*; after (\d+) rows", said)
    assert seed is not None
    assert small is not None
    assert sum(map(int, small.groups())) <= 1000  # of more than 10,000
    again = few(int(seed[1]), 1)
    assert again.figures[0].tried == 1
    assert any(f"plan {seed[1]}," in finding for finding in again.findings)


def test_bounds_that_are_broken_are_found_over_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    counts_that_are_not_cut(monkeypatch)
    outcome = bounding.check(Asked(count=25, seed=3))
    assert not outcome.passed
    assert any("dalenius check bounding --plans 1 --seed" in finding for finding in outcome.findings)


@pytest.mark.deep
def test_numbers_that_are_not_clamped_are_found_where_declarations_are_narrower(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measurements, "Clamp", lambda child, bounds: child)
    monkeypatch.setattr(bounding, "MOST", 1)
    outcome = bounding.check(Asked(count=60))
    assert "with narrower declarations" in outcome.findings[0]


def test_a_question_charged_to_another_block_is_found_and_its_number_shows_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "block_of", lambda question, partition: min(partition.values))
    monkeypatch.setattr(bounding, "MOST", 1)
    outcome = bounding.check(Asked(count=25, seed=3))
    seed = re.search(r"charged to one block .* dalenius check bounding --plans 1 --seed (\d+)", outcome.findings[0])
    assert seed is not None
    assert f"question {seed[1]} " in bounding.check(Asked(count=1, seed=int(seed[1]))).findings[0]


def test_an_engine_that_means_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    counts_that_are_not_cut(monkeypatch)
    outcome = semantics.check(Asked(count=300))
    assert not outcome.passed
    assert "dalenius check semantics --count 300 --seed 0" in outcome.findings[0]


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


@pytest.mark.parametrize("check", [replaying.check, bounding.check])
def test_an_owners_catalog_is_checked_over_made_up_rows(check: Callable[[Asked], Outcome], folder: Path) -> None:
    ticks: list[float] = []
    outcome = check(Asked(folder=folder, count=25, tick=ticks.append))
    assert outcome.findings == ()
    assert outcome.passed
    assert outcome.figures[0].tried == 25
    assert ticks[-1] == 100


@pytest.mark.parametrize("check", [replaying.check, bounding.check])
def test_what_is_planted_is_found_with_an_owners_catalog(
    check: Callable[[Asked], Outcome], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts_that_are_not_cut(monkeypatch)
    for module in (replaying, bounding):
        monkeypatch.setattr(module, "MOST", 1)
    there = folder.rename(folder.with_name("the  clinic's"))
    outcome = check(Asked(folder=there, count=40))
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
        replaying.check(Asked(folder=tmp_path / "clinic"))


def test_many_questions_are_shared_by_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = few(count=6)
    monkeypatch.setattr(sharing, "ALONE", 0)
    monkeypatch.setattr(sharing, "_LEAST", 3)
    ticks: list[float] = []
    outcome = replaying.check(Asked(count=6, tick=ticks.append))
    assert outcome.passed
    assert outcome.figures[0].tried == alone.figures[0].tried == 6
    assert ticks[-1] == 100


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


def endless(first: int, most: int) -> Iterator[sharing.Part]:
    while True:
        yield sharing.Part({"plans": 1})


def test_an_interrupt_ends_the_processes_in_the_middle_of_their_plans() -> None:
    parts = sharing.shared(endless, Asked(count=sharing.ALONE + 1, tick=interrupted), usual=1)
    with pytest.raises(KeyboardInterrupt):
        next(parts)  # without an end for those at work it would wait for them for ever


def interrupted(percent: float) -> None:
    if percent:
        raise KeyboardInterrupt


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
    load, plans = Databases(), sharing.numbered(3)
    plan = next(plan for plan in plans if plan.question.relation.populations == ("people",))
    engine = load.of(plan)(plan.world.seed, "base")
    assert engine.missing(plan.world.tables.values()) == ["staff", "events"]
    assert load(plan.world.seed, "base") is engine
    assert not engine.missing(plan.world.tables.values())
    load.close()
