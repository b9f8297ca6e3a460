"""The tables of benchmarks/results/."""

from __future__ import annotations

import os
import platform
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import peers, query_peers
from benchmarks.accuracy import Accuracy
from benchmarks.draws import Speed
from benchmarks.ledger import LedgerRun
from benchmarks.limits import Case, Limit, power
from benchmarks.processes import FIRST_DRAWS
from benchmarks.queries import GROUPS, ROWS, THREADS, QueryRun
from benchmarks.query_peers import PeerQuery
from benchmarks.released_keys import Released
from benchmarks.server import ANALYSTS, ATTEMPTS, TOO_MUCH, ServerRun, Times
from benchmarks.timing import Correlation


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def paragraph(text: str) -> str:
    """The text in lines of even length."""
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False)


def rate(value: float | None) -> str:
    """Draws per second, for readers."""
    if value is None:
        return "–"
    return f"{value / 1e6:.3g} M" if value >= 1e6 else f"{value / 1e3:.3g} k"


def speed_section(speeds: Mapping[Case, Speed], others: dict[str, Any]) -> str:
    rows = []
    for (law, scale), speed in speeds.items():
        vector = peers.rate(others, "opendp", law, scale, "bulk")
        rows.append(
            [
                law,
                power(scale),
                rate(speed.single),
                rate(speed.bulk),
                rate(speed.numpy),
                f"{speed.ratio:.2f}",
                rate(peers.rate(others, "opendp", law, scale, "single")),
                rate(vector),
                f"{speed.bulk / vector:.0f}" if vector else "–",
                rate(peers.rate(others, "diffprivlib", law, scale, "single")),
            ]
        )
    head = ["law", "scale", "one at a time", "10^6 at a time", "NumPy float Laplace", "ratio to NumPy",
            "OpenDP one", "OpenDP vector", "ratio to OpenDP", "diffprivlib one"]  # fmt: skip
    versions = [f"{name} {others.get(name, {}).get('version', 'not measured')}" for name in ("opendp", "diffprivlib")]
    software = ", ".join([f"Python {platform.python_version()}", f"NumPy {np.__version__}", *versions])
    text = f"""{software}; one run, at a load of {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, so read the ratios.
    NumPy's float Laplace is the insecure floor: it is neither exact nor from the operating system's entropy; it is
    measured anew beside each row, and the ratios are those of the printed medians. OpenDP's vectors have 50,000
    entries, one call each; diffprivlib has no vector call, its geometric noise is float arithmetic, and its discrete
    Gaussian slows down with the scale. The scale of a Gaussian is its standard deviation."""
    return f"""# Draws per second

{table(head, rows)}

{paragraph(text)}
"""


def limits_section(limits: Sequence[Limit]) -> str:
    rows = [[limit.what, limit.figure, limit.allowed, limit.verdict] for limit in limits]
    return f"""## Limits

`make bench` fails if one is missed. Of several cases the worst is named.

{table(["measured", "found", "allowed", "verdict"], rows)}
"""


def starts_section(starts: Mapping[str, float]) -> str:
    rows = [[name, f"{starts[name] * 1e3:.0f} ms"] for name in FIRST_DRAWS]
    return f"""## Import and first draw

In a fresh process, without the start of Python itself.

{table(["library", "time"], rows)}
"""


def planning_section(planned: Mapping[str, float]) -> str:
    rows = [[name, f"{seconds * 1e3:.1f} ms"] for name, seconds in planned.items()]
    return f"""## Planning

From the text of a question to its price: the median of some rounds. No data is read.

{table(["question", "time"], rows)}
"""


def ledger_section(run: LedgerRun) -> str:
    rows = [[name, f"{charges:,.0f}"] for name, charges in run.charges.items()]
    text = f"""A charge is done when it is on the disk, and so is the mark in another file; three accounts are compared
    and charged each time. Who asks at the same time in one process shares a commit. The disk gave {run.syncs:,.0f}
    commits a second of one row in a bare SQLite file, at a load of {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.
    The recount of chain and balances took {run.entries / run.checked:.1f} s for {run.entries:,} entries,
    {run.checked:,.0f} a second; opening this ledger took {run.started:.1f} s in all."""
    return f"""# The ledger

{table(["who asks", "durable charges a second"], rows)}

{paragraph(text)}
"""


def server_section(run: ServerRun) -> str:
    rows = [
        [
            load.pace, f"{load.replies:.1f}", *_quantiles(load.price), *_quantiles(load.run),
            f"{len(load.run.seconds):,}", str(len(load.errors)),
        ]
        for load in run.loads
    ]  # fmt: skip
    text = f"""{ANALYSTS} analysts at once on the demo's table of {run.rows:,} people, each with a token of its own: one
    sees a price, pays for an answer with fresh noise, and goes on to the next of five questions, for
    {run.loads[0].seconds:.0f} s at each pace. `dalenius serve` ran with {run.workers} workers and the default grid of
    50 ms on {os.cpu_count()} cores, which the analysts' programs shared, at a load of {os.getloadavg()[0]:.1f}. Without
    a pause everybody always waits, so that times tell the throughput alone. At last everybody asked {ATTEMPTS} times
    for {TOO_MUCH} of the budget: {len(run.rush.receipts)} were answered and {run.refused} refused. The recount of the
    ledger found {run.charges:,} charges for {run.answered:,} answers, and that {100 * run.spent:.2f} % was spent."""
    heads = ["pace", "replies/s", "price p50", "price p99", "run p50", "run p99", "answers", "errors"]
    return f"""# The server

{table(heads, rows)}

{paragraph(text)}
"""


def _quantiles(times: Times) -> list[str]:
    return [f"{times.quantile(part):.2f} s" for part in (0.5, 0.99)]


def query_section(run: QueryRun) -> str:
    rows = [
        [it.question, f"{it.by_hand:.2f} s", f"{it.ours:.2f} s", f"{it.ratio:.2f}", f"{it.work_ratio:.2f}"]
        for it in run.speeds
    ]
    text = f"""{run.rows:,} events of a tenth as many users, 1,000 cities and 50,000 products; of one user at most
    {GROUPS} groups with {ROWS} rows each; {THREADS} threads; the best of three runs, at
    a load of {os.getloadavg()[0]:.1f}. By hand is the quickest of several
    spellings for DuckDB on the plain table, with the same bounding and no noise. Ours runs on the snapshot: sorted by
    user, texts as codes. Its import took {run.imported:.0f} s, and the questions took at most
    {run.memory / 1e6:.0f} MB of memory."""
    return f"""# Questions on DuckDB

{table(["question", "by hand", "Dalenius", "ratio", "ratio of processor time"], rows)}

{paragraph(text)}
"""


QUESTIONS = {
    "count": "count per city",
    "sum": "bounded sum per city",
    "users": "distinct users per product",
    "users, tuned": "distinct users per product, tuned",
    "keys": "products alone",
    "keys, tuned": "products alone, tuned",
}


def peer_section(ours: Mapping[int, Mapping[str, Released]], others: Sequence[PeerQuery]) -> str:
    lines = [
        ["Dalenius", QUESTIONS[name], f"{rows:,}", *_figures(it.seconds, it.keys, it.memory)]
        for rows, questions in ours.items()
        for name, it in questions.items()
    ]
    lines += [[it.library, QUESTIONS[it.question], f"{it.rows:,}", *_peer_figures(it)] for it in others]
    versions = {it.library: it.version for it in others if it.version}
    notes = [f"{name} {versions.get(name, '(not measured)')} {note}." for name, note in query_peers.NOTES.items()]
    text = f"""Each question costs ε = 1 and δ = 10^-6 in all, and takes {GROUPS} groups of a user with {ROWS} rows in
    each, or the nearest that the library offers. Seconds are those of the query, without loading the table (Dalenius:
    from SQL to the answer, without the import); memory is the peak of the whole process, with the load. Cities are
    known, and 1,000; of the 50,000 products only those are shown that were found privately. {" ".join(notes)}"""
    return f"""# Other libraries on the same table

{table(["library", "question", "rows", "time", "keys shown", "peak memory"], lines)}

{paragraph(text)}
"""


def _peer_figures(found: PeerQuery) -> list[str]:
    return [found.gap, "–", "–"] if found.gap else _figures(found.seconds, found.keys, found.memory)


def _figures(seconds: float | None, keys: int | None, memory: int | None) -> list[str]:
    return [
        "–" if seconds is None else f"{seconds:.1f} s",
        "–" if keys is None else f"{keys:,}",
        "–" if memory is None else f"{memory / 1e6:,.0f} MB",
    ]


def timing_section(found: Mapping[Case, Correlation], planted: Correlation) -> str:
    cases = [(law, power(scale), figures) for (law, scale), figures in found.items()]
    rows = [
        [law, scale, *(f"{x:+.4f}" for x in (it.one_run, it.plain, it.clipped)), f"{it.slowest:.1%}"]
        for law, scale, it in [*cases, ("planted loop", "10", planted)]
    ]
    head = ["law", "scale", "one run, plain", "5 runs, plain", "5 runs, clipped", "variance in the slowest 1 %"]
    beyond = sum(abs(figures.one_run) > 0.02 for figures in found.values())
    text = f"""A run is 20,000 draws, each timed alone; "5 runs" are means. "Clipped" cuts the slowest 1 % of the times
    of a run down to its 99 % quantile. The limit of 0.02 binds both means. Their standard deviation is 0.003 without
    any relation; three times that and more points to a faint one. The limit does not bind the single run, whose
    standard deviation is 0.007, so that one case in 200 or more passes 0.02 by chance; this time {beyond} of
    {len(found)} did. Clipping shows a relation in the common times, but hides one that only the slowest 1 % have; the
    plain mean keeps that one. {_interruptions(planted)}"""
    return f"""## Correlation of size and time

{table(head, rows)}

{paragraph(text)}
"""


def _interruptions(planted: Correlation) -> str:
    if planted.slowest < 0.5:
        return "In this run interruptions do not dominate: the planted loop is seen without clipping too."
    return f"""In this run interruptions by other processes dominate the plain figures: the slowest 1 % hold
    {planted.slowest:.1%} of the variance of the planted loop's times, and its correlation shows as {planted.plain:+.2f}
    plain, {planted.clipped:+.2f} clipped. So a small plain figure alone proves little."""


def accuracy_section(found: Iterable[Accuracy]) -> str:
    rows = [[it.law, str(it.count), str(it.discrete), f"{it.continuous:.2f}"] for it in found]
    return f"""## Error

{table(["law", "values", "discrete, exact", "continuous"], rows)}

What the noise of all values together exceeds with probability at most 5 %, at sensitivity 1 and ε = 1; the Gaussian at
δ = 10^-9, each with its least variance. Continuous Laplace is the textbook's ln(values / 0.05) / ε.
"""
