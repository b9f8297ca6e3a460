"""Checking: is a ledger whole, and does all that is kept for speed follow from its entries?

The chain and every balance are recomputed from the entries, in order and in pages, so that any length can be checked.
A ledger of before, which kept no sums of epsilon, is given them from the same recount.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dalenius.accounting.amounts import Charge
from dalenius.errors import DaleniusError, LedgerRefused
from dalenius.ledger.accounts import Account
from dalenius.ledger.marks import NOTHING, Head
from dalenius.ledger.recounting import LARGEST, Path, Recount, RecountedTerms, Sums, Wrong
from dalenius.ledger.stores import DISAGREE, SPENT, Store, Transaction, damaged, has_epsilon
from dalenius.ledger.texts import names, unpacked

PAGE = 500
MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Findings:
    """What a check has found: how far the ledger goes, what was spent of each account, and what is wrong.

    A problem names an entry by its number, and no value that stands in it.
    """

    name: str | None
    head: Head
    balances: Mapping[Account, Charge]
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return not self.problems


def check(store: Store, rows: Transaction, *, texts: bool = True) -> Findings:
    """Recount a ledger from its entries alone, and compare with all else that it keeps.

    Without `texts` it looks whether all pieces of stored answers are there, and reads none of them: that takes as long
    for long answers as for short ones.

    Guarantee: it is unsound if the database itself would do anything else to it than a new one would.
    """
    if not store.is_as_made(rows):  # a trigger that takes charges back would be sound until the next one
        return Findings(None, NOTHING, {}, ("its tables are missing, or they or what guards them were changed",))
    if texts and not store.is_whole(rows):
        return Findings(None, NOTHING, {}, (DISAGREE,))
    check = _Check(rows, texts)
    check.entries()
    if not check.problems:  # what follows from the entries is only known if they are whole
        check.tables()
    return Findings(check.recount.name, check.head, _balances(check.recount), tuple(check.problems))


def examined(store: Store, *, texts: bool = True) -> Findings:
    """Check a store; one that cannot be read as a ledger is unsound."""
    try:
        with store.reading() as rows:
            return check(store, rows, texts=texts)
    except DaleniusError:
        raise
    except Exception:  # of the database: its text may name places
        return Findings(None, NOTHING, {}, ("its tables are missing or cannot be read",))


def require_sound(findings: Findings, name: str) -> None:
    """Refuse a ledger that is empty, unsound or another one."""
    if findings.problems:
        raise damaged(findings.problems[0])
    if not findings.head.number:
        raise damaged("it is empty")
    if findings.name != name:
        raise LedgerRefused(
            "it is the ledger of another database",
            instead="Put back the ledger that belongs to this catalog, or open the folder that this ledger belongs to.",
        )


def add_epsilon(store: Store) -> None:
    """Give a sound ledger of before the column for epsilon, filled from its entries."""
    with store.reading() as rows:
        if has_epsilon(rows, "spent"):
            return
    with store.writing() as rows:
        if has_epsilon(rows, "spent"):  # somebody else has done it meanwhile
            return
        totals = totals_at(rows, LARGEST)
        rows.execute("DROP TABLE spent")
        rows.execute(SPENT)
        for (path, block), sums in totals.items():
            rows.execute("INSERT INTO spent VALUES (?, ?, ?, ?, ?)", [_text(list(path)), block, *sums])


def totals_at(rows: Transaction, number: int) -> dict[tuple[Path, str], Sums]:
    """What had been spent of each account and block when this entry was written, in a sound ledger."""
    recount = Recount()
    for page in _pages(rows):
        for found, body, _ in page:
            if found > number:
                return recount.totals()
            recount.take(json.loads(body))
    return recount.totals()


@dataclass(slots=True)
class _Check:
    """A check under way: the entries up to `head` are counted."""

    rows: Transaction
    texts: bool
    recount: Recount = field(default_factory=Recount)
    head: Head = NOTHING
    problems: list[str] = field(default_factory=list)
    receipts: int = 0
    answers: int = 0
    pieces: set[str] = field(default_factory=set)

    def entries(self) -> None:
        for page in _pages(self.rows):
            found: list[dict[str, Any]] = []
            for number, body, digest in page:
                try:
                    found.append(self._entry(number, body, digest))
                except Wrong as problem:
                    self.problems.append(f"entry {self.head.number + 1}: {problem}")
                    return  # without this entry, nothing that comes after it can be judged
            self._receipts(found)
            self._answers(found)
            if len(self.problems) >= MOST_PROBLEMS:
                return

    def _entry(self, number: object, body: object, digest: object) -> dict[str, Any]:
        if number != self.head.number + 1 or type(number) is not int:
            raise Wrong("it is missing")
        if not isinstance(body, str) or digest != _chained(self.head.hash, body):
            raise Wrong("its hash does not follow from it and from the one before")
        entry = _decoded(body)
        if entry.get("number") != number:
            raise Wrong("it has another number inside")
        self.recount.take(entry)
        self.head = Head(number, digest)
        return entry

    def _receipts(self, page: list[dict[str, Any]]) -> None:
        """Each charge has its receipt; answers and reads name a receipt of a charge before them."""
        named = [entry for entry in page if entry["kind"] in ("charge", "answer", "read")]
        sql = "SELECT id, number, who, key, request, second FROM receipts WHERE id IN"
        known = {row[0]: row[1:] for row in self._found(sql, [entry["receipt"] for entry in named])}
        for entry in named:
            row = known.get(entry["receipt"])
            if entry["kind"] == "charge":
                self.receipts += 1
                self._expect(row == _receipt_row(entry), entry, "its receipt is missing or says something else")
            else:
                self._expect(row is not None and row[0] < entry["number"], entry, "no charge before it paid for it")

    def _answers(self, page: list[dict[str, Any]]) -> None:
        """Each answer stands where its entry says, and all of its pieces are there."""
        stored = [entry for entry in page if entry["kind"] == "answer"]
        sql = "SELECT receipt, number, pieces FROM answers WHERE receipt IN"
        found = self._found(sql, [entry["receipt"] for entry in stored])
        listed = {receipt: (number, names(pieces)) for receipt, number, pieces in found if isinstance(pieces, str)}
        there = self._there({name for _, pieces in listed.values() for name in pieces})
        for entry in stored:
            self.answers += 1
            number, pieces = listed.get(entry["receipt"], (0, []))
            whole = there.issuperset(pieces) and (not self.texts or self._hash(pieces) == entry["sha256"])
            self._expect(whole and number == entry["number"], entry, "its answer is missing or was changed")

    def _there(self, pieces: set[str]) -> set[str]:
        """Those of the pieces that are there."""
        asked, sql = sorted(pieces), "SELECT hash FROM texts WHERE hash IN"
        pages = (self._found(sql, asked[begin : begin + PAGE]) for begin in range(0, len(asked), PAGE))
        found = {str(name) for page in pages for (name,) in page}
        self.pieces |= found if self.texts else set()
        return found

    def _hash(self, pieces: list[str]) -> str:
        """The hash of the text that pieces make up."""
        whole = hashlib.sha256()
        for name in pieces:
            whole.update(unpacked(self.rows, name) or b"")
        return whole.hexdigest()

    def tables(self) -> None:
        """All that is kept for speed."""
        texts = [("texts", len(self.pieces))] if self.texts else []
        for table, expected in (("receipts", self.receipts), ("answers", self.answers), *texts):
            ((count,),) = self.rows.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
            if count != expected:
                self.problems.append(f"{table}: there are {count}, and the entries tell of {expected}")
        accounts = self.rows.execute("SELECT path, population, terms, reserving FROM accounts")
        if sorted(accounts) != sorted(_account_row(path, rule) for path, rule in self.recount.rules.items()):
            self.problems.append("accounts: they are not those of the entries")
        epsilon = ", epsilon" if has_epsilon(self.rows, "spent") else ""  # a ledger of before has none yet
        spent = self.rows.execute(f"SELECT path, block, divergence, delta{epsilon} FROM spent")  # noqa: S608
        kept = 3 if epsilon else 2
        sums = self.recount.totals().items()
        if sorted(spent) != sorted((_text(path), block, *each[:kept]) for (path, block), each in sums):
            self.problems.append("spent: the sums are not those of the entries")

    def _expect(self, holds: bool, entry: dict[str, Any], problem: str) -> None:
        if not holds and len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"entry {entry['number']}: {problem}")

    def _found(self, sql: str, names: list[str]) -> list[tuple[Any, ...]]:
        return self.rows.execute(f"{sql} ({', '.join('?' * len(names))})", names) if names else []


def _pages(rows: Transaction) -> Iterator[list[tuple[Any, ...]]]:
    last = -LARGEST
    while page := rows.execute(
        "SELECT number, body, hash FROM entries WHERE number > ? ORDER BY number LIMIT ?", [last, PAGE]
    ):
        yield page
        last = page[-1][0]


def _refuse_float(text: str) -> None:
    raise ValueError("a ledger holds no such number")


_DECODER = json.JSONDecoder(parse_float=_refuse_float, parse_constant=_refuse_float)
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _decoded(body: str) -> dict[str, Any]:
    try:
        entry = _DECODER.decode(body)
    except (ValueError, RecursionError):
        raise Wrong("it is not JSON") from None
    if not isinstance(entry, dict) or _ENCODER.encode(entry) != body:
        raise Wrong("it is not written in the one form that is hashed")
    return entry


def _chained(previous: str, body: str) -> str:
    return _sha256(f"{previous}\n{body}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(value: object) -> str:
    return _ENCODER.encode(value)


def _receipt_row(entry: dict[str, Any]) -> tuple[Any, ...]:
    second = int(dt.datetime.fromisoformat(entry["at"]).timestamp())
    return (entry["number"], entry["who"], entry["key"], entry["request"], second)


def _account_row(path: Path, rule: RecountedTerms) -> tuple[Any, ...]:
    return (_text(list(path)), path[0], _text(rule.terms), int(rule.reserve is not None))


def _balances(recount: Recount) -> dict[Account, Charge]:
    """What was spent of each account; of a partitioned population, in the block that has spent the largest share."""
    paths = sorted({*recount.rules, *recount.spent})
    return {Account(path): _spent(recount, path) for path in paths}


def _spent(recount: Recount, path: Path) -> Charge:
    divergence, delta, epsilon = (min(LARGEST, size) for size in recount.total(path))
    rule = recount.rules.get(path) or recount.rules.get(path[:1])
    order = None if rule is None or rule.order is None else Fraction(rule.order)
    return Charge(divergence=divergence, delta=delta, order=order, epsilon=epsilon)
