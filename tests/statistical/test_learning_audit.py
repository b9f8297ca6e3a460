"""Many fits on neighbours, one of which has a canary: no more is found than was claimed, and a fit that is wrong is.

Each audit is made at the confidence 1 - 10^-9 and each count of batches at 10^-6, so that right code fails less than
once in 100,000 runs of this file. Planted training bugs are in `tests/planted/trainings.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from costs import cases
from dalenius.checks.training.forms import Form, first_of_each, shortened
from dalenius.checks.training.replays import ALARM, inclusions, of_form

FITS, MANY_FITS = 100, 1_000
FAR_MORE = 2_000
"""An epsilon that leaves next to no noise."""
TWIN_FITS = 200
"""Of 100 fits, one audit in 30 chose an event that proved too little; of 200, every bound is far above the claim."""
QUICK = ("MeanEstimator", "BernoulliNB", "GradientBoostingClassifier")


@pytest.fixture(autouse=True)
def _short() -> Iterator[None]:
    with shortened():
        yield


# ---- every estimator


@cases("form", first_of_each(), ids=str, fast=1)
def test_no_fit_shows_more_of_a_canary_than_was_claimed(form: Form) -> None:
    found = of_form(form, FITS)
    assert not found.refuted, found


@cases("form", [form for form in first_of_each() if form.estimator in QUICK], ids=str, fast=1)
def test_a_fit_that_costs_more_than_it_claims_shows_its_canary(form: Form) -> None:
    found = of_form(form, TWIN_FITS, paid=FAR_MORE)
    assert found.refuted, found


# ---- batches


@pytest.mark.parametrize("steps", [5_000, pytest.param(100_000, marks=pytest.mark.deep)])
def test_every_row_is_in_every_batch_with_the_same_chance(steps: int) -> None:
    found = inclusions(steps)
    assert min(found.values()) > ALARM, found
