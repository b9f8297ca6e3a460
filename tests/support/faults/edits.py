"""Edits of a ledger by somebody who can write its file and knows how it is made."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

Edit = Callable[[sqlite3.Connection], None]
Hashes = Literal["none", "its own", "all later"]


def edited(path: Path, edit: Edit) -> None:
    """Change a ledger behind its back; what guards it inside the file is taken away first, and put back after."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        edit(connection)
        for _, sql in guards:
            connection.execute(sql)


def changed(place: float, hashes: Hashes, change: Callable[[dict[str, Any]], None], *, kind: str = "charge") -> Edit:
    """An edit of one entry of a kind, the first at 0 and the last at 1, and of as many hashes as somebody thinks of."""

    def edit(connection: sqlite3.Connection) -> None:
        entries = connection.execute("SELECT number, body FROM entries ORDER BY number").fetchall()
        numbers = [number for number, body in entries if json.loads(body)["kind"] == kind]
        number = numbers[round(place * (len(numbers) - 1))]
        entry = json.loads(dict(entries)[number])
        change(entry)
        connection.execute("UPDATE entries SET body = ? WHERE number = ?", [_text(entry), number])
        _hash_again(connection, number, {"none": 0, "its own": 1, "all later": len(entries)}[hashes])

    return edit


def _hash_again(connection: sqlite3.Connection, first: int, count: int) -> None:
    rows = connection.execute("SELECT number, body, hash FROM entries ORDER BY number").fetchall()
    last = rows[first - 2][2] if first > 1 else "0" * 64
    for number, body, _ in rows[first - 1 : first - 1 + count]:
        last = hashlib.sha256(f"{last}\n{body}".encode()).hexdigest()
        connection.execute("UPDATE entries SET hash = ? WHERE number = ?", [last, number])


def _text(entry: dict[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _cheaper(entry: dict[str, Any]) -> None:
    entry["charges"][0]["amount"][0] = 0 if entry["charges"][0]["amount"][0] == 1 else 1


def _larger_cap(entry: dict[str, Any]) -> None:
    entry["terms"]["cap"][0] *= 10


def _other_answer(entry: dict[str, Any]) -> None:
    entry["sha256"] = hashlib.sha256(b"forged").hexdigest()


def _spent_again(connection: sqlite3.Connection) -> None:
    """Make the balances fit the entries."""
    totals: dict[tuple[str, str], int] = {}
    for (body,) in connection.execute("SELECT body FROM entries").fetchall():
        entry = json.loads(body)
        for charge in entry["charges"] if entry["kind"] == "charge" else ():
            for length in range(1, len(charge["account"]) + 1):
                path = (json.dumps(charge["account"][:length], separators=(",", ":")), "")
                totals[path] = totals.get(path, 0) + charge["amount"][0]
    connection.execute("DELETE FROM spent")
    for (path, block), total in totals.items():
        connection.execute("INSERT INTO spent VALUES (?, ?, ?, 0, ?)", [path, block, total, total])


def _forged(connection: sqlite3.Connection) -> None:
    """Let the last answer be another text."""
    digest = hashlib.sha256(b"forged").hexdigest()
    connection.execute("INSERT INTO texts VALUES (?, ?)", [digest, zlib.compress(b"forged")])
    connection.execute("UPDATE answers SET pieces = ? WHERE rowid = (SELECT max(rowid) FROM answers)", [digest])


def _exchanged(connection: sqlite3.Connection) -> None:
    """Let each of two answers have the pieces of the other."""
    (one, first), (other, second) = connection.execute("SELECT receipt, pieces FROM answers LIMIT 2").fetchall()
    for receipt, pieces in ((one, second), (other, first)):
        connection.execute("UPDATE answers SET pieces = ? WHERE receipt = ?", [pieces, receipt])


def _then(*edits: Edit) -> Edit:
    def edit(connection: sqlite3.Connection) -> None:
        for each in edits:
            each(connection)

    return edit


def _without_last(count: int) -> Edit:
    """Forget the last entries and all that follows from them."""

    def edit(connection: sqlite3.Connection) -> None:
        ((last,),) = connection.execute("SELECT max(number) FROM entries").fetchall()
        connection.execute("DELETE FROM entries WHERE number > ?", [last - count])
        connection.execute("DELETE FROM receipts WHERE number > ?", [last - count])
        kept = [json.loads(body) for (body,) in connection.execute("SELECT body FROM entries").fetchall()]
        stored = [entry["receipt"] for entry in kept if entry["kind"] == "answer"]
        for (receipt,) in connection.execute("SELECT receipt FROM answers").fetchall():
            if receipt not in stored:
                connection.execute("DELETE FROM answers WHERE receipt = ?", [receipt])
        _spent_again(connection)

    return edit


def _sql(*statements: str) -> Edit:
    def edit(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return edit


EDITS: dict[str, Edit] = {
    **{
        f"a charge at {place} made cheaper, hashes: {hashes}{', balances too' if fits else ''}": _then(
            changed(place, hashes, _cheaper), *([_spent_again] if fits else [])
        )
        for place in (0.2, 0.6, 1.0)
        for hashes in ("none", "its own", "all later")
        for fits in (False, True)
    },
    "a larger cap, hashes: none": changed(0, "none", _larger_cap, kind="account"),
    "a larger cap, hashes: all later": changed(0, "all later", _larger_cap, kind="account"),
    "a larger quota in the tables alone": _sql("UPDATE accounts SET terms = replace(terms, '100000', '900000')"),
    **{f"the last {count} entries forgotten": _without_last(count) for count in (1, 2, 3, 6)},
    "the last entry deleted": _sql("DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)"),
    "an entry in the middle deleted": _sql("DELETE FROM entries WHERE number = 9"),
    "all entries deleted": _sql("DELETE FROM entries"),
    "balances set to nothing": _sql("UPDATE spent SET divergence = 0"),
    "balances deleted": _sql("DELETE FROM spent"),
    "a balance below zero": _sql("UPDATE spent SET divergence = -1000 WHERE path = '[\"patients\"]'"),
    "an answer replaced": _sql("UPDATE texts SET body = x'00' WHERE rowid = 2"),
    "the answers of two questions exchanged": _exchanged,
    "a text deleted": _sql("DELETE FROM texts WHERE rowid = 2"),
    "an answer replaced, with its hash, hashes: all later": _then(
        changed(1, "all later", _other_answer, kind="answer"),
        _forged,
    ),
    "an answer deleted": _sql("DELETE FROM answers WHERE rowid = 2"),
    "an answer added": _sql("INSERT INTO answers VALUES ('ff', 9, 'forged')"),
    "a receipt deleted": _sql("DELETE FROM receipts WHERE rowid = 2"),
    "a receipt that answers another request": _sql("UPDATE receipts SET request = '128' WHERE rowid = 2"),
    "a table dropped": _sql("DROP TABLE receipts"),
    "a second name": _sql("UPDATE entries SET body = replace(body, '5f5f', '5e5e') WHERE number = 1"),
}
