"""The speed of exact noise beside NumPy's float noise, and what its time and memory say."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.randomness.exact import coin_exp
from dalenius.randomness.gaussian import discrete_gaussian
from dalenius.randomness.laplace import discrete_laplace

SCALES = (1, 10, 10**6, 10**12)
LAWS = ("Laplace", "Gaussian")
CASES = [(law, scale) for law in LAWS for scale in SCALES]
BULK = 10**6
TIMED_DRAWS = 20_000


@dataclass(frozen=True)
class Speed:
    """Draws per second, and their ratio to NumPy's in the same round."""

    single: float
    bulk: float
    numpy: float
    ratio: float


def noise(law: str, scale: int | Fraction, size: int | None = None) -> object:
    """A draw of Dalenius; the scale of a Gaussian is its standard deviation."""
    return discrete_laplace(scale, size) if law == "Laplace" else discrete_gaussian(scale**2, size)


def speeds(rounds: int = 11) -> dict[tuple[str, int], Speed]:
    """Each round measures NumPy and every case in turn, so that a slow moment of the machine hits all alike."""
    generator = np.random.default_rng()
    floor: list[float] = []
    bulk: dict[tuple[str, int], list[float]] = {case: [] for case in CASES}
    single: dict[tuple[str, int], list[float]] = {case: [] for case in CASES}
    for _ in range(rounds + 1):
        floor.append(seconds(lambda: generator.laplace(size=BULK)) / BULK)
        for law, scale in CASES:
            bulk[law, scale].append(seconds(lambda law=law, scale=scale: noise(law, scale, BULK)) / BULK)
            single[law, scale].append(seconds(lambda law=law, scale=scale: many_singles(law, scale, 1000)) / 1000)
    return {
        case: Speed(
            single=1 / statistics.median(single[case][1:]),
            bulk=1 / statistics.median(bulk[case][1:]),
            numpy=1 / statistics.median(floor[1:]),
            ratio=statistics.median(a / b for a, b in zip(floor[1:], bulk[case][1:], strict=True)),
        )
        for case in CASES
    }


def many_singles(law: str, scale: int, count: int) -> None:
    for _ in range(count):
        noise(law, scale)


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def fresh_scale_latency(law: str, draws: int = 3000) -> float:
    """The median time of one draw at a scale that was never used before, given as a decimal string."""
    texts = [f"{7 + index}.{index % 1000:03d}" for index in range(draws)]
    sampler = discrete_laplace if law == "Laplace" else discrete_gaussian
    return statistics.median(seconds(lambda text=text: sampler(text)) for text in texts)


def size_time_correlation(draw: Callable[[], int], runs: int = 5) -> float:
    """The correlation of |noise| with the time of its draw: the mean over runs of 20,000 draws each.

    Without any relation the mean's standard deviation is 0.003. The slowest hundredth of the times is cut down to the
    99 % quantile, because a few interruptions by other processes would hide a relation.
    """
    return statistics.fmean(_correlation(draw) for _ in range(runs))


def _correlation(draw: Callable[[], int]) -> float:
    clock = time.perf_counter_ns
    sizes, times = np.empty(TIMED_DRAWS), np.empty(TIMED_DRAWS)
    for index in range(TIMED_DRAWS):
        start = clock()
        value = draw()
        times[index] = clock() - start
        sizes[index] = abs(value)
    return float(np.corrcoef(sizes, np.minimum(times, np.quantile(times, 0.99)))[0, 1])


def telling_noise(entropy: Entropy) -> int:
    """Planted: a textbook loop that runs as long as its result is large. Its correlation must be seen."""
    size = 0
    while coin_exp(1, 10, entropy):
        size += 1
    return -size if entropy.bits(1) else size


def correlations() -> tuple[float, float]:
    """The correlation that is farthest from zero among both laws and four scales, and that of the planted loop."""
    honest = [
        size_time_correlation(lambda law=law, scale=scale: noise(law, scale))
        for law in LAWS
        for scale in (1, 10, 1000, 10**6)
    ]
    entropy = system_entropy()
    return max(honest, key=abs), size_time_correlation(lambda: telling_noise(entropy), runs=1)


def peak_memory() -> int:
    """The peak memory of a process that takes 10^7 draws, in bytes."""
    program = (
        "import resource\n"
        "from dalenius.randomness import discrete_laplace\n"
        "drawn = discrete_laplace(10**6, 10**7)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
    )
    return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout)


def import_ratio(rounds: int = 9) -> float:
    """How much longer `import dalenius` takes than `import numpy`, both without the interpreter's own start."""
    times: dict[str, list[float]] = {"pass": [], "import numpy": [], "import dalenius": []}
    for _ in range(rounds):
        for statement, found in times.items():
            command = [sys.executable, "-c", statement]
            found.append(seconds(lambda command=command: subprocess.run(command, check=True)))
    bare, numpy, ours = (statistics.median(found) for found in times.values())
    return (ours - bare) / (numpy - bare)
