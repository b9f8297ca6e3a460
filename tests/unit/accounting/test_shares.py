"""The cheapest share that suffices is found in few steps."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.shares import cheapest_within


def test_a_target_beyond_the_whole_budget_has_no_price() -> None:
    assert cheapest_within(lambda share: Fraction(2)) is None
    assert cheapest_within(lambda share: None) is None


def roots(share: Fraction, needed: Fraction, power: float) -> Fraction:
    return Fraction(float(needed / share) ** power)


@given(st.fractions(Fraction(1, 10**9), 1), st.sampled_from([0.25, 0.5, 1.0, 2.0]), st.booleans())
def test_the_share_at_which_an_excess_ends_is_found_in_few_steps(needed: Fraction, power: float, known: bool) -> None:
    """Also where nothing is known of less than a part of it, and where it falls by steps."""
    for curve in (roots, lambda *given: Fraction(ceil(100 * roots(*given)), 100)):
        tried: list[Fraction] = []

        def excess(share: Fraction, curve: Any = curve, tried: list[Fraction] = tried) -> Fraction | None:
            tried.append(share)
            return curve(share, needed, power) if known or share >= needed / 3 else None

        found = cheapest_within(excess, halvings=30)
        assert found is not None
        assert excess(found) <= 1 < (excess(found * Fraction(998, 1000)) or 2) or found == 1  # type: ignore[operator]
        assert len(tried) <= 36


def test_an_excess_that_is_a_power_of_the_share_is_met_after_a_handful() -> None:
    tried: list[Fraction] = []
    cheapest_within(lambda share: (tried.append(share), roots(share, Fraction(1, 777), 0.5))[1], halvings=30)
    assert len(tried) <= 6
