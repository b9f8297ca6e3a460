"""The dear tests of `laws/test_engines_agree.py`."""

from __future__ import annotations

from itertools import islice

import pytest

from dalenius.engines.conformance.checking import check
from dalenius.engines.conformance.comparing import ComparedTables
from dalenius.engines.conformance.plans import plans
from dalenius.engines.conformance.worlds import owned, small_database, world
from opened_engines import ENGINES, engine
from tests.laws import test_engines_agree
from tests.laws.test_engines_agree import joins_units

small_joins = test_engines_agree.small_joins

JOINS = {"postgres": 40, "spark": 5}


@pytest.mark.usefixtures("small_joins")
@pytest.mark.parametrize("name", ["postgres", "spark"])
def test_other_engines_keep_the_rows_in_joins_that_the_reference_keeps(name: str) -> None:
    here = world(0)
    tables = ComparedTables(engine(name), here, owned(small_database(here, "agree")))
    joins = list(islice(filter(joins_units, plans(400, where=0)), JOINS[name]))
    assert len(joins) == JOINS[name]
    assert [str(each) for plan in joins for each in tables.differences(plan)] == []
    engine(name).hold(())


PLANS = {"duckdb": 200, "postgres": 200, "spark": 10}


@pytest.mark.parametrize("name", ENGINES)
def test_generated_plans_give_what_the_reference_gives(name: str) -> None:
    report = check(engine(name), expressions=0, plans=PLANS[name])
    assert report.differences == []
    assert report.plans == PLANS[name]
