"""One ledger: compare and charge are one step, quotas lie inside caps, and nothing comes back."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.amounts import Amount
from dalenius.curator.ledger import Account, MemoryLedger
from dalenius.errors import BudgetExceeded, InvalidParameter

PATIENTS, ANA, BEN = Account(("patients",)), Account(("patients", "ana")), Account(("patients", "ben"))
DOCTORS = Account(("doctors",))


def units(divergence: int, delta: int = 0, order: Fraction | None = None) -> Amount:
    return Amount(divergence=divergence, delta=delta, order=order)


def ledger_with(cap: int = 100, **quotas: int) -> MemoryLedger:
    ledger = MemoryLedger()
    ledger.open(PATIENTS, units(cap, cap))
    for name, quota in quotas.items():
        ledger.open(Account(("patients", name)), units(quota, quota))
    return ledger


def charge(ledger: MemoryLedger, **amounts: int) -> Any:
    charges = {Account(("patients", name)): units(amount) for name, amount in amounts.items()}
    return ledger.reserve(charges, question="q", who="ana")


def test_a_charge_to_a_quota_is_a_charge_to_the_population() -> None:
    ledger = ledger_with(ana=50)
    charge(ledger, ana=30)
    assert ledger.spent(ANA) == ledger.spent(PATIENTS) == units(30)
    assert ledger.left(ANA) == units(20, 50)
    assert ledger.left(PATIENTS) == units(70, 100)


def test_a_quota_ends_before_the_cap() -> None:
    ledger = ledger_with(ana=50)
    charge(ledger, ana=50)
    with pytest.raises(BudgetExceeded, match="quota of 'ana' in 'patients'"):
        charge(ledger, ana=1)
    assert ledger.spent(PATIENTS) == units(50)


@pytest.mark.textbook("S18.3")
def test_fifty_colluding_analysts_share_one_cap() -> None:
    names = [f"analyst{number}" for number in range(50)]
    ledger = ledger_with(cap=100, **dict.fromkeys(names, 25))
    refused = []
    for name in names * 25:
        try:
            charge(ledger, **{name: 1})
        except BudgetExceeded as refusal:
            refused.append(refusal.account)
    assert refused == ["'patients'"] * (50 * 25 - 100)
    assert ledger.spent(PATIENTS).divergence == 100


def test_what_is_left_of_a_quota_is_never_more_than_what_is_left_of_its_population() -> None:
    ledger = ledger_with(ana=50, ben=80)
    charge(ledger, ben=80)
    assert ledger.left(ANA).divergence == 20


def test_a_refusal_charges_no_account_at_all() -> None:
    ledger = ledger_with(ana=50)
    ledger.open(DOCTORS, units(10))
    with pytest.raises(BudgetExceeded):
        ledger.reserve({ANA: units(20), DOCTORS: units(11)}, question="q", who="ana")
    assert not ledger.spent(ANA)
    assert not ledger.spent(PATIENTS)
    assert not ledger.spent(DOCTORS)
    assert ledger.history() == ()


def test_both_sides_of_an_amount_are_capped() -> None:
    ledger = ledger_with(ana=50)
    with pytest.raises(BudgetExceeded):
        ledger.reserve({ANA: units(1, 51)}, question="q", who="ana")


@pytest.mark.textbook("S18.4")
@given(st.lists(st.tuples(st.sampled_from(["ana", "ben"]), st.integers(1, 60)), max_size=12))
def test_a_refusal_depends_on_earlier_charges_alone(asked: list[tuple[str, int]]) -> None:
    """An independent recount foretells every refusal, and the ledger never passes a cap."""
    ledger, spent = ledger_with(cap=100, ana=60, ben=70), {"ana": 0, "ben": 0}
    for name, size in asked:
        fits = spent[name] + size <= {"ana": 60, "ben": 70}[name] and sum(spent.values()) + size <= 100
        if fits:
            charge(ledger, **{name: size})
            spent[name] += size
        else:
            with pytest.raises(BudgetExceeded):
                charge(ledger, **{name: size})
    assert ledger.spent(PATIENTS).divergence == sum(spent.values()) <= 100
    charges = [amount.divergence for receipt in ledger.history() for _, amount in receipt.charges]
    assert sum(charges) == sum(spent.values())


def test_a_population_is_opened_once() -> None:
    ledger = ledger_with()
    with pytest.raises(InvalidParameter, match="set once"):
        ledger.open(PATIENTS, units(1000))


def test_a_quota_set_anew_keeps_what_was_spent() -> None:
    ledger = ledger_with(ana=50)
    charge(ledger, ana=40)
    ledger.open(ANA, units(60))
    assert ledger.left(ANA).divergence == 20
    ledger.open(ANA, units(10))
    assert ledger.left(ANA).divergence == 0
    assert ledger.spent(ANA).divergence == 40


def test_free_releases_and_unknown_accounts_and_other_orders_are_refused() -> None:
    ledger = ledger_with(ana=50)
    for charges in ({}, {ANA: units(0)}, {BEN: units(1)}, {ANA: units(1, order=Fraction(2))}):
        with pytest.raises(InvalidParameter):
            ledger.reserve(charges, question="q", who="ana")
    with pytest.raises(InvalidParameter):
        ledger.open(Account(("doctors", "ana")), units(1))
    assert not ledger.spent(PATIENTS)


def test_the_largest_amounts_are_refused_and_do_not_overflow() -> None:
    ledger, largest = MemoryLedger(), units(2**63 - 1, 2**63 - 1)
    ledger.open(PATIENTS, largest)
    ledger.reserve({PATIENTS: largest}, question="q", who="owner")
    with pytest.raises(BudgetExceeded):
        ledger.reserve({PATIENTS: largest}, question="q", who="owner")


def test_an_answer_is_stored_once_and_found_by_its_receipt() -> None:
    ledger, answer, other = ledger_with(ana=50), object(), object()
    receipt = charge(ledger, ana=1)
    assert ledger.answer(receipt.id) is None
    ledger.store(receipt, answer)  # type: ignore[arg-type]
    assert ledger.answer(receipt.id) is answer
    with pytest.raises(InvalidParameter, match="never changes"):
        ledger.store(receipt, other)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="one of this ledger"):
        ledger_with().store(receipt, answer)  # type: ignore[arg-type]


# ---- threads


class CheckThenAct(MemoryLedger):
    """Planted bug: it compares first and charges later, with a pause in between that any thread may use."""

    def reserve(self, charges: Any, *, question: str, who: str) -> Any:
        for account, amount in charges.items():
            if not amount <= self.left(account):
                raise BudgetExceeded(account=str(account), asked=amount, left=self.left(account))
        threading.Event().wait(0.0005)
        for account, amount in charges.items():
            self._spent[account] = self._spent[account] + amount
        return None


def overrun(ledger: MemoryLedger, *, threads: int, attempts: int) -> int:
    """How far threads that all try at once bring a ledger past its cap of 100."""
    ledger.open(PATIENTS, units(100))
    barrier = threading.Barrier(threads)

    def work(_: int) -> int:
        barrier.wait()
        granted = 0
        for _ in range(attempts):
            try:
                ledger.reserve({PATIENTS: units(1)}, question="q", who="owner")
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
    ledger = MemoryLedger()
    assert overrun(ledger, threads=16, attempts=100) == 0
    assert len(ledger.history()) == 100 == ledger.spent(PATIENTS).divergence


def test_the_test_above_notices_check_then_act() -> None:
    assert overrun(CheckThenAct(), threads=16, attempts=20) > 0


def _in_a_fork(ledger: MemoryLedger, results: Any) -> None:
    try:
        ledger.reserve({PATIENTS: units(1)}, question="q", who="owner")
        results.put("charged")
    except InvalidParameter:
        results.put((ledger.left(PATIENTS).divergence, ledger.spent(PATIENTS).divergence))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_can_spend_nothing() -> None:
    context, ledger = multiprocessing.get_context("fork"), ledger_with()
    results = context.SimpleQueue()
    child = context.Process(target=_in_a_fork, args=(ledger, results))
    child.start()
    child.join()
    assert results.get() == (0, 100)
