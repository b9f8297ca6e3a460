"""Iterative construction, offline: its price, its rounds and its accuracy, with every update rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import log
from typing import Any, TypeAlias

import numpy as np
import pytest

from checks import SeededEntropy
from costs import cases
from dalenius.accounting.conversion import to_delta, to_pure
from dalenius.errors import BudgetExceeded, InvalidParameter, NeighbourMismatch
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.synth.online.multiplicative_weights import (
    InformationProjection,
    MultiplicativeWeights,
    multiplicative_updates,
)
from dalenius.synth.online.update_rules import UpdateRule
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import MatrixWorkload, parities
from dalenius.textbook.release.iterative_construction import (
    IterativeConstruction,
    distinguisher_accuracy,
    iterative_accuracy,
    online_construction_accuracy,
)
from dalenius.textbook.release.median import Median, trivial_net
from dalenius.textbook.release.nets import Net
from dalenius.textbook.release.perceptron import PerceptronUpdate
from dalenius.textbook.release.small_databases import least_sample_size

Given: TypeAlias = Callable[..., Any]
ROWS, BETA, PEOPLE = Replace(), Fraction(1, 10), 2 * 10**6
WORKLOAD = parities(2)
RULES: dict[str, UpdateRule] = {
    "multiplicative weights": MultiplicativeWeights(cells=4, people=PEOPLE, alpha=Fraction(1, 8)),
    "information projection": InformationProjection(cells=4, people=PEOPLE, alpha=Fraction(1, 8)),
    "perceptron": PerceptronUpdate(cells=4, people=PEOPLE, alpha=Fraction(1, 8), most_in_a_cell=PEOPLE),
    "median": Median(
        net=Net.of_size(4, least_sample_size(queries=4, alpha=Fraction(1, 6)), alpha=Fraction(1, 6)), people=PEOPLE
    ),
}
HISTOGRAMS = [[PEOPLE, 0, 0, 0], [0, PEOPLE // 2, PEOPLE // 2, 0], [PEOPLE // 4] * 4]
RUNS = 12


def construction(rule: UpdateRule, delta: str = "") -> IterativeConstruction:
    return IterativeConstruction.calibrated(rule, WORKLOAD, epsilon=1, delta=delta or 0, beta=BETA, neighbours=ROWS)


def failures(made: IterativeConstruction, counts: list[int], sealed: Given, paid: Given) -> int:
    """In how many runs some answer is off by more than was stated."""
    truth, found = WORKLOAD.answers(np.array(counts)), 0
    for run in range(RUNS):
        release = made.release(sealed(counts), paid(made.loss()), SeededEntropy((run, counts)))
        assert release.rounds <= made.rule.most_updates
        found += bool(np.abs(release.answers - truth).max() > release.error)
    return found


@pytest.mark.textbook("S9.9", "S9.10", "S9.11", "S9.5")
@pytest.mark.parametrize("counts", HISTOGRAMS, ids=["one cell", "two cells", "uniform"])
@cases("rule", RULES.values(), ids=RULES, fast=1)
def test_all_answers_are_within_the_stated_error(
    rule: UpdateRule, counts: list[int], sealed: Given, paid: Given, broken_too_often: Given
) -> None:
    made = construction(rule)
    assert made.error() < PEOPLE / 2
    assert not broken_too_often(failures(made, counts, sealed, paid), RUNS, BETA)


@pytest.mark.textbook("S9.9")
def test_the_theorems_alpha_is_kept_by_the_algorithm_at_half_of_it(
    sealed: Given, paid: Given, broken_too_often: Given
) -> None:
    theorem = iterative_accuracy(
        lambda alpha: multiplicative_updates(cells=4, alpha=alpha), queries=4, people=PEOPLE, epsilon=1, beta=BETA
    )
    made = construction(MultiplicativeWeights(cells=4, people=PEOPLE, alpha=theorem / 2))
    assert made.error() <= theorem * PEOPLE
    assert not broken_too_often(failures(made, HISTOGRAMS[1], sealed, paid), RUNS, BETA)


@pytest.mark.textbook("S9.9")
@pytest.mark.parametrize(("delta", "constant"), [(0, 32), (Fraction(1, 10**6), 64)])
def test_the_theorems_constants_are_the_corrected_ones(delta: Fraction | int, constant: int) -> None:
    def rounds(alpha: Fraction) -> Fraction:
        return multiplicative_updates(cells=8, alpha=alpha)

    found = iterative_accuracy(rounds, queries=100, people=10**7, epsilon=1, beta=BETA, delta=delta)
    uses = float(rounds(found / 2))
    spread = (uses * log(10**6)) ** 0.5 if delta else uses
    right = constant * spread * log(2 * uses * 100 * 10) / 10**7
    assert right <= float(found) <= 1.001 * right


@pytest.mark.textbook("S9.12")
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_the_online_theorems_constants(delta: Fraction | int) -> None:
    def rounds(alpha: Fraction) -> Fraction:
        return multiplicative_updates(cells=8, alpha=alpha)

    found = online_construction_accuracy(rounds, queries=10**12, people=10**7, epsilon=1, beta=BETA, delta=delta)
    uses = float(rounds(found))
    bracket = log(2 * 10**12) + log(4 * uses * 10)
    spread = (512**0.5 + 1) * (uses * log(2 * 10**6)) ** 0.5 if delta else 9 * uses
    right = spread * bracket / 10**7
    assert right <= float(found) <= 1.001 * right


@pytest.mark.textbook("S9.9")
@pytest.mark.parametrize("delta", ["", "1e-6"])
def test_all_rounds_together_cost_what_was_asked(delta: str) -> None:
    loss = construction(RULES["multiplicative weights"], delta).loss()
    if delta:
        assert to_delta(loss, epsilon=1) <= Fraction("1e-6")
    else:
        assert 1 - Fraction(1, 10**6) <= to_pure(loss).epsilon <= 1


@pytest.mark.textbook("S9.9")
def test_it_halts_at_its_output_and_leaves_the_rest_unspent(sealed: Given, paid: Given) -> None:
    made = construction(RULES["multiplicative weights"])
    allowance = paid(made.loss())
    before = allowance.left.divergence
    release = made.release(sealed(HISTOGRAMS[2]), allowance, SeededEntropy(1))
    assert release.rounds == 1
    spent = before - allowance.left.divergence
    assert abs(spent * made.rounds - before) <= 2 * made.rounds


def test_it_draws_for_every_round_and_stops_where_the_allowance_ends(sealed: Given, paid: Given) -> None:
    made = construction(RULES["multiplicative weights"])
    few = replace(made, numbers=replace(made.numbers, scale=made.numbers.scale * made.rounds))
    with pytest.raises(BudgetExceeded):
        made.release(sealed(HISTOGRAMS[0]), paid(few.numbers.loss(sensitivity=1)), SeededEntropy(1))
    with pytest.raises(NeighbourMismatch):
        made.release(sealed(HISTOGRAMS[0], AddRemove()), paid(made.loss()), SeededEntropy(1))


@pytest.mark.textbook("S9.9")
def test_too_few_people_are_told_how_many_would_do_before_anything_is_paid() -> None:
    def made(people: int) -> IterativeConstruction:
        rule = MultiplicativeWeights(cells=4, people=people, alpha=Fraction(1, 8))
        return IterativeConstruction.calibrated(rule, WORKLOAD, epsilon=1, beta=BETA, neighbours=ROWS)

    with pytest.raises(InvalidParameter, match="for any accuracy at all") as refused:
        made(1000)
    needed = int(refused.value.allowed.split()[2])
    assert made(needed + 1).error() <= needed + 1
    with pytest.raises(InvalidParameter):
        made(needed - 10)


@pytest.mark.textbook("S9.8")
def test_the_distinguisher_finds_a_question_that_is_nearly_the_worst() -> None:
    scores, gamma = np.array([100] + [0] * 99), Fraction(1, 50)
    choice = ExponentialMechanism.calibrated(sensitivity=Sensitivity(linf=1), epsilon=1, neighbours=ROWS)
    short = choice.error(gamma, candidates=100)
    assert distinguisher_accuracy(queries=100, people=50, epsilon=1, gamma=gamma) * 50 == pytest.approx(float(short))
    worst = np.array([int(short) + 1] + [0] * 99)
    assert 1 - float(choice.probabilities(worst)[0]) <= gamma
    assert 1 - float(choice.probabilities(worst // 2)[0]) > gamma
    assert float(choice.probabilities(scores)[0]) > 0.99


@pytest.mark.textbook("S9.8")
@pytest.mark.parametrize("factor", [1, 2])
def test_the_distinguishers_scores_move_by_at_most_what_is_paid_for(factor: int) -> None:
    """With the twin: at twice the rate the same neighbours break epsilon."""
    choice = ExponentialMechanism.calibrated(sensitivity=Sensitivity(linf=1), epsilon=1, neighbours=ROWS)
    faster, public = replace(choice, rate=factor * choice.rate), np.array([2, 1, 3, 0])
    worst = 0.0
    for people in combinations_with_replacement(range(4), 3):
        for new in range(4):
            laws = []
            for each in (people, (*people[1:], new)):
                answers = WORKLOAD.answers(np.bincount(each, minlength=4))
                laws.append([float(p) for p in faster.probabilities(np.abs(answers - public))])
            worst = max(worst, *(abs(log(one / two)) for one, two in zip(*laws, strict=True)))
    assert (worst <= 1 + 1e-9) == (factor == 1)


@pytest.mark.textbook("S9.10")
def test_the_median_serves_questions_that_are_not_linear(paid: Given, broken_too_often: Given) -> None:
    """How many people are in the fullest cell, how many cells are full, and the smallest: over all databases."""
    people = 4000
    parts = [np.array(each) for each in np.ndindex(9, 9) if sum(each) <= 8]
    databases = np.array([[*each, 8 - each.sum()] for each in parts]) * (people // 8)

    def answers(counts: np.ndarray) -> np.ndarray:
        return np.array([counts.max(), counts.min(), np.abs(counts[0] - counts[1])])

    net = trivial_net(np.array([answers(each) for each in databases]), people=people)
    workload = MatrixWorkload(CellDomain({"answer": 4}), np.eye(4, dtype=int)[:3])
    rule = Median(net=net, people=net.size)
    made = IterativeConstruction.calibrated(rule, workload, epsilon=2, beta=BETA, neighbours=ROWS)
    assert made.rounds == 5
    assert made.error() < people / 4
    wrong = 0
    for run in range(RUNS):
        counts = databases[(7 * run) % len(databases)]
        truth = Exact(answers(counts), sensitivity=Sensitivity(linf=1), neighbours=ROWS)
        release = made.release_from(truth, paid(made.loss()), SeededEntropy(run))
        wrong += bool(np.abs(release.answers - answers(counts)).max() > made.error())
    assert not broken_too_often(wrong, RUNS, BETA)
