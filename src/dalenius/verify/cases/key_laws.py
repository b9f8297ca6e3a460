"""The exact laws, by plain enumeration, of the mechanisms that choose keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from flint import arb

from dalenius.mechanisms.counted_keys import CountedKeys
from dalenius.mechanisms.key_selection import GeometricKeySelection, Key, KeyCounts
from dalenius.mechanisms.limited_domain import LimitedTopK
from dalenius.mechanisms.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.thresholding import ThresholdedCounts
from dalenius.privacy.reals import precise
from dalenius.verify.cases.case import Law

Unit = tuple[Any, ...]


@cache
def _key_counts(counted: frozenset[tuple[str, int]]) -> KeyCounts:
    """One object for each value, so that it can be looked up."""
    names = sorted(counted, reverse=True)
    return KeyCounts([(name,) for name, _ in names], np.array([count for _, count in names], dtype=np.int64))


def key_counts(units: Iterable[Unit]) -> KeyCounts:
    """How many units have each key; a unit is the tuple of its keys."""
    return _key_counts(frozenset(Counter(key for unit in units for key in unit).items()))


def counted(value: KeyCounts) -> dict[Key, int]:
    return dict(zip(value.keys, value.counts.tolist(), strict=True))


def kept_law(mechanism: GeometricKeySelection | RenyiKeySelection, value: KeyCounts) -> Law:
    """Every set of keys, with one coin for each key."""
    chances = {key: mechanism.keep_probability(count) for key, count in sorted(counted(value).items())}
    law: Law = {}
    with precise():
        for coins in product((False, True), repeat=len(chances)):
            kept = tuple(key for key, coin in zip(chances, coins, strict=True) if coin)
            pairs = zip(chances.values(), coins, strict=True)
            law[kept] = prod((chance if coin else 1 - chance for chance, coin in pairs), start=arb(1))
    return law


def shown_law(mechanism: ThresholdedCounts, value: KeyCounts, reach: int = 12) -> Law:
    """Every set of keys with noisy counts, up to some above the threshold."""
    first, law = mechanism.threshold, {(): arb(1)}
    with precise():
        for key, count in sorted(counted(value).items()):
            noisy = {((key, z),): mechanism.noise.law.pmf(z - count) for z in range(first, first + reach)}
            noisy[()] = 1 - mechanism.noise.law.tail(first - count)  # type: ignore[index]
            law = {(*seen, *more): p * q for seen, p in law.items() for more, q in noisy.items()}  # type: ignore[misc]
    return law


def counted_law(mechanism: CountedKeys, value: KeyCounts, reach: int = 6) -> Law:
    """Every set of keys with noisy counts not far from theirs."""
    chances, law = counted(value), {(): arb(1)}
    with precise():
        for key, count in sorted(chances.items()):
            kept = mechanism.selection.keep_probability(count)
            near = range(-reach, reach + 1)
            noisy = {((key, z),): kept * mechanism.noise.law.pmf(z - count) for z in near}
            noisy[()] = 1 - kept  # type: ignore[index]
            law = {(*seen, *more): p * q for seen, p in law.items() for more, q in noisy.items()}  # type: ignore[misc]
    return law


def listed_law(mechanism: LimitedTopK, value: KeyCounts) -> Law:
    return mechanism.probabilities(value)
