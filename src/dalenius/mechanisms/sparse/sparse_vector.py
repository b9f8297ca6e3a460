"""The sparse vector technique: which questions of a stream are above their thresholds, paying only for those that are.

Nothing but this is told about a question: one bit, and for most questions the bit that costs nothing.

A running sparse vector: paid for at the start, then it answers a stream of adaptive questions.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral
from operator import index
from typing import NoReturn, Self

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge, whole_units
from dalenius.accounting.calibration import per_use_epsilon, textbook_epsilon
from dalenius.accounting.composition import repeated
from dalenius.errors import InvalidParameter, MechanismFinished, NotCopyable, UnusableValue
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss, PureDP
from dalenius.privacy.neighbours import Neighbours, require_same, stated
from dalenius.privacy.numbers import Number, inside_unit, of_kind, positive, probability, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.process import identity
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.integers import integer_array
from dalenius.randomness.laplace import discrete_laplace
from dalenius.randomness.laws import DiscreteLaplaceLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVectorTerms:
    """What was paid for: the noise, how many positive answers there may be, and how far a question may move."""

    mechanism: str
    threshold_scale: Fraction
    query_scale: Fraction
    cutoff: int
    sensitivity: Fraction
    neighbours: Neighbours
    loss: Loss
    answers: DiscreteLaplace | None = None


class Prepaid(Allowance):
    """What the questions of one session draw on: their loss was drawn at the start, and there is nothing else in it."""

    __slots__ = ("_paid",)

    def __init__(self, terms: SparseVectorTerms) -> None:
        nothing = Charge(divergence=0, order=None)
        super().__init__(nothing, neighbours=terms.neighbours, account=f"a running {terms.mechanism}")
        self._paid = terms.loss

    def draw(self, loss: Loss) -> None:
        """Take the session's own loss as paid; refuse every other."""
        if loss is not self._paid:
            super().draw(loss)


class SparseVectorSession:
    """What all running sparse vectors share; see `ThresholdSession` and `NumericSession`.

    A question is an `Exact` integer with the public threshold that it is compared with. It may depend on all earlier
    answers. Questions that could move further than was paid for, or that are stated for other neighbours, are refused
    before anything is looked at. A question that fails while it is answered ends the session.

    Every question takes the same steps whatever its answer is. The noisy threshold is secret: a session shows it
    nowhere and cannot be copied, pickled, or used in a forked process, where the same threshold would answer twice.
    Threads may share a session; it answers one question at a time.
    """

    __slots__ = ("__noise", "_entropy", "_finished", "_left", "_lock", "_prepaid", "_process", "_terms")

    def __init__(self, terms: SparseVectorTerms, allowance: Allowance, entropy: Entropy) -> None:
        of_kind(Allowance, allowance=allowance)
        require_same(mechanism=terms.neighbours, allowance=allowance.neighbours)
        of_kind(Entropy, entropy=entropy)  # type: ignore[type-abstract]
        allowance.draw(terms.loss)
        self._terms, self._prepaid, self._entropy = terms, Prepaid(terms), entropy
        self._left, self._finished = terms.cutoff, ""
        self._lock, self._process = threading.RLock(), identity()
        self.__noise = self._threshold_noise(entropy)

    @property
    def left(self) -> int:
        """How many more positive answers there can be."""
        return self._left

    @property
    def finished(self) -> bool:
        """Whether no more questions are answered."""
        return bool(self._finished)

    def _answered(self, question: Exact[int], threshold: int) -> tuple[bool, int]:
        if identity() != self._process:  # before the lock, which another thread may hold for ever in a forked process
            raise MechanismFinished(self._terms.mechanism, because="it was started in another process")
        with self._lock:
            self._refuse(question, threshold)
            # Stays so if anything below fails: after an error there are no more answers.
            self._finished = "an earlier question failed while it was answered"
            above, number = measure(_Question(self, index(threshold)), question, self._prepaid, self._entropy)
            self._left -= above
            self._finished = "" if self._left else "it has given every positive answer that was paid for"
            return above, number

    def _refuse(self, question: Exact[int], threshold: int) -> None:
        """Refuse, by public facts alone and with nothing changed, what must not be answered."""
        if self._finished:
            raise MechanismFinished(self._terms.mechanism, because=self._finished)
        if isinstance(threshold, bool) or not isinstance(threshold, Integral):
            raise InvalidParameter("threshold", threshold, allowed="an integer, in the same steps as the value")
        if not isinstance(question, Exact):
            raise InvalidParameter("question", type(question), allowed="an Exact integer")
        require_same(session=self._terms.neighbours, question=question.neighbours)
        moves = question.sensitivity.need("linf", mechanism=self._terms.mechanism)
        if moves > self._terms.sensitivity:
            raise InvalidParameter(
                "sensitivity", moves, allowed=f"at most {self._terms.sensitivity}, which this session was paid for"
            )

    def _compare(self, value: int, threshold: int, entropy: Entropy) -> tuple[bool, int]:
        # All noise is drawn for every question, needed or not, so that the work does not tell the answer.
        answers = self._terms.answers
        noisy = value + discrete_laplace(self._terms.query_scale, entropy=entropy)
        renewed = self._threshold_noise(entropy)
        number = answers.release(value, entropy) if answers else 0
        above = noisy >= threshold + self.__noise
        self.__noise, number = ((self.__noise, 0), (renewed, number))[above]
        return above, number

    def _threshold_noise(self, entropy: Entropy) -> int:
        return discrete_laplace(self._terms.threshold_scale, entropy=entropy)

    def __repr__(self) -> str:
        state = self._finished or f"{self._left} of {self._terms.cutoff} positive answers left"
        return f"<a running {self._terms.mechanism}: {state}>"

    def __reduce_ex__(self, *_: object) -> NoReturn:
        raise NotCopyable(f"a running {self._terms.mechanism}", instead="start() for a new one, and pay for it")

    __copy__ = __deepcopy__ = __reduce__ = __getstate__ = __reduce_ex__


class ThresholdSession(SparseVectorSession):
    """Says of each question in a stream whether it is above its threshold, and nothing more.

    Textbook: S8.6.
    """

    __slots__ = ()

    def ask(self, question: Exact[int], *, threshold: int) -> bool:
        """Whether the question's value, with noise, is at least its threshold, with noise."""
        return self._answered(question, threshold)[0]


class NumericSession(SparseVectorSession):
    """Gives the noisy value of each question in a stream that is above its threshold, and None for the others.

    The number has noise of its own, drawn anew: the noise of the comparison would give the threshold away.
    """

    __slots__ = ()

    def ask(self, question: Exact[int], *, threshold: int) -> int | None:
        """The question's value with fresh noise if it was found to be above its threshold, otherwise None."""
        above, number = self._answered(question, threshold)
        return number if above else None


@dataclass(frozen=True, slots=True)
class _Question:
    """One comparison as a mechanism, so that a question is opened where all exact values are: in `measure`."""

    session: SparseVectorSession
    threshold: int

    @property
    def neighbours(self) -> Neighbours:
        return self.session._terms.neighbours

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        """The loss of the whole session: only the session's own prepaid allowance takes it as paid."""
        return self.session._terms.loss

    def release(self, value: int, entropy: Entropy) -> tuple[bool, int]:
        number = integer_array(value)
        if number.ndim:
            raise UnusableValue("value", "a vector", allowed="one integer")
        return self.session._compare(int(number), self.threshold, entropy)


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveThreshold:
    """Compare integer questions, with noise, to thresholds, with one noise for all; stop at the first that is above.

    Guarantee: if no neighbour step moves any question by more than s (`sensitivity`), the whole stream of answers is
    epsilon-DP with epsilon = s / threshold_scale + 2 s / query_scale, however many questions there are, however they
    depend on earlier answers, and whatever public threshold each of them has.
    Proof: fix a stream of answers that ends with the k-th question being the first above; it fixes the questions and
    thresholds too. Let d_i be the i-th question minus its threshold on x, d'_i on a neighbour; fix the noises
    v_1, ..., v_{k-1} and let g, g' be the largest of d_i + v_i, of d'_i + v_i over i < k, so |g - g'| <= s (for k = 1,
    let g = g' be below everything). The answers come about on x exactly if the threshold's noise r and v_k obey
    g < r <= d_k + v_k. Then r + (g' - g) and v_k + (g' - g) + (d_k - d'_k) obey the same with g' and d'_k. This pairs
    integers with integers, one to one, moves r by at most s and v_k by at most 2 s, and so changes the product of their
    probabilities by at most e^epsilon: sums over the integers take the place of the textbook's integrals, and ties are
    part of the condition. A stream without an answer above needs the first move only.
    Questions that all move in the same direction would need half the noise, but no single question shows that they do,
    so this is not offered.
    Reference: Dwork & Roth 2014, Algorithm 1 and Theorem 3.23; Lyu, Su & Li 2017 (arXiv:1603.01699) for the versions
    that are not private.
    Textbook: S8.1, S8.5, S8.6.
    """

    threshold_scale: Fraction
    query_scale: Fraction
    sensitivity: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        for name in ("threshold_scale", "query_scale", "sensitivity"):
            object.__setattr__(self, name, positive(**{name: getattr(self, name)}))
        stated(self.neighbours)

    @classmethod
    def calibrated(cls, *, sensitivity: SensitivityLike, epsilon: Number, neighbours: Neighbours | None = None) -> Self:
        """Half of epsilon for the threshold, half for the questions, none of which moves by more than `sensitivity`."""
        moves, price = positive(sensitivity=_moves(sensitivity)), positive(epsilon=epsilon)
        return cls(
            threshold_scale=2 * moves / price,
            query_scale=4 * moves / price,
            sensitivity=moves,
            neighbours=stated(neighbours),
        )

    def loss(self, *, sensitivity: SensitivityLike) -> PureDP:
        """The loss of a whole stream of questions that move by at most `sensitivity`."""
        moves = _moves(sensitivity)
        return PureDP(moves / self.threshold_scale + 2 * moves / self.query_scale)

    def start(self, allowance: Allowance, entropy: Entropy) -> ThresholdSession:
        """Pay for one positive answer, and begin."""
        terms = Sparse(rounds=self, cutoff=1).terms()
        return ThresholdSession(replace(terms, mechanism="AboveThreshold"), allowance, entropy)

    def error(self, beta: Number, *, queries: int, positives: int = 1) -> int:
        """The alpha for which, with probability 1 - beta, all answers to `queries` questions are right up to alpha.

        Right means: those above have a value of at least their threshold - alpha, the others of at most their
        threshold + alpha. Half of beta goes to the noises of the thresholds, of which there are as many as `positives`,
        half to those of the questions, each by its exact law.
        """
        risk = inside_unit(beta=beta) / 2
        thresholds = DiscreteLaplaceLaw(self.threshold_scale).quantile(risk, count=whole(1, positives=positives))
        return thresholds + DiscreteLaplaceLaw(self.query_scale).quantile(risk, count=whole(1, queries=queries))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparse:
    """AboveThreshold, started anew after each positive answer, until there were `cutoff` of them.

    Guarantee: the loss is that of `cutoff` adaptive uses of `rounds`, however many questions there are. Each use is
    post-processing of one randomized response, so other releases may happen in between.
    Reference: Dwork & Roth 2014, Algorithm 2 and Theorem 3.25; Vadhan & Wang 2021 (arXiv:2105.14427) for the randomized
    response behind an interactive mechanism.
    Textbook: S8.2, S8.6.
    """

    rounds: AboveThreshold
    cutoff: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "cutoff", whole(1, cutoff=self.cutoff))

    @classmethod
    def calibrated(
        cls,
        *,
        sensitivity: SensitivityLike,
        epsilon: Number,
        cutoff: int,
        delta: Number = 0,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The least noise for which `cutoff` rounds are (epsilon, delta)-DP together, by optimal composition."""
        each = per_use_epsilon(epsilon=epsilon, delta=delta, count=cutoff)
        return cls._of(each, sensitivity, cutoff, neighbours)

    @classmethod
    def textbook(
        cls,
        *,
        sensitivity: SensitivityLike,
        epsilon: Number,
        cutoff: int,
        delta: Number,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """Thresholds with noise of scale sqrt(32 c ln(1 / delta)) s / epsilon and questions with twice that.

        Guarantee: (epsilon, delta)-DP for epsilon < 1. `calibrated` needs less noise and has no such limit.
        Reference: Dwork & Roth 2014, Algorithm 2, which rests on Corollary 3.21.
        Textbook: S8.2.
        """
        each = textbook_epsilon(epsilon=epsilon, count=cutoff, slack=delta)
        return cls._of(each, sensitivity, cutoff, neighbours)

    @classmethod
    def _of(cls, each: Fraction, sensitivity: SensitivityLike, cutoff: int, neighbours: Neighbours | None) -> Self:
        price = whole_units(each)
        rounds = AboveThreshold.calibrated(sensitivity=sensitivity, epsilon=price, neighbours=neighbours)
        return cls(rounds=rounds, cutoff=cutoff)

    @property
    def neighbours(self) -> Neighbours:
        """The relation that it is calibrated for."""
        return self.rounds.neighbours

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        """The loss of a whole stream of questions that move by at most `sensitivity`."""
        return repeated(self.rounds.loss(sensitivity=sensitivity), self.cutoff)

    def start(self, allowance: Allowance, entropy: Entropy) -> ThresholdSession:
        """Pay for `cutoff` positive answers, and begin."""
        return ThresholdSession(self.terms(), allowance, entropy)

    def terms(self) -> SparseVectorTerms:
        """What a session of it has paid for."""
        return SparseVectorTerms(
            mechanism="Sparse",
            threshold_scale=self.rounds.threshold_scale,
            query_scale=self.rounds.query_scale,
            cutoff=self.cutoff,
            sensitivity=self.rounds.sensitivity,
            neighbours=self.neighbours,
            loss=self.loss(sensitivity=self.rounds.sensitivity),
        )

    def error(self, beta: Number, *, queries: int) -> int:
        """The alpha up to which all answers to `queries` questions are right, with probability 1 - beta.

        See `AboveThreshold.error`; there are as many noisy thresholds as rounds.
        """
        return self.rounds.error(beta, queries=queries, positives=self.cutoff)


def above_threshold_accuracy(
    *, epsilon: Number, queries: int, beta: Number, sensitivity: SensitivityLike = 1
) -> Fraction:
    """The textbook's alpha = 8 s (ln k + ln(2 / beta)) / epsilon for k questions, rounded up.

    Guarantee: if only the last question is above threshold - alpha, AboveThreshold is (alpha, beta)-accurate.
    `AboveThreshold.error` is smaller whenever epsilon is at most ln(2 k / beta).
    Reference: Dwork & Roth 2014, Theorem 3.24.
    Textbook: S8.1.
    """
    scale = 8 * positive(sensitivity=_moves(sensitivity)) / positive(epsilon=epsilon)
    with precise():
        return upper(ball(scale) * ball(2 * whole(1, queries=queries) / inside_unit(beta=beta)).log())


def sparse_accuracy(
    *,
    epsilon: Number,
    cutoff: int,
    queries: int,
    beta: Number,
    delta: Number = 0,
    sensitivity: SensitivityLike = 1,
) -> Fraction:
    """The textbook's alpha for k questions of which at most c are above threshold - alpha, rounded up.

    8 c s (ln k + ln(2 c / beta)) / epsilon for delta = 0 and (ln k + ln(2 c / beta)) sqrt(512 c ln(1 / delta)) s /
    epsilon otherwise, for the noise of `Sparse.textbook`.
    Reference: Dwork & Roth 2014, Theorem 3.26: Theorem 3.24 with beta / c and the epsilon of one round.
    Textbook: S8.2.
    """
    rounds, target = whole(1, cutoff=cutoff), positive(epsilon=epsilon)
    each, risk = target / textbook_uses(rounds, delta=delta), inside_unit(beta=beta) / rounds
    return above_threshold_accuracy(epsilon=each, queries=queries, beta=risk, sensitivity=sensitivity)


def textbook_uses(count: int, *, delta: Number) -> Fraction:
    """How many uses the textbook divides epsilon by: `count` for delta = 0, otherwise sqrt(8 count ln(1 / delta))."""
    event = probability(delta=delta)
    if not event:
        return Fraction(count)
    with precise():
        return upper((-8 * count * ball(inside_unit(delta=event)).log()).sqrt())


def _moves(sensitivity: SensitivityLike) -> Fraction:
    return Sensitivity.of(sensitivity).need("linf", mechanism="the sparse vector technique")
