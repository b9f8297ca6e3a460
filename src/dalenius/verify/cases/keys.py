"""Choices of keys and of counted keys, each with an event in which nothing is promised."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dalenius.mechanisms.counted_keys import CountedKeys
from dalenius.mechanisms.key_selection import GeometricKeySelection
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.mechanisms.limited_domain import LimitedTopK
from dalenius.mechanisms.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.thresholding import ThresholdedCounts
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.verify.cases import key_laws
from dalenius.verify.cases.case import ADD, REPLACE, Case, neighbouring
from dalenius.verify.cases.numeric import gaussian

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
        values, pairs = neighbouring(key_laws.key_counts, relation, KEYS_OF_A_UNIT, most=3)
        steps = relation.add_remove_steps
        change = Sensitivity.sparse(coordinates=2 * steps, each=1, monotone=relation == ADD)
        marks = {"tight": False, "event": True, "targeted": False, "pure": False}
        yield Case("geometric keys", relation, change, geometric_keys, values, pairs, key_laws.kept_law, **marks)
        yield Case("Rényi keys", relation, change, renyi_keys, values, pairs, key_laws.kept_law, **marks)
        for name, calibrated in [("Laplace above", laplace_above), ("Gaussian above", gaussian_above)]:
            law = key_laws.shown_law
            yield Case(name, relation, change, calibrated, values, pairs, law, **marks, complete=False)
        near = key_laws.counted_law
        yield Case("counted keys", relation, change, counted_keys, values, pairs, near, **marks, complete=False)
        units = (("a",), ("b", "c"), ("c",), ("a", "b", "c"))
        values, pairs = neighbouring(key_laws.key_counts, relation, units, most=3)
        anywhere = Sensitivity(linf=1, monotone=relation == ADD)
        yield Case("limited top two", relation, anywhere, limited, values, pairs, key_laws.listed_law, **marks)
        many = (("a",) * MANY, ("b",) * MANY, ("a",) * 7)
        values, pairs = neighbouring(key_laws.key_counts, relation, many, most=3)
        often = Sensitivity(linf=MANY, monotone=relation == ADD)
        yield Case("limited top one of many rows", relation, often, first, values, pairs, key_laws.listed_law, **marks)
