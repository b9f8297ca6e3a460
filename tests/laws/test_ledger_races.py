"""Any number of threads and processes on one cap: never one unit too much, and nothing that fits is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.planted import looking_first
from faults.races import race
from faults.schedules import CAP as SMALL_CAP
from faults.schedules import scheduled


def test_a_ledger_that_looks_first_and_charges_later_passes_the_cap(tmp_path: Path) -> None:
    ended = race(tmp_path, processes=2, threads=8, attempts=25, cap=2_000, planted=True)
    assert ended.counted.spent["patients",] > 2_000
    assert ended.counted.problems == ["('patients',) passed its cap"]


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 500), marks=pytest.mark.deep)], ids=str)
def test_no_order_of_steps_passes_the_cap_or_loses_a_charge(tmp_path: Path, seeds: range) -> None:
    for seed in seeds:
        acknowledged, counted = scheduled(new_folder(tmp_path, seed), seed)
        assert counted.problems == [], seed
        assert acknowledged == counted.spent["patients",] <= SMALL_CAP, seed
        assert acknowledged > SMALL_CAP - 20, seed  # the largest charge would no longer fit


def test_some_order_of_steps_makes_a_ledger_that_looks_first_pass_the_cap(tmp_path: Path) -> None:
    ends = [scheduled(new_folder(tmp_path, seed), seed, looking_first)[0] for seed in range(10)]
    assert max(ends) > SMALL_CAP


def new_folder(place: Path, seed: int) -> Path:
    folder = place / str(seed)
    folder.mkdir()
    return folder
