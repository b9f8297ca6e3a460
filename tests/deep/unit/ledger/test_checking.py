"""The dear tests of `unit/ledger/test_checking.py`."""

from __future__ import annotations

import time
from contextlib import closing

from dalenius.ledger.checking import examined
from tests.unit.ledger import test_checking
from tests.unit.ledger.test_checking import many

_quickly = test_checking._quickly


def test_a_hundred_thousand_entries_are_checked_in_some_seconds() -> None:
    with closing(many(100_000)) as ledger:
        start = time.perf_counter()
        assert examined(ledger._journal._store).sound
        assert time.perf_counter() - start < 20
