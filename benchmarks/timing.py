"""Does the time of a draw tell its size? The correlation of both, and that of a planted loop that does tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.draws import CASES, noise
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.randomness.exact import coin_exp

DRAWS = 20_000
RUNS = 5


@dataclass(frozen=True)
class Correlation:
    """The correlation of |noise| with the time of its draw."""

    one_run: float  # plain, over 20,000 draws
    plain: float  # the mean of five such runs
    clipped: float  # their mean with the slowest hundredth of the times cut down to the 99 % quantile
    slowest: float  # the share of the times' variance that this cut takes away


def correlation(draw: Callable[[], int]) -> Correlation:
    """Five runs of 20,000 draws; without any relation each has a standard deviation of 0.007, the mean of 0.003."""
    draw()
    plain, clipped, slowest = np.array([_run(draw) for _ in range(RUNS)]).T
    return Correlation(plain[0], plain.mean(), clipped.mean(), slowest.mean())


def _run(draw: Callable[[], int]) -> tuple[float, float, float]:
    clock = time.perf_counter_ns
    sizes, times = np.empty(DRAWS), np.empty(DRAWS)
    for index in range(DRAWS):
        start = clock()
        value = draw()
        times[index] = clock() - start
        sizes[index] = abs(value)
    cut = np.minimum(times, np.quantile(times, 0.99))
    return np.corrcoef(sizes, times)[0, 1], np.corrcoef(sizes, cut)[0, 1], 1 - cut.var() / times.var()


def correlations() -> dict[tuple[str, int], Correlation]:
    """Both laws at every scale."""
    return {case: correlation(partial(noise, *case)) for case in CASES}


def planted_correlation() -> Correlation:
    """The same of a loop at scale 10 that tells; a method that does not see it sees nothing."""
    entropy = system_entropy()
    return correlation(partial(telling_noise, entropy))


def telling_noise(entropy: Entropy) -> int:
    """Planted: a textbook loop that runs as long as its result is large."""
    size = 0
    while coin_exp(1, 10, entropy):
        size += 1
    return -size if entropy.bits(1) else size
