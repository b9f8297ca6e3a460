"""The search for an event that tells two inputs apart: which outputs to look for, chosen before the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.checks.sampling.outputs import NOT_A_NUMBER, PairedOutputs
from dalenius.lazy import optional

optimize, special = (
    optional(f"scipy.{name}", function="An audit by sampling", extra="checks") for name in ("optimize", "special")
)

Counts: TypeAlias = NDArray[np.int64]
Direction: TypeAlias = Literal["first", "second"]
Members: TypeAlias = NDArray[np.bool_]
Score: TypeAlias = Callable[[Counts, Counts, int], NDArray[np.float64]]
"""How much events of these counts show, of so many runs on the likelier and on the other input."""

# How much is tried: the choice can cost power, never validity.
_MOST_CANDIDATES = 400
_MOST_ENTRIES = 16  # those that tell most in the ranking part
_MOST_LEARNED = 20_000
_FEW_OUTCOMES = 64
_COMMON = 3


@dataclass(frozen=True, slots=True)
class Event:
    """A set of outputs, as a mask over all distinct ones, that is likelier on one of the two inputs."""

    members: Members
    likelier: Direction
    description: str


@dataclass(frozen=True, slots=True)
class _Order:
    """An order of outputs whose beginnings, up to one of the `ends`, are candidate events."""

    places: NDArray[np.intp]
    ends: NDArray[np.intp]
    event: Callable[[int], tuple[Members, str]]


def best_event(outputs: PairedOutputs, ranking: Counts, choosing: Counts, score: Score) -> Event:
    """The candidate that shows most on the choosing part, in either direction."""
    best, largest = Event(np.ones(len(outputs), dtype=np.bool_), "first", "any output"), 0.0
    sides: tuple[Direction, Direction] = ("first", "second")
    for side, likelier in enumerate(sides):
        high, low = choosing[side], choosing[1 - side]
        for order in _orders(outputs, ranking[side], ranking[1 - side]):
            ends = _thinned(order.ends)
            if not len(ends):
                continue
            inside_high, inside_low = np.cumsum(high[order.places])[ends], np.cumsum(low[order.places])[ends]
            scores = score(inside_high, inside_low, int(high.sum()))
            place = int(np.argmax(scores))
            if scores[place] > largest:
                members, description = order.event(int(ends[place]))
                best, largest = Event(members, likelier, description), float(scores[place])
    return best


def _orders(outputs: PairedOutputs, high: Counts, low: Counts) -> Iterator[_Order]:
    """By likelihood ratio, of outputs and of what stands in each entry; by each entry that is a number, from both ends;
    by all entries together.

    Candidates end at outputs that the ranking part saw, so that none of them depends on the parts after it.
    """
    seen = high + low > 0
    by_ratio = np.argsort(-_ratio(high, low), kind="stable")
    yield _listed(outputs, by_ratio[seen[by_ratio]])
    telling = _telling(outputs, high, low)
    for entry in telling:
        yield from _tails(outputs, entry, seen)
        if len(np.unique(outputs.kinds[seen, entry])) < np.count_nonzero(seen):
            yield _valued(outputs, entry, high, low)
    if np.count_nonzero(seen) > _FEW_OUTCOMES and len(telling) > 1:
        yield _learned(outputs, telling, high, low)


def _ratio(high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.float64]:
    """How much likelier something is on one side, cautious where little was seen."""
    more, fewer = high + 0.5, low + 0.5
    ratio: NDArray[np.float64] = (more - np.sqrt(more)) / (fewer + np.sqrt(fewer))
    return ratio


def _telling(outputs: PairedOutputs, high: Counts, low: Counts) -> list[int]:
    """The entries that are not always the same; of many, those whose two distributions lie furthest apart."""
    kinds = outputs.kinds[high + low > 0]
    varying = np.flatnonzero(np.ptp(kinds, axis=0)) if len(kinds) else np.zeros(0, dtype=np.intp)
    if len(varying) <= _MOST_ENTRIES:
        return [int(entry) for entry in varying]

    def apart(entry: int) -> float:
        first, second = (
            np.cumsum(np.bincount(outputs.kinds[:, entry], weights=side)) / max(1, side.sum()) for side in (high, low)
        )
        return float(np.abs(first - second).max())

    return sorted(map(int, varying), key=apart, reverse=True)[:_MOST_ENTRIES]


def _listed(outputs: PairedOutputs, places: NDArray[np.intp]) -> _Order:
    def event(end: int) -> tuple[Members, str]:
        inside = places[: end + 1]
        members = np.zeros(len(outputs), dtype=np.bool_)
        members[inside] = True
        shown = " or ".join(outputs.named(int(place)) for place in inside[:3])
        return members, f"one of {len(inside)} outputs, such as {shown}" if len(inside) > 3 else f"the output {shown}"

    return _Order(places, np.arange(len(places)), event)


def _tails(outputs: PairedOutputs, entry: int, seen: Members) -> Iterator[_Order]:
    ranks, numbers = outputs.ranks[:, entry], outputs.numbers[entry]
    place = f"with entry {entry} " if outputs.ranks.shape[1] > 1 else "of "
    rising = np.argsort(ranks, kind="stable")
    rising = rising[ranks[rising] != NOT_A_NUMBER]
    for places, sign, words in ((rising, 1, "at most"), (rising[::-1], -1, "at least")):

        def event(end: int, places: Any = places, sign: int = sign, words: str = words) -> tuple[Members, str]:
            edge = ranks[places[end]]
            beyond = (sign * ranks <= sign * edge) & (ranks != NOT_A_NUMBER)
            return beyond, f"an output {place}{words} {numbers[edge]}"

        # Outputs that share the edge belong to the event, so it ends at the last of them.
        last = np.append(ranks[places][1:] != ranks[places][:-1], True) if len(places) else np.zeros(0, dtype=np.bool_)
        edges = np.zeros(len(numbers), dtype=np.bool_)
        edges[ranks[places][seen[places]]] = True
        yield _Order(places, np.flatnonzero(last & edges[ranks[places]]), event)


def _valued(outputs: PairedOutputs, entry: int, high: Counts, low: Counts) -> _Order:
    """By the likelihood ratio of what stands in an entry, whatever the others are."""
    kinds = outputs.kinds[:, entry]
    more, fewer = (np.bincount(kinds, weights=side) for side in (high, low))
    known = np.flatnonzero(more + fewer)
    known = known[np.argsort(-_ratio(more[known], fewer[known]), kind="stable")]
    rank = np.full(len(more), len(known))
    rank[known] = np.arange(len(known))
    ranks = rank[kinds]
    places = np.argsort(ranks, kind="stable")[: np.count_nonzero(ranks < len(known))]

    def event(end: int) -> tuple[Members, str]:
        edge = ranks[places[end]]
        shown = " or ".join(
            outputs.entry_named(int(np.argmax(ranks == each)), entry) for each in range(min(edge + 1, 3))
        )
        said = f"one of {edge + 1} values, such as {shown}" if edge >= 3 else shown
        return ranks <= edge, f"an output whose entry {entry} is {said}"

    last = np.append(ranks[places][1:] != ranks[places][:-1], True) if len(places) else np.zeros(0, dtype=np.bool_)
    return _Order(places, np.flatnonzero(last), event)


def _learned(outputs: PairedOutputs, telling: Sequence[int], high: Counts, low: Counts) -> _Order:
    """By a linear rule over entries, learned on the ranking part: it also places outputs that were not seen there.

    Reference: Bichsel, Steffen, Bogunovic & Vechev 2021 (DP-Sniper), where logistic regression finds the event.
    """
    seen = high + low > 0
    features = list(_features(outputs, telling, high + low))
    learned = np.flatnonzero(seen)[:: max(1, int(np.count_nonzero(seen)) // _MOST_LEARNED)]
    table = np.stack([feature[learned] for feature in features], axis=1)
    weights = _regression(table, high[learned].astype(np.float64), low[learned].astype(np.float64))
    rule = np.zeros(len(outputs))
    for weight, feature in zip(weights, features, strict=True):
        rule += weight * feature
    places = np.argsort(-rule, kind="stable")

    def event(end: int) -> tuple[Members, str]:
        return rule >= rule[places[end]], f"an output that a linear rule over {len(telling)} entries puts first"

    # Outputs that the rule puts together belong to the event, so it ends at the last of them if any of them was seen.
    last = np.flatnonzero(np.append(rule[places][1:] != rule[places][:-1], True))
    any_seen = np.logical_or.reduceat(seen[places], np.append(0, last[:-1] + 1))
    return _Order(places, last[any_seen], event)


def _features(outputs: PairedOutputs, telling: Sequence[int], counts: Counts) -> Iterator[NDArray[np.float64]]:
    """Of each entry its place among those seen, and whether it is one of the few that are most common."""
    seen = counts > 0
    for entry in telling:
        ranks, kinds = outputs.ranks[:, entry], outputs.kinds[:, entry]
        places = np.searchsorted(np.unique(ranks[seen]), ranks, side="right").astype(np.float64)
        middle = np.average(places[seen], weights=counts[seen])
        spread = np.sqrt(np.average((places[seen] - middle) ** 2, weights=counts[seen]))
        yield (places - middle) / (spread or 1.0)
        totals = np.bincount(kinds, weights=counts)
        for kind in np.argsort(-totals, kind="stable")[: min(_COMMON, np.count_nonzero(totals) - 1)]:
            yield (kinds == kind).astype(np.float64)


def _regression(table: NDArray[np.float64], high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.float64]:
    """The weights of a logistic regression of counts, with a small ridge."""
    total = float(high.sum() + low.sum())

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = table @ weights[1:] + weights[0]
        miss = (high * np.logaddexp(0, -logits) + low * np.logaddexp(0, logits)).sum() / total
        slope = (low * special.expit(logits) - high * special.expit(-logits)) / total
        ridge = 1e-6 * weights
        ridge[0] = 0
        return float(miss + (ridge @ weights) / 2), np.append(slope.sum(), table.T @ slope) + ridge

    found = optimize.minimize(loss, np.zeros(table.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 60})
    weights: NDArray[np.float64] = found.x[1:]
    return weights


def _thinned(ends: NDArray[np.intp]) -> NDArray[np.intp]:
    """All of a few candidates; of many, a choice that is dense at both ends."""
    if len(ends) <= _MOST_CANDIDATES:
        return ends
    steps = np.geomspace(1, len(ends), _MOST_CANDIDATES // 2).astype(np.intp)
    thinned: NDArray[np.intp] = ends[np.unique(np.concatenate([steps - 1, len(ends) - steps]))]
    return thinned
