"""A running sparse vector: paid for at the start, then it answers a stream of adaptive questions."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from operator import index
from typing import NoReturn

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Amount
from dalenius.errors import InvalidParameter, MechanismFinished, NotCopyable, UnusableValue
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, require_same
from dalenius.privacy.numbers import of_kind
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.process import identity
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.integers import integer_array
from dalenius.randomness.laplace import discrete_laplace


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
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

    def __init__(self, terms: Terms) -> None:
        nothing = Amount(divergence=0, order=None)
        super().__init__(nothing, neighbours=terms.neighbours, account=f"a running {terms.mechanism}")
        self._paid = terms.loss

    def draw(self, loss: Loss) -> None:
        """Take the session's own loss as paid; refuse every other."""
        if loss is not self._paid:
            super().draw(loss)


class Session:
    """What all running sparse vectors share; see `ThresholdSession` and `NumericSession`.

    A question is an `Exact` integer with the public threshold that it is compared with. It may depend on all earlier
    answers. Questions that could move further than was paid for, or that are stated for other neighbours, are refused
    before anything is looked at. A question that fails while it is answered ends the session.

    Every question takes the same steps whatever its answer is. The noisy threshold is secret: a session shows it
    nowhere and cannot be copied, pickled, or used in a forked process, where the same threshold would answer twice.
    Threads may share a session; it answers one question at a time.
    """

    __slots__ = ("__noise", "_entropy", "_finished", "_left", "_lock", "_prepaid", "_process", "_terms")

    def __init__(self, terms: Terms, allowance: Allowance, entropy: Entropy) -> None:
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


class ThresholdSession(Session):
    """Says of each question in a stream whether it is above its threshold, and nothing more.

    Textbook: S8.6.
    """

    __slots__ = ()

    def ask(self, question: Exact[int], *, threshold: int) -> bool:
        """Whether the question's value, with noise, is at least its threshold, with noise."""
        return self._answered(question, threshold)[0]


class NumericSession(Session):
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

    session: Session
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
