"""The query systems of other libraries on the table of events, and how many unknown keys each releases."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import peers

WORKER = Path(__file__).with_name("peer_queries.py")
LIMIT = 400
"""The seconds that one question may take, with the load of the table."""

PACKAGES = {
    "OpenDP": ["opendp[polars]>=0.14"],
    "Tumult": ["tmlt.analytics>=0.20"],
    "PipelineDP": ["pipeline-dp>=0.2", "python-dp", "pyarrow"],
    "SmartNoise": ["smartnoise-sql>=1.0", "pyarrow"],
}
ASKED = {  # the quickest first: once a table was too large, the later questions get the smaller one at once
    "OpenDP": ("count", "sum", "users"),
    "Tumult": ("count", "sum", "users", "keys"),
    "PipelineDP": ("keys", "keys, tuned", "count", "users", "users, tuned", "sum"),
    "SmartNoise": ("count", "sum", "users"),
}
NOTES = {
    "OpenDP": """charges for 3 groups of a user and keeps 2; its choice of groups by hash does not run on the Polars
    that it installs, so the first in a made-up order are kept; sums are of whole cents, with the table's length public;
    unknown keys by a threshold on Laplace noise; no keys without a count""",
    "Tumult": """finds keys with half of epsilon and all of delta (3 rows of a user), and counts with the other half;
    its memory is the Java machine's, which may take 4 GB""",
    "PipelineDP": """is local and plain Python; keys by truncated geometric selection, which shares the price with the
    count; tuned means Gaussian noise and a threshold on the noisy number of users""",
    "SmartNoise": """runs on SQLite, and bounds rows alone: 30 of a user per city, 3 per product; known keys cannot be
    given, so those in the data are shown; unknown keys by a threshold on Laplace noise; no keys without a count""",
}


@dataclass(frozen=True)
class PeerQuery:
    """One question to one library: its figures, or why there are none."""

    library: str
    question: str
    rows: int
    seconds: float | None = None
    keys: int | None = None
    memory: int | None = None
    version: str = ""
    gap: str = ""


def measured(tables: Mapping[int, Path], libraries: Sequence[str] = tuple(PACKAGES)) -> list[PeerQuery]:
    """All questions to all libraries, on the largest of these tables (by their number of rows) that each can do.

    A library that cannot be installed, fails or takes too long leaves a gap.
    """
    found = []
    for library in libraries:
        python, gap = _installed(library)
        sizes = sorted(tables, reverse=True)
        for question in ASKED[library]:
            result = _asked(python, library, question, tables, sizes) if python else None
            found.append(result or PeerQuery(library, question, sizes[0], gap=gap))
            sizes = [size for size in sizes if result is None or size <= result.rows]
    return found


def _installed(library: str) -> tuple[str | None, str]:
    try:
        return peers.environment(library.lower(), PACKAGES[library]), ""
    except (subprocess.CalledProcessError, OSError) as error:
        return None, f"cannot be installed: {_last_line(getattr(error, 'stderr', None) or str(error))}"


def _asked(python: str, library: str, question: str, tables: Mapping[int, Path], sizes: Sequence[int]) -> PeerQuery:
    """The question at the largest size that keeps the time limit; whatever else goes wrong is final."""
    for size in sizes:
        command = [python, str(WORKER), library, question, str(tables[size])]
        try:
            done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=LIMIT)
            return PeerQuery(library, question, size, **json.loads(done.stdout.splitlines()[-1]))
        except subprocess.TimeoutExpired:
            continue
        except (subprocess.CalledProcessError, OSError, ValueError, IndexError) as error:
            return PeerQuery(library, question, size, gap=f"failed: {_last_line(getattr(error, 'stderr', '') or '')}")
    return PeerQuery(library, question, sizes[-1], gap=f"more than {LIMIT} s")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else "without a word"


def nearest(ours: Mapping[int, Mapping[str, int]], others: Sequence[PeerQuery], question: str) -> PeerQuery | None:
    """Who released the most keys for a question, tuned or not, beside ours on the table of the same size."""
    asked = [each for each in others if each.question.split(",")[0] == question and each.keys]
    return min(asked, key=lambda each: ratio(ours, each), default=None)


def ratio(ours: Mapping[int, Mapping[str, int]], peer: PeerQuery) -> float:
    """Our keys beside theirs. `ours` has them by rows of the table and by question."""
    assert peer.keys
    return ours[peer.rows][peer.question.split(",")[0]] / peer.keys
