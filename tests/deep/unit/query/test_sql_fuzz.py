"""The dear tests of `unit/query/test_sql_fuzz.py`."""

from __future__ import annotations

from tests.unit.query.test_sql_fuzz import fuzz


def test_100000_mutations_give_questions_or_refusals() -> None:
    assert fuzz(100_000, seed=19770101) > 5_000
