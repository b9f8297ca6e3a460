"""What passes through the door on one input, and on its neighbour with the outputs of the first handed back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.composition import compose
from dalenius.mechanisms.door import Mechanism
from dalenius.mechanisms.sparse.sparse_vector import SparseVectorSession
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy

NOTED = 128
"""How many random bits of a call are remembered: enough to know them again."""


@dataclass(frozen=True)
class RecordedMeasure:
    """One use of the door: its public parameters, the exact value that came to it, and what it gave out.

    `session` numbers the running sparse vectors of a run, for a question to one; `noise` is what it drew first, if that
    is enough to know it again, `drew` whether it drew at all, and `failed` says that it gave nothing out.
    """

    mechanism: Any
    sensitivity: Sensitivity
    neighbours: Neighbours
    value: Any
    output: Any = None
    session: int | None = None
    noise: bytes = b""
    failed: bool = False
    drew: bool = True

    @property
    def parameters(self) -> dict[str, object]:
        """All that must be the same on neighbours."""
        return {
            "mechanism": type(self.mechanism),
            "parameters": _facts(self.mechanism),
            "session": self.session,
            "sensitivity": self.sensitivity,
            "neighbours": self.neighbours,
        }

    @property
    def loss(self) -> Loss:
        """The loss of this call; of a question to a session, that of the whole session."""
        loss: Loss = self.mechanism.loss(sensitivity=self.sensitivity)
        return loss


def composed(calls: Iterable[RecordedMeasure]) -> Loss:
    """What calls cost together; a session is paid for once, however many questions it was asked."""
    return compose(_losses(calls))


def _losses(calls: Iterable[RecordedMeasure]) -> Iterator[Loss]:
    paid: set[int] = set()
    for call in calls:
        if call.session not in paid:
            yield call.loss
        if call.session is not None:
            paid.add(call.session)


def _facts(mechanism: Any) -> object:
    """The public facts of a mechanism, comparable by value."""
    session = getattr(mechanism, "session", None)
    if isinstance(session, SparseVectorSession):
        return session._terms, mechanism.threshold
    equal: object = type(mechanism).__eq__
    if equal is object.__eq__ and hasattr(mechanism, "__dict__"):  # it says nothing of what it holds
        return vars(mechanism)
    return mechanism


class Recorder:
    """A witness that lets every mechanism draw, and notes each call."""

    def __init__(self) -> None:
        self.calls: list[RecordedMeasure] = []
        self._sessions: list[SparseVectorSession] = []

    def released(self, mechanism: Mechanism[Any, Any], exact: Exact[Any], value: Any, entropy: Entropy) -> Any:
        """What comes out; what fails is noted too."""
        noted = NotedEntropy(entropy)
        session = self._number(getattr(mechanism, "session", None))
        here = RecordedMeasure(mechanism, exact.sensitivity, exact.neighbours, value, session=session)
        output, failed = None, True
        try:
            output = self._output(here, noted)
            failed = False
        finally:
            facts = exact.sensitivity, exact.neighbours, value, output, session, noted.known, failed, noted.drawn > 0
            self.calls.append(RecordedMeasure(mechanism, *facts))
        return output

    def _output(self, call: RecordedMeasure, entropy: Entropy) -> Any:
        return call.mechanism.release(call.value, entropy)

    def _number(self, session: object) -> int | None:
        if not isinstance(session, SparseVectorSession):
            return None
        known = [place for place, other in enumerate(self._sessions) if other is session]
        if not known:
            self._sessions.append(session)
        return known[0] if known else len(self._sessions) - 1


class Replayer(Recorder):
    """A witness that hands the outputs of earlier calls back, in order.

    Not the same noise: a mechanism that went by its noisy answers would rightly take another way with other values,
    while with the same outputs all that comes later must be the same. A call that is not the recorded one draws, so
    that the run goes on and can be compared as a whole.
    """

    def __init__(self, recorded: Sequence[RecordedMeasure]) -> None:
        super().__init__()
        self._recorded = recorded

    def _output(self, call: RecordedMeasure, entropy: Entropy) -> Any:
        if len(self.calls) < len(self._recorded):
            expected = self._recorded[len(self.calls)]
            if not expected.failed and call.parameters == expected.parameters:
                return expected.output
        return super()._output(call, entropy)


class NotedEntropy(Entropy):
    """Random bits of another source, of which the first are remembered: no two calls may ever draw the same."""

    def __init__(self, source: Entropy) -> None:
        self._source, self._first, self.drawn = source, bytearray(), 0

    @property
    def known(self) -> bytes:
        """The first bits, or nothing where there are so few that others may well be the same."""
        return bytes(self._first) if self.drawn >= NOTED // 2 else b""

    def read(self, count: int) -> bytes:
        found = self._source.read(count)
        self._note(found, 8 * count)
        return found

    def bits(self, count: int) -> int:
        found = self._source.bits(count)
        self._note(found.to_bytes((count + 7) // 8, "little"), count)
        return found

    def word(self) -> int:
        found = self._source.word()
        self._note(found.to_bytes(8, "little"), 64)
        return found

    def words(self, count: int) -> NDArray[np.uint64]:
        found = self._source.words(count)
        self._note(found[: NOTED // 64].tobytes(), 64 * count)
        return found

    def below(self, n: int) -> int:
        found = self._source.below(n)
        self._note(found.to_bytes((n.bit_length() + 7) // 8, "little"), n.bit_length() - 1)
        return found

    def _note(self, drawn: bytes, bits: int) -> None:
        if self.drawn < NOTED:
            self._first += drawn[: NOTED // 8]
        self.drawn += bits
