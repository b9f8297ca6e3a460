"""A sealed histogram and its questions: how far one step moves them, and what an algorithm publishes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.integers import integer_array
from dalenius.tabular.workloads import Integers, Reals, Workload

MOST_PEOPLE = 2**40
MOST_PARTS = 2**20
"""Public hypotheses and candidates are 64-bit sums of counts times parts: below these limits none can overflow. Data
can be larger than stated: see `wide`."""
_SAFE = 2**62


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """What an algorithm publishes: answers to every question, and how far off they are.

    `answers` are in people, and with probability 1 - `beta` all of them are within `error`. `histogram` is a synthetic
    one of as many people as were stated, where the algorithm makes one; `rounds` is how often the data was asked.
    """

    answers: Reals
    error: Fraction
    beta: Fraction
    histogram: Reals | None = None
    rounds: int = 1


def rows_moved(histogram: Exact[Integers]) -> int:
    """How many rows one step adds or removes, or exchanges: a replaced unit gives up half of the l1 change at most, and
    brings half of it at most."""
    l1 = histogram.sensitivity.need("l1", mechanism="a release from a histogram")
    return whole(1, rows=ceil(l1 / histogram.neighbours.add_remove_steps))


def sealed_answers(histogram: Exact[Integers], workload: Workload) -> Exact[Integers]:
    """The exact answers to all questions, in parts, with what one step moves them by."""
    bounds = bounded(workload, histogram.neighbours, rows=rows_moved(histogram))
    return histogram.map(lambda counts: exact_answers(workload, counts), sensitivity=bounds)


def exact_answers(workload: Workload, counts: Any) -> NDArray[Any]:
    """The exact answers of private counts, in parts, whatever the counts are."""
    return np.asarray(workload.answers(wide(counts, times=workload.denominator)))


def wide(counts: Any, *, times: int = 1) -> NDArray[Any]:
    """Counts that can be added up with weights of at most `times`: in Python's integers where 64 bits might not do.

    A sum that wraps would move by 2^64 where one unit is added. How many people are stated does not help: the data may
    hold more. What is no integer is refused, because sums of floats depend on their order.
    """
    exact = integer_array(np.asarray(counts))
    if exact.dtype == object or not exact.size:
        return exact
    most = max(abs(int(exact.max())), abs(int(exact.min()))) * exact.size
    total = int(np.abs(exact).sum()) if most < _SAFE else most
    return exact if total * times < _SAFE else exact.astype(object)


class Widened:
    """Makes the counts of one sealed histogram `wide`, once: a sealed value is computed for every question. It lives
    inside an `Exact`."""

    def __init__(self, *, times: int) -> None:
        self._times = times
        self._made: NDArray[Any] | None = None

    def counts(self, counts: Any) -> NDArray[Any]:
        if self._made is None:
            self._made = wide(counts, times=self._times)
        return self._made


def bounded(workload: Workload, neighbours: Neighbours, *, rows: int = 1) -> Sensitivity:
    """How far one step moves the answers, in every norm; no question is taken to move the same way as others."""
    moves = workload.sensitivity(neighbours, rows=rows)
    return Sensitivity(l1=moves.l1, l2_squared=moves.l2_squared, linf=moves.linf, neighbours=neighbours)


def require_computable(*, people: int, denominator: int = 1) -> None:
    """Refuse numbers with which 64-bit sums could overflow."""
    if whole(1, people=people) > MOST_PEOPLE:
        raise InvalidParameter("people", people, allowed=f"at most {MOST_PEOPLE}")
    if whole(1, denominator=denominator) > MOST_PARTS:
        raise InvalidParameter("denominator", denominator, allowed=f"at most {MOST_PARTS}")
