"""The dear tests of `statistical/test_samplers.py`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from checks import ALARM, SeededEntropy
from tests.statistical.test_samplers import many, p_value


@pytest.mark.textbook("S2.2")
@pytest.mark.parametrize("law", ["laplace", "gaussian", "geometric"])
def test_ten_million_draws_follow_their_law_and_one_percent_is_noticed(law: str) -> None:
    scale = Fraction(10**6)
    for factor, right in ((Fraction(1), True), (Fraction(101, 100), False)):
        parts = [many(law, scale * factor, SeededEntropy((law, factor, part))) for part in range(50)]
        assert (p_value(law, scale, np.concatenate(parts)) > ALARM) == right
