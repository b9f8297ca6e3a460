"""Trimmed means, scales, modes and quantiles where the number of values is private and a unit has several: bounds hold
for all small databases, distances equal those found by trying all, and no pair of neighbours refutes the claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
import pytest
from flint import arb

from checks import SeededEntropy
from costs import cases
from dalenius.errors import TheoremDoesNotApply
from dalenius.mechanisms.robust.order_statistics import FINENESS, SmoothTrimmedMean
from dalenius.mechanisms.robust.profiles import Ordered, TrimmedReach
from dalenius.mechanisms.robust.propose_test_release import ProposedQuantile
from dalenius.mechanisms.robust.scale import SYSTEMS, InterquartileScale, Spread, System, bin_edges, edits_out_of_bin
from dalenius.mechanisms.robust.smooth import SmoothCauchy, smooth_bound
from dalenius.mechanisms.robust.stability import FAR, stable_leader
from dalenius.mechanisms.robust.stable_answers import StableMode, StableQuantile
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.losses import ApproximateDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import ball, precise
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.verify.checked import finite

ADD, REPLACE = AddRemove("row"), Replace("row")
CAUCHY = SmoothCauchy.calibrated(epsilon=2)
Rows = tuple[int, ...]
TRIMS = [Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)]


def up_to(size: int, top: int) -> Iterator[Rows]:
    for count in range(size + 1):
        yield from combinations_with_replacement(range(top + 1), count)


def edits(first: Rows, second: Rows) -> int:
    before, after = Counter(first), Counter(second)
    return sum((before - after).values()) + sum((after - before).values())


def a_step_apart(first: Rows, second: Rows, rows: int) -> bool:
    """Whether one has up to `rows` values more than the other, and is else the same."""
    small, large = sorted((Counter(first), Counter(second)), key=Counter.total)
    return small <= large and 0 < large.total() - small.total() <= rows


def trimmed(trim: Fraction, top: int, **options: Any) -> SmoothTrimmedMean:
    return SmoothTrimmedMean(**{"lower": 0, "upper": top, "noise": CAUCHY, "neighbours": ADD, "trim": trim, **options})


def ordered(rows: Rows, top: int) -> Ordered:
    return Ordered.of(rows, lower=0, upper=top)


# ---- trimmed means


@pytest.mark.textbook("S11.1", "S3.6")
@pytest.mark.parametrize("trim", TRIMS, ids=str)
def test_a_trimmed_mean_is_the_mean_of_the_quantiles_between(trim: Fraction) -> None:
    """Each value repeated 20 times: then a whole number of them is left out at each end."""
    for rows in up_to(6, 3):
        many = sorted(rows * 20)
        cut = int(trim * len(many))
        kept = many[cut : len(many) - cut]
        expected = Fraction(sum(kept), len(kept)) if kept else 0
        assert trimmed(trim, 3).statistic(ordered(rows, 3)) == expected


@pytest.mark.textbook("S11.1", "S3.6")
@cases("rows", [1, 2], fast=1)
@pytest.mark.parametrize("trim", TRIMS, ids=str)
def test_no_step_moves_a_trimmed_mean_further_than_its_profile_says(trim: Fraction, rows: int) -> None:
    top, every = 3, list(up_to(6, 3))
    means = {each: trimmed(trim, top).statistic(ordered(each, top)) * FINENESS // 1 for each in every}
    profiles = {each: TrimmedReach(ordered(each, top), trim, FINENESS, rows) for each in every}
    curves = {each: [profiles[each](k) for k in range(8)] for each in every}
    for first in every:
        assert all(low <= high for low, high in pairwise(curves[first]))
        for second in every:
            if a_step_apart(first, second, rows):
                assert abs(means[first] - means[second]) <= curves[first][0]
                assert all(here <= there for here, there in zip(curves[first], curves[second][1:], strict=False))


def test_the_check_above_notices_a_profile_that_forgets_other_values_of_a_unit() -> None:
    top, every, wrong = 4, list(up_to(5, 4)), 0
    means = {each: trimmed(Fraction(1, 4), top).statistic(ordered(each, top)) * FINENESS // 1 for each in every}
    for first in every:
        most = TrimmedReach(ordered(first, top), Fraction(1, 4), FINENESS)(0)
        wrong += sum(abs(means[first] - means[second]) > most for second in every if a_step_apart(first, second, 3))
    assert wrong


@pytest.mark.textbook("S11.1")
@pytest.mark.parametrize("rows", [1, 3])
def test_the_noise_of_a_trimmed_mean_keeps_its_claim_on_all_small_databases(rows: int) -> None:
    """The density of Cauchy noise on a fine grid: between neighbours shift and scale lose no more than epsilon."""
    top, mechanism = 3, trimmed(Fraction(1, 4), 3, rows=rows)
    every = list(up_to(5, top))

    @cache
    def place(each: Rows) -> tuple[float, float]:
        values = ordered(each, top)
        bound = smooth_bound(mechanism.profile(values), beta=CAUCHY.beta, most=top * FINENESS)
        return float(mechanism.statistic(values) * FINENESS // 1), float(CAUCHY.multiple * bound)

    points = np.concatenate([np.linspace(-2, 5, 800), [-1e6, 1e6]]) * FINENESS
    worst = 0.0
    for first in every:
        for second in every:
            if a_step_apart(first, second, rows):
                logs = [np.log(s) - np.log(s**2 + (points - m) ** 2) for m, s in (place(first), place(second))]
                worst = max(worst, float(np.abs(logs[0] - logs[1]).max()))
    assert mechanism.loss(sensitivity=rows) == PureDP(2)
    assert 0.2 < worst <= 2


def test_dense_data_have_a_trimmed_mean_with_little_noise() -> None:
    rows = [int(value) for value in np.random.default_rng(5).normal(50_000, 1000, 20_000)] + [10**6] * 200
    mechanism = trimmed(Fraction(1, 20), 10**6, rows=2)
    found = [float(mechanism.release(rows, SeededEntropy(turn))) for turn in range(11)]
    assert abs(np.median(found) - 50_000) < 60
    values, counts = np.unique(rows, return_counts=True)
    assert mechanism.release(ValueCounts(values, counts), SeededEntropy(1)) == mechanism.release(rows, SeededEntropy(1))
    assert 0 <= mechanism.release([], SeededEntropy(1)) <= 10**6


# ---- scales


def spread(rows: Rows) -> int:
    found = sorted(rows)
    return found[-(-3 * len(rows) // 4) - 1] - found[-(-len(rows) // 4) - 1] if rows else 0


@pytest.mark.textbook("S11.5")
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(("size", "top", "largest"), [(5, 3, 9), (4, 4, 7), (6, 1, 12)])
def test_the_edits_out_of_a_bin_are_those_found_by_trying_all(
    size: int, top: int, largest: int, system: System
) -> None:
    every = list(up_to(largest, top))
    for edges in {bin_edges(spread(rows), system) for rows in every}:
        outside = [rows for rows in every if not edges[0] <= spread(rows) < edges[1]]
        away = _distances(outside, top, largest)
        for rows in every:
            found = edits_out_of_bin(ordered(rows, top), edges) if edges[0] <= spread(rows) < edges[1] else 0
            if len(rows) <= size and len(rows) + min(found, FAR) <= largest:
                assert found == away[rows]


def _distances(sources: list[Rows], top: int, largest: int) -> dict[Rows, int]:
    found, waiting = dict.fromkeys(sources, 0), list(sources)
    for rows in waiting:
        fewer = {rows[:place] + rows[place + 1 :] for place in range(len(rows))}
        more = {tuple(sorted((*rows, value))) for value in range(top + 1)} if len(rows) < largest else set()
        for other in (fewer | more) - found.keys():
            found[other] = found[rows] + 1
            waiting.append(other)
    return found


def test_nothing_moves_the_range_of_values_that_can_only_be_equal() -> None:
    assert edits_out_of_bin(ordered((0, 0), 0), (0, 1)) == FAR
    assert edits_out_of_bin(ordered((), 9), (0, 1)) == 2


def scale(**options: Any) -> InterquartileScale:
    settings = {"lower": 0, "upper": 5, "epsilon": Fraction(3), "delta": Fraction(1, 50), "neighbours": ADD}
    return InterquartileScale(**{**settings, **options})


def scale_law(mechanism: InterquartileScale, rows: Rows) -> dict[Any, arb]:
    """The exact law; the noisy logarithm in steps of a half."""
    values = ordered(rows, mechanism.upper)
    here = mechanism.statistic(values)
    with precise():
        first, second = (mechanism.test.chance(mechanism.steps_out_of_bin(values, each) - 1) for each in SYSTEMS)
        failed = (1 - first) * (1 - second)
        if not here:
            return {None: failed, "zero": 1 - failed}
        lg, rate = ball(here).log() / ball(2).log(), ball(mechanism.epsilon / 3)
        cuts = [_below(rate * (ball(Fraction(step, 2)) - lg)) for step in range(-8, 9)]
        cells = [cuts[0], *(b - a for a, b in pairwise(cuts)), 1 - cuts[-1]]
        return {None: failed, **{place: (1 - failed) * cell for place, cell in enumerate(cells)}}


def _below(z: arb) -> arb:
    return z.exp() / 2 if z < 0 else 1 - (-z).exp() / 2


@pytest.mark.textbook("S11.5")
@pytest.mark.parametrize("rows", [1, 2])
def test_no_pair_of_small_databases_refutes_the_claim_of_the_scale(rows: int) -> None:
    mechanism, databases = scale(upper=3, rows=rows), list(up_to(5, 3))
    pairs = [(x, y) for x in databases for y in databases if x < y and a_step_apart(x, y, rows)]
    loss = mechanism.loss(sensitivity=rows)
    assert loss == ApproximateDP(3, Fraction(1, 50))
    found = finite({each: scale_law(mechanism, each) for each in databases}, pairs)
    assert found.holds(loss, tolerance=Fraction(1, 10**12)) is not False
    assert found.holds(ApproximateDP(Fraction(1, 2), Fraction(1, 10**4))) is False


def test_a_scale_that_counts_values_where_units_have_three_is_refuted() -> None:
    """The planted twin: three values come at once, and the distance is told in values."""
    mechanism, databases = scale(upper=2, epsilon=Fraction(1), delta=Fraction(1, 10**4)), list(up_to(6, 2))
    pairs = [(x, y) for x in databases for y in databases if x < y and a_step_apart(x, y, 3)]
    found = finite({each: scale_law(mechanism, each) for each in databases}, pairs)
    assert found.holds(ApproximateDP(mechanism.epsilon, mechanism.delta)) is False


def test_large_data_give_their_scale_and_few_or_no_values_give_none() -> None:
    mechanism = scale(upper=10**9, epsilon=Fraction(6), delta=Fraction(1, 10**6), rows=3)
    rows = [int(value) for value in np.random.default_rng(3).normal(5e8, 1e5, 4000)]
    found = [mechanism.release(rows, SeededEntropy(turn)) for turn in range(40)]
    limit = float(mechanism.error("0.001"))
    assert sum(each is None or abs(np.log2(each.value / spread(tuple(rows)))) > limit for each in found) <= 1
    assert mechanism.release([5] * 4000, SeededEntropy(1)) == Spread(None)
    assert mechanism.release([0] * 4 + [10**9] * 4, SeededEntropy(1)) is None
    assert mechanism.release([], SeededEntropy(1)) is None
    with pytest.raises(TheoremDoesNotApply, match="one value of each unit"):
        scale(neighbours=REPLACE, rows=2)


# ---- modes


@pytest.mark.textbook("S11.6")
@pytest.mark.parametrize("neighbours", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("labels", [None, (0, 1, 2)], ids=["any", "listed"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_distance_of_a_mode_is_zero_next_to_another_and_moves_by_one(
    labels: Any, rows: int, neighbours: Neighbours
) -> None:
    mechanism = StableMode(labels=labels, epsilon=Fraction(1), delta=Fraction(1, 20), neighbours=neighbours, rows=rows)
    every = list(up_to(5, 2))
    found = {each: mechanism.stable(Counter(each)) for each in every}
    for first in every:
        for second in every:
            away = a_step_apart(first, second, rows) if neighbours == ADD else _replaced(first, second, rows)
            if away and found[first].answer == found[second].answer:
                assert abs(found[first].distance - found[second].distance) <= 1
            elif away:
                assert found[first].distance == found[second].distance == 0


def _replaced(first: Rows, second: Rows, rows: int) -> bool:
    before, after = Counter(first), Counter(second)
    return 0 < max((before - after).total(), (after - before).total()) <= rows


@pytest.mark.textbook("S11.6")
@pytest.mark.parametrize("rows", [1, 2])
def test_no_pair_of_small_databases_refutes_the_claim_of_the_mode(rows: int) -> None:
    mechanism = StableMode(epsilon=Fraction(1), delta=Fraction(1, 20), neighbours=ADD, rows=rows)
    databases = list(up_to(8, 1))
    pairs = [(x, y) for x in databases for y in databases if x < y and a_step_apart(x, y, rows)]

    def law(each: Rows) -> dict[Any, arb]:
        answer, distance = mechanism.stable(Counter(each))
        with precise():
            passed = mechanism.inner.test.chance(distance)
            return {None: ball(1)} if answer is None else {answer: passed, None: 1 - passed}

    loss = mechanism.loss(sensitivity=Sensitivity(l1=rows))
    found = finite({each: law(each) for each in databases}, pairs)
    assert found.holds(loss, tolerance=Fraction(1, 10**12)) is not False
    assert found.holds(ApproximateDP(Fraction(1, 2), Fraction(1, 10**3))) is False


def test_a_mode_of_values_that_nobody_listed_comes_exactly_or_not_at_all() -> None:
    mechanism = StableMode(epsilon=Fraction(1), delta=Fraction(1, 10**6), neighbours=ADD, rows=2)
    lead = mechanism.lead("0.001")
    texts = np.array(["rare", "common", "x"], dtype=object)
    clear = ValueCounts(texts, np.array([7, 7 + lead, 1]))
    assert {mechanism.release(clear, SeededEntropy(turn)) for turn in range(30)} == {"common"}
    close = ValueCounts(texts, np.array([107, 108, 1]))
    assert {mechanism.release(close, SeededEntropy(turn)) for turn in range(30)} == {None}
    assert mechanism.release(ValueCounts(texts[:0], np.array([], dtype=np.int64)), SeededEntropy(1)) is None
    assert stable_leader({"one": 5}, neighbours=ADD, rows=2).distance == 2


# ---- quantiles

QUANTILES = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)]


def stable(**options: Any) -> StableQuantile:
    settings = {"lower": 0, "upper": 3, "epsilon": Fraction(1), "delta": Fraction(1, 20), "neighbours": ADD}
    return StableQuantile(**{**settings, **options})


def proposed(**options: Any) -> ProposedQuantile:
    settings = {"lower": 0, "upper": 3, "bound": 1, "epsilon": Fraction(1), "delta": Fraction(1, 20)}
    return ProposedQuantile(**{**settings, "neighbours": ADD, **options})


@pytest.mark.textbook("S11.6")
@cases("rows", [1, 2, 3], fast=1)
@pytest.mark.parametrize("p", QUANTILES, ids=str)
def test_the_distance_of_a_quantile_is_zero_next_to_another_and_moves_by_one(p: Fraction, rows: int) -> None:
    every = list(up_to(6, 3))
    found = {each: stable(p=p, rows=rows).stable(each) for each in every}
    for first in every:
        for second in every:
            if not a_step_apart(first, second, rows):
                continue
            if found[first].answer == found[second].answer:
                assert abs(found[first].distance - found[second].distance) <= 1
            else:
                assert found[first].distance == found[second].distance == 0


@pytest.mark.textbook("S11.4")
@pytest.mark.parametrize("rows", [1, 2, 3])
@cases("p", QUANTILES, ids=str, fast=1)
def test_the_distance_of_a_proposal_is_zero_where_a_step_breaks_it_and_moves_by_one(p: Fraction, rows: int) -> None:
    every = list(up_to(6, 3))
    found = {each: proposed(p=p, rows=rows).proposed(each) for each in every}
    broken = 0
    for first in every:
        for second in every:
            if a_step_apart(first, second, rows):
                assert abs(found[first].distance - found[second].distance) <= 1
                if abs(found[first].value - found[second].value) > 1:
                    broken += 1
                    assert found[first].distance == found[second].distance == 0
    assert broken


def law(mechanism: StableQuantile | ProposedQuantile, rows: Rows) -> dict[Any, arb]:
    with precise():
        if isinstance(mechanism, StableQuantile):
            answer, distance = mechanism.stable(rows)
            passed = mechanism.inner.test.chance(distance)
            return {answer: passed, None: 1 - passed}
        value, distance = mechanism.proposed(rows)
        passed = mechanism.inner.test.chance(distance)
        noisy = {z: passed * mechanism.inner.noise.law.pmf(z - value) for z in range(-12, 15)}
        return {None: 1 - passed, **noisy}


@pytest.mark.textbook("S11.4", "S11.6")
@cases("made", [stable, proposed], fast=1)
@pytest.mark.parametrize("rows", [1, 2])
def test_no_pair_of_small_databases_refutes_the_claim_of_a_quantile(made: Any, rows: int) -> None:
    mechanism, databases = made(rows=rows, upper=2, epsilon=Fraction(2)), list(up_to(5, 2))
    pairs = [(x, y) for x in databases for y in databases if x < y and a_step_apart(x, y, rows)]
    found = finite({each: law(mechanism, each) for each in databases}, pairs, truncated=True)
    loss = mechanism.loss(sensitivity=rows)
    assert loss == ApproximateDP(2, Fraction(1, 20))
    assert found.holds(loss, tolerance=Fraction(1, 10**9)) is not False
    assert found.holds(ApproximateDP(Fraction(1, 4), Fraction(1, 10**3))) is False
    with pytest.raises(TheoremDoesNotApply):
        mechanism.loss(sensitivity=rows + 1)


@pytest.mark.parametrize("made", [stable, proposed])
def test_a_quantile_that_counts_values_where_units_have_four_is_refuted(made: Any) -> None:
    """The planted twin: four values come at once, and the distance is told in values."""
    mechanism, databases = made(upper=2, delta=Fraction(1, 10**4)), list(up_to(6, 2))
    pairs = [(x, y) for x in databases for y in databases if len(y) - len(x) == 4 and a_step_apart(x, y, 4)]
    found = finite({each: law(mechanism, each) for each in databases}, pairs, truncated=True)
    assert found.holds(mechanism.loss(sensitivity=1)) is False


@pytest.mark.parametrize("made", [stable, proposed])
def test_several_values_of_a_unit_that_is_replaced_have_no_quantile(made: Any) -> None:
    with pytest.raises(TheoremDoesNotApply, match="one value of each unit"):
        made(neighbours=REPLACE, rows=2)
