"""Numbers and dates lie on public lines, from -ONE to ONE, however they are cut into bins."""

from __future__ import annotations

import numpy as np
import pytest

import dalenius as dl
from dalenius.learn.rows import ONE
from dalenius.learn.tables import Encoder
from dalenius.learn.terms import ClampedLine, offsets
from dalenius.query.types import Domain, Number
from dalenius.tabular.columns import BinnedColumn

WIDE = 2**100


def number(lower: int, upper: int, width: int, *, nullable: bool = False) -> BinnedColumn:
    """Whole numbers, cut into bins of a width."""
    cut = Number(nullable, lower // width, upper // width, dl.Int(0, 1).step * width)
    return BinnedColumn("x", Number(nullable, lower, upper), cut)


def steps(axis: BinnedColumn) -> list[int]:
    return ClampedLine.of(axis).at(offsets(axis)).tolist()


def test_a_range_goes_from_one_end_of_the_grid_to_the_other() -> None:
    assert steps(number(0, 4, 1)) == [-ONE, -ONE // 2, 0, ONE // 2, ONE]
    assert steps(number(7, 7, 1)) == [0]


@pytest.mark.parametrize(
    ("lower", "upper", "width"), [(0, 99, 10), (-50, 49, 7), (3, 1000, 20), (-WIDE, WIDE, WIDE // 64)]
)
def test_a_bin_lies_where_its_middle_is(lower: int, upper: int, width: int) -> None:
    axis = number(lower, upper, width)
    middles = [(run[0] + run[-1]) / 2 for run in axis.runs]  # type: ignore[operator]
    wanted = (np.array(middles) - (lower + upper) / 2) / ((upper - lower) / 2) * ONE
    off = np.abs(np.array(steps(axis)) - wanted)
    assert off[1:-1].max() <= 1
    assert off.max() <= 1 + ONE * width / (upper - lower), "bins at the ends may be cut off"


@pytest.mark.parametrize("width", [10**6, 10**30])
def test_bins_wider_than_the_range_stay_on_the_grid(width: int) -> None:
    assert all(abs(step) <= ONE for step in steps(number(-9, 9, width)))


@pytest.mark.parametrize(
    "domain", [dl.Date("2024-01-01", "2024-12-31"), dl.Timestamp("2024-01-01", "2024-01-01 00:00:01")]
)
def test_dates_are_numbers_too(domain: Domain) -> None:
    few = domain.within(domain.lower, domain.lower + 365)  # type: ignore[attr-defined]
    found = steps(BinnedColumn("day", few, few))
    assert (found[0], found[-1]) == (-ONE, ONE)
    assert found == sorted(found)


def test_null_is_in_the_middle() -> None:
    assert Encoder((number(0, 4, 1, nullable=True),)).tables[0][-1] == [0]
