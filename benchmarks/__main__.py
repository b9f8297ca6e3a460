"""`python -m benchmarks`: measure, print, write benchmarks/results.md, and fail if a limit is missed."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import peers
from benchmarks.accuracy import accuracies
from benchmarks.draws import CASES, LAWS, fresh_scale_latency, speeds
from benchmarks.limits import Limit, process_limits, speed_limits, timing_limits
from benchmarks.processes import peak_memory, start_times
from benchmarks.report import accuracy_section, limits_section, speed_section, timing_section
from benchmarks.timing import correlations, planted_correlation

RESULTS = Path(__file__).with_name("results.md")


def measured() -> tuple[str, list[Limit]]:
    """The report, and the limits that it missed."""
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
    sections = [
        speed_section(ours, others),
        limits_section(limits, starts),
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
