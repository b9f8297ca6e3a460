"""Poisson-sampled batches: their price against another library, and samplers that are not what was billed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.accounting.budget import Budget
from dalenius.checks.replay.replaying import replay
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import allowance_of, relation
from dalenius.learn.linear import batches
from dalenius.learn.linear.batches import SampledGaussian, batch, calibrated, rate_of
from dalenius.learn.linear.objective import counted
from dalenius.learn.losses_tabulated import Slope
from dalenius.learn.rows import ONE, Entries, sealed
from dalenius.mechanisms.door import measure
from dalenius.randomness.entropy import system_entropy

SLOPE = Slope(steepest=0.5)


def some(count: int = 200, each: int = 1) -> Entries:
    features = np.random.default_rng(1).integers(-ONE, ONE + 1, (count, 2)).astype(np.int16)
    return Entries(features, np.arange(count) % 2, np.full(count, each, dtype=np.int64))


@pytest.mark.parametrize("order", [2, 5, 18, 121])
@pytest.mark.parametrize(("rate", "rho"), [(0.01, 0.5), (0.1, 0.02), (0.5, 0.05), (1.0, 0.1)])
def test_curves_are_those_of_another_library(order: int, rate: float, rho: float) -> None:
    accounting = pytest.importorskip("dp_accounting")
    accountant = accounting.rdp.RdpAccountant(orders=[order])
    event = accounting.GaussianDpEvent((1 / (2 * rho)) ** 0.5)
    accountant.compose(accounting.PoissonSampledDpEvent(rate, event))
    ours = SampledGaussian(Fraction(rate), Fraction(rho)).renyi(order)
    assert float(ours) == pytest.approx(float(accountant._rdp[0]), rel=1e-6)


def test_orders_between_whole_ones_lie_on_or_above_the_curve() -> None:
    accounting = pytest.importorskip("dp_accounting")
    for order in (1.5, 2.5, 17.3):
        accountant = accounting.rdp.RdpAccountant(orders=[order])
        accountant.compose(accounting.PoissonSampledDpEvent(0.1, accounting.GaussianDpEvent(2.0)))
        ours = float(SampledGaussian(Fraction(1, 10), Fraction(1, 8)).renyi(Fraction(order)))
        assert float(accountant._rdp[0]) <= ours + 1e-12 <= float(accountant._rdp[0]) * 1.6


def spread_of(sampler: Any, rate: Fraction, times: int = 400) -> tuple[float, float, float]:
    """The mean and variance of a batch's size, and how often the first row comes together with the second."""
    entries = some(100)
    sizes, both = [], 0
    for _ in range(times):
        chosen = sampler(entries, rate, system_entropy())
        sizes.append(int(chosen.counts.sum()))
        rows = {row.tobytes() for row in chosen.features}
        both += entries.features[0].tobytes() in rows and entries.features[1].tobytes() in rows
    return float(np.mean(sizes)), float(np.var(sizes)), both / times


def is_poisson(sampler: Any) -> bool:
    """Whether sizes have the mean and variance of independent coins, within six deviations."""
    mean, variance, both = spread_of(sampler, Fraction(1, 4))
    return (
        abs(mean - 25) < 6 * (18.75 / 400) ** 0.5 and abs(variance - 18.75) < 6 * 18.75 * (2 / 400) ** 0.5 and both > 0
    )


def test_batches_are_independent_coins() -> None:
    assert is_poisson(batch)
    chosen = batch(some(50, each=400), Fraction(1, 4), system_entropy())
    assert abs(int(chosen.counts.sum()) - 5000) < 6 * 3750**0.5


def test_shuffled_batches_billed_as_poisson_are_noticed() -> None:
    """The twin: batches of a fixed size, cut from a shuffled table."""

    def shuffled(entries: Entries, rate: Fraction, entropy: Any) -> Entries:
        order = np.argsort(entropy.words(len(entries)))[: int(rate * len(entries))]
        return Entries(entries.features[order], entries.target[order], entries.counts[order])

    assert not is_poisson(shuffled)


def test_empty_batches_are_allowed_and_full_ones_are_all_rows() -> None:
    assert len(batch(some(3), Fraction(1, 2**32), system_entropy())) in (0, 1)
    assert len(batch(some(0), Fraction(1, 2), system_entropy())) == 0
    assert int(batch(some(30, each=3), Fraction(1), system_entropy()).counts.sum()) == 90


def released(share_of: Any) -> Any:
    def run(entries: Entries) -> Any:
        rows = sealed(entries, 2 * ONE**2, relation("add_remove"))
        with allowance_of(Budget(1, "1e-6"), rows.neighbours) as allowance:
            order = allowance.left.order
            mechanism = calibrated(rows, 1, SLOPE, rate_of(share_of(entries)), price=Fraction(1, 100), order=order)
            return measure(mechanism, counted(rows), allowance, system_entropy()).tolist()

    return run


def grown(entries: Entries) -> Entries:
    features = np.concatenate([entries.features, np.array([[ONE, -ONE]], dtype=np.int16)])
    return Entries(features, np.append(entries.target, 1), np.append(entries.counts, 1))


def test_one_row_changes_nothing_but_the_rows() -> None:
    assert not replay(released(lambda entries: 0.1), some(), grown(some())).findings


def test_a_batch_size_from_the_number_of_rows_is_noticed() -> None:
    found = replay(released(lambda entries: 20 / len(entries)), some(), grown(some())).findings
    assert "parameters" in {each.kind for each in found}


def test_prices_are_kept_and_fall_with_the_rate() -> None:
    rows = sealed(some(), 2 * ONE**2, relation("add_remove"))
    order = Fraction(18)
    made = [calibrated(rows, 1, SLOPE, rate_of(rate), price=Fraction(1, 100), order=order) for rate in (0.1, 0.5, 1)]
    for mechanism in made:
        paid = mechanism.loss(sensitivity=counted(rows).sensitivity).renyi(order)
        assert Fraction(999, 100_000) <= paid <= Fraction(1, 100)
    variances = [mechanism.noise.variance for mechanism in made]
    assert variances == sorted(variances)


def test_what_is_not_priced_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="batch"):
        rate_of(0)
    rows = sealed(some(), 2 * ONE**2, relation("replace"))
    with pytest.raises(InvalidParameter, match="neighbours"):
        calibrated(rows, 1, SLOPE, rate_of(0.5), price=Fraction(1), order=Fraction(18))
    rows = sealed(some(), 2 * ONE**2, relation("add_remove"), most=2)
    mechanism = calibrated(rows, 1, SLOPE, rate_of(0.5), price=Fraction(1), order=Fraction(18))
    with pytest.raises(InvalidParameter, match="rows of a unit"):
        mechanism.loss(sensitivity=counted(rows).sensitivity)
    with pytest.raises(InvalidParameter, match="batch"):
        calibrated(rows, 1, SLOPE, rate_of(0.5), price=Fraction(1), order=None)
    assert batches.RATE_BITS == 32
