"""Expectation maximisation on statistical queries: a mixture of round Gaussians of a public width."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.reals import ball, lower, precise
from dalenius.randomness.entropy import Entropy
from dalenius.textbook.learning.queries import Oracle, StatisticalQuery

_PARTS = 2**8
"""Into how many parts a row is divided among the components."""
_STEPS = 2**6  # of an exponent of 1 in the table
_REACH = 16  # the largest exponent in the table
_WEIGHT = 2**24
_LIGHTEST = Fraction(1, 1000)


@dataclass(frozen=True)
class Mixture:
    """Centres, in features of -1 to 1, and the share of each component."""

    centres: NDArray[np.float64]
    shares: NDArray[np.float64]


@dataclass(frozen=True)
class MixtureLearner:
    """Expectation maximisation for round Gaussians with a common, public standard deviation `spread`.

    Guarantee: `learn` costs the whole budget part. In each round a row is divided among the components, in whole parts
    that add up to at most one row, and adds its parts, and its parts times its features: an l2 norm of at most that of
    the row and a coordinate of 1. Parts are made of exact integer distances to public centres and a public table, so
    they depend on that row alone. Initial centres, the number of rounds and the spread are public.
    Reference: Blum, Dwork, McSherry & Nissim 2005, Section 5; Park, Foulds, Chaudhuri & Welling 2017 (arXiv:1605.06995)
    for noisy statistics in expectation maximisation.
    Textbook: S14.11.
    """

    spread: Fraction
    rounds: int = 10

    def __init__(self, spread: Number, rounds: int = 10) -> None:
        object.__setattr__(self, "spread", positive(spread=spread))
        object.__setattr__(self, "rounds", whole(1, rounds=rounds))

    def learn(self, rows: SealedRows, budget_part: BudgetPart, entropy: Entropy, *, centres: ArrayLike) -> Mixture:
        """The mixture after all rounds, from public centres in features of -1 to 1."""
        start = np.array(centres, dtype=np.float64)
        if start.ndim != 2 or start.shape[1] != rows.width or not np.isfinite(start).all():
            raise InvalidParameter("centres", f"of shape {start.shape}", allowed=f"{rows.width} numbers for each")
        size = len(start)
        oracle = Oracle.of(rows, budget_part, entropy, queries=self.rounds * size * (rows.width + 1))
        known = Mixture(start, np.full(size, 1 / size))
        for _ in range(self.rounds):
            known = _moved(known, oracle.totals(self.statistics(known, rows)).reshape(rows.width + 1, size))
        return known

    def statistics(self, known: Mixture, rows: SealedRows) -> StatisticalQuery:
        """The statistics of one round: for each component its part of the rows, then of each feature's sum."""
        centres = np.rint(np.clip(known.centres, -1.0, 1.0) * ONE).astype(np.int64)
        handicaps = self._handicaps(known.shares)

        def part(entries: Entries) -> Integers:
            features = entries.features.astype(np.int64)
            parts = self._parts(features, centres, handicaps)
            weighted = parts[:, None, :] * features[:, :, None]
            return np.concatenate([ONE * parts[:, None, :], weighted], axis=1).reshape(len(features), -1)

        return StatisticalQuery(
            part=part,
            length=len(centres) * (rows.width + 1),
            lower=-_PARTS * ONE,
            upper=_PARTS * ONE,
            l1=_PARTS * ONE * (rows.width + 1),
            l2_squared=_PARTS**2 * (rows.norm_squared + ONE**2),
        )

    def _parts(self, features: Integers, centres: Integers, handicaps: Integers) -> Integers:
        """How many of its parts each row gives to each component: whole numbers, at most `_PARTS` together."""
        distances = ((features[:, :, None] - centres.T[None, :, :]) ** 2).sum(axis=1) + handicaps
        behind = distances - distances.min(axis=1, keepdims=True)
        table, scale = _falling(), self._scale
        near = np.minimum(behind, ceil(len(table) / scale))  # so that the product below fits in 64 bits
        likelihoods = table[np.minimum(near * scale.numerator // scale.denominator, len(table) - 1)]
        return np.asarray(likelihoods * _PARTS // likelihoods.sum(axis=1, keepdims=True))

    @property
    def _scale(self) -> Fraction:
        """Places of the table for one squared step of distance."""
        exact = _STEPS / (2 * self.spread**2 * ONE**2)
        return Fraction(max(1, round(exact * 2**24)), 2**24)

    def _handicaps(self, shares: NDArray[np.float64]) -> Integers:
        """-2 spread^2 ln(share), in squared steps of the grid."""
        with precise(64):
            logs = [lower(-ball(max(_LIGHTEST, Fraction(float(share)))).log()) for share in shares]
        return np.array([round(2 * self.spread**2 * ONE**2 * log) for log in logs], dtype=np.int64)


def _moved(known: Mixture, totals: Integers) -> Mixture:
    """The mixture of noisy statistics; a component with hardly any rows stays where it was."""
    statistics = totals.astype(np.float64) / (_PARTS * ONE)
    counts, sums = statistics[0], statistics[1:].T
    alive = counts >= 1
    centres = np.where(alive[:, None], sums / np.where(alive, counts, 1.0)[:, None], known.centres)
    shares = np.maximum(counts, float(_LIGHTEST) * max(1.0, counts.sum()))
    return Mixture(np.clip(centres, -1.0, 1.0), shares / shares.sum())


@lru_cache(maxsize=1)
def _falling() -> Integers:
    """exp(-place / _STEPS) in whole steps of 1 / _WEIGHT."""
    with precise(64):
        places = range(_REACH * _STEPS)
        return np.array([int(_WEIGHT * lower((-ball(Fraction(place, _STEPS))).exp())) for place in places])
