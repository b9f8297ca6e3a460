"""The door: charge first, one opaque failure afterwards, and the charge stays; one draw for one price."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest

from dalenius.accounting.amounts import Charge
from dalenius.engines.engine import Statements
from dalenius.errors import (
    AccessDenied,
    BudgetExceeded,
    InvalidParameter,
    NeighbourMismatch,
    QueryRefused,
    TooOften,
    WorkStopped,
)
from dalenius.ledger import texts
from dalenius.ledger.accounts import Account, AccountTerms, Rate, Receipt
from dalenius.ledger.ledger import Ledger, new_name, prepare
from dalenius.ledger.stores import SQLiteStore
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.encoding import encoded
from dalenius.session.executor import Executor, Payer, allowance, measured
from dalenius.session.log import OwnerLog

PATIENTS, DOCTORS = Account(("patients",)), Account(("doctors",))
ANA, BEN = Account(("patients", "ana")), Account(("patients", "ben"))
CANARY = "canary-4711"


class Text(str):
    """Stands in for a question or a pass in which a unit changes nobody else."""

    steps = 1

    @property
    def relation(self) -> Text:
        return self

    @property
    def child(self) -> Text:
        return self


@dataclass
class Priced:
    """Stands in for a priced question: it draws once and answers with a text."""

    charge: dict[str, Charge]
    events: list[str]
    question: str = "question"
    steps: tuple[str, ...] = ("step",)
    level: Fraction = Fraction(19, 20)
    passes: tuple[str, ...] = ("pass 1", "pass 2")
    draws: Fraction = Fraction(1, 100)
    words: int = 1
    later: tuple[str, ...] = ()
    form: object = ()
    empty: bool = False

    def __post_init__(self) -> None:
        self.question, self.passes = Text(self.question), tuple(map(Text, self.passes))

    @property
    def terms(self) -> tuple[object, ...]:
        return self.steps, self.level, self.form

    @property
    def loss(self) -> PureDP:
        return PureDP(Fraction(1, 100))

    def run(self, look: Any, allowance: Any, entropy: Any) -> int:
        for step in self.passes:
            look(step)
        allowance.draw(PureDP(self.draws))
        self.events.append(f"measured with {type(allowance).__name__}")
        word = 0
        for _ in range(self.words):
            word = entropy.word()
        for step in self.later:
            look(step)
        return word

    def encode(self, released: int) -> Answer:
        return Answer((AnswerColumn("n", () if self.empty else (released,)),))

    def decode(self, answer: Answer) -> Answer:
        return answer


@dataclass
class Engine:
    events: list[str]
    error: BaseException | None = None
    seconds: float = 0
    limits: list[float] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    def compile_sql(self, step: str) -> str:
        self.written.append(step)
        if step == "too wide":
            raise QueryRefused(step, rule="it does not fit", instead="Ask for less.")
        return f"SELECT {step}"

    def expected_seconds(self, step: str) -> float:
        return 1.0

    def run(self, step: str, *, sql: str, seconds: float, tick: object = None) -> str:
        assert sql == f"SELECT {step}"
        self.events.append(f"ran {step}")
        self.limits.append(seconds)
        time.sleep(self.seconds)
        if self.error:
            raise self.error
        return "exact"


class Loudly(Ledger):
    """A ledger that tells what happens to it."""

    def __init__(self, events: list[str]) -> None:
        self.events, store = events, SQLiteStore()
        prepare(store)
        super().__init__(store)
        self.begin(new_name())

    def reserve(self, charges: Any, **facts: Any) -> Any:
        receipt = super().reserve(charges, **facts)
        self.events += [] if receipt.repeated else ["charged"]
        return receipt

    def store(self, receipt: Any, *pieces: Any) -> None:
        super().store(receipt, *pieces)
        self.events.append("stored")


def amount(epsilon: str) -> Charge:
    return Charge.covering(divergence=Fraction(epsilon), delta=Fraction(0), order=None)


@dataclass
class World:
    error: BaseException | None = None
    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger = Loudly(self.events)
        for account in (PATIENTS, DOCTORS, ANA, BEN):
            self.ledger.open(account, AccountTerms(amount("1")))
        self.engine = Engine(self.events, self.error)
        self.executor = Executor(self.ledger, self.engine, OwnerLog())  # type: ignore[arg-type]

    def ask(
        self, *, doctors: Any = None, key: str | None = None, fresh: bool = False, who: str = "ana", pays: bool = False,
        rate: Rate | None = None, **changes: Any,
    ) -> Answer:  # fmt: skip
        charge = {"patients": amount("0.1")} | ({"doctors": amount("0.1")} if doctors else {})
        accounts = {"patients": Account(("patients", who)), "doctors": DOCTORS}
        relations = {"patients": AddRemove()} | ({"doctors": doctors} if doctors else {})
        price: Any = Priced(**{"charge": charge, "events": self.events, **changes})
        payer = Payer(who, accounts, relations, rate=rate, pays_for_replays=pays)
        return self.executor.run(price, payer, labelled, key=key, fresh=fresh)


def labelled(answer: Answer, receipt: Receipt) -> Answer:
    return replace(answer, receipt=receipt.id)


def test_the_charge_comes_first_and_the_answer_is_stored_before_it_is_given() -> None:
    world = World()
    answer = world.ask()
    assert world.events == ["charged", "ran pass 1", "ran pass 2", "measured with Allowance", "stored"]
    assert world.ledger.answer(answer.receipt) == encoded(answer)


class AnswersFirst(Executor):
    """Planted bug: it reads the data, and charges afterwards."""

    def run(self, purchase: Any, payer: Any, labelled: Any, **facts: Any) -> Any:
        released = measured(purchase, Statements(self.engine), allowance(purchase, payer.neighbours))
        receipt = self.ledger.reserve(payer.charges(purchase.charge), question="", who=payer.who)
        return labelled(purchase.encode(released), receipt)


def test_the_test_above_notices_a_door_that_charges_afterwards() -> None:
    world = World()
    world.executor = AnswersFirst(world.ledger, world.executor.engine, world.executor.log)
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


def test_the_text_of_each_pass_is_written_once_and_is_what_the_engine_runs() -> None:
    world = World()
    world.ask(passes=("pass 1", "pass 2", "pass 1"), later=("pass 3",))
    assert world.engine.written == ["pass 1", "pass 2", "pass 3"]


def test_what_the_engine_cannot_run_is_refused_before_any_charge() -> None:
    world = World()
    with pytest.raises(QueryRefused):
        world.ask(passes=("pass 1", "too wide"))
    assert world.events == []


def test_work_may_look_again_after_it_has_released_something_and_within_the_same_deadline() -> None:
    world = World()
    world.ask(passes=("pass 1",), later=("pass 3",))
    assert world.events == ["charged", "ran pass 1", "measured with Allowance", "ran pass 3", "stored"]
    assert world.engine.limits[1] < world.engine.limits[0]


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
    assert alone(stopped.value)
    assert CANARY not in "".join(traceback.format_exception(stopped.value))
    assert world.ledger.spent(PATIENTS) == amount("0.1")
    assert [failure.reason for failure in world.executor.log] == [type(error).__name__]
    assert world.executor.log[0].receipt == world.ledger.history()[0].id


def test_the_test_above_notices_an_error_that_travels_along() -> None:
    """Planted bug: raised inside the handler, the engine's error hangs on to the opaque one."""
    try:
        try:
            raise ValueError(CANARY)
        except ValueError:
            raise WorkStopped from None
    except WorkStopped as stopped:
        caught = stopped
    assert not alone(caught)


def alone(error: BaseException) -> bool:
    """Whether no other error travels along with this one."""
    return error.__context__ is None and error.__cause__ is None


def test_the_owner_reads_the_reason_and_a_broken_listener_changes_nothing() -> None:
    world, heard = World(ValueError(CANARY)), []

    def listener(failure: Any) -> None:
        heard.append(failure)
        raise RuntimeError(CANARY)

    world.executor.log.listen(listener)
    with pytest.raises(WorkStopped) as stopped:
        world.ask()
    assert stopped.value.__context__ is None
    assert CANARY in heard[0].details
    assert CANARY not in repr(world.executor.log)


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


# ---- replays


def draws(world: World) -> int:
    return sum(event.startswith("measured") for event in world.events)


def test_an_equal_request_by_anybody_is_replayed_byte_for_byte_and_free() -> None:
    world = World()
    bought, again, by_other = world.ask(), world.ask(), world.ask(who="ben")
    assert encoded(bought) == encoded(again) == encoded(by_other) == world.ledger.answer(bought.receipt)
    assert [bought.replayed, again.replayed, by_other.replayed] == [False, True, True]
    assert draws(world) == 1
    assert world.ledger.spent(PATIENTS) == amount("0.1")
    assert not world.ledger.spent(BEN)


def test_an_answer_without_rows_is_replayed_too() -> None:
    world = World()
    for key in (None, None, "k", "k"):
        assert not world.ask(empty=True, key=key)
    assert draws(world) == 1


@pytest.mark.parametrize(
    "change",
    [{"question": "another"}, {"steps": ("dearer",)}, {"level": Fraction(9, 10)}, {"form": (True, 2)}],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_answer_makes_another_request(change: dict[str, Any]) -> None:
    world = World()
    world.ask()
    world.ask(**change)
    assert draws(world) == 2


def test_a_fresh_draw_is_paid_for_and_leaves_the_first_answer_to_replays() -> None:
    world = World()
    first, fresh, replayed = world.ask(), world.ask(fresh=True), world.ask()
    assert draws(world) == 2
    assert world.ledger.spent(PATIENTS) == amount("0.2")
    assert encoded(fresh) != encoded(first) == encoded(replayed)


def test_a_replay_that_the_reader_pays_for_charges_the_quota_alone() -> None:
    world = World()
    world.ask()
    world.ask(who="ben", pays=True)
    assert world.ledger.spent(BEN) == world.ledger.spent(PATIENTS) == amount("0.1")
    assert [entry.kind for entry in world.ledger.entries()][-1] == "read"


def test_a_reader_who_pays_and_has_too_little_gets_nothing() -> None:
    world = World()
    world.ask()
    world.ledger.open(BEN, AccountTerms(amount("0.05")))
    with pytest.raises(BudgetExceeded):
        world.ask(who="ben", pays=True)


def test_a_rate_counts_charges_and_not_replays() -> None:
    world, rate = World(), Rate(1, seconds=3600)
    for _ in range(3):
        world.ask(rate=rate)
    with pytest.raises(TooOften):
        world.ask(question="another", rate=rate)


# ---- keys


def test_a_retry_with_the_same_key_charges_once_and_gives_the_same_bytes() -> None:
    world = World()
    answers = [world.ask(key="k", fresh=fresh) for fresh in (True, True, False)]
    assert len({encoded(answer) for answer in answers}) == draws(world) == 1
    assert world.ledger.spent(PATIENTS) == amount("0.1")


def test_a_key_belongs_to_one_question_of_one_asker() -> None:
    world = World()
    world.ask(question="another")
    world.ask(key="k")
    with pytest.raises(InvalidParameter, match="another question"):
        world.ask(key="k", question="another")  # although its answer could be replayed
    world.ask(key="k", who="ben", question="a third")
    assert draws(world) == 3


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb", 5, b"x", "\ud800", ("a",), ["l"]])
def test_a_key_that_cannot_be_kept_is_refused_before_anything_is_done(key: Any) -> None:
    world = World()
    with pytest.raises(InvalidParameter, match=r"key is .* a printable text of 1 to 200 characters"):
        world.ask(key=key)
    assert world.events == []


def test_an_answer_that_is_too_long_for_the_ledger_stops_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_BYTES", 10)
    world = World()
    with pytest.raises(WorkStopped):
        world.ask()
    monkeypatch.undo()
    world.ask(question="another")


def test_twenty_threads_with_one_key_get_one_draw() -> None:
    world, gate = World(), threading.Barrier(20)
    world.engine.seconds = 0.02

    def retry(_: int) -> str:
        gate.wait()
        return encoded(world.ask(key="k", fresh=True))

    with ThreadPoolExecutor(20) as threads:
        assert len(set(threads.map(retry, range(20)))) == 1
    assert draws(world) == 1
    assert world.ledger.spent(PATIENTS) == amount("0.1")


def test_twenty_equal_requests_at_once_get_one_draw() -> None:
    world = World()
    world.engine.seconds = 0.02
    with ThreadPoolExecutor(20) as threads:
        bodies = set(threads.map(lambda number: encoded(world.ask(who="ana" if number % 2 else "ben")), range(20)))
    assert len(bodies) == draws(world) == 1


def test_the_tests_above_notice_a_door_that_waits_for_nobody() -> None:
    """Planted bug: attempts of its own for every call."""
    world, gate = World(), threading.Barrier(8)
    world.engine.seconds = 0.05

    def ask(_: int) -> None:
        gate.wait()
        Executor(world.ledger, world.executor.engine, world.executor.log).run(
            Priced({"patients": amount("0.1")}, world.events),  # type: ignore[arg-type]
            Payer("ana", {"patients": ANA}, {"patients": AddRemove()}), labelled,
        )  # fmt: skip

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(8)))
    assert draws(world) > 1


@pytest.mark.parametrize("fresh", [True, False])
def test_a_key_whose_first_attempt_died_after_the_charge_stops_and_draws_nothing_again(fresh: bool) -> None:
    world = World(ValueError(CANARY))
    for _ in range(3):
        with pytest.raises(WorkStopped):
            world.ask(key="k", fresh=fresh)
        world.engine.error = None
    assert draws(world) == 0
    assert world.events.count("charged") == 1
    world.ask(key="k2", fresh=fresh)
    assert draws(world) == 1


def test_work_that_keeps_its_outcomes_goes_on_with_its_key_and_lets_go_when_its_answer_is_stored() -> None:
    world = World(ValueError(CANARY))
    price: Any = Priced({"patients": amount("0.1")}, world.events)
    payer = Payer("ana", {"patients": ANA}, {"patients": AddRemove()})
    seen: list[str] = []

    @contextmanager
    def kept(receipt: Receipt) -> Iterator[Any]:
        seen.append(receipt.id)
        yield price
        assert world.ledger.answer(receipt.id) is not None
        seen.append("let go")

    def ask() -> Answer:
        return world.executor.run(price, payer, labelled, key="k", kept=kept)

    for _ in range(2):
        with pytest.raises(WorkStopped) as caught:
            ask()
        assert CANARY not in str(caught.value)
    world.engine.error = None
    first = ask()
    assert encoded(ask()) == encoded(first)
    assert seen == [first.receipt] * 3 + ["let go"]
    assert world.events.count("charged") == 1
    assert draws(world) == 1


def test_where_somebody_else_has_bought_it_meanwhile_a_dead_attempt_is_given_that_answer() -> None:
    world = World(ValueError(CANARY))
    with pytest.raises(WorkStopped):
        world.ask(key="k")
    world.engine.error = None
    bought = world.ask(who="ben")
    assert encoded(world.ask(key="k")) == encoded(bought)
    with pytest.raises(WorkStopped):
        world.ask(key="k", fresh=True)


def test_another_process_with_the_same_key_is_told_that_there_is_no_answer_and_draws_nothing() -> None:
    world, other = World(), World()
    started, go = threading.Event(), threading.Event()
    world.engine.run = lambda step, **_: (started.set(), go.wait(10))  # type: ignore[method-assign, assignment, return-value]
    elsewhere = Executor(world.ledger, other.engine, OwnerLog())  # type: ignore[arg-type]
    price: Any = Priced({"patients": amount("0.1")}, other.events)
    payer = Payer("ana", {"patients": ANA}, {"patients": AddRemove()})
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(world.ask, key="k")
        assert started.wait(10)
        with pytest.raises(WorkStopped):
            elsewhere.run(price, payer, labelled, key="k")
        go.set()
        answer = first.result(10)
    assert other.events == []
    assert encoded(elsewhere.run(price, payer, labelled, key="k")) == encoded(answer)


def test_an_account_that_is_closed_is_refused_before_anything_is_read() -> None:
    world = World()
    world.ledger.open(ANA, AccountTerms(amount("1"), end=world.ledger.now()))
    with pytest.raises(AccessDenied):
        world.ask()
    assert world.events == []


# ---- deadlines


def test_all_passes_and_the_noise_share_one_deadline() -> None:
    world = World()
    world.engine.seconds = 0.03
    world.ask()
    first, second = world.engine.limits
    assert second <= first - 0.03


@pytest.mark.parametrize(("seconds", "words"), [(0.03, 1), (0.01, 10**9)], ids=["passes", "noise"])
def test_work_that_takes_longer_in_all_is_stopped_and_stays_charged(seconds: float, words: int) -> None:
    world = World()
    world.engine.seconds = seconds
    world.executor = Executor(world.ledger, world.executor.engine, world.executor.log, seconds=0.05)
    with pytest.raises(WorkStopped):
        world.ask(words=words)
    assert "stored" not in world.events
    assert world.ledger.spent(PATIENTS) == amount("0.1")
