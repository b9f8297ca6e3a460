"""The one way to an answer: charge, measure exactly, add noise, release, store. What was bought before is replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dalenius.accounting.allowance import Allowance, JointAllowance
from dalenius.accounting.amounts import Amount
from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.encoding import decoded, encoded
from dalenius.curator.ledger.accounts import Account, Charge, Rate, Receipt
from dalenius.curator.ledger.ledger import Ledger
from dalenius.curator.log import OwnerLog
from dalenius.engines.engine import Engine
from dalenius.errors import NeighbourMismatch, WorkStopped
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.pricing.pricing import Priced
from dalenius.query.pricing.releasing import Released
from dalenius.query.questions import Question
from dalenius.randomness.entropy import fresh_entropy


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
class Door:
    """Where charges are made and exact values become noisy ones.

    Guarantee: no data is read before the ledger has taken the whole price; what fails afterwards, for whatever reason,
    stays charged and looks the same to whoever asked; an answer is stored before it is handed out. An equal request is
    answered from the ledger, and so is a retry with the same key: the same bytes, for nothing.
    Textbook: S18.8.
    """

    ledger: Ledger
    engine: Engine
    log: OwnerLog

    def answer(
        self,
        priced: Priced,
        payer: Payer,
        finished: Callable[[Released, Receipt], Answer],
        *,
        form: str = "",
        key: str | None = None,
        fresh: bool = False,
        tick: Callable[[float], object] | None = None,
    ) -> Answer:
        """Charge and answer; `finished` puts what was released and its receipt together.

        `form` says how the answer is shown, `key` names this attempt, `fresh` pays for a new draw where an equal
        request was answered before. Raises `BudgetExceeded` and charges nothing, or charges and raises `WorkStopped`;
        an interrupt by the keyboard stays one, with the same text. `tick` is called as time goes by.
        """
        payer.require_one_relation()
        for step in priced.passes:
            self.engine.spelled(step)  # refuses what cannot run, while it costs nothing
        request = request_name(priced, form)
        if not fresh:
            replayed = self._replayed(request, priced, payer)
            if replayed:
                return replayed
        receipt = self.ledger.reserve(
            payer.charges(priced.charge),
            question=digest(priced.question),
            who=payer.who,
            request=request,
            key=key,
            rate=payer.rate,
        )
        return self._repeated(receipt) if receipt.repeated else self._paid(priced, payer, receipt, finished, tick)

    def _replayed(self, request: str, priced: Priced, payer: Payer) -> Answer | None:
        """The stored answer to an equal request, by whomever it was bought."""
        receipt = self.ledger.answered(request)
        if receipt is None:
            return None
        if payer.pays_for_replays:
            self.ledger.read(receipt, payer.charges(priced.charge), who=payer.who)
        return self._stored(receipt.id)

    def _repeated(self, receipt: Receipt) -> Answer:
        """What an earlier attempt with the same key gave. Without an answer it stays without one: to draw again would
        sell two draws for one price."""
        answer = self._stored(receipt.id)
        if answer is None:
            raise WorkStopped
        return answer

    def _stored(self, receipt: str) -> Answer | None:
        body = self.ledger.answer(receipt)
        return None if body is None else decoded(body)

    def _paid(
        self,
        priced: Priced,
        payer: Payer,
        receipt: Receipt,
        finished: Callable[[Released, Receipt], Answer],
        tick: Callable[[float], object] | None,
    ) -> Answer:
        failed: BaseException | None = None
        try:
            with allowance(priced, payer.neighbours) as paid:
                answer = finished(measured(priced, self.engine, paid, tick), receipt)
            self.ledger.store(receipt, encoded(answer))
            return answer
        except BaseException as error:
            failed = error
        # Out of the handler, so that neither the error nor its text travels along: both can depend on rows.
        self.log.record(receipt.id, payer.who, failed)
        raise KeyboardInterrupt(str(WorkStopped())) if isinstance(failed, KeyboardInterrupt) else WorkStopped


def measured(
    priced: Priced, engine: Engine, paid: Allowance, tick: Callable[[float], object] | None = None
) -> Released:
    """Run the passes, and measure everything at the expense of `paid`."""
    exact = [engine.run(step, tick=tick) for step in priced.passes]
    return priced.run(exact, paid, fresh_entropy())


def allowance(priced: Priced, neighbours: Mapping[str, Neighbours]) -> Allowance:
    """What a price allows to draw, from every population that it was charged to."""
    parts = [Allowance(amount, neighbours=neighbours[name]) for name, amount in priced.charge.items()]
    return parts[0] if len(parts) == 1 else JointAllowance(*parts)


def digest(question: Question) -> str:
    """A name for a bound question: equal questions about equal versions of tables have equal names."""
    return hashlib.sha256(repr(question).encode()).hexdigest()


def request_name(priced: Priced, form: str = "") -> str:
    """A name for a question at a price and in a form: equal names are answered alike."""
    return hashlib.sha256(repr((priced.question, priced.steps, priced.level, form)).encode()).hexdigest()
