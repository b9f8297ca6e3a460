"""Online sessions: pay once, then ask any number of counting questions, of which only the hard ones are paid for.

Easy questions are answered from a public hypothesis; a hard one, found by the sparse vector technique, is measured and
teaches the hypothesis. The session ends when its updates are used up.

How the noise of an online session is shared out, for those who pay for fewer updates than the worst case needs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import count as counted
from math import ceil, floor
from typing import NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge, price, whole_units
from dalenius.accounting.conversion import to_delta
from dalenius.errors import InvalidParameter, MechanismFinished, NotCopyable
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, NumericSession, Sparse
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, require_same, stated
from dalenius.privacy.numbers import Number, inside_unit, of_kind, positive, probability, whole
from dalenius.privacy.reals import ball, least_multiple, lower, precise, upper
from dalenius.process import identity
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.laws import DiscreteLaplaceLaw
from dalenius.synth.online.multiplicative_weights import InformationProjection, scaled
from dalenius.synth.online.sealed import Widened, require_computable, rows_moved
from dalenius.synth.online.update_rules import Hypothesis, UpdateRule, require_enough
from dalenius.tabular.workloads import Integers, Reals

WASTED = Fraction(1, 10)
"""The part of all updates that noise alone may use up, in expectation."""


def noise_shares(updates: int, queries: int, beta: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """The parts of one round's epsilon for the threshold, the questions and the number: the least sum of error bars
    A t + B q + m under 1 / t + 2 / q + 1 / m = epsilon, with A and B the depths in the tails that count."""
    with precise():
        line = ball(2 * updates / beta).log().sqrt()
        own = (2 * ball(2 * whole(1, queries=queries) / beta).log()).sqrt()
        total = line + own + 1
        parts = lower(line / total).limit_denominator(1000), lower(own / total).limit_denominator(1000)
    return parts[0], parts[1], 1 - parts[0] - parts[1]


def shared_sparse(
    moves: Fraction, each: Fraction, shares: tuple[Fraction, Fraction, Fraction], count: int, neighbours: Neighbours
) -> NumericSparse:
    """A sparse vector whose rounds cost `each`, shared out like this among threshold, questions and number."""
    line, own, number = (whole_units(each * share) for share in shares)
    rounds = AboveThreshold(
        threshold_scale=moves / line, query_scale=2 * moves / own, sensitivity=moves, neighbours=neighbours
    )
    answers = DiscreteLaplace.calibrated(sensitivity=moves, epsilon=number, neighbours=neighbours)
    return NumericSparse(search=Sparse(rounds=rounds, cutoff=count), answers=answers)


def affordable_alpha(cells: int, updates: int) -> Fraction:
    """The alpha at which the rule needs no more than so many updates, rounded up; one half where it needs none."""
    with precise():
        needed = upper((ball(whole(2, cells=cells)).log() / (2 * updates)).sqrt())
    return min(Fraction(ceil(needed * 10**6), 10**6), Fraction(1, 2))


def rarely_reached(mechanism: NumericSparse, queries: int) -> int:
    """The threshold that noise alone reaches, in expectation, for a tenth of the updates among all questions.

    Each of 2 k comparisons reaches T by its own noise with probability exp(-T / scale) / 2. The threshold's noise, in
    the middle of its law, changes nothing: where it is low, it is soon drawn anew. It serves to plan, and promises
    nothing.
    """
    wasted = max(Fraction(1, 2), WASTED * mechanism.search.cutoff)
    with precise():
        return max(1, ceil(upper(ball(mechanism.search.rounds.query_scale) * ball(queries / wasted).log())))


Claim: TypeAlias = Callable[[], int | None]
"""Takes the next of the rounds that were paid for: its number, from 1 on, or None where all were taken."""

DEFAULT_UPDATES = 64
"""The updates of a practical plan where none are asked for; see `OnlinePlan.practical`."""

_MOST_LEARNED = 1 << 26  # the most weights of old questions that are kept to be learned again


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineAnswer:
    """One answer: a number of people, how far off it may be, and whether it was measured or the hypothesis' own.

    With probability 1 - beta (the plan's) this one answer is within `error` people. `left` says how many more questions
    can be hard.
    """

    people: Fraction
    error: Fraction
    measured: bool
    left: int


@dataclass(frozen=True, kw_only=True, eq=False)
class OnlinePlan:
    """What a session is made of: the update rule, the sparse vector, and the threshold above which a question is hard.

    Guarantee: the loss is that of `mechanism`, whatever is asked and however the hypothesis is kept: the data is
    compared only, twice for each question (f(x) - f(D) and f(D) - f(x)), through rounds of a sparse vector, each of
    which ends with its hard question. All else is public. `threshold` and a question's weights are in parts of
    1 / denominator of a person. After each update, up to `replays` old questions are learned again, the worst first; a
    rule that keeps one histogram is needed for that. A rule that uses numbers is told that they are off by at most
    `slack` people.
    Reference: Dwork & Roth 2014, Algorithms 6 and 11 and Theorems 4.13 and 5.13: the first hypothesis is that of the
    rule, which is not uniform for every rule, and with delta > 0 both are (epsilon, delta)-DP. Slides that use the
    comparison's own noise for the answer as well are not private as they claim; here numbers have noise of their own.
    Textbook: S9.6, S9.7, S9.12.
    """

    rule: UpdateRule
    mechanism: NumericSparse
    threshold: int
    queries: int
    beta: Fraction
    denominator: int = 1
    replays: int = 0
    slack: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        require_computable(people=self.rule.people, denominator=self.denominator)
        whole(1, threshold=self.threshold)
        whole(1, queries=self.queries)
        whole(0, replays=self.replays)
        object.__setattr__(self, "beta", inside_unit(beta=self.beta))

    @classmethod
    def calibrated(
        cls,
        rule: UpdateRule,
        *,
        epsilon: Number,
        queries: int,
        beta: Number,
        neighbours: Neighbours,
        delta: Number = 0,
        denominator: int = 1,
        rows: int = 1,
    ) -> Self:
        """The plan of the theorem: as many updates as the rule can ever need, and a threshold that keeps it so.

        Guarantee: (epsilon, delta)-DP. If the people are as many as the rule says, then with probability 1 - beta the
        first `queries` questions are all answered, within `error_of_all` people, whoever chooses them.
        Proof: with that probability all comparisons and numbers are right up to alpha' = `NumericSparse.error`, so an
        update means that the hypothesis was off by more than rule.alpha; there are no more such than were paid for.
        """
        mechanism = NumericSparse.calibrated(
            sensitivity=denominator * rows,
            epsilon=epsilon,
            delta=delta,
            cutoff=max(1, rule.most_updates),
            neighbours=stated(neighbours),
        )
        noise = mechanism.error(beta, queries=2 * queries)
        slack = mechanism.answers.error(inside_unit(beta=beta) / 2, count=mechanism.search.cutoff)
        noise += 2 * slack if rule.uses_values else 0
        threshold = floor(rule.alpha * rule.people * denominator + noise + Fraction(1, 2)) + 1
        made = cls(
            rule=rule,
            mechanism=mechanism,
            threshold=threshold,
            queries=queries,
            beta=inside_unit(beta=beta),
            denominator=denominator,
            slack=Fraction(slack, denominator),
        )
        require_enough(rule, error=made.error_of_all())
        return made

    @classmethod
    def practical(
        cls,
        *,
        cells: int,
        people: int,
        queries: int,
        neighbours: Neighbours,
        epsilon: Number | None = None,
        delta: Number = 0,
        amount: Charge | None = None,
        updates: int = DEFAULT_UPDATES,
        accepted: int = 0,
        beta: Number = Fraction(1, 20),
        denominator: int = 1,
        rows: int = 1,
        replays: int = 16,
    ) -> Self:
        """A plan for real data, which needs far fewer updates than the worst case: the caller says how many are paid.

        Guarantee: (epsilon, delta)-DP, or no more than `amount` in a ledger. Error bars hold as for every plan. What is
        not promised is that all questions are answered: the session ends when its updates are used up.
        The noise is shared out so that the sum of all error bars is least: the square roots of how deep in its tail
        each noise is needed. The threshold is the least for which, even if the hypothesis were right on every
        question, noise would use up no more than a tenth of the updates; or `accepted` people, where that is more, for
        data that would use up its updates otherwise. Values are believed as they were measured.
        """
        count, share = (
            whole(1, updates=updates),
            noise_shares(whole(1, updates=updates), queries, inside_unit(beta=beta)),
        )
        moves = Fraction(whole(1, denominator=denominator) * whole(1, rows=rows))

        def mechanism(each: Fraction) -> NumericSparse:
            return shared_sparse(moves, each, share, count, stated(neighbours))

        def affordable(inverse: Fraction) -> bool:
            if inverse <= 0:
                return False
            loss = mechanism(1 / inverse).loss(sensitivity=moves)
            if amount is not None:
                return _fits(loss, amount)
            event = probability(delta=delta)
            return to_delta(loss, epsilon=target) <= event if event else count / inverse <= target

        if (amount is None) == (epsilon is None):
            raise InvalidParameter("epsilon", epsilon, allowed="given, or left out where an amount is given")
        target = positive(epsilon=1 if epsilon is None else epsilon)
        sparse = mechanism(1 / least_multiple(affordable, near=count / target))
        rule = InformationProjection(cells=cells, people=people, alpha=affordable_alpha(cells, count))
        return cls(
            rule=rule,
            mechanism=sparse,
            threshold=max(rarely_reached(sparse, queries), whole(0, accepted=accepted) * denominator),
            queries=queries,
            beta=inside_unit(beta=beta),
            denominator=denominator,
            replays=replays,
        )

    @property
    def neighbours(self) -> Neighbours:
        return self.mechanism.neighbours

    @property
    def updates(self) -> int:
        """How many questions can be hard."""
        return self.mechanism.search.cutoff

    def loss(self) -> Loss:
        """What a session costs, paid at its start."""
        return self.mechanism.loss(sensitivity=self.mechanism.search.rounds.sensitivity)

    @cached_property
    def round(self) -> NumericSparse:
        """One round by itself. All rounds together cost what the session costs, to the unit of a ledger."""
        return replace(self.mechanism, search=replace(self.mechanism.search, cutoff=1))

    def start(
        self,
        histogram: Exact[Integers],
        allowance: Allowance,
        entropy: Entropy,
        *,
        hypothesis: Hypothesis | None = None,
        claim: Claim | None = None,
    ) -> OnlineSession:
        """Pay for everything, and begin, with a public hypothesis that may come from elsewhere.

        `claim` is asked before each round, and whoever gives it vouches that over all sessions of one payment it gives
        each number once, up to `updates`; a ledger does. Without it, the rounds are this session's own.
        """
        return OnlineSession(self, histogram, allowance, entropy, hypothesis=hypothesis, claim=claim)

    def error(self, beta: Number | None = None, *, measured: bool) -> Fraction:
        """How far off, in people, one answer is at most, with probability 1 - beta.

        Proof: a measured one has one Laplace noise of its own. One from the hypothesis is below its threshold as far
        as the two noises can hide: the threshold's, for which all rounds count, because questions are asked in view of
        earlier answers, and the question's own, on the one side where the hypothesis is off.
        """
        risk = self.beta if beta is None else inside_unit(beta=beta)
        if measured:
            return Fraction(self._measured(risk), self.denominator)
        return Fraction(self._hidden(risk), self.denominator)

    def error_of_all(self, beta: Number | None = None) -> Fraction:
        """How far off, in people, any of the first `queries` answers is at most, with probability 1 - beta: those from
        the hypothesis by the threshold and the error of the search, measured ones by their noise."""
        risk = (self.beta if beta is None else inside_unit(beta=beta)) / 2
        numbers = self.mechanism.answers.error(risk, count=min(self.updates, self.queries))
        search = self.mechanism.search.error(risk, queries=2 * self.queries)
        return Fraction(max(numbers, self.threshold + search), self.denominator)

    def _measured(self, risk: Fraction) -> int:
        return self.mechanism.answers.error(risk)

    def _hidden(self, risk: Fraction) -> int:
        rounds = self.mechanism.search.rounds
        line = DiscreteLaplaceLaw(rounds.threshold_scale).quantile(risk / 2, False, count=self.updates)
        own = DiscreteLaplaceLaw(rounds.query_scale).quantile(risk / 2, False)
        return self.threshold + line + own

    @cached_property
    def bars(self) -> tuple[Fraction, Fraction]:
        """The error bars of answers from the hypothesis and of measured ones, at the plan's beta."""
        return self.error(measured=False), self.error(measured=True)


def _fits(loss: Loss, amount: Charge) -> bool:
    try:
        return price(loss, order=amount.order) <= amount
    except InvalidParameter:  # more than any ledger can hold
        return False


class OnlineSession:
    """A running session. Its hypothesis is public: it may be saved, published and asked by others.

    A question is a vector of integer weights from 0 to the plan's denominator, one for each cell, and may depend on all
    earlier answers. Threads may share a session; it answers one question at a time. It cannot be copied or pickled,
    because its threshold is secret. A round is claimed and begins with the first question after the last hard one; it
    ends with its hard question, with one that fails, or with the session: a round that was broken off is used up.

    Proof that this loses no more than was paid for: a round that was broken off has shown a part of what a finished one
    shows, no number of a round is claimed twice, and each round draws what one round costs.
    """

    def __init__(
        self,
        plan: OnlinePlan,
        histogram: Exact[Integers],
        allowance: Allowance,
        entropy: Entropy,
        *,
        hypothesis: Hypothesis | None = None,
        claim: Claim | None = None,
    ) -> None:
        if not isinstance(histogram, Exact):
            raise InvalidParameter("histogram", type(histogram), allowed="an Exact histogram")
        of_kind(Allowance, allowance=allowance)
        require_same(mechanism=plan.neighbours, allowance=allowance.neighbours, histogram=histogram.neighbours)
        self._entropy = of_kind(Entropy, entropy=entropy)  # type: ignore[type-abstract]
        self.plan, self._moves = plan, Fraction(plan.denominator * rows_moved(histogram))
        if self._moves > plan.mechanism.search.rounds.sensitivity:
            raise InvalidParameter("rows", rows_moved(histogram), allowed="no more of one unit than the plan is for")
        self._histogram = histogram.map(Widened(times=plan.denominator).counts, sensitivity=histogram.sensitivity)
        self._hypothesis = plan.rule.start() if hypothesis is None else _hypothesis(hypothesis, plan.rule)
        self._learned = _Learned(plan)
        self._lock, self._process = threading.RLock(), identity()
        self.asked, self.begun = 0, 0  # questions, and the number of the last round that was claimed
        self._claim: Claim = claim or counted(1).__next__
        self._running: NumericSession | None = None
        allowance.draw(plan.loss())
        one = plan.round.loss(sensitivity=plan.mechanism.search.rounds.sensitivity)
        self._price = price(one, order=allowance.left.order)

    @property
    def hypothesis(self) -> Hypothesis:
        """A copy of the public hypothesis."""
        return self._hypothesis.copy()

    @property
    def left(self) -> int:
        """How many more questions can be hard before the session ends, as far as it has claimed its rounds."""
        return self.plan.updates - self.begun + self._is_open

    @property
    def finished(self) -> bool:
        """Whether no more questions are answered."""
        return not self.left

    @property
    def expected_left(self) -> int | None:
        """How many more questions there will be, if hard ones go on coming as often as so far; None where none came."""
        hard = self.plan.updates - self.left
        return None if not hard else self.left * self.asked // hard

    def ask(self, weights: ArrayLike) -> OnlineAnswer:
        """The answer to one question, from the hypothesis if that is near enough, otherwise measured."""
        question = self._question(weights)
        if identity() != self._process:
            raise MechanismFinished("an online session", because="it was started in another process")
        with self._lock:
            return self._answered(question, self._open_round())

    @property
    def _is_open(self) -> bool:
        return self._running is not None and not self._running.finished

    def _open_round(self) -> NumericSession:
        """The round that runs, or the next one, if it can be had."""
        if self._running is not None and not self._running.finished:
            return self._running
        number = None if self.finished else self._claim()
        if number is None or number > self.plan.updates:
            self.begun, self._running = self.plan.updates, None
            used = f"all {self.plan.updates} updates that were paid for are used up; its hypothesis stays public"
            raise MechanismFinished("an online session", because=used)
        self.begun = max(number, self.begun + 1)
        paid = Allowance(self._price, neighbours=self.plan.neighbours, account="a round of an online session")
        self._running = self.plan.round.start(paid, self._entropy)
        return self._running

    def _answered(self, question: Integers, running: NumericSession) -> OnlineAnswer:
        parts, rule = self.plan.denominator, self.plan.rule
        shares = question.astype(np.float64) if parts == 1 else question / parts
        guess = round(rule.answer(self._hypothesis, shares) * parts)
        found = self._off(question, guess, running)
        self.asked += 1
        value = guess if found is None else guess + found
        if found is not None:
            self._learn(shares, value / parts)
        error = self.plan.bars[found is not None]
        return OnlineAnswer(people=Fraction(value, parts), error=error, measured=found is not None, left=self.left)

    def _off(self, question: Integers, guess: int, running: NumericSession) -> int | None:
        """How far the truth is from the guess, with noise, if it is found to be far; None otherwise."""

        def above(counts: Integers) -> int:
            return int(question @ counts) - guess

        def below(counts: Integers) -> int:
            return guess - int(question @ counts)

        more = running.ask(self._histogram.map(above, sensitivity=self._moves), threshold=self.plan.threshold)
        if more is not None:
            return more
        less = running.ask(self._histogram.map(below, sensitivity=self._moves), threshold=self.plan.threshold)
        return None if less is None else -less

    def _learn(self, shares: Reals, value: float) -> None:
        self._hypothesis = self.plan.rule.updated(self._hypothesis, shares, value=value, slack=float(self.plan.slack))
        if self.plan.replays:
            self._learned.keep(shares, value)
            self._hypothesis = self._learned.replayed(self._hypothesis)

    def _question(self, weights: ArrayLike) -> Integers:
        question = np.asarray(weights)
        if question.shape != (self.plan.rule.cells,) or question.dtype.kind not in "bui":
            raise InvalidParameter(
                "weights", question.shape, allowed=f"integers, one for each of the {self.plan.rule.cells} cells"
            )
        if question.dtype.kind != "b" and (question.min() < 0 or question.max() > self.plan.denominator):
            raise InvalidParameter("weights", "others", allowed=f"integers from 0 to {self.plan.denominator}")
        return question.astype(np.int64)

    def __repr__(self) -> str:
        return f"<an online session: {self.asked} questions asked, {self.left} of {self.plan.updates} updates left>"

    def __reduce_ex__(self, *_: object) -> NoReturn:
        raise NotCopyable("an online session", instead="plan.start(...) with a claim on what is left of it")

    __copy__ = __deepcopy__ = __reduce__ = __getstate__ = __reduce_ex__


class _Learned:
    """The measured questions so far, the last ones where there are many, to be learned again."""

    def __init__(self, plan: OnlinePlan) -> None:
        self._plan, self._count, self._next = plan, 0, 0
        self._most = max(1, min(plan.updates, _MOST_LEARNED // plan.rule.cells))
        self._weights = np.empty((self._most if plan.replays else 0, plan.rule.cells), dtype=np.float32)
        self._values = np.empty(len(self._weights))

    def keep(self, shares: Reals, value: float) -> None:
        self._weights[self._next], self._values[self._next] = shares, value
        self._next, self._count = (self._next + 1) % self._most, min(self._count + 1, self._most)

    def replayed(self, hypothesis: Hypothesis) -> Hypothesis:
        """The hypothesis after the worst of the old questions was learned again, as often as the plan says, but none
        that is within the slack, or within what noise does on average."""
        slack, usual = float(self._plan.slack), float(self._plan.mechanism.answers.scale / self._plan.denominator)
        for _ in range(self._plan.replays):
            known = self._values[: self._count]
            guesses = np.einsum("ij,j->i", self._weights[: self._count], hypothesis.astype(np.float32))
            off = np.abs(known - guesses)
            worst = int(off.argmax())
            if off[worst] <= max(slack, usual):
                break
            weights = self._weights[worst].astype(np.float64)
            hypothesis = self._plan.rule.updated(hypothesis, weights, value=float(known[worst]), slack=slack)
        return hypothesis


def _hypothesis(given: Hypothesis, rule: UpdateRule) -> Hypothesis:
    """A hypothesis from elsewhere; where it is one histogram, every cell must have something to learn from."""
    found = np.array(given, dtype=np.float64)
    if found.shape != rule.start().shape or not np.isfinite(found).all():
        raise InvalidParameter("hypothesis", found.shape, allowed="finite numbers, as many as the rule starts with")
    if rule.histogram(found) is None:
        return found
    if not (found > 0).all():
        raise InvalidParameter("hypothesis", "zero or less", allowed="above 0 in every cell, which else stays empty")
    return scaled(found, rule.people)
