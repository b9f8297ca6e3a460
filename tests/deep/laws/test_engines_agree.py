"""The dear tests of `laws/test_engines_agree.py`."""

from __future__ import annotations

import pytest

from dalenius.engines.conformance.checking import check
from opened_engines import ENGINES, engine
from tests.laws.test_engines_agree import differing


@pytest.mark.parametrize("where", range(100))
def test_duckdb_gives_what_the_reference_gives_for_5000_plans(where: int) -> None:
    assert list(differing(50, where, worlds=100)) == []


@pytest.mark.parametrize("name", ENGINES)
def test_1000_generated_plans_give_what_the_reference_gives(name: str) -> None:
    report = check(engine(name), expressions=0, plans=1_000, seed=1)
    assert report.differences == []
    assert report.plans == 1_000
