"""Fits models with one library, and writes what they tell. Runs in that library's environment.

`python worker.py MODULE GIVEN.npz WRITTEN.npz` reads the data and a plan of tasks, does each as often as it says by the
`TASKS` of a module beside this one, writes what was told, and prints the times as JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib import import_module

import numpy as np


def main(module: str, given: str, written: str) -> None:
    warnings.simplefilter("ignore")
    way = import_module(module)
    with np.load(given) as stored:
        data = {name: stored[name] for name in stored.files}
    told, times = {}, []
    for place, job in enumerate(json.loads(str(data["plan"]))):
        fit = way.TASKS[job["task"]]
        for run in range(job["runs"]):
            begun, worked = time.monotonic(), time.process_time()
            tell = fit({**data, "run": np.array(run)}, job["epsilon"], job["delta"])
            times.append([place, time.monotonic() - begun, time.process_time() - worked])
            told[f"{place}_{run}"] = np.asarray(tell())
    np.savez(written, **told)
    print(json.dumps({"version": way.VERSION, "times": times}))


if __name__ == "__main__":
    main(*sys.argv[1:])
