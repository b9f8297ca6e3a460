"""A question and a fit go one way: every fact about them is looked up once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from clinics import clinic
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.engine import Statements
from dalenius.learn import LogisticRegression
from dalenius.ledger.ledger import Ledger
from dalenius.query.plan.passes import Pass
from dalenius.session import curator, sessions
from dalenius.session.curator import Principal

BY_CITY = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
LOOKED_UP = {
    "payer": (Principal, "_payer"),
    "blocks": (curator, "blocks_of"),
    "home": (Ledger, "require_home"),
    "SQL": (DuckDBEngine, "compile_sql"),
    "question": (sessions, "bind"),
    "rows": (sessions, "bind_rows"),
}


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """How often each of these is called."""
    found: Counter[str] = Counter()

    def counting(name: str, right: Any) -> Any:
        def call(*given: Any, **terms: Any) -> Any:
            found[name] += 1
            return right(*given, **terms)

        return call

    with pytest.MonkeyPatch.context() as change:
        for name, (home, attribute) in LOOKED_UP.items():
            change.setattr(home, attribute, counting(name, getattr(home, attribute)))
        yield found


def test_a_count_by_groups_looks_everything_up_once() -> None:
    with clinic() as db:
        query = db.sql(BY_CITY)
        with counted() as found:
            query.run(epsilon="0.5")
    assert found == {"payer": 1, "blocks": 1, "home": 1, "SQL": 1}


def test_the_test_above_notices_sql_that_is_written_again() -> None:
    def again(self: Statements, step: Pass) -> str:
        return self.engine.compile_sql(step)

    with clinic() as db, patch.object(Statements, "sql", again):
        query = db.sql(BY_CITY)
        with counted() as found:
            query.run(epsilon="0.5")
    assert found["SQL"] > 1


def test_a_fit_on_a_table_binds_once() -> None:
    with clinic() as db:
        rows = db.table("visits")
        with counted() as found:
            LogisticRegression(epsilon=1).fit(rows, "city", columns=["age"])
    assert {name: found[name] for name in ("rows", "question", "payer", "blocks")} == {
        "rows": 1, "question": 0, "payer": 1, "blocks": 1
    }  # fmt: skip
