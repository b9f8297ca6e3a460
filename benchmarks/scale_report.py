"""The tables of benchmarks/results/scale.md."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from benchmarks.queries import GROUPS, OURS, ROWS
from benchmarks.report import paragraph, table
from benchmarks.scale import CAP, CORES, DUCKDB_MEMORY, REGISTER, SPARK_HEAP, Scaled, System, growth


def scale_section(runs: Mapping[System, Sequence[Scaled]]) -> str:
    every = [run for found in runs.values() for run in found]
    rows = [
        [
            run.system, question, f"{run.rows:,}", f"{run.ours.seconds[question]:.2f} s",
            f"{run.per_million(question):.3f} s", f"{run.work_per_million(question):.3f} s",
            f"{run.ratio(question):.1f}",
        ]
        for run in every
        for question in OURS
    ]  # fmt: skip
    head = ["engine", "question", "rows", "time", "per million rows", "processor, per million", "beside plain SQL"]
    text = f"""Events of a tenth as many users, 1,000 cities and 50,000 products; of one user at most {GROUPS} groups
    with {ROWS} rows each; {CORES} cores; the better of two rounds, one at the largest size; at a load of
    {os.getloadavg()[0]:.1f}. Each line's engine has a process of its own and may take {CAP / 1e9:.0f} GB in all:
    DuckDB's memory_limit is {DUCKDB_MEMORY}, and Spark's heap {SPARK_HEAP}. Plain SQL bounds nobody and adds no noise:
    DuckDB over its own table, Spark over the same file."""
    return f"""# Scale

{table(head, rows)}

{paragraph(text)}

## Taking a table in, and memory

{
        table(
            ["engine", "rows", "register", "plain copy", "memory to register", "memory to ask", "of these Java"],
            map(_taken, every),
        )
    }

{paragraph("DuckDB imports the file into a snapshot; Spark leaves it where it is and looks once for empty values.")}

## Growth

{table(["engine", "question", "rows", "time per row", "processor per row", "slope"], _growths(runs))}

{paragraph("Beside the size before; the slope is b in seconds = a × rows^b, where 1 is linear.")}
"""


def _taken(run: Scaled) -> list[str]:
    plain = run.plain.seconds.get(REGISTER)
    return [
        run.system, f"{run.rows:,}", f"{run.taken.seconds[REGISTER]:.1f} s", "–" if plain is None else f"{plain:.1f} s",
        *(f"{(part.memory + part.java) / 1e9:.2f} GB" for part in (run.taken, run.ours)),
        f"{run.ours.java / 1e9:.2f} GB",
    ]  # fmt: skip


def _growths(runs: Mapping[System, Sequence[Scaled]]) -> list[list[str]]:
    return [
        [
            system,
            question,
            f"{step.large:,}",
            f"{step.per_row:.2f} ×",
            f"{step.work_per_row:.2f} ×",
            f"{step.slope:.2f}",
        ]
        for system, found in runs.items()
        for question in OURS
        for step in growth(found, question)
    ]
