"""The one way to an answer: charge, measure exactly, add noise, release, store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dalenius.accounting.allowance import Allowance, JointAllowance
from dalenius.curator.answers.answers import Answer
from dalenius.curator.ledger import Account, Ledger, Receipt
from dalenius.curator.log import OwnerLog
from dalenius.engines.engine import Engine
from dalenius.errors import NeighbourMismatch, WorkStopped
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.pricing.pricing import Priced
from dalenius.query.pricing.releasing import Released
from dalenius.query.questions import Question
from dalenius.randomness.entropy import system_entropy


@dataclass(frozen=True)
class Payer:
    """Who pays: a name for the receipt, and the account and neighbours of each population."""

    who: str
    accounts: Mapping[str, Account]
    neighbours: Mapping[str, Neighbours]

    def require_one_relation(self) -> None:
        """Refuse a question about populations with different neighbours: no mechanism is calibrated for both."""
        if len(set(self.neighbours.values())) > 1:
            raise NeighbourMismatch(**self.neighbours)


@dataclass(frozen=True)
class Door:
    """Where charges are made and exact values become noisy ones.

    Guarantee: no data is read before the ledger has taken the whole price; what fails afterwards, for whatever reason,
    stays charged and looks the same to whoever asked; an answer is stored before it is handed out.
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
        tick: Callable[[float], object] | None = None,
    ) -> Answer:
        """Charge and answer; `finished` puts what was released and its receipt together.

        Raises `BudgetExceeded` and charges nothing, or charges and raises `WorkStopped`; an interrupt by the keyboard
        stays one, with the same text. `tick` is called as time goes by.
        """
        payer.require_one_relation()
        for step in priced.passes:
            self.engine.spelled(step)  # refuses what cannot run, while it costs nothing
        charges = {payer.accounts[name]: amount for name, amount in priced.charge.items()}
        receipt = self.ledger.reserve(charges, question=digest(priced.question), who=payer.who)
        failed: BaseException | None = None
        try:
            with allowance(priced, payer.neighbours) as paid:
                answer = finished(measured(priced, self.engine, paid, tick), receipt)
            self.ledger.store(receipt, answer)
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
    return priced.run(exact, paid, system_entropy())


def allowance(priced: Priced, neighbours: Mapping[str, Neighbours]) -> Allowance:
    """What a price allows to draw, from every population that it was charged to."""
    parts = [Allowance(amount, neighbours=neighbours[name]) for name, amount in priced.charge.items()]
    return parts[0] if len(parts) == 1 else JointAllowance(*parts)


def digest(question: Question) -> str:
    """A name for a bound question: equal questions about equal versions of tables have equal names."""
    return hashlib.sha256(repr(question).encode()).hexdigest()
