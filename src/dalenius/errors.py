"""Every error that Dalenius raises on purpose.

    DaleniusError
    ├── InvalidParameter        a number, name or list outside what is allowed (also a ValueError)
    │   ├── DamagedAnswer       a text that should hold a stored answer does not
    │   ├── MissingNeighbours   nobody said which databases count as neighbours
    │   ├── UnfitRelease        a function cannot be audited as it is; it was run
    │   └── UnusableValue       a value is not of the kind that a mechanism works on
    ├── NeighbourMismatch       two parts are calibrated for different neighbours
    ├── UnknownSensitivity      the norm that this mechanism needs was not stated
    ├── TheoremDoesNotApply     a named theorem was asked outside its preconditions
    ├── BudgetExceeded          a release would cost more than is left
    ├── MechanismFinished       an interactive mechanism has given all answers that were paid for
    ├── NotCopyable             somebody tried to copy or pickle a source of random bits (also a TypeError)
    ├── MissingExtra            an optional package is not installed (also an ImportError)
    ├── SealedValue             somebody tried to look into an exact value (also a TypeError)
    ├── FunctionFailed          a function mapped over an exact value raised; what it raised is not shown
    ├── QueryRefused            a question cannot be answered privately as it stands
    │   ├── NotUnderstood       its text is not in the SQL that is understood
    │   ├── UnknownName         it names a table, column or function that is not there
    │   └── TooManyKeys         it asks for more public keys than an answer may have
    ├── DataMismatch            a data file disagrees with its declaration in the catalog
    ├── EngineUnfit             an engine disagrees with the reference, so it is not used
    ├── AccessDenied            somebody asked for what was not granted
    │   └── TooOften            somebody asked more often than was granted
    ├── LedgerRefused           a ledger is damaged, behind its mark or another one; it is not used
    ├── LedgerStopped           the ledger could not be written; nothing was read
    ├── ServerUnreachable       a server gave no valid reply (also a ConnectionError)
    └── WorkStopped             the work was stopped or failed after it was charged; why is not shown

Messages say what was asked, what is allowed and what to do next. They may name parameters, bounds and
budgets; they never contain a value from a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class DaleniusError(Exception):
    """The root of all errors of this library."""


class InvalidParameter(DaleniusError, ValueError):
    """A parameter is outside what is allowed. Nothing was run or charged."""

    consequence = "nothing was run or charged"

    def __init__(self, name: str, given: object, *, allowed: str, hint: str = "") -> None:
        self.name, self.given, self.allowed, self.hint = name, given, allowed, hint
        advice = f" {hint}" if hint else ""
        super().__init__(f"{name} is {_short(given)}, but it must be {allowed}; {self.consequence}.{advice}")


class MissingNeighbours(InvalidParameter):
    """A mechanism, exact value or budget was made without a neighbour relation."""

    def __init__(self, given: object = None) -> None:
        super().__init__(
            "neighbours",
            given,
            allowed="a neighbour relation such as AddRemove() or Replace()",
            hint="Say who is protected: AddRemove() hides whether someone takes part, "
            "Replace() hides what someone's record says when the number of records is public.",
        )


class UnusableValue(InvalidParameter):
    """A value is not of the kind that a mechanism works on. Its kind is named, the value itself never."""

    consequence = "nothing was released, and what was paid for it stays paid"


class UnfitRelease(InvalidParameter):
    """A function cannot be audited as it is. It was run, and may have charged."""

    consequence = "it was run, and what it charged stays charged"


class DamagedAnswer(InvalidParameter):
    """A text that should hold a stored answer does not. What it holds is not shown."""

    consequence = "it was not read, and what was paid for it stays paid"

    def __init__(self, allowed: str) -> None:
        super().__init__(
            "answer", "damaged", allowed=allowed, hint="It was cut short or changed on its way; read it again."
        )


class NeighbourMismatch(DaleniusError):
    """Two parts that must agree on the neighbour relation do not. Nothing was run or charged."""

    def __init__(self, **relations: object) -> None:
        self.relations = relations
        parts = ", ".join(f"the {name} is for {relation}" for name, relation in relations.items())
        super().__init__(f"{parts}; this call ran and charged nothing. Calibrate all of them for the same neighbours.")


class UnknownSensitivity(DaleniusError):
    """The sensitivity in the norm that a mechanism needs is not known. Nothing was run or charged."""

    def __init__(self, *, norm: str, mechanism: str) -> None:
        self.norm, self.mechanism = norm, mechanism
        super().__init__(
            f"{mechanism} needs a bound on the {norm} change that one neighbour step can make, and none was stated; "
            f"nothing was run or charged. State it in the Sensitivity, or choose a mechanism for the norm you know."
        )


class TheoremDoesNotApply(DaleniusError):
    """A theorem was asked for parameters outside its preconditions."""

    def __init__(self, theorem: str, *, needs: str, given: str, instead: str) -> None:
        self.theorem, self.needs, self.given, self.instead = theorem, needs, given, instead
        super().__init__(f"{theorem} needs {needs}, but was given {given}. Use {instead} instead.")


class BudgetExceeded(DaleniusError):
    """A release would cost more than is left. Nothing was run or charged."""

    def __init__(self, *, account: str, asked: object, left: object, said: str = "", hint: str = "") -> None:
        self.account, self.asked, self.left, self.said, self.hint = account, asked, left, said, hint
        facts = said or f"this release costs {asked}, but {account} has {left} left"
        advice = hint or "Ask for more noise (a smaller epsilon), or for fewer answers."
        super().__init__(f"{facts}; nothing was run or charged. {advice}")

    def advised(self, hint: str) -> BudgetExceeded:
        """The same error with other advice."""
        return BudgetExceeded(account=self.account, asked=self.asked, left=self.left, said=self.said, hint=hint)


class MechanismFinished(DaleniusError):
    """An interactive mechanism has given every answer that was paid for."""

    def __init__(self, mechanism: str, *, because: str) -> None:
        self.mechanism, self.because = mechanism, because
        super().__init__(
            f"{mechanism} has finished: {because}. Nothing more is answered or charged; start and pay for a new one."
        )


class NotCopyable(DaleniusError, TypeError):
    """Somebody tried to copy or pickle a source of random bits, whose copy would give the same noise again."""

    def __init__(self, what: str, *, instead: str) -> None:
        self.what, self.instead = what, instead
        super().__init__(f"{what} cannot be copied or pickled, because a copy could repeat its noise. Call {instead}.")


class MissingExtra(DaleniusError, ImportError):
    """A function needs an optional package that is not installed."""

    def __init__(self, function: str, *, package: str, extra: str) -> None:
        self.function, self.package, self.extra = function, package, extra
        super().__init__(f"{function} needs the package {package}; install it with: pip install 'dalenius[{extra}]'")


class SealedValue(DaleniusError, TypeError):
    """Somebody tried to print, compare, convert or otherwise look into an exact value."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        super().__init__(
            f"an exact value cannot be used for {operation}: it may only leave through measure(mechanism, exact, "
            f"allowance, entropy), which adds noise. Use .map(function, sensitivity=...) to compute on it."
        )


class FunctionFailed(DaleniusError):
    """A function mapped over an exact value raised. What it raised could name a row, so it is not shown."""

    def __init__(self) -> None:
        super().__init__(
            "a function mapped over an exact value failed; the details stay sealed because they may depend on rows, "
            "and what was charged stays charged. Mapped functions must give a value for every input."
        )


class QueryRefused(DaleniusError):
    """A question cannot be answered privately as it stands. Nothing was read or spent."""

    def __init__(self, clause: str, *, rule: str, instead: str) -> None:
        self.clause, self.rule, self.instead = clause, rule, instead
        super().__init__(f"{_short_text(clause)}: {rule}; nothing was read or spent. {instead}")


class NotUnderstood(QueryRefused):
    """The text is not in the SQL that is understood. Nothing was read or spent."""


class UnknownName(QueryRefused):
    """A question names a table, column or function that is not there. Nothing was read or spent."""

    def __init__(self, kind: str, name: str, *, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        super().__init__(name, rule=f"there is no such {kind}", instead=self._known())

    def _known(self) -> str:
        """The nearest name, where one is near, or where to find all of them."""
        listed, function = [other.lower() for other in self.known], self.kind == "function"
        near = get_close_matches(self.name.lower(), listed, n=1, cutoff=0.75 if function else 0.6)
        named = [other for other in self.known if other.lower() in near]
        if function and not named:
            return "All functions are listed in docs/functions.md."
        named = named or list(self.known)[:12]
        return f"Known: {', '.join(named)}." if named else "None is known."


class TooManyKeys(QueryRefused):
    """A question asks for more public keys than an answer may have. Nothing was read or spent."""


class DataMismatch(DaleniusError):
    """A data file disagrees with its declaration. Names of columns may appear here, values never."""

    def __init__(self, table: str, *, problem: str, instead: str) -> None:
        self.table, self.problem, self.instead = table, problem, instead
        super().__init__(f"table {table!r}: {problem}; nothing was imported. {instead}")


class EngineUnfit(DaleniusError):
    """An engine disagrees with the reference, as a check on made-up rows has shown. Nothing was read or spent."""

    def __init__(self, table: str, *, problem: str) -> None:
        self.table, self.problem = table, problem
        super().__init__(
            f"the engine where the rows of {table!r} stay is not used: {problem}; nothing was read or spent. Its owner "
            "runs `dalenius check engine` to see all that differs, and uses a version of it that passes, or imports "
            "the table."
        )


class AccessDenied(DaleniusError):
    """Somebody asked for what was not granted. Nothing was read or spent."""

    def __init__(self, who: str, *, what: str, instead: str) -> None:
        self.who, self.what, self.instead = who, what, instead
        super().__init__(f"{who} may not {what}; nothing was read or spent. {instead}")


class TooOften(AccessDenied):
    """Somebody asked more often than was granted. Nothing was read or spent."""


class LedgerRefused(DaleniusError):
    """A ledger cannot be trusted, so nothing is answered until the owner has repaired it."""

    def __init__(self, problem: str, *, instead: str) -> None:
        self.problem, self.instead = problem, instead
        super().__init__(f"this ledger is not used: {problem}; nothing was run or charged. {instead}")


class LedgerStopped(DaleniusError):
    """The ledger could not be written, so nothing was read. Whether the charge was written is not known."""

    def __init__(self) -> None:
        super().__init__(
            "the ledger could not be written, so no data was read and there is no answer; the charge may have been "
            "written, and then it stays. Make sure that its disk or server is available and has space, and open the "
            "database again."
        )


class WorkStopped(DaleniusError):
    """The work was stopped or failed after it was charged. The reason may depend on rows, so it is not shown."""

    def __init__(self) -> None:
        super().__init__(
            "the work was stopped before an answer was ready; what was charged stays charged. Why it stopped is not "
            "shown, because it may depend on rows; the data owner finds the reason in the owner's log."
        )


class ServerUnreachable(DaleniusError, ConnectionError):
    """A server gave no reply, however often it was asked, or something that is not a reply."""

    def __init__(self, url: str, *, problem: str, instead: str) -> None:
        self.url, self.problem, self.instead = url, problem, instead
        super().__init__(f"{url}: {problem}. {instead}")


def _short_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:117] + "..."


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python writes no integer of more than 4300 digits
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
