"""The one way to an answer: charge, measure exactly, add noise, release, store. What was bought before is replayed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from dalenius.accounting.allowance import Allowance, JointAllowance
from dalenius.accounting.amounts import Amount
from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.encoding import decoded, pieces
from dalenius.curator.attempts import Attempts
from dalenius.curator.deadlines import MOST_SECONDS, Deadline, TimedEntropy
from dalenius.curator.ledger.accounts import Account, Charge, Rate, Receipt
from dalenius.curator.ledger.forms import MOST_KEY, plain
from dalenius.curator.ledger.ledger import Ledger
from dalenius.curator.log import OwnerLog
from dalenius.curator.requests import question_name, request_name
from dalenius.engines.engine import Engine
from dalenius.errors import NeighbourMismatch, WorkStopped
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.cells import Look
from dalenius.query.plan.passes import Pass
from dalenius.query.pricing.measurements import refuse_shared_keys
from dalenius.query.pricing.pricing import Priced
from dalenius.query.questions import Question
from dalenius.randomness.entropy import Entropy, fresh_entropy


def at_once(seconds: float, expected: float) -> None:
    """Store an answer as soon as it is there."""


class Payable(Protocol):
    """What can be paid for: passes over the data, what is charged for them, and how they become something noisy."""

    @property
    def question(self) -> Question:
        """What is asked."""

    @property
    def terms(self) -> tuple[object, ...]:
        """What decides the answer besides the question."""

    @property
    def charge(self) -> Mapping[str, Amount]:
        """What each population is charged."""

    @property
    def passes(self) -> tuple[Pass, ...]:
        """What the engine runs; where later passes depend on what is released before, one of every form. Whatever
        cannot be spelled is refused before anything is charged."""

    @property
    def loss(self) -> Loss:
        """What is lost at most."""

    @property
    def steps(self) -> tuple[Any, ...]:
        """What is measured and how, as far as that is known before."""

    def run(self, look: Look, allowance: Allowance, entropy: Entropy, /) -> Any:
        """What is released, at the expense of the allowance. Which pass is run next may depend on what was released
        before, and on nothing else of the data."""


Keeping: TypeAlias = Callable[[Receipt], AbstractContextManager[Payable]]
"""Gives the work of a receipt in a form that keeps every outcome before it is used, and goes on after the last one that
was kept. It refuses, by public facts alone, where others are at this work or its outcomes are not all there; what was
kept is let go where the block ends without an error."""


@dataclass(frozen=True)
class Payer:
    """Who pays: a name for the receipt, and the account and neighbours of each population.

    `blocks` names, for a partitioned population, the only part that the question is about; `rate` is how often this
    asker may be charged; `pays_for_replays` charges the quotas, not the population, for answers that are there already.
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

    def charges(self, amounts: Mapping[str, Amount]) -> list[Charge]:
        """What each account pays."""
        return [Charge(self.accounts[name], amount, self.blocks.get(name, "")) for name, amount in amounts.items()]


@dataclass(frozen=True)
class Request:
    """What somebody wants done: a priced question, who pays, and how the answer is put together.

    `form` says how the answer is shown, `key` names this attempt, `fresh` pays for a new draw where an equal request
    was answered before; `tick` is called as time goes by. `kept` is for work that can go on after it was stopped.
    """

    priced: Payable
    payer: Payer
    finished: Callable[[Any, Receipt], Answer]
    name: str
    key: str | None
    fresh: bool
    tick: Callable[[float], object] | None
    kept: Keeping | None = None


@dataclass(frozen=True)
class Door:
    """Where charges are made and exact values become noisy ones.

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

    def answer(
        self,
        priced: Payable,
        payer: Payer,
        finished: Callable[[Any, Receipt], Answer],
        *,
        form: object = (),
        key: str | None = None,
        fresh: bool = False,
        tick: Callable[[float], object] | None = None,
        kept: Keeping | None = None,
    ) -> Answer:
        """Charge and answer; `finished` puts what was released and its receipt together.

        Raises `BudgetExceeded` and charges nothing, or charges and raises `WorkStopped`; an interrupt by the keyboard
        stays one, with the same text. Whoever pays must be entitled to ask the question: that is not looked at here.
        """
        payer.require_one_relation()
        require_covered(priced)
        if key is not None:
            plain("key", key, most=MOST_KEY)
        for step in priced.passes:
            self.engine.spelled(step)  # refuses what cannot run, while it costs nothing
        name = request_name(priced.question, priced.terms, form)
        request = Request(priced, payer, finished, name, key, fresh, tick, kept)
        # The key first and always in this order, so that no two wait for each other.
        with (
            self.attempts.alone(None if key is None else (payer.who, key)),
            self.attempts.alone(None if fresh else request.name),
        ):
            known = self._known(request)
            return self._bought(request) if known is None else known  # an answer may have no rows and count as false

    def _known(self, request: Request) -> Answer | None:
        """The stored answer to an earlier attempt with the same key, or to an equal request by whomever."""
        payer = request.payer
        earlier = self.ledger.attempted(payer.who, request.key, request.name)
        if earlier and (answer := self._stored(earlier)) is not None:
            return answer
        receipt = None if request.fresh else self.ledger.answered(request.name)
        if receipt is None:
            return None
        if payer.pays_for_replays:
            self.ledger.read(receipt, payer.charges(request.priced.charge), who=payer.who, key=request.key)
        return self._stored(receipt)

    def _bought(self, request: Request) -> Answer:
        receipt = self.ledger.reserve(
            request.payer.charges(request.priced.charge),
            question=question_name(request.priced.question),
            who=request.payer.who,
            request=request.name,
            key=request.key,
            rate=request.payer.rate,
        )
        return self._repeated(request, receipt) if receipt.repeated else self._worked(request, receipt)

    def _repeated(self, request: Request, receipt: Receipt) -> Answer:
        """What an earlier attempt with the same key gave. Without an answer it stays without one, unless its outcomes
        were kept: to draw again would sell two draws for one price."""
        answer = self._stored(receipt)
        if answer is None and request.kept is None:
            raise WorkStopped
        return self._worked(request, receipt) if answer is None else answer

    def _stored(self, receipt: Receipt) -> Answer | None:
        body = self.ledger.answer(receipt.id)
        return None if body is None else replace(decoded(body), replayed=True)

    def _worked(self, request: Request, receipt: Receipt) -> Answer:
        with request.kept(receipt) if request.kept else nullcontext(request.priced) as priced:
            return self._paid(request, receipt, priced)

    def _paid(self, request: Request, receipt: Receipt, priced: Payable) -> Answer:
        charged, expected = time.monotonic(), 0.0
        failed: BaseException | None = None
        try:
            expected = sum(map(self.engine.expected_seconds, priced.passes))
            deadline = Deadline.after(self.seconds)
            with allowance(priced, request.payer.neighbours) as paid:
                answer = request.finished(measured(priced, self.engine, paid, deadline, request.tick), receipt)
            self.settle(time.monotonic() - charged, expected)  # others too can see when it is stored
            self.ledger.store(receipt, *pieces(answer))
            return answer
        except BaseException as error:
            failed = error
        if not isinstance(failed, KeyboardInterrupt):
            self.settle(time.monotonic() - charged, expected)  # nor can others see when it failed
        # Out of the handler, so that neither the error nor its text travels along: both can depend on rows.
        self.log.record(receipt.id, request.payer.who, failed)
        raise KeyboardInterrupt(str(WorkStopped())) if isinstance(failed, KeyboardInterrupt) else WorkStopped


def require_covered(priced: Payable) -> None:
    """Refuse, before anything is charged, what is private for one unit at a time where one changes what others own.

    A question in SQL or of a frame counts them in (`measurements.over_steps`); whatever else is made of rows does not.
    """
    read = [priced.question.relation, *(step.child for step in priced.passes)]
    shared = next((relation for relation in read if relation.steps > 1), None)
    if shared is not None and not isinstance(priced, Priced):
        refuse_shared_keys("what is made of these rows", shared)


def measured(
    priced: Payable,
    engine: Engine,
    paid: Allowance,
    deadline: Deadline | None = None,
    tick: Callable[[float], object] | None = None,
) -> Any:
    """Run the passes, and measure everything at the expense of `paid`, before the deadline.

    Refused, before anything is read, where `paid` has less than all of it may lose.
    """
    paid.require(priced.loss)
    ends = deadline or Deadline.after(MOST_SECONDS)
    released = priced.run(
        lambda step: engine.run(step, seconds=ends.left(), tick=tick), paid, TimedEntropy(fresh_entropy(), ends)
    )
    ends.left()
    return released


def allowance(priced: Payable, neighbours: Mapping[str, Neighbours]) -> Allowance:
    """What a price allows to draw, from every population that it was charged to."""
    parts = [Allowance(amount, neighbours=neighbours[name]) for name, amount in priced.charge.items()]
    return parts[0] if len(parts) == 1 else JointAllowance(*parts)
