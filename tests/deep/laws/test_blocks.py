"""The dear tests of `laws/test_blocks.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.replay.blocks import COLUMNS
from tests.laws import test_blocks
from tests.laws.test_blocks import inside, leaking

right_claims = test_blocks.right_claims


@pytest.mark.parametrize("where", range(4 * len(COLUMNS)))
def test_nothing_inside_a_block_changes_in_40000_questions(where: int) -> None:
    assert list(leaking(where, inside(1700, where))) == []
