"""The dear tests of `statistical/test_quantile_errors.py`."""

from __future__ import annotations

import pytest

from tests.statistical.test_quantile_errors import BETA, DATA, mechanism, released, rows_of


@pytest.mark.parametrize("shape", DATA)
@pytest.mark.parametrize("targets", [("1/4", "1/2", "3/4"), ("1/5", "2/5", "3/5", "4/5"), ("1/2", "1")])
def test_the_expected_rank_errors_of_several_quantiles_are_those_of_releases(
    targets: tuple[str, ...], shape: str
) -> None:
    """4,000 releases: one standard deviation is 2.3 %."""
    m = mechanism(*targets, size=1000, share=0.02)
    errors = released(m, rows_of(shape, 1000), 4000)
    for p, error in zip(targets, errors, strict=True):
        if p != "1" or shape == "even":
            assert float(m.typical_rank_error(p, BETA)) == pytest.approx(error, rel=0.25)
