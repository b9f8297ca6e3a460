"""What one price buys: how far off answers are for a whole budget, or a hundredth of it, beside other libraries.

Ours are asked and paid for through the public interface. The mechanisms that really ran are noted at the door, and
their exact laws give the variance; where an answer is computed from several noisy numbers, it is asked for very many
groups of the same people at once, and each is a draw.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dalenius
from benchmarks import peers, query_peers
from dalenius.mechanisms.door import Mechanism, witnessed
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy, system_entropy

WORKER = Path(__file__).with_name("price_peers.py")
ENVIRONMENTS = {
    "OpenDP": ("opendp", query_peers.PACKAGES["OpenDP"]),
    "SmartNoise": ("smartnoise", query_peers.PACKAGES["SmartNoise"]),
    "diffprivlib": ("venv", peers.PACKAGES),
}
EPSILON = 1
BUDGETS: dict[str, str | None] = {"(1, 1e-6)": "1e-6", "pure 1": None}
"""The delta of each budget."""
QUESTIONS = 100
PEOPLE, TOP = 400, 100
"""The people of a group, and the bound of their values."""
DRAWS = 5_000
"""The groups that are asked about at once where an answer has no exact law."""
KEYS = 3_000
RESAMPLES = 2_000
COLUMNS = {
    "x": [15 + person % 61 for person in range(PEOPLE)],
    "y": [int(TOP * ((person + 0.5) / PEOPLE) ** 4) for person in range(PEOPLE)],
}
"""Values whose mean is near the middle of their bounds, and far from it."""
COUNTS = [max(1, round(PEOPLE / place**0.7)) for place in range(1, KEYS + 1)]
"""The units of each unknown key."""


@dataclass(frozen=True)
class Task:
    """A question, and what other libraries are told of it (see `price_peers`)."""

    name: str
    sql: str
    kind: str = "noise"
    each: int = 1
    groups: int = 1
    questions: int = 1
    column: str = ""

    @property
    def unit(self) -> float:
        """What its variances are shown in: the square of the most that one unit moves it."""
        half = TOP / 2
        return {"mean": half / PEOPLE, "variance": half**2 / PEOPLE}.get(self.kind, float(self.each)) ** 2

    def budgets(self) -> list[str]:
        """Unknown keys are never found without a delta."""
        return [name for name, delta in BUDGETS.items() if delta or self.kind != "keys"]

    def job(self, budget: str) -> dict[str, Any]:
        price = {"epsilon": float(EPSILON), "delta": float(BUDGETS[budget] or 0), "questions": self.questions}
        asked: dict[str, Any] = {"kind": self.kind, "each": self.each, "groups": self.groups}
        if self.column:
            asked |= {"column": COLUMNS[self.column], "columns": list(COLUMNS.values()), "half": TOP // 2}
        return price | asked | ({"counts": COUNTS} if self.kind == "keys" else {})


TASKS = (
    Task("count", "SELECT COUNT(*) AS n FROM t"),
    Task("filtered count", "SELECT COUNT(*) AS n FROM t WHERE x >= 50"),
    Task("sum", "SELECT SUM(x) AS n FROM t", each=TOP),
    Task("mean, near the middle", "SELECT g, AVG(x) AS n FROM t GROUP BY g", "mean", column="x"),
    Task("mean, far from it", "SELECT g, AVG(y) AS n FROM t GROUP BY g", "mean", column="y"),
    Task("variance, near the middle", "SELECT g, VARIANCE(x) AS n FROM t GROUP BY g", "variance", column="x"),
    Task("variance, far from it", "SELECT g, VARIANCE(y) AS n FROM t GROUP BY g", "variance", column="y"),
    Task("histogram", "SELECT k, COUNT(*) AS n FROM t GROUP BY k"),
    *(
        Task(f"sums, {groups} group{'s' * (groups > 1)} a unit", "SELECT k, SUM(x) AS n FROM t GROUP BY k",
             each=TOP, groups=groups)
        for groups in (1, 5, 30)
    ),
    Task("each of 100 counts", "SELECT COUNT(*) AS n FROM t WHERE x >= {}", questions=QUESTIONS),
    Task("each of 100 sums", "SELECT SUM(x) AS n FROM t WHERE x >= {}", each=TOP, questions=QUESTIONS),
    *(
        Task(f"{what}, {groups} key{'s' * (groups > 1)} a unit", sql, "keys", groups=groups)
        for what, sql in (
            ("keys with counts", "SELECT w, COUNT(DISTINCT id) AS n FROM t GROUP BY w"),
            ("keys alone", "SELECT DISTINCT w FROM t"),
        )
        for groups in (1, 3)
    ),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Buys:
    """What a price buys: the variance of an answer, with the squared errors of draws where its law is not known, or
    how many keys are shown; and how. A gap says why there is nothing."""

    how: str
    figure: float = float("nan")
    squares: NDArray[np.float64] | None = field(default=None, repr=False)
    gap: str = ""

    @classmethod
    def drawn(cls, how: str, squares: Sequence[float] | NDArray[np.float64]) -> Buys:
        found = np.asarray(squares, dtype=np.float64)
        return cls(how, float(found.mean()), found)


@dataclass(frozen=True)
class Ratio:
    """A figure beside another, with the interval that holds it in 95 % of runs; of one point for exact laws."""

    value: float
    low: float
    high: float

    @property
    def exact(self) -> bool:
        return self.low == self.high


@dataclass(frozen=True)
class Beside:
    """A task at a budget: ours by way of paying, and what each library does."""

    task: Task
    budget: str
    ours: Mapping[str, Buys]
    others: Mapping[str, Buys]

    @property
    def best(self) -> str | None:
        """The library with the least variance, or the most keys."""
        sign = -1 if self.task.kind == "keys" else 1
        able = {name: sign * found.figure for name, found in self.others.items() if not found.gap}
        return min(able, key=lambda name: able[name], default=None)

    @property
    def ratio(self) -> Ratio | None:
        """Ours beside the best, of both ways of paying the worse."""
        if self.best is None:
            return None
        found = [ratio(buys, self.others[self.best]) for buys in self.ours.values()]
        worse = min if self.task.kind == "keys" else max
        return worse(found, key=lambda each: each.value)


def ratio(ours: Buys, other: Buys) -> Ratio:
    """One figure by the other; the interval is a bootstrap's, which draws the draws again."""
    if ours.gap:
        worst = float("nan")
        return Ratio(worst, worst, worst)
    value = ours.figure / other.figure
    if ours.squares is None and other.squares is None:
        return Ratio(value, value, value)
    random = np.random.default_rng(1)
    again = _resampled(ours, random) / _resampled(other, random)
    low, high = np.quantile(again, [0.025, 0.975])
    return Ratio(value, float(low), float(high))


def _resampled(buys: Buys, random: np.random.Generator) -> NDArray[np.float64]:
    if buys.squares is None:
        return np.full(RESAMPLES, buys.figure)
    size = len(buys.squares)
    return np.array([buys.squares[random.integers(0, size, size)].mean() for _ in range(RESAMPLES)])


def measured() -> tuple[list[Beside], dict[str, str]]:
    """All tasks at all budgets, and the versions of the libraries."""
    places = [(task, budget) for task in TASKS for budget in task.budgets()]
    others, versions = dict[str, list[Buys]](), dict[str, str]()
    for library in ENVIRONMENTS:
        others[library], versions[library] = _library(library, [task.job(budget) for task, budget in places])
    found = []
    for place, (task, budget) in enumerate(places):
        beside = {library: answers[place] for library, answers in others.items()}
        found.append(Beside(task, budget, _ours(task, BUDGETS[budget]), beside))
    return found, versions


# ---- other libraries


def _library(name: str, jobs: Sequence[Mapping[str, Any]]) -> tuple[list[Buys], str]:
    try:
        python = peers.environment(*ENVIRONMENTS[name])
        command = [python, str(WORKER), name]
        done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, check=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.CalledProcessError, OSError, ValueError, IndexError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        print(f"{name} is left out, because it could not be installed or run:\n{reason[-600:]}")
        return [Buys("", gap="not measured")] * len(jobs), "not measured"
    return [_buys(each) for each in found["found"]], found["version"]


def _buys(found: Mapping[str, Any] | None) -> Buys:
    if found is None:
        return Buys("", gap="–")
    if "squares" in found:
        return Buys.drawn(found["how"], found["squares"])
    return Buys(found["how"], found["keys"] if "keys" in found else found["variance"])


# ---- ours


class _Noted:
    """Stands at the door and notes which mechanisms release something."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def released(self, mechanism: Mechanism[Any, Any], exact: Exact[Any], value: Any, entropy: Entropy, /) -> Any:
        self.seen.append(mechanism)
        return mechanism.release(value, entropy)


def _ours(task: Task, delta: str | None) -> dict[str, Buys]:
    """By `epsilon` and by `share`; the parts of a budget that many questions share are shares."""
    if task.questions > 1:
        return {"share": _bought(task, delta, {"share": f"{100 // task.questions}%"})}
    return {"epsilon": _bought(task, delta, {"epsilon": EPSILON}), "share": _bought(task, delta, {"share": 1})}


def _bought(task: Task, delta: str | None, price: Mapping[str, Any]) -> Buys:
    noted, groups = _Noted(), DRAWS if task.column else 1
    with _database(task, delta, groups) as db, witnessed(noted):
        try:
            answers = [db.sql(task.sql.format(number)).run(**price) for number in range(task.questions)]
        except dalenius.DaleniusError as error:
            return Buys("", gap=f"refused: {error}")
    how = ", ".join(dict.fromkeys(map(_named, noted.seen)))
    if task.column:
        assert noted.seen == _alone(task, delta, price), "groups have other noise than the question without them"
        column = np.array(COLUMNS[task.column])
        truth = column.mean() if task.kind == "mean" else column.var(ddof=1)
        return Buys.drawn(how, (np.array(answers[0]["n"], dtype=np.float64) - truth) ** 2)
    assert len(noted.seen) == task.questions, f"{task.name} is made of {len(noted.seen)} measurements"
    if task.kind == "keys":
        (mechanism,) = noted.seen
        return Buys(how, _shown(mechanism))
    laws: list[Any] = [getattr(mechanism, "law", None) for mechanism in noted.seen]
    if None in laws:  # a mechanism without a stated law is drawn from
        nothing = np.zeros(DRAWS, dtype=np.int64)
        return Buys.drawn(how, np.asarray(noted.seen[0].release(nothing, system_entropy()), dtype=np.float64) ** 2)
    return Buys(how, float(np.mean([float(law.variance()) for law in laws])))


def _alone(task: Task, delta: str | None, price: Mapping[str, Any]) -> list[Any]:
    """The mechanisms of the same question without groups."""
    noted, question = _Noted(), task.sql.replace("g, ", "").replace(" GROUP BY g", "")
    with _database(task, delta, 1) as db, witnessed(noted):
        db.sql(question).run(**price)
    return noted.seen


def _shown(mechanism: Any) -> float:
    """How many keys are expected to be shown."""
    chances = {count: float(mechanism.keep_probability(count)) for count in set(COUNTS)}
    return sum(chances[count] for count in COUNTS)


def _named(mechanism: Any) -> str:
    """The kind of a mechanism, and of the noise and the selection that it is made of."""
    inner = [getattr(mechanism, part, None) for part in ("selection", "noise")]
    listed = " + ".join(type(part).__name__ for part in inner if part is not None)
    return type(mechanism).__name__ + (f" ({listed})" if listed else "")


def _database(task: Task, delta: str | None, groups: int) -> dalenius.Database:
    """People in so many groups that are alike, under a budget of their own."""
    people = np.arange(groups * PEOPLE)
    table = pa.table(
        {
            "id": people,
            "g": people // PEOPLE,
            "k": pa.array([str(number) for number in range(40)]).take(pa.array(people % 40)),
            "w": pa.array([str(number) for number in range(40)]).take(pa.array(people % 40)),
            **{name: np.tile(values, groups) for name, values in COLUMNS.items()},
        }
    )
    budget = dalenius.Budget(EPSILON, delta) if delta else dalenius.Budget(EPSILON)
    columns = {
        "g": dalenius.Int(0, groups - 1),
        "k": dalenius.Category(*map(str, range(40))),
        "w": dalenius.Text(),
        **{name: dalenius.Int(0, TOP) for name in COLUMNS},
    }
    db = dalenius.create()
    db.add_population("people", budget=budget)
    db.add_table("t", table, population="people", unit="id", columns=columns, max_rows=1, max_groups=task.groups)
    return db
