"""`python -m benchmarks [draws] [questions] [scale] [ledger] [server] [libraries] [synthetic] [ranges] [online]
[learning] [prices]`: measure, print, write benchmarks/results/, and fail if a limit is missed. Without names all parts
but `scale` run: some minutes each, half an hour for other libraries. `scale` takes hours for its 100 million rows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import learning as models
from benchmarks import learning_report, peers, planning, price_report, prices, queries, query_peers, released_keys
from benchmarks import ledger as ledgers
from benchmarks import online as sessions
from benchmarks import ranges as range_sets
from benchmarks import scale as scales
from benchmarks import server as servers
from benchmarks import synthetic as synthetics
from benchmarks.accuracy import accuracies
from benchmarks.draws import CASES, LAWS, fresh_scale_latency, speeds
from benchmarks.limits import (
    Limit,
    key_limits,
    ledger_limits,
    planning_limits,
    process_limits,
    query_limits,
    scale_limits,
    server_limits,
    speed_limits,
    timing_limits,
)
from benchmarks.processes import peak_memory, start_times
from benchmarks.report import (
    accuracy_section,
    ledger_section,
    limits_section,
    peer_section,
    planning_section,
    query_section,
    server_section,
    speed_section,
    starts_section,
    timing_section,
)
from benchmarks.scale_report import scale_section
from benchmarks.timing import correlations, planted_correlation

RESULTS = Path(__file__).with_name("results")
SMALLER = 10**6
"""The rows of the table that libraries get which are too slow for the large one."""

Part = Callable[[], tuple[list[str], list[Limit]]]


def draws() -> tuple[list[str], list[Limit]]:
    """Exact noise beside NumPy and other libraries."""
    memory, starts = peak_memory(), start_times()
    ours, others = speeds(), peers.measure()
    timing, planted = correlations(), planted_correlation()
    opendp = {case: rate for case in CASES if (rate := peers.rate(others, "opendp", *case, "bulk"))}
    latencies = {law: fresh_scale_latency(law) for law in LAWS}
    limits = [
        *speed_limits(ours, opendp),
        *process_limits(latencies, memory, starts),
        *timing_limits(timing, planted),
    ]
    sections = [speed_section(ours, others), starts_section(starts), timing_section(timing, planted)]
    return [*sections, accuracy_section(accuracies())], limits


def questions() -> tuple[list[str], list[Limit]]:
    """Questions on DuckDB beside SQL written by hand, and how long planning takes."""
    asked, planned = queries.measured(queries.EVENT_ROWS), planning.measured()
    limits = [*query_limits(asked), *planning_limits(planned)]
    return [query_section(asked), planning_section(planned)], limits


def scale() -> tuple[list[str], list[Limit]]:
    """The same questions at growing sizes, on DuckDB and Spark."""
    runs = scales.measured()
    return [scale_section(runs)], scale_limits(runs)


def ledger() -> tuple[list[str], list[Limit]]:
    """Durable charges a second, and the recount."""
    run = ledgers.measured()
    return [ledger_section(run)], ledger_limits(run)


def server() -> tuple[list[str], list[Limit]]:
    """Many analysts at once over HTTP."""
    run = servers.measured()
    return [server_section(run)], server_limits(run)


def libraries() -> tuple[list[str], list[Limit]]:
    """The keys that we release, and what other libraries do on the same tables."""
    with tempfile.TemporaryDirectory(prefix="dalenius-bench-") as folder:
        tables = {size: Path(folder) / f"{size}.parquet" for size in (queries.EVENT_ROWS, SMALLER)}
        for size, path in tables.items():
            subprocess.run([sys.executable, "-m", "benchmarks.events", str(path), str(size)], check=True)
        found, others = (
            {size: released_keys.measured(path) for size, path in tables.items()},
            query_peers.measured(tables),
        )
    return [peer_section(found, others)], key_limits(released_keys.numbers(found), others)


def synthetic() -> tuple[list[str], list[Limit]]:
    """Synthetic tables of real data."""
    runs = synthetics.measured()
    return [synthetics.synthetic_section(runs)], synthetics.synthetic_limits(runs)


def ranges() -> tuple[list[str], list[Limit]]:
    """Strategies for ranges, on known workloads and real histograms."""
    best, found, held = (
        range_sets.optima(),
        range_sets.sets(range_sets.histograms(), range_sets.RUNS),
        range_sets.sets(range_sets.held_out(), range_sets.HELD_RUNS),
    )
    return [range_sets.section(best, found, held)], range_sets.limits(best, found, held)


def online() -> tuple[list[str], list[Limit]]:
    """Online sessions against an adversary."""
    found = sessions.measured()
    return [sessions.section(found)], sessions.limits(found)


def learning() -> tuple[list[str], list[Limit]]:
    """Models and statistics of real data, beside other libraries."""
    found = models.measured()
    return [learning_report.section(found)], learning_report.limits(found)


def accuracy_for_a_price() -> tuple[list[str], list[Limit]]:
    """What one price buys beside other libraries."""
    found, versions = prices.measured()
    return [price_report.section(found, versions)], price_report.limits(found)


PARTS: dict[str, Part] = {
    "draws": draws,
    "questions": questions,
    "scale": scale,
    "ledger": ledger,
    "server": server,
    "libraries": libraries,
    "synthetic": synthetic,
    "ranges": ranges,
    "online": online,
    "learning": learning,
    "prices": accuracy_for_a_price,
}


def main(names: list[str]) -> None:
    missed: list[Limit] = []
    for name in names or [name for name in PARTS if name != "scale"]:
        sections, limits = PARTS[name]()
        text = "\n".join([*sections, limits_section(limits)])
        (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
        print(text)
        missed += [limit for limit in limits if limit.missed]
    if missed:
        sys.exit("\n".join(f"Limit missed: {limit}" for limit in missed))


if __name__ == "__main__":
    main(sys.argv[1:])
