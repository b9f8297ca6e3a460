"""The dear tests of `statistical/test_learning_audit.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.training.forms import FORMS, Form
from dalenius.checks.training.replays import CLAIM, GRADIENT_CLAIMS, of_form, of_gradients
from tests.full.statistical.test_learning_audit import MANY
from tests.statistical import test_learning_audit
from tests.statistical.test_learning_audit import FAR_MORE, MANY_FITS

_short = test_learning_audit._short

PAID = [form for form in FORMS if not form.free]


@pytest.mark.parametrize("share", GRADIENT_CLAIMS, ids=["full batches", "Poisson batches"])
def test_no_training_of_many_shows_more_of_a_canary_than_was_claimed(share: float | None) -> None:
    found = of_gradients(share, MANY)
    assert not found.refuted, found


@pytest.mark.parametrize("form", PAID, ids=str)
def test_no_fit_of_many_shows_more_of_a_canary_than_was_claimed(form: Form) -> None:
    for claim in (CLAIM, 1):
        found = of_form(form, MANY_FITS, claim=claim)
        assert not found.refuted, found


@pytest.mark.parametrize("form", PAID, ids=str)
def test_every_fit_that_costs_more_than_it_claims_shows_its_canary(form: Form) -> None:
    found = of_form(form, MANY_FITS, paid=FAR_MORE)
    assert found.refuted, found
