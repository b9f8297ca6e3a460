"""Objective and output perturbation: exact slopes, certified minima, and losses that hold for the real densities."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.accounting.budget import Budget
from dalenius.checks.replay.replaying import replay
from dalenius.errors import InvalidParameter, UnusableValue
from dalenius.learn.budgets import allowance_of, relation
from dalenius.learn.linear import minimum as searching
from dalenius.learn.linear import objective, output
from dalenius.learn.linear.classifiers import learnt_weights
from dalenius.learn.linear.losses_piecewise import MARGIN_BITS, REACH, SLOPE_BITS, Bend
from dalenius.learn.linear.minimum import FINE_BITS, TILT_BITS, RowCounts, Search, SignedRows, Tilted
from dalenius.learn.linear.objective import TiltedMinimum, calibrated, counted, normal_vector, spherical_vector
from dalenius.learn.losses_tabulated import Slope
from dalenius.learn.rows import ONE, Entries, SealedRows, sealed
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import unseal
from dalenius.privacy.losses import PureDP
from dalenius.randomness.entropy import system_entropy

BENDS = {
    "logistic": Bend(Slope()),
    "cut": Bend(Slope(steepest=0.5)),
    "flat": Bend(Slope(steepest=0.1)),
    "hinge": Bend(Slope("hinge")),
}
ORDER = Fraction(18)


def entries_of(features: Any, target: Any, counts: Any = None) -> Entries:
    kept = np.asarray(features, dtype=np.int16)
    ones = np.ones(len(kept), dtype=np.int64)
    return Entries(kept, np.asarray(target, dtype=np.int64), ones if counts is None else np.asarray(counts))


def some(count: int = 60, width: int = 3, *, seed: int = 1) -> Entries:
    draws = np.random.default_rng(seed)
    features = draws.integers(-ONE, ONE + 1, (count, width))
    features[:, -1] = ONE
    target = (features[:, 0] + draws.integers(-ONE, ONE, count) > 0).astype(np.int64)
    return entries_of(features, target)


def rows_of(entries: Entries, neighbours: str = "add_remove", most: int = 1) -> SealedRows:
    return sealed(entries, 3 * ONE**2, relation(neighbours), most=most)


# ---- slopes


@pytest.mark.parametrize("name", BENDS)
def test_slopes_fall_and_bend_no_more_than_they_say(name: str) -> None:
    bend = BENDS[name]
    margins = np.random.default_rng(1).integers(-17 << MARGIN_BITS, 17 << MARGIN_BITS, 4000)
    margins.sort()
    slopes = bend.steps(margins)
    assert slopes.max() <= bend.steepest * 2**SLOPE_BITS
    assert slopes.min() >= 0
    falls = -np.diff(slopes)
    assert (falls >= 0).all()
    widths = np.diff(margins)
    assert all(
        fall <= bend.curvature * Fraction(int(width), 2**MARGIN_BITS) * 2**SLOPE_BITS + 1
        for fall, width in zip(falls.tolist(), widths.tolist(), strict=True)
    )


@pytest.mark.parametrize("name", BENDS)
def test_slopes_are_those_of_the_table_with_straight_pieces_between(name: str) -> None:
    bend = BENDS[name]
    for margin in np.random.default_rng(2).integers(-16 << MARGIN_BITS, 16 << MARGIN_BITS, 300).tolist():
        place, beyond = divmod(Fraction(margin, 2**MARGIN_BITS) * 32 + 512, 1)
        real = (int(bend.values[int(place)]) - int(bend.falls[int(place)]) * beyond) / 2**20
        found = Fraction(int(bend.steps(np.array([margin]))[0]), 2**SLOPE_BITS)
        assert 0 <= found - real < Fraction(1, 2**SLOPE_BITS)
        assert abs(float(real) - bend.slope.at(np.array([margin / 2**MARGIN_BITS]))[0]) < 2e-3
        assert float(bend.nearly(np.array([margin / 2**MARGIN_BITS]))[0][0]) == pytest.approx(float(real), abs=1e-9)


@pytest.mark.parametrize("name", BENDS)
def test_the_slope_is_that_of_the_loss(name: str) -> None:
    bend = BENDS[name]
    margins = np.linspace(-18, 18, 1500)
    slopes = (bend.value(margins - 1e-4) - bend.value(margins + 1e-4)) / 2e-4
    assert np.abs(slopes - bend.nearly(margins)[0]).max() < 2e-4


# ---- random vectors


def test_normal_vectors_have_their_variance_and_round_down() -> None:
    drawn = np.concatenate([normal_vector(Fraction(9), 5, system_entropy()) for _ in range(800)]).astype(float)
    assert abs(drawn.mean() + 0.5) < 6 * 3 / np.sqrt(len(drawn))
    assert abs(drawn.var() - 9 - 1 / 12) < 6 * 9 * np.sqrt(2 / len(drawn))


def test_spherical_vectors_have_their_length_and_no_direction() -> None:
    drawn = np.stack([spherical_vector(Fraction(50), 3, system_entropy()) for _ in range(800)]).astype(float) + 0.5
    lengths = np.sqrt((drawn**2).sum(axis=1))
    assert abs(lengths.mean() - 150) < 6 * 50 * np.sqrt(3 / len(drawn))
    assert abs(lengths.var() - 7500) < 7500 * 0.6
    assert np.abs(drawn.mean(axis=0)).max() < 6 * 100 / np.sqrt(len(drawn))


def test_a_vector_of_independent_laplace_noise_is_told_from_a_spherical_one() -> None:
    """The twin: in three dimensions independent Laplace coordinates have another spread of lengths."""
    draws = np.random.default_rng(1).laplace(scale=50, size=(800, 3))
    lengths = np.sqrt((draws**2).sum(axis=1))
    assert abs(lengths.mean() - 150) > 6 * 50 * np.sqrt(3 / len(draws))


# ---- minima


def gradient_of(objective_: Tilted, entries: Entries, point: Any) -> list[Fraction]:
    """The gradient in fractions, row by row."""
    bend, total = objective_.bend, [Fraction(int(each), 2**TILT_BITS) for each in objective_.tilt]
    weights = [Fraction(int(each), 2**FINE_BITS) for each in point]
    for features, target, count in zip(entries.features.tolist(), entries.target, entries.counts.tolist(), strict=True):
        sign = 1 if target == objective_.label else -1
        row = [Fraction(sign * each, ONE) for each in features]
        margin = sum((x * w for x, w in zip(row, weights, strict=True)), Fraction(0))
        place, beyond = divmod(max(min(margin, Fraction(16)), Fraction(-16)) * 32 + 512, 1)
        slope = (int(bend.values[int(place)]) - int(bend.falls[int(place)]) * beyond) / 2**20
        total = [each - count * slope * x for each, x in zip(total, row, strict=True)]
    return [each + objective_.ridge * weight for each, weight in zip(total, weights, strict=True)]


@pytest.mark.parametrize("name", BENDS)
@pytest.mark.parametrize("seed", range(3))
def test_minima_are_certified_by_a_gradient_in_fractions(name: str, seed: int) -> None:
    entries = some(seed=seed)
    entries = entries_of(entries.features, entries.target, np.arange(1, len(entries) + 1))
    tilt = np.random.default_rng(seed).integers(-(5 << TILT_BITS), 5 << TILT_BITS, 3)
    tilted = Tilted(BENDS[name], 1, Fraction(1, 2), tilt)
    point = tilted.minimum(entries, norm_squared=3 * ONE**2)
    length = sum(each**2 for each in gradient_of(tilted, entries, point))
    assert length <= (tilted.ridge / 2**searching.NEAR_BITS) ** 2


def test_minima_of_many_rows_are_certified_though_those_that_it_begins_with_mislead() -> None:
    """A search over many rows begins with every eighth; here these are unlike all others."""
    entries = some(1700)
    features = np.where(np.arange(1700)[:, None] % 8 == 0, -entries.features, entries.features)
    entries = Entries(features, entries.target, entries.counts)
    tilted = Tilted(BENDS["cut"], 1, Fraction(1, 2), np.full(3, 3 << TILT_BITS))
    search = Search(tilted, SignedRows.of(entries, 1))
    point = tilted.minimum(entries, norm_squared=3 * ONE**2)
    assert np.abs(search._start() - point).max() > 1 << (FINE_BITS - 3)
    assert search._start().any()
    length = sum(each**2 for each in gradient_of(tilted, entries, point))
    assert length <= (tilted.ridge / 2**searching.NEAR_BITS) ** 2


WIDE = 24


def very_many(count: int = 600) -> SealedRows:
    """About ten million rows of many features, each of which is as large as it can be."""
    draws = np.random.default_rng(9)
    features = draws.choice([-ONE, ONE], (count, WIDE))
    target = (features[:, 0] * draws.choice([1, 1, 1, -1], count) > 0).astype(np.int64)
    entries = entries_of(features, target, np.full(count, 2**14))
    return sealed(entries, WIDE * ONE**2, relation("add_remove"))


@pytest.mark.parametrize("name", BENDS)
def test_minima_of_very_many_rows_of_many_features_are_certified(name: str) -> None:
    """The least ridge counts in that weights are rounded, too."""
    rows = very_many()
    ridge = objective.certifiable(rows, BENDS[name], 600 * 2**14)
    assert ridge > Fraction(600 * 2**14 * 5, 1 << 24) > 2, "more than half of it is for weights"
    tilted = Tilted(BENDS[name], 1, ridge, np.zeros(WIDE, dtype=np.int64))
    point = tilted.minimum(unseal(rows.entries), norm_squared=rows.norm_squared)
    at_edges = [point + np.where(np.arange(WIDE) % 2, each, -each) for each in (-1, 1)]
    search = Search(tilted, SignedRows.of(unseal(rows.entries), 1))
    near = ridge / 2**searching.NEAR_BITS
    assert all(search._exactly(each, near)[1] for each in at_edges), "neighbouring points of the grid would do as well"


def test_where_a_ridge_is_too_small_for_so_many_rows_nothing_is_certified() -> None:
    """The twin: a ridge that leaves no room for what is rounded certifies nothing."""
    rows = very_many()
    small = Fraction(600 * 2**14, 1 << 25)
    tilted = Tilted(BENDS["hinge"], 1, small, np.zeros(WIDE, dtype=np.int64))
    search = Search(tilted, SignedRows.of(unseal(rows.entries), 1))
    with pytest.raises(ArithmeticError):
        search.found()


@pytest.mark.parametrize("name", BENDS)
def test_no_row_pulls_weights_to_where_a_search_cuts_them_off(name: str) -> None:
    """What is proved next to the ridge that keeps weights below 2^13."""
    bend = BENDS[name]
    margins = np.arange(-REACH << 12, REACH << 12) / 2**12
    largest = Fraction(float((margins * bend.nearly(margins)[0]).max())) + Fraction(1, 2**10)
    assert largest < (Fraction(9, 16) if name == "hinge" else Fraction(9, 32)) + Fraction(1, 2**9)
    short = sealed(entries_of([[1]], [1]), ONE**2 // 4, relation("add_remove"))
    for most in (10**3, 7_400_000, 10**7, 10**8, 10**12):
        assert 2 * most * largest / objective.certifiable(short, bend, most) < 2**24


def test_a_search_that_goes_wrong_certifies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: whatever the search does, only what the exact gradient vouches for comes out."""
    monkeypatch.setattr(Search, "_step", lambda self, place, rows: np.full(3, 1e-3))
    with pytest.raises(ArithmeticError):
        Tilted(BENDS["cut"], 1, Fraction(1), np.zeros(3, dtype=np.int64)).minimum(some(), norm_squared=3 * ONE**2)


def test_float_gradients_alone_would_certify_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: floats that claim a gradient of 0 are not believed."""
    monkeypatch.setattr(Search, "_nearly", lambda self, weights: (np.zeros(3), np.zeros(len(self.facts.counts))))
    search = Search(Tilted(BENDS["cut"], 1, Fraction(1), np.zeros(3, dtype=np.int64)), SignedRows.of(some(), 1))
    monkeypatch.setattr(Search, "_step", lambda self, place, rows: np.zeros(3))
    with pytest.raises(ArithmeticError):
        search.found()


def test_rows_that_are_too_long_are_refused_without_a_word_about_them() -> None:
    entries = entries_of([[ONE, ONE, ONE, ONE]], [1])
    rows = sealed(entries, 3 * ONE**2, relation("add_remove"))
    mechanism = calibrated(rows, BENDS["cut"], 1, price=Fraction(1, 2), order=None)
    with allowance_of(Budget(1), rows.neighbours) as allowance, pytest.raises(UnusableValue):
        measure(mechanism, counted(rows), allowance, system_entropy())


# ---- losses


def log_densities(bend: Bend, ridge: float, density: Any, margins: Any, rows: list[tuple[float, int]]) -> Any:
    """The log-density of the minimum for one weight: of the tilt that leads there, times the second derivative."""
    gradient, second = ridge * margins, np.full_like(margins, ridge)
    for feature, sign in rows:
        slopes, curves = bend.nearly(sign * feature * margins)
        gradient, second = gradient - sign * feature * slopes, second + feature**2 * curves
    return density(-gradient) + np.log(second)


PAIRS = [
    ([], [(1.0, 1)]),
    ([(1.0, 1)], [(1.0, 1), (1.0, 1)]),
    ([(1.0, -1), (0.4, 1)], [(1.0, -1), (0.4, 1), (1.0, 1)]),
    ([(1.0, -1)] * 4, [(1.0, -1)] * 5),
]


def exact_width(mechanism: TiltedMinimum) -> Any:
    return PureDP(mechanism.noise.loss(sensitivity=objective.apart(mechanism.width)).epsilon).epsilon  # type: ignore[union-attr]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", BENDS)
def test_pure_losses_hold_for_the_density_of_the_minimum(name: str, pair: Any) -> None:
    """One feature of at most 1: the log-ratio of the densities is at most what is charged, less the rounding."""
    ridge, epsilon = 1.0, 1.0
    rows = sealed(entries_of([[ONE]], [1]), ONE**2, relation("add_remove"))
    mechanism = calibrated(rows, BENDS[name], 1, price=Fraction(epsilon), order=None)
    ridge, scale = float(mechanism.ridge), float(mechanism.spread)
    margins = np.linspace(-30, 30, 20_001)
    one, other = (log_densities(BENDS[name], ridge, lambda b: -np.abs(b) / scale, margins, side) for side in pair)
    assert np.abs(one - other).max() <= epsilon - float(exact_width(mechanism)) + 1e-9


def test_without_the_correction_pure_losses_do_not_hold() -> None:
    """The twin: a tilt of scale L C / epsilon does not pay for the ridge."""
    bend, ridge, epsilon = BENDS["logistic"], 0.05, 0.1
    margins = np.linspace(-3, 3, 20_001)
    scale = float(bend.steepest) / epsilon
    one, other = (log_densities(bend, ridge, lambda b: -np.abs(b) / scale, margins, side) for side in ([], [(1.0, 1)]))
    assert np.abs(one - other).max() > 2 * epsilon


def divergence(one: Any, other: Any, order: float, step: float) -> float:
    return float(np.log(np.sum(np.exp(order * one + (1 - order) * other)) * step) / (order - 1))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", BENDS)
def test_renyi_losses_hold_for_the_density_of_the_minimum(name: str, pair: Any, neighbours: str) -> None:
    rows = sealed(entries_of([[ONE]], [1]), ONE**2, relation(neighbours))
    mechanism = calibrated(rows, BENDS[name], 1, price=Fraction(1, 2), order=ORDER)
    loss = mechanism.loss(sensitivity=counted(rows).sensitivity)
    assert loss.renyi(ORDER) <= Fraction(1, 2)
    if neighbours == "replace":
        pair = (pair[0] + [(1.0, -1)], pair[1])
    deviation = float(mechanism.spread) ** 0.5
    margins = np.linspace(-12, 12, 60_001) * deviation / float(mechanism.ridge)
    one, other = (
        log_densities(BENDS[name], float(mechanism.ridge), lambda b: -(b**2) / 2 / deviation**2, margins, side)
        for side in pair
    )
    step = margins[1] - margins[0]
    one, other = (each - np.log(np.exp(each).sum() * step) for each in (one, other))
    for order in (2.0, 18.0):
        claimed = float(loss.renyi(Fraction(order)))
        assert divergence(one, other, order, step) <= claimed + 1e-6
        assert divergence(other, one, order, step) <= claimed + 1e-6


def test_a_normal_tilt_billed_as_a_gaussian_release_is_dearer_than_that() -> None:
    """The twin: order times rho alone is exceeded by a real pair, because the ridge costs something."""
    bend, ridge, variance = BENDS["logistic"], 0.05, 50.0
    margins = np.linspace(-12, 12, 60_001) * variance**0.5 / ridge
    one, other = (
        log_densities(bend, ridge, lambda b: -(b**2) / 2 / variance, margins, side) for side in ([], [(1.0, 1)])
    )
    step = margins[1] - margins[0]
    one, other = (each - np.log(np.exp(each).sum() * step) for each in (one, other))
    rho = float(bend.steepest) ** 2 / (2 * variance)
    assert max(divergence(one, other, 2.0, step), divergence(other, one, 2.0, step)) > 2 * rho


@given(st.fractions(Fraction(1, 100), 5), st.integers(1, 3), st.sampled_from(["add_remove", "replace"]))
@settings(max_examples=20, deadline=None)
def test_prices_are_kept_and_used_up(price: Fraction, most: int, neighbours: str) -> None:
    rows = rows_of(some(), neighbours, most)
    for order in (None, ORDER):
        mechanism = calibrated(rows, BENDS["cut"], 1, price=price, order=order)
        loss = mechanism.loss(sensitivity=counted(rows).sensitivity)
        paid = loss.epsilon if isinstance(loss, PureDP) else loss.renyi(ORDER)
        assert price * Fraction(999, 1000) <= paid <= price


@pytest.mark.parametrize("many", [1, 2, 5, 12, 40, 500])
@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(8), Fraction(30)])
def test_many_rows_in_one_direction_cost_no_less_than_they_lose_and_little_more_than_a_gaussian(
    many: int, order: Fraction
) -> None:
    """With one weight and equal rows the worst of all tilts is known: all rows pull, or none does."""
    rho = Fraction(1, 20 * many**2)
    loss = objective.TiltedNormal(rho, many, Fraction(0), 1, Fraction(0))
    together = (2 * float(rho)) ** 0.5 * many
    exact = float(objective._larger(order, arb(together)).log()) / float(order - 1)
    assert exact <= float(loss.renyi(order)) * (1 + 1e-9)
    gaussian = float(order) * together**2 / 2
    assert float(loss.renyi(order)) <= 1.1 * gaussian + 0.75 * together


def test_corners_alone_would_be_far_too_dear_for_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = objective.TiltedNormal(Fraction(1, 2000 * 40**2), 40, Fraction(0), 1, Fraction(0))
    right = loss.renyi(30)
    monkeypatch.setattr(objective.TiltedNormal, "_together", objective.TiltedNormal._by_corners)
    assert loss.renyi(30) > 5 * right


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_units_with_many_rows_have_a_minimum(delta: str) -> None:
    rows = rows_of(some(400), most=50)
    with allowance_of(Budget(1, delta), rows.neighbours) as allowance:
        found = learnt_weights("objective", rows, 1, Slope(steepest=0.5), BudgetPart(allowance), system_entropy())
    assert np.isfinite(found).all()


@pytest.mark.textbook("S14.7")
def test_the_correction_follows_the_ridge() -> None:
    rows = rows_of(some())
    mechanism = calibrated(rows, BENDS["logistic"], 1, price=Fraction(1), order=None)
    facts = {name: getattr(mechanism, name) for name in ("bend", "label", "spread", "noise", "width", "norm_squared")}
    losses = [
        TiltedMinimum(**facts, ridge=ridge, neighbours=rows.neighbours).loss(sensitivity=counted(rows).sensitivity)
        for ridge in (mechanism.ridge / 2, mechanism.ridge, 2 * mechanism.ridge)
        if ridge * 4096 % 1 == 0
    ]
    paid = [loss.epsilon for loss in losses if isinstance(loss, PureDP)]
    assert paid == sorted(paid, reverse=True)
    assert len(set(paid)) == len(paid) > 1


def test_a_ridge_off_the_grid_is_refused() -> None:
    rows = rows_of(some())
    mechanism = calibrated(rows, BENDS["cut"], 1, price=Fraction(1), order=None)
    with pytest.raises(InvalidParameter, match="ridge"):
        TiltedMinimum(
            mechanism.bend, 1, Fraction(1, 3), mechanism.spread, mechanism.noise, 3, 3 * ONE**2, rows.neighbours
        )


# ---- output perturbation


@pytest.mark.textbook("S14.6")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("name", BENDS)
def test_no_row_moves_a_minimum_further_than_declared(name: str, neighbours: str) -> None:
    draws = np.random.default_rng(1)
    for seed in range(6):
        entries = some(8, seed=seed)
        stranger = np.where(draws.integers(0, 2, 3) > 0, ONE, -ONE)
        features = np.concatenate([entries.features, stranger[None].astype(np.int16)])
        larger = entries_of(features, np.append(entries.target, draws.integers(0, 2)))
        smaller = entries if neighbours == "add_remove" else entries_of(features, np.append(entries.target, 1))
        found = []
        for each in (smaller, larger):
            exact = output.minimum(rows_of(each, neighbours), BENDS[name], 1, Fraction(2))
            found.append(_opened(exact))
        moved = int(((found[0] - found[1]).astype(object) ** 2).sum())
        assert moved <= exact.sensitivity.need("l2_squared", mechanism="")


def test_the_test_above_notices_a_mean_for_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a ridge that is divided by the number of rows is weaker than the one that was declared."""
    real = Tilted.minimum

    def mean(self: Tilted, entries: Entries, *, norm_squared: int) -> Any:
        weaker = Fraction(ceil(self.ridge / len(entries) * 4096), 4096)
        return real(Tilted(self.bend, self.label, weaker, self.tilt), entries, norm_squared=norm_squared)

    monkeypatch.setattr(Tilted, "minimum", mean)
    with pytest.raises(AssertionError):
        test_no_row_moves_a_minimum_further_than_declared("logistic", "add_remove")


def _opened(exact: Any) -> Any:
    return object.__getattribute__(exact, "_Exact__value")()


# ---- replay


def learning(method: str, delta: str, neighbours: str, most: int = 1) -> Any:
    def run(entries: Entries) -> Any:
        rows = rows_of(entries, neighbours, most)
        with allowance_of(Budget(1, delta), rows.neighbours) as allowance:
            weights = learnt_weights(method, rows, 1, Slope(steepest=0.5), BudgetPart(allowance), system_entropy())
        return weights.tolist()

    return run


def neighbour(entries: Entries, *, replaced: bool, row: Any = (-ONE, ONE, ONE), target: int = 1) -> Entries:
    start = 1 if replaced else 0
    features = np.concatenate([entries.features[start:], np.array([row], dtype=np.int16)])
    return entries_of(features, np.append(entries.target[start:], target))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("method", ["objective", "output", "gradient"])
def test_one_row_changes_no_call_no_parameter_and_no_value_further_than_declared(
    method: str, delta: str, neighbours: str
) -> None:
    entries = some(20)
    other = neighbour(entries, replaced=neighbours == "replace")
    found = replay(learning(method, delta, neighbours), entries, other)
    assert not found.findings
    assert found.calls


def test_the_test_above_notices_rows_that_are_not_clipped() -> None:
    entries = some(20)
    longer = neighbour(entries, replaced=False, row=(4 * ONE, 4 * ONE, ONE))
    for method in ("objective", "output", "gradient"):
        assert replay(learning(method, "1e-6", "add_remove"), entries, longer).findings, method


def test_the_test_above_notices_two_rows_of_a_unit() -> None:
    entries = some(20)
    two = neighbour(neighbour(entries, replaced=False), replaced=False)
    for method in ("objective", "gradient"):
        assert replay(learning(method, "1e-6", "add_remove"), entries, two).findings, method
        assert not replay(learning(method, "1e-6", "add_remove", most=2), entries, two).findings, method


def test_the_test_above_notices_a_ridge_from_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    real = objective.least_ridge
    seen: list[int] = []
    counts = RowCounts.__init__

    def peeking(self: RowCounts, entries: Entries) -> None:
        seen.append(len(entries))
        counts(self, entries)

    monkeypatch.setattr(RowCounts, "__init__", peeking)
    monkeypatch.setattr(
        objective, "least_ridge", lambda *facts, price: real(*facts, price=price) + (seen[-1] if seen else 0)
    )
    entries = some(20)

    def twice(data: Entries) -> Any:
        seen.clear()
        return [learning("objective", "1e-6", "add_remove")(data) for _ in range(2)]

    assert replay(twice, entries, neighbour(entries, replaced=False)).findings
