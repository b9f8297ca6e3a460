"""Ledgers that were restored, cut, cloned, exchanged, damaged, edited: refused, or resumed at the largest spending."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

import dalenius as dl
from clinics import add_visits, visits
from costs import cases
from dalenius.errors import LedgerRefused
from faults.copies import Files, spending
from faults.rollbacks import RESTORED, Scenario, World, ending, reconciled, scenarios
from faults.witness import opened

ALL = scenarios()
RESTORED_ONLY = [scenario for scenario in ALL if scenario.name.endswith("restored: a closed copy")]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World.made(tmp_path_factory.mktemp("world"))


def test_there_are_100_scenarios_of_every_kind() -> None:
    kinds = Counter(scenario.name.split()[0] for scenario in ALL)
    assert len({scenario.name for scenario in ALL}) == len(ALL) >= 100
    assert kinds["stage"] == 7 * len(RESTORED)
    assert min(kinds[kind] for kind in ("ledger", "log", "mark", "cloned", "edited:")) >= 6


@pytest.mark.textbook("S18.6")
@cases("part", range(4), fast=1)
def test_whatever_was_done_to_the_files_no_spending_is_forgotten(world: World, tmp_path: Path, part: int) -> None:
    ends = [ending(world, scenario, tmp_path / str(n)) for n, scenario in enumerate(ALL[part::4])]
    assert [end for end in ends if end.forgot] == []
    assert sum(end.outcome == "refused" for end in ends) > 0.8 * len(ends)


def test_a_restored_ledger_is_refused_and_reconciled_to_exactly_what_was_spent(world: World, tmp_path: Path) -> None:
    for number, scenario in enumerate(RESTORED_ONLY):
        end = ending(world, scenario, tmp_path / str(number))
        assert (end.outcome, end.spent) == ("refused", world.last.spent)


def test_a_ledger_without_a_mark_forgets_what_was_spent_since_the_backup(world: World, tmp_path: Path) -> None:
    """The twin: only the mark tells a restored ledger from the last one."""
    ends = [ending(world, scenario, tmp_path / str(n), marked=False) for n, scenario in enumerate(RESTORED_ONLY)]
    assert [(end.outcome, end.spent) for end in ends] == [("resumed", copy.spent) for copy in world.copies[:-1]]
    assert all(end.forgot for end in ends)


def test_a_mark_that_is_restored_together_with_its_ledger_tells_nothing(world: World, tmp_path: Path) -> None:
    """The limit of a mark, and the reason why it lies where no backup of the folder reaches."""
    old = Scenario("both", lambda world, place: world.copies[2].when_closed.put(place) or world.last.spent)
    end = ending(world, old, tmp_path / "both")
    assert (end.outcome, end.forgot) == ("resumed", True)


# ---- whole folders


def test_a_folder_that_was_restored_from_a_backup_is_not_opened(tmp_path: Path) -> None:
    clinic, mark = tmp_path / "clinic", tmp_path / "mark.sqlite"
    with clinic_in(clinic, mark) as db:
        ask(db)
    shutil.copytree(clinic, tmp_path / "backup")
    with dl.open(clinic, mark=mark) as db:
        ask(db)
    shutil.rmtree(clinic)
    shutil.copytree(tmp_path / "backup", clinic)
    with pytest.raises(LedgerRefused, match="shorter"):
        dl.open(clinic, mark=mark)


def test_of_a_folder_and_its_clone_that_are_open_at_once_only_one_answers(tmp_path: Path) -> None:
    clinic, mark = tmp_path / "clinic", tmp_path / "mark.sqlite"
    clinic_in(clinic, mark).close()
    shutil.copytree(clinic, tmp_path / "clone")
    with dl.open(clinic, mark=mark) as db, dl.open(tmp_path / "clone", mark=mark) as clone:
        ask(clone)
        with pytest.raises(LedgerRefused):
            ask(db)
        ask(clone)
        assert (len(db.history()), len(clone.history())) == (0, 2)


def clinic_in(path: Path, mark: Path) -> dl.Database:
    db = dl.create(path, mark=mark)
    db.add_population("patients", budget=dl.Budget(epsilon=3))
    add_visits(db, "visits", visits(10, 1))
    return db


def ask(db: dl.Database) -> None:
    db.sql("SELECT COUNT(*) AS n FROM visits").run(epsilon="0.1", fresh=True)


# ---- reconciling can be cut off as well


def test_reconciling_again_changes_nothing(world: World, tmp_path: Path) -> None:
    restored(world, 2).put(tmp_path)
    seen = set()
    for _ in range(3):
        reconciled(tmp_path)
        with closing(opened(tmp_path / "ledger.sqlite", tmp_path / "mark.sqlite")) as ledger:
            seen.add((spending(ledger), sum(1 for _ in ledger.entries())))
    assert len(seen) == 1


def restored(world: World, stage: int) -> Files:
    return RESTORED["a closed copy"](world.copies[stage], world.last)
