"""The ledger: compare and charge are one step over all accounts, durable before anything is read, and never undone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dalenius.accounting.amounts import Charge
from dalenius.errors import InvalidParameter, TooOften
from dalenius.ledger import texts
from dalenius.ledger.accounts import (
    Account,
    AccountCharge,
    AccountTerms,
    Entry,
    Facts,
    Kind,
    Rate,
    Receipt,
    Standing,
    charge_facts,
    receipt_facts,
    receipt_from,
    terms_facts,
)
from dalenius.ledger.balances import Balances, require_same_order
from dalenius.ledger.checking import Findings, add_epsilon, examined, require_sound
from dalenius.ledger.journal import Journal, Writing
from dalenius.ledger.marks import Mark, NoMark
from dalenius.ledger.stores import TABLES, SQLiteStore, Store, Transaction, Value
from dalenius.ledger.texts import MOST_KEY, packed, plain, require_charges, require_facts, require_terms
from dalenius.randomness.entropy import system_entropy

_LATELY = 10_000
_CHARGES = (
    "SELECT entries.body, answers.receipt IS NOT NULL FROM receipts JOIN entries ON entries.number = receipts.number "
    "LEFT JOIN answers ON answers.receipt = receipts.id WHERE receipts.number > ? "
)
PAGE = 500
TURN, STEP = "turn", "step"
_BOUGHT = (
    "SELECT entries.body, answers.pieces FROM receipts JOIN entries ON entries.number = receipts.number "
    "JOIN answers ON answers.receipt = receipts.id WHERE receipts.id IN ({}) ORDER BY receipts.number"
)


class Ledger:
    """The accounts, charges and answers of one database, over a journal.

    Guarantee: the charges of a population never sum up to more than its cap admits, those of a quota never to more than
    the quota admits, in any number of threads, processes and machines that share the store; a refused charge changes
    nothing; no charge is ever taken back. What is refused depends on the ledger and the clock alone.
    Textbook: S18.1, S18.3, S18.4.
    """

    def __init__(
        self, store: Store, mark: Mark | NoMark | None = None, *, clock: Callable[[], dt.datetime] | None = None
    ) -> None:
        self._store, self._journal = store, Journal(store, mark or NoMark(), clock=clock)
        self._clock = clock or (lambda: dt.datetime.now(dt.UTC))

    @classmethod
    def create(
        cls, store: Store, mark: Mark | NoMark, name: str, *, clock: Callable[[], dt.datetime] | None = None
    ) -> Ledger:
        """A new ledger, in a store that holds none; its folder and its mark know it by its name."""
        prepare(store)
        ledger = cls(store, mark, clock=clock)
        ledger.begin(name)
        return ledger

    @classmethod
    def start(
        cls, store: Store, mark: Mark | NoMark, name: str, *, clock: Callable[[], dt.datetime] | None = None
    ) -> Ledger:
        """Go on with a ledger.

        Guarantee: it is refused unless an independent recount finds it whole and sound, it has this name, and its mark
        lies in its past. Where the process before died between the two, the mark is moved up. Of stored answers it
        looks whether they are there; each is compared with its hash when it is read. One that was made before epsilon
        was added up does so from now on.
        """
        require_sound(examined(store, texts=False), name)
        add_epsilon(store)
        ledger = cls(store, mark, clock=clock)
        ledger._journal.append(lambda writing: None)
        return ledger

    @classmethod
    def in_memory(cls, *, clock: Callable[[], dt.datetime] | None = None) -> Ledger:
        """A ledger that lives as long as its process. In a forked process it is refused."""
        return cls.create(SQLiteStore(), NoMark(), new_name(), clock=clock)

    def begin(self, name: str) -> None:
        """Write the first entry: the name by which the folder and the mark know this ledger."""
        plain("name", name)

        def first(writing: Writing) -> None:
            if writing.head.number:
                raise InvalidParameter("ledger", "in use", allowed="a new one")
            writing.add("ledger", {"ledger": name})

        self._journal.append(first)

    # ---- accounts

    def open(self, account: Account, terms: AccountTerms) -> None:
        """Open an account. A population's cap is set once and never changes, except that one of before, which bounds no
        epsilon, may get that bound; a quota may be set anew, and what was spent of it stays spent."""
        require_terms(account, terms)

        def opened(writing: Writing) -> None:
            balances = writing.balances
            known = balances.terms_or_none(account)
            if known == terms:
                return
            if known and len(account.path) == 1 and known.cap not in (terms.cap, terms.cap.rectangle):
                raise InvalidParameter("population", account.population, allowed="new: a cap is set once, for ever")
            for outer in account.lineage[1:]:
                require_same_order(terms.cap, balances.terms(outer).cap)
            writing.add("account", {"account": list(account.path), "terms": terms_facts(terms)})
            balances.set_terms(account, terms)

        self._journal.append(opened)

    # ---- charges

    def reserve(
        self,
        charges: Sequence[AccountCharge],
        *,
        question: str,
        who: str,
        request: str = "",
        key: str | None = None,
        rate: Rate | None = None,
    ) -> Receipt:
        """Charge every account, and all that it lies in, or raise and charge none of them.

        With a `key` that this principal has used for the same request, the earlier receipt is given back, `repeated`,
        and nothing is charged.
        """
        require_charges(charges)
        plain("who", who, most=200)
        for name, text in (("question", question), ("request", request)):
            plain(name, text)
        if key is not None:
            plain("key", key, most=MOST_KEY)

        def charged(writing: Writing) -> Receipt:
            earlier = _by_key(writing.rows, who, key, request)
            if earlier:
                return earlier
            _require_rate(writing, who, rate)
            balances = writing.balances
            balances.require(charges, writing.now)
            receipt = Receipt(
                new_name(), writing.head.number + 1, who, question, tuple(charges), writing.now, request, key
            )
            writing.add("charge", receipt_facts(receipt))
            balances.charge(charges)
            _index(writing.rows, receipt)
            return receipt

        return self._journal.append(charged)

    def read(self, receipt: Receipt, charges: Sequence[AccountCharge], *, who: str, key: str | None = None) -> None:
        """Charge quotas, and not the population, for an answer that is there already. With a `key` that this principal
        has used for it lately, within the last entries, nothing is charged again."""
        require_charges(charges)
        plain("who", who, most=200)
        if key is not None:
            plain("key", key, most=MOST_KEY)

        def charged(writing: Writing) -> None:
            _require_known(writing.rows, receipt)
            if key is not None and _read_lately(writing, {"receipt": receipt.id, "who": who, "key": key}):
                return
            balances = writing.balances
            balances.require(charges, writing.now, quotas_only=True)
            paid = [charge_facts(charge) for charge in charges]
            writing.add("read", {"receipt": receipt.id, "who": who, "key": key, "charges": paid})
            balances.charge(charges, quotas_only=True)

        self._journal.append(charged)

    # ---- answers

    def store(self, receipt: Receipt, *pieces: str) -> None:
        """Keep the answer that a receipt paid for; there is one, and it does not change. Its text comes in pieces, of
        which those that other answers have too are kept once. One that is too long for a store is refused, and nothing
        else is."""
        text = packed(pieces)

        def kept(writing: Writing) -> None:
            _require_known(writing.rows, receipt)
            if writing.rows.execute("SELECT 1 FROM answers WHERE receipt = ?", [receipt.id]):
                raise InvalidParameter("receipt", receipt.id, allowed="one without an answer: an answer never changes")
            entry = writing.add("answer", {"receipt": receipt.id, "sha256": text.digest})
            texts.keep(writing.rows, receipt.id, entry.number, text)

        self._journal.append(kept)

    def answer(self, receipt: str) -> str | None:
        """The answer that was stored under a receipt id, if there is one: byte for byte, or refused as damaged."""
        with self._journal.reading() as rows:
            return texts.kept(rows, receipt)

    def answered(self, request: str) -> Receipt | None:
        """The receipt of the first answer to an equal request."""
        sql = (
            "SELECT entries.body FROM receipts JOIN answers ON answers.receipt = receipts.id "
            "JOIN entries ON entries.number = receipts.number WHERE request = ? ORDER BY receipts.number LIMIT 1"
        )
        with self._journal.reading() as rows:
            found = rows.execute(sql, [request])
        return receipt_from(Entry.from_body(found[0][0])) if found else None

    def attempted(self, who: str, key: str | None, request: str) -> Receipt | None:
        """The receipt of an earlier attempt with this key; refuses a key that paid for another request."""
        with self._journal.reading() as rows:
            return _by_key(rows, who, key, request)

    def stored(self) -> tuple[str, ...]:
        """The ids of all receipts that have an answer, in order."""
        sql = "SELECT receipt FROM answers JOIN receipts ON receipts.id = answers.receipt ORDER BY receipts.number"
        with self._journal.reading() as rows:
            return tuple(receipt for (receipt,) in rows.execute(sql))

    def bought(self, names: Sequence[str], piece: int) -> list[tuple[Receipt, str]]:
        """The receipts of these ids, at most a page of them, that have an answer, each with one piece of it, in order;
        the others are not read."""
        with self._journal.reading() as rows:
            found = rows.execute(_BOUGHT.format(", ".join("?" * len(names))), names)
            return [(receipt_from(Entry.from_body(entry)), texts.piece(rows, named, piece)) for entry, named in found]

    def last(self) -> int:
        """The number of the last entry."""
        with self._journal.reading() as rows:
            return _last(rows)

    # ---- what the owner writes down

    def record(self, kind: str, facts: Facts) -> None:
        """Write down something that must not be forgotten or changed: a table's version, a token, a revocation."""
        plain("kind", kind, most=200)
        require_facts(facts)
        self._journal.append(lambda writing: writing.add("record", {**facts, "record": kind}))

    def claim(self, receipt: Receipt, *, most: int) -> int | None:
        """Take the next of `most` turns that a receipt has paid for: its number, from 1 on; None if all were taken.

        Guarantee: no turn is taken twice, by whatever thread or process, and a turn that was taken stays so. After the
        ledger was reconciled none are left: a lost copy may have taken them.
        """

        def taken(writing: Writing) -> int | None:
            records = [entry.facts for entry in _of_kind(writing.rows, "record", receipt.number)]
            turn = 1 + len([each for each in records if each["record"] == TURN and each["receipt"] == receipt.id])
            if turn > most or _reconciled_since(writing.rows, receipt):
                return None
            writing.add("record", {"record": TURN, "receipt": receipt.id, "turn": turn})
            return turn

        return self._journal.append(taken)

    def step(self, receipt: Receipt, *, before: str | None, now: str) -> None:
        """Write down how far the work that a receipt paid for has come, as a hash of all that it released.

        Guarantee: the steps of a receipt are one line: whoever believes another `before` to be the last one, in
        whatever thread or process, is refused. So is everybody after the ledger was reconciled: a lost copy may have
        gone further.
        """

        def stepped(writing: Writing) -> None:
            _require_known(writing.rows, receipt)
            if _last_step(writing.rows, receipt) != before:
                raise InvalidParameter("receipt", receipt.id, allowed="one that no other process is working on")
            writing.add("record", {"record": STEP, "receipt": receipt.id, "hash": now})

        plain("now", now)
        self._journal.append(stepped)

    def last_step(self, receipt: Receipt) -> str | None:
        """The hash of all that the work for a receipt has released so far; None before the first step."""
        with self._journal.reading() as rows:
            return _last_step(rows, receipt)

    def records(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        """All that was written down of a kind, in order."""
        return tuple(entry.facts for entry in self._of_kind("record") if entry.facts["record"] == kind)

    # ---- what it says

    def require_home(self) -> None:
        """Refuse a forked process, without a wait for any lock."""
        self._journal.require_home()

    def now(self) -> dt.datetime:
        """The time by the ledger's clock."""
        return self._clock()

    def terms(self, account: Account) -> AccountTerms:
        with self._journal.reading() as rows:
            return Balances(rows).terms(account)

    def spent(self, account: Account, *, block: str = "") -> Charge:
        """The sum of all charges to an account; of a partitioned population, what the units of one block bear, or those
        of the block that has spent the largest share."""
        with self._journal.reading() as rows:
            return Balances(rows).spent(account, block=block)

    def left(self, account: Account, *, block: str = "") -> Charge:
        """The least that is left of each figure, of the account and of all that it lies in: as much divergence or as
        much epsilon, and no more delta, may still be charged."""
        with self._journal.reading() as rows:
            return Balances(rows).left(account, self._clock(), block=block)

    def standing(self, account: Account, *, block: str = "") -> tuple[Standing, ...]:
        """How an account and all that it lies in stand, of the population each block: the last ones are its."""
        with self._journal.reading() as rows:
            return Balances(rows).standing(account, self._clock(), block=block)

    def times(self, charges: Sequence[AccountCharge]) -> int:
        """How many times these charges, together, would be taken from now on, one after the other."""
        require_charges(charges)
        with self._journal.reading() as rows:
            balances, now = Balances(rows), self._clock()
            return min(balances.times(charge, now) for charge in charges)

    def history(self) -> tuple[Receipt, ...]:
        """All charges, in order."""
        return tuple(receipt_from(entry) for entry in self._of_kind("charge"))

    def charged(self, *, who: str | None = None, after: int = 0, most: int = 2**62) -> list[tuple[Entry, bool]]:
        """The charges to somebody, or to all, after a number, and whether each has an answer."""
        sql, theirs = _CHARGES, [] if who is None else [who]
        sql += "AND who = ? ORDER BY receipts.number LIMIT ?" if theirs else "ORDER BY receipts.number LIMIT ?"
        with self._journal.reading() as rows:
            found = rows.execute(sql, [after, *theirs, most])
        return [(Entry.from_body(body), bool(answered)) for body, answered in found]

    def count(self) -> int:
        """How many charges there are."""
        with self._journal.reading() as rows:
            ((found,),) = rows.execute("SELECT count(*) FROM receipts", [])
        return int(found)

    def declared(self, *, after: int = 0) -> tuple[list[Entry], int]:
        """The accounts that were opened and what the owner wrote down, after a number; and the last number."""
        with self._journal.reading() as rows:
            found = [*_of_kind(rows, "account", after), *_of_kind(rows, "record", after)]
            last = _last(rows)
        return sorted(found, key=lambda entry: entry.number), last

    def _of_kind(self, kind: Kind) -> list[Entry]:
        with self._journal.reading() as rows:
            return _of_kind(rows, kind)

    def receipt(self, name: str) -> Receipt | None:
        """The receipt of this id."""
        sql = "SELECT entries.body FROM receipts JOIN entries ON entries.number = receipts.number WHERE id = ?"
        with self._journal.reading() as rows:
            found = rows.execute(sql, [name])
        return receipt_from(Entry.from_body(found[0][0])) if found else None

    def entries(self, *, after: int = 0, most: int = 2**62) -> Iterator[Entry]:
        """The whole ledger, in order, or at most so many entries after a number."""
        with self._journal.reading() as rows:
            found = rows.execute("SELECT body FROM entries WHERE number > ? ORDER BY number LIMIT ?", [after, most])
        return (Entry.from_body(body) for (body,) in found)

    def check(self) -> Findings:
        """Recount all of it from the entries alone, and read all answers."""
        return examined(self._store)

    def close(self) -> None:
        self._journal.close()


def _reconciled_since(rows: Transaction, receipt: Receipt) -> bool:
    return bool(_of_kind(rows, "reconciled", receipt.number))


def _last_step(rows: Transaction, receipt: Receipt) -> str | None:
    if _reconciled_since(rows, receipt):
        raise InvalidParameter(
            "receipt", receipt.id, allowed="one that was paid for since the ledger was reconciled",
            hint="What was begun before may have gone further in the lost copy. Pay for it anew, with another key.",
        )  # fmt: skip
    sql = "SELECT body FROM entries WHERE number > ? AND body LIKE ? AND body LIKE ? ORDER BY number DESC LIMIT 1"
    found = rows.execute(sql, [receipt.number, f'%"receipt":"{receipt.id}"%', f'%"record":"{STEP}"%'])
    return str(Entry.from_body(found[0][0]).facts["hash"]) if found else None


def _last(rows: Transaction) -> int:
    ((last,),) = rows.execute("SELECT coalesce(max(number), 0) FROM entries")
    return int(last)


def _of_kind(rows: Transaction, kind: Kind, after: int = 0) -> list[Entry]:
    sql = "SELECT body FROM entries WHERE number > ? AND body LIKE ? ORDER BY number"
    found = (Entry.from_body(body) for (body,) in rows.execute(sql, [after, f'%"kind":"{kind}"%']))
    return [entry for entry in found if entry.kind == kind]  # a record may contain the same letters


def prepare(store: Store) -> None:
    """Make the tables of a new ledger."""
    with store.writing() as rows:
        for statement in (*TABLES, *store.append_only):
            rows.execute(statement)


def new_name() -> str:
    """A name that nobody can guess and that is never given twice: 128 random bits."""
    return system_entropy().read(16).hex()


def _by_key(rows: Transaction, who: str, key: str | None, request: str) -> Receipt | None:
    if key is None:
        return None
    sql = "SELECT body FROM receipts JOIN entries USING (number) WHERE who = ? AND key = ?"
    found = rows.execute(sql, [who, key])
    if not found:
        return None
    receipt = receipt_from(Entry.from_body(found[0][0]), repeated=True)
    if receipt.request != request:
        raise InvalidParameter(
            "key",
            key,
            allowed="a new one for each question: this one paid for another question, or for rows since replaced",
        )
    return receipt


def _read_lately(writing: Writing, facts: Facts) -> bool:
    sql, reads = "SELECT body FROM entries WHERE number > ? AND body LIKE ?", '%"kind":"read"%'
    found = writing.rows.execute(sql, [writing.head.number - _LATELY, reads])
    return any(facts.items() <= Entry.from_body(body).facts.items() for (body,) in found)


def _index(rows: Transaction, receipt: Receipt) -> None:
    second = int(receipt.at.timestamp())
    values: list[Value] = [receipt.id, receipt.number, receipt.who, receipt.key, receipt.request, second]
    rows.execute("INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?)", values)


def _require_rate(writing: Writing, who: str, rate: Rate | None) -> None:
    if rate is None:
        return
    since = int(writing.now.timestamp()) - rate.seconds
    ((count,),) = writing.rows.execute("SELECT count(*) FROM receipts WHERE who = ? AND second >= ?", [who, since])
    if count >= rate.count:
        raise TooOften(
            who, what=f"ask more than {rate.count} times in {rate.seconds} seconds", instead="Ask again later."
        )


def _require_known(rows: Transaction, receipt: Receipt) -> None:
    if rows.execute("SELECT number FROM receipts WHERE id = ?", [receipt.id]) != [(receipt.number,)]:
        raise InvalidParameter("receipt", receipt.id, allowed="one of this ledger")
