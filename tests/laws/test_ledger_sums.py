"""The ledger, a filter in memory, a model and the independent recount agree on every charge, taken or refused."""

from __future__ import annotations

import pytest

from dalenius.accounting.filters import _Admitting
from dalenius.ledger.ledger import Ledger
from ledger_cases import Clock, compared


def in_memory(clock: Clock) -> Ledger:
    return Ledger.in_memory(clock=clock)


@pytest.mark.parametrize("histories", [200, pytest.param(10_000, marks=pytest.mark.full)])
def test_all_agree_on_charges_through_populations_studies_analysts_and_blocks(histories: int) -> None:
    """Pure, Gaussian and event charges; reserves, quotas that are set anew, replays, all that is left and more."""
    found = compared(in_memory, histories)
    assert found.wrong is None
    assert found.taken > 4 * histories
    assert found.refused > 2 * histories


def test_the_test_above_notices_a_filter_that_knows_the_rectangle_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Admitting, "_fits", lambda self, spent: spent.admitted(self.cap.rectangle))
    assert compared(in_memory, 200).wrong is not None
