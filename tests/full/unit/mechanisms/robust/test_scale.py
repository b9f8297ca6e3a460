"""The dear tests of `unit/mechanisms/robust/test_scale.py`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from checks import ALARM, SeededEntropy, chi_square
from dalenius.mechanisms.robust.profiles import Ordered
from dalenius.mechanisms.robust.scale import (
    interquartile_range,
)
from dalenius.privacy.reals import ball, precise
from tests.unit.mechanisms.robust.test_scale import below, scale


def test_the_noise_follows_its_law() -> None:
    mechanism = scale(upper=10**6, epsilon=Fraction(30), delta=Fraction(1, 10))
    rows, source = [place * 1024 for place in range(100)], SeededEntropy("law")
    here = interquartile_range(Ordered.of(rows, lower=0, upper=10**6))
    drawn = [mechanism.release(rows, source) for _ in range(4000)]
    steps = np.array([int(each.log2 * 64) for each in drawn if each and each.log2 is not None])
    assert len(steps) == 4000

    def chance(step: int, rate: float = 10) -> float:
        with precise():
            ends = [
                below(ball(Fraction(rate)) * (ball(Fraction(step + up, 64)) - ball(here).log() / ball(2).log()))
                for up in (0, 1)
            ]
            return float((ends[1] - ends[0]).mid())

    assert chi_square(steps, chance) > ALARM
    assert chi_square(steps, lambda step: chance(step, 13)) < ALARM
