"""The sampling audit: what samples alone prove about a release, without a look at its code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, inside_unit, not_negative, probability, whole
from dalenius.privacy.reals import ball, lower, precise

Input = TypeVar("Input")
Counts: TypeAlias = NDArray[np.int64]
Direction: TypeAlias = Literal["first", "second"]

# How many events are tried: the choice can cost power, never validity.
_MOST_CANDIDATES = 400
_MOST_ENTRIES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
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
            f"epsilon is at least {float(self.epsilon):.4g} at delta = {float(self.delta):.3g}: {self.event}, seen "
            f"{self.counts[0]} and {self.counts[1]} times in {self.samples} outputs of the first and second input "
            f"(confidence {float(self.confidence):.10g})"
        )


@dataclass(frozen=True, slots=True)
class _Event:
    """A set of outputs, as a mask over all distinct ones, that is likelier on one of the two inputs."""

    members: NDArray[np.bool_]
    likelier: Direction
    description: str


@dataclass(frozen=True, slots=True)
class _Order:
    """An order of outputs whose beginnings, up to one of the `ends`, are candidate events."""

    places: NDArray[np.intp]
    ends: NDArray[np.intp]
    event: Callable[[int], tuple[NDArray[np.bool_], str]]


def sampling_audit(
    run: Callable[[Input, int], ArrayLike],
    first: Input,
    second: Input,
    *,
    samples: int = 100_000,
    delta: Number = 0,
    confidence: Number = "0.999",
) -> Finding:
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
    allowed, sure = probability(delta=delta), inside_unit(confidence=confidence)
    outcomes, ranking, choosing, testing = _parts(_outputs(run, first, size), _outputs(run, second, size))
    risk = float((1 - sure) / 2)
    event = _best_event(outcomes, ranking, choosing, float(allowed), risk)
    hits, tested = testing[:, event.members].sum(axis=1), int(testing[0].sum())
    return Finding(
        epsilon=_epsilon(hits, tested, event.likelier, allowed, risk),
        delta=allowed,
        confidence=sure,
        event=event.description,
        likelier=event.likelier,
        counts=(int(hits[0]), int(hits[1])),
        samples=tested,
    )


def _outputs(run: Callable[[Input, int], ArrayLike], value: Input, size: int) -> NDArray[Any]:
    outputs = np.asarray(run(value, size))
    if outputs.ndim not in (1, 2) or len(outputs) != size:
        raise InvalidParameter(
            "run", outputs.shape, allowed=f"a function whose outputs have shape ({size},) or ({size}, n)"
        )
    return outputs


def _parts(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[Any], Counts, Counts, Counts]:
    """The distinct outputs in order, and how often each input gave them while ranking, choosing and testing."""
    outcomes, index = _distinct(np.concatenate([first, second]))
    index = index.reshape(2, len(first))
    cuts = [len(first) // 4, len(first) // 2]
    ranking, choosing, testing = (
        np.array([np.bincount(row, minlength=len(outcomes)) for row in part]) for part in np.split(index, cuts, axis=1)
    )
    return outcomes, ranking, choosing, testing


def _distinct(outputs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct outputs in order and the place of each output among them; column by column, which is fast."""
    places = np.zeros(len(outputs), dtype=np.intp)
    for column in outputs.reshape(len(outputs), -1).T:
        values, entries = np.unique(column, return_inverse=True)
        places = np.unique(places * len(values) + entries, return_inverse=True)[1]
    return outputs[np.unique(places, return_index=True)[1]], places


def _best_event(outcomes: NDArray[Any], ranking: Counts, choosing: Counts, delta: float, risk: float) -> _Event:
    """The candidate with the largest bound on the choosing part, in either direction."""
    best, largest = _Event(np.ones(len(outcomes), dtype=np.bool_), "first", "any output"), 0.0
    sides: tuple[Direction, Direction] = ("first", "second")
    for side, likelier in enumerate(sides):
        high, low = choosing[side], choosing[1 - side]
        for order in _orders(outcomes, ranking[side], ranking[1 - side]):
            ends = _thinned(order.ends)
            inside_high, inside_low = np.cumsum(high[order.places])[ends], np.cumsum(low[order.places])[ends]
            ratios = _ratios(inside_high, inside_low, int(high.sum()), delta, risk)
            place = int(np.argmax(ratios))
            if ratios[place] > largest:
                members, description = order.event(int(ends[place]))
                best, largest = _Event(members, likelier, description), float(ratios[place])
    return best


def _orders(outcomes: NDArray[Any], high: Counts, low: Counts) -> Iterator[_Order]:
    """By likelihood ratio, cautious where little was seen; and by each entry, from both ends.

    Candidates end at outputs that the ranking part saw, so that none of them depends on the parts after it.
    """
    seen = high + low > 0
    more, fewer = high + 0.5, low + 0.5
    by_ratio = np.argsort(-(more - np.sqrt(more)) / (fewer + np.sqrt(fewer)), kind="stable")
    yield _listed(outcomes, by_ratio[seen[by_ratio]])
    columns = outcomes.reshape(len(outcomes), -1)
    for entry in range(min(columns.shape[1], _MOST_ENTRIES)):
        rising = np.argsort(columns[:, entry], kind="stable")
        yield _tail(columns[:, entry], rising, seen, np.less_equal, f"entry {entry} at most")
        yield _tail(columns[:, entry], rising[::-1], seen, np.greater_equal, f"entry {entry} at least")


def _listed(outcomes: NDArray[Any], places: NDArray[np.intp]) -> _Order:
    def event(end: int) -> tuple[NDArray[np.bool_], str]:
        inside = places[: end + 1]
        members = np.zeros(len(outcomes), dtype=np.bool_)
        members[inside] = True
        shown = " or ".join(str(outcome.tolist()) for outcome in outcomes[inside[:3]])
        return members, f"one of {len(inside)} outputs, such as {shown}" if len(inside) > 3 else f"the output {shown}"

    return _Order(places, np.arange(len(places)), event)


def _tail(
    values: NDArray[Any], places: NDArray[np.intp], seen: NDArray[np.bool_], beyond: np.ufunc, words: str
) -> _Order:
    def event(end: int) -> tuple[NDArray[np.bool_], str]:
        edge = values[places[end]]
        return beyond(values, edge), f"an output with {words} {edge}"

    return _Order(places, np.flatnonzero(seen[places]), event)


def _thinned(ends: NDArray[np.intp]) -> NDArray[np.intp]:
    """All of a few candidates; of many, a choice that is dense at both ends."""
    if len(ends) <= _MOST_CANDIDATES:
        return ends
    steps = np.geomspace(1, len(ends), _MOST_CANDIDATES // 2).astype(np.intp)
    thinned: NDArray[np.intp] = ends[np.unique(np.concatenate([steps - 1, len(ends) - steps]))]
    return thinned


def _ratios(high: Counts, low: Counts, size: int, delta: float, risk: float) -> NDArray[np.float64]:
    """Lower bounds on (P[event | likelier input] - delta) / P[event | other input], per event."""
    least = np.where(high > 0, special.betaincinv(np.maximum(high, 1), size - high + 1, risk), 0.0)
    most = np.where(low < size, special.betainccinv(low + 1, np.maximum(size - low, 1), risk), 1.0)
    ratios: NDArray[np.float64] = (least - delta) / most
    return ratios


def _epsilon(hits: Counts, size: int, likelier: Direction, delta: Fraction, risk: float) -> Fraction:
    high, low = hits if likelier == "first" else hits[::-1]
    ratio = float(_ratios(np.array([high]), np.array([low]), size, float(delta), risk)[0])
    if ratio <= 1:
        return Fraction(0)
    with precise():
        return lower(ball(Fraction(ratio)).log())
