"""The dear tests of `unit/textbook/release/test_per_query.py`."""

from __future__ import annotations

import numpy as np
import pytest

from checks import SeededEntropy
from tests.unit.textbook.release.test_per_query import Given, repeats


@pytest.mark.textbook("S9.16")
def test_the_test_above_notices_a_memory_that_forgets(sealed: Given, paid: Given) -> None:
    noise = repeats().mechanism
    fresh = [repeats().ask([1, 0, 1], sealed([600, 300, 100]), paid(noise.loss(sensitivity=1)), SeededEntropy(run))
             for run in range(1000)]  # fmt: skip
    assert len({answer.people for answer in fresh}) > 5
    assert abs(float(np.mean([answer.people for answer in fresh])) - 700) < 0.5
