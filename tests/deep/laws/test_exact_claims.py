"""The dear tests of `laws/test_exact_claims.py`."""

from __future__ import annotations

import pytest

from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES
from tests.laws.test_exact_claims import ONE, ROUNDING, checked


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_claim_is_refuted(case: Case) -> None:
    assert checked(case).holds(case.claim(ONE), tolerance=ROUNDING) is not False
