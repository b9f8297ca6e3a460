"""Experts: what choices cost, exactly on small games, and regret against its theorems; and LinearLearner on top."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from choices import ROUNDING, losses
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import repeated
from dalenius.accounting.conversion import to_approximate
from dalenius.checks.replay.replaying import replay
from dalenius.errors import BudgetExceeded, InvalidParameter, TheoremDoesNotApply
from dalenius.learn.budgets import allowance_of
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.exact import Exact, unseal
from dalenius.privacy.losses import BoundedRange
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.reals import upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import system_entropy
from dalenius.textbook.learning.by_rounds import (
    ByRounds,
    LinearLearner,
    excess_by_rounds,
    linear_excess,
    regret_by_rounds,
)
from dalenius.textbook.learning.experts import (
    GRID,
    Hedge,
    LossTable,
    best_rate,
    likely_excess,
    likely_private_regret_bound,
    private_rate,
    private_regret_bound,
    regret,
    regret_bound,
    sharp_regret_bound,
)

EVENT = Replace("event")
RUNS = 30
CORNERS = tuple(product((0.0, 1.0), repeat=3))


def played(hedge: Hedge, table: np.ndarray, budget: Budget) -> tuple[int, ...]:
    with allowance_of(budget, EVENT) as allowance:
        return hedge.play(LossTable.of(table, neighbours=EVENT), BudgetPart(allowance), system_entropy())


# ---- what choices cost


def views(hedge: Hedge, table: np.ndarray) -> dict[tuple[int, ...], float]:
    """The probability of every sequence of choices, by the scores that the door would get."""
    known = LossTable.of(table, neighbours=EVENT)
    laws = [hedge.mechanism(EVENT).probabilities(unseal(known.scores(place))) for place in range(len(table))]
    odds = [[float(upper(part)) for part in law] for law in laws]
    return {
        taken: float(np.prod([odds[place][expert] for place, expert in enumerate(taken)]))
        for taken in product(range(table.shape[1]), repeat=len(table))
    }


def games(rounds: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Tables of losses that differ in the first round, where a change shows most often."""
    rest = np.array([CORNERS[3 * place % 8] for place in range(1, rounds)]).reshape(rounds - 1, 3)
    pairs = product(CORNERS, repeat=2)
    return [(np.vstack([[one], rest]), np.vstack([[other], rest])) for one, other in pairs if one != other]


@pytest.mark.textbook("S14.3")
def test_all_choices_together_lose_no_more_than_two_rates_for_each_round_after_the_first() -> None:
    hedge, worst = Hedge(Fraction(1, 2)), 0.0
    for one, other in games(3):
        here, there = views(hedge, one), views(hedge, other)
        worst = max(worst, *(log(here[taken] / there[taken]) for taken in here))
    assert 2 * float(hedge.rate) < worst <= 2 * 2 * float(hedge.rate) + 1e-9


@pytest.mark.textbook("S14.3")
def test_the_private_rate_is_private_exactly() -> None:
    hedge = Hedge.private(epsilon=1, delta="0.05", rounds=4)
    assert max(gap(hedge, one, other, 1.0) for one, other in games(4)) <= 0.05


def test_the_test_above_notices_a_rate_that_is_too_steep() -> None:
    assert max(gap(Hedge(Fraction(2)), one, other, 1.0) for one, other in games(4)) > 0.05


def gap(hedge: Hedge, one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """The delta at which two tables are told apart beyond epsilon."""
    there = views(hedge, other)
    return sum(max(0.0, mass - exp(epsilon) * there[taken]) for taken, mass in views(hedge, one).items())


@pytest.mark.parametrize("budget", [Budget(1), Budget(1, "1e-6")], ids=str)
def test_a_calibrated_game_spends_its_purse_and_not_more(budget: Budget) -> None:
    known = LossTable.of(np.zeros((50, 3)), neighbours=EVENT)
    with allowance_of(budget, EVENT) as allowance:
        budget_part = BudgetPart(allowance)
        hedge = Hedge.calibrated(known, budget_part)
        whole = allowance.left.divergence
        assert len(hedge.play(known, budget_part, system_entropy())) == 50
        assert allowance.left.divergence < whole / 1000
    with allowance_of(budget, EVENT) as allowance, pytest.raises(BudgetExceeded):
        Hedge(hedge.rate * 2).play(known, BudgetPart(allowance), system_entropy())


@pytest.mark.textbook("S14.3")
def test_what_the_ledger_allows_is_steeper_than_the_text() -> None:
    known = LossTable.of(np.zeros((400, 3)), neighbours=EVENT)
    with allowance_of(Budget(1, "1e-5"), EVENT) as allowance:
        assert Hedge.calibrated(known, BudgetPart(allowance)).rate > 4 * private_rate(
            epsilon=1, delta="1e-5", rounds=400
        )


def test_theorems_refuse_what_they_do_not_cover() -> None:
    with pytest.raises(TheoremDoesNotApply):
        private_rate(epsilon=40, delta="0.1", rounds=10)
    with pytest.raises(TheoremDoesNotApply):
        private_regret_bound(experts=2, rounds=10, epsilon=40, delta="0.1")


def test_losses_are_moved_to_their_bounds_and_the_number_of_rounds_is_public() -> None:
    known = LossTable.of([[float("inf"), -3.0], [float("nan"), 0.5], [1.0, 1.0]], neighbours=EVENT)
    assert unseal(known.scores(2)).tolist() == [-GRID, -GRID // 2]
    for wrong in ([], [1.0], np.zeros((0, 3))):
        with pytest.raises(InvalidParameter):
            LossTable.of(wrong, neighbours=EVENT)
    for wrong_facts in ({"neighbours": AddRemove("row")}, {"neighbours": EVENT, "lowest": 1}):
        with pytest.raises(InvalidParameter):
            LossTable.of([[1.0]], **wrong_facts)  # type: ignore[arg-type]


def replayed(table: Callable[[Any], LossTable], one: Any, other: Any) -> set[str]:
    """The kinds of things that a game with one other vector of losses gives away."""
    budget = Budget(1, "1e-6")

    def run(given: Any) -> object:
        with allowance_of(budget, EVENT) as allowance:
            budget_part, known = BudgetPart(allowance), table(given)
            taken = Hedge.calibrated(known, budget_part).play(known, budget_part, system_entropy())
            return taken[1:]  # the first one is a coin of its own, and no output of a mechanism

    with allowance_of(budget, EVENT) as allowance:
        found = replay(run, one, other, charged=allowance.left)
    return {finding.kind for finding in found.findings}


def neighbours(lowest: float) -> tuple[np.ndarray, np.ndarray]:
    table = np.random.default_rng(4).uniform(lowest, 1, (5, 3))
    other = table.copy()
    table[1], other[1] = (1, lowest, lowest), (lowest, 1, 1)
    return table, other


def test_one_other_vector_of_losses_moves_no_score_too_far() -> None:
    assert not replayed(lambda given: LossTable.of(given, neighbours=EVENT), *neighbours(0))
    assert not replayed(lambda given: LinearLearner.examples(given, neighbours=EVENT), *neighbours(-1))


@pytest.mark.textbook("S14.4")
def test_the_sensitivity_of_the_text_for_examples_is_flagged() -> None:
    def of_the_text(examples: np.ndarray) -> LossTable:
        right = LinearLearner.examples(examples, neighbours=EVENT)
        claimed = Sensitivity(linf=GRID, neighbours=EVENT)
        return LossTable(Exact(unseal(right.before), sensitivity=claimed, neighbours=EVENT), 5, 3, GRID)

    assert replayed(of_the_text, *neighbours(-1)) == {"sensitivity"}


# ---- regret


def tables() -> list[np.ndarray]:
    draws = np.random.default_rng(0)
    alternating = np.array([[place % 2, 1 - place % 2, 0.5] for place in range(60)], dtype=np.float64)
    steady = np.tile([0.0, 1.0, 1.0], (60, 1))
    late = np.vstack([np.tile([0.0, 1.0, 1.0], (30, 1)), np.tile([1.0, 1.0, 0.0], (30, 1))])
    return [alternating, steady, late, *(draws.random((60, 3)) ** power for power in (0.2, 1, 5))]


@pytest.mark.textbook("S14.3")
@pytest.mark.parametrize("rate", [Fraction(1, 100), best_rate(experts=3, rounds=60), Fraction(1), Fraction(3)])
def test_expected_regret_is_within_its_bounds(rate: Fraction) -> None:
    facts: dict[str, Any] = {"experts": 3, "rounds": 60, "rate": rate}
    assert sharp_regret_bound(**facts) < regret_bound(**facts)
    assert all(Hedge(rate).expected_regret(table) <= sharp_regret_bound(**facts) for table in tables())


def test_the_score_of_the_text_with_its_wrong_sign_breaks_the_bound() -> None:
    """Weights that grow with losses: as if every loss was turned round."""
    rate = best_rate(experts=3, rounds=60)
    steady = tables()[1]
    backwards = float((Hedge(rate).shares(1 - steady) * steady).sum() / 60 - steady.mean(axis=0).min())
    assert backwards > regret_bound(experts=3, rounds=60, rate=rate)


@pytest.mark.textbook("S14.3")
def test_the_best_rate_gives_two_roots() -> None:
    bound = regret_bound(experts=7, rounds=900, rate=best_rate(experts=7, rounds=900))
    assert float(bound) == pytest.approx(2 * sqrt(log(7) / 900))


@pytest.mark.textbook("S14.3")
def test_the_logarithm_of_the_experts_is_not_under_the_root() -> None:
    """Theorem 11.3 as it is often copied is broken by steady losses and many experts; as corrected it holds."""
    experts, rounds, epsilon, delta = 5000, 100, 14, Fraction(1, 100)
    steady = np.ones((rounds, experts))
    steady[:, 0] = 0
    measured = Hedge.private(epsilon=epsilon, delta=delta, rounds=rounds).expected_regret(steady)
    under_the_root = sqrt(128 * log(100) * log(experts)) / (epsilon * sqrt(rounds))
    assert under_the_root < measured
    assert measured <= private_regret_bound(experts=experts, rounds=rounds, epsilon=epsilon, delta=delta)


@pytest.mark.textbook("S14.3")
def test_regret_is_within_its_likely_bounds() -> None:
    table = (np.random.default_rng(1).random((100, 4)) < (0.1, 0.5, 0.5, 0.6)).astype(np.float64)
    facts: dict[str, Any] = {"epsilon": 8, "delta": "0.01", "rounds": 100}
    hedge = Hedge.private(**facts)
    sharp = sharp_regret_bound(experts=4, rounds=100, rate=hedge.rate) + likely_excess(rounds=100, beta="0.1")
    stated = likely_private_regret_bound(experts=4, beta="0.1", **facts)
    measured = [regret(table, played(hedge, table, Budget(8, "0.01"))) for _ in range(RUNS)]
    assert sharp < stated
    assert sum(one > sharp for one in measured) <= RUNS // 3
    middle = hedge.expected_regret(table)
    assert np.mean(measured) == pytest.approx(middle, abs=3 / sqrt(100 * RUNS))  # six deviations at least
    beyond = middle + float(likely_excess(rounds=100, beta="0.1"))
    assert sum(one > beyond for one in measured) <= RUNS // 3


def test_the_test_above_notices_uniform_choices() -> None:
    table = np.tile([0.0, 1.0, 1.0, 1.0], (200, 1))
    sharp = sharp_regret_bound(experts=4, rounds=200, rate=1) + likely_excess(rounds=200, beta="0.1")
    assert regret(table, played(Hedge(Fraction(1)), table, Budget(200, "0.01"))) <= sharp
    assert regret(table, tuple(range(4)) * 50) > sharp


# ---- LinearLearner


@pytest.mark.textbook("S14.4")
def test_one_choice_at_the_rate_of_the_text_costs_more_than_the_text_counts() -> None:
    """Examples that differ by 2 in every coordinate, exactly: beyond twice the rate, within four times."""
    text = private_rate(epsilon=1, delta="1e-5", rounds=100)
    one, other = (GRID, *[-GRID] * 60), (-GRID, *[GRID] * 60)
    costs = {}
    for rate in (text, LinearLearner.private(epsilon=1, delta="1e-5", rounds=100).hedge.rate):
        costs[rate] = max(map(abs, losses(Hedge(rate).mechanism(EVENT).probabilities, one, other)))
    corrected = min(costs)
    assert 2 * text < costs[text] <= 4 * text + ROUNDING
    assert costs[corrected] <= 2 * text + ROUNDING
    assert 0 <= text / 2 - corrected < Fraction(1, 10**15)


@pytest.mark.textbook("S14.4")
def test_the_rate_of_the_text_is_saved_by_the_bounded_range_of_its_choices() -> None:
    """Its proof fails, its theorem does not: what T choices of range 4 rates really cost is below epsilon."""
    for rounds, epsilon, delta in ((10, Fraction(1), Fraction(1, 10**5)), (1000, Fraction(3), Fraction(1, 100))):
        text = private_rate(epsilon=epsilon, delta=delta, rounds=rounds)
        cost = repeated(BoundedRange(4 * text), rounds)
        assert to_approximate(cost, delta=delta).epsilon <= epsilon


@pytest.mark.textbook("S14.4")
def test_linear_weights_are_nearly_the_best() -> None:
    means, rounds = np.array([0.3, -0.5, 0.4]), 300
    draws, excesses = np.random.default_rng(2), []
    for _ in range(10):
        examples = LinearLearner.examples(means + draws.uniform(-0.5, 0.5, (rounds, 3)), neighbours=EVENT)
        with allowance_of(Budget(20, "1e-5"), EVENT) as allowance:
            budget_part = BudgetPart(allowance)
            learner = LinearLearner.calibrated(examples, budget_part)
            weights = learner.learn(examples, budget_part, system_entropy())
        assert weights.sum() == pytest.approx(1)
        excesses.append(float(weights @ means - means.min()))
    bound = linear_excess(width=3, rounds=rounds, rate=learner.hedge.rate, beta="0.1")
    assert sum(excess > bound for excess in excesses) <= 6
    assert float(np.full(3, 1 / 3) @ means - means.min()) > bound  # the twin: equal weights do not do


# ---- by the number of rounds


@pytest.mark.textbook("S14.3", "S14.4")
@pytest.mark.parametrize("course", [regret_by_rounds, excess_by_rounds])
def test_bounds_fall_with_the_rounds_and_what_is_measured_keeps_to_them(
    course: Callable[..., ByRounds], tmp_path: Path
) -> None:
    found = course((10, 250), epsilon=50, beta="0.0001")
    assert found.bound[1] < found.bound[0]
    assert all(value <= bound for value, bound in zip(found.measured, found.bound, strict=True))
    assert len(str(found).splitlines()) == 3
    assert (found.plot(tmp_path / "course.png").png) == (tmp_path / "course.png").read_bytes()
