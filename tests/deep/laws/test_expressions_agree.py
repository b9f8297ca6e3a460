"""The dear tests of `laws/test_expressions_agree.py`."""

from __future__ import annotations

import pytest

from dalenius.engines.conformance.checking import check
from opened_engines import ENGINES, engine
from tests.full.laws.test_expressions_agree import ROWS

MANY, PARTS = 20_000, 4


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", ENGINES)
def test_20_000_generated_expressions_have_the_values_that_they_mean(name: str, part: int) -> None:
    report = check(engine(name), expressions=MANY // PARTS, rows=ROWS, plans=0, seed=1 + part)
    assert report.differences == []
    assert report.expressions == MANY // PARTS
