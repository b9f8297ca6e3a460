"""No adversary makes an update rule learn more often than its theorem says."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log

import numpy as np
import pytest

from costs import cases
from dalenius.errors import InvalidParameter
from dalenius.synth.online.multiplicative_weights import (
    InformationProjection,
    MultiplicativeWeights,
    entropy_drop,
    most_entropy,
    multiplicative_updates,
    online_threshold,
    online_weights_accuracy,
    projection_updates,
)
from dalenius.synth.online.update_rules import UpdateRule, least_alpha
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import MatrixWorkload, parities
from dalenius.textbook.release.median import Median, median_accuracy, median_updates
from dalenius.textbook.release.nets import Net
from dalenius.textbook.release.perceptron import PerceptronUpdate, perceptron_accuracy, perceptron_updates
from dalenius.textbook.release.small_databases import least_sample_size

CELLS, PEOPLE, ALPHA = 8, 1000, Fraction(1, 8)
RANDOM = np.random.default_rng(20261116)
QUESTIONS = np.vstack(
    [
        parities(3).matrix,
        1 - parities(3).matrix,
        np.eye(8),
        np.tri(8),
        RANDOM.random((30, 8)),
        RANDOM.random((30, 8)) < 0.5,
    ]
).astype(float)
HISTOGRAMS = {
    "all people in one cell": PEOPLE * np.eye(8)[5],
    "two cells": PEOPLE / 2 * (np.eye(8)[0] + np.eye(8)[6]),
    "nearly uniform": np.full(8, PEOPLE / 8),
    **{
        f"random {number}": RANDOM.multinomial(PEOPLE, RANDOM.dirichlet(np.full(8, spread))).astype(float)
        for number, spread in enumerate((0.05, 0.3, 1.0))
    },
}


def multiplicative(counts: np.ndarray) -> UpdateRule:
    return MultiplicativeWeights(cells=CELLS, people=PEOPLE, alpha=ALPHA)


def perceptron(counts: np.ndarray) -> UpdateRule:
    return PerceptronUpdate(cells=CELLS, people=PEOPLE, alpha=ALPHA, most_in_a_cell=int(counts.max()))


def projection(counts: np.ndarray) -> UpdateRule:
    return InformationProjection(cells=CELLS, people=PEOPLE, alpha=ALPHA)


RULES = {"multiplicative weights": multiplicative, "perceptron": perceptron, "information projection": projection}


def worst(off: np.ndarray, bad: np.ndarray) -> int:
    """The question that the hypothesis answers worst."""
    return int(bad[np.abs(off[bad]).argmax()])


def mildest(off: np.ndarray, bad: np.ndarray) -> int:
    """The question that teaches the least: barely wrong enough."""
    return int(bad[np.abs(off[bad]).argmin()])


def any_of(off: np.ndarray, bad: np.ndarray) -> int:
    return int(RANDOM.choice(bad))


def same_again(off: np.ndarray, bad: np.ndarray) -> int:
    """The first question that still teaches anything, over and over."""
    return int(bad[0])


ADVERSARIES = [worst, mildest, any_of, same_again]


def updates(
    rule: UpdateRule,
    questions: np.ndarray,
    counts: np.ndarray,
    adversary: Callable[[np.ndarray, np.ndarray], int],
    *,
    noise: float,
) -> int:
    """How many updates an adversary causes, who also chooses the noise: as far towards the hypothesis as is allowed,
    `noise` times alpha. It stops beyond the bound, where the theorem is broken."""
    hypothesis, off_by, truth = rule.start(), float(rule.alpha) * rule.people, questions @ counts
    slack = noise * off_by if isinstance(rule, InformationProjection) else 0.0
    for done in range(rule.most_updates + 1):
        off = truth - np.array([rule.answer(hypothesis, question) for question in questions])
        bad = np.flatnonzero(np.abs(off) > off_by + 2 * slack + 1e-6)
        if not len(bad):
            return done
        chosen = adversary(off, bad)
        value = truth[chosen] - np.sign(off[chosen]) * noise * off_by
        hypothesis = rule.updated(hypothesis, questions[chosen], value=value, slack=slack)
    return rule.most_updates + 1


@pytest.mark.textbook("S9.5", "S9.11")
@cases("adversary", ADVERSARIES, ids=lambda each: each.__name__, fast=1)
@pytest.mark.parametrize("counts", HISTOGRAMS.values(), ids=HISTOGRAMS)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("noise", [0.0, 0.9])
def test_no_adversary_causes_more_updates_than_the_theorem_says(
    rule: Callable[[np.ndarray], UpdateRule],
    counts: np.ndarray,
    adversary: Callable[[np.ndarray, np.ndarray], int],
    noise: float,
) -> None:
    made = rule(counts)
    assert updates(made, QUESTIONS, counts, adversary, noise=noise) <= made.most_updates


def small_net(alpha: Fraction) -> Net:
    size = least_sample_size(queries=12, alpha=alpha)
    return Net.of_size(4, size, alpha=alpha)


FEW = np.vstack([parities(2).matrix, np.eye(4), np.tri(4)]).astype(float)


@pytest.mark.textbook("S9.10")
@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("counts", [[1000, 0, 0, 0], [0, 500, 0, 500], [250] * 4, [700, 200, 90, 10]])
@pytest.mark.parametrize("noise", [0.0, 0.9])
def test_no_adversary_makes_the_median_drop_its_net_more_often_than_it_can_be_halved(
    counts: list[int], adversary: Callable[[np.ndarray, np.ndarray], int], noise: float
) -> None:
    rule = Median(net=small_net(Fraction(1, 4)), people=PEOPLE)
    assert rule.most_updates == int(np.log2(rule.net.count))
    assert updates(rule, FEW, np.array(counts, dtype=float), adversary, noise=noise) <= rule.most_updates


class Backwards(MultiplicativeWeights):
    """A planted bug: it learns the opposite."""

    def updated(self, hypothesis: np.ndarray, weights: np.ndarray, *, value: float, slack: float) -> np.ndarray:
        wrong = 2 * self.answer(hypothesis, weights) - value
        return super().updated(hypothesis, weights, value=wrong, slack=slack)


class TooShort(PerceptronUpdate):
    """The step that stands in print, alpha / |f|, on counts of people."""

    def updated(self, hypothesis: np.ndarray, weights: np.ndarray, *, value: float, slack: float) -> np.ndarray:
        step = super().updated(hypothesis, weights, value=value, slack=slack) - hypothesis
        return hypothesis + step / self.people


class Stubborn(Median):
    """A planted bug: it keeps those who were wrong."""

    def updated(self, hypothesis: np.ndarray, weights: np.ndarray, *, value: float, slack: float) -> np.ndarray:
        return hypothesis


class Timid(InformationProjection):
    """A planted bug: it moves a hundredth of the way."""

    def updated(self, hypothesis: np.ndarray, weights: np.ndarray, *, value: float, slack: float) -> np.ndarray:
        now = self.answer(hypothesis, weights)
        return super().updated(hypothesis, weights, value=now + (value - now) / 100, slack=0.0)


@pytest.mark.parametrize(
    ("rule", "questions", "counts"),
    [
        (Backwards(cells=8, people=PEOPLE, alpha=ALPHA), QUESTIONS, HISTOGRAMS["two cells"]),
        (TooShort(cells=8, people=PEOPLE, alpha=ALPHA, most_in_a_cell=500), QUESTIONS, HISTOGRAMS["two cells"]),
        (Timid(cells=8, people=PEOPLE, alpha=ALPHA), QUESTIONS, HISTOGRAMS["two cells"]),
        (Stubborn(net=small_net(Fraction(1, 4)), people=PEOPLE), FEW, np.array([1000.0, 0, 0, 0])),
    ],
    ids=["backwards", "the printed step", "timid", "stubborn"],
)
def test_the_tests_above_notice_a_rule_that_learns_wrong(
    rule: UpdateRule, questions: np.ndarray, counts: np.ndarray
) -> None:
    assert updates(rule, questions, counts, worst, noise=0.0) > rule.most_updates


def entropy(counts: np.ndarray, hypothesis: np.ndarray) -> float:
    shares = counts[counts > 0] / PEOPLE
    return float(np.sum(shares * np.log(shares * PEOPLE / hypothesis[counts > 0])))


@pytest.mark.textbook("S9.5")
@pytest.mark.parametrize("counts", HISTOGRAMS.values(), ids=HISTOGRAMS)
@pytest.mark.parametrize("rule", [multiplicative, projection])
def test_every_update_lowers_the_entropy_by_as_much_as_the_proof_says(
    counts: np.ndarray, rule: Callable[[np.ndarray], UpdateRule]
) -> None:
    made, hypothesis, truth = rule(counts), rule(counts).start(), QUESTIONS @ counts
    drop = float(entropy_drop(alpha=ALPHA)) if isinstance(made, MultiplicativeWeights) else 2 * float(ALPHA) ** 2
    assert entropy(counts, hypothesis) <= float(most_entropy(CELLS)) + 1e-9
    while True:
        off = truth - QUESTIONS @ hypothesis
        chosen = int(np.abs(off).argmax())
        if abs(off[chosen]) <= ALPHA * PEOPLE:
            break
        after = made.updated(hypothesis, QUESTIONS[chosen], value=float(truth[chosen]), slack=0.0)
        assert entropy(counts, hypothesis) - entropy(counts, after) >= drop - 1e-6
        assert after.sum() == pytest.approx(PEOPLE)
        assert (after >= 0).all()
        hypothesis = after


@pytest.mark.textbook("S9.10")
def test_the_median_answers_as_the_median_of_its_databases() -> None:
    net = Net(np.array([[2, 0, 0], [1, 1, 0], [0, 0, 2]]), 2, Fraction(1, 2))
    rule = Median(net=net, people=10)
    workload = MatrixWorkload(CellDomain({"x": 3}), [[2, 1, 0], [0, 0, 2]], denominator=2)
    assert rule.answers(rule.start(), workload).tolist() == [7.5, 0]
    assert rule.answer(rule.start(), np.array([1.0, 0.5, 0.0])) == 7.5
    left = rule.updated(rule.start(), np.array([1.0, 0.5, 0.0]), value=9.0, slack=0.0)
    assert left.tolist() == [[10, 0, 0]]
    assert rule.updated(left, np.array([1.0, 0.5, 0.0]), value=0.0, slack=0.0).tolist() == left.tolist()
    assert rule.histogram(left) is None


@pytest.mark.textbook("S9.5", "S9.10", "S9.11")
def test_the_numbers_of_updates_are_the_theorems() -> None:
    assert float(multiplicative_updates(cells=100, alpha=Fraction(1, 10))) == pytest.approx(400 * log(100))
    assert float(projection_updates(cells=100, alpha=Fraction(1, 10))) == pytest.approx(50 * log(100))
    assert median_updates(cells=100, queries=20, alpha=Fraction(1, 10)) == int(100 * log(20) * log(100) / log(2))
    assert perceptron_updates(cells=100, people=50, alpha=Fraction(1, 10), most_in_a_cell=1) == 200
    assert perceptron_updates(cells=100, people=50, alpha=Fraction(1, 10), most_in_a_cell=99) == 10_000


@pytest.mark.textbook("S9.6")
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**9)])
def test_the_accuracy_of_online_weights_solves_the_corrected_inequality(delta: Fraction | int) -> None:
    facts = {"cells": 100, "queries": 10**12, "people": 10**7, "epsilon": Fraction(1, 2), "beta": Fraction(1, 20)}
    alpha = float(online_weights_accuracy(**facts, delta=delta))
    bracket = log(10**12) + log(32 * log(100) / (alpha**2 / 20))
    if delta:
        right = (2 + 32 * 2**0.5) * (log(100) * log(2 / float(delta))) ** 0.5 * bracket / (alpha * 0.5 * 10**7)
    else:
        right = 36 * log(100) * bracket / (0.5 * alpha**2 * 10**7)
    assert right <= alpha * 1.001
    assert alpha <= 1.01 * right
    threshold = online_threshold(**facts, delta=delta, alpha=Fraction(alpha))
    assert float(threshold) == pytest.approx(2 * right, rel=0.01)


@pytest.mark.textbook("S9.10", "S9.11")
def test_the_accuracies_of_median_and_perceptron_have_the_corrected_constants() -> None:
    facts = {"queries": 1000, "epsilon": 1, "delta": Fraction(1, 10**6), "beta": Fraction(1, 20)}
    rounds = 10**8 * log(16) / log(2)
    expected = 64 * (rounds * log(10**6)) ** 0.5 * log(2 * rounds * 1000 * 20) / 10**8
    assert float(median_accuracy(cells=16, people=10**8, **facts)) == pytest.approx(expected)
    dense = perceptron_accuracy(cells=10**6, people=5 * 10**5, most_in_a_cell=1, **facts)
    rounds = float(perceptron_updates(cells=10**6, people=5 * 10**5, alpha=dense / 2, most_in_a_cell=1))
    right = 64 * (rounds * log(10**6)) ** 0.5 * log(2 * rounds * 1000 * 20) / (5 * 10**5)
    assert right <= float(dense) <= 1.01 * right


@pytest.mark.textbook("S9.11")
def test_the_perceptron_beats_multiplicative_weights_on_dense_graphs_only() -> None:
    alpha = Fraction(1, 10)
    weights = multiplicative_updates(cells=10**6, alpha=alpha)
    assert perceptron_updates(cells=10**6, people=5 * 10**5, alpha=alpha, most_in_a_cell=1) < weights
    assert perceptron_updates(cells=10**6, people=10**3, alpha=alpha, most_in_a_cell=1) > weights


def test_too_few_people_are_refused_before_anything_is_paid() -> None:
    facts = {"cells": 100, "queries": 10, "epsilon": 1, "beta": Fraction(1, 20)}
    with pytest.raises(InvalidParameter, match="for an error of one half of all people it takes") as refused:
        online_weights_accuracy(people=100, **facts)
    needed = int(refused.value.allowed.split()[-1])
    assert online_weights_accuracy(people=needed, **facts) <= Fraction(1, 2)
    assert online_weights_accuracy(people=needed - 1, **facts) > Fraction(1, 2)
    assert least_alpha(lambda alpha, people: alpha >= Fraction(1, 3), people=1) >= Fraction(1, 3)
