"""Turns that a receipt has paid for: each is taken once, whoever asks, and stays taken."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dalenius.ledger.ledger import Ledger
from ledger_cases import Place, charge, opened, without_syncs


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    without_syncs(monkeypatch)
    return Place(tmp_path)


def test_turns_are_counted_for_each_receipt_and_end(place: Place) -> None:
    with place.ledger("create") as ledger:
        opened(ledger)
        one, other = charge(ledger, None, 1), charge(ledger, None, 2)
        assert [ledger.claim(one, most=3) for _ in range(5)] == [1, 2, 3, None, None]
        assert ledger.claim(other, most=3) == 1


def test_a_turn_stays_taken_when_the_ledger_is_opened_again(place: Place) -> None:
    with place.ledger("create") as ledger:
        receipt = charge(opened(ledger), None, 1)
        assert ledger.claim(receipt, most=2) == 1
    with place.ledger() as ledger:
        again = ledger.receipt(receipt.id)
        assert again is not None
        assert [ledger.claim(again, most=2) for _ in range(2)] == [2, None]
    assert not place.examined().problems


def test_threads_of_two_openings_never_share_a_turn(place: Place) -> None:
    with place.ledger("create") as ledger:
        receipt = charge(opened(ledger), None, 1)
        with place.ledger() as other, ThreadPoolExecutor(8) as pool:
            turns = list(pool.map(lambda each: each.claim(receipt, most=30), [ledger, other] * 20))
        assert sorted(turn for turn in turns if turn) == list(range(1, 31))


def test_the_test_above_notices_a_count_outside_of_the_transaction(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(self: Ledger, receipt: object, *, most: int) -> int | None:
        turn = 1 + len(self.records("turn"))
        time.sleep(0.02)  # so that others count, too
        self.record("turn", {"receipt": receipt.id})  # type: ignore[attr-defined]
        return turn if turn <= most else None

    monkeypatch.setattr(Ledger, "claim", careless)
    with pytest.raises(AssertionError):
        test_threads_of_two_openings_never_share_a_turn(place)
