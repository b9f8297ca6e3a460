"""A running sparse vector is paid once, answers only what was paid for, and tells nothing else."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections import Counter
from fractions import Fraction

import pytest

from checks import SeededEntropy
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import (
    BudgetExceeded,
    DaleniusError,
    FunctionFailed,
    InvalidParameter,
    MechanismFinished,
    NeighbourMismatch,
    NotCopyable,
)
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, NumericSession, Sparse, ThresholdSession, _Question
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy

PEOPLE = AddRemove()
FAR = 10**6


def question(value: object, sensitivity: object = 1) -> Exact[int]:
    return Exact(value, sensitivity=sensitivity, neighbours=PEOPLE)


def paid(mechanism: AboveThreshold | Sparse | NumericSparse) -> Allowance:
    return PrivacyFilter(Budget(10), neighbours=PEOPLE).allow(mechanism.loss(sensitivity=1))


def above() -> AboveThreshold:
    return AboveThreshold.calibrated(sensitivity=1, epsilon=1, neighbours=PEOPLE)


def sparse(cutoff: int = 3) -> Sparse:
    return Sparse.calibrated(sensitivity=1, epsilon=1, cutoff=cutoff, neighbours=PEOPLE)


def numeric(cutoff: int = 3) -> NumericSparse:
    return NumericSparse.calibrated(sensitivity=1, epsilon=1, cutoff=cutoff, neighbours=PEOPLE)


def running(mechanism: Sparse, seed: object = 0) -> ThresholdSession:
    return mechanism.start(paid(mechanism), SeededEntropy(seed))


class Counting(Entropy):
    """Counts the bytes that are read from another source."""

    def __init__(self, seed: object) -> None:
        self.source, self.count = SeededEntropy(seed), 0

    def read(self, count: int) -> bytes:
        self.count += count
        return self.source.read(count)


# Paying


@pytest.mark.textbook("S8.1", "S8.2", "S8.3")
@pytest.mark.parametrize("mechanism", [above(), sparse(), numeric()])
def test_starting_pays_the_whole_price_and_questions_pay_nothing(mechanism: Sparse) -> None:
    allowance = paid(mechanism)
    session = mechanism.start(allowance, SeededEntropy(1))
    assert not allowance.left
    for _ in range(50):
        session.ask(question(0), threshold=FAR)
    assert not allowance.left


@pytest.mark.parametrize("mechanism", [above(), sparse(), numeric()])
def test_without_enough_allowance_nothing_starts_and_nothing_is_charged(mechanism: Sparse) -> None:
    ledger = PrivacyFilter(Budget(1), neighbours=PEOPLE)
    allowance = ledger.allow(ledger.amount(epsilon="0.9"))
    left, entropy = allowance.left, Counting(1)
    with pytest.raises(BudgetExceeded):
        mechanism.start(allowance, entropy)
    assert (allowance.left, entropy.count) == (left, 0)


def test_an_allowance_for_other_neighbours_is_refused_before_it_is_charged() -> None:
    allowance = PrivacyFilter(Budget(1), neighbours=Replace()).allow(above().loss(sensitivity=1))
    left = allowance.left
    with pytest.raises(NeighbourMismatch):
        above().start(allowance, SeededEntropy(1))
    assert allowance.left == left


def test_a_sessions_allowance_pays_for_nothing_else() -> None:
    session = running(sparse())
    with pytest.raises(BudgetExceeded):
        measure(DiscreteLaplace(Fraction(9), neighbours=PEOPLE), question(0), session._prepaid, SeededEntropy(1))
    with pytest.raises(BudgetExceeded):
        session._prepaid.draw(sparse().loss(sensitivity=1))


def test_a_question_outside_of_its_session_costs_the_whole_session_again() -> None:
    session, allowance = running(sparse()), paid(sparse())
    measure(_Question(session, FAR), question(0), allowance, SeededEntropy(1))
    assert not allowance.left


def test_other_measurements_may_come_between_the_questions() -> None:
    ledger = PrivacyFilter(Budget(2), neighbours=PEOPLE)
    noise = DiscreteLaplace(Fraction(2), neighbours=PEOPLE)
    session = sparse().start(ledger.allow(sparse().loss(sensitivity=1)), SeededEntropy(1))
    for _ in range(2):
        session.ask(question(0), threshold=0)
        measure(noise, question(0), ledger.allow(noise.loss(sensitivity=1)), SeededEntropy(2))
    assert ledger.left.divergence < 3
    assert session.ask(question(-FAR), threshold=0) is False


# Answering


@pytest.mark.textbook("S8.1", "S8.6")
def test_above_threshold_finds_the_first_question_above_and_stops() -> None:
    session = above().start(paid(above()), SeededEntropy(1))
    assert [session.ask(question(value), threshold=FAR // 2) for value in (0, 10, FAR)] == [False, False, True]
    assert session.finished
    with pytest.raises(MechanismFinished):
        session.ask(question(0), threshold=FAR)


@pytest.mark.textbook("S8.6")
def test_each_question_is_compared_with_its_own_threshold() -> None:
    session = running(sparse(2))
    answers = [session.ask(question(0), threshold=threshold) for threshold in (FAR, -FAR, FAR, -FAR)]
    assert answers == [False, True, False, True]


@pytest.mark.textbook("S8.2")
def test_sparse_stops_after_its_cutoff() -> None:
    session = running(sparse(3))
    for left in (2, 1, 0):
        assert session.ask(question(0), threshold=FAR) is False
        assert session.ask(question(FAR), threshold=0) is True
        assert session.left == left
    with pytest.raises(MechanismFinished, match="every positive answer"):
        session.ask(question(0), threshold=FAR)


@pytest.mark.textbook("S8.3")
def test_numeric_sparse_gives_numbers_above_and_none_below() -> None:
    session = numeric(2).start(paid(numeric(2)), SeededEntropy(1))
    assert session.ask(question(0), threshold=FAR) is None
    first = session.ask(question(FAR), threshold=0)
    second = session.ask(question(FAR), threshold=0)
    assert isinstance(first, int)
    assert first != second
    assert abs(first - FAR) <= numeric(2).answers.error("1e-9")
    assert session.finished


@pytest.mark.textbook("S8.2")
def test_the_noisy_threshold_is_drawn_anew_after_each_positive_answer_only() -> None:
    session = running(sparse(2))
    before = session._SparseVectorSession__noise
    session.ask(question(-FAR), threshold=0)
    assert session._SparseVectorSession__noise == before
    session.ask(question(FAR), threshold=0)
    assert session._SparseVectorSession__noise != before


@pytest.mark.textbook("S8.1")
def test_a_tie_is_above() -> None:
    """On integers a tie has positive probability, and the proof counts it as above. This noise is 0 but for e^-100."""
    quiet = Fraction(1, 100)
    mechanism = AboveThreshold(threshold_scale=quiet, query_scale=quiet, sensitivity=Fraction(1), neighbours=PEOPLE)
    allowance = PrivacyFilter(Budget(300), neighbours=PEOPLE).allow(mechanism.loss(sensitivity=1))
    session = mechanism.start(allowance, SeededEntropy(1))
    assert session.ask(question(4), threshold=5) is False
    assert session.ask(question(5), threshold=5) is True


def test_integers_of_any_size_are_compared_exactly() -> None:
    session = running(sparse(2))
    assert session.ask(question(2**200), threshold=2**200 - FAR) is True
    assert session.ask(question(2**200), threshold=2**200 + FAR) is False


# Refusing


@pytest.mark.parametrize(
    ("asked", "threshold", "error"),
    [
        (question(FAR, 2), 0, InvalidParameter),
        (question(FAR, Sensitivity(linf=Fraction(3, 2))), 0, InvalidParameter),
        (question(FAR, Sensitivity(l2_squared=Fraction(1))), 0, DaleniusError),
        (Exact(FAR, sensitivity=1, neighbours=Replace()), 0, NeighbourMismatch),
        (FAR, 0, InvalidParameter),
        (question(FAR), 0.5, InvalidParameter),
        (question(FAR), True, InvalidParameter),
        (question(FAR), None, InvalidParameter),
    ],
)
def test_a_refused_question_is_not_looked_at_and_changes_nothing(
    asked: Exact[int], threshold: int, error: type[Exception]
) -> None:
    opened = []
    if isinstance(asked, Exact):
        asked = asked.map(lambda value: opened.append(value) or value, sensitivity=asked.sensitivity)
    session = running(sparse(1))
    with pytest.raises(error):
        session.ask(asked, threshold=threshold)
    assert not opened
    assert (session.left, session.finished) == (1, False)
    assert session.ask(question(FAR), threshold=0) is True


def failing(value: int) -> int:
    raise KeyError(value)


@pytest.mark.parametrize(
    "asked",
    [
        question(1).map(failing, sensitivity=1),
        question(0.5),
        question(True),
        question([1, 2], Sensitivity(l1=Fraction(1))),
        question("seven", Sensitivity(l1=Fraction(1))),
        question(None, Sensitivity(l1=Fraction(1))),
    ],
)
def test_after_a_question_that_fails_there_are_no_more_answers(asked: Exact[int]) -> None:
    session = running(sparse())
    with pytest.raises((FunctionFailed, InvalidParameter)) as raised:
        session.ask(asked, threshold=0)
    assert "seven" not in str(raised.value)
    assert "0.5" not in str(raised.value)
    with pytest.raises(MechanismFinished, match="failed"):
        session.ask(question(0), threshold=0)


def test_a_question_that_asks_its_own_session_ends_it() -> None:
    session = running(sparse())
    nested = question(0).map(lambda value: int(session.ask(question(value), threshold=0)), sensitivity=1)
    with pytest.raises(FunctionFailed):
        session.ask(nested, threshold=0)
    with pytest.raises(MechanismFinished):
        session.ask(question(0), threshold=0)


# Secrets


@pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, pickle.dumps, lambda session: session.__reduce__()])
def test_a_session_cannot_be_copied_or_pickled(act: object) -> None:
    with pytest.raises(NotCopyable):
        act(running(sparse()))


def test_a_session_shows_its_state_and_not_its_threshold() -> None:
    session = running(sparse())
    assert repr(session) == "<a running Sparse: 3 of 3 positive answers left>"
    assert str(session) == repr(session)
    assert not hasattr(session, "__dict__")
    with pytest.raises(AttributeError):
        session.noise = 0
    noisy = running(Sparse.calibrated(sensitivity=1, epsilon="1e-6", cutoff=3, neighbours=PEOPLE))
    assert str(abs(noisy._SparseVectorSession__noise)) not in repr(noisy) + repr(noisy._prepaid)


def test_a_forked_process_cannot_go_on_with_a_session() -> None:
    session = running(sparse())
    child = os.fork()
    if child == 0:
        try:
            session.ask(question(FAR), threshold=0)
        except MechanismFinished:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert session.ask(question(FAR), threshold=0) is True


def test_threads_get_no_more_than_the_cutoff_together() -> None:
    session, answers = running(sparse(20)), Counter[object]()

    def work() -> None:
        for _ in range(10):
            try:
                answers[session.ask(question(FAR), threshold=0)] += 1
            except MechanismFinished:
                answers["finished"] += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {True: 20, "finished": 20}


@pytest.mark.parametrize("mechanism", [sparse(5), numeric(5)])
def test_every_question_takes_the_same_draws_whatever_its_answer(mechanism: Sparse) -> None:
    def used(value: int) -> list[int]:
        entropy = Counting("same")
        session = mechanism.start(paid(mechanism), entropy)
        return [(session.ask(question(value), threshold=0), entropy.count)[1] for _ in range(5)]

    assert used(FAR) == used(-FAR)
    assert len(set(used(FAR))) == 5


def test_the_two_kinds_of_sessions() -> None:
    assert isinstance(above().start(paid(above()), SeededEntropy(1)), ThresholdSession)
    assert isinstance(numeric().start(paid(numeric()), SeededEntropy(1)), NumericSession)
