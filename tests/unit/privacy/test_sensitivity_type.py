"""A sensitivity derives the norms that the stated ones imply, and no others."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter, UnknownSensitivity
from dalenius.privacy.sensitivity import Sensitivity


def test_a_number_is_the_same_in_every_norm() -> None:
    single = Sensitivity.of(3)
    assert (single.l1, single.l2_squared, single.linf, single.monotone) == (3, 9, 3, True)
    assert Sensitivity.of(single) is single


@pytest.mark.textbook("S3.2")
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=6))
def test_derived_norms_bound_every_change_that_the_stated_ones_allow(change: list[int]) -> None:
    l1, linf = sum(map(abs, change)), max(map(abs, change))
    derived = Sensitivity(l1=Fraction(l1), linf=Fraction(linf))
    assert derived.l2_squared is not None
    assert derived.l2_squared >= sum(entry * entry for entry in change)
    alone = Sensitivity(l1=Fraction(l1))
    assert alone.linf is not None
    assert alone.linf >= linf


def test_what_does_not_follow_stays_unknown() -> None:
    only_l2 = Sensitivity(l2_squared=Fraction(4))
    assert only_l2.l1 is None
    with pytest.raises(UnknownSensitivity, match="the Laplace mechanism needs a bound on the l1 change"):
        only_l2.need("l1", mechanism="the Laplace mechanism")


def test_a_sparse_change_is_counted_per_coordinate() -> None:
    groups = Sensitivity.sparse(coordinates=5, each=2)
    assert (groups.l1, groups.l2_squared, groups.linf) == (10, 20, 2)


def test_several_steps_scale_every_norm_and_are_never_monotone() -> None:
    twice = Sensitivity.of(1) * 2
    assert (twice.l1, twice.l2_squared, twice.linf, twice.monotone) == (2, 4, 2, False)


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "many", None])
def test_bad_bounds_are_refused(bad: object) -> None:
    with pytest.raises(InvalidParameter):
        Sensitivity.of(bad)  # type: ignore[arg-type]
    if bad is not None:
        with pytest.raises(InvalidParameter):
            Sensitivity(l1=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["no", 1, None])
def test_monotone_is_yes_or_no(bad: object) -> None:
    with pytest.raises(InvalidParameter, match="monotone"):
        Sensitivity(linf=1, monotone=bad)  # type: ignore[arg-type]
