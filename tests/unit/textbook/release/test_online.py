"""Online sessions: paid once, they answer adaptive questions within their error bars until they are used up."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pytest

from checks import SeededEntropy
from costs import cases
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import price
from dalenius.accounting.budget import Budget
from dalenius.accounting.conversion import to_delta, to_pure
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import (
    BudgetExceeded,
    InvalidParameter,
    MechanismFinished,
    NeighbourMismatch,
    NotCopyable,
    UnusableValue,
)
from dalenius.mechanisms.sparse.sparse_vector import NumericSession
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.synth.online import rounds as online
from dalenius.synth.online.multiplicative_weights import (
    InformationProjection,
    MultiplicativeWeights,
    online_weights_accuracy,
)
from dalenius.synth.online.rounds import OnlinePlan, OnlineSession
from dalenius.synth.online.update_rules import UpdateRule
from dalenius.tabular.workloads import parities
from dalenius.textbook.release.median import Median
from dalenius.textbook.release.nets import Net
from dalenius.textbook.release.perceptron import PerceptronUpdate
from dalenius.textbook.release.small_databases import least_sample_size

Given: TypeAlias = Callable[..., Any]
ROWS, BETA, PEOPLE, QUERIES = Replace(), Fraction(1, 10), 10**6, 400
QUESTIONS = np.vstack([parities(2).matrix, np.eye(4, dtype=np.int64), np.tri(4, dtype=np.int64)])
ALPHA = Fraction(1, 6)
RULES: dict[str, UpdateRule] = {
    "multiplicative weights": MultiplicativeWeights(cells=4, people=PEOPLE, alpha=ALPHA),
    "information projection": InformationProjection(cells=4, people=PEOPLE, alpha=ALPHA),
    "perceptron": PerceptronUpdate(cells=4, people=PEOPLE, alpha=ALPHA, most_in_a_cell=PEOPLE),
    "median": Median(net=Net.of_size(4, least_sample_size(queries=12, alpha=ALPHA), alpha=ALPHA), people=PEOPLE),
}
HISTOGRAMS = [[PEOPLE, 0, 0, 0], [0, PEOPLE // 2, PEOPLE // 2, 0], [700_000, 200_000, 90_000, 10_000]]


def plan_of(rule: UpdateRule, delta: str = "", denominator: int = 1) -> OnlinePlan:
    return OnlinePlan.calibrated(
        rule, epsilon=1, delta=delta or 0, queries=QUERIES, beta=BETA, neighbours=ROWS, denominator=denominator
    )


def run(session: OnlineSession, counts: list[int], questions: int) -> float:
    """The largest error of so many questions, of which each is the one that the hypothesis answers worst now."""
    truth, rule, most = QUESTIONS @ np.array(counts), session.plan.rule, 0.0
    for _ in range(questions):
        off = [abs(rule.answer(session.hypothesis, q) - t) for q, t in zip(QUESTIONS.astype(float), truth, strict=True)]
        worst = int(np.argmax(off))
        answer = session.ask(QUESTIONS[worst])
        most = max(most, abs(float(answer.people) - truth[worst]))
    return most


@pytest.mark.textbook("S9.6", "S9.12")
@pytest.mark.parametrize("counts", HISTOGRAMS, ids=["one cell", "two cells", "skewed"])
@cases("rule", RULES.values(), ids=RULES, fast=1)
def test_all_questions_of_an_adversary_are_answered_within_the_stated_error(
    rule: UpdateRule, counts: list[int], sealed: Given, paid: Given, broken_too_often: Given
) -> None:
    plan, failures, runs = plan_of(rule), 0, 4
    assert plan.error_of_all() < PEOPLE
    for number in range(runs):
        session = plan.start(sealed(counts), paid(plan.loss()), SeededEntropy((number, counts)))
        assert session.left == plan.updates == max(1, rule.most_updates)
        try:
            failures += run(session, counts, 100) > plan.error_of_all()
        except MechanismFinished:
            failures += 1
    assert failures < runs
    assert not broken_too_often(failures, runs, BETA)


def never(self: object, hypothesis: np.ndarray, weights: np.ndarray, **value: float) -> np.ndarray:
    return hypothesis


def test_the_test_above_notices_a_rule_that_does_not_learn(
    sealed: Given, paid: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InformationProjection, "updated", never)
    plan = plan_of(RULES["information projection"])
    session = plan.start(sealed(HISTOGRAMS[0]), paid(plan.loss()), SeededEntropy(1))
    with pytest.raises(MechanismFinished):
        run(session, HISTOGRAMS[0], 100)


@pytest.mark.textbook("S9.6")
def test_the_theorems_alpha_is_enough_for_the_session_of_the_theorem() -> None:
    people = 10**7
    alpha = online_weights_accuracy(cells=4, queries=QUERIES, people=people, epsilon=1, beta=BETA)
    plan = plan_of(MultiplicativeWeights(cells=4, people=people, alpha=alpha))
    assert plan.error_of_all() <= 3 * alpha * people
    assert plan.threshold <= 2 * alpha * people + 1


def test_too_few_people_are_told_how_many_would_do_before_anything_is_paid() -> None:
    with pytest.raises(InvalidParameter, match="for any accuracy at all"):
        plan_of(MultiplicativeWeights(cells=4, people=1000, alpha=ALPHA))


@pytest.mark.textbook("S9.6", "S9.12")
@cases("delta", ["", "1e-9"], fast=1)
def test_the_price_is_paid_at_the_start_and_is_what_was_asked(delta: str, sealed: Given) -> None:
    plan = plan_of(RULES["information projection"], delta)
    loss = plan.loss()
    if delta:
        assert Fraction("0.9e-9") < to_delta(loss, epsilon=1) <= Fraction("1e-9")
        return
    assert to_pure(loss).epsilon <= 1
    ledger = PrivacyFilter(Budget(1), neighbours=ROWS)
    with pytest.raises(BudgetExceeded):
        plan.start(
            sealed(HISTOGRAMS[0]),
            PrivacyFilter(Budget("0.9"), neighbours=ROWS).allow(ledger.amount(epsilon="0.5")),
            SeededEntropy(0),
        )
    allowance = ledger.allow(loss)
    session = plan.start(sealed(HISTOGRAMS[0]), allowance, SeededEntropy(0))
    assert not allowance.left.divergence
    session.ask(QUESTIONS[0])
    assert not allowance.left.divergence


def test_each_question_is_compared_once_upwards_and_once_downwards(
    sealed: Given, paid: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Fraction | None, int]] = []
    right = NumericSession.ask

    def ask(self: NumericSession, question: Exact[int], *, threshold: int) -> int | None:
        seen.append((question.sensitivity.linf, threshold))
        return right(self, question, threshold=threshold)

    monkeypatch.setattr(NumericSession, "ask", ask)
    plan = plan_of(RULES["multiplicative weights"], denominator=3)
    session = plan.start(sealed([PEOPLE // 4] * 4), paid(plan.loss()), SeededEntropy(3))
    session.ask([3, 1, 0, 2])
    assert seen == [(Fraction(3), plan.threshold)] * 2


@pytest.mark.parametrize("weights", [[1, 0, 0], [2, 0, 0, 0], [-1, 0, 0, 0], [0.5, 0, 0, 0], [[1, 0, 0, 0]]])
def test_questions_that_could_move_further_than_was_paid_for_are_refused(
    weights: list[Any], sealed: Given, paid: Given
) -> None:
    plan = plan_of(RULES["information projection"])
    session = plan.start(sealed(HISTOGRAMS[0]), paid(plan.loss()), SeededEntropy(0))
    with pytest.raises(InvalidParameter):
        session.ask(weights)
    assert session.left == plan.updates
    assert not session.finished


def test_histograms_of_other_neighbours_or_of_more_rows_are_refused_before_they_are_paid(
    sealed: Given, paid: Given
) -> None:
    plan = plan_of(RULES["information projection"])
    allowance = paid(plan.loss())
    left = allowance.left
    with pytest.raises(NeighbourMismatch):
        plan.start(sealed(HISTOGRAMS[0], AddRemove()), allowance, SeededEntropy(0))
    many = Exact(np.array(HISTOGRAMS[0]), sensitivity=Sensitivity(l1=4), neighbours=ROWS)
    with pytest.raises(InvalidParameter, match="no more of one unit"):
        plan.start(many, allowance, SeededEntropy(0))
    assert allowance.left == left


def practical(updates: int = 8, **changes: Any) -> OnlinePlan:
    facts: dict[str, Any] = {
        "cells": 4, "people": PEOPLE, "queries": QUERIES, "neighbours": ROWS, "epsilon": 1, "beta": BETA,
    }  # fmt: skip
    return OnlinePlan.practical(updates=updates, **(facts | changes))


def found(off: int, paid: Given, sealed: Given, *, runs: int = 150) -> list[int]:
    """How far off a question is found to be, in fresh sessions, that the hypothesis misses by `off` people; 0 where it
    is not found to be hard."""
    plan, results = practical(), []
    for number in range(runs):
        counts = [PEOPLE // 4 + off, PEOPLE // 4 - off, PEOPLE // 4, PEOPLE // 4]
        session = plan.start(sealed(counts), paid(plan.loss()), SeededEntropy((number, off)))
        answer = session.ask([1, 0, 0, 0])
        results.append(int(answer.people) - PEOPLE // 4 if answer.measured else 0)
    return results


@pytest.mark.textbook("S9.6")
def test_a_measured_answer_is_within_its_error_bar(paid: Given, sealed: Given, broken_too_often: Given) -> None:
    """With the twin: half of the bar is passed far more often than beta."""
    bar, off = practical().error(measured=True), 10**5
    gaps = [abs(value - off) for value in found(off, paid, sealed)]
    assert not broken_too_often(sum(gap > bar for gap in gaps), 150, BETA)
    assert broken_too_often(sum(gap > bar / 3 for gap in gaps), 150, BETA)


def test_a_session_ends_when_its_updates_are_used_up_and_says_so(sealed: Given, paid: Given) -> None:
    plan = practical(updates=3)
    session = plan.start(sealed([PEOPLE, 0, 0, 0]), paid(plan.loss()), SeededEntropy(5))
    assert session.expected_left is None
    lefts = []
    for question in ([0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]):
        session._hypothesis = session.plan.rule.start()  # as if it had learned nothing
        lefts.append(session.ask(question).left)
    assert lefts == [2, 1, 0]
    assert session.finished
    assert "0 of 3 updates left" in repr(session)
    with pytest.raises(MechanismFinished, match="all 3 updates that were paid for are used up"):
        session.ask([1, 0, 0, 0])


def test_it_says_how_many_questions_are_left_if_they_go_on_like_this(sealed: Given, paid: Given) -> None:
    plan = practical(updates=4)
    session = plan.start(sealed([PEOPLE, 0, 0, 0]), paid(plan.loss()), SeededEntropy(5))
    for _ in range(10):
        session.ask([0, 1, 0, 0])
    used = plan.updates - session.left
    assert 1 <= used < 4
    assert session.expected_left == (4 - used) * 10 // used


def test_its_hypothesis_is_public_and_a_copy(sealed: Given, paid: Given) -> None:
    plan = practical()
    session = plan.start(sealed([PEOPLE, 0, 0, 0]), paid(plan.loss()), SeededEntropy(5))
    session.hypothesis[:] = 0
    assert session.hypothesis.sum() == pytest.approx(PEOPLE)
    start = np.array([0.0, PEOPLE, 0.0, 0.0]) + 1
    again = plan.start(sealed([0, PEOPLE, 0, 0]), paid(plan.loss()), SeededEntropy(5), hypothesis=start)
    assert not again.ask([0, 1, 0, 0]).measured
    for bad in ([1.0, 2.0], [np.nan, 1, 1, 1], [0.0, 1, 1, 1]):
        with pytest.raises(InvalidParameter):
            plan.start(sealed([0, PEOPLE, 0, 0]), paid(plan.loss()), SeededEntropy(5), hypothesis=np.array(bad))


@pytest.mark.textbook("S9.12")
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_first_hypothesis_is_the_rules_own(rule: UpdateRule, sealed: Given, paid: Given) -> None:
    plan = plan_of(rule)
    session = plan.start(sealed(HISTOGRAMS[0]), paid(plan.loss()), SeededEntropy(5))
    assert (session.hypothesis == rule.start()).all()
    if isinstance(rule, PerceptronUpdate):
        assert not session.hypothesis.any()


def test_a_larger_error_can_be_accepted_so_that_updates_last() -> None:
    assert practical(accepted=5000, denominator=2).threshold == 10_000
    assert practical(accepted=1).threshold == practical().threshold


@pytest.mark.parametrize("order", [None, Fraction(20)])
def test_all_rounds_together_cost_what_the_session_costs(order: Fraction | None) -> None:
    plan = practical(updates=5)
    one = plan.round.loss(sensitivity=plan.mechanism.search.rounds.sensitivity)
    assert price(one, order=order) * plan.updates == price(plan.loss(), order=order)
    assert not price(plan.loss(), order=order) <= price(one, order=order) * (plan.updates - 1)


def broken_off(claim: Callable[[], int | None] | None, sealed: Given, paid: Given) -> tuple[list[int], int]:
    """How many updates each of ten sessions of one payment has left after its first question, and how many rounds they
    began together."""
    plan, begun, lefts = practical(updates=5), [0], []
    start = type(plan.round).start

    def counted(self: Any, *arguments: Any) -> Any:
        begun[0] += 1
        return start(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(plan.round), "start", counted)
        for number in range(10):
            session = plan.start(
                sealed([PEOPLE // 4] * 4), paid(plan.loss()), SeededEntropy((number, "off")), claim=claim
            )
            try:
                lefts.append(session.ask([1, 0, 0, 0]).left)
            except MechanismFinished:
                assert session.finished
    return lefts, begun[0]


def test_sessions_that_are_broken_off_use_a_round_each_and_never_more_than_were_paid_for(
    sealed: Given, paid: Given
) -> None:
    turns = iter(range(1, 6))
    assert broken_off(lambda: next(turns, None), sealed, paid) == ([5, 4, 3, 2, 1], 5)


def test_the_test_above_notices_a_claim_that_always_says_yes(sealed: Given, paid: Given) -> None:
    assert broken_off(lambda: 1, sealed, paid)[1] == 10 > practical(updates=5).updates


def test_no_session_goes_past_its_updates_whatever_the_claim_says(sealed: Given, paid: Given) -> None:
    plan = practical(updates=3)
    session = plan.start(sealed([PEOPLE, 0, 0, 0]), paid(plan.loss()), SeededEntropy(5), claim=lambda: 1)
    for question in ([0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]):
        session._hypothesis = session.plan.rule.start()
        assert session.ask(question).measured
    with pytest.raises(MechanismFinished, match="all 3 updates"):
        session.ask([1, 0, 0, 0])


def test_a_question_that_fails_ends_its_round_and_no_more(
    sealed: Given, paid: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = practical(updates=3)
    session = plan.start(sealed([PEOPLE // 4] * 4), paid(plan.loss()), SeededEntropy(5))
    session.ask([1, 0, 0, 0])
    assert session.left == 3
    with monkeypatch.context() as patch:
        patch.setattr(NumericSession, "_compare", lambda *_: 1 / 0)
        with pytest.raises(UnusableValue):
            session.ask([1, 0, 0, 0])
    assert session.left == 2
    assert session.ask([1, 0, 0, 0]).left == 2


def test_it_cannot_be_copied_pickled_or_used_in_another_process(
    sealed: Given, paid: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = practical()
    session = plan.start(sealed([PEOPLE, 0, 0, 0]), paid(plan.loss()), SeededEntropy(5))
    for forbidden in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotCopyable):
            forbidden(session)
    monkeypatch.setattr(online, "identity", lambda: "another")
    with pytest.raises(MechanismFinished, match="another process"):
        session.ask([1, 0, 0, 0])


def test_threads_are_answered_one_at_a_time(sealed: Given, paid: Given) -> None:
    plan = practical()
    session = plan.start(sealed([PEOPLE // 4] * 4), paid(plan.loss()), SeededEntropy(5))
    threads = [threading.Thread(target=lambda: [session.ask([1, 0, 0, 0]) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.asked == 80


@cases("delta", [0, "1e-9"], fast=1)
def test_a_practical_plan_is_the_least_noise_for_its_price(delta: str | int) -> None:
    plan = practical(updates=40, delta=delta)
    loss = plan.loss()
    if delta:
        assert Fraction("0.9e-9") < to_delta(loss, epsilon=1) <= Fraction("1e-9")
    else:
        assert Fraction(99, 100) < to_pure(loss).epsilon <= 1


def test_a_practical_plan_fits_an_amount_of_a_ledger() -> None:
    ledger = PrivacyFilter(Budget(1, "1e-9"), neighbours=ROWS)
    amount = ledger.amount(epsilon=Fraction(1, 2))
    plan = practical(updates=40, epsilon=None, amount=amount)
    assert ledger.price(plan.loss()) <= amount
    assert ledger.price(plan.loss()).divergence > Fraction(99, 100) * amount.divergence
    with Allowance(amount, neighbours=ROWS) as allowance:
        allowance.draw(plan.loss())
    with pytest.raises(InvalidParameter):
        practical(updates=40, amount=amount)
