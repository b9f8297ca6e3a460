"""The dear tests of `unit/synth/tables/test_resuming.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalenius as dl
from dalenius.ledger.ledger import STEP, Ledger
from dalenius.synth.tables import journal
from dalenius.synth.tables.journal import FOLDER, Kept, OutcomeJournal, entries
from stopping import STAGES, TABLE, fitted, killed
from tests.unit.synth.tables import test_resuming
from tests.unit.synth.tables.test_resuming import file_of

drawn = test_resuming.drawn
folder = test_resuming.folder


def kept(folder: Path) -> list[Kept]:
    """What the journal of the one fit holds."""
    with dl.open(folder) as db:
        (receipt,) = db._curator.ledger.history()
        return entries(file_of(folder).read_bytes(), receipt)[0]


def marginals(outcomes: list[Any]) -> list[list[int]]:
    """The noisy marginals among outcomes that were kept; the others are choices."""
    return [facts[1] for facts in outcomes if not isinstance(facts, int)]


def in_order(table: Any) -> list[list[int]]:
    return [[int(count) for count in part.counts.ravel()] for part in table.measured]


@pytest.mark.parametrize(
    ("stage", "number", "expected"),
    [(STAGES[0], 1, 0), (STAGES[1], 4, 3), (STAGES[2], 5, 5), (STAGES[3], 6, 6), ("before the answer", 0, None)],
)
def test_a_killed_fit_goes_on_for_nothing_and_draws_nothing_again(
    folder: Path, drawn: list[Any], stage: str, number: int, expected: int | None
) -> None:
    """An outcome that was drawn and not yet in the file died with its process, unseen, and is drawn anew."""
    elsewhere = killed(folder, stage, number)
    before = kept(folder)
    assert expected is None or len(before) == expected
    assert elsewhere - len(before) == (stage == STAGES[1])
    with dl.open(folder) as db:
        spent = db.spent()
        price = TABLE.cost(db.table("visits"), epsilon=1).amounts
        table = fitted(db)
        assert db.spent() == spent
        assert spent["patients"].amount == price["patients"]
        assert len(db._curator.ledger.history()) == 1
        steps = len(db._curator.ledger.records(STEP))
        assert steps == len(before) + len(drawn)
        assert not list((folder / FOLDER).iterdir())
        found = in_order(table)
        old = marginals([each.outcome for each in before])
        assert found[: len(old)] == old
        assert found[len(old) :] == [np.ravel(each).tolist() for each in drawn if np.ndim(each)]
        assert table.report().marginals == len(found)
        assert len(table.sample(5)) == 5
        again = fitted(db)
        assert again.source.replayed
        assert in_order(again) == found


def test_the_test_above_notices_a_journal_that_is_ignored(
    folder: Path, drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(self: OutcomeJournal, path: Path, ledger: Ledger, receipt: Any) -> None:
        self._path, self._ledger, self._receipt = path, ledger, receipt
        self._left, self._head = journal.deque(), ledger.last_step(receipt)

    monkeypatch.setattr(OutcomeJournal, "__init__", forgetful)
    with pytest.raises(AssertionError):
        test_a_killed_fit_goes_on_for_nothing_and_draws_nothing_again(folder, drawn, STAGES[3], 6, 6)
    assert len(drawn) > 6


def test_a_fit_that_died_after_its_answer_was_stored_is_replayed_and_its_journal_let_go(
    folder: Path, drawn: list[Any]
) -> None:
    killed(folder, "after the answer", 0)
    assert kept(folder)
    with dl.open(folder) as db:
        assert fitted(db).source.replayed
        assert not drawn
        TABLE.fit(db.table("visits"), epsilon=1, key="another", fresh=True)
        assert not list((folder / FOLDER).iterdir())


def test_a_family_goes_on_from_its_parents_to_its_children(folder: Path, drawn: list[Any]) -> None:
    killed(folder, STAGES[3], 5, "family")
    before = kept(folder)
    with dl.open(folder) as db:
        spent = db.spent()
        family = fitted(db, "family")
        assert db.spent() == spent
        found = [*in_order(family.parents), *in_order(family.children)]
        old = marginals([each.outcome for each in before])
        assert found[: len(old)] == old
        assert found[len(old) :] == [np.ravel(each).tolist() for each in drawn if np.ndim(each)]
        new, visits_of = family.sample(10)
        assert len(new) == 10
        assert visits_of.column_names == ["patient_id", "cost"]
