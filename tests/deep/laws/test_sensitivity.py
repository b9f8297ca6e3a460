"""The dear tests of `laws/test_sensitivity.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.replay.bounding import all_broken


@pytest.mark.parametrize("where", range(20))
def test_one_unit_moves_every_measurement_of_5000_plans_by_at_most_what_was_declared(where: int) -> None:
    assert list(all_broken(250, where, worlds=20)) == []
