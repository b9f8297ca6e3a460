"""The dear tests of `laws/test_replay.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.commands import bounding
from dalenius.checks.commands import replay as replaying
from dalenius.checks.outcomes import CheckRequest
from dalenius.measuring import measurements


def test_nothing_differs_in_2000_questions() -> None:
    assert replaying.check(CheckRequest()).findings == ()


def test_numbers_that_are_not_clamped_are_found_where_declarations_are_narrower(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measurements, "Clamp", lambda child, bounds: child)
    monkeypatch.setattr(bounding, "MOST", 1)
    outcome = bounding.check(CheckRequest(count=60))
    assert "with narrower declarations" in outcome.findings[0]
