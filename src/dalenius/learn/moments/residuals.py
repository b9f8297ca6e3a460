"""What a linear score leaves unexplained: the sealed sum of features times residuals, cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.engine_rows import Columns, Grouped, PerFeature
from dalenius.learn.exact_sums import product
from dalenius.learn.moments.sums import largest_l1
from dalenius.learn.rows import ONE, PIECE, Entries, Integers, Summable
from dalenius.learn.slopes import HEAVIEST, WEIGHT, on_grid
from dalenius.learn.terms import by_value, clipped, column, extended, quotient, times, total
from dalenius.privacy.exact import Exact
from dalenius.query.expressions import Expression
from dalenius.query.functions.arguments import integer
from dalenius.query.functions.functions import call
from dalenius.query.plan.relations import Relation

_RESIDUAL = "r.0"


@dataclass(frozen=True)
class Unexplained:
    """The sum of residuals times features, and times 1 as the last one, in steps of 1 / ONE^2; of a residual that is
    larger than half the target's range, so much is counted. `weights` are in steps of 1 / WEIGHT, that of 1 last."""

    weights: tuple[int, ...]

    @classmethod
    def of(cls, weights: NDArray[np.float64]) -> Unexplained:
        return cls(tuple(on_grid(weights).tolist()))

    def __call__(self, entries: Entries) -> Integers:
        weights = np.array(self.weights)
        scores = product(entries.features, weights[:-1, None], largest=ONE * HEAVIEST * WEIGHT)[:, 0]
        left = (entries.target * WEIGHT - scores - weights[-1] * ONE + WEIGHT // 2) // WEIGHT
        counted = np.clip(left, -ONE, ONE) * entries.counts
        times_features = product(entries.features.T, counted[:, None], largest=ONE**2 * PIECE)[:, 0]
        return np.append(times_features, counted.sum() * ONE)

    def asked(self, columns: Columns) -> list[Grouped]:
        return self._sums(columns).asked(columns)

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        sums = self._sums(columns).put(columns, found)
        sums[-1] *= ONE
        return sums

    def _sums(self, columns: Columns) -> PerFeature:
        relation = self._with_residuals(columns)
        return PerFeature(relation, column(relation, _RESIDUAL))

    def _with_residuals(self, columns: Columns) -> Relation:
        """First what each text adds to the score, then the residual."""
        scores = {
            f"s.{place}": by_value(columns.keys[key], column(columns.relation, key), self._of_text(columns, key))
            for place, key in enumerate(columns.texts)
        }
        scored = extended(columns.relation, scores)
        parts: list[Expression] = [column(scored, name) for name in scores]
        parts += [times(column(scored, key), self.weights[columns.features(key)][0]) for key in columns.numbers]
        start = WEIGHT // 2 - self.weights[-1] * ONE
        wanted = call("add", times(column(scored, columns.target.name), WEIGHT), integer(start))
        left = quotient(call("subtract", wanted, total(parts)), WEIGHT)
        return extended(scored, {_RESIDUAL: clipped(left, -ONE, ONE)}, kept=columns.keys)

    def _of_text(self, columns: Columns, key: str) -> list[int]:
        return [ONE * weight for weight in self.weights[columns.features(key)]]


def unexplained(rows: Summable, weights: NDArray[np.float64]) -> Exact[Integers]:
    """The sealed sum of what weights leave unexplained.

    Proof: a row adds its features and ONE, each times one integer of at most ONE in size. The score is an exact sum of
    integers, so the residual depends on that row and on the weights alone.
    """
    return rows.summed(
        Unexplained.of(weights),
        l2_squared=ONE**2 * (rows.norm_squared + ONE**2),
        l1=ONE * (largest_l1(rows) + ONE),
    )
