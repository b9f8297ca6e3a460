"""Enumeration finds the textbook's sensitivities, the catalogue agrees with it, and so do privacy figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from inspect import isfunction, signature
from itertools import product

import pytest

from dalenius.errors import InvalidParameter, MissingNeighbours, NeighbourMismatch, TheoremDoesNotApply
from dalenius.privacy.divergences import Distribution, max_divergence
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.textbook.privacy import sensitivities as catalogue
from dalenius.textbook.privacy.databases import rows_of, size
from dalenius.textbook.privacy.sensitivities import global_sensitivity, neighbouring, utility_sensitivity, worst_delta
from dalenius.textbook.privacy.smooth import median

BITS = (0, 1)
THIRDS = (Fraction(0), Fraction(1, 3), Fraction(2, 3), Fraction(1))
RELATIONS = (AddRemove(), Replace())


def sizes(relation: Neighbours, most: int, least: int = 0) -> list[int]:
    """Add/remove walks between sizes; replacing stays at one."""
    return list(range(least, most + 1)) if isinstance(relation, AddRemove) else [most]


def exact(
    function: Callable[[Counter], object], relation: Neighbours, universe: tuple, most: int, least: int = 0
) -> Sensitivity:
    return global_sensitivity(function, universe=universe, sizes=sizes(relation, most, least), neighbours=relation)


def mean(database: Counter[Fraction]) -> Fraction:
    return sum((value * count for value, count in database.items()), Fraction(0)) / size(database)


def covariance(database: Counter[tuple[Fraction, Fraction]]) -> Fraction:
    rows = rows_of(database)
    total = [sum((row[i] for row in rows), Fraction(0)) / len(rows) for i in (0, 1)]
    return sum(((a - total[0]) * (b - total[1]) for a, b in rows), Fraction(0)) / len(rows)


def two_means(database: Counter[int]) -> tuple[Fraction, ...]:
    """The best two cluster centres on a line, ties going to the lower split."""
    rows = sorted(rows_of(database))

    def cost(part: list[int]) -> Fraction:
        centre = Fraction(sum(part), len(part))
        return sum(((x - centre) ** 2 for x in part), Fraction(0))

    splits = [(cost(rows[:cut]) + cost(rows[cut:]), cut) for cut in range(1, len(rows))]
    _, cut = min(splits)
    return Fraction(sum(rows[:cut]), cut), Fraction(sum(rows[cut:]), len(rows) - cut)


@pytest.mark.textbook("S3.1")
def test_pairs_of_neighbours_come_in_both_orders() -> None:
    pairs = [
        (tuple(sorted(rows_of(x))), tuple(sorted(rows_of(y))))
        for x, y in neighbouring(universe=BITS, sizes=[1, 2], neighbours=AddRemove())
    ]
    assert sorted(pairs) == sorted((y, x) for x, y in pairs)
    assert len(pairs) == len(set(pairs)) == 2 * 4


@pytest.mark.textbook("S3.1")
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_a_mean_of_known_size_moves_by_one_over_n_under_replace_only(rows: int) -> None:
    assert exact(mean, Replace(), THIRDS, rows).l1 == Fraction(1, rows)
    under_add_remove = exact(mean, AddRemove(), THIRDS, rows + 1, least=rows).l1
    assert under_add_remove == Fraction(1, rows + 1)
    assert exact(mean, AddRemove(), THIRDS, 4, least=1).l1 == Fraction(1, 2)


@pytest.mark.textbook("S3.2")
def test_l1_and_l2_of_a_histogram_under_both_relations() -> None:
    def histogram(database: Counter[str]) -> list[int]:
        return [database[cell] for cell in "abc"]

    one, two = (exact(histogram, relation, ("a", "b", "c"), 2) for relation in RELATIONS)
    assert (one.l1, one.l2_squared, one.monotone) == (1, 1, True)
    assert (two.l1, two.l2_squared, two.monotone) == (2, 2, False)


@pytest.mark.textbook("S3.2")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_norms_are_ordered_l2_below_l1_below_root_d_times_l2(relation: Neighbours) -> None:
    """One text prints the chain of norms scrambled; both ends are met, and read the other way round it fails."""
    weights = ((1, 0, 0), (1, 1, 1), (2, 1, 0))
    found = [
        exact(lambda database, w=row: [w[i] * database[1] for i in range(3)], relation, BITS, 2) for row in weights
    ]
    for each in found:
        assert each.l2_squared <= each.l1**2 <= 3 * each.l2_squared
    assert found[0].l1 ** 2 == found[0].l2_squared
    assert found[1].l1 ** 2 == 3 * found[1].l2_squared
    assert found[2].l1 ** 2 > found[2].l2_squared  # so l1 is not below l2
    assert found[2].l2_squared > found[2].linf ** 2


@pytest.mark.textbook("S3.2")
def test_a_bound_on_l1_bounds_l2_but_a_bound_on_l2_says_nothing_of_l1() -> None:
    assert Sensitivity(l1=3).l2_squared == 9
    assert Sensitivity(l1=3, linf=1).l2_squared == 3
    assert Sensitivity(l2_squared=9).l1 is None


@pytest.mark.textbook("S3.3")
def test_utility_sensitivity_ignores_how_candidates_differ() -> None:
    def revenue(bids: Counter[int], price: int) -> int:
        return price * sum(count for bid, count in bids.items() if bid >= price)

    prices = (1, 2, 5)
    found = utility_sensitivity(
        revenue, candidates=prices, universe=(0, 1, 2, 5), sizes=[0, 1, 2], neighbours=AddRemove()
    )
    assert found.linf == max(prices)
    assert found.l1 == sum(prices)  # what summing over candidates would give

    def shifted(bids: Counter[int], price: int) -> int:
        return revenue(bids, price) + 1000 * price

    again = utility_sensitivity(
        shifted, candidates=prices, universe=(0, 1, 2, 5), sizes=[0, 1, 2], neighbours=AddRemove()
    )
    assert again == found
    with pytest.raises(InvalidParameter, match="at least one candidate"):
        utility_sensitivity(revenue, candidates=(), universe=(0, 1), sizes=[1], neighbours=Replace())


@pytest.mark.textbook("S3.3")
def test_candidates_taken_from_the_data_break_privacy() -> None:
    def choose(bids: Counter[int]) -> Distribution[int]:
        return Distribution.uniform(bids)  # the candidates are the bids themselves

    assert max_divergence(choose(Counter({1: 3, 7: 1})), choose(Counter({1: 3}))) == math.inf


@pytest.mark.textbook("S3.4")
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_low_part_of_the_catalogue_is_exact(relation: Neighbours) -> None:
    assert catalogue.count(relation) == exact(lambda x: x[1], relation, BITS, 3)
    pairs = tuple(product(BITS, repeat=2))
    assert catalogue.count(relation) == exact(lambda x: x[1, 1], relation, pairs, 2)  # both bits set
    assert catalogue.histogram(relation) == exact(lambda x: [x[cell] for cell in "abc"], relation, tuple("abc"), 2)
    values = (-2, 0, 3)
    total = exact(lambda x: sum(value * count for value, count in x.items()), relation, values, 2)
    assert catalogue.bounded_sum(relation, least=-2, most=3) == total


@pytest.mark.textbook("S3.4")
@pytest.mark.parametrize("relation", RELATIONS)
def test_several_contingency_tables_are_exact(relation: Neighbours) -> None:
    rows = tuple(product(BITS, repeat=2))

    def margins(database: Counter[tuple[int, int]]) -> list[int]:
        return [sum(count for row, count in database.items() if row[i] == bit) for i in (0, 1) for bit in BITS]

    assert catalogue.contingency_tables(relation, tables=2) == exact(margins, relation, rows, 2)


@pytest.mark.textbook("S3.4", "S3.1")
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_averages_and_covariances_shrink_with_the_size(rows: int) -> None:
    assert catalogue.average(Replace(), width=1, size=rows) == exact(mean, Replace(), THIRDS, rows)
    corners = tuple(product((Fraction(0), Fraction(1)), repeat=2))
    bound = catalogue.covariance(Replace(), widths=(1, 1), size=rows)
    assert bound.l1 == exact(covariance, Replace(), corners, rows).l1 == Fraction(rows - 1, rows**2)
    for statistic in (
        lambda: catalogue.average(AddRemove(), width=1, size=rows),
        lambda: catalogue.covariance(AddRemove(), widths=(1, 1), size=rows),
    ):
        with pytest.raises(TheoremDoesNotApply, match="neighbours by replacing"):
            statistic()


@pytest.mark.textbook("S3.4")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rows", [2, 3, 5])
def test_order_statistics_jump_across_the_whole_range_at_every_size(relation: Neighbours, rows: int) -> None:
    values = (0, 3, 10)
    for rank in range(rows - 1):
        statistic = exact(lambda x, rank=rank: sorted(rows_of(x))[rank], relation, values, rows, least=rows - 1)
        assert statistic == catalogue.order_statistic(relation, least=0, most=10)
    middle = exact(lambda x: median(rows_of(x)), relation, values, rows, least=rows - 1)
    assert middle == catalogue.median(relation, least=0, most=10) == Sensitivity.of(10)


@pytest.mark.textbook("S3.4")
def test_every_coordinate_of_every_cluster_centre_may_cross_the_box() -> None:
    bound = catalogue.cluster_centres(Replace(), centres=3, dimensions=2, width=5)
    assert (bound.l1, bound.l2_squared, bound.linf) == (3 * 2 * 5, 3 * 2 * 25, 5)


@pytest.mark.textbook("S3.4")
def test_cluster_centres_move_a_fixed_part_of_the_range_at_every_size() -> None:
    moved = []
    for copies in (1, 2, 3, 20):
        before = Counter({0: copies, 6: copies, 12: copies})
        after = before - Counter([0]) + Counter([12])
        assert Replace().related(before, after)
        gaps = [abs(a - b) for a, b in zip(two_means(before), two_means(after), strict=True)]
        moved.append(max(gaps))
        bound = catalogue.cluster_centres(Replace(), centres=2, dimensions=1, width=12)
        assert sum(gaps) <= (bound.l1 or 0)
    assert min(moved) >= 3  # a quarter of the range, also with 60 rows


@pytest.mark.textbook("S3.4")
def test_the_catalogue_lists_every_statistic_once() -> None:
    own = {item for item in vars(catalogue).values() if isfunction(item) and item.__module__ == catalogue.__name__}
    told = {item.__name__ for item in own if next(iter(signature(item).parameters)) == "neighbours"}
    assert {name for name in told if not name.startswith("_")} == {*catalogue.LOW, *catalogue.HIGH}
    assert not {*catalogue.LOW} & {*catalogue.HIGH}
    with pytest.raises(MissingNeighbours):
        catalogue.count(None)
    with pytest.raises(InvalidParameter):
        catalogue.median(Replace(), least=1, most=0)


@pytest.mark.textbook("S1.3")
def test_a_guarantee_is_the_worst_over_parameters_neighbours_and_events() -> None:
    """Randomized response about whether row w is in the data, with odds 3 for w = 1 and odds 4 for w = 2."""

    def mechanism(database: Counter[int], w: int) -> dict[str, Fraction]:
        truth, odds = database[w] > 0, {1: 3, 2: 4}[w]
        keep = Fraction(odds, odds + 1)
        return {"yes": keep if truth else 1 - keep, "no": 1 - keep if truth else keep}

    def worst(parameters: tuple[int, ...], odds: int) -> Fraction:
        return worst_delta(
            mechanism, parameters=parameters, universe=(1, 2), sizes=[0, 1, 2], neighbours=AddRemove(), odds=odds
        )

    assert worst((1,), 3) == 0
    assert worst((1, 2), 4) == 0
    assert worst((1, 2), 3) == Fraction(4, 5) - 3 * Fraction(1, 5)


def test_sizes_without_neighbours_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="at which neighbours exist"):
        global_sensitivity(size, universe=BITS, sizes=[2], neighbours=AddRemove())


@pytest.mark.textbook("S1.3")
def test_a_check_that_would_check_nothing_is_refused() -> None:
    def printed(x: Counter[int], _: int) -> dict[object, int]:
        return {tuple(sorted(x.items())): 1}

    with pytest.raises(InvalidParameter, match="nothing to check"):
        worst_delta(printed, parameters=[0], universe=[0, 1], sizes=[2], neighbours=AddRemove(), epsilon=1)
    with pytest.raises(InvalidParameter, match="nothing to check"):
        worst_delta(printed, parameters=[], universe=[0, 1], sizes=[1, 2], neighbours=AddRemove(), epsilon=1)
    assert worst_delta(printed, parameters=[0], universe=[0, 1], sizes=[1, 2], neighbours=AddRemove(), epsilon=1) == 1


@pytest.mark.textbook("S1.2")
def test_sensitivities_remember_their_neighbours() -> None:
    for sensitivity in (catalogue.histogram(AddRemove()), catalogue.count(AddRemove())):
        assert sensitivity.neighbours == AddRemove()
        with pytest.raises(NeighbourMismatch):
            Exact([1, 2], sensitivity=sensitivity, neighbours=Replace())
