"""What a fresh process pays: the time of imports and of the first draw, and the memory of many draws."""

from __future__ import annotations

import statistics
import subprocess
import sys
from functools import partial

from benchmarks.draws import seconds

IMPORTS = {"NumPy": "import numpy", "Dalenius": "import dalenius"}
FIRST_DRAWS = {
    "NumPy's Laplace": "import numpy; numpy.random.default_rng().laplace()",
    "Laplace": "from dalenius import randomness; randomness.discrete_laplace(10)",
    "Gaussian": "from dalenius import randomness; randomness.discrete_gaussian(100)",
}
MANY_DRAWS = {"Laplace": "discrete_laplace(10**6, 10**7)", "Gaussian": "discrete_gaussian(10**12, 10**7)"}
MEMORY = """
import resource
from dalenius import randomness
drawn = randomness.{draw}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def peak_memory() -> dict[str, int]:
    """The peak memory of a process that takes 10^7 draws at scale 10^6, in bytes, by law.

    A new process counts the peak of the one that starts it as its own: call this before anything large.
    """
    return {law: int(_output(MEMORY.format(draw=draw))) for law, draw in MANY_DRAWS.items()}


def start_times(rounds: int = 9) -> dict[str, float]:
    """The median seconds of every statement above, without the interpreter's own start, taken in turn."""
    programs = {"bare": "pass"} | IMPORTS | FIRST_DRAWS
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            times[name].append(seconds(partial(_output, program)))
    medians = {name: statistics.median(found) for name, found in times.items()}
    return {name: found - medians["bare"] for name, found in medians.items() if name != "bare"}


def _output(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
