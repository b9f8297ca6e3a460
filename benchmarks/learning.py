"""`python -m benchmarks learning`: models of real data, beside other libraries in the same run.

Every library runs in a process and, if it is not ours, in an environment of its own, with one thread. It gives back
what its models tell about rows that were held out, and all are judged here by the same code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score, roc_auc_score

from benchmarks import learning_data, peers
from benchmarks.learning_data import Arrays

HOME = Path(__file__).with_name("learners")
OURS, DIFFPRIVLIB, OPENDP, INTERPRET, NOTHING = "dalenius", "diffprivlib", "opendp", "interpret", "nothing"
ENVIRONMENTS = {
    DIFFPRIVLIB: ("venv", peers.PACKAGES),
    OPENDP: ("venv", peers.PACKAGES),
    INTERPRET: ("interpret", ["interpret-core>=0.7,<0.8"]),
}
LIMIT = 1800
"""The seconds that a library may take for all of its tasks."""
ALONE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Told = NDArray[np.float64]


@dataclass(frozen=True)
class Job:
    """A task at a price, and how often it is done."""

    task: str
    epsilon: float | None = None
    delta: str | None = None
    runs: int = 1


@dataclass(frozen=True)
class Fits:
    """What came of a job: the figures of each run by name, and the time of each fit."""

    library: str
    version: str
    job: Job
    figures: Mapping[str, tuple[float, ...]]
    seconds: tuple[float, ...]
    work: tuple[float, ...]

    def mean(self, figure: str) -> float:
        return float(np.mean(self.figures[figure]))

    def spread(self, figure: str) -> float:
        return float(np.std(self.figures[figure]))

    @property
    def typical_work(self) -> float:
        """The processor's seconds for a fit: the median of the runs."""
        return float(np.median(self.work))


JOBS = {
    OURS: [
        *(Job("classes", *price, runs=10) for price in ((1, "1e-5"), (0.1, "1e-5"), (1, None), (0.1, None))),
        Job("trees", 1, "1e-5", runs=6),
        Job("bayes", 1, None, runs=6),
        *(Job("income", *price, runs=10) for price in ((1, "1e-6"), (0.1, "1e-6"), (1, None))),
        *(Job("deciles", epsilon, None, runs=60) for epsilon in (1, 0.1)),
        *(Job("alone", epsilon, None, runs=20) for epsilon in (1, 0.1)),
        *(Job("clusters", *price, runs=20) for price in ((1, None), (0.1, None), (1, "1e-6"), (0.1, "1e-6"))),
        *(Job("lloyd", epsilon, None, runs=10) for epsilon in (1, 0.1)),
        Job("median", 1, None, runs=80),
    ],
    DIFFPRIVLIB: [
        *(Job("classes", epsilon, None, runs=10) for epsilon in (1, 0.1)),
        Job("trees", 1, None, runs=6),
        Job("bayes", 1, None, runs=6),
        *(Job("income", epsilon, None, runs=10) for epsilon in (1, 0.1)),
        *(Job("deciles", epsilon, None, runs=20) for epsilon in (1, 0.1)),
        *(Job("clusters", epsilon, None, runs=20) for epsilon in (1, 0.1)),
        Job("median", 1, None, runs=32),
    ],
    OPENDP: [Job("median", 1, None, runs=8)],
    INTERPRET: [Job("trees", 1, "1e-5", runs=6)],
    NOTHING: [
        *(Job(task) for task in ("classes", "trees", "bayes", "income", "clusters")),
        *(Job("adassp", epsilon, "1e-6", runs=10) for epsilon in (1, 0.1)),
    ],
}


def measured() -> list[Fits]:
    """All libraries on the data that are there, those that cannot be installed or run left out."""
    data, there = given()
    found = []
    for library, jobs in JOBS.items():
        wanted = [job for job in jobs if job.task in there]
        try:
            found += fitted(library, wanted, data)
        except (subprocess.SubprocessError, OSError, ValueError, IndexError) as error:
            if library == OURS:
                raise
            reason = getattr(error, "stderr", None) or str(error)
            print(f"{library} is left out, because it could not be installed or run:\n{reason[-600:]}")
    return found


def given() -> tuple[Arrays, set[str]]:
    """All data, and the tasks that they are for."""
    data, tasks = learning_data.amounts(), {"median"}
    if (learning_data.DATA / "adult").is_dir():
        data |= learning_data.adult()
        tasks |= {"classes", "trees", "bayes", "clusters", "lloyd"}
    if (learning_data.DATA / "acs_nist").is_dir():
        data |= learning_data.acs()
        tasks |= {"income", "adassp", "deciles", "alone"}
    return data, tasks


def fitted(library: str, jobs: Sequence[Job], data: Arrays) -> list[Fits]:
    """What one library makes of its jobs."""
    python = peers.environment(*ENVIRONMENTS[library]) if library in ENVIRONMENTS else sys.executable
    with tempfile.TemporaryDirectory(prefix="dalenius-bench-") as folder:
        told, said = _run(python, library, jobs, data, Path(folder))
    found = []
    for place, job in enumerate(jobs):
        runs = [told[f"{place}_{run}"] for run in range(job.runs)]
        figures = [JUDGED[job.task](each, data) for each in runs]
        times = [took for at, *took in said["times"] if at == place]
        found.append(
            Fits(
                library,
                said["version"],
                job,
                {name: tuple(each[name] for each in figures) for name in figures[0]},
                tuple(seconds for seconds, _ in times),
                tuple(work for _, work in times),
            )
        )
    return found


def _run(
    python: str, library: str, jobs: Sequence[Job], data: Arrays, folder: Path
) -> tuple[dict[str, Told], dict[str, Any]]:
    given_file, written = folder / "given.npz", folder / "written.npz"
    np.savez(given_file, plan=np.array(json.dumps([asdict(job) for job in jobs])), **data)
    command = [python, "-W", "ignore", str(HOME / "worker.py"), f"with_{library}", str(given_file), str(written)]
    environment = {**os.environ, **ALONE}
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=LIMIT, env=environment)
    with np.load(written) as stored:
        return {name: stored[name] for name in stored.files}, json.loads(done.stdout.splitlines()[-1])


def _classified(scores: Told, data: Arrays) -> dict[str, float]:
    """Scores above 0 stand for the class 1."""
    real = data["adult_target_test"]
    return {"accuracy": float(np.mean((scores > 0) == real)), "AUC": float(roc_auc_score(real, scores))}


def _explained(told: Told, data: Arrays) -> dict[str, float]:
    return {"R2": float(r2_score(data["acs_target_test"], told))}


def _ranked(found: Told, data: Arrays) -> dict[str, float]:
    values, shares = np.sort(data["exact_income"]), np.arange(1, 10) / 10
    return {"rank error": float(np.mean([rank_error(values, *pair) for pair in zip(found, shares, strict=True)]))}


def _near(centres: Told, data: Arrays) -> dict[str, float]:
    between = [((data["points"] - centre) ** 2).sum(axis=1) for centre in centres]
    return {"cost": float(np.min(between, axis=0).mean())}


def _in_the_middle(found: Told, data: Arrays) -> dict[str, float]:
    place, value = int(found[0]), float(found[1])
    values = np.sort(data["amounts"][place])
    return {"error": abs(value - float(np.median(values))), "rank error": rank_error(values, value, 0.5)}


def rank_error(values: Told, found: float, share: float) -> float:
    """How many records lie between a value and the quantile; equal ones do not count."""
    wanted = share * len(values)
    below, up_to = np.searchsorted(values, [found], "left")[0], np.searchsorted(values, [found], "right")[0]
    return float(max(0.0, below - wanted, wanted - up_to))


JUDGED: dict[str, Callable[[Told, Arrays], dict[str, float]]] = {
    "classes": _classified,
    "trees": _classified,
    "bayes": _classified,
    "income": _explained,
    "adassp": _explained,
    "deciles": _ranked,
    "alone": _ranked,
    "clusters": _near,
    "lloyd": _near,
    "median": _in_the_middle,
}
