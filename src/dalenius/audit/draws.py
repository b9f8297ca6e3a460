"""Many outputs of one mechanism on one value: all at once where its own code can do so, otherwise one by one.

Numbers are released as one array. Keys are released as one long list, in which every sample has keys of its own: keys
are decided one by one from their own counts, so the samples are independent. Selections draw the noise, the coins or
the choices of all samples at once, by the function that their release calls; where one choice depends on those before
it, the samples that chose alike so far choose together. Sparse vectors are drawn as their exact law describes them,
and answers that come where they are stable with the noise of all tests at once. Quantiles, and statistics whose noise
fits the data, look at the data once and then choose or draw for each sample.
That single releases of these follow the same law is shown beside (`audit.singles`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.audit.answers import answers
from dalenius.audit.choices import choices, chosen
from dalenius.audit.forms import frozen
from dalenius.mechanisms.counted_keys import CountedKeys
from dalenius.mechanisms.gaussian import DiscreteGaussian
from dalenius.mechanisms.key_selection import GeometricKeySelection, Key, KeyCounts
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.mechanisms.noisy_max import NoisyMax, noisy_scores
from dalenius.mechanisms.numeric_sparse import NumericSparse
from dalenius.mechanisms.quantiles import PrivateQuantiles, Quantile
from dalenius.mechanisms.randomized_response import CoinResponse, RandomizedResponse
from dalenius.mechanisms.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs, SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.sparse_vector import AboveThreshold, Sparse
from dalenius.mechanisms.thresholding import ThresholdedCounts
from dalenius.mechanisms.top_k import OneShotTopK
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.randomness.laplace import discrete_laplace
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES
from dalenius.verify.cases.sparse_vectors import Version, sampled

Numbers = NDArray[Any]
_ABSENT = -(10**9)
KEYS = (GeometricKeySelection, RenyiKeySelection, ThresholdedCounts, CountedKeys)
NOISE = (DiscreteLaplace, DiscreteGaussian, RandomizedResponse, CoinResponse)
SPARSE = (AboveThreshold, Sparse, NumericSparse)
SINGLY = (PrivateQuantiles, SmoothQuantile, SmoothTrimmedMean, SmoothEqualPairs)
_LEAST_CHUNK = 2_000


def at_once(case: Case, mechanism: Any) -> Callable[[Any, int, Entropy], Numbers] | None:
    """How many samples are drawn in one call, None where it is done one by one."""
    if isinstance(mechanism, NOISE):
        return partial(_numbers, mechanism)
    if isinstance(mechanism, SPARSE):
        return partial(_transcripts, mechanism)
    if isinstance(mechanism, NoisyMax):
        return partial(_winners, mechanism)
    if isinstance(mechanism, OneShotTopK):
        return partial(_lists, mechanism)
    if isinstance(mechanism, KEYS):
        return partial(_keys, mechanism, key_names(case))
    return answers(mechanism) or choices(mechanism, key_names(case))


def key_names(case: Case) -> list[Key]:
    """Every key that a value of the case may have; none where its values are no keys."""
    return sorted({key for value in case.values if isinstance(value, KeyCounts) for key in value.keys})


def as_listed(mechanism: Any, row: Any, names: Sequence[Key]) -> Any:
    """An output that was drawn with many others, as the exact law names it."""
    if isinstance(mechanism, KEYS):
        shown = [(name, number) for name, number in zip(names, row, strict=True) if number != _ABSENT]
        counted = isinstance(mechanism, ThresholdedCounts | CountedKeys)
        return tuple(shown) if counted else tuple(name for name, _ in shown)
    if isinstance(mechanism, PrivateQuantiles):
        return ((Quantile(row),),)
    return chosen(mechanism, row, names) if isinstance(row, list) else row


def is_slow(case: Case) -> bool:
    """Whether samples are drawn one by one, from the data or from what was computed of them."""
    mechanism = case.at(Fraction(1))
    return at_once(case, mechanism) is None or isinstance(mechanism, SINGLY)


def drawn(case: Case, epsilon: Fraction, value: Any, size: int, workers: int = 1) -> Sequence[Any] | Numbers:
    """`size` independent outputs of a case's mechanism; a listed case that is slow is spread over processes."""
    if workers == 1 or case not in CASES or not is_slow(case):
        return _outputs(case, epsilon, value, size)
    chunk = max(_LEAST_CHUNK, -(-size // (4 * workers)))
    sizes = [min(chunk, size - start) for start in range(0, size, chunk)]
    job = partial(_part, CASES.index(case), epsilon, case.values.index(value))
    with ProcessPoolExecutor(max_workers=workers) as pool:
        return list(chain.from_iterable(pool.map(job, sizes)))


def _part(place: int, epsilon: Fraction, value: int, size: int) -> list[Any]:
    """A worker's share, with outputs that travel between processes."""
    case = CASES[place]
    outputs = _outputs(case, epsilon, case.values[value], size)
    return outputs.tolist() if isinstance(outputs, np.ndarray) else list(map(frozen, outputs))


def _outputs(case: Case, epsilon: Fraction, value: Any, size: int) -> Sequence[Any] | Numbers:
    mechanism, entropy = case.at(epsilon), system_entropy()
    together = at_once(case, mechanism)
    return together(value, size, entropy) if together else [mechanism.release(value, entropy) for _ in range(size)]


def _numbers(mechanism: Any, value: Any, size: int, entropy: Entropy) -> Numbers:
    return np.asarray(mechanism.release(np.tile(np.asarray(value), (size, *[1] * np.ndim(value))), entropy))


def _winners(mechanism: NoisyMax, value: Sequence[int], size: int, entropy: Entropy) -> Numbers:
    noisy = noisy_scores(np.tile(value, size), scale=mechanism.scale, entropy=entropy)
    return np.asarray(noisy.reshape(size, len(value)).argmax(axis=1))


def _lists(mechanism: OneShotTopK, value: Sequence[int], size: int, entropy: Entropy) -> Numbers:
    noisy = noisy_scores(np.tile(value, size), scale=mechanism.scale, entropy=entropy).reshape(size, len(value))
    return np.argsort(-noisy, axis=1, kind="stable")[:, : mechanism.k]


def _transcripts(mechanism: Any, value: Sequence[int], size: int, entropy: Entropy) -> Numbers:
    def noise(scale: Fraction, count: int) -> NDArray[np.int64]:
        return np.asarray(discrete_laplace(scale, count, entropy=entropy))

    return sampled(Version.of(mechanism), tuple(value), size, noise)


def _keys(mechanism: Any, names: Sequence[Key], value: KeyCounts, size: int, entropy: Entropy) -> Numbers:
    """A column for each key that there can be: its noisy count, 1 where it is only named, or absent."""
    found = np.full((size, len(names)), _ABSENT, dtype=np.int64)
    counts = dict(zip(value.keys, value.counts.tolist(), strict=True))
    here = [place for place, name in enumerate(names) if name in counts]
    many = [(sample, place) for sample in range(size) for place in here]
    shown: Any = mechanism.release(
        KeyCounts(many, np.array([counts[names[place]] for place in here] * size, dtype=np.int64)), entropy
    )
    if len(shown):
        places = np.array(list(shown))
        found[places[:, 0], places[:, 1]] = list(shown.values()) if isinstance(shown, dict) else 1
    return found
