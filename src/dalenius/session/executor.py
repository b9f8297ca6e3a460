"""The one way to an answer: charge, measure exactly, add noise, release, store. What was bought before is replayed.

What was bought before is found by the name of its request: what decides an answer, hashed. Equal requests have equal
names in every process, for ever.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from dalenius.accounting.allowance import Allowance, JointAllowance
from dalenius.accounting.amounts import Charge
from dalenius.engines.engine import Engine, Statements
from dalenius.errors import NeighbourMismatch, WorkStopped
from dalenius.ledger.accounts import Account, AccountCharge, Rate, Receipt
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.texts import MOST_KEY, plain
from dalenius.measuring.choosing import PricedMeasurement
from dalenius.measuring.measurements import refuse_shared_keys
from dalenius.measuring.pricing import MOST_ANSWER, Priced
from dalenius.measuring.releasing import Released
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.plan.passes import Pass, RunPass
from dalenius.query.questions import Question
from dalenius.query.rows import RowSource
from dalenius.randomness.entropy import Entropy, fresh_entropy
from dalenius.session.answers.answers import Answer, notes
from dalenius.session.answers.encoding import decoded, fitting, pieces
from dalenius.session.attempts import MOST_SECONDS, Attempts, Deadline, TimedEntropy
from dalenius.session.log import OwnerLog

_PLAIN = (type(None), bool, int, float, str, bytes, Decimal, Fraction, dt.date, dt.datetime, dt.timedelta)
_IN_ONE = {str, int, bool, type(None)}
_OF_CARD = 10_000_000
"""How many bytes are left for a card, which is far shorter."""


def question_name(question: Question | RowSource) -> str:
    """A name for a bound question: equal questions about equal versions of tables have equal names."""
    return fingerprint(question)


def request_name(purchase: Purchase) -> str:
    """A name for a question on terms: equal names are answered alike.

    An epsilon enters by the mechanisms that it buys; a share or an error, which buy more or less as time goes by, as
    they were offered. The versions of
    the tables enter too: after an update the question is another one, and is charged to the same people.
    Textbook: S18.6.
    """
    return fingerprint((purchase.question, *purchase.terms))


def fingerprint(value: object) -> str:
    """The SHA-256 of a value that is made of frozen dataclasses, tuples, mappings and plain values.

    Guarantee: it covers the type and every field of each dataclass, shown by `repr` or not, and nothing else: no
    cache, no address, no hash seed. Unless SHA-256 has a collision, values with equal fingerprints are equal.
    """
    return _Walk().digest(value).hex()


class _Walk:
    """Hashes every object once, however often it occurs: a list of keys is part of many terms of a question."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, bytes]] = {}

    def digest(self, value: object) -> bytes:
        known = self._known.get(id(value))
        if known is None:
            # The object is kept along, so that no other one gets its address meanwhile.
            known = self._known[id(value)] = value, hashlib.sha256(self._written(value)).digest()
        return known[1]

    def _written(self, value: object) -> bytes:
        """One level of a value: each part in a form that tells where it ends."""
        if is_dataclass(value) and not isinstance(value, type):
            stored = {field.name: getattr(value, field.name) for field in fields(value)}
            name = f"{type(value).__module__}.{type(value).__qualname__}"
            return b"".join([_text(name), *(_text(key) + self._part(part) for key, part in stored.items())])
        if isinstance(value, tuple | list):
            if set(map(type, value)) <= _IN_ONE:
                return b"list" + repr(tuple(value)).encode()
            return b"each" + b"".join(map(self._part, value))
        if isinstance(value, Mapping):
            pairs = sorted((self._part(key), self._part(part)) for key, part in value.items())
            return b"pair" + b"".join(key + part for key, part in pairs)
        return self._part(value)

    def _part(self, value: object) -> bytes:
        if isinstance(value, _PLAIN):
            return _text(f"{type(value).__name__} {value!r}")
        if isinstance(value, type) or not (isinstance(value, tuple | list | Mapping) or is_dataclass(value)):
            raise TypeError(f"{type(value).__name__} has no fingerprint")  # better no answer than another one's
        return b"=" + self.digest(value)


def _text(text: str) -> bytes:
    written = text.encode("utf-8", "backslashreplace")
    return b"%d:%b" % (len(written), written)


def at_once(seconds: float, expected: float) -> None:
    """Store an answer as soon as it is there."""


class Work(Protocol):
    """What is done with exact values for a charge."""

    @property
    def charge(self) -> Mapping[str, Charge]:
        """What each population is charged."""

    @property
    def loss(self) -> Loss:
        """What is lost at most."""

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy, /) -> Any:
        """What is released, at the expense of the allowance. Which pass is run next may depend on what was released
        before, and on nothing else of the data."""


class Purchase(Work, Protocol):
    """What can be paid for: passes over the data, what is charged for them, how they become something noisy, and what
    the ledger keeps of it. A question, a fit, a synthetic table and an online session each are one."""

    @property
    def question(self) -> Question | RowSource:
        """What is asked, or the rows that something is made of."""

    @property
    def terms(self) -> tuple[object, ...]:
        """What decides the answer besides the question: the price, and the form in which it is kept."""

    @property
    def passes(self) -> tuple[Pass, ...]:
        """What the engine runs; where later passes depend on what is released before, one of every form. Whatever
        cannot be spelled is refused before anything is charged."""

    @property
    def steps(self) -> tuple[Any, ...]:
        """What is measured and how, as far as that is known before."""

    def encode(self, released: Any, /) -> Answer:
        """What the ledger keeps of what was released: a table, arrays or marginals."""

    def decode(self, answer: Answer, /) -> Any:
        """What was released, from what the ledger has kept."""


@dataclass(frozen=True)
class QueryPurchase:
    """A priced question and the form in which its answer is kept: a table."""

    priced: Priced
    derivation: str
    nonnegative: bool
    digits: int | None
    bill: Mapping[str, Charge] = field(default_factory=dict)
    """What is charged instead of what is drawn: no less than the least price, or all that there is."""
    offered: tuple[object, ...] | None = None
    """The terms that were offered, where what they buy depends on what was spent before."""

    @property
    def question(self) -> Question:
        return self.priced.question

    @property
    def terms(self) -> tuple[object, ...]:
        return *(self.offered or self.priced.terms), self.nonnegative, self.digits

    @property
    def charge(self) -> Mapping[str, Charge]:
        return {**self.priced.charge, **self.bill}

    @property
    def passes(self) -> tuple[Pass, ...]:
        return self.priced.passes

    @property
    def loss(self) -> Loss:
        return self.priced.loss

    @property
    def steps(self) -> tuple[PricedMeasurement, ...]:
        return self.priced.steps

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy) -> Released:
        """What is measured for the question."""
        return self.priced.run(run_pass, allowance, entropy)

    def encode(self, released: Released) -> Answer:
        """The table that is shown, as long as it may be."""
        price = self.priced
        shaped = price.answer(released, nonnegative=self.nonnegative, digits=self.digits)
        answer = Answer.from_shaped(shaped, level=price.level, derivation=self.derivation, notes=notes(price, shaped))
        return fitting(answer, MOST_ANSWER - _OF_CARD)

    def decode(self, answer: Answer) -> Answer:
        """The table."""
        return answer


Keeping: TypeAlias = Callable[[Receipt], AbstractContextManager[Purchase]]
"""Gives the work of a receipt in a form that keeps every outcome before it is used, and goes on after the last one that
was kept. It refuses, by public facts alone, where others are at this work or its outcomes are not all there; what was
kept is let go where the block ends without an error."""


@dataclass(frozen=True)
class Payer:
    """Who pays: a name for the receipt, and the account and neighbours of each population.

    `blocks` names, for a partitioned population, the only part that the question is about; `rate` is how often this
    principal may be charged; `pays_for_replays` charges the quotas, not the population, for answers that are there
    already.
    """

    who: str
    accounts: Mapping[str, Account]
    neighbours: Mapping[str, Neighbours]
    blocks: Mapping[str, str] = field(default_factory=dict)
    rate: Rate | None = None
    pays_for_replays: bool = False

    def require_one_relation(self) -> None:
        """Refuse a question about populations with different neighbours: no mechanism is calibrated for both."""
        if len(set(self.neighbours.values())) > 1:
            raise NeighbourMismatch(**self.neighbours)

    def charges(self, amounts: Mapping[str, Charge]) -> list[AccountCharge]:
        """What each account pays."""
        return [
            AccountCharge(self.accounts[name], amount, self.blocks.get(name, "")) for name, amount in amounts.items()
        ]


@dataclass(frozen=True)
class Executor:
    """The one way to an answer: price, charge, read, measure, shape, store.

    Guarantee: no data is read before the ledger has taken the whole price; what fails afterwards, for whatever reason,
    stays charged and looks the same to whoever asked; an answer is stored before it is handed out. An equal request is
    answered from the ledger, and so is a retry with the same key: the same bytes, for nothing. Equal requests at the
    same time, and retries while the first attempt still runs, wait for it where it is in this process; a retry in
    another process is told `WorkStopped` until the answer is stored, and draws nothing. Work that keeps its outcomes
    goes on where it stopped instead, for nothing: what it has released is handed back to it and not drawn again.
    Textbook: S18.8.
    """

    ledger: Ledger
    engine: Engine
    log: OwnerLog
    attempts: Attempts = field(default_factory=Attempts)
    seconds: float = MOST_SECONDS
    """How long one question may take, all passes and the noise together."""
    settle: Callable[[float, float], object] = at_once
    """Called before an answer is stored or a failure told, with the seconds since the charge and those that the plan is
    expected to take; a server waits until it is due."""

    def run(
        self,
        purchase: Purchase,
        payer: Payer,
        labelled: Callable[[Answer, Receipt], Answer],
        *,
        statements: Statements | None = None,
        key: str | None = None,
        fresh: bool = False,
        tick: Callable[[float], object] | None = None,
        kept: Keeping | None = None,
    ) -> Answer:
        """Charge and answer; `labelled` adds to what is kept what is known of the purchase, such as its card.

        `key` names this attempt, `fresh` pays for a new draw where an equal request was answered before; `tick` is
        called as time goes by; `kept` is for work that can go on after it was stopped. Raises `BudgetExceeded` and
        charges nothing, or charges and raises `WorkStopped`; an interrupt by the keyboard stays one, with the same
        text. Whoever pays must be entitled to ask the question: that is not looked at here.
        """
        payer.require_one_relation()
        require_covered(purchase)
        if key is not None:
            plain("key", key, most=MOST_KEY)
        known = statements or Statements(
            self.engine, purchase.passes
        )  # refuses what cannot run, while it costs nothing
        charges, name = payer.charges(purchase.charge), request_name(purchase)
        # The key first and always in this order, so that no two wait for each other.
        with (
            self.attempts.alone(None if key is None else (payer.who, key)),
            self.attempts.alone(None if fresh else name),
        ):
            before = self._bought_before(payer, charges, name, key=key, fresh=fresh)
            if before is not None:  # an answer may have no rows and count as false
                return before
            receipt = self.ledger.reserve(
                charges,
                question=question_name(purchase.question),
                who=payer.who,
                request=name,
                key=key,
                rate=payer.rate,
            )
            if receipt.repeated:
                # Without an answer it stays without one, unless its outcomes were kept: to draw again would sell two
                # draws for one price.
                stored = self._stored(receipt)
                if stored is not None:
                    return stored
                if kept is None:
                    raise WorkStopped
            with kept(receipt) if kept else nullcontext(purchase) as work:
                return self._perform(work, payer, receipt, labelled, known, tick)

    def _bought_before(
        self, payer: Payer, charges: Sequence[AccountCharge], name: str, *, key: str | None, fresh: bool
    ) -> Answer | None:
        """The stored answer to an earlier attempt with the same key, or to an equal request by anybody."""
        earlier = self.ledger.attempted(payer.who, key, name)
        if earlier and (answer := self._stored(earlier)) is not None:
            return answer
        receipt = None if fresh else self.ledger.answered(name)
        if receipt is None:
            return None
        if payer.pays_for_replays:
            self.ledger.read(receipt, charges, who=payer.who, key=key)
        return self._stored(receipt)

    def _stored(self, receipt: Receipt) -> Answer | None:
        body = self.ledger.answer(receipt.id)
        return None if body is None else replace(decoded(body), replayed=True)

    def _perform(
        self,
        purchase: Purchase,
        payer: Payer,
        receipt: Receipt,
        labelled: Callable[[Answer, Receipt], Answer],
        statements: Statements,
        tick: Callable[[float], object] | None,
    ) -> Answer:
        """Read, measure, shape and store what was paid for; what goes wrong is told to the owner alone."""
        charged, expected = time.monotonic(), 0.0
        failed: BaseException | None = None
        try:
            expected = sum(map(self.engine.expected_seconds, purchase.passes))
            deadline = Deadline.after(self.seconds)
            with allowance(purchase, payer.neighbours) as paid:
                released = measured(purchase, statements, paid, deadline, tick)
            answer = labelled(purchase.encode(released), receipt)
            self.settle(time.monotonic() - charged, expected)  # others too can see when it is stored
            self.ledger.store(receipt, *pieces(answer))
            return answer
        except BaseException as error:
            failed = error
        if not isinstance(failed, KeyboardInterrupt):
            self.settle(time.monotonic() - charged, expected)  # nor can others see when it failed
        # Out of the handler, so that neither the error nor its text travels along: both can depend on rows.
        self.log.record(receipt.id, payer.who, failed)
        raise KeyboardInterrupt(str(WorkStopped())) if isinstance(failed, KeyboardInterrupt) else WorkStopped


def require_covered(purchase: Purchase) -> None:
    """Refuse, before anything is charged, what is private for one unit at a time where one changes what others own.

    A question in SQL or of a frame counts them in (`measurements.over_steps`); nothing else that can be bought does.
    """
    read = [purchase.question.relation, *(step.child for step in purchase.passes)]
    shared = next((relation for relation in read if relation.steps > 1), None)
    if shared is not None and not isinstance(purchase, QueryPurchase):
        refuse_shared_keys("what is made of these rows", shared)


def measured(
    work: Work,
    statements: Statements,
    paid: Allowance,
    deadline: Deadline | None = None,
    tick: Callable[[float], object] | None = None,
) -> Any:
    """Run the passes, and measure everything at the expense of `paid`, before the deadline.

    Refused, before anything is read, where `paid` has less than all of it may lose.
    """
    paid.require(work.loss)
    ends = deadline or Deadline.after(MOST_SECONDS)
    released = work.run(
        lambda step: statements.run(step, seconds=ends.left(), tick=tick), paid, TimedEntropy(fresh_entropy(), ends)
    )
    ends.left()
    return released


def allowance(work: Work, neighbours: Mapping[str, Neighbours]) -> Allowance:
    """What a price allows to draw, from every population that it was charged to."""
    drawn = work.priced.charge if isinstance(work, QueryPurchase) else work.charge
    parts = [Allowance(amount, neighbours=neighbours[name]) for name, amount in drawn.items()]
    return parts[0] if len(parts) == 1 else JointAllowance(*parts)
