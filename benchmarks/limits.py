"""The bounds that a run of the benchmark has to keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.draws import Speed
from benchmarks.ledger import LedgerRun
from benchmarks.queries import OURS, QueryRun
from benchmarks.query_peers import PeerQuery, nearest, ratio
from benchmarks.scale import CAP, Scaled, System, growth
from benchmarks.server import ServerRun
from benchmarks.timing import Correlation

Case = tuple[str, int]


@dataclass(frozen=True)
class Limit:
    """A figure and its bound. A figure that could not be measured is a gap, not a miss."""

    what: str
    found: float | None
    bound: float
    unit: str = ""
    at_least: bool = False

    @property
    def missed(self) -> bool:
        if self.found is None:
            return False
        return not (self.found >= self.bound if self.at_least else abs(self.found) <= self.bound)

    @property
    def figure(self) -> str:
        if self.found is None:
            return "–"
        return f"{self.found:.0f}{self.unit}" if abs(self.found) >= 100 else f"{self.found:.3g}{self.unit}"

    @property
    def allowed(self) -> str:
        return f"at {'least' if self.at_least else 'most'} {self.bound:g}{self.unit}"

    @property
    def verdict(self) -> str:
        return "not measured" if self.found is None else "MISSED" if self.missed else "kept"

    def __str__(self) -> str:
        return f"{self.what}: {self.figure}, allowed is {self.allowed}"


def speed_limits(speeds: Mapping[Case, Speed], opendp: Mapping[Case, float]) -> list[Limit]:
    """The slowest case beside NumPy, and beside OpenDP's vectors where these were measured."""
    slow = min(speeds, key=lambda case: speeds[case].ratio)
    ratios = {case: speeds[case].bulk / rate for case, rate in opendp.items()}
    near = min(ratios, key=lambda case: ratios[case], default=None)
    return [
        Limit(f"10^6 draws beside NumPy, {named(slow)}", speeds[slow].ratio, 0.8, " ×", at_least=True),
        Limit(f"10^6 draws beside OpenDP, {named(near)}", ratios.get(near), 100, " ×", at_least=True)
        if near
        else Limit("10^6 draws beside OpenDP", None, 100, " ×", at_least=True),
    ]


def timing_limits(found: Mapping[Case, Correlation], planted: Correlation) -> list[Limit]:
    """The cases whose means are farthest from 0; and the planted loop, which must be seen."""
    plain = max(found, key=lambda case: abs(found[case].plain))
    clipped = max(found, key=lambda case: abs(found[case].clipped))
    return [
        Limit(f"correlation of size and time, plain, {named(plain)}", found[plain].plain, 0.02),
        Limit(f"correlation of size and time, clipped, {named(clipped)}", found[clipped].clipped, 0.02),
        Limit("the same, clipped, of a planted loop", planted.clipped, 0.3, at_least=True),
    ]


def process_limits(
    latencies: Mapping[str, float], memory: Mapping[str, int], starts: Mapping[str, float]
) -> list[Limit]:
    """One draw at a new scale, the memory of many, and the import."""
    return [
        *(
            Limit(f"one {law} draw at a scale never used before, median", x * 1e6, 30, " µs")
            for law, x in latencies.items()
        ),
        *(Limit(f"peak memory of 10^7 {law} draws", x / 1e6, 1000, " MB") for law, x in memory.items()),
        Limit("`import dalenius` beside `import numpy`", starts["Dalenius"] / starts["NumPy"], 1.5, " ×"),
    ]


def query_limits(run: QueryRun) -> list[Limit]:
    """Each question beside the best SQL by hand, and the memory of all of them."""
    return [
        *(Limit(f"{each.question}, beside SQL by hand", each.ratio, 1.2, " ×") for each in run.speeds),
        Limit("peak memory of these questions", run.memory / 1e6, 2000, " MB"),
    ]


def scale_limits(runs: Mapping[System, Sequence[Scaled]]) -> list[Limit]:
    """The memory of every run, and how a row's cost grows at last on DuckDB; Spark shows it and is not bound.

    The clock alone would be kept by a machine that was busy while it had the smaller table."""
    memory = [Limit(f"peak memory, {system}, {run.rows:,} rows", run.memory / 1e9, CAP / 1e9, " GB")
              for system, found in runs.items() for run in found]  # fmt: skip
    duckdb = runs.get("DuckDB", ())
    steps = {question: growth(duckdb, question)[-1] for question in OURS} if len(duckdb) > 1 else {}
    grown = [
        Limit(f"{question} on DuckDB, {what} per row at {step.large:,} rows beside {step.small:,}", found, 1.3, " ×")
        for question, step in steps.items()
        for what, found in (("time", step.per_row), ("processor", step.work_per_row))
    ]
    return [*memory, *grown]


def planning_limits(planned: Mapping[str, float]) -> list[Limit]:
    """From text to price."""
    worst = max(planned, key=lambda name: planned[name])
    return [Limit(f"planning, {worst}", planned[worst] * 1e3, 20, " ms")]


def ledger_limits(run: LedgerRun) -> list[Limit]:
    """Charges that are on the disk, and the recount of a long ledger."""
    return [
        Limit("durable charges a second, 32 threads", run.charges["32 threads"], 500, at_least=True),
        Limit("durable charges a second, the slowest way", min(run.charges.values()), 50, at_least=True),
        Limit("a recount of 100,000 entries", 100_000 / run.checked, 20, " s"),
    ]


def server_limits(run: ServerRun) -> list[Limit]:
    """No error, no overspending, and replies that people can wait for."""
    paced = run.loads[-1]
    return [
        Limit("replies that were errors", run.errors, 0),
        Limit("charges beside those that were answered", run.charges - run.answered, 0),
        Limit("share of the budget that was spent", run.spent, 1),
        Limit("refusals when all ask for more than there is", run.refused, 1, at_least=True),
        Limit("a ledger that is sound", float(run.sound), 1, at_least=True),
        Limit(f"p99 of a priced reply, {paced.pace}", paced.price.quantile(0.99), 2, " s"),
    ]


def key_limits(ours: Mapping[int, Mapping[str, int]], others: Sequence[PeerQuery]) -> list[Limit]:
    """The keys that we find beside the most of any other library, at equal price, bounding and table.

    `ours` has their number by rows of the table and by question. Where counts are shown too, libraries split the price
    differently between keys and counts, so that number is a figure of the table and no limit.
    """
    peer = nearest(ours, others, "keys")
    name = f"{peer.library} ({peer.question}, {peer.rows:,} rows)" if peer else "other libraries"
    return [Limit(f"unknown keys found, beside {name}", ratio(ours, peer) if peer else None, 1, " ×", at_least=True)]


def named(case: Case) -> str:
    """A law and its scale, for readers."""
    return f"{case[0]} {power(case[1])}"


def power(scale: int) -> str:
    digits = len(str(scale)) - 1
    return f"10^{digits}" if digits > 1 else str(scale)
