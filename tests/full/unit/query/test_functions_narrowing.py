"""The dear tests of `unit/query/test_functions_narrowing.py`."""

from __future__ import annotations

import pytest

from dalenius.query.functions import narrowing
from tests.unit.query.test_functions_narrowing import conditions, lies


def test_a_bound_that_is_one_too_tight_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = narrowing._Facts._range

    def tighter(self: narrowing._Facts, name: str, low: int | None, high: int | None) -> None:
        honest(self, name, low, None if high is None else high - 1)

    monkeypatch.setattr(narrowing._Facts, "_range", tighter)
    assert lies(conditions(400, 3)) > 0
