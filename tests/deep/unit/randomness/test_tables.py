"""The dear tests of `unit/randomness/test_tables.py`."""

from __future__ import annotations

import subprocess
import sys

from tests.unit.randomness import test_tables

_digits = test_tables._digits

MEMORY = """
import resource
from dalenius.randomness import discrete_gaussian, discrete_laplace
for drawn in (discrete_laplace(10**6, 10**7), discrete_gaussian(10**12, 10**7)):
    assert drawn.shape == (10**7,)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def test_ten_million_draws_take_less_than_a_gigabyte() -> None:
    peak = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, check=True, text=True)
    assert int(peak.stdout) < 10**9
