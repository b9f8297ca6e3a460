"""Errors of the wire: a fixed vocabulary, and only texts that are public by construction."""

from __future__ import annotations

import pytest

from dalenius import errors
from dalenius.server.faults import INTERNAL, LEDGER_REFUSED, STATUSES, STOPPED, Fault, Faulted, fault_of, malformed

CANARY = "row value 8675309"
SEALED = (
    errors.UnusableValue("x", CANARY, allowed=CANARY),
    errors.FunctionFailed(),
    errors.SealedValue(CANARY),
    errors.DataMismatch("t", problem=CANARY, instead=CANARY),
    errors.MissingExtra(CANARY, package="p", extra="e"),
    errors.LedgerRefused(CANARY, instead=CANARY),
    errors.DaleniusError(CANARY),
    ValueError(CANARY),
    KeyboardInterrupt(CANARY),
    MemoryError(CANARY),
)


@pytest.mark.parametrize("error", SEALED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("charging", [False, True])
def test_a_text_that_is_not_public_by_construction_never_passes(error: BaseException, charging: bool) -> None:
    fault = fault_of(error, charging=charging)
    assert CANARY not in str(fault.facts)
    assert fault in (LEDGER_REFUSED, STOPPED if charging else INTERNAL)


def test_an_error_derived_from_a_public_one_does_not_pass() -> None:
    class Chatty(errors.QueryRefused):
        pass

    assert fault_of(Chatty(CANARY, rule=CANARY, instead=CANARY), charging=False) == INTERNAL


PUBLIC = (
    (errors.NotUnderstood("a", rule="b", instead="c"), "not_understood", 400),
    (errors.UnknownName("table", "t", known=[]), "unknown_name", 422),
    (errors.TooManyKeys("a", rule="b", instead="c"), "refused", 422),
    (errors.QueryRefused("a", rule="b", instead="c"), "refused", 422),
    (errors.InvalidParameter("a", 1, allowed="b"), "invalid", 422),
    (errors.AccessDenied("a", what="b", instead="c"), "access_denied", 403),
    (errors.TooOften("a", what="b", instead="c"), "too_often", 429),
    (errors.BudgetExceeded(account="a", asked=1, left=0), "budget_exceeded", 409),
    (errors.LedgerStopped(), "ledger_stopped", 503),
    (errors.WorkStopped(), "stopped", 500),
)


@pytest.mark.parametrize(("error", "code", "status"), PUBLIC, ids=lambda part: str(part)[:20])
def test_public_errors_keep_their_class_and_text(error: errors.DaleniusError, code: str, status: int) -> None:
    fault = fault_of(error, charging=True)
    assert (fault.code, fault.status, fault.type, fault.message) == (code, status, type(error).__name__, str(error))


def test_what_stops_after_a_charge_says_the_same_whatever_happened() -> None:
    assert {fault_of(error, charging=True).message for error in (errors.WorkStopped(), OSError("full"))} == {
        STOPPED.message
    }


def test_faults_travel_unchanged() -> None:
    for fault in (STOPPED, INTERNAL, malformed("x").fault):
        assert Fault.from_facts(fault.facts) == fault


def test_every_code_has_one_status() -> None:
    assert {fault_of(error, charging=False).code for error, *_ in PUBLIC} <= STATUSES.keys()
    assert fault_of(Faulted(STOPPED), charging=False) is STOPPED
