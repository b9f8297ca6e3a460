"""The dear tests of `laws/test_estimator_laws.py`."""

from __future__ import annotations

from dalenius.checks.training.arrays import NeighbouringTables
from dalenius.checks.training.forms import Form
from dalenius.checks.training.replays import on_tables
from tests.laws import test_estimator_laws
from tests.laws.test_estimator_laws import every_form, every_form_of_tables, fitting, require_alike

databases = test_estimator_laws.databases


@every_form
def test_whole_fits_are_alike_on_all_neighbours(form: Form) -> None:
    require_alike(form, few=False)


@every_form_of_tables
def test_whole_fits_of_private_tables_are_alike_on_all_neighbours(
    form: Form, databases: list[NeighbouringTables]
) -> None:
    for tables in fitting(form, databases):
        found = on_tables(form, tables)
        assert found.passed, (tables.name, [str(each) for each in found.findings])
        assert found.error is None, tables.name
