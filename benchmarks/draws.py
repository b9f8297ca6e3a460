"""The speed of exact noise beside NumPy's float noise, one at a time and a million at a time."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalenius.randomness.gaussian import discrete_gaussian
from dalenius.randomness.laplace import discrete_laplace

SCALES = (1, 10, 10**6, 10**12)
LAWS = ("Laplace", "Gaussian")
CASES = [(law, scale) for law in LAWS for scale in SCALES]
BULK = 10**6
SINGLES = 1000


@dataclass(frozen=True)
class Speed:
    """Draws per second, as they are printed: three digits."""

    single: float
    bulk: float
    numpy: float

    @property
    def ratio(self) -> float:
        return self.bulk / self.numpy


def noise(law: str, scale: int, size: int | None = None) -> Any:
    """A draw of Dalenius; the scale of a Gaussian is its standard deviation."""
    return discrete_laplace(scale, size) if law == "Laplace" else discrete_gaussian(scale**2, size)


def singles(law: str, scale: int) -> None:
    for _ in range(SINGLES):
        noise(law, scale)


def speeds(rounds: int = 11) -> dict[tuple[str, int], Speed]:
    """Medians over the rounds. Each measures NumPy right before every case, so that a slow moment hits both."""
    for law, scale in CASES:
        noise(law, scale, BULK)
    generator = np.random.default_rng()
    single, bulk, numpy = (defaultdict[tuple[str, int], list[float]](list) for _ in range(3))
    for _ in range(rounds):
        for case in CASES:
            numpy[case].append(seconds(partial(generator.laplace, size=BULK)))
            bulk[case].append(seconds(partial(noise, *case, BULK)))
            single[case].append(seconds(partial(singles, *case)))
    return {
        case: Speed(
            single=three_digits(SINGLES / statistics.median(single[case])),
            bulk=three_digits(BULK / statistics.median(bulk[case])),
            numpy=three_digits(BULK / statistics.median(numpy[case])),
        )
        for case in CASES
    }


def fresh_scale_latency(law: str, draws: int = 3000) -> float:
    """The median time of one draw at a scale that was never used before, given as a decimal string, in seconds."""
    texts = [f"{7 + index}.{index % 1000:03d}" for index in range(draws)]
    sampler = discrete_laplace if law == "Laplace" else discrete_gaussian
    return statistics.median(seconds(partial(sampler, text)) for text in texts)


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def three_digits(value: float) -> float:
    return float(f"{value:.3g}")
