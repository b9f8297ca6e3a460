"""How far two exact values are apart: which coordinates changed, and by how much, in whole numbers and fractions.

What cannot be told apart coordinate by coordinate, such as NaN, another shape or another kind of value, is infinitely
far, and no sensitivity allows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from math import isfinite
from numbers import Rational, Real
from typing import Any, TypeAlias

import numpy as np

from dalenius.mechanisms.keys.key_selection import KeyCounts
from dalenius.mechanisms.noise.randomized_response import Response
from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.robust.subsample import BlockRows
from dalenius.mechanisms.selection.grouped_choice import GroupedChoice
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles, ValueCounts
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.sensitivity import Sensitivity

Change: TypeAlias = Mapping[Any, Fraction]
"""What changed: the coordinates that moved, and by how much. A coordinate is a place or a key, or a tuple of them."""

FAR, BOUNDED = "infinitely far", "a bounded change"


@dataclass(frozen=True)
class Excess:
    """A declared bound that was broken: in which norm, how far the value moved, and how far it may."""

    norm: str
    moved: object
    declared: object


def excesses(mechanism: Any, sensitivity: Sensitivity, neighbours: Neighbours, first: Any, second: Any) -> list[Excess]:
    """The bounds that a mechanism's input broke on the way from one neighbour to the other."""
    moved = difference_for(mechanism, first, second)
    if moved is None:
        return [Excess("every norm", FAR, BOUNDED)]
    return [*beyond(moved, sensitivity), *_beyond_groups(mechanism, neighbours, moved)]


def difference_for(mechanism: Any, first: Any, second: Any) -> Change | None:
    """What changed in the input of a mechanism. An answer to randomized response counts as one, whatever it became."""
    found = difference(first, second)
    if found is None or not isinstance(mechanism, Response):
        return found
    return dict.fromkeys(found, Fraction(1))


def beyond(moved: Change, sensitivity: Sensitivity) -> Iterator[Excess]:
    """Every stated norm in which a change is larger than declared, and changes of both signs if it is monotone."""
    sizes: list[Fraction] = [abs(Fraction(size)) for size in moved.values()]
    norms = {
        "l1": sum(sizes),
        "l2_squared": sum(size * size for size in sizes),
        "linf": max(sizes, default=Fraction(0)),
    }
    for norm, size in norms.items():
        bound = getattr(sensitivity, norm)
        if bound is not None and size > bound:
            yield Excess(norm, size, bound)
    if sensitivity.monotone and len({size > 0 for size in moved.values()}) > 1:
        yield Excess("monotone", "both up and down", "one way")


def _beyond_groups(mechanism: Any, neighbours: Neighbours, moved: Change) -> Iterator[Excess]:
    """What mechanisms that answer group by group rest on besides: how many groups change, and how far each."""
    if not isinstance(mechanism, GroupedChoice | PrivateQuantiles | GroupedStatistic):
        return
    steps, sizes = neighbours.add_remove_steps, dict[Hashable, Fraction]()
    for place, size in moved.items():
        group = place[0] if isinstance(place, tuple) else place
        sizes[group] = sizes.get(group, Fraction(0)) + abs(size)
    if len(sizes) > mechanism.groups * steps:
        yield Excess("groups", len(sizes), mechanism.groups * steps)
    if not isinstance(mechanism, GroupedChoice) and sizes and max(sizes.values()) > mechanism.rows * steps:
        yield Excess("rows of a group", max(sizes.values()), mechanism.rows * steps)


@singledispatch
def difference(first: Any, second: Any) -> Change | None:
    """The coordinates in which two values differ, each with its change; None where they are infinitely far apart."""
    return {} if _same(first, second) else None


@difference.register
def _(first: Real, second: Any) -> Change | None:
    if not isinstance(second, Real):
        return None
    moved = _step(first, second)
    return None if moved is None else {(): moved} if moved else {}


@difference.register
def _(first: np.ndarray, second: Any) -> Change | None:
    if not isinstance(second, np.ndarray) or first.shape != second.shape:
        return None
    places = np.argwhere(first != second) if first.ndim else np.empty((int(first != second), 0), dtype=np.int64)
    moved: dict[Hashable, Fraction] = {}
    for place in map(tuple, places.tolist()):
        step = _step(first[place], second[place])
        if step is None:
            return None
        moved[place if len(place) != 1 else place[0]] = step
    return moved


@difference.register
def _(first: Mapping, second: Any) -> Change | None:  # type: ignore[type-arg]
    """What is not there counts as 0."""
    return _by_key(first, second) if isinstance(second, Mapping) else None


@difference.register
def _(first: KeyCounts, second: Any) -> Change | None:
    return _by_key(_counted(first), _counted(second)) if isinstance(second, KeyCounts) else None


@difference.register
def _(first: ValueCounts, second: Any) -> Change | None:
    return _by_key(_weights(first), _weights(second)) if isinstance(second, ValueCounts) else None


@difference.register
def _(first: BlockRows, second: Any) -> Change | None:
    """A block is a coordinate, and another block counts as one, whatever changed in it."""
    if not isinstance(second, BlockRows) or len(first.blocks) != len(second.blocks):
        return None
    pairs = zip(first.blocks, second.blocks, strict=True)
    return {place: Fraction(1) for place, (one, other) in enumerate(pairs) if one != other}


@difference.register
def _(first: Set, second: Any) -> Change | None:  # type: ignore[type-arg]
    if not isinstance(second, Set):
        return None
    return {item: Fraction(1 if item in second else -1) for item in first ^ second}


@difference.register(list)
@difference.register(tuple)
def _(first: Sequence[Any], second: Any) -> Change | None:
    if type(first) is not type(second) or len(first) != len(second):
        return None
    moved: dict[Hashable, Fraction] = {}
    for place, pair in enumerate(zip(first, second, strict=True)):
        inner = difference(*pair)
        if inner is None:
            return None
        moved |= {_within(place, key): step for key, step in inner.items()}
    return moved


def _within(place: int, key: Hashable) -> Hashable:
    if key == ():
        return place
    return (place, *key) if isinstance(key, tuple) else (place, key)


def _by_key(first: Mapping[Any, Any] | None, second: Mapping[Any, Any] | None) -> Change | None:
    if first is None or second is None:
        return None
    moved: dict[Hashable, Fraction] = {}
    for key in {**first, **second}:
        step = _step(first.get(key, 0), second.get(key, 0))
        if step is None:
            return None
        if step:
            moved[key] = step
    return moved


def _counted(value: KeyCounts) -> Mapping[Any, Any] | None:
    return _listed(value.keys, np.asarray(value.counts))


def _weights(value: ValueCounts) -> Mapping[Any, Any] | None:
    codes, counts = np.asarray(value.values).tolist(), np.asarray(value.counts).tolist()
    if len(codes) != len(counts):
        return None
    found = Counter[Hashable]()
    for code, count in zip(codes, counts, strict=True):
        found[code] += count
    return found


def _listed(keys: Collection[Any], counts: Any) -> Mapping[Any, Any] | None:
    """None where a key is there twice, which no mechanism takes."""
    found = dict(zip(keys, counts.tolist(), strict=False))
    return found if len(found) == len(keys) == len(counts) else None


def _step(first: Any, second: Any) -> Fraction | None:
    """From one number to another, exactly; None from or to what is none."""
    before, after = _exactly(first), _exactly(second)
    return None if before is None or after is None else after - before


def _exactly(number: Any) -> Fraction | None:
    if isinstance(number, bool | np.bool_ | int | np.integer):
        return Fraction(int(number))
    if isinstance(number, Rational):
        return Fraction(number)
    if isinstance(number, Real) and isfinite(number):
        return Fraction(float(number))
    return None


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and (first == second) is True
