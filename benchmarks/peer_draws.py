"""Measures other libraries. Runs in their own virtual environment, without Dalenius, and prints JSON."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version

SCALES = (1, 10, 10**6, 10**12)
VECTOR = 50_000
LOOPS_END = 1000  # diffprivlib's discrete Gaussian loops as often as its scale is large


def rate(run: Callable[[], object], draws: int, rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return draws / statistics.median(times)


def opendp() -> dict[str, dict[str, float]]:
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    whole, vector = dp.atom_domain(T=int), dp.vector_domain(dp.atom_domain(T=int))
    zeros, found = [0] * VECTOR, {}
    for scale in map(float, SCALES):
        makers = {
            "Laplace": (
                dp.m.make_laplace(whole, dp.absolute_distance(T=int), scale=scale),
                dp.m.make_laplace(vector, dp.l1_distance(T=int), scale=scale),
            ),
            "Gaussian": (
                dp.m.make_gaussian(whole, dp.absolute_distance(T=float), scale=scale),
                dp.m.make_gaussian(vector, dp.l2_distance(T=float), scale=scale),
            ),
        }
        for law, (one, many) in makers.items():
            single = rate(lambda one=one: [one(0) for _ in range(500)], 500)
            found[f"{law} {int(scale)}"] = {"single": single, "bulk": rate(lambda many=many: many(zeros), VECTOR, 1)}
    return found


def diffprivlib() -> dict[str, dict[str, float]]:
    mechanisms = import_module("diffprivlib.mechanisms")
    found = {}
    for scale in SCALES:
        geometric = mechanisms.Geometric(epsilon=1 / scale)
        found[f"Laplace {scale}"] = {"single": rate(lambda m=geometric: [m.randomise(0) for _ in range(500)], 500)}
        if scale < LOOPS_END:
            gaussian = mechanisms.GaussianDiscrete(epsilon=1.0, delta=0.01)
            gaussian._scale = scale
            found[f"Gaussian {scale}"] = {"single": rate(lambda m=gaussian: [m.randomise(0) for _ in range(500)], 500)}
    return found


def measured() -> dict[str, object]:
    found: dict[str, object] = {}
    for library in (opendp, diffprivlib):
        try:
            found[library.__name__] = {"version": version(library.__name__), "rates": library()}
        except Exception as error:  # whatever a foreign library does, the others are still measured
            found[library.__name__] = {"error": f"{type(error).__name__}: {error}"}
    return found


if __name__ == "__main__":
    print(json.dumps(measured()))
