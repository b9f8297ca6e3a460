"""What may be written into a ledger: refused before it gets there, because an error in a batch stops the journal.

Answers as they lie in a store: in pieces, each kept once under its hash, compressed.

Much of an answer is the same in many of them: what is promised, how it was derived. Pieces are joined as they were
given and never made anew, so that what is read is what was stored, byte for byte.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dalenius.errors import InvalidParameter
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms, Entry, Facts
from dalenius.ledger.stores import Transaction, damaged
from dalenius.measuring.pricing import MOST_ANSWER

MOST_KEY = 200
"""How many characters a principal's own name for an attempt may have."""
_OURS = frozenset({"number", "at", "kind"})


def plain(name: str, text: str, *, most: int | None = None) -> str:
    """A text that every store keeps as it is: printable, and of at most so many characters."""
    if not isinstance(text, str) or not text.isprintable() or (most is not None and not 0 < len(text) <= most):
        size = "" if most is None else f" of 1 to {most} characters"
        raise InvalidParameter(name, text, allowed=f"a printable text{size}")
    return text


def require_account(account: Account) -> None:
    if not account.path:
        raise InvalidParameter("account", "nameless", allowed="the names on the way from a population down")
    for name in account.path:
        plain("account", name, most=200)


def require_terms(account: Account, terms: AccountTerms) -> None:
    """Refuse terms that no later charge could be compared with."""
    require_account(account)
    if terms.reserve is not None and terms.reserve.order != terms.cap.order:
        raise InvalidParameter("reserve", terms.reserve.order, allowed=f"of order {terms.cap.order}, as its cap")
    for name, moment in (("start", terms.start), ("end", terms.end)):
        if moment is not None and moment.utcoffset() is None:
            raise InvalidParameter(name, moment, allowed="a moment with its time zone")


def require_charges(charges: Sequence[AccountCharge]) -> None:
    """Refuse what is free, or has names that a store may change."""
    if not charges or not all(charge.amount for charge in charges):
        raise InvalidParameter(
            "charges", "zero", allowed="greater than 0", hint="A release of private data is never free."
        )
    for charge in charges:
        require_account(charge.account)
        plain("block", charge.block)


def require_facts(facts: Facts) -> None:
    """Refuse a record that has no one canonical form: texts, whole numbers, lists and names for them do."""
    taken = _OURS & facts.keys()
    if taken or not _written_one_way(dict(facts)):
        raise InvalidParameter(
            "facts", sorted(taken) or "of other kinds", allowed="texts, whole numbers, lists and mappings by names "
            "other than number, at and kind"
        )  # fmt: skip


def _written_one_way(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) and _written_one_way([name, part]) for name, part in value.items())
    if isinstance(value, list | tuple):
        return all(_written_one_way(part) for part in value)
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
    return value is None or isinstance(value, int)


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


def keep(rows: Transaction, receipt: str, number: int, text: Packed) -> None:
    """Write down the answer whose hash stands in an entry, in the transaction of that entry."""
    for digest, body in text.pieces:
        rows.execute("INSERT INTO texts VALUES (?, ?) ON CONFLICT DO NOTHING", [digest, body])
    named = "".join(digest for digest, _ in text.pieces)
    rows.execute("INSERT INTO answers VALUES (?, ?, ?)", [receipt, number, named])


def kept(rows: Transaction, receipt: str) -> str | None:
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


def piece(rows: Transaction, named: str, place: int) -> str:
    """One of the pieces that an answer names."""
    found = unpacked(rows, names(named)[place])
    if found is None:
        raise damaged(_CHANGED)
    return found.decode()


def names(named: str) -> list[str]:
    """The hashes of the pieces of an answer."""
    return [named[place : place + _HASH] for place in range(0, len(named), _HASH)]


def unpacked(rows: Transaction, digest: str) -> bytes | None:
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
