"""The goodness-of-fit test itself: it accepts the law, and notices a few outcomes that should not occur."""

from __future__ import annotations

import pytest

from checks import ALARM, SeededEntropy, chi_square
from dalenius.randomness.laplace import discrete_laplace
from dalenius.randomness.laws import DiscreteLaplaceLaw


@pytest.mark.parametrize("planted", [0, 30])
def test_outliers_are_noticed(planted: int) -> None:
    law = DiscreteLaplaceLaw("0.5")
    draws = discrete_laplace("0.5", 100_000, entropy=SeededEntropy("outliers"))
    draws[:planted] = 60
    p_value = chi_square(draws, lambda z: float(law.pmf(z)))
    assert (p_value > ALARM) == (planted == 0)
