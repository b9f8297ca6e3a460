"""AIM on mbi, the field's library for inference, on the same table at the same price: installed into an environment of
its own, and run in a process of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import peers
from dalenius.tabular.workloads import Marginals

WORKER = Path(__file__).with_name("peer_synthetic.py")
PACKAGES = ["mbi>=2.0,<3", "scipy", "opt_einsum"]
LIMIT = 3600
"""The seconds that one run may take."""
RHO = 0.01497
"""The zero-concentrated price of epsilon = 1, delta = 10^-9."""


@dataclass(frozen=True)
class Peer:
    """One run: the shares that its model gives to each group, and what it took."""

    shares: list[NDArray[np.float64]]
    version: str
    seconds: float
    work: float
    fitting: float
    rounds: int
    spent: float


def measured(rows: NDArray[np.int64], workload: Marginals) -> Peer | None:
    """A run of AIM on mbi, or nothing, with a message, where it cannot be installed or run."""
    try:
        python = peers.environment("mbi", PACKAGES)
        return _run(python, rows, workload)
    except (subprocess.SubprocessError, OSError, ValueError, IndexError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        print(f"AIM on mbi is left out, because it could not be installed or run:\n{reason[-600:]}")
        return None


def _run(python: str, rows: NDArray[np.int64], workload: Marginals) -> Peer:
    grid = workload.grid
    places = [[grid.columns.index(name) for name in group] for group in workload.groups]
    with tempfile.TemporaryDirectory(prefix="dalenius-bench-") as folder:
        given, written = Path(folder) / "given.npz", Path(folder) / "written.npz"
        sizes = grid.shape(grid.columns)
        np.savez(given, columns=np.array(grid.columns), sizes=sizes, rows=rows, groups=places, rho=RHO)
        command = [python, "-W", "ignore", str(WORKER), str(given), str(written)]
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=LIMIT)
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        with np.load(written) as stored:
            flat = [stored[f"arr_{place}"] for place in range(len(places))]
    shares = [each.reshape(grid.shape(group)) for each, group in zip(flat, workload.groups, strict=True)]
    return Peer(shares, **told)
