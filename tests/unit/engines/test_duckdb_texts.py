"""Nothing that an analyst writes reaches the engine, except constants as quoted literals."""

from __future__ import annotations

import re

import pytest

from binding import CLINIC
from dalenius.engines.duckdb.dialect import DUCKDB
from dalenius.engines.sql.passes import compile_sql
from dalenius.measuring.measurements import lower
from dalenius.query.binding.binder import bind
from dalenius.query.sql.reader import read

LITERAL = re.compile(r"'(?:[^']|'')*'")
CANARIES = [
    "WITH canary AS (SELECT patient_id, city AS canary2 FROM visits) "
    "SELECT canary2 AS canary3, COUNT(*) AS canary4 FROM canary GROUP BY canary3 ORDER BY canary4",
    'SELECT COUNT(*) AS "canary\'; DROP TABLE visits; --" FROM visits AS canary /* canary */ WHERE canary.age > 5',
    "SELECT icd AS canary, COUNT(*) FROM visits GROUP BY canary -- canary",
    "SELECT AVG(canary) FROM (SELECT patient_id, SUM(cost) AS canary FROM visits GROUP BY patient_id) canary2",
    "SELECT COUNT(*) FROM (SELECT city AS canary FROM visits UNION ALL SELECT city AS canary2 FROM visits)",
]


def engine_sql(text: str) -> str:
    return "\n".join(compile_sql(step, DUCKDB) for step in lower(bind(read(text), CLINIC)).passes)


@pytest.mark.parametrize("text", CANARIES)
def test_names_and_comments_of_the_analyst_are_left_behind(text: str) -> None:
    assert "canary" not in engine_sql(text).lower()


@pytest.mark.parametrize("constant", ["canary", "canary'' OR 1=1 --", "can''ary", 'canary"; COPY visits', "$$canary$$"])
@pytest.mark.parametrize("condition", ["icd = '{}'", "icd LIKE '{}%'", "icd IN ('{}', 'x')", "icd || '{}' = 'y'"])
def test_constants_of_the_analyst_stand_in_quotes_alone(constant: str, condition: str) -> None:
    sql = engine_sql(f"SELECT COUNT(*) FROM visits WHERE {condition.format(constant)}")
    assert "ary" in sql
    assert "ary" not in LITERAL.sub("''", sql)


def test_the_tests_above_notice_a_constant_that_breaks_out() -> None:
    constant = "x' OR canary --"  # planted: put between quotes as it is
    assert "ary" in LITERAL.sub("''", f"SELECT count(*) FROM visits WHERE icd = '{constant}'")
