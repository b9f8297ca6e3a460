"""Record and replay: run something on two neighbours, with the outputs of the first handed back on the second.

All that a release shows comes from outputs of mechanisms, so with these given nothing may differ but the exact inputs,
and these by no more than was declared. The data is made up, so what is found may show values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from dalenius.accounting.amounts import Charge, price
from dalenius.accounting.conversion import to_approximate, to_pure
from dalenius.checks.observer import first_difference
from dalenius.checks.replay.distances import excesses
from dalenius.checks.replay.recording import RecordedMeasure, Recorder, Replayer, composed
from dalenius.errors import TheoremDoesNotApply
from dalenius.mechanisms.door import witnessed
from dalenius.mechanisms.keys.key_selection import KeyCounts
from dalenius.privacy.losses import ApproximateDP, Loss, PureDP

Data = TypeVar("Data")
Charged: TypeAlias = "Loss | Charge | Sequence[Charge]"
"""What was paid: a loss, or the amounts that a ledger took from each population."""
Kind: TypeAlias = Literal["calls", "parameters", "sensitivity", "leak", "error", "noise", "charge"]
ORDERS = (2, 4, 16, 64, 256)
"""At which Rényi orders a loss is compared with one that is stated in these terms."""


@dataclass(frozen=True)
class Finding:
    """Something that one unit gives away: what kind of thing, in words, and at which call.

    calls        other mechanisms are used, or in another order, or more or fewer of them
    parameters   a mechanism, a sensitivity or the neighbours differ
    sensitivity  the exact input of a call moved further than declared: `norm`, `moved` and `declared` say how far
    leak         what was handed out differs although all outputs of mechanisms were the same
    error        an error comes, or says something, on one side only
    noise        two calls drew the same random bits, or one drew none although there was something to release
    charge       the calls cost more than was charged, or others were charged than those who are asked about
    """

    kind: Kind
    said: str
    call: int | None = None
    norm: str = ""
    moved: object = None
    declared: object = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.said}"


@dataclass(frozen=True)
class Replayed:
    """The calls on the first input, what was found, and the error with which the first run ended, if it did."""

    calls: tuple[RecordedMeasure, ...]
    findings: tuple[Finding, ...]
    error: str | None = None

    @property
    def passed(self) -> bool:
        return not self.findings


def replay(
    run: Callable[[Data], Any], first: Data, second: Data, *, charged: Charged | None = None, both_ways: bool = True
) -> Replayed:
    """Run on `first` and record, run on `second` with the outputs handed back, and compare; then the other way round.

    `first` and `second` are neighbours. `run` releases whatever it does through the door, with fresh random bits, and
    what it returns counts as handed out. Where `charged` is given, all calls together must cost no more.
    """
    there = _recorded(run, first)
    findings = [*_compared(there, _replayed(run, second, there.calls))]
    sides = [there]
    if both_ways:
        back = _recorded(run, second)
        findings += _compared(back, _replayed(run, first, back.calls))
        sides.append(back)
    findings += _repeated_noise(call for side in sides for call in side.calls)
    if charged is not None:
        findings += (finding for side in sides for finding in _undercharged(side.calls, charged))
    return Replayed(tuple(there.calls), tuple(_each_once(findings)), there.error)


@dataclass
class _Ran:
    """One run: its calls, and what came of it."""

    calls: list[RecordedMeasure]
    returned: Any = None
    raised: Exception | None = None

    @property
    def error(self) -> str | None:
        return None if self.raised is None else f"{type(self.raised).__name__}: {self.raised}"


def _recorded(run: Callable[[Data], Any], data: Data) -> _Ran:
    return _run(run, data, Recorder())


def _replayed(run: Callable[[Data], Any], data: Data, calls: Sequence[RecordedMeasure]) -> _Ran:
    return _run(run, data, Replayer(calls))


def _run(run: Callable[[Data], Any], data: Data, witness: Recorder) -> _Ran:
    with witnessed(witness):
        try:
            return _Ran(witness.calls, run(data))
        except Exception as error:
            return _Ran(witness.calls, None, error)


# ---- comparing two runs


def _compared(first: _Ran, second: _Ran) -> Iterator[Finding]:
    """What differs between a run and its replay, up to the first call that is another one."""
    for place, (one, other) in enumerate(zip(first.calls, second.calls, strict=False)):
        if one.parameters != other.parameters:
            yield _another(place, one, other)
            return
        for excess in excesses(one.mechanism, one.sensitivity, one.neighbours, one.value, other.value):
            said = (
                f"call {place} ({_name(one)}) moved by {_number(excess.moved)} in {excess.norm}, "
                f"declared {_number(excess.declared)}"
            )
            yield Finding("sensitivity", said, place, excess.norm, excess.moved, excess.declared)
    if first.error != second.error:
        yield Finding("error", f"{first.error or 'no error'} on one side, {second.error or 'no error'} on the other")
    elif len(first.calls) != len(second.calls):
        yield _more(first.calls, second.calls)
    elif (where := first_difference(first.raised, second.raised, "the error")) is not None:
        yield Finding("error", f"{first.error} on both sides, but {where}")
    elif (where := first_difference(first.returned, second.returned)) is not None:
        yield Finding("leak", f"with the same outputs of all mechanisms, {where}")


def _another(place: int, one: RecordedMeasure, other: RecordedMeasure) -> Finding:
    mine, theirs = one.parameters, other.parameters
    if mine["mechanism"] != theirs["mechanism"]:
        return Finding("calls", f"call {place} is {_name(one)} on one side and {_name(other)} on the other", place)
    name = next(name for name in mine if mine[name] != theirs[name])
    where = first_difference(mine[name], theirs[name], name) or f"{name}: {mine[name]} or {theirs[name]}"
    return Finding("parameters", f"call {place} ({_name(one)}) differs in {where}", place)


def _more(first: Sequence[RecordedMeasure], second: Sequence[RecordedMeasure]) -> Finding:
    shorter, longer = sorted((first, second), key=len)
    place = len(shorter)
    said = (
        f"{len(first)} calls on one side and {len(second)} on the other; call {place} ({_name(longer[place])}) is new"
    )
    return Finding("calls", said, place)


def _name(call: RecordedMeasure) -> str:
    return type(call.mechanism).__name__.removeprefix("_")


def _number(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}... ({len(text)} characters)"


# ---- noise and charges


def _repeated_noise(calls: Iterable[RecordedMeasure]) -> Iterator[Finding]:
    seen: set[bytes] = set()
    for place, call in enumerate(calls):
        if not (call.drew or call.failed or _is_empty(call.value)):
            yield Finding("noise", f"call {place} ({_name(call)}) drew no random bits", place)
        if not call.noise:
            continue
        if call.noise in seen:
            yield Finding("noise", f"call {place} ({_name(call)}) drew random bits that were drawn before", place)
        seen.add(call.noise)


def _is_empty(value: Any) -> bool:
    """Whether there is nothing to draw for: no number, no group, no key that occurs. One candidate is something."""
    if isinstance(value, KeyCounts):
        return not np.any(value.counts)
    return value.size == 0 if isinstance(value, np.ndarray) else isinstance(value, list | tuple) and not value


def _undercharged(calls: Sequence[RecordedMeasure], charged: Charged) -> Iterator[Finding]:
    total = composed(calls)
    if isinstance(charged, Loss):
        if not _covers(charged, total):
            yield Finding("charge", f"the calls cost {total}, charged was {charged}", declared=charged, moved=total)
        return
    for amount in [charged] if isinstance(charged, Charge) else charged:
        cost = price(total, order=amount.order)
        if not cost <= amount:
            yield Finding("charge", f"the calls cost {cost}, charged was {amount}", declared=amount, moved=cost)


def others_charged(charged: Iterable[str], asked: Iterable[str]) -> Iterator[Finding]:
    """A finding where the populations that were charged are not those that are asked about."""
    paid, due = sorted(charged), sorted(asked)
    if paid != due:
        said = f"the rows are of {', '.join(due) or 'nobody'}, charged was {', '.join(paid) or 'nobody'}"
        yield Finding("charge", said, declared=paid, moved=due)


def _covers(charged: Loss, total: Loss) -> bool:
    """Whether a loss is no more than another, in the terms that this one is stated in."""
    try:
        if isinstance(charged, PureDP):
            return to_pure(total).epsilon <= charged.epsilon
        if isinstance(charged, ApproximateDP):
            return to_approximate(total, delta=charged.delta).epsilon <= charged.epsilon
    except TheoremDoesNotApply:  # nothing of this kind bounds it
        return False
    return total.delta <= charged.delta and all(total.renyi(order) <= charged.renyi(order) for order in ORDERS)


def _each_once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings of both directions that say the same are said once."""
    seen = set()
    for finding in findings:
        name = (finding.kind, finding.call, finding.norm)
        if name not in seen:
            yield finding
        seen.add(name)
