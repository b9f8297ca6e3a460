"""Regression by objective perturbation and by textbook AdaSSP: exact slopes, certified minima, losses that hold for the
real densities, and the weights of least squares where noise is small."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]
from sklearn import linear_model

from dalenius.checks.training.arrays import database, people, table
from dalenius.errors import InvalidParameter
from dalenius.learn import LinearRegression, PrivateGridSearch, Ridge
from dalenius.learn.budgets import relation
from dalenius.learn.linear.losses_piecewise import MARGIN_BITS, SLOPE_BITS, Huber
from dalenius.learn.linear.minimum import FINE_BITS, NEAR_BITS, RIDGE_BITS, TILT_BITS, Tilted
from dalenius.learn.linear.objective import TiltedNormal, calibrated, counted
from dalenius.learn.moments.adassp import _floor, least_eigenvalue
from dalenius.learn.rows import ONE, Entries, SealedRows, sealed
from dalenius.privacy.exact import unseal
from dalenius.privacy.losses import PureDP

DRAWS = np.random.default_rng(3)
ORDER = Fraction(18)


def entries_of(features: Any, target: Any, counts: Any = None) -> Entries:
    kept = np.asarray(features, dtype=np.int16)
    ones = np.ones(len(kept), dtype=np.int64)
    return Entries(kept, np.asarray(target, dtype=np.int64), ones if counts is None else np.asarray(counts))


def some(count: int = 60, width: int = 3) -> Entries:
    draws = np.random.default_rng(count)
    features = draws.integers(-ONE, ONE + 1, (count, width))
    features[:, -1] = ONE
    return entries_of(features, draws.integers(-ONE, ONE + 1, count), np.arange(1, count + 1))


# ---- the loss of a residual


@pytest.mark.parametrize("reach", [1, 2])
def test_slopes_of_residuals_are_cut_off_and_rounded_up_by_less_than_a_step(reach: int) -> None:
    margins = DRAWS.integers(-18 << MARGIN_BITS, 18 << MARGIN_BITS, 2000) >> DRAWS.integers(0, 8, 2000)
    huber = Huber(reach)
    for margin, found in zip(margins.tolist(), huber.steps(margins).tolist(), strict=True):
        real = -min(max(Fraction(margin, 2**MARGIN_BITS), Fraction(-reach)), Fraction(reach))
        assert 0 <= Fraction(found, 2**SLOPE_BITS) - real < Fraction(1, 2**SLOPE_BITS)
        assert abs(real) <= huber.steepest
    nearly, curves = huber.nearly(margins / 2**MARGIN_BITS)
    assert np.abs(nearly - huber.steps(margins) / 2**SLOPE_BITS).max() < 1e-12
    assert set(curves.tolist()) == {0.0, float(huber.curvature)}


@pytest.mark.parametrize("penalties", [(), (0, 5 << RIDGE_BITS, 70)])
def test_minima_of_residuals_are_certified_by_a_gradient_in_fractions(penalties: tuple[int, ...]) -> None:
    entries, ridge = some(), Fraction(1, 2)
    tilted = Tilted(Huber(), None, ridge, DRAWS.integers(-(9 << TILT_BITS), 9 << TILT_BITS, 3), penalties)
    point = tilted.minimum(entries, norm_squared=3 * ONE**2)
    weights = [Fraction(int(each), 2**FINE_BITS) for each in point]
    total = [Fraction(int(each), 2**TILT_BITS) for each in tilted.tilt]
    for row, target, count in zip(
        entries.features.tolist(), entries.target.tolist(), entries.counts.tolist(), strict=True
    ):
        left = sum((Fraction(x, ONE) * w for x, w in zip(row, weights, strict=True)), Fraction(-target, ONE))
        pull = count * min(max(left, Fraction(-1)), Fraction(1))
        total = [each + pull * Fraction(x, ONE) for each, x in zip(total, row, strict=True)]
    ridges = [ridge + Fraction(more, 2**RIDGE_BITS) for more in penalties or (0, 0, 0)]
    gradient = [each + along * w for each, along, w in zip(total, ridges, weights, strict=True)]
    assert sum(each**2 for each in gradient) <= (ridge / 2**NEAR_BITS) ** 2


# ---- what it costs


PAIRS: list[tuple[list[tuple[float, float]], list[tuple[float, float]]]] = [
    ([], [(1.0, 0.0)]),
    ([], [(1.0, 1.0)]),
    ([(1.0, -1.0)], [(1.0, -1.0), (1.0, 1.0)]),
    ([(1.0, 0.5), (0.4, -1.0)], [(1.0, 0.5), (0.4, -1.0), (1.0, -1.0)]),
]


def log_densities(ridge: float, density: Any, weights: Any, rows: list[tuple[float, float]]) -> Any:
    """The log-density of the minimum for one weight: of the tilt that leads there, times the second derivative."""
    gradient, second = ridge * weights, np.full_like(weights, ridge)
    for feature, target in rows:
        slopes, curves = Huber().nearly(feature * weights - target)
        gradient, second = gradient - feature * slopes, second + feature**2 * curves
    return density(-gradient) + np.log(second)


@pytest.mark.parametrize("pair", PAIRS)
def test_pure_losses_hold_for_the_density_of_the_minimum(pair: Any) -> None:
    rows = sealed(entries_of([[ONE]], [1]), ONE**2, relation("add_remove"))
    mechanism = calibrated(rows, Huber(), None, price=Fraction(1), order=None)
    ridge, scale = float(mechanism.ridge), float(mechanism.spread)
    weights = np.linspace(-30, 30, 20_001)
    one, other = (log_densities(ridge, lambda b: -np.abs(b) / scale, weights, side) for side in pair)
    assert np.abs(one - other).max() <= 0.99 + 1e-9


def divergence(one: Any, other: Any, order: float, step: float) -> float:
    return float(np.log(np.sum(np.exp(order * one + (1 - order) * other)) * step) / (order - 1))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("pair", PAIRS)
def test_renyi_losses_hold_for_the_density_of_the_minimum(pair: Any, neighbours: str) -> None:
    rows = sealed(entries_of([[ONE]], [1]), ONE**2, relation(neighbours))
    mechanism = calibrated(rows, Huber(), None, price=Fraction(1, 2), order=ORDER)
    loss = mechanism.loss(sensitivity=counted(rows).sensitivity)
    assert loss.renyi(ORDER) <= Fraction(1, 2)
    first = pair[0] + ([(1.0, -1.0)] if neighbours == "replace" else [])
    deviation = float(mechanism.spread) ** 0.5
    weights = np.linspace(-12, 12, 60_001) * deviation / float(mechanism.ridge)
    step = weights[1] - weights[0]
    one, other = (
        log_densities(float(mechanism.ridge), lambda b: -(b**2) / 2 / deviation**2, weights, side)
        for side in (first, pair[1])
    )
    one, other = (each - np.log(np.exp(each).sum() * step) for each in (one, other))
    for order in (2.0, 18.0):
        claimed = float(loss.renyi(Fraction(order)))
        assert divergence(one, other, order, step) <= claimed + 1e-6
        assert divergence(other, one, order, step) <= claimed + 1e-6


@pytest.mark.parametrize("many", [1, 3, 40])
@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(8), Fraction(30)])
def test_rows_that_all_pull_the_worst_way_lose_just_what_is_charged(many: int, order: Fraction) -> None:
    """With one weight and equal rows the worst of all tilts is known: all pull up, or all pull down."""
    rho = Fraction(1, 20 * many**2)
    far, slack = (2 * float(rho)) ** 0.5 * many, float(order) - 1
    steep = slack * far
    exact = far**2 / 2 + (np.log(2) + steep**2 / 2 + stats.norm.logcdf(steep)) / slack
    charged, one_sided = (
        float(TiltedNormal(rho, many, Fraction(0), 1, Fraction(0), both).renyi(order)) for both in (True, False)
    )
    assert exact <= charged * (1 + 1e-9)
    assert charged == pytest.approx(exact, rel=1e-6)
    assert one_sided < exact, "the twin: slopes of both signs, billed as those of one"


@pytest.mark.parametrize("order", [None, ORDER])
@pytest.mark.parametrize("most", [1, 4])
def test_prices_are_kept_and_used_up(order: Fraction | None, most: int) -> None:
    rows = sealed(some(), 3 * ONE**2, relation("replace"), most=most)
    loss = calibrated(rows, Huber(), None, price=Fraction(1, 3), order=order).loss(
        sensitivity=counted(rows).sensitivity
    )
    paid = loss.epsilon if isinstance(loss, PureDP) else loss.renyi(ORDER)
    assert Fraction(999, 3000) <= paid <= Fraction(1, 3)


# ---- the least eigenvalue


def rows_of(entries: Entries) -> SealedRows:
    return sealed(entries, entries.features.shape[1] * ONE**2, relation("add_remove"))


@pytest.mark.parametrize("seed", range(6))
def test_the_least_eigenvalue_is_rounded_down_exactly(seed: int) -> None:
    draws = np.random.default_rng(seed)
    half = draws.integers(-9, 10, (4, 4))
    if seed % 2:
        half[3] = half[2]
    matrix = half.T @ half
    found = _floor(matrix[np.triu_indices(4)], 4)
    assert found == int(np.floor(np.linalg.eigvalsh(matrix)[0] + 1e-9 * (seed % 2)))
    assert _floor(np.diag([7, 5, 5, 9])[np.triu_indices(4)], 4) == 5


def test_a_row_moves_the_least_eigenvalue_no_further_than_declared() -> None:
    entries = some(12)
    whole = least_eigenvalue(rows_of(entries))
    fewer = least_eigenvalue(rows_of(Entries(entries.features[1:], entries.target[1:], entries.counts[1:])))
    moved = int(unseal(whole)[0]) - int(unseal(fewer)[0])
    assert 0 <= moved <= 3 * ONE**2
    assert whole.sensitivity.l2_squared == (3 * ONE**2) ** 2


# ---- weights


X = np.random.default_rng(5).uniform(0, 10, (4000, 3))
Y = X @ [2.0, -1.0, 0.5] + 4 + np.random.default_rng(6).normal(0, 1, 4000)
USUAL: dict[str, Any] = {"bounds": (0, 10), "target_bounds": (-10, 30)}
WAYS = [("objective", None), ("objective", "1e-6"), ("adassp", "1e-6"), ("sums", "1e-6")]


@pytest.mark.textbook("S14.7")
@pytest.mark.parametrize(("method", "delta"), WAYS)
def test_where_noise_is_small_weights_are_those_of_least_squares(method: str, delta: str | None) -> None:
    plain = linear_model.LinearRegression().fit(X, Y)
    found = LinearRegression(epsilon=3000, delta=delta, method=method, **USUAL).fit(X, Y)
    assert found.coef_ == pytest.approx(plain.coef_, abs=0.02)
    assert found.intercept_ == pytest.approx(plain.intercept_, abs=0.1)


@pytest.mark.parametrize(("method", "delta"), WAYS)
def test_where_noise_is_small_penalties_are_those_of_ridge_regression(method: str, delta: str | None) -> None:
    plain = linear_model.Ridge(alpha=3000).fit(X, Y)
    found = Ridge(3000, epsilon=3000, delta=delta, method=method, **USUAL).fit(X, Y)
    assert found.coef_ == pytest.approx(plain.coef_, abs=0.02)
    assert found.intercept_ == pytest.approx(plain.intercept_, abs=0.1)
    firm = Ridge(1e30, epsilon=10, delta=delta, method=method, **USUAL).fit(X, Y)
    assert firm.coef_ == pytest.approx([0, 0, 0], abs=0.02)


@pytest.mark.parametrize(("method", "delta"), WAYS)
def test_numbers_are_predicted_for_an_everyday_price(method: str, delta: str | None) -> None:
    assert LinearRegression(epsilon=3, delta=delta, method=method, **USUAL).fit(X, Y).score(X, Y) > 0.8


def test_far_rows_pull_no_harder_than_those_at_the_end_of_the_reach() -> None:
    """Where residuals are beyond half the target's range, it is Huber's loss that is least and not the squared one."""
    far = np.append(np.zeros(900), np.full(100, 1.0))
    features = np.zeros((1000, 1))
    tilted = LinearRegression(epsilon=3000, bounds=(-1, 1), target_bounds=(-1, 1), method="objective")
    assert tilted.fit(features, far).intercept_ == pytest.approx(0.1, abs=0.02)
    wide = np.append(np.full(900, -1.0), np.full(100, 1.0))  # the mean is -0.8; the far ones pull by 1 and not by 1.8
    assert tilted.fit(features, wide).intercept_ == pytest.approx(-1 + 1 / 9, abs=0.02)


@pytest.mark.parametrize("kind", [LinearRegression, Ridge])
def test_methods_that_do_not_apply_are_refused(kind: Any) -> None:
    with pytest.raises(InvalidParameter, match="'sums', 'objective' or 'adassp'"):
        kind(method="gradient", **USUAL).fit(X, Y)
    with pytest.raises(InvalidParameter, match="no delta"):
        kind(method="adassp", **USUAL).fit(X, Y)


@pytest.mark.parametrize("method", ["objective", "adassp"])
def test_private_tables_are_learnt_from_by_every_method(method: str) -> None:
    with database(table(people(200)), "add_remove") as db:
        model = LinearRegression(epsilon=4, method=method).fit(db.table("visits"), "cost", columns=["age", "city"])
        assert model.predict({"age": [30], "city": ["Oslo"]}).shape == (1,)
        grid = {"method": ["sums", method]}
        search = PrivateGridSearch(LinearRegression(epsilon=4), grid).fit(db.table("visits"), "cost", columns=["age"])
        assert search.best_params_["method"] in grid["method"]


def test_private_tables_whose_ledger_counts_epsilon_refuse_adassp_and_spend_nothing() -> None:
    with database(table(people(20)), "replace") as db:
        spent = db.spent()["people"].share
        with pytest.raises(InvalidParameter, match="no delta"):
            LinearRegression(epsilon=4, method="adassp").fit(db.table("visits"), "cost", columns=["age"])
        assert db.spent()["people"].share == spent
