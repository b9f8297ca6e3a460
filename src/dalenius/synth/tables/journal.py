"""The journal of a fit: every outcome is kept before it is used, so that a fit that was stopped can go on.

Kept are noisy outcomes, which are paid for; never an exact value, and never random bits, from which one could be told.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.catalog.places import locked, make_folder, sync_folder
from dalenius.errors import InvalidParameter, WorkStopped
from dalenius.ledger.accounts import Receipt, canonical, linked
from dalenius.ledger.ledger import Ledger
from dalenius.mechanisms.door import Mechanism, measure
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.integers import integer_array
from dalenius.session.executor import Keeping, Purchase, fingerprint
from dalenius.session.sessions import Session

Value = TypeVar("Value")
Output = TypeVar("Output")

FOLDER = "fits"
"""Where journals lie, in the folder of a database."""
_FORM = "dalenius journal 1"


class Outcomes(Protocol):
    """Where the outcomes of a fit come from, each in its turn."""

    def measured(
        self,
        about: object,
        mechanism: Mechanism[Value, Output],
        exact: Exact[Value],
        allowance: Allowance,
        entropy: Entropy,
    ) -> Output:
        """The outcome of a mechanism, at the expense of the allowance; `about` says in public words what it is of."""


class Drawn:
    """Outcomes that are drawn, and kept nowhere."""

    def measured(
        self,
        about: object,
        mechanism: Mechanism[Value, Output],
        exact: Exact[Value],
        allowance: Allowance,
        entropy: Entropy,
    ) -> Output:
        return measure(mechanism, exact, allowance, entropy)


@dataclass(frozen=True)
class Kept:
    """An outcome, a name for the call that it came from, and the hash of this and all before it."""

    call: str
    outcome: Any
    hash: str


class OutcomeJournal:
    """The outcomes of the work that one receipt paid for, in a file of the owner's, in order.

    Guarantee: an outcome is used only when it is durable here and its hash is in the ledger. What was kept is handed
    back, at the same price, to the same call; a call with another mechanism, parameter or subject is refused, and so is
    a journal that lacks anything of which the ledger knows. So no outcome that was used is ever drawn again, and all
    that was drawn and used is covered by the one charge.
    """

    def __init__(self, path: Path, ledger: Ledger, receipt: Receipt) -> None:
        self._path, self._ledger, self._receipt = path, ledger, receipt
        known = path.read_bytes()
        kept, size = entries(known, receipt)
        self._head = ledger.last_step(receipt)
        hashes = [each.hash for each in kept]
        if self._head is not None and self._head not in hashes:
            raise InvalidParameter(
                "journal", "not whole", allowed=f"all that was released for receipt {receipt.id}, as it was written",
                hint="Bring back the latest copy of it, or pay for a new fit with another key.",
            )  # fmt: skip
        os.truncate(path, size)  # what follows was cut off in the middle of a write: nobody has used it
        for each in kept[0 if self._head is None else hashes.index(self._head) + 1 :]:
            self._step(each.hash)
        self._left = deque(kept)

    def measured(
        self,
        about: object,
        mechanism: Mechanism[Value, Output],
        exact: Exact[Value],
        allowance: Allowance,
        entropy: Entropy,
    ) -> Output:
        """The next outcome: as it was kept, or drawn and then kept."""
        call = fingerprint((about, mechanism, exact.sensitivity, exact.neighbours))
        if not self._left:
            outcome = measure(mechanism, exact, allowance, entropy)
            self._keep(call, outcome)
            return outcome
        kept = self._left.popleft()
        if kept.call != call:
            raise InvalidParameter("call", "another", allowed="the one whose outcome was kept in this place")
        allowance.draw(mechanism.loss(sensitivity=exact.sensitivity))
        return _outcome(kept.outcome)  # type: ignore[no-any-return]

    def _keep(self, call: str, outcome: Any) -> None:
        body = canonical({"call": call, "outcome": _facts(outcome)})
        digest = linked(self._head or first_hash(self._receipt), body)
        with self._path.open("ab") as file:
            file.write(f"{digest} {body}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        self._step(digest)

    def _step(self, digest: str) -> None:
        self._ledger.step(self._receipt, before=self._head, now=digest)
        self._head = digest


def keeping(session: Session, key: str | None, work: Callable[[Outcomes], Purchase]) -> Keeping | None:
    """How work that a session pays for keeps its outcomes: in the database's folder, where a key can find them
    again; without either there is nothing to go on with."""
    curator = session._curator
    if key is None or curator.folder is None:
        return None
    folder, ledger = curator.folder.path / FOLDER, curator.ledger

    @contextmanager
    def kept(receipt: Receipt) -> Iterator[Purchase]:
        path = folder / f"{receipt.id}.journal"
        _prepare(folder, ledger)
        with locked(path, seconds=0, what="is at this fit"):
            yield work(_opened(path, ledger, receipt))
            with suppress(OSError):  # the next fit lets go of it then
                path.unlink()

    return kept


def entries(known: bytes, receipt: Receipt) -> tuple[list[Kept], int]:
    """The outcomes that a journal holds, up to the first that is not whole, and how many bytes they take."""
    found, size, head = list[Kept](), 0, first_hash(receipt)
    for line in known.split(b"\n")[:-1]:
        digest, _, body = line.decode("utf-8", "replace").partition(" ")
        if digest != linked(head, body):
            break
        facts = json.loads(body)
        found.append(Kept(facts["call"], facts["outcome"], digest))
        size, head = size + len(line) + 1, digest
    return found, size


def first_hash(receipt: Receipt) -> str:
    """What the first entry is chained to: a journal belongs to one receipt."""
    return linked(_FORM, receipt.id)


def _prepare(folder: Path, ledger: Ledger) -> None:
    """Make the folder, and let go of journals whose answers are stored: somebody died between the two."""
    try:
        make_folder(folder)
        sync_folder(folder.parent)
        answered = {f"{receipt}.journal" for receipt in ledger.stored()}
        for file in folder.iterdir():
            if file.name in answered:
                file.unlink(missing_ok=True)
    except OSError:
        raise WorkStopped from None


def _opened(path: Path, ledger: Ledger, receipt: Receipt) -> OutcomeJournal:
    if ledger.answer(receipt.id) is not None:  # whoever was at it has just finished
        raise WorkStopped
    try:
        sync_folder(path.parent)
        return OutcomeJournal(path, ledger, receipt)
    except OSError:
        raise WorkStopped from None


def _facts(outcome: Any) -> Any:
    """A whole number as it is, and an array of them as its shape and its numbers."""
    if np.ndim(outcome) == 0:
        return int(outcome)
    return [list(np.shape(outcome)), [int(number) for number in np.ravel(outcome)]]


def _outcome(facts: Any) -> Any:
    return facts if isinstance(facts, int) else integer_array(facts[1]).reshape(facts[0])
