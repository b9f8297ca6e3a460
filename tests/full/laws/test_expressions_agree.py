"""The dear tests of `laws/test_expressions_agree.py`."""

from __future__ import annotations

import pytest

from dalenius.engines.conformance.cases import known_cases
from dalenius.engines.conformance.checking import check
from opened_engines import ENGINES, engine

ROWS = 5_000
EXPRESSIONS = {"duckdb": 2_000, "postgres": 500, "spark": 50}


@pytest.mark.parametrize("name", ENGINES)
def test_generated_expressions_have_the_values_that_they_mean(name: str) -> None:
    report = check(engine(name), expressions=EXPRESSIONS[name], rows=ROWS, plans=0)
    assert report.differences == []
    assert (report.cases, report.expressions, report.rows) == (len(known_cases()), EXPRESSIONS[name], ROWS)
