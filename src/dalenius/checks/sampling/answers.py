"""Many samples of mechanisms whose noise or test fits the data: what that looks at is computed once, and the noise of
all samples is drawn by the function that a single release calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs, SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.robust.profiles import Ordered
from dalenius.mechanisms.robust.propose_test_release import Proposed, ProposedQuantile, ProposeTestRelease
from dalenius.mechanisms.robust.scale import SYSTEMS, InterquartileScale
from dalenius.mechanisms.robust.stability import DistanceToInstability, StabilityTest, Stable
from dalenius.mechanisms.robust.stable_answers import StableMode, StableQuantile
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles
from dalenius.mechanisms.selection.rank_grid import CountedValues, ValueCounts
from dalenius.privacy.neighbours import Replace
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.laplace import discrete_laplace
from dalenius.verify.cases.grids import unrolled

Answers = NDArray[Any]
"""A row for each sample, of whatever it may be; None where nothing is answered."""


def answers(mechanism: Any) -> Callable[[Any, int, Entropy], Answers] | None:
    """How many samples are drawn in one call; None for other mechanisms."""
    match mechanism:
        case DistanceToInstability():
            return partial(_stable, mechanism)
        case StableMode() | StableQuantile():
            return partial(_found, mechanism)
        case GroupedStatistic(statistic=StableMode()):
            return partial(_grouped, mechanism)
        case ProposeTestRelease():
            return partial(_proposed, mechanism)
        case ProposedQuantile():
            return partial(_quantile, mechanism)
        case InterquartileScale():
            return partial(_scale, mechanism)
        case SmoothQuantile():
            return partial(_smooth, mechanism)
        case SmoothTrimmedMean(neighbours=Replace()):
            return partial(_trimmed, mechanism)
        case SmoothEqualPairs():
            return partial(_pairs, mechanism)
        case PrivateQuantiles(targets=(_,), beta=None):
            return partial(_points, mechanism)
    return None


def _stable(mechanism: DistanceToInstability, value: Stable, size: int, entropy: Entropy) -> Answers:
    return _if_passed(mechanism.test, value.distance, np.full(size, value.answer, dtype=object), entropy)


def _found(mechanism: StableMode | StableQuantile, value: ValueCounts, size: int, entropy: Entropy) -> Answers:
    if isinstance(mechanism, StableMode):
        return _stable(mechanism.inner, mechanism.stable(Counter[Hashable](unrolled(value))), size, entropy)
    return _stable(mechanism.inner, mechanism.stable(value), size, entropy)


def _grouped(mechanism: GroupedStatistic, value: Sequence[ValueCounts], size: int, entropy: Entropy) -> Answers:
    assert isinstance(mechanism.statistic, StableMode)
    return np.stack([_found(mechanism.statistic, group, size, entropy) for group in value], axis=1)


def _proposed(mechanism: ProposeTestRelease, value: Proposed, size: int, entropy: Entropy) -> Answers:
    noisy = np.asarray(mechanism.noise.release(np.full(size, value.value), entropy))
    return _if_passed(mechanism.test, value.distance, noisy.astype(object), entropy)


def _quantile(mechanism: ProposedQuantile, value: Sequence[int], size: int, entropy: Entropy) -> Answers:
    inner, proposed = mechanism.inner, mechanism.proposed(value)
    noisy = np.asarray(inner.noise.release(np.full(size, proposed.value), entropy))
    inside = np.clip(noisy, mechanism.lower, mechanism.upper)
    return _if_passed(inner.test, proposed.distance, inside.astype(object), entropy)


def _scale(mechanism: InterquartileScale, value: Sequence[int], size: int, entropy: Entropy) -> Answers:
    """Noise on the range is drawn where a test has passed only: what is not shown takes most of the time."""
    ordered = Ordered.of(value, lower=mechanism.lower, upper=mechanism.upper)
    here, shown = mechanism.statistic(ordered), np.zeros(size, dtype=bool)
    for system in SYSTEMS:
        shown |= _passed(mechanism.test, mechanism.steps_out_of_bin(ordered, system) - 1, size, entropy)
    told = np.full(size, None, dtype=object)
    told[shown] = [mechanism.noisy(here, entropy) for _ in range(int(shown.sum()))]
    return told


def _smooth(mechanism: SmoothQuantile, value: Sequence[int], size: int, entropy: Entropy) -> Answers:
    ordered = Ordered.of(value, lower=mechanism.lower, upper=mechanism.upper)
    noisy = mechanism.statistic(ordered) + _noise(mechanism, ordered, size, entropy)
    inside: Answers = np.clip(noisy, mechanism.lower, mechanism.upper)
    return inside


def _trimmed(mechanism: SmoothTrimmedMean, value: Sequence[int], size: int, entropy: Entropy) -> Answers:
    """Where the number of values is public."""
    ordered = Ordered.of(value, lower=mechanism.lower, upper=mechanism.upper)
    total, kept = mechanism.total(ordered)
    noisy = np.clip(total + _noise(mechanism, ordered, size, entropy), mechanism.lower * kept, mechanism.upper * kept)
    return np.array([Fraction(each, kept) for each in noisy.tolist()], dtype=object)


def _pairs(mechanism: SmoothEqualPairs, value: Iterable[Hashable], size: int, entropy: Entropy) -> Answers:
    counts = Counter(value)
    noisy: Answers = mechanism.statistic(counts) + _noise(mechanism, counts, size, entropy)
    return np.asarray(np.maximum(0, noisy))


def _noise(mechanism: Any, looked_at: Any, size: int, entropy: Entropy) -> Answers:
    bound = mechanism.bound(looked_at)
    return np.array([mechanism.noise.noise(bound, entropy) for _ in range(size)], dtype=object)


def _points(mechanism: PrivateQuantiles, value: Sequence[ValueCounts], size: int, entropy: Entropy) -> Answers:
    (group,), (target,) = value, mechanism.targets
    choice = mechanism.choice(CountedValues.of(group, low=mechanism.lower, high=mechanism.upper), target)
    return np.array([choice(entropy) for _ in range(size)])


def _if_passed(test: StabilityTest, distance: int, told: Answers, entropy: Entropy) -> Answers:
    told[~_passed(test, distance, len(told), entropy)] = None
    return told


def _passed(test: StabilityTest, distance: int, size: int, entropy: Entropy) -> NDArray[np.bool_]:
    return np.asarray(distance + discrete_laplace(1 / test.epsilon, size, entropy=entropy) >= test.threshold)
