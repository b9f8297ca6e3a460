"""The dear tests of `unit/ledger/test_reconciling.py`."""

from __future__ import annotations

from pathlib import Path

from tests.unit.ledger import test_reconciling
from tests.unit.ledger.test_reconciling import wandered, wandered_in_blocks

_quickly = test_reconciling._quickly


def test_it_is_so_for_many_wanderings(tmp_path: Path) -> None:
    assert [seed for seed in range(100, 250) if wandered(tmp_path, seed) != (0, True)] == []


def test_it_is_so_for_many_wanderings_in_blocks(tmp_path: Path) -> None:
    assert [seed for seed in range(100, 400) if wandered_in_blocks(tmp_path, seed) > 0] == []
