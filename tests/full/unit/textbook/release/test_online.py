"""The dear tests of `unit/textbook/release/test_online.py`."""

from __future__ import annotations

import numpy as np
import pytest

from checks import ALARM, SeededEntropy
from dalenius.randomness.laplace import discrete_laplace
from tests.unit.textbook.release.test_online import BETA, PEOPLE, Given, found, practical


@pytest.mark.textbook("S9.6")
def test_a_question_that_is_off_by_more_than_its_error_bar_is_hardly_ever_missed(
    paid: Given, sealed: Given, broken_too_often: Given
) -> None:
    """With the twin: one that is off by the threshold alone is missed far more often than beta."""
    bar = int(practical().error(measured=False)) + 1
    missed = found(bar, paid, sealed).count(0)
    assert not broken_too_often(missed, 150, BETA)
    assert broken_too_often(found(practical().threshold, paid, sealed).count(0), 150, BETA)


def test_noise_alone_uses_up_few_updates(sealed: Given, paid: Given) -> None:
    """A right hypothesis and as many questions as planned: a tenth of forty updates is expected, thirteen more would
    be a Poisson event below 10^-6. The twin has half the threshold."""
    for divided, fine in ((1, True), (2, False)):
        plan = practical(updates=40, queries=2000)
        object.__setattr__(plan, "threshold", plan.threshold // divided)
        session = plan.start(sealed([PEOPLE // 4] * 4), paid(plan.loss()), SeededEntropy(2))
        start = session.hypothesis
        for _ in range(2000):
            if session.finished:
                break
            session.ask([1, 0, 0, 0])
            session._hypothesis = start
        assert (40 - session.left <= 17) == fine


@pytest.mark.textbook("S9.7")
def test_the_answer_does_not_reuse_the_noise_of_the_comparison(paid: Given, sealed: Given) -> None:
    """Answers to questions at the threshold are found by luck of the comparison. Fresh noise has mean 0 still; in the
    twin, the slides' form, the lucky noise is the answer's, whose mean is far above."""
    plan, runs = practical(), 300
    rounds, off = plan.mechanism.search.rounds, plan.threshold
    fresh = [value - off for value in found(off, paid, sealed, runs=runs) if value]
    reused, entropy = [], SeededEntropy("slides")
    for _ in range(runs):
        noise = discrete_laplace(rounds.query_scale, entropy=entropy)
        if noise >= discrete_laplace(rounds.threshold_scale, entropy=entropy):
            reused.append(noise)
    limit = 6.5  # standard errors: a false alarm in 10^10
    for sample, scale, biased in ((fresh, plan.mechanism.answers.scale, False), (reused, rounds.query_scale, True)):
        spread = float(scale) * (2 / len(sample)) ** 0.5
        assert (abs(np.mean(sample)) > limit * spread) == biased
    assert ALARM > 1e-10


def test_learning_old_questions_again_saves_updates(sealed: Given, paid: Given) -> None:
    grid = (8, 8, 8)
    counts = np.random.default_rng(1).multinomial(PEOPLE, np.random.default_rng(2).dirichlet(np.full(512, 0.05)))
    masks = np.random.default_rng(3).integers(0, 2, (3, 300, 8))

    def used(replays: int) -> int:
        plan = practical(updates=400, cells=512, queries=300, epsilon=20, replays=replays)
        session = plan.start(sealed(counts), paid(plan.loss()), SeededEntropy(4))
        for number in range(300):
            session.ask(np.einsum("i,j,k->ijk", *masks[:, number]).reshape(int(np.prod(grid))))
        return plan.updates - session.left

    assert used(16) < used(0)
