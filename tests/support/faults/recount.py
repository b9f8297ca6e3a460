"""An independent recount of a ledger's file: chain, spending and answers, by code apart from the ledger's.

It opens the file by itself, reads the entries as JSON, and adds up.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Recount:
    """What the entries of a ledger say. `spent` is by account path, in units of divergence."""

    problems: list[str] = field(default_factory=list)
    caps: dict[tuple[str, ...], int] = field(default_factory=dict)
    spent: Counter[tuple[str, ...]] = field(default_factory=Counter)
    charges: dict[str, int] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    entries: int = 0
    reconciled: bool = False


def recount(path: Path) -> Recount:
    """Read a ledger that nobody writes to now."""
    with closing(sqlite3.connect(path)) as connection:
        entries = connection.execute("SELECT number, body, hash FROM entries ORDER BY number").fetchall()
        texts = dict(connection.execute("SELECT hash, body FROM texts").fetchall())
        answers = connection.execute("SELECT receipt, pieces FROM answers").fetchall()
        bodies = {receipt: _joined(pieces, texts) for receipt, pieces in answers}
        spent = connection.execute("SELECT path, sum(divergence) FROM spent GROUP BY path").fetchall()
    found, last = Recount(entries=len(entries)), "0" * 64
    for place, (number, body, written) in enumerate(entries, start=1):
        last = hashlib.sha256(f"{last}\n{body}".encode()).hexdigest()
        if (number, written) != (place, last):
            found.problems.append(f"entry {number} is out of the chain")
        _count(found, json.loads(body), bodies)
    _compare(found, bodies, {tuple(json.loads(path)): total for path, total in spent})
    return found


def _joined(pieces: str, texts: dict[str, bytes]) -> str:
    named = [pieces[place : place + 64] for place in range(0, len(pieces), 64)]
    return b"".join(zlib.decompress(texts[name]) for name in named).decode()


def _count(found: Recount, entry: dict[str, Any], bodies: dict[str, str]) -> None:
    kind = entry["kind"]
    if kind == "account":
        found.caps[tuple(entry["account"])] = entry["terms"]["cap"][0]
    elif kind in ("charge", "read"):
        for charge in entry["charges"]:
            path = tuple(charge["account"])
            for length in range(1 if kind == "charge" else 2, len(path) + 1):
                found.spent[path[:length]] += charge["amount"][0]
        if kind == "charge":
            found.charges[entry["receipt"]] = sum(charge["amount"][0] for charge in entry["charges"])
    elif kind == "reconciled":
        found.reconciled = True
        for charge in entry["raised"]:
            found.spent[tuple(charge["account"])] += charge["amount"][0]
    elif kind == "answer":
        body = bodies.get(entry["receipt"])
        if body is None or hashlib.sha256(body.encode()).hexdigest() != entry["sha256"]:
            found.problems.append("a stored answer is not the one that was released")
        else:
            found.answers[entry["receipt"]] = body


def _compare(found: Recount, bodies: dict[str, str], kept: dict[tuple[str, ...], int]) -> None:
    if set(bodies) != set(found.answers):
        found.problems.append("there are answers that no entry speaks of")
    if set(found.answers) - set(found.charges):
        found.problems.append("there is an answer without a charge")
    if {path: total for path, total in found.spent.items() if total} != {path: n for path, n in kept.items() if n}:
        found.problems.append("the balances are not the sums of the charges")
    for path, total in found.spent.items():
        if total > found.caps[path] and not found.reconciled:
            found.problems.append(f"{path} passed its cap")
