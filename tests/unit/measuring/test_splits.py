"""Parts of a split are never negative, add up to one constant, and give back the count and the sums of powers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.engines.reference.engine import contribution
from dalenius.engines.reference.relations import Row
from dalenius.measuring.measurements import listed_change
from dalenius.measuring.moments import Split, split_sums
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.query.plan.passes import Total

ADD, REPLACE = AddRemove(), Replace()
ends = st.integers(-(10**12), 10**12)


def parts_of(split: Split, x: int) -> list[int]:
    """What the definition says."""
    above, below = x - split.lower, split.upper - x
    degree = split.degree
    return [factor * above ** (degree - place) * below**place for place, factor in enumerate(split.factors)]


def measured(split: Split, values: list[int], rows: int = 10**9) -> list[int]:
    """The parts of one unit, as they are made of the totals that an engine gives, scaled down to so many rows."""
    products = [parts_of(split, x)[:-1] for x in values]
    plain = [[size // factor for size, factor in zip(row, split.factors, strict=False)] for row in products]
    table = [Row(None, {f"s{place}": size for place, size in enumerate(row)}) for row in plain]
    totals = [Total("rows"), *(Total("sum", f"s{place}") for place in range(split.degree))]
    counted = [np.array([contribution(total, table, rows)], dtype=object) for total in totals]
    return [int(size) for size in split_sums(split.whole, split.factors, counted)[0]]


@given(st.lists(ends, min_size=2, max_size=8), st.sampled_from([1, 2]))
def test_parts_add_up_and_give_back_the_sums_of_all_powers(values: list[int], degree: int) -> None:
    split = Split(min(values), max(values), degree)
    if not split.whole:
        return
    middle = (split.lower + split.upper) // 2
    sums = measured(split, values)
    assert sums == [sum(each) for each in zip(*(parts_of(split, x) for x in values), strict=True)]
    assert min(sums) >= 0
    assert sum(sums) == len(values) * split.whole
    for power, shares in enumerate(split.powers()):
        found = sum(share * part for share, part in zip(shares, sums, strict=True))
        assert found == sum((x - middle) ** power for x in values)


def gifts(split: Split, rows: int, groups: int) -> Iterator[tuple[int, ...]]:
    """Everything that one unit with up to one row more than counts can give to that many of three keys."""
    values = range(split.lower, split.upper + 1)
    sets = [list(each) for size in range(rows + 2) for each in combinations_with_replacement(values, size)]
    one = {tuple(measured(split, each, rows)) for each in sets}
    for each in product(one, repeat=groups):
        yield tuple(size for parts in each for size in parts) + (0,) * ((3 - groups) * (split.degree + 1))


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize(("lower", "upper", "degree", "rows", "groups"), [
    (0, 1, 1, 1, 1), (0, 1, 1, 2, 2), (-2, 3, 1, 2, 1), (4, 6, 1, 3, 1), (0, 3, 2, 2, 1), (-1, 1, 2, 1, 2),
    (0, 1, 2, 3, 1),
])  # fmt: skip
def test_the_largest_change_of_a_split_is_the_stated_one(
    neighbours: Neighbours, lower: int, upper: int, degree: int, rows: int, groups: int
) -> None:
    split = Split(lower, upper, degree)
    stated = listed_change(neighbours, groups=groups, rows=rows * split.whole)
    units = sorted(set(gifts(split, rows, groups)))
    assert all(min(unit) >= 0 for unit in units)
    others = [(0,) * len(units[0])] if isinstance(neighbours, AddRemove) else units
    changes = [np.array(first) - np.array(second) for first, second in product(units, others)]
    assert max(int(np.abs(change).sum()) for change in changes) == stated.l1
    assert max(int((change * change).sum()) for change in changes) == stated.l2_squared
    assert max(int(np.abs(change).max()) for change in changes) == stated.linf
    assert stated.monotone == all(change.min() >= 0 or change.max() <= 0 for change in changes)


@given(ends, st.integers(1, 10**6), st.integers(-(10**13), 10**13), st.sampled_from([1, 2]))
def test_a_value_outside_of_the_range_gives_no_more_once_its_products_are_clamped(
    lower: int, width: int, x: int, degree: int
) -> None:
    split, above, below = Split(lower, lower + width, degree), x - lower, lower + width - x
    products = [above] if degree == 1 else [above * above, above * below]
    clamped = [np.array([min(max(product, 0), split.whole)], dtype=object) for product in products]
    sums = split_sums(split.whole, split.factors, [np.array([1], dtype=object), *clamped])
    assert sums.min() >= 0
    assert sums.sum() == split.whole


def test_the_check_above_notices_a_part_that_is_counted_twice() -> None:
    split = Split(0, 3, 2)
    doubled = [a + b + 2 * m for a, m, b in (parts_of(split, x) for x in range(4))]
    stated = listed_change(ADD, groups=1, rows=split.whole)
    assert stated.l1 is not None
    assert max(doubled) > stated.l1


def test_wide_sums_stay_exact() -> None:
    split = Split(0, 10**12, 2)
    counts, squares, products = (np.array([each]) for each in (3, 10**18, 2 * 10**18))
    assert split_sums(split.whole, split.factors, [counts, squares, products]).tolist() == [
        [10**18, 4 * 10**18, 3 * 10**24 - 5 * 10**18]
    ]
