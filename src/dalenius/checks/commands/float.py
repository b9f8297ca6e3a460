"""`check float`: no output gives its true value away by its last bits, and no sum depends on how floats round."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dalenius.attacks.floating_point import Floats, SupportFinding, porous_noise_attack, precision_attack
from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.checks.replay.loading import results
from dalenius.checks.sampling.draws import drawn
from dalenius.engines.conformance.worlds import Draws
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.mechanisms.keys.key_selection import KeyCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.noise.randomized_response import RandomizedResponse
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import Bound, Scan
from dalenius.query.tables import ContributionBounds, Protection, Table, UnitColumn
from dalenius.query.types import Real
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES
from dalenius.verify.cases.keys import counted_keys, gaussian_above, laplace_above

LEAST = Fraction(1, 5)
"""What the attacks must find on float noise, or they find nothing anywhere."""
_ADD, _LOOKED, _ORDERS = AddRemove("row"), 20, 12
_AWAY = 400
"""Keys with so many units are always shown."""


def check(asked: CheckRequest, /) -> Outcome:
    """Attack every mechanism that gives numbers, look for floats in the outputs of all, and sum in many orders."""
    count = 100_000 if asked.count is None else asked.count
    figures, findings = [], []
    attacked = _attacked()
    for place, (name, run) in enumerate(attacked.items(), start=1):
        finding = precision_attack(run, draws=max(1, count))
        figures.append(_figure(f"outputs of {name}", finding, "0 tell", finding.share == 0))
        asked.tick(60 * place / len(attacked))
    controls = {
        "precision attack on float noise": precision_attack(_naive, draws=max(1_000, count)),
        "porous attack on float noise": porous_noise_attack(
            _naive, noise=_float_laplace, uniform=_uniform, draws=min(100_000, max(1_000, count))
        ),
    }
    for name, finding in controls.items():
        figures.append(_figure(name, finding, "at least 20 % tell", finding.share >= LEAST))
    asked.tick(80)
    floats = sorted({str(case) for case in CASES if any(map(_has_float, _outputs(case)))})
    figures.append(Figure("outputs of every mechanism", len(CASES), f"{len(floats)} with floats", "0", not floats))
    sums = {_summed(seed) for seed in range(_ORDERS)}
    figures.append(Figure("orders of the same rows", _ORDERS, f"{len(sums)} different sums", "1", len(sums) == 1))
    findings += [f"{name} gives floats" for name in floats]
    findings += [f"{figure.what}: {figure.found}" for figure in figures if not figure.held]
    asked.tick(100)
    return Outcome("float", tuple(figures), tuple(f"{each}; dalenius check float --n {count}" for each in findings))


def _figure(what: str, finding: SupportFinding, goal: str, held: bool) -> Figure:
    return Figure(what, 2 * finding.draws, f"{float(finding.share):.1%} tell", goal, held)


# ---- mechanisms that give numbers


def _attacked() -> dict[str, Callable[[int, int], Any]]:
    entropy = system_entropy()
    runs: dict[str, Callable[[int, int], Any]] = {}
    for scale in (1, 1000):  # the second is drawn in cells of many numbers
        for noise in (DiscreteLaplace(Fraction(scale), _ADD), DiscreteGaussian(Fraction(scale**2), _ADD)):
            runs[f"{type(noise).__name__}, scale {scale}"] = _noisy(noise, entropy)
    honest = RandomizedResponse.calibrated(sensitivity=1, epsilon=1, choices=4, neighbours=Replace("row"))
    runs["RandomizedResponse"] = lambda value, size: honest.release(np.full(size, 1 + value), entropy)
    counted = Sensitivity.sparse(coordinates=2, each=1, monotone=True)
    for made in (laplace_above, gaussian_above, counted_keys):
        keys = made(sensitivity=counted, epsilon=Fraction(1), neighbours=_ADD)
        runs[f"{type(keys).__name__}, {type(keys.noise).__name__}"] = _shown(keys, entropy)
    return runs


def _noisy(mechanism: Any, entropy: Entropy) -> Callable[[int, int], Any]:
    return lambda value, size: mechanism.release(np.full(size, value), entropy)


def _shown(mechanism: Any, entropy: Entropy) -> Callable[[int, int], Any]:
    def run(value: int, size: int) -> NDArray[Any]:
        counts = KeyCounts([(place,) for place in range(size)], np.full(size, _AWAY + value))
        return np.array(list(mechanism.release(counts, entropy).values()))

    return run


def _outputs(case: Case) -> list[Any]:
    return [drawn(case, Fraction(1), value, _LOOKED) for value in case.values[-2:]]


def _has_float(output: Any) -> bool:
    if isinstance(output, float | np.floating):
        return True
    if isinstance(output, np.ndarray):
        return bool(np.issubdtype(output.dtype, np.floating))
    if isinstance(output, dict):
        return any(map(_has_float, (*output, *output.values())))
    if isinstance(output, tuple | list | set | frozenset):
        return any(map(_has_float, output))
    return is_dataclass(output) and any(_has_float(getattr(output, each.name)) for each in fields(output))


# ---- the control: what most code does


def _naive(value: int, size: int) -> Floats:
    words = system_entropy().words(size) >> np.uint64(11)
    uniform = (words.astype(np.float64) + 0.5) / 2.0**53
    return value + _float_laplace(np.clip(uniform, 2.0**-53, 1 - 2.0**-53))


def _float_laplace(u: Floats) -> Floats:
    noise: Floats = np.where(u >= 0.5, -np.log(2 - u - u), np.log(u + u))
    return noise


def _uniform(noise: Floats) -> Floats:
    u: Floats = np.where(noise >= 0, 1 - np.exp(-noise) / 2, np.exp(noise) / 2)
    return u


# ---- sums

_VALUES = (0.1, 0.2, 0.3, 1e-8, 4503599627370495.5, -4503599627370495.5, 5e-324, -0.0, math.inf, -math.inf, math.nan,
           1e308, -1e308, 1 / 3, 2.5, -2.5)  # fmt: skip


def _summed(seed: int) -> tuple[int, ...]:
    """The exact sum of hurtful floats, in an order of its own."""
    rows = Draws(f"order {seed}").shuffled([value for value in _VALUES for _ in range(8)])
    number = Real(-(2**52), 2**52, step="0.001", nullable=True)
    protection = Protection("people", UnitColumn("id"), _ADD, ContributionBounds(rows=200, groups=1))
    table = Table("t", (("x", number),), protection)
    engine = DuckDBEngine()
    try:
        engine.register(table, pa.table({"id": [1] * len(rows), "x": pa.array(rows, pa.float64())}))
        step = Aggregate(Bound(Scan(table, "t"), (), 200, None), (Total("sum", "t.x"),))
        (found,) = results(engine, [step])
        return found[()]
    finally:
        engine.close()
