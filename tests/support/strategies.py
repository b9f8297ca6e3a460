"""Generated cases that several tests share."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from dalenius.privacy.divergences import Distribution


def distributions(outcomes: int = 4, least: int = 0) -> st.SearchStrategy[Distribution[int]]:
    """Exact distributions on 0, ..., outcomes - 1; with `least` above 0 every outcome has positive mass."""
    weights = st.lists(st.integers(least, 12), min_size=outcomes, max_size=outcomes).filter(any)
    return weights.map(lambda drawn: Distribution.weighted(dict(enumerate(drawn))))


def odds(most: int = 6) -> st.SearchStrategy[Fraction]:
    """Exact stand-ins for e^epsilon."""
    return st.fractions(1, most, max_denominator=12)
