"""The dear tests of `statistical/test_error_bars.py`."""

from __future__ import annotations

import pytest

from tests.statistical.test_error_bars import GRID, Group, covered


@pytest.mark.parametrize("kind", ["variance", "stddev", "covariance", "correlation"])
@pytest.mark.parametrize(("family", "epsilon", "size", "shape_of"), GRID)
def test_all_bars_of_second_moments_cover_their_level(
    kind: str, family: str, epsilon: str, size: int, shape_of: str
) -> None:
    assert covered(Group(family, epsilon, size, shape_of), kind) >= 0.94
