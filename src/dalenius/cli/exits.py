"""Exit codes: what a script can tell from the number that a command ends with."""

from __future__ import annotations

from collections.abc import Mapping

from dalenius.errors import BudgetExceeded, DaleniusError, LedgerRefused, LedgerStopped, ServerUnreachable, WorkStopped

FINE, UNEXPECTED, REFUSED, BUDGET, STOPPED, LEDGER, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 3, 4, 5, 130, 141

MEANINGS: Mapping[int, str] = {
    FINE: "fine",
    UNEXPECTED: "something unexpected happened",
    REFUSED: "refused, wrongly written, or declined; nothing was charged",
    BUDGET: "the budget does not suffice; nothing was charged",
    STOPPED: "stopped after the charge, or no reply came; what was charged stays charged",
    LEDGER: "the ledger is not to be trusted, or a check found something",
    INTERRUPTED: "interrupted from the keyboard; what was charged stays charged",
    CLOSED_PIPE: "nobody reads the output any more",
}

_CODES: tuple[tuple[type[DaleniusError], int], ...] = (
    (BudgetExceeded, BUDGET),
    (WorkStopped, STOPPED),
    (LedgerStopped, STOPPED),  # whether the charge was written is not known
    (ServerUnreachable, STOPPED),  # nor whether it was before the reply was lost
    (LedgerRefused, LEDGER),
)


def code_of(error: DaleniusError) -> int:
    """The exit code for an error that was raised on purpose."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), REFUSED)


def listed() -> str:
    """All codes, a line each."""
    return "\n".join(f"  {code:<4} {meaning}" for code, meaning in MEANINGS.items())
