"""`python -m benchmarks`: measure, print, write benchmarks/results.md, and fail if a limit is missed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import peers, queries, query_peers, released_keys
from benchmarks.accuracy import accuracies
from benchmarks.draws import CASES, LAWS, fresh_scale_latency, speeds
from benchmarks.limits import Limit, key_limits, process_limits, query_limits, speed_limits, timing_limits
from benchmarks.processes import peak_memory, start_times
from benchmarks.report import (
    accuracy_section,
    limits_section,
    peer_section,
    query_section,
    speed_section,
    timing_section,
)
from benchmarks.timing import correlations, planted_correlation

RESULTS = Path(__file__).with_name("results.md")
SMALLER = 10**6
"""The rows of the table that libraries get which are too slow for the large one."""


def beside_peers(rows: int) -> tuple[dict[int, dict[str, released_keys.Released]], list[query_peers.PeerQuery]]:
    """The keys that we release, by rows of the table, and what other libraries do on the same tables."""
    with tempfile.TemporaryDirectory(prefix="dalenius-bench-") as folder:
        tables = {size: Path(folder) / f"{size}.parquet" for size in (rows, SMALLER)}
        for size, path in tables.items():
            subprocess.run([sys.executable, "-m", "benchmarks.events", str(path), str(size)], check=True)
        ours = {size: released_keys.measured(path) for size, path in tables.items()}
        return ours, query_peers.measured(tables)


def measured() -> tuple[str, list[Limit]]:
    """The report, and the limits that it missed."""
    memory, starts = peak_memory(), start_times()
    asked = queries.measured(queries.EVENT_ROWS)
    found, libraries = beside_peers(queries.EVENT_ROWS)
    ours, others = speeds(), peers.measure()
    timing, planted = correlations(), planted_correlation()
    opendp = {case: rate for case in CASES if (rate := peers.rate(others, "opendp", *case, "bulk"))}
    latencies = {law: fresh_scale_latency(law) for law in LAWS}
    limits = [
        *speed_limits(ours, opendp),
        *process_limits(latencies, memory, starts),
        *timing_limits(timing, planted),
        *query_limits(asked),
        *key_limits(released_keys.numbers(found), libraries),
    ]
    sections = [
        speed_section(ours, others),
        limits_section(limits, starts),
        query_section(asked),
        peer_section(found, libraries),
        timing_section(timing, planted),
        accuracy_section(accuracies()),
    ]
    return "\n".join(sections), [limit for limit in limits if limit.missed]


def main() -> None:
    text, missed = measured()
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    if missed:
        sys.exit("\n".join(f"Limit missed: {limit}" for limit in missed))


if __name__ == "__main__":
    main()
