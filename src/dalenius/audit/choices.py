"""Many samples of mechanisms that choose: by the functions that their release calls, for all samples at once.

Where one choice depends on those before it, the samples that chose alike so far choose together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.mechanisms.exponential import ExponentialMechanism
from dalenius.mechanisms.grouped_choice import GroupedChoice
from dalenius.mechanisms.key_selection import Key, KeyCounts
from dalenius.mechanisms.limited_domain import LimitedTopK
from dalenius.mechanisms.permute_and_flip import PermuteAndFlip
from dalenius.mechanisms.prefix import PrefixSearch
from dalenius.mechanisms.top_k import TopK
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import uniform_below
from dalenius.randomness.selection import exponential_coins, exponential_weights

Places = NDArray[np.int64]
Options = Callable[[tuple[int, ...]], tuple[Sequence[int], Sequence[int]]]
"""After the choices so far: the candidates that are left, and their scores. None are left at the end."""

_ENDED = -1


def choices(mechanism: Any, names: Sequence[Key]) -> Callable[[Any, int, Entropy], Places] | None:
    """How a value's choices are drawn many times in one call, a row for each sample; None for other mechanisms."""
    match mechanism:
        case ExponentialMechanism():
            return partial(_chosen_at_once, mechanism)
        case PermuteAndFlip():
            return partial(_flipped, mechanism)
        case TopK():
            return partial(_walks, mechanism, mechanism.k, _peeled)
        case GroupedChoice():
            return partial(_walks, mechanism, None, _grouped)
        case PrefixSearch():
            return partial(_walks, mechanism, mechanism.length, partial(_spelt, mechanism))
        case LimitedTopK():
            return partial(_walks, mechanism, mechanism.k, partial(_limited, mechanism, names))
    return None


def chosen(mechanism: Any, row: Sequence[int], names: Sequence[Key]) -> Any:
    """A row as the mechanism's own output."""
    if isinstance(mechanism, PrefixSearch):
        return "".join((*mechanism.alphabet, "")[place] for place in row if place != _ENDED)
    if isinstance(mechanism, LimitedTopK):
        return tuple(names[place] for place in row if place not in (_ENDED, len(names)))
    return tuple(row)


def _chosen_at_once(mechanism: ExponentialMechanism, value: Sequence[int], size: int, entropy: Entropy) -> Places:
    return exponential_weights(value, mechanism.rate, entropy, mechanism.base, size=size)


def _flipped(mechanism: PermuteAndFlip, value: Sequence[int], size: int, entropy: Entropy) -> Places:
    heads = exponential_coins(np.tile(value, size), mechanism.rate, entropy).reshape(size, len(value))
    counts = heads.sum(axis=1)
    turns = np.empty(size, dtype=np.int64)
    for count in np.unique(counts).tolist():
        here = counts == count
        turns[here] = uniform_below(count, int(here.sum()), entropy=entropy)
    return np.asarray((np.cumsum(heads, axis=1) > turns[:, None]).argmax(axis=1))


def _walks(
    mechanism: Any, steps: int | None, options_of: Callable[[Any], Options], value: Any, size: int, entropy: Entropy
) -> Places:
    """A column for each choice; after the end, no candidate."""
    options = options_of(value)
    found = np.full((size, len(value) if steps is None else steps), _ENDED, dtype=np.int64)
    for step in range(found.shape[1]):
        ways, way = np.unique(found[:, :step], axis=0, return_inverse=True)
        for number, so_far in enumerate(ways.tolist()):
            candidates, scores = options(tuple(so_far))
            here = np.flatnonzero(way.ravel() == number)
            if len(candidates):
                places = exponential_weights(scores, mechanism.rate, entropy, size=len(here))
                found[here, step] = np.asarray(candidates)[places]
    return found


def _peeled(value: Sequence[int]) -> Options:
    def options(so_far: tuple[int, ...]) -> tuple[list[int], list[int]]:
        left = [place for place in range(len(value)) if place not in so_far]
        return left, [int(value[place]) for place in left]

    return options


def _grouped(value: Sequence[Sequence[int]]) -> Options:
    return lambda so_far: (range(len(value[len(so_far)])), value[len(so_far)])


def _spelt(mechanism: PrefixSearch, value: Mapping[str, int]) -> Options:
    end = len(mechanism.alphabet)

    def options(so_far: tuple[int, ...]) -> tuple[Sequence[int], list[int]]:
        if {end, _ENDED} & set(so_far):
            return (), []
        return range(end + 1), mechanism.scores(value, "".join(mechanism.alphabet[place] for place in so_far))

    return options


def _limited(mechanism: LimitedTopK, names: Sequence[Key], value: KeyCounts) -> Options:
    keys, scores = mechanism.candidates(value)
    numbers = [*(names.index(key) for key in keys), len(names)]

    def options(so_far: tuple[int, ...]) -> tuple[list[int], list[int]]:
        if {len(names), _ENDED} & set(so_far):
            return [], []
        left = [place for place, number in enumerate(numbers) if number not in so_far]
        return [numbers[place] for place in left], [int(scores[place]) for place in left]

    return options
