"""What another library's best configuration answers for one price.

`python price_peers.py LIBRARY < jobs.json` runs in that library's own virtual environment, without Dalenius. It takes a
list of jobs and prints JSON: the version, and for each job how it is done best and how far off the answer is, as the
exact `variance` of the noise, as `squares` of the errors of that many draws, or as the `keys` expected to be shown;
null where the library has nothing for it.

A job states the price (`epsilon`, `delta`), the number of equal `questions` that share it, and

- kind "noise": integers of which one unit moves at most `groups`, each by at most `each`;
- kinds "mean" and "variance": a `column` of integers from 0 to 2 `half`, of which one unit has one, and all `columns`
  for which the price is split among the noisy sums;
- kind "keys": the `counts` of units of all keys, of which one unit has at most `groups`.

Nobody is told how many units there are: a unit comes or goes.
"""

from __future__ import annotations

import json
import math
import sqlite3
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

CHECKED = 2_000
"""The draws by which an exact law is compared with what the library really draws."""


@dataclass(frozen=True)
class Noise:
    """One way to add noise: its exact variance, and the library's own draws of it."""

    how: str
    variance: float
    draw: Callable[[int], Sequence[float]]


# ---- laws


def discrete_laplace(scale: float) -> float:
    """The variance of P[z] proportional to exp(-|z| / scale) on the integers."""
    return 1 / (2 * math.sinh(1 / (2 * scale)) ** 2)


def discrete_laplace_tail(scale: float, z: int) -> float:
    """P[Z >= z] of the same law."""
    ratio = math.exp(-1 / scale)
    return ratio**z / (1 + ratio) if z > 0 else 1 - ratio ** (1 - z) / (1 + ratio)


def laplace_tail(scale: float, z: float) -> float:
    """P[Z >= z] of the continuous law."""
    return math.exp(-z / scale) / 2 if z > 0 else 1 - math.exp(z / scale) / 2


def normal_tail(deviation: float, z: float) -> float:
    return math.erfc(z / deviation / math.sqrt(2)) / 2


def tulap(epsilon: float, delta: float) -> float:
    """The variance of canonical noise of sensitivity 1: a discrete Laplace draw plus a uniform one of width 1, cut off
    where its tails hold q / 2 each. Reference: Awan & Slavkovic 2018 (arXiv:1904.00459), Definition 3.5."""
    b = math.exp(-epsilon)
    cut = 2 * delta * b / (1 - b + 2 * delta * b)
    steps = np.arange(0, math.ceil(60 / epsilon))
    mass = (1 - b) / (1 + b) * b**steps  # of each of the two steps at distance `steps`
    beyond = np.append(np.cumsum(mass[::-1])[::-1][1:], 0)  # one side, past this step
    low = np.where(steps == 0, 0, steps - 0.5)
    width = np.where(steps == 0, 0.5, 1.0)
    inside = np.clip(beyond + mass * width - cut / 2, 0, mass * width) / np.maximum(mass, 1e-300)
    high = low + inside
    return float(2 * np.sum(mass * (high**3 - low**3) / 3) / (1 - cut))


def staircase_variance(epsilon: float, gamma: float) -> float:
    """The variance of the staircase law of sensitivity 1, by the moments of its steps."""
    b = math.exp(-epsilon)
    steps = np.arange(0, math.ceil(60 / epsilon))
    inner = ((steps + gamma) ** 3 - steps**3) / 3
    outer = ((steps + 1) ** 3 - (steps + gamma) ** 3) / 3
    return float(np.sum(b**steps * (inner + b * outer)) * (1 - b) / (gamma + b * (1 - gamma)))


# ---- what all libraries share


def answers(library: type[Library], job: dict[str, Any]) -> dict[str, Any] | None:
    kind = job["kind"]
    if kind == "noise":
        best = _best(library.noises(job))
        drawn = float(np.mean(np.square(np.asarray(best.draw(CHECKED), dtype=float))))
        assert abs(drawn / best.variance - 1) < 0.25, (job, best.how, best.variance, drawn)
        return {"how": best.how, "variance": best.variance}
    if kind == "keys":
        return library.keys(job)
    return moments(library, job)


def _best(noises: Sequence[Noise]) -> Noise:
    return min(noises, key=lambda noise: noise.variance)


def moments(library: type[Library], job: dict[str, Any]) -> dict[str, Any]:
    """The mean or variance as a function of noisy sums, each with its part of epsilon.

    The sums are of values less their midpoint, and of their squares less theirs: so they move the least. Parts are
    those that have the least error over all columns of the benchmark together, to first order in the noise.
    """
    parts = _split(job)
    column, half = np.array(job["column"]) - job["half"], job["half"]
    squares = column**2 - half**2 // 2
    reaches, sums = [1, half, half**2 // 2], [len(column), int(column.sum()), int(squares.sum())]
    single = {"groups": 1, "questions": 1, "delta": job["delta"] / len(parts)}
    chosen = [
        _best(library.noises({**single, "each": reach, "epsilon": part * job["epsilon"]}))
        for reach, part in zip(reaches, parts, strict=False)
    ]
    draws = [np.asarray(noise.draw(library.draws), dtype=float) for noise in chosen]
    noisy = [total + drawn for total, drawn in zip(sums, draws, strict=False)]
    if job["kind"] == "mean":
        found, truth = np.clip(noisy[1] / noisy[0], -half, half), column.mean()
    else:
        powers = noisy[2] + noisy[0] * (half**2 // 2)
        found = (powers - noisy[1] ** 2 / noisy[0]) / (noisy[0] - 1)
        found, truth = np.clip(found, 0, half**2), column.var(ddof=1)
    split = " : ".join(f"{part:.2f}" for part in parts)
    return {
        "how": f"{' + '.join(each.how for each in chosen)}, split {split}",
        "squares": ((found - truth) ** 2).tolist(),
    }


def _split(job: dict[str, Any]) -> list[float]:
    """The parts of epsilon for the count, the sum and the squares."""
    half, errors = job["half"], []
    for values in job["columns"]:
        column = np.array(values) - job["half"]
        mean, power = column.mean(), (column**2 - half**2 // 2).mean()
        weights = [mean, 1.0] if job["kind"] == "mean" else [2 * mean**2 - power - half**2 // 2, 2 * mean, 1.0]
        moved = np.square(np.array(weights) * [1, half, half**2 // 2][: len(weights)])
        errors.append(moved / np.sum(np.cbrt(moved)) ** 3)  # in units of the least possible error for this column
    parts = np.cbrt(np.sum(errors, axis=0))
    return [float(part) for part in parts / parts.sum()]


class Library:
    """What a library offers: ways to add noise, and numbers of keys."""

    package: str
    draws = 20_000
    """How many answers are drawn where no law is known."""

    @classmethod
    def noises(cls, job: dict[str, Any]) -> list[Noise]:
        raise NotImplementedError

    @classmethod
    def keys(cls, job: dict[str, Any]) -> dict[str, Any] | None:
        return None


# ---- OpenDP


class OpenDP(Library):
    package = "opendp"

    @classmethod
    def noises(cls, job: dict[str, Any]) -> list[Noise]:
        each, groups, questions = job["each"], job["groups"], job["questions"]
        epsilon, delta = job["epsilon"], job["delta"]
        dp = _opendp()
        ints = dp.vector_domain(dp.atom_domain(T=int))

        def laplace(scale: float) -> Any:
            return dp.m.make_laplace(ints, dp.l1_distance(T=int), scale=scale)

        rough = each * groups * questions / epsilon
        scale = dp.binary_search_param(
            lambda scale: dp.c.make_composition([laplace(scale)] * questions),
            d_in=each * groups, d_out=epsilon, bounds=(rough / 2, rough * 2),
        )  # fmt: skip
        found = [Noise("Laplace", discrete_laplace(scale), lambda count: laplace(scale)([0] * count))]
        if delta:
            found.append(cls._gaussian(dp, ints, job))
        if delta and groups == 1:  # without a delta its draws end the process (0.16.0)
            found.append(cls._canonical(dp, each, epsilon / questions, delta / questions))
        return found

    @staticmethod
    def _canonical(dp: Any, each: int, epsilon: float, delta: float) -> Noise:
        space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
        noise = dp.m.make_canonical_noise(*space, d_in=float(each), d_out=(epsilon, delta))
        variance = each**2 * tulap(epsilon, delta)
        return Noise("canonical noise", variance, lambda count: [noise(0.0) for _ in range(count)])

    @staticmethod
    def _gaussian(dp: Any, ints: Any, job: dict[str, Any]) -> Noise:
        """The library converts the zCDP of all questions to (epsilon, delta)."""
        reach, price = job["each"] * math.sqrt(job["groups"]), (job["epsilon"], job["delta"])

        def gaussian(scale: float) -> Any:
            return dp.m.make_gaussian(ints, dp.l2_distance(T=float), scale=scale)

        def shared(scale: float) -> Any:
            together = dp.c.make_composition([gaussian(scale)] * job["questions"])
            return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(together), job["delta"])

        rough = 4.5 * reach * math.sqrt(job["questions"]) / job["epsilon"]
        scale = dp.binary_search_param(shared, d_in=reach, d_out=price, bounds=(rough / 2, rough * 2))
        return Noise("Gaussian", scale**2, lambda count: gaussian(scale)([0] * count))

    @classmethod
    def keys(cls, job: dict[str, Any]) -> dict[str, Any] | None:
        if not job["delta"]:
            return None
        found = [cls._laplace_keys(job), cls._gaussian_keys(job)]
        how, threshold, shown = max(found, key=lambda each: each[2])
        return {"how": f"{how}, threshold {threshold}", "keys": shown}

    @staticmethod
    def _laplace_keys(job: dict[str, Any]) -> tuple[str, int, float]:
        dp, groups = _opendp(), job["groups"]
        scale, keyed = groups / job["epsilon"], dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
        space = keyed, dp.l01inf_distance(dp.absolute_distance(T=int))

        def met(threshold: int) -> bool:
            noise = dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold)
            return _within(noise.map((groups, groups, 1)), job)

        threshold = _least(met) + _SHOWN_AT
        tails = [discrete_laplace_tail(scale, threshold - count) for count in job["counts"]]
        return "Laplace", threshold, sum(tails)

    @staticmethod
    def _gaussian_keys(job: dict[str, Any]) -> tuple[str, int, float]:
        """The scale that shows the most keys: the library gives the threshold what the noise leaves of delta."""
        dp, groups = _opendp(), job["groups"]
        keyed = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
        space = keyed, dp.l02inf_distance(dp.absolute_distance(T=float))

        def met(scale: float, threshold: int) -> bool:
            noise = dp.m.make_gaussian_threshold(*space, scale=scale, threshold=threshold)
            noise = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), job["delta"])
            try:
                return _within(noise.map((groups, math.sqrt(groups), 1.0)), job)
            except dp.OpenDPException:  # the threshold alone takes more than delta
                return False

        found = []
        for rough in np.linspace(4, 6, 41).tolist():
            scale = rough * math.sqrt(groups) / job["epsilon"]
            if met(scale, 1 << 20):
                threshold = _least(lambda height: met(scale, height)) + _SHOWN_AT  # noqa: B023
                # Integer noise, as near to the normal law as makes no difference at this size.
                tails = [normal_tail(scale, threshold - 0.5 - count) for count in job["counts"]]
                found.append((f"Gaussian of {scale:.2f}", threshold, sum(tails)))
        return max(found, key=lambda each: each[2])


_SHOWN_AT = 1
"""OpenDP 0.16 shows counts that reach a threshold, and states the delta of those that pass it: with Laplace noise of
scale 1 and a threshold of 2 it states 0.099, and showed 27 % of 40,000 keys of one unit. One more keeps the promise."""


def _within(spent: tuple[float, float], job: dict[str, Any]) -> bool:
    return bool(spent[0] <= job["epsilon"] * (1 + 1e-9) and spent[1] <= job["delta"] * (1 + 1e-9))


def _opendp() -> Any:
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    return dp


def _least(met: Callable[[int], bool]) -> int:
    """The least whole number for which this holds."""
    low, high = 1, 1 << 20
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle + 1, high)
    return low


# ---- SmartNoise SQL


class SmartNoise(Library):
    package = "smartnoise-sql"
    draws = 5_000  # these take minutes

    @classmethod
    def noises(cls, job: dict[str, Any]) -> list[Noise]:
        """Laplace as the reader sets it up for its column, and Gaussian noise where it manages to."""
        epsilon, questions = _kairouz(job), job["questions"]
        found = [cls._noise(job, epsilon, job["delta"], None)]
        if job["delta"] and questions == 1:
            try:
                found.append(cls._noise(job, epsilon, job["delta"], "gaussian"))
            except ValueError as error:
                print(f"SmartNoise has no Gaussian for {job['each']} x {job['groups']}: {error}"[:300], file=sys.stderr)
        return found

    @classmethod
    def _noise(cls, job: dict[str, Any], epsilon: float, delta: float, law: str | None) -> Noise:
        reader = _smartnoise(job["each"], job["groups"], epsilon, delta or 1e-9, law)
        total = "COUNT(*)" if job["each"] == 1 else "SUM(x)"
        subquery, _ = reader._rewrite(f"SELECT {total} AS total FROM main.t")
        (mechanism,) = (each for each in reader._get_mechanisms(subquery) if each)
        squared = 2 * mechanism.scale**2 if law is None else mechanism.scale**2
        return Noise(law or "Laplace", squared, lambda count: mechanism.release([0] * count))

    @classmethod
    def keys(cls, job: dict[str, Any]) -> dict[str, Any] | None:
        if not job["delta"]:
            return None
        found = []
        for law, tail in ((None, laplace_tail), ("gaussian", normal_tail)):
            reader = _smartnoise(1, job["groups"], job["epsilon"], job["delta"], law)
            subquery, _ = reader._rewrite("SELECT k, COUNT(DISTINCT id) AS n FROM main.t GROUP BY k")
            (mechanism,) = (each for each in reader._get_mechanisms(subquery) if each)
            shown = [tail(mechanism.scale, mechanism.threshold - count) for count in job["counts"]]
            # The Gaussian spends all of delta on the noise alone, so its threshold promises more than the price.
            found.append((law or "Laplace", mechanism.threshold, sum(shown)))
        how, threshold, keys = found[0]
        return {"how": f"{how}, threshold {threshold:.1f}", "keys": keys}


def _kairouz(job: dict[str, Any]) -> float:
    """The epsilon of each question by which its odometer shows the whole price; all of delta is its slack."""
    if job["questions"] == 1:
        return float(job["epsilon"])
    privacy, odometers = import_module("snsql").Privacy, import_module("snsql.sql.odometer")

    def met(epsilon: float) -> bool:
        # Its slack is half of the delta that it is told; Laplace noise itself has no delta.
        odometer = odometers.OdometerHeterogeneous(privacy(epsilon=epsilon, delta=2 * (job["delta"] or 1e-300)))
        for _ in range(job["questions"]):
            odometer.spend(privacy(epsilon=epsilon, delta=0.0))
        return bool(odometer.spent[0] <= job["epsilon"])

    return _largest(met, job["epsilon"] / job["questions"])


def _largest(met: Callable[[float], bool], least: float) -> float:
    """About the largest number for which this holds, at least `least`."""
    low, high = least, 20 * least
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if met(middle) else (low, middle)
    return low


def _smartnoise(each: int, groups: int, epsilon: float, delta: float, law: str | None) -> Any:
    warnings.simplefilter("ignore")
    snsql, names = import_module("snsql"), import_module("snsql.sql._mechanisms.base").Mechanism
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER, x INTEGER, k TEXT)")
    table = {
        "max_ids": groups, "sample_max_ids": True, "censor_dims": False, "clamp_counts": False,
        "id": {"type": "int", "private_id": True}, "k": {"type": "string"},
        "x": {"type": "int", "lower": 0, "upper": each},
    }  # fmt: skip
    privacy = snsql.Privacy(epsilon=epsilon, delta=delta)
    if law:
        privacy.mechanisms.map = dict.fromkeys(privacy.mechanisms.map, names[law])
    return snsql.from_connection(connection, privacy=privacy, metadata={"": {"main": {"t": table}}}, engine="sqlite")


# ---- diffprivlib


class Diffprivlib(Library):
    """Its mechanisms: its own mean, variance and totals take the number of rows as public."""

    package = "diffprivlib"

    @classmethod
    def noises(cls, job: dict[str, Any]) -> list[Noise]:
        mechanisms = import_module("diffprivlib.mechanisms")
        each, groups, questions, delta = job["each"], job["groups"], job["questions"], job["delta"]
        epsilon = cls._kairouz(job)
        geometric = mechanisms.Geometric(epsilon=epsilon, sensitivity=each * groups)
        found = [_noise("geometric", discrete_laplace(each * groups / epsilon), geometric, 0)]
        if groups == 1:
            found.append(cls._staircase(mechanisms, each, epsilon))
        if delta:
            for part in (0.1, 0.5, 0.9) if questions > 1 else (1.0,):
                every, slack = part * delta / questions, (1 - part) * delta
                spent = cls._kairouz({**job, "slack": slack}, every)
                normal = mechanisms.GaussianAnalytic(epsilon=spent, delta=every, sensitivity=each * math.sqrt(groups))
                found.append(_noise("analytic Gaussian", normal.variance(0), normal, 0.0))
        return found

    @staticmethod
    def _staircase(mechanisms: Any, each: int, epsilon: float) -> Noise:
        """With the step that has the least variance."""
        gamma = min(np.linspace(0.001, 0.999, 999).tolist(), key=lambda gamma: staircase_variance(epsilon, gamma))
        staircase = mechanisms.Staircase(epsilon=epsilon, sensitivity=each, gamma=gamma)
        return _noise("staircase", each**2 * staircase_variance(epsilon, gamma), staircase, 0.0)

    @staticmethod
    def _kairouz(job: dict[str, Any], each_delta: float = 0.0) -> float:
        """The epsilon of each question by which its accountant shows the whole price."""
        if job["questions"] == 1:
            return float(job["epsilon"])
        accountant = import_module("diffprivlib").BudgetAccountant(delta=1.0)
        slack = job.get("slack", job["delta"])

        def met(epsilon: float) -> bool:
            spent = [(epsilon, each_delta)] * job["questions"]
            return bool(accountant.total(spent_budget=spent, slack=slack)[0] <= job["epsilon"] * (1 + 1e-12))

        return _largest(met, job["epsilon"] / job["questions"])


def _noise(how: str, variance: float, mechanism: Any, zero: float) -> Noise:
    return Noise(how, variance, lambda count: [mechanism.randomise(zero) for _ in range(count)])


LIBRARIES: dict[str, type[Library]] = {"OpenDP": OpenDP, "SmartNoise": SmartNoise, "diffprivlib": Diffprivlib}


if __name__ == "__main__":
    chosen = LIBRARIES[sys.argv[1]]
    found = [answers(chosen, job) for job in json.load(sys.stdin)]
    print(json.dumps({"version": version(chosen.package), "found": found}))
