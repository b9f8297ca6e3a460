"""Choices of keys and of counted keys, each with an event in which nothing is promised.

The exact laws, by plain enumeration, of the mechanisms that choose keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from flint import arb

from dalenius.mechanisms.keys.key_selection import GeometricKeySelection, Key, KeyCounts
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.mechanisms.keys.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.keys.thresholding import CountedKeys, ThresholdedCounts
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.reals import ball, precise
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.verify.cases.case import ADD, REPLACE, Case, Law, neighbouring
from dalenius.verify.cases.numeric import gaussian

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
            noisy[((key, first - 1),)] = ball(mechanism.chance) * mechanism.noise.law.pmf(first - 1 - count)
            noisy[()] = 1 - mechanism.keep_probability(count)  # type: ignore[index]
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


KEYS_OF_A_UNIT = (("a",), ("b",), ("a", "b"))
"""What one unit may have, at most two keys."""
EVENT = Fraction(1, 100)
MANY = 20
"""How often a unit has a key in cases where each row of it counts."""


def geometric_keys(**parameters: Any) -> GeometricKeySelection:
    return GeometricKeySelection.calibrated(delta=EVENT, **parameters)


def renyi_keys(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> RenyiKeySelection:
    curve = ((Fraction(4), epsilon / 2), (Fraction(32), epsilon))
    return RenyiKeySelection(curve=curve, delta=EVENT, groups=2, neighbours=neighbours)  # type: ignore[arg-type]


def laplace_above(**parameters: Any) -> ThresholdedCounts:
    noise = DiscreteLaplace.calibrated(**parameters)
    return ThresholdedCounts.calibrated(noise=noise, delta=EVENT, sensitivity=parameters["sensitivity"])


def gaussian_above(**parameters: Any) -> ThresholdedCounts:
    return ThresholdedCounts.calibrated(
        noise=gaussian(**parameters), delta=EVENT, sensitivity=parameters["sensitivity"]
    )


def counted_keys(**parameters: Any) -> CountedKeys:
    return CountedKeys(selection=renyi_keys(**parameters), noise=DiscreteLaplace.calibrated(**parameters))


def limited(**parameters: Any) -> LimitedTopK:
    return LimitedTopK.calibrated(k=2, delta=EVENT, reach=2, **parameters)


def first(**parameters: Any) -> LimitedTopK:
    return LimitedTopK.calibrated(k=1, delta=EVENT, reach=2, **parameters)


def key_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        values, pairs = neighbouring(key_counts, relation, KEYS_OF_A_UNIT, most=3)
        steps = relation.add_remove_steps
        change = Sensitivity.sparse(coordinates=2 * steps, each=1, monotone=relation == ADD)
        marks = {"tight": False, "event": True, "targeted": False, "pure": False}
        yield Case("geometric keys", relation, change, geometric_keys, values, pairs, kept_law, **marks)
        yield Case("Rényi keys", relation, change, renyi_keys, values, pairs, kept_law, **marks)
        for name, calibrated in [("Laplace above", laplace_above), ("Gaussian above", gaussian_above)]:
            law = shown_law
            yield Case(name, relation, change, calibrated, values, pairs, law, **marks, complete=False)
        near = counted_law
        yield Case("counted keys", relation, change, counted_keys, values, pairs, near, **marks, complete=False)
        units = (("a",), ("b", "c"), ("c",), ("a", "b", "c"))
        values, pairs = neighbouring(key_counts, relation, units, most=3)
        anywhere = Sensitivity(linf=1, monotone=relation == ADD)
        yield Case("limited top two", relation, anywhere, limited, values, pairs, listed_law, **marks)
        many = (("a",) * MANY, ("b",) * MANY, ("a",) * 7)
        values, pairs = neighbouring(key_counts, relation, many, most=3)
        often = Sensitivity(linf=MANY, monotone=relation == ADD)
        yield Case("limited top one of many rows", relation, often, first, values, pairs, listed_law, **marks)
