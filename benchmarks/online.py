"""An online session beside what else the same price buys: counting questions of an adversary over three columns of a
million skewed rows, made in four ways. `python -m benchmarks online` prints the table; each 100,000 questions take up
to a quarter of an hour.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.types import Int
from dalenius.randomness.entropy import system_entropy
from dalenius.synth import Online

SIZES, ROWS = {"a": 50, "b": 50, "c": 40}, 10**6
EPSILON, DELTA, RHO = 1, "1e-9", Fraction(1497, 100_000)
PROMISED = ("chain",)
TERMS = {"updates": 16, "within": 3_400}
"""Chosen on the rows of `chain` so that the session lasts: an answer may be off by 0.34 % of all rows before it is
measured."""
MOMENTS = (1_000, 10_000, 30_000, 100_000)
WORST, NEAR = 50, 0.5
"""How many of the worst questions so far the adversary remembers, and how often it asks near one of them."""
FEW = 8
"""How many values a list has at most, and a range leaves out at most."""

Sides = tuple[NDArray[np.bool_], ...]
Rows = dict[str, NDArray[np.int64]]


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
    """The errors on one question, how many updates were left after it, whether it was asked at random, and whether the
    session's was within its bar."""

    online: float
    histogram: float
    same: float
    left: int
    by_chance: bool
    covered: bool


@dataclass(frozen=True)
class Run:
    """One session: what it showed at some moments, from how many questions on its largest and its mean error were less
    than those of the others, how long an answer took, and whether it ended before its time."""

    name: str
    moments: list[Moment]
    crossings: tuple[int | None, int | None]
    bars: tuple[int, int]
    seconds: float
    work: float
    opened: float
    ended_at: int | None


def chain(chance: np.random.Generator) -> Rows:
    """Each column depends on the one before alone."""
    hidden = chance.gamma(1.2, 1, ROWS)
    a = hidden * 6 + chance.exponential(3, ROWS)
    b = chance.zipf(1.6, ROWS) - 1 + _within("a", a) // 5
    c = chance.exponential(5, ROWS) + _within("b", b) / 4
    return _rows(a, b, c)


def steeper(chance: np.random.Generator) -> Rows:
    """The same with most rows in a few cells."""
    a = chance.gamma(0.5, 1, ROWS) * 8
    b = chance.zipf(2.3, ROWS) - 1 + _within("a", a) // 3
    c = chance.exponential(2, ROWS) + _within("b", b) / 2
    return _rows(a, b, c)


def clusters(chance: np.random.Generator) -> Rows:
    """Twelve kinds of people, of very different number, each around a place of its own: all three columns depend on
    each other."""
    kinds = chance.choice(12, ROWS, p=(weights := 1 / np.arange(1, 13) ** 1.2) / weights.sum())
    centres = {name: chance.uniform(0, size, 12) for name, size in SIZES.items()}
    spreads = {name: chance.uniform(0.02, 0.15, 12) * size for name, size in SIZES.items()}
    return _rows(*(np.abs(chance.normal(centres[name][kinds], spreads[name][kinds])) for name in SIZES))


def sums(chance: np.random.Generator) -> Rows:
    """The third column is the sum of two independent ones, round the clock, nearly: no pair of columns shows it."""
    a, b = chance.exponential(9, ROWS), chance.exponential(9, ROWS)
    c = (_within("a", a) + 3 * _within("b", b) + chance.integers(0, 3, ROWS)) % SIZES["c"]
    return _rows(a, b, c)


MADE: dict[str, tuple[Callable[[np.random.Generator], Rows], int]] = {
    "chain": (chain, 1),
    "chain, steeper": (steeper, 11),
    "clusters": (clusters, 12),
    "sums": (sums, 13),
}
"""How the rows are made, and the seed of rows and adversaries."""


def _within(name: str, values: NDArray[Any]) -> NDArray[np.int64]:
    return np.minimum(values.astype(np.int64), SIZES[name] - 1)


def _rows(*columns: NDArray[Any]) -> Rows:
    return {name: _within(name, values) for name, values in zip(SIZES, columns, strict=True)}


class Adversary:
    """Asks random ranges and lists of values, and near the questions whose answers are furthest from the truth, which
    it knows. It climbs: a worse question takes the place of the one that it was made of, and one that was answered well
    makes its own less interesting."""

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
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


def database(rows: Rows) -> dl.Database:
    db = dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=EPSILON, delta=DELTA))
    data = pa.table({"person": np.arange(ROWS), **rows})
    columns = {name: Int(0, size - 1) for name, size in SIZES.items()}
    db.add_table(
        "people",
        data,
        population="people",
        unit="person",
        max_rows=1,
        max_groups=1,
        columns=columns,
    )
    return db


def measured(questions: int = MOMENTS[-1]) -> list[Run]:
    """One session on each of the tables."""
    return [run(name, questions, **TERMS) for name in MADE]


def run(name: str, questions: int, **terms: Any) -> Run:
    """A session of so many questions, with the errors of all."""
    make, seed = MADE[name]
    rows = make(np.random.default_rng(seed))
    truth = _cells(rows).reshape(tuple(SIZES.values()))
    with database(rows) as db:
        start = time.perf_counter()
        session = Online(columns=list(SIZES), bins=SIZES, **terms).open(db.table("people"), share=1)
        opened = time.perf_counter() - start
        adversary, other, off = Adversary(seed + 1), Adversary(seed + 1), _noise(truth.shape)
        lines, seconds, worked = list[Line](), 0.0, time.process_time()
        while len(lines) < questions:
            sides = adversary.question()
            exact, text, start = counted(truth, sides), condition(sides), time.perf_counter()
            try:
                answer = session.ask(text)
            except MechanismFinished:
                break
            seconds += time.perf_counter() - start
            error, same = abs(answer.count - exact), float(abs(counted(off, sides)))
            covered = error <= answer.error
            lines.append(Line(error, _challenged(other, off), same, session.left, adversary.by_chance, covered))
            adversary.told(sides, error)
        ended = len(lines) if len(lines) < questions else None
        count, work = max(1, len(lines)), time.process_time() - worked
        return Run(name, *_history(lines), session.errors, seconds / count, work / count, opened, ended)


def _challenged(adversary: Adversary, off: NDArray[np.int64]) -> float:
    """The error of a noisy histogram, which is `off` by so much, on the next question of its own adversary."""
    sides = adversary.question()
    error = float(abs(counted(off, sides)))
    adversary.told(sides, error)
    return error


def _cells(rows: Rows) -> NDArray[np.int64]:
    cells = np.ravel_multi_index(tuple(rows.values()), tuple(SIZES.values()))
    return np.bincount(cells, minlength=int(np.prod(list(SIZES.values())))).astype(np.int64)


def _noise(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Gaussian noise for a vector of counts at the whole price."""
    one = Sensitivity(l1=1, linf=1)
    mechanism = DiscreteGaussian.calibrated(sensitivity=one, rho=RHO, neighbours=AddRemove())
    return np.asarray(mechanism.release(np.zeros(shape, dtype=np.int64), system_entropy()))


def _history(lines: list[Line]) -> tuple[list[Moment], tuple[int | None, int | None]]:
    """Some moments, and from how many questions on the session's largest and mean error were the least to the end."""
    numbers = np.arange(1, len(lines) + 1)
    online, histogram, same = (
        _so_far(np.array([getattr(line, name) for line in lines])) for name in ("online", "histogram", "same")
    )
    # each of so many questions gets the noise of one, times the square root of their number
    split = _so_far(np.abs(_noise(numbers.shape)).astype(float)) * np.sqrt(numbers)
    counts = [count for count in sorted({*MOMENTS, len(lines)}) if 0 < count <= len(lines)]
    moments = [
        _moment(lines[:count], *(way[:, count - 1] for way in (online, histogram, same, split))) for count in counts
    ]
    others = np.minimum(histogram, split)
    largest, mean = (_crossing(online[at] < others[at]) for at in range(2))
    return moments, (largest, mean)


def _moment(lines: list[Line], *ways: NDArray[np.float64]) -> Moment:
    online, histogram, same, split = ((float(largest), float(mean)) for largest, mean in ways)
    covered = float(np.mean([line.covered for line in lines]))
    return Moment(len(lines), lines[-1].left, online, histogram, same, split, _by_chance(lines), covered)


def _so_far(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest and the mean of all errors up to each."""
    return np.stack([np.maximum.accumulate(errors), np.cumsum(errors) / np.arange(1, len(errors) + 1)])


def _crossing(below: NDArray[np.bool_]) -> int | None:
    """The number of questions from which on this holds to the end, if any."""
    above = np.flatnonzero(~below)
    first = int(above[-1]) + 2 if above.size else 1
    return first if first <= len(below) else None


def _by_chance(lines: list[Line]) -> tuple[float, float]:
    asked = [(line.online, line.same) for line in lines if line.by_chance]
    session, histogram = np.mean(asked, axis=0)
    return float(session), float(histogram)


def limits(found: list[Run]) -> list[Limit]:
    """What must hold at 100,000 questions, where pairs of columns tell all: a smaller largest error and mean error than
    the better of the others. Where all columns depend on each other sessions end early, and nothing is promised."""
    return [
        Limit(f"{what} error beside the better other way, {MOMENTS[-1]:,} questions, {each.name}",
              _beside(each, at), 1, " ×")
        for each in found
        if each.name in PROMISED
        for at, what in enumerate(("largest", "mean"))
    ]  # fmt: skip


def _beside(found: Run, at: int) -> float | None:
    if found.ended_at is not None:
        return float("inf")
    last = found.moments[-1]
    return last.online[at] / min(last.histogram[at], last.split[at]) if last.questions >= MOMENTS[-1] else None


def _lines(found: Run) -> Iterator[list[str]]:
    for one in found.moments:
        ways = (one.online, one.histogram, one.same, one.split, one.by_chance)
        pairs = [f"{first:,.0f} / {second:,.0f}" for first, second in ways]
        yield [found.name, f"{one.questions:,}", str(one.updates_left), *pairs, f"{100 * one.covered:.2f} %"]


def _told(found: Run) -> list[str]:
    crossings = ["never" if count is None else f"{count:,}" for count in found.crossings]
    ended = "–" if found.ended_at is None else f"{found.ended_at:,}"
    times = [f"{1000 * found.seconds:.1f} ms", f"{1000 * found.work:.1f} ms", f"{found.opened:.0f} s"]
    return [found.name, *crossings, ended, *(f"± {bar:,}" for bar in found.bars), *times]


def section(found: list[Run]) -> str:
    head = ["rows", "questions", "updates left", "session", "noisy histogram, own adversary",
            "the same, session's questions", "Gaussian split", "asked at random: session / histogram",
            "inside the bar"]  # fmt: skip
    end = ["rows", "largest is least from", "mean is least from", "ended after", "bar", "bar where measured",
           "an answer", "processor, with the adversaries", "opened in"]  # fmt: skip
    cells = int(np.prod(list(SIZES.values())))
    text = f"""Largest and mean error in rows, of all questions so far. {ROWS:,} rows, {cells:,} cells, one payment of
    (1, 1e-9), {TERMS["updates"]} updates, answers measured that are found to be off by more than {TERMS["within"]:,}
    rows. These terms were chosen on `chain`, and nothing was chosen on the others. An adversary that knows the truth
    asks near the worst answers so far half of the time, and at random otherwise; the session and the noisy histogram
    have one each, and fresh noise has nothing to find. Of those asked at random, the mean errors. The Gaussian split
    knows in advance how many questions there will be."""
    short = [each.name for each in found if each.ended_at is None and each.moments[-1].questions < MOMENTS[-1]]
    stopped = f" Asked fewer questions in this run, and not for want of updates: {', '.join(short)}." if short else ""
    ways = f"""In `chain` and `chain, steeper` each column depends on the one before alone, which the pairs of columns
    that a session begins with show in full. In `clusters` all three depend on each other, and in `sums` the third
    follows from both others and hardly from one. Bars are at 95 %. A session that ended was compared up to there;
    the limits are for `chain`.{stopped}"""
    return f"""# Online sessions

{table(head, [line for each in found for line in _lines(each)])}

{paragraph(text)}

{table(end, map(_told, found))}

{paragraph(ways)}
"""
