"""How far work has come is one line in the ledger, whoever writes it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from dalenius.errors import InvalidParameter
from dalenius.ledger.ledger import STEP, Ledger
from ledger_cases import Place, charge, opened


def attempted(ledger: Ledger, receipt: object, before: str | None, now: str) -> bool:
    try:
        ledger.step(receipt, before=before, now=now)  # type: ignore[arg-type]
    except InvalidParameter:
        return False
    return True


def test_each_step_follows_the_last_one_of_its_receipt() -> None:
    ledger = opened(Ledger.in_memory())
    one, other = charge(ledger, None, 1), charge(ledger, None, 1)
    assert ledger.last_step(one) is None
    ledger.step(one, before=None, now="a")
    ledger.step(other, before=None, now="x")
    ledger.step(one, before="a", now="b")
    assert (ledger.last_step(one), ledger.last_step(other)) == ("b", "x")
    for before in (None, "a", "x", "c"):
        assert not attempted(ledger, one, before, "d")
    assert ledger.last_step(one) == "b"
    assert [each["hash"] for each in ledger.records(STEP)] == ["a", "x", "b"]


def test_a_record_of_the_owner_with_the_same_letters_is_no_step() -> None:
    ledger = opened(Ledger.in_memory())
    receipt = charge(ledger, None, 1)
    ledger.record("note", {"text": f'"record":"{STEP}" "receipt":"{receipt.id}"'})
    assert ledger.last_step(receipt) is None


def test_a_receipt_of_another_ledger_has_no_steps_here() -> None:
    ledger, elsewhere = opened(Ledger.in_memory()), opened(Ledger.in_memory())
    known = charge(ledger, None, 1)
    for receipt in (charge(elsewhere, None, 1), replace(known, number=known.number + 1)):
        assert not attempted(ledger, receipt, None, "a")


def test_after_reconciling_nobody_goes_on_with_what_a_lost_copy_may_have_finished(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.ledger("create") as ledger:
        old = charge(opened(ledger), None, 1)
        ledger.step(old, before=None, now="a")
    place.backup("old.sqlite")
    with place.ledger() as ledger:
        ledger.step(old, before="a", now="b")
        assert ledger.claim(old, most=2) == 1
    place.copy(tmp_path / "old.sqlite", place.path)
    place.reconcile()
    with place.ledger() as ledger:
        assert not attempted(ledger, old, "a", "c")
        with pytest.raises(InvalidParameter, match="lost copy"):
            ledger.last_step(old)
        assert ledger.claim(old, most=2) is None
        new = charge(ledger, None, 1)
        assert attempted(ledger, new, None, "a")
        assert ledger.claim(new, most=2) == 1


def test_the_test_above_notices_a_ledger_that_forgets_that_it_was_reconciled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dalenius.ledger.ledger._reconciled_since", lambda rows, receipt: False)
    with pytest.raises(AssertionError):
        test_after_reconciling_nobody_goes_on_with_what_a_lost_copy_may_have_finished(tmp_path)


def test_of_many_at_once_one_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.ledger("create") as first, place.ledger() as second:
        receipt = charge(opened(first), None, 1)
        with ThreadPoolExecutor(8) as threads:
            won = list(threads.map(lambda i: attempted((first, second)[i % 2], receipt, None, f"step {i}"), range(16)))
        assert sum(won) == 1
        assert second.last_step(receipt) == f"step {won.index(True)}"
    with place.ledger() as again:
        assert again.last_step(receipt) == f"step {won.index(True)}"
        assert not again.check().problems
