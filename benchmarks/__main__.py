"""`python -m benchmarks`: measure, print, and write benchmarks/results.md."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import draws, peers

RESULTS = Path(__file__).with_name("results.md")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rate(value: float | None) -> str:
    """Draws per second, for readers."""
    if value is None:
        return "–"
    return f"{value / 1e6:.3g} M" if value >= 1e6 else f"{value / 1e3:.3g} k"


def power(scale: int) -> str:
    digits = len(str(scale)) - 1
    return f"10^{digits}" if digits > 1 else str(scale)


def speed_table(found: dict[tuple[str, int], draws.Speed], others: dict[str, Any]) -> str:
    rows = []
    for (law, scale), speed in found.items():
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
    return table(head, rows)


def limits_table() -> str:
    worst, planted = draws.correlations()
    memory, ratio = draws.peak_memory(), draws.import_ratio()
    latencies = [(law, draws.fresh_scale_latency(law) * 1e6) for law in draws.LAWS]
    rows = [[f"one {law} draw at a scale never used before", f"{found:.1f} µs", "30 µs"] for law, found in latencies]
    rows += [
        ["correlation of size and time, farthest from 0", f"{worst:+.4f}", "0.02"],
        ["the same of a planted loop (must be seen)", f"{planted:+.2f}", "at least 0.3"],
        ["peak memory of 10^7 draws", f"{memory / 1e6:.0f} MB", "1000 MB"],
        ["`import dalenius` beside `import numpy`", f"{ratio:.2f}", "1.5"],
    ]
    return table(["measured", "found", "limit"], rows)


def report() -> str:
    found, others = draws.speeds(), peers.measure()
    versions = [f"{name} {entry.get('version', 'not measured')}" for name, entry in others.items()]
    about = ", ".join([f"Python {platform.python_version()}", f"NumPy {np.__version__}", *versions])
    return f"""# Draws per second

{about}; one run on one machine, so read the ratios. NumPy's float Laplace is the insecure floor: it is neither
exact nor from the operating system's entropy. OpenDP's vectors have 50,000 entries, one call each; diffprivlib has no
vector call, its geometric noise is float arithmetic, and its discrete Gaussian slows down with the scale. The scale of
a Gaussian is its standard deviation.

{speed_table(found, others)}

{limits_table()}
"""


if __name__ == "__main__":
    text = report()
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
