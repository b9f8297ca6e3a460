"""The door: charge first, one opaque failure afterwards, and the charge stays."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from dalenius.accounting.amounts import Amount
from dalenius.curator.door import Door, Payer, allowance, measured
from dalenius.curator.ledger import Account, MemoryLedger
from dalenius.curator.log import OwnerLog
from dalenius.errors import BudgetExceeded, NeighbourMismatch, QueryRefused, WorkStopped
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove, Replace

PATIENTS, DOCTORS = Account(("patients",)), Account(("doctors",))
CANARY = "canary-4711"


@dataclass
class Priced:
    """Stands in for a priced question: it draws once and answers with a text."""

    charge: dict[str, Amount]
    events: list[str]
    question: str = "question"
    passes: tuple[str, ...] = ("pass 1", "pass 2")
    draws: Fraction = Fraction(1, 100)

    def run(self, results: list[str], allowance: Any, entropy: Any) -> str:
        allowance.draw(PureDP(self.draws))
        self.events.append(f"measured with {type(allowance).__name__}")
        return "released"


@dataclass
class Engine:
    events: list[str]
    error: BaseException | None = None

    def spelled(self, step: str) -> str:
        if step == "too wide":
            raise QueryRefused(step, rule="it does not fit", instead="Ask for less.")
        return f"SELECT {step}"

    def run(self, step: str, *, tick: object = None) -> str:
        self.events.append(f"ran {step}")
        if self.error:
            raise self.error
        return "exact"


@dataclass
class Loudly(MemoryLedger):
    """A ledger that tells what happens to it."""

    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def reserve(self, charges: Any, **facts: Any) -> Any:
        receipt = super().reserve(charges, **facts)
        self.events.append("charged")
        return receipt

    def store(self, receipt: Any, answer: Any) -> None:
        super().store(receipt, answer)
        self.events.append("stored")


def amount(epsilon: str) -> Amount:
    return Amount.covering(divergence=Fraction(epsilon), delta=Fraction(0), order=None)


@dataclass
class World:
    error: BaseException | None = None
    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger = Loudly(self.events)
        for account in (PATIENTS, DOCTORS):
            self.ledger.open(account, amount("1"))
        self.door = Door(self.ledger, Engine(self.events, self.error), OwnerLog())  # type: ignore[arg-type]

    def ask(self, *, doctors: Any = None, **changes: Any) -> Any:
        charge = {"patients": amount("0.1")} | ({"doctors": amount("0.1")} if doctors else {})
        accounts = {"patients": PATIENTS, "doctors": DOCTORS}
        relations = {"patients": AddRemove()} | ({"doctors": doctors} if doctors else {})
        price = Priced(**{"charge": charge, "events": self.events, **changes})
        return self.door.answer(price, Payer("ana", accounts, relations), lambda table, receipt: (table, receipt.id))  # type: ignore[arg-type, return-value]


def test_the_charge_comes_first_and_the_answer_is_stored_before_it_is_given() -> None:
    world = World()
    table, receipt = world.ask()
    assert world.events == ["charged", "ran pass 1", "ran pass 2", "measured with Allowance", "stored"]
    assert table == "released"
    assert world.ledger.answer(receipt) == (table, receipt)


class AnswersFirst(Door):
    """Planted bug: it reads the data, and charges afterwards."""

    def answer(self, priced: Any, payer: Any, finished: Any) -> Any:
        shaped = measured(priced, self.engine, allowance(priced, payer.neighbours))
        charges = {payer.accounts[name]: amount for name, amount in priced.charge.items()}
        return finished(shaped, self.ledger.reserve(charges, question="", who=payer.who))


def test_the_test_above_notices_a_door_that_charges_afterwards() -> None:
    world = World()
    world.door = AnswersFirst(world.ledger, world.door.engine, world.door.log)
    world.ask()
    assert world.events.index("charged") > world.events.index("ran pass 1")


def test_a_refusal_reads_nothing_and_charges_nothing() -> None:
    world = World()
    with pytest.raises(BudgetExceeded):
        world.ask(charge={"patients": amount("1.1")})
    assert world.events == []
    assert not world.ledger.spent(PATIENTS)


def test_two_populations_are_both_charged_and_both_drawn_on() -> None:
    world = World()
    world.ask(doctors=AddRemove())
    assert "measured with JointAllowance" in world.events
    assert world.ledger.spent(PATIENTS) == world.ledger.spent(DOCTORS) == amount("0.1")


def test_populations_with_different_neighbours_are_refused_before_any_charge() -> None:
    world = World()
    with pytest.raises(NeighbourMismatch):
        world.ask(doctors=Replace())
    assert world.events == []


def test_what_the_engine_cannot_run_is_refused_before_any_charge() -> None:
    world = World()
    with pytest.raises(QueryRefused):
        world.ask(passes=("pass 1", "too wide"))
    assert world.events == []


FAILURES = [
    ValueError(CANARY), MemoryError(CANARY), KeyboardInterrupt(), SystemExit(CANARY), BudgetExceeded(
        account=CANARY, asked=1, left=0
    ), WorkStopped(), RecursionError(CANARY),
]  # fmt: skip


@pytest.mark.textbook("S18.8")
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_every_failure_after_the_charge_looks_the_same_and_stays_charged(error: BaseException) -> None:
    world = World(error)
    shown = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else WorkStopped
    with pytest.raises(shown) as stopped:
        world.ask()
    assert str(stopped.value) == str(WorkStopped())
    assert stopped.value.__context__ is None
    assert stopped.value.__cause__ is None
    assert CANARY not in "".join(traceback.format_exception(stopped.value))
    assert world.ledger.spent(PATIENTS) == amount("0.1")
    assert [failure.reason for failure in world.door.log] == [type(error).__name__]
    assert world.door.log[0].receipt == world.ledger.history()[0].id


def test_the_test_above_notices_an_error_that_travels_along() -> None:
    """Planted bug: raised inside the handler, the engine's error hangs on to the opaque one."""
    try:
        try:
            raise ValueError(CANARY)
        except ValueError:
            raise WorkStopped from None
    except WorkStopped as stopped:
        caught = stopped
    assert caught.__context__ is not None


def test_the_owner_reads_the_reason_and_a_broken_listener_changes_nothing() -> None:
    world, heard = World(ValueError(CANARY)), []

    def listener(failure: Any) -> None:
        heard.append(failure)
        raise RuntimeError(CANARY)

    world.door.log.listen(listener)
    with pytest.raises(WorkStopped) as stopped:
        world.ask()
    assert stopped.value.__context__ is None
    assert CANARY in heard[0].details
    assert CANARY not in repr(world.door.log)


def test_nothing_is_drawn_past_the_charge() -> None:
    world = World()
    with pytest.raises(WorkStopped):
        world.ask(draws=Fraction(1, 2))
    assert "stored" not in world.events


def test_a_failure_while_storing_gives_no_answer() -> None:
    world = World()
    world.ledger.store = lambda receipt, answer: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(WorkStopped):
        world.ask()
    assert world.ledger.spent(PATIENTS) == amount("0.1")
