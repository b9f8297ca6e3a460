"""Taking the measurements: each sealed engine result becomes a vector over keys, and passes through the one door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatchmethod
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.measuring.choosing import PricedMeasurement
from dalenius.measuring.estimates import Noisy, NoisyChoices, NoisyHistogram, NoisyNumbers, NoisyQuantiles, NoisySplit
from dalenius.measuring.measurements import (
    Counts,
    FoundKeys,
    Measurement,
    MeasurementPlan,
    Mode,
    Numbers,
    Quantiles,
    Robust,
    SplitSums,
    TopKeys,
)
from dalenius.measuring.moments import split_sums
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.keys.key_selection import KeyCounts
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.mechanisms.keys.thresholding import CountedKeys, ThresholdedCounts
from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.robust.propose_test_release import ProposedQuantile
from dalenius.mechanisms.selection.quantiles import ValueCounts
from dalenius.privacy.exact import Exact
from dalenius.query.keys import Key, KeySpace, ListedKeys, key_tuples
from dalenius.query.plan.passes import Cells
from dalenius.query.types import Domain
from dalenius.randomness.entropy import Entropy


@dataclass(frozen=True)
class Released:
    """What came out: the keys that are shown, in order, and the noisy values of every measurement.

    A measurement of several quantiles has one entry for each; a choice of keys has none, it is in `keys`.
    """

    keys: Sequence[Key]
    noisy: tuple[tuple[Noisy, ...], ...]


def release(
    program: MeasurementPlan,
    steps: Sequence[PricedMeasurement],
    results: Sequence[Exact[Cells]],
    allowance: Allowance,
    entropy: Entropy,
) -> Released:
    """Take all measurements in order; the choice of keys, where there is one, comes first."""
    taking = _Taking(KeySpace(program.question.key_domains), results, allowance, entropy)
    noisy = tuple(tuple(taking.take(step.measurement, step)) for step in steps)
    return Released(taking.keys.keys(), noisy)


@dataclass
class _Taking:
    """The sealed results of one question, and the keys that are shown: all public ones, or those chosen so far."""

    keys: KeySpace | ListedKeys
    results: Sequence[Exact[Cells]]
    allowance: Allowance
    entropy: Entropy

    @singledispatchmethod
    def take(self, part: Measurement, step: PricedMeasurement) -> Sequence[Noisy]:
        """The noisy values of a measurement."""
        raise TypeError(f"{type(part).__name__} is no measurement")

    @take.register
    def _(self, part: Numbers, step: PricedMeasurement) -> Sequence[Noisy]:
        values = self._measured(step, lambda cells: self.keys.dense(cells.keys, cells.totals[part.total]))
        return [NoisyNumbers(values, step.mechanism.law)]  # type: ignore[attr-defined]

    @take.register
    def _(self, part: FoundKeys, step: PricedMeasurement) -> Sequence[Noisy]:
        found = self._measured(step, _key_counts(part.total))
        self.keys = ListedKeys(tuple(found))
        if not isinstance(step.mechanism, ThresholdedCounts | CountedKeys):
            return []
        return [NoisyNumbers(np.array(list(found.values()), dtype=np.int64), step.mechanism.noise.law)]

    @take.register
    def _(self, part: TopKeys, step: PricedMeasurement) -> Sequence[Noisy]:
        if isinstance(step.mechanism, LimitedTopK):
            self.keys = ListedKeys(self._measured(step, _key_counts(part.total)))
            return []
        places = self._measured(step, lambda cells: self.keys.dense(cells.keys, cells.totals[part.total]))
        every = self.keys.keys()
        self.keys = ListedKeys(tuple(every[place] for place in places))
        return []

    @take.register
    def _(self, part: Counts, step: PricedMeasurement) -> Sequence[Noisy]:
        return [NoisyHistogram(self._measured(step, self._table(part.domain)), step.mechanism.law)]  # type: ignore[attr-defined]

    @take.register
    def _(self, part: SplitSums, step: PricedMeasurement) -> Sequence[Noisy]:
        def sums(cells: Cells) -> NDArray[Any]:
            totals = [self.keys.dense(cells.keys, cells.totals[place]) for place in part.totals]
            return split_sums(part.whole, part.factors, totals)

        return [NoisySplit(self._measured(step, sums), step.mechanism.law)]  # type: ignore[attr-defined]

    @take.register
    def _(self, part: Mode, step: PricedMeasurement) -> Sequence[Noisy]:
        listed, places = _values(part.domain).codes(), self._measured(step, self._table(part.domain))
        return [NoisyChoices([listed[place] for place in places])]

    @take.register
    def _(self, part: Robust, step: PricedMeasurement) -> Sequence[Noisy]:
        statistic = cast(GroupedStatistic, step.mechanism).statistic
        law = statistic.inner.noise.law if isinstance(statistic, ProposedQuantile) else None
        return [NoisyChoices(list(self._measured(step, self._lists)), law)]

    @take.register
    def _(self, part: Quantiles, step: PricedMeasurement) -> Sequence[Noisy]:
        found = self._measured(step, self._lists)
        return [
            NoisyQuantiles(
                [group[place].value for group in found],
                [group[place].low for group in found],
                [group[place].high for group in found],
            )
            for place in range(len(part.targets))
        ]

    def _measured(self, step: PricedMeasurement, computed: Callable[[Cells], Any]) -> Any:
        exact = self.results[step.measurement.source].map(computed, sensitivity=step.measurement.sensitivity)
        return measure(step.mechanism, exact, self.allowance, self.entropy)

    def _table(self, domain: Domain) -> Callable[[Cells], NDArray[Any]]:
        """The counts of all public values, one row for each key that is shown."""
        keys, values = self.keys, KeySpace((_values(domain),))

        def table(cells: Cells) -> NDArray[Any]:
            (counts,) = cells.totals
            rows, columns = keys.positions(cells.keys[:-1], len(counts)), values.positions(cells.keys[-1:], len(counts))
            known, found = (rows >= 0) & (columns >= 0), np.zeros((keys.size, values.size), dtype=counts.dtype)
            np.add.at(found, (rows[known], columns[known]), counts[known])
            return found

        return table

    def _lists(self, cells: Cells) -> list[ValueCounts]:
        """The values of each key that is shown, and how often each occurs."""
        (counts,) = cells.totals
        rows = self.keys.positions(cells.keys[:-1], len(counts))
        codes = np.array([key[0] for key in key_tuples(cells.keys[-1:], len(counts))], dtype=object)
        order = np.argsort(rows, kind="stable")
        starts = np.searchsorted(rows[order], np.arange(self.keys.size + 1))
        parts = [order[start:stop] for start, stop in pairwise(starts)]
        return [ValueCounts(codes[part], counts[part]) for part in parts]


def _values(domain: Domain) -> Domain:
    """The values that are counted: NULL is none of them."""
    return domain.or_null(False)


def _key_counts(total: int) -> Callable[[Cells], KeyCounts]:
    return lambda cells: KeyCounts(key_tuples(cells.keys, len(cells.totals[total])), cells.totals[total])
