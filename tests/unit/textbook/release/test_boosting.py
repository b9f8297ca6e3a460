"""Boosting with both base generators: the accuracy theorem, what it costs, and what it rests on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.accounting.composition import optimal_composition, parts
from dalenius.accounting.conversion import to_approximate
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import BoundedRange, LaplaceDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import MatrixWorkload
from dalenius.textbook.release.boosting import BoostedSynopses, QueryBoosting, rounds_needed
from dalenius.textbook.release.generators import (
    BruteForceGenerator,
    LinearGenerator,
    all_databases,
    base_scale,
    brute_force_draws,
    linear_draws,
    sampled_rows,
    textbook_tolerance,
)

ETA = Fraction(1, 3)
ONE_ROW = Sensitivity(l1=2)
PEOPLE, CELLS, PARTS = 10**6, 12, 191
GRID = CellDomain({"x": CELLS})
EASY = np.repeat(np.arange(1, PARTS)[:, None], CELLS, axis=1)
"""Questions that any table of as many people answers rightly: everybody has the same weight."""
RARE = PARTS * np.eye(CELLS, dtype=np.int64)[2:]
WORKLOAD = MatrixWorkload(GRID, np.concatenate([EASY, RARE]), denominator=PARTS)
TRUTH = np.full(CELLS, PEOPLE // CELLS) + (np.arange(CELLS) < PEOPLE % CELLS)


def linear() -> LinearGenerator:
    return LinearGenerator.calibrated(
        WORKLOAD,
        people=PEOPLE,
        draws=30,
        epsilon=Fraction(1, 3),
        delta=Fraction(1, 10**9),
        beta=Fraction(1, 1000),
        neighbours=Replace(),
    )


def boosting() -> QueryBoosting:
    rounds = rounds_needed(questions=WORKLOAD.count, eta=ETA)
    return QueryBoosting(workload=WORKLOAD, base=linear(), rounds=rounds, gap=12_000 * PARTS, eta=ETA)


@pytest.mark.textbook("S10.6")
def test_more_rows_than_can_be_drawn_are_refused_before_anything_is_paid() -> None:
    with pytest.raises(InvalidParameter, match=r"sampled is 1[0-9]{10}, but it must be at most 10000000 rows"):
        LinearGenerator.calibrated(
            WORKLOAD, people=100 * PEOPLE, draws=30, epsilon=Fraction(1, 3), delta=Fraction(1, 10**9),
            beta=Fraction(1, 1000), neighbours=Replace(),
        )  # fmt: skip


def worst(found: BoostedSynopses) -> float:
    return float(np.abs(found.answers - WORKLOAD.answers(TRUTH) / PARTS).max())


@pytest.mark.textbook("S10.1")
def test_the_check_above_notices_the_uniform_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = QueryBoosting._drawn
    monkeypatch.setattr(QueryBoosting, "_drawn", lambda self, scores, entropy: drawn(self, 0 * scores, entropy))
    for run in range(3):
        assert worst(boosting().release(TRUTH, SeededEntropy(run))) > float(boosting().error())


@pytest.mark.textbook("S10.1")
def test_the_whole_costs_draws_and_synopses_and_the_door_charges_it() -> None:
    mechanism = boosting()
    loss = mechanism.loss(sensitivity=ONE_ROW)
    counts = {type(part): 0 for part, _ in parts(loss)}
    for part, count in parts(loss):
        counts[type(part)] += count
    assert counts == {BoundedRange: 30 * (mechanism.rounds - 1), LaplaceDP: 30 * mechanism.rounds}
    exact = Exact(TRUTH, sensitivity=ONE_ROW, neighbours=Replace())
    budget_part = Allowance(Charge(divergence=10**18, order=Fraction(16), epsilon=10**18), neighbours=Replace())
    before = budget_part.left
    price = budget_part.price(loss)
    assert worst(measure(mechanism, exact, budget_part, SeededEntropy(0))) <= float(mechanism.error())
    assert before - budget_part.left == price
    assert to_approximate(loss, delta=Fraction(1, 10**6)).epsilon < 1


@pytest.mark.textbook("S10.1")
def test_the_exact_loss_is_below_that_of_the_textbook() -> None:
    mechanism = boosting()
    textbook = mechanism.textbook_loss(
        sensitivity=ONE_ROW, draw_slack=Fraction(1, 10**7), base_delta=Fraction(1, 10**8)
    )
    assert to_approximate(mechanism.loss(sensitivity=ONE_ROW), delta=textbook.delta).epsilon < textbook.epsilon
    twice = mechanism.textbook_loss(
        sensitivity=Sensitivity(l1=4), draw_slack=Fraction(1, 10**7), base_delta=Fraction(1, 10**8)
    )
    assert twice.epsilon > 1.9 * textbook.epsilon


@pytest.mark.textbook("S10.1")
def test_what_no_theorem_covers_is_said() -> None:
    with pytest.raises(TheoremDoesNotApply, match="19 rounds"):
        replace(boosting(), rounds=18).failure()
    with pytest.raises(TheoremDoesNotApply, match="questions in each round"):
        boosting().failure()
    many = linear_draws(rows=linear().sampled, cells=CELLS, beta=linear().beta)
    assert replace(linear(), draws=many).failure() == 3 * linear().beta


SMALL = CellDomain({"x": 4})
FEW = 5
SMALL_WORKLOAD = MatrixWorkload(SMALL, np.random.default_rng(5).integers(0, 21, size=(60, 4)), denominator=20)
BETA = Fraction(1, 1000)


def brute(scale: Fraction = Fraction(1)) -> BruteForceGenerator:
    draws = brute_force_draws(people=FEW, cells=4, beta=BETA)
    tolerance = 2 * DiscreteLaplace(scale, Replace()).error(BETA / 2, count=draws)
    return BruteForceGenerator(
        workload=SMALL_WORKLOAD,
        people=FEW,
        draws=draws,
        scale=scale,
        tolerance=tolerance,
        beta=BETA,
        neighbours=Replace(),
    )


@pytest.mark.textbook("S10.4", "S10.1")
def test_boosted_brute_force_keeps_its_theorem_on_every_small_database() -> None:
    """At most 56 T beta < 1.2 runs are expected to fail, and by the union of noise and sample far fewer do: none."""
    rounds = rounds_needed(questions=60, eta=ETA)
    mechanism = QueryBoosting(workload=SMALL_WORKLOAD, base=brute(), rounds=rounds, gap=10, eta=ETA)
    assert mechanism.failure() == rounds * BETA
    assert mechanism.error() < FEW
    for run, database in enumerate(all_databases(4, FEW)[::7]):
        found = mechanism.release(database, SeededEntropy(run))
        exact = SMALL_WORKLOAD.answers(database) / 20
        assert np.abs(found.answers - exact).max() <= float(mechanism.error())


@pytest.mark.textbook("S10.4")
def test_a_base_synopsis_is_within_lambda_on_most_questions_of_any_distribution() -> None:
    generator, rng = brute(), np.random.default_rng(2)
    for run, database in enumerate(all_databases(4, FEW)[::5]):
        law = rng.dirichlet(np.full(60, 0.2))
        asked, exact = rng.choice(60, size=generator.draws, p=law), SMALL_WORKLOAD.answers(database)
        rows = generator.synopsis(asked, exact[asked], SeededEntropy(run))
        assert rows is not None
        assert law[np.abs(SMALL_WORKLOAD.answers(rows) - exact) <= generator.tolerance].sum() >= 5 / 6


@pytest.mark.textbook("S10.4")
def test_the_check_above_notices_a_generator_that_asks_little() -> None:
    generator, rng, misses = replace(brute(), draws=1, tolerance=1), np.random.default_rng(2), 0
    for run, database in enumerate(all_databases(4, FEW)[::5]):
        exact = SMALL_WORKLOAD.answers(database)
        asked = rng.choice(60, size=1)
        rows = generator.synopsis(asked, exact[asked], SeededEntropy(run))
        misses += rows is None or (np.abs(SMALL_WORKLOAD.answers(rows) - exact) <= generator.tolerance).mean() < 5 / 6
    assert misses > 0


@pytest.mark.textbook("S10.4")
def test_the_first_of_all_databases_that_fit_is_taken_or_none() -> None:
    every = all_databases(4, FEW)
    assert len(every) == 56
    assert (every.sum(axis=1) == FEW).all()
    assert every[0].tolist() == [5, 0, 0, 0]
    asked, still = np.arange(60), replace(brute(Fraction(1, 100)), tolerance=1)
    exact = SMALL_WORKLOAD.answers(every[17])
    rows = still.synopsis(asked, exact, SeededEntropy(1))
    assert rows is not None
    assert rows.tolist() == every[17].tolist()
    assert still.synopsis(asked, exact + 9, SeededEntropy(1)) is None


@pytest.mark.textbook("S10.4")
def test_the_scale_is_that_of_the_proof_and_not_that_of_the_statement() -> None:
    epsilon, delta, draws = Fraction(1, 2), Fraction(1, 10**6), 100
    scale = base_scale(draws=draws, epsilon=epsilon, delta=delta, sensitivity=1)
    statement = Fraction(float(np.sqrt(draws * np.log(10**6)) / 0.5))
    assert float(scale / statement) == pytest.approx(2 * np.sqrt(2), rel=1e-3)
    assert optimal_composition(epsilon=1 / scale, count=draws, target_delta=delta).epsilon <= epsilon
    assert optimal_composition(epsilon=1 / statement, count=draws, target_delta=delta).epsilon > epsilon
    with pytest.raises(TheoremDoesNotApply, match="at most 1"):
        base_scale(draws=draws, epsilon=2, delta=delta, sensitivity=1)


@pytest.mark.textbook("S10.4")
def test_a_calibrated_brute_force_generator_keeps_its_price_and_its_theorem() -> None:
    generator = BruteForceGenerator.calibrated(
        SMALL_WORKLOAD, people=FEW, epsilon="0.5", delta="1e-6", beta=BETA, neighbours=Replace()
    )
    most = SMALL_WORKLOAD.column_norms()[2]
    loss = to_approximate(generator.loss(sensitivity=most), delta=Fraction(1, 10**6))
    assert loss.epsilon <= Fraction(1, 2)
    assert generator.failure() == BETA
    textbook = textbook_tolerance(draws=generator.draws, scale=generator.scale, beta=BETA)
    assert textbook - 2 <= generator.tolerance <= textbook + 2
    with pytest.raises(TheoremDoesNotApply, match="twice the noise"):
        replace(generator, tolerance=generator.tolerance // 2).failure()


@pytest.mark.textbook("S10.4")
def test_too_many_databases_are_refused_with_what_would_work() -> None:
    with pytest.raises(InvalidParameter, match="LinearGenerator"):
        replace(brute(), people=200)
    with pytest.raises(InvalidParameter, match="Replace"):
        replace(brute(), neighbours=AddRemove())


@pytest.mark.textbook("S10.6")
def test_a_linear_synopsis_is_within_lambda_on_what_it_was_asked() -> None:
    """Noise or sample exceed their bounds with probability below 2 beta: of 10 runs, one fails less than 2 in 100."""
    generator, rng = linear(), np.random.default_rng(6)
    exact = WORKLOAD.answers(TRUTH)
    for run in range(10):
        asked = rng.integers(0, 200, size=30)
        rows = generator.synopsis(asked, exact[asked], SeededEntropy(run))
        assert rows is not None
        assert rows.sum() == generator.sampled
        answers = WORKLOAD.answers(rows) * (PEOPLE / generator.sampled)
        assert np.abs(answers - exact)[asked].max() <= generator.tolerance


@pytest.mark.textbook("S10.6")
def test_the_check_above_notices_a_sample_that_is_too_small() -> None:
    generator, exact = replace(linear(), sampled=20), WORKLOAD.answers(TRUTH)
    asked = np.arange(170, 200)
    rows = generator.synopsis(asked, exact[asked], SeededEntropy(1))
    assert rows is not None
    answers = WORKLOAD.answers(rows) * (PEOPLE / 20)
    assert np.abs(answers - exact)[asked].max() > generator.tolerance
    assert linear().sampled == sampled_rows(
        draws=30, alpha=Fraction(linear().noise, PEOPLE * PARTS), beta=Fraction(1, 1000)
    )


@pytest.mark.textbook("S10.6")
def test_a_linear_generator_without_enough_people_says_how_many_it_needs() -> None:
    with pytest.raises(TheoremDoesNotApply, match="people"):
        LinearGenerator.calibrated(
            WORKLOAD, people=10, draws=30, epsilon="0.1", delta="1e-9", beta="0.01", neighbours=Replace()
        )
    with pytest.raises(InvalidParameter, match="Replace"):
        replace(linear(), neighbours=AddRemove())


def test_a_round_without_a_synopsis_is_counted_and_does_not_stop_the_rest() -> None:
    base = replace(linear(), scale=Fraction(10**12))
    found = QueryBoosting(workload=WORKLOAD, base=base, rounds=3, gap=PARTS, eta=ETA).release(TRUTH, SeededEntropy(1))
    assert found.failed == 3
    assert np.isfinite(found.answers).all()
