"""The errors of the wire: a fixed vocabulary of codes, statuses and texts that are public by construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalenius import errors

STATUSES: Mapping[str, int] = {
    "malformed": 400,
    "not_understood": 400,
    "no_token": 401,
    "access_denied": 403,
    "not_found": 404,
    "not_allowed": 405,
    "too_slow": 408,
    "budget_exceeded": 409,
    "too_large": 413,
    "refused": 422,
    "unknown_name": 422,
    "invalid": 422,
    "too_long": 422,
    "too_often": 429,
    "internal": 500,
    "stopped": 500,
    "busy": 503,
    "ledger_refused": 503,
    "ledger_stopped": 503,
}
"""Every code that is ever sent, with its status."""

_CODES: Mapping[type[errors.DaleniusError], str] = {
    errors.NotUnderstood: "not_understood",
    errors.UnknownName: "unknown_name",
    errors.TooManyKeys: "refused",
    errors.QueryRefused: "refused",
    errors.EngineUnfit: "refused",
    errors.NeighbourMismatch: "refused",
    errors.UnknownSensitivity: "refused",
    errors.TheoremDoesNotApply: "refused",
    errors.MissingNeighbours: "invalid",
    errors.InvalidParameter: "invalid",
    errors.TooOften: "too_often",
    errors.AccessDenied: "access_denied",
    errors.BudgetExceeded: "budget_exceeded",
    errors.LedgerStopped: "ledger_stopped",
    errors.WorkStopped: "stopped",
}
"""The classes whose texts are made of the question, the catalog and the ledger alone. Exactly these classes pass: one
derived from them may say more."""


_RATE_SECONDS = 60
"""When to try again after a grant's rate was reached; the ledger says no more than that it was."""


@dataclass(frozen=True)
class Fault:
    """A reply that is an error. `type` names the class that the same call raises in Python."""

    code: str
    type: str
    message: str
    wait: int | None = None
    """Seconds after which to try again."""

    @property
    def status(self) -> int:
        return STATUSES[self.code]

    @property
    def facts(self) -> dict[str, Any]:
        """What is sent."""
        return {"error": {"code": self.code, "type": self.type, "message": self.message}}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Fault:
        """The fault that a worker sent."""
        said = facts["error"]
        return cls(said["code"], said["type"], said["message"], _RATE_SECONDS if said["code"] == "too_often" else None)


class Faulted(Exception):
    """Ends a request with a fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(fault.code)


def _fault(code: str, kind: type[errors.DaleniusError], message: str, wait: int | None = None) -> Fault:
    return Fault(code, kind.__name__, f"{message}; nothing was run or charged.", wait)


NO_TOKEN = _fault("no_token", errors.AccessDenied, "this needs a token that holds, in the header Authorization")
NOT_FOUND = _fault("not_found", errors.InvalidParameter, "there is nothing of this name here, or not for this token")
NO_JOB = Fault(
    "not_found",
    errors.InvalidParameter.__name__,
    "there is no such job of yours here. A server that was restarted has forgotten its jobs; what they were charged "
    "stays charged, and the answers that they gave are stored: see replays.",
)
NOT_ALLOWED = _fault("not_allowed", errors.InvalidParameter, "this address takes another method")
TOO_SLOW = _fault("too_slow", errors.InvalidParameter, "the body did not arrive in time")
TOO_LARGE = _fault("too_large", errors.InvalidParameter, "the request is larger than is allowed")
TOO_OFTEN = _fault("too_often", errors.TooOften, "this token asks more often than is allowed, or too much at once", 1)
BUSY = _fault("busy", errors.TooOften, "too many questions are waiting", 2)
RESTARTING = _fault("busy", errors.TooOften, "the workers are being started again", 2)
CLOSING = _fault("busy", errors.TooOften, "the server is about to stop", 10)
DENIED = _fault("access_denied", errors.AccessDenied, "the role of this token does not allow it")
TOO_LONG = _fault("too_long", errors.QueryRefused, "this takes too long to work out; ask something smaller")
LEDGER_REFUSED = _fault("ledger_refused", errors.LedgerRefused, "the owner has to look after the ledger or the catalog")
INTERNAL = Fault("internal", errors.DaleniusError.__name__, "something unforeseen happened; its details stay here.")
STOPPED = Fault("stopped", errors.WorkStopped.__name__, str(errors.WorkStopped()))


def malformed(problem: str) -> Faulted:
    """A body or parameter that is not of the form that the route takes."""
    return Faulted(_fault("malformed", errors.InvalidParameter, problem))


def fault_of(error: BaseException, *, charging: bool) -> Fault:
    """What is said about an error; where the work may have been `charging`, the unforeseen is a stop.

    Guarantee: the text of an error passes only if its class is on the list above.
    """
    if isinstance(error, Faulted):
        return error.fault
    if isinstance(error, errors.LedgerRefused):
        return LEDGER_REFUSED  # its text may name files
    code = _CODES.get(type(error))  # type: ignore[arg-type]
    if code is None:
        return STOPPED if charging else INTERNAL
    return Fault(code, type(error).__name__, str(error), _RATE_SECONDS if code == "too_often" else None)
