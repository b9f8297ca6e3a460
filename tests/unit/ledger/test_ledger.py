"""One ledger: compare and charge are one step, quotas lie inside caps, and nothing comes back."""

from __future__ import annotations

import datetime as dt
import multiprocessing
import sqlite3
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import AccessDenied, BudgetExceeded, InvalidParameter, TooOften
from dalenius.ledger import texts
from dalenius.ledger.accounts import MOST, Account, AccountCharge, AccountTerms, Rate
from dalenius.ledger.checking import examined
from dalenius.ledger.ledger import Ledger
from ledger_cases import ANA, BEN, PATIENTS, Clock, charge, opened, units

DOCTORS = Account(("doctors",))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock: Clock) -> Iterator[Ledger]:
    """A ledger in memory, with a population of 100 units and two quotas in it; it is sound at the end of every test."""
    ledger = opened(Ledger.in_memory(clock=clock), ana=50, ben=80)
    yield ledger
    assert examined(ledger._journal._store).problems == ()
    ledger.close()


def test_a_charge_to_a_quota_is_a_charge_to_the_population(ledger: Ledger) -> None:
    charge(ledger, "ana", 30)
    assert ledger.spent(ANA) == ledger.spent(PATIENTS) == units(30)
    assert ledger.left(ANA) == units(20, 50)
    assert ledger.left(PATIENTS) == units(70, 100)


def test_a_quota_ends_before_the_cap(ledger: Ledger) -> None:
    charge(ledger, "ana", 50)
    with pytest.raises(BudgetExceeded, match="quota of 'ana' in 'patients'"):
        charge(ledger, "ana", 1)
    assert ledger.spent(PATIENTS) == units(50)


@pytest.mark.textbook("S18.3")
def test_fifty_colluding_analysts_share_one_cap() -> None:
    names = [f"analyst{number}" for number in range(50)]
    refused = []
    with closing(opened(Ledger.in_memory(), **dict.fromkeys(names, 25))) as ledger:
        for name in names * 25:
            try:
                charge(ledger, name, 1)
            except BudgetExceeded as refusal:
                refused.append(refusal.account)
        assert refused == ["'patients'"] * (50 * 25 - 100)
        assert ledger.spent(PATIENTS).divergence == 100


def test_what_is_left_of_a_quota_is_never_more_than_what_is_left_of_its_population(ledger: Ledger) -> None:
    charge(ledger, "ben", 80)
    assert ledger.left(ANA).divergence == 20


def test_a_refusal_charges_no_account_at_all(ledger: Ledger) -> None:
    ledger.open(DOCTORS, AccountTerms(units(10)))
    with pytest.raises(BudgetExceeded):
        ledger.reserve([AccountCharge(ANA, units(20)), AccountCharge(DOCTORS, units(11))], question="q", who="ana")
    assert not any(ledger.spent(account) for account in (ANA, PATIENTS, DOCTORS))
    assert ledger.history() == ()


def test_both_sides_of_an_amount_are_capped(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        charge(ledger, "ana", 1, 51)


@pytest.mark.textbook("S18.4")
@given(st.lists(st.tuples(st.sampled_from(["ana", "ben"]), st.integers(1, 60)), max_size=12))
def test_a_refusal_depends_on_earlier_charges_alone(asked: list[tuple[str, int]]) -> None:
    """An independent recount foretells every refusal, and the ledger never passes a cap."""
    spent = {"ana": 0, "ben": 0}
    with closing(opened(Ledger.in_memory(), ana=60, ben=70)) as ledger:
        for name, size in asked:
            fits = spent[name] + size <= {"ana": 60, "ben": 70}[name] and sum(spent.values()) + size <= 100
            if fits:
                charge(ledger, name, size)
                spent[name] += size
            else:
                with pytest.raises(BudgetExceeded):
                    charge(ledger, name, size)
        assert ledger.spent(PATIENTS).divergence == sum(spent.values()) <= 100
        charges = [part.amount.divergence for receipt in ledger.history() for part in receipt.charges]
        assert sum(charges) == sum(spent.values())


# ---- accounts


def test_a_population_is_opened_once(ledger: Ledger) -> None:
    ledger.open(PATIENTS, AccountTerms(units(100, 100)))  # the same again says nothing new
    with pytest.raises(InvalidParameter, match="set once"):
        ledger.open(PATIENTS, AccountTerms(units(1000)))
    assert ledger.terms(PATIENTS).cap == units(100, 100)


def test_a_population_may_retire_and_keeps_its_cap(ledger: Ledger, clock: Clock) -> None:
    ledger.open(PATIENTS, AccountTerms(units(100, 100), end=clock.now))
    with pytest.raises(AccessDenied, match="after"):
        charge(ledger, "ana", 1)


def test_a_quota_set_anew_keeps_what_was_spent(ledger: Ledger) -> None:
    charge(ledger, "ana", 40)
    ledger.open(ANA, AccountTerms(units(60)))
    assert ledger.left(ANA).divergence == 20
    ledger.open(ANA, AccountTerms(units(10)))
    assert ledger.left(ANA).divergence == 0
    assert ledger.spent(ANA).divergence == 40
    with pytest.raises(BudgetExceeded):
        charge(ledger, "ana", 1)


def test_free_releases_and_unknown_accounts_and_other_orders_are_refused(ledger: Ledger) -> None:
    unknown = Account(("patients", "nobody"))
    wrong = [
        [],
        [AccountCharge(ANA, units(0))],
        [AccountCharge(unknown, units(1))],
        [AccountCharge(ANA, units(1, order=Fraction(2)))],
    ]
    for charges in wrong:
        with pytest.raises(InvalidParameter):
            ledger.reserve(charges, question="q", who="ana")
    with pytest.raises(InvalidParameter):
        ledger.open(Account(("doctors", "ana")), AccountTerms(units(1)))
    with pytest.raises(InvalidParameter):
        ledger.open(ANA, AccountTerms(units(1, order=Fraction(2))))
    assert not ledger.spent(PATIENTS)


def test_a_population_is_charged_once_in_a_receipt(ledger: Ledger) -> None:
    """Each of two charges would fit into what is left, and both together would not."""
    with pytest.raises(InvalidParameter, match="one charge for each population"):
        ledger.reserve([AccountCharge(ANA, units(50)), AccountCharge(BEN, units(60))], question="q", who="ana")
    assert not ledger.spent(PATIENTS)


def test_the_largest_amounts_are_refused_and_do_not_overflow(ledger: Ledger) -> None:
    largest = units(2**63 - 1, 2**63 - 1)
    ledger.open(DOCTORS, AccountTerms(largest))
    ledger.reserve([AccountCharge(DOCTORS, largest)], question="q", who="owner")
    with pytest.raises(BudgetExceeded):
        ledger.reserve([AccountCharge(DOCTORS, largest)], question="q", who="owner")
    assert ledger.spent(DOCTORS) == largest


@pytest.mark.parametrize(
    "terms",
    [
        AccountTerms(units(1), reserve=units(1, order=Fraction(2))),
        AccountTerms(units(1), end=dt.datetime(2026, 1, 1)),
        AccountTerms(units(1), start=dt.datetime(2026, 1, 1)),
    ],
)
def test_terms_that_nothing_can_be_compared_with_are_refused(ledger: Ledger, terms: AccountTerms) -> None:
    with pytest.raises(InvalidParameter):
        ledger.open(ANA, terms)
    charge(ledger, "ana", 1)


# ---- start, end, reserve, rate


def test_a_quota_is_charged_from_its_start_until_before_its_end(ledger: Ledger, clock: Clock) -> None:
    start, end = (clock.now + dt.timedelta(seconds=seconds) for seconds in (10, 20))
    ledger.open(ANA, AccountTerms(units(50), start, end))
    outcomes = []
    for _ in range(21):
        try:
            charge(ledger, "ana", 1)
            outcomes.append(True)
        except AccessDenied:
            outcomes.append(False)
        clock.forward(1)
    assert outcomes == [10 <= second < 20 for second in range(21)]


def test_a_reserve_is_left_by_others_until_its_end(ledger: Ledger, clock: Clock) -> None:
    ledger.open(ANA, AccountTerms(units(50), end=clock.now + dt.timedelta(seconds=10), reserve=units(30)))
    assert (ledger.left(BEN).divergence, ledger.left(ANA).divergence) == (70, 50)
    charge(ledger, "ben", 70)
    with pytest.raises(BudgetExceeded):
        charge(ledger, "ben", 1)
    charge(ledger, "ana", 12)  # out of what is held: 18 of it are left, and nobody else lost anything
    assert (ledger.left(BEN).divergence, ledger.left(ANA).divergence) == (0, 18)
    clock.forward(10)
    assert ledger.left(BEN).divergence == 10
    charge(ledger, "ben", 10)


def test_a_reserve_binds_whoever_charges_the_population_itself(ledger: Ledger) -> None:
    ledger.open(ANA, AccountTerms(units(50), reserve=units(30)))
    assert ledger.left(PATIENTS).divergence == 70
    with pytest.raises(BudgetExceeded):
        charge(ledger, None, 71)


def test_nobody_is_charged_more_often_than_the_rate(ledger: Ledger, clock: Clock) -> None:
    rate, charged = Rate(3, seconds=10), []
    for second in range(30):
        try:
            charge(ledger, "ana", 1, rate=rate)
            charged.append(second)
        except TooOften:
            pass
        clock.forward(1)
    assert charged == [0, 1, 2, 11, 12, 13, 22, 23, 24]
    charge(ledger, "ben", 1, rate=rate)  # another principal


def test_a_rate_holds_at_the_edge_of_a_second(ledger: Ledger, clock: Clock) -> None:
    clock.forward(0.95)
    charge(ledger, "ana", 1, rate=Rate(1, seconds=1))
    for _ in range(10):
        clock.forward(0.1)
        with pytest.raises(TooOften):
            charge(ledger, "ana", 1, rate=Rate(1, seconds=1))
    clock.forward(1)
    charge(ledger, "ana", 1, rate=Rate(1, seconds=1))


@pytest.mark.parametrize("number", [0, -3, 10**30, float("nan"), 1.5, "a", True, None])
def test_a_rate_is_made_of_whole_numbers_that_every_store_can_compare(number: Any) -> None:
    for count, seconds in ((number, 1), (1, number)):
        with pytest.raises(InvalidParameter, match="nothing was run or charged"):
            Rate(count, seconds)


def test_the_largest_rate_stops_nobody(ledger: Ledger) -> None:
    charge(ledger, "ana", 1, rate=Rate(MOST, seconds=MOST))
    charge(ledger, "ana", 1)


def test_an_answer_that_is_too_long_is_refused_and_nothing_else_is(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MOST_BYTES", 8)
    first, second = charge(ledger, "ana", 1), charge(ledger, "ana", 1)
    with pytest.raises(InvalidParameter, match="too long"):
        ledger.store(first, "ä" * 5)
    ledger.store(second, "ä" * 4)
    assert (ledger.answer(first.id), ledger.answer(second.id)) == (None, "ä" * 4)


def test_the_longest_answer_that_is_kept_fits_into_sqlite() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH) / 2 > texts.MOST_BYTES


def test_a_clock_that_is_set_back_makes_no_entry_older_than_the_one_before(ledger: Ledger, clock: Clock) -> None:
    first = charge(ledger, "ana", 1)
    clock.forward(-3600)
    assert charge(ledger, "ana", 1).at == first.at


# ---- retries and replays


def test_a_key_is_charged_once(ledger: Ledger) -> None:
    first = charge(ledger, "ana", 5, request="r", key="k")
    again = charge(ledger, "ana", 5, request="r", key="k")
    assert (again, again.repeated, first.repeated) == (first, True, False)
    assert ledger.spent(ANA).divergence == 5
    assert charge(ledger, "ben", 5, request="r", key="k").id != first.id  # keys are the principal's own


def test_a_key_that_paid_for_another_question_is_refused(ledger: Ledger) -> None:
    charge(ledger, "ana", 5, request="r", key="k")
    with pytest.raises(InvalidParameter, match="another question"):
        charge(ledger, "ana", 5, request="s", key="k")
    assert ledger.spent(ANA).divergence == 5


def test_a_retry_is_not_refused_when_nothing_is_left(ledger: Ledger, clock: Clock) -> None:
    first = charge(ledger, "ana", 50, request="r", key="k")
    ledger.open(ANA, AccountTerms(units(1), end=clock.now))
    assert charge(ledger, "ana", 50, request="r", key="k", rate=Rate(1, seconds=60)) == first


def test_threads_with_one_key_are_charged_once(ledger: Ledger) -> None:
    with ThreadPoolExecutor(16) as pool:
        receipts = list(pool.map(lambda _: charge(ledger, "ana", 5, request="r", key="k"), range(64)))
    assert len({receipt.id for receipt in receipts}) == 1
    assert sum(not receipt.repeated for receipt in receipts) == 1
    assert ledger.spent(ANA).divergence == 5


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb", "a\0b", "\ud800", 7])
def test_a_key_is_a_short_printable_text(ledger: Ledger, key: Any) -> None:
    with pytest.raises(InvalidParameter, match="key"):
        charge(ledger, "ana", 1, key=key)
    charge(ledger, "ana", 1, key="é" * 200)


@pytest.mark.parametrize("wrong", [{"who": ""}, {"who": "a\n"}, {"question": "\ud800"}, {"request": "\0"}])
def test_no_text_that_a_store_would_change_stops_the_ledger(ledger: Ledger, wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter):
        charge(ledger, "ana", 1, **wrong)
    with pytest.raises(InvalidParameter):
        charge(ledger, "ana", 1, block="\udc00")
    charge(ledger, "ana", 1)


def test_a_replay_is_charged_to_the_quotas_alone(ledger: Ledger) -> None:
    receipt = charge(ledger, "ben", 20)
    ledger.read(receipt, [AccountCharge(ANA, units(20))], who="ana")
    assert [ledger.spent(account).divergence for account in (ANA, BEN, PATIENTS)] == [20, 20, 20]
    with pytest.raises(BudgetExceeded):
        ledger.read(receipt, [AccountCharge(ANA, units(31))], who="ana")


def test_a_retry_of_a_replay_with_the_same_key_is_charged_once(ledger: Ledger) -> None:
    first, second = charge(ledger, "ben", 1), charge(ledger, "ben", 1)
    spent = []
    for receipt, key in ((first, "a"), (first, "a"), (second, "a"), (first, "b"), (first, None), (first, None)):
        ledger.read(receipt, [AccountCharge(ANA, units(1))], who="ana", key=key)
        spent.append(ledger.spent(ANA).divergence)
    assert spent == [1, 1, 2, 3, 4, 5]
    ledger.read(first, [AccountCharge(BEN, units(1))], who="ben", key="a")
    assert ledger.spent(BEN).divergence == 3
    assert ledger.check().sound


def test_charges_are_listed_some_at_a_time_with_whether_they_have_an_answer(ledger: Ledger) -> None:
    made = [charge(ledger, who, 1) for who in ("ana", "ben", "ana", "ana")]
    ledger.store(made[2], "{}")
    assert ledger.count() == 4
    found = [(entry.facts["receipt"], answered) for entry, answered in ledger.charged()]
    assert found == [(receipt.id, receipt is made[2]) for receipt in made]
    page = ledger.charged(who="ana", after=made[0].number, most=1)
    assert [(entry.number, answered) for entry, answered in page] == [(made[2].number, True)]


def test_a_replay_needs_a_receipt_of_this_ledger(ledger: Ledger) -> None:
    with closing(opened(Ledger.in_memory(), ana=50)) as other:
        receipt = charge(other, "ana", 1)
    with pytest.raises(InvalidParameter, match="one of this ledger"):
        ledger.read(receipt, [AccountCharge(ANA, units(1))], who="ana")
    assert not ledger.spent(ANA)


# ---- blocks


def test_blocks_add_to_the_whole_and_the_largest_counts(ledger: Ledger) -> None:
    charge(ledger, None, 10)
    charge(ledger, None, 30, block="north")
    charge(ledger, None, 50, block="south")
    assert ledger.spent(PATIENTS).divergence == 60
    assert [ledger.left(PATIENTS, block=block).divergence for block in ("north", "south", "east", "")] == [
        60,
        40,
        90,
        40,
    ]
    charge(ledger, None, 60, block="north")
    with pytest.raises(BudgetExceeded):
        charge(ledger, None, 1)
    with pytest.raises(BudgetExceeded):
        charge(ledger, None, 1, block="north")
    charge(ledger, None, 40, block="south")
    assert ledger.spent(PATIENTS).divergence == 100


def test_a_quota_adds_up_over_blocks(ledger: Ledger) -> None:
    charge(ledger, "ana", 30, block="north")
    charge(ledger, "ana", 20, block="south")
    assert (ledger.spent(ANA).divergence, ledger.spent(PATIENTS).divergence) == (50, 30)
    with pytest.raises(BudgetExceeded, match="quota of 'ana'"):
        charge(ledger, "ana", 1, block="east")


# ---- answers and records


def test_an_answer_is_stored_once_and_found_by_its_receipt(ledger: Ledger) -> None:
    receipt = charge(ledger, "ana", 1, request="r")
    assert ledger.answer(receipt.id) is None
    assert ledger.answered("r") is None
    ledger.store(receipt, "the answer")
    assert ledger.answer(receipt.id) == "the answer"
    assert ledger.answered("r") == receipt == ledger.receipt(receipt.id)
    with pytest.raises(InvalidParameter, match="never changes"):
        ledger.store(receipt, "another")
    with closing(opened(Ledger.in_memory(), ana=50)) as other, pytest.raises(InvalidParameter, match="one of this"):
        other.store(receipt, "the answer")
    assert ledger.answer(receipt.id) == "the answer"


def test_an_answer_of_half_characters_stops_nobody(ledger: Ledger) -> None:
    receipt = charge(ledger, "ana", 1)
    with pytest.raises(InvalidParameter):
        ledger.store(receipt, "\ud800")
    ledger.store(receipt, "whole")


def test_the_first_answer_to_a_request_is_the_one_that_is_replayed(ledger: Ledger) -> None:
    first, second, third = (charge(ledger, "ana", 1, request="r") for _ in range(3))
    ledger.store(third, "c")
    ledger.store(second, "b")
    assert ledger.answered("r") == second != first


def test_records_are_kept_in_order(ledger: Ledger) -> None:
    for number in (1, 2):
        ledger.record("table", {"table": "visits", "version": number, "note": '"kind":"charge"'})
        ledger.record("token", {"who": "ana"})
    assert [record["version"] for record in ledger.records("table")] == [1, 2]
    assert len(ledger.records("token")) == 2
    assert ledger.history() == ()


@pytest.mark.parametrize(
    "facts",
    [{"number": 1}, {"at": "now"}, {"kind": "charge"}, {"x": 0.5}, {"x": b"y"}, {"x": {1: 2}}, {"x": ["\ud800"]}],
)
def test_a_record_has_one_canonical_form(ledger: Ledger, facts: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        ledger.record("table", facts)
    ledger.record("table", {"x": [1, "é", None, True, {"y": {}}]})


# ---- threads and processes


class CheckThenAct(Ledger):
    """Planted bug: it compares first and charges later, with a pause in between that any thread may use."""

    def reserve(self, charges: Any, **facts: Any) -> Any:
        for part in charges:
            if not part.amount <= self.left(part.account):
                raise BudgetExceeded(account=str(part.account), asked=part.amount, left=self.left(part.account))
        threading.Event().wait(0.0005)
        self._journal.append(lambda writing: writing.balances.charge(charges))


def overrun(ledger: Ledger, *, threads: int, attempts: int) -> int:
    """How far threads that all try at once bring a ledger past its cap of 100."""
    opened(ledger)
    barrier = threading.Barrier(threads)

    def work(_: int) -> int:
        barrier.wait()
        granted = 0
        for _ in range(attempts):
            try:
                charge(ledger, None, 1)
                granted += 1
            except BudgetExceeded:
                pass
        return granted

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(threads) as pool:
            granted = sum(pool.map(work, range(threads)))
    finally:
        sys.setswitchinterval(interval)
    return granted - 100


def test_threads_never_pass_the_cap_by_one_unit() -> None:
    with closing(Ledger.in_memory()) as ledger:
        assert overrun(ledger, threads=16, attempts=20) == 0
        assert len(ledger.history()) == 100 == ledger.spent(PATIENTS).divergence


def test_the_test_above_notices_check_then_act() -> None:
    with closing(CheckThenAct.in_memory()) as ledger:
        assert overrun(ledger, threads=16, attempts=20) > 0


def _in_a_fork(ledger: Ledger, results: Any) -> None:
    tries = [lambda: charge(ledger, None, 1), lambda: ledger.left(PATIENTS), lambda: ledger.spent(PATIENTS)]
    for attempt in tries:
        try:
            attempt()
            results.put("answered")
        except InvalidParameter as error:
            results.put(str(error))
    ledger.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_can_spend_nothing(ledger: Ledger) -> None:
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=_in_a_fork, args=(ledger, results))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert all("a fork" in results.get() for _ in range(3))
    charge(ledger, "ana", 1)


def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    with closing(opened(Ledger.in_memory())) as other:
        other.close()
        attempts = (
            lambda: charge(other, None, 1),
            lambda: other.left(PATIENTS),
            other.history,
            lambda: other.answer("x"),
        )
        for attempt in attempts:
            with pytest.raises(InvalidParameter, match="closed"):
                attempt()
