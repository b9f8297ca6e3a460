"""The sampling audit: what samples alone prove about a release, without a look at its code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.checks.sampling.events import Counts, Direction, Event, Score, best_event
from dalenius.checks.sampling.outputs import PairedOutputs, gathered
from dalenius.errors import InvalidParameter
from dalenius.lazy import optional
from dalenius.privacy.numbers import Number, inside_unit, not_negative, probability, whole
from dalenius.privacy.odds import bracket
from dalenius.privacy.reals import ball, lower, precise

special = optional("scipy.special", function="An audit by sampling", extra="checks")

Input = TypeVar("Input")

# Among hundreds of events one looks good by chance: the choice is made at a smaller risk than the test.
_CAUTION = 1e-4
_MOST_ODDS = Fraction(10**300)  # of what a float holds; only the choice of an event rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A release is not (e, delta)-DP for any e below `epsilon`, up to a false-alarm rate of 1 - confidence.

    `counts` says how many of the `samples` tested outputs of the first and of the second input fell into `event`,
    and `likelier` which input makes the event likelier. Zero means that nothing was found, never that a release is
    private.
    """

    epsilon: Fraction
    delta: Fraction
    confidence: Fraction
    event: str
    likelier: Direction
    counts: tuple[int, int]
    samples: int

    def refutes(self, *, epsilon: Number) -> bool:
        """Whether a claim of (epsilon, delta)-DP is shown to be false."""
        return self.epsilon > not_negative(epsilon=epsilon)

    def __str__(self) -> str:
        return (
            f"epsilon is at least {float(self.epsilon):.4g} at delta = {float(self.delta):.3g}: {_seen(self)} "
            f"(confidence {float(self.confidence):.10g})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A release is not (epsilon, d)-DP for any d below `delta`, up to a false-alarm rate of 1 - confidence.

    The rest is as in `Violation`.
    """

    delta: Fraction
    epsilon: Fraction
    confidence: Fraction
    event: str
    likelier: Direction
    counts: tuple[int, int]
    samples: int

    def refutes(self, *, delta: Number) -> bool:
        """Whether a claim of (epsilon, delta)-DP is shown to be false."""
        return self.delta > probability(delta=delta)

    def __str__(self) -> str:
        return (
            f"delta is at least {float(self.delta):.4g} at epsilon = {float(self.epsilon):.4g}: {_seen(self)} "
            f"(confidence {float(self.confidence):.10g})"
        )


def sampling_audit(
    run: Callable[[Input, int], ArrayLike],
    first: Input,
    second: Input,
    *,
    samples: int = 100_000,
    delta: Number = 0,
    confidence: Number = "0.999",
) -> Violation:
    """Bound from below the epsilon of `run` on two neighbouring inputs.

    `run(value, size)` gives `size` independent outputs as an array whose rows are the outputs: numbers, or vectors such
    as transcripts. A quarter of the samples ranks the outputs, a quarter chooses the event that tells the inputs apart
    best, and the other half tests it.

    Guarantee: if `run` is (epsilon, delta)-DP and the inputs are neighbours, the bound exceeds epsilon with
    probability at most 1 - confidence: the event is fixed before the test half is seen, and its two probabilities are
    bounded by one-sided Clopper-Pearson limits at (1 - confidence) / 2 each.
    Reference: Clopper & Pearson 1934; Ding et al. 2018 (arXiv:1805.10277) for choosing the event on separate samples.
    Textbook: S7.7.
    """
    size = whole(4, samples=samples)
    outputs = gathered(_outputs(run, first, size), _outputs(run, second, size))
    return least_epsilon(outputs, delta=delta, confidence=confidence)


def least_epsilon(outputs: PairedOutputs, *, delta: Number, confidence: Number) -> Violation:
    """What the outputs prove about epsilon at `delta`; see `sampling_audit`."""
    allowed, sure = probability(delta=delta), inside_unit(confidence=confidence)
    risk, event_mass = float((1 - sure) / 2), float(allowed)

    def ratios(high: Counts, low: Counts, size: int, risk: float = risk) -> NDArray[np.float64]:
        least, most = _limits(high, low, size, risk)
        bounds: NDArray[np.float64] = (least - event_mass) / most
        return bounds

    event, high, low, tested = _tested(outputs, partial(ratios, risk=min(risk, _CAUTION)))
    ratio = Fraction(float(ratios(np.array([high]), np.array([low]), tested)[0]))
    with precise():
        found = lower(ball(ratio).log()) if ratio > 1 else Fraction(0)
    return Violation(epsilon=found, delta=allowed, confidence=sure, **_facts(event, high, low, tested))


def least_delta(outputs: PairedOutputs, *, epsilon: Number, confidence: Number) -> Gap:
    """What the outputs prove about delta at `epsilon`: a lower bound on P[S] - e^epsilon Q[S] for a chosen event S.

    Guarantee: as in `sampling_audit`, for delta in the place of epsilon.
    Reference: Balle, Barthe & Gaboardi 2018 (arXiv:1807.01647) for delta as the largest such gap.
    """
    loss, sure = not_negative(epsilon=epsilon), inside_unit(confidence=confidence)
    risk, odds = float((1 - sure) / 2), bracket(loss)[1]

    def gaps(high: Counts, low: Counts, size: int, risk: float = risk) -> NDArray[np.float64]:
        least, most = _limits(high, low, size, risk)
        bounds: NDArray[np.float64] = least - float(min(odds, _MOST_ODDS)) * most
        return bounds

    event, high, low, tested = _tested(outputs, partial(gaps, risk=min(risk, _CAUTION)))
    least, most = (Fraction(float(bound[0])) for bound in _limits(np.array([high]), np.array([low]), tested, risk))
    found = max(Fraction(0), least - odds * most)
    return Gap(delta=found, epsilon=loss, confidence=sure, **_facts(event, high, low, tested))


def _outputs(run: Callable[[Input, int], ArrayLike], value: Input, size: int) -> NDArray[Any]:
    outputs = np.array(run(value, size))  # a copy: the next call may write into the same place
    if outputs.ndim not in (1, 2) or len(outputs) != size:
        raise InvalidParameter(
            "run", outputs.shape, allowed=f"a function whose outputs have shape ({size},) or ({size}, n)"
        )
    return outputs


def _tested(outputs: PairedOutputs, score: Score) -> tuple[Event, int, int, int]:
    """The event that the first half chose, how often the likelier and the other input hit it in the second half."""
    quarter, half, end = outputs.samples // 4, outputs.samples // 2, outputs.samples
    event = best_event(outputs, outputs.counts(0, quarter), outputs.counts(quarter, half), score)
    first, second = outputs.counts(half, end)[:, event.members].sum(axis=1).tolist()
    high, low = (first, second) if event.likelier == "first" else (second, first)
    return event, high, low, end - half


def _facts(event: Event, high: int, low: int, tested: int) -> dict[str, Any]:
    counts = (high, low) if event.likelier == "first" else (low, high)
    return {"event": event.description, "likelier": event.likelier, "counts": counts, "samples": tested}


def _limits(high: Counts, low: Counts, size: int, risk: float) -> Sequence[NDArray[np.float64]]:
    """Clopper-Pearson limits: not above the probability on the likelier input, not below that on the other."""
    least = np.where(high > 0, special.betaincinv(np.maximum(high, 1), size - high + 1, risk), 0.0)
    most = np.where(low < size, special.betainccinv(low + 1, np.maximum(size - low, 1), risk), 1.0)
    return least, most


def _seen(found: Violation | Gap) -> str:
    return (
        f"{found.event}, seen {found.counts[0]} and {found.counts[1]} times in {found.samples} outputs of the first "
        "and second input"
    )
