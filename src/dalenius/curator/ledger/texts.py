"""Answers as they lie in a store: in pieces, each kept once under its hash, compressed.

Much of an answer is the same in many of them: what is promised, how it was derived. Pieces are joined as they were
given and never made anew, so that what is read is what was stored, byte for byte.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dalenius.curator.ledger.entries import Entry
from dalenius.curator.ledger.stores import Rows, damaged
from dalenius.errors import InvalidParameter
from dalenius.query.pricing.sizes import MOST_ANSWER

MOST_BYTES = MOST_ANSWER
"""The longest answer that is kept: a fifth of what SQLite holds in one place."""
_HASH = 64
"""How long a hash is, as text: an answer names its pieces by their hashes in a row."""
_CHANGED = "an answer in it is missing or was changed"
_KEPT = (
    "SELECT answers.pieces, entries.body FROM answers JOIN entries ON entries.number = answers.number "
    "WHERE answers.receipt = ?"
)


@dataclass(frozen=True, slots=True)
class Packed:
    """A text to be kept: the hash of all of it, and each piece under its own hash, compressed."""

    digest: str
    pieces: tuple[tuple[str, bytes], ...]


def packed(pieces: Sequence[str]) -> Packed:
    """The pieces of a text in the form in which they are kept; refuses what no store can keep."""
    try:
        written = [piece.encode() for piece in pieces]
    except UnicodeEncodeError:  # half a character
        raise InvalidParameter("answer", "not a text", allowed="a text of whole characters") from None
    if sum(map(len, written)) > MOST_BYTES:
        raise InvalidParameter("answer", "too long", allowed=f"at most {MOST_BYTES:,} bytes")
    return Packed(_sha256(written), tuple((_sha256([piece]), zlib.compress(piece)) for piece in written))


def keep(rows: Rows, receipt: str, number: int, text: Packed) -> None:
    """Write down the answer whose hash stands in an entry, in the transaction of that entry."""
    for digest, body in text.pieces:
        rows.execute("INSERT INTO texts VALUES (?, ?) ON CONFLICT DO NOTHING", [digest, body])
    named = "".join(digest for digest, _ in text.pieces)
    rows.execute("INSERT INTO answers VALUES (?, ?, ?)", [receipt, number, named])


def kept(rows: Rows, receipt: str) -> str | None:
    """The answer under a receipt, if there is one; refused unless it is the one whose hash stands in the ledger."""
    found = rows.execute(_KEPT, [receipt])
    if not found:
        return None
    ((named, entry),) = found
    facts, pieces = Entry.from_body(entry).facts, [unpacked(rows, digest) for digest in names(named)]
    whole = b"".join(piece or b"" for piece in pieces)
    if None in pieces or (facts.get("receipt"), facts.get("sha256")) != (receipt, _sha256([whole])):
        raise damaged(_CHANGED)
    return whole.decode()


def piece(rows: Rows, named: str, place: int) -> str:
    """One of the pieces that an answer names."""
    found = unpacked(rows, names(named)[place])
    if found is None:
        raise damaged(_CHANGED)
    return found.decode()


def names(named: str) -> list[str]:
    """The hashes of the pieces of an answer."""
    return [named[place : place + _HASH] for place in range(0, len(named), _HASH)]


def unpacked(rows: Rows, digest: str) -> bytes | None:
    """The piece with this hash; None if it is missing, or is not what it was."""
    found = rows.execute("SELECT body FROM texts WHERE hash = ?", [digest])
    try:
        reader = zlib.decompressobj()
        piece = reader.decompress(found[0][0], MOST_BYTES + 1)  # no more, whatever somebody put there
    except (IndexError, TypeError, zlib.error):
        return None
    return piece if _sha256([piece]) == digest else None


def _sha256(pieces: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()
