"""An online session beside what else the same price buys: counting questions of an adversary over three columns of a
million skewed rows. `python -m benchmarks online` prints the table; 100,000 questions take a quarter of an hour.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dalenius as dl
from benchmarks.limits import Limit
from benchmarks.report import paragraph, table
from dalenius.errors import MechanismFinished
from dalenius.mechanisms.gaussian import DiscreteGaussian
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.types import Int
from dalenius.randomness.entropy import system_entropy

SIZES, ROWS = {"a": 50, "b": 50, "c": 40}, 10**6
EPSILON, DELTA, RHO = 1, "1e-9", Fraction(1497, 100_000)
TERMS = {"updates": 16, "within": 3_400}
"""Chosen so that the session lasts: an answer may be off by 0.34 % of all rows before it is measured."""
MOMENTS = (1_000, 10_000, 30_000, 100_000)
WORST, NEAR = 50, 0.5
"""How many of the worst questions so far the adversary remembers, and how often it asks near one of them."""
FEW = 8
"""How many values a list has at most, and a range leaves out at most."""

_WAYS = ("online", "histogram", "same")
Sides = tuple[NDArray[np.bool_], ...]


@dataclass(frozen=True)
class Moment:
    """Largest and mean errors in rows of all questions up to one: of the session, of a noisy histogram with its own
    adversary and on the session's questions, and of Gaussian noise for each; and the mean errors of session and
    histogram on those questions of the session that were asked at random."""

    questions: int
    updates_left: int
    online: tuple[float, float]
    histogram: tuple[float, float]
    same: tuple[float, float]
    split: tuple[float, float]
    by_chance: tuple[float, float]
    covered: float


@dataclass(frozen=True)
class Line:
    """The errors on one question, whether it was asked at random, and whether the session's was within its bar."""

    online: float
    histogram: float
    same: float
    by_chance: bool
    covered: bool


@dataclass(frozen=True)
class Run:
    """One session: what it showed at some moments, how long an answer took, and whether it ended before its time."""

    moments: list[Moment]
    bars: tuple[int, int]
    seconds: float
    opened: float
    ended_at: int | None


def skewed_rows(size: int) -> dict[str, NDArray[np.int64]]:
    """Three skewed columns, each of which depends on the one before."""
    chance = np.random.default_rng(1)
    hidden = chance.gamma(1.2, 1, size)
    a = np.minimum((hidden * 6 + chance.exponential(3, size)).astype(int), SIZES["a"] - 1)
    b = np.minimum(chance.zipf(1.6, size) - 1 + a // 5, SIZES["b"] - 1)
    c = np.minimum((chance.exponential(5, size) + b / 4).astype(int), SIZES["c"] - 1)
    return {"a": a, "b": b, "c": c}


class Adversary:
    """Asks random ranges and lists of values, and near the questions whose answers are furthest from the truth, which
    it knows. It climbs: a worse question takes the place of the one that it was made of, and one that was answered well
    makes its own less interesting."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(2)
        self._worst: list[tuple[float, Sides]] = []
        self._near: int | None = None

    def question(self) -> Sides:
        near = len(self._worst) >= WORST and self._chance.random() < NEAR
        self._near = int(self._chance.integers(WORST)) if near else None
        if self._near is not None:
            return tuple(self._moved(side) for side in self._worst[self._near][1])
        return tuple(self._side(size) for size in SIZES.values())

    @property
    def by_chance(self) -> bool:
        """Whether the last question was asked at random."""
        return self._near is None

    def told(self, sides: Sides, error: float) -> None:
        if self._near is not None:
            known, old = self._worst[self._near]
            self._worst[self._near] = (error, sides) if error >= known else ((known + error) / 2, old)
        elif len(self._worst) < WORST:
            self._worst.append((error, sides))
        else:
            least = min(range(WORST), key=lambda place: self._worst[place][0])
            if error > self._worst[least][0]:
                self._worst[least] = (error, sides)

    def _side(self, size: int) -> NDArray[np.bool_]:
        side = np.zeros(size, dtype=bool)
        kind = int(self._chance.integers(4))
        if kind == 0:
            return ~side
        if kind == 1:
            side[self._chance.choice(size, int(self._chance.integers(1, FEW)), replace=False)] = True
            return side
        low, high = sorted(self._chance.integers(0, size, 2).tolist())
        side[low : high + 1] = True
        return side

    def _moved(self, side: NDArray[np.bool_]) -> NDArray[np.bool_]:
        changed = side.copy()
        if self._chance.random() < 0.5:
            changed[int(self._chance.integers(len(side)))] ^= True
        return changed if changed.any() else side


def condition(sides: Sides) -> str:
    """A question as SQL."""
    parts = [_part(name, side) for name, side in zip(SIZES, sides, strict=True) if not side.all()]
    return " AND ".join(parts) or "TRUE"


def _part(name: str, side: NDArray[np.bool_]) -> str:
    places = np.flatnonzero(side).tolist()
    first, last = places[0], places[-1]
    if last - first + 1 - len(places) > FEW:
        return f"{name} IN ({', '.join(map(str, places))})"
    left_out = [f"{name} <> {place}" for place in range(first, last) if not side[place]]
    return " AND ".join([f"{name} BETWEEN {first} AND {last}", *left_out])


def counted(histogram: NDArray[np.int64], sides: Sides) -> int:
    return int(histogram[np.ix_(*sides)].sum())


def database(rows: dict[str, NDArray[np.int64]]) -> dl.Database:
    db = dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=EPSILON, delta=DELTA))
    data = pa.table({"person": np.arange(ROWS), **rows})
    columns = {name: Int(0, size - 1) for name, size in SIZES.items()}
    db.add_table("people", data, population="people", unit="person", most=dl.Most(rows=1, groups=1), columns=columns)
    return db


def run(questions: int, **terms: Any) -> Run:
    """A session of so many questions, with the errors of all."""
    rows = skewed_rows(ROWS)
    truth = _cells(rows).reshape(tuple(SIZES.values()))
    with database(rows) as db:
        start = time.perf_counter()
        session = db.online("people", columns=list(SIZES), bins=SIZES, share=1, **terms)
        opened = time.perf_counter() - start
        off = _noise(truth.shape, 1)
        lines, ended, seconds = list[Line](), None, 0.0
        moments, adversary, other = list[Moment](), Adversary(), Adversary()
        for number in range(questions):
            sides = adversary.question()
            exact, text, start = counted(truth, sides), condition(sides), time.perf_counter()
            try:
                answer = session.ask(text)
            except MechanismFinished:
                ended = number
                break
            seconds += time.perf_counter() - start
            error = abs(answer.count - exact)
            same = float(abs(counted(off, sides)))
            lines.append(Line(error, _challenged(other, off), same, adversary.by_chance, error <= answer.error))
            adversary.told(sides, error)
            if number + 1 in MOMENTS or number + 1 == questions:
                moments.append(_moment(lines, session.left))
        if ended is not None and lines:
            moments.append(_moment(lines, 0))
        return Run(moments, session.errors, seconds / max(1, len(lines)), opened, ended)


def _challenged(adversary: Adversary, off: NDArray[np.int64]) -> float:
    """The error of a noisy histogram, which is `off` by so much, on the next question of its own adversary."""
    sides = adversary.question()
    error = float(abs(counted(off, sides)))
    adversary.told(sides, error)
    return error


def _cells(rows: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    cells = np.ravel_multi_index(tuple(rows.values()), tuple(SIZES.values()))
    return np.bincount(cells, minlength=int(np.prod(list(SIZES.values())))).astype(np.int64)


def _noise(shape: tuple[int, ...], count: int) -> NDArray[np.int64]:
    """Gaussian noise for one of `count` vectors of counts at the whole price."""
    one = Sensitivity(l1=1, linf=1)
    mechanism = DiscreteGaussian.calibrated(sensitivity=one, rho=RHO / count, neighbours=AddRemove())
    return np.asarray(mechanism.release(np.zeros(shape, dtype=np.int64), system_entropy()))


def _moment(lines: list[Line], left: int) -> Moment:
    split = np.abs(_noise((len(lines),), len(lines)))
    online, histogram, same = (np.array([getattr(line, name) for line in lines]) for name in _WAYS)
    chance = np.array([line.by_chance for line in lines])
    return Moment(
        len(lines),
        left,
        _largest_and_mean(online),
        _largest_and_mean(histogram),
        _largest_and_mean(same),
        _largest_and_mean(split),
        by_chance=(float(online[chance].mean()), float(same[chance].mean())),
        covered=float(np.mean([line.covered for line in lines])),
    )


def _largest_and_mean(errors: NDArray[np.float64]) -> tuple[float, float]:
    return float(errors.max()), float(errors.mean())


def limits(found: Run) -> list[Limit]:
    """What must hold at 100,000 questions: a smaller largest error and mean error than the better of the others."""
    ended = [float("inf")] if found.ended_at is not None else []
    last = [one for one in found.moments if one.questions >= MOMENTS[-1]]
    return [
        Limit(f"{what} error beside the better other way, {MOMENTS[-1]:,} questions",
              max([*ended, *(one.online[at] / min(one.histogram[at], one.split[at]) for one in last)], default=None),
              1, " ×")
        for at, what in enumerate(("largest", "mean"))
    ]  # fmt: skip


def _lines(found: Run) -> Iterator[list[str]]:
    for one in found.moments:
        ways = (one.online, one.histogram, one.same, one.split, one.by_chance)
        pairs = [f"{first:,.0f} / {second:,.0f}" for first, second in ways]
        yield [f"{one.questions:,}", str(one.updates_left), *pairs, f"{100 * one.covered:.2f} %"]


def section(found: Run) -> str:
    head = ["questions", "updates left", "session", "noisy histogram, own adversary", "the same, session's questions",
            "Gaussian split", "asked at random: session / histogram", "inside the bar"]  # fmt: skip
    ended = "" if found.ended_at is None else f" It ended after {found.ended_at:,} questions."
    cells = int(np.prod(list(SIZES.values())))
    text = f"""Largest and mean error in rows, of all questions so far. {ROWS:,} rows, {cells:,} cells, one payment of
    (1, 1e-9). An adversary that knows the truth asks near the worst answers so far half of the time, and at random
    otherwise; the session and the noisy histogram have one each, and fresh noise has nothing to find. Of those asked at
    random, the mean errors. Bars at 95 %:
    ± {found.bars[0]:,}, and ± {found.bars[1]:,} where measured. {1000 * found.seconds:.1f} ms for a question, opened in
    {found.opened:.0f} s.{ended}"""
    return f"# Online sessions\n\n{table(head, list(_lines(found)))}\n\n{paragraph(text)}\n"
