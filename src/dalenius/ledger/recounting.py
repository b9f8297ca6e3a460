"""Recounting: what a ledger's entries alone say was spent, by code that shares nothing with the ledger's own.

Every entry is taken in order, with the terms as they stood at that moment. Amounts are plain integers: divergence,
delta and epsilon. An amount of a Rényi order that states no epsilon has none, which is written as the largest number.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str, ...]
Sums: TypeAlias = tuple[int, int, int]
LARGEST = 2**63 - 1
_NOTHING: Sums = (0, 0, 0)
_ALWAYS = frozenset({"number", "at", "kind"})
SHAPES: dict[str, frozenset[str]] = {
    "ledger": _ALWAYS | {"ledger"},
    "account": _ALWAYS | {"account", "terms"},
    "charge": _ALWAYS | {"receipt", "who", "question", "request", "key", "charges"},
    "read": _ALWAYS | {"receipt", "who", "key", "charges"},
    "answer": _ALWAYS | {"receipt", "sha256"},
    "reconciled": _ALWAYS | {"mark", "raised"},
}
"""The names in an entry of each kind; a record has `record` and what the owner chose."""
_CHARGE = frozenset({"account", "amount", "block"})


class Wrong(Exception):
    """An entry that no sound ledger contains. Its text names no value of it."""


@dataclass(frozen=True, slots=True)
class RecountedTerms:
    """The terms of an account, and the same as they were written."""

    terms: dict[str, Any]
    cap: Sums
    order: str | None
    start: dt.datetime | None
    end: dt.datetime | None
    reserve: Sums | None


@dataclass(slots=True)
class Recount:
    """All that the entries up to one of them say."""

    name: str | None = None
    rules: dict[Path, RecountedTerms] = field(default_factory=dict)
    reserving: dict[Path, set[Path]] = field(default_factory=dict)  # by the account that they lie in
    spent: dict[Path, dict[str, Sums]] = field(default_factory=dict)
    most: dict[Path, Sums] = field(default_factory=dict)  # of each figure, in any block; sums only rise
    number: int = 0
    at: dt.datetime | None = None

    def take(self, entry: dict[str, Any]) -> None:
        """Count one more entry, or say what is wrong with it."""
        try:
            self._timed(entry)
            kind = entry["kind"]
            if kind == "record":
                _require(_is_text(entry.get("record")), "a record has no kind")
            else:
                _require(entry.keys() == SHAPES.get(kind), "it has not the names of its kind")
                self._counted(kind, entry)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise Wrong("it is not well formed") from None

    def total(self, path: Path) -> Sums:
        """What was spent of an account, by all and by the block that has spent the largest share of it."""
        borne = self._borne(path, "")
        return borne[0] if len(borne) == 1 else max(borne, key=lambda sums: (_share(sums, self.rules[path].cap), sums))

    def totals(self) -> dict[tuple[Path, str], Sums]:
        """What was spent of each account and block."""
        return {(path, block): sums for path, parts in self.spent.items() for block, sums in parts.items()}

    # ---- the kinds

    def _timed(self, entry: dict[str, Any]) -> None:
        _require(type(entry["number"]) is int and entry["number"] == self.number + 1, "its number is not the next")
        at = dt.datetime.fromisoformat(entry["at"])
        _require(at.utcoffset() is not None, "its time has no zone")
        _require(self.at is None or at >= self.at, "it is older than the one before")
        _require((entry["kind"] == "ledger") == (entry["number"] == 1), "a ledger has one name, in its first entry")
        self.number, self.at = entry["number"], at

    def _counted(self, kind: str, entry: dict[str, Any]) -> None:
        if kind == "ledger":
            _require(_is_text(entry["ledger"]), "it is not well formed")
            self.name = entry["ledger"]
        elif kind == "account":
            self._opened(_path(entry["account"]), _rule(entry["terms"]))
        elif kind in ("charge", "read"):
            _require(all(_is_text(entry[name]) for name in ("receipt", "who")), "it is not well formed")
            self._charged(entry["charges"], quotas_only=kind == "read")
        elif kind == "answer":
            _require(_is_text(entry["receipt"]) and len(entry["sha256"]) == 64, "it is not well formed")
        else:
            self._raised(entry)

    def _opened(self, path: Path, rule: RecountedTerms) -> None:
        known = self.rules.get(path)
        if known is not None and len(path) == 1:
            bound = known.cap[2] in (rule.cap[2], LARGEST)  # a cap of before, which bounds no epsilon, may get that
            same = (known.cap[:2], known.order) == (rule.cap[:2], rule.order)
            _require(bound and same, "it changes a population's cap")
        outer = [self.rules.get(path[:length]) for length in range(1, len(path))]
        _require(all(each is not None and each.order == rule.order for each in outer), "its account lies in none")
        self.rules[path] = rule
        held = self.reserving.setdefault(path[:-1], set())
        held.add(path) if rule.reserve else held.discard(path)

    def _charged(self, charges: Sequence[dict[str, Any]], *, quotas_only: bool) -> None:
        found = [_charge(charge) for charge in charges]
        _require(len({path[0] for path, *_ in found}) == len(found) > 0, "it charges a population twice, or none")
        for path, amount, order, block in found:
            _require(amount[:2] != (0, 0), "it charges nothing")
            for part in _lineage(path, quotas_only):
                self._require_room(part, path, amount, order, block if len(part) == 1 else "")
        for path, amount, _, block in found:
            for part in _lineage(path, quotas_only):
                self._add(part, block if len(part) == 1 else "", amount)

    def _raised(self, entry: dict[str, Any]) -> None:
        """Spending taken over from a lost copy: the one thing that may pass a cap."""
        mark = entry["mark"]
        _require(mark is None or (type(mark[0]) is int and len(mark[1]) == 64 and len(mark) == 2), "it names no mark")
        for charge in entry["raised"]:
            path, amount, _, block = _charge(charge)
            _require(not block or len(path) == 1, "it raises a block of a quota")
            self._add(path, block, amount)

    # ---- the arithmetic

    def _require_room(self, part: Path, payer: Path, amount: Sums, order: str | None, block: str) -> None:
        rule = self.rules.get(part)
        if rule is None:
            raise Wrong("it charges an account that was not opened")
        _require(rule.order == order, "it charges in another unit than its account's")
        assert self.at is not None
        _require(rule.start is None or self.at >= rule.start, "it charges an account before its start")
        _require(rule.end is None or self.at < rule.end, "it charges an account after its end")
        held = self._held(part, payer) if self.reserving.get(part) else _NOTHING
        most = _plus(self.spent.get(part, {}).get("", _NOTHING), self.most.get(part, _NOTHING))
        # Where the largest figures of all blocks fit together, every block does.
        if block or not _has_room(part, most, held, amount, rule.cap):
            fits = (_has_room(part, spent, held, amount, rule.cap) for spent in self._borne(part, block))
            _require(all(fits), "it charges more than was left")

    def _borne(self, path: Path, block: str) -> list[Sums]:
        """What units bear of an account, in one block or in each."""
        parts = self.spent.get(path, {})
        whole = parts.get("", _NOTHING)
        names = [block] if block else [name for name in parts if name]
        return [_plus(whole, parts.get(name, _NOTHING)) for name in names] or [whole]

    def _held(self, part: Path, payer: Path) -> Sums:
        """What is reserved for others and not spent by them; it may pay for what has no epsilon."""
        held = _NOTHING
        for path in self.reserving.get(part, ()):
            rule, (spent,) = self.rules[path], self._borne(path, "")
            if path != payer[: len(path)] and rule.reserve and self._open(rule):
                divergence, delta = (max(0, rule.reserve[side] - spent[side]) for side in (0, 1))
                unknown = LARGEST if divergence else 0
                held = _plus(held, (divergence, delta, divergence if rule.order is None else unknown))
        return held

    def _open(self, rule: RecountedTerms) -> bool:
        assert self.at is not None
        return rule.end is None or self.at < rule.end

    def _add(self, path: Path, block: str, amount: Sums) -> None:
        parts = self.spent.setdefault(path, {})
        divergence, delta, epsilon = (min(LARGEST, size) for size in _plus(parts.get(block, _NOTHING), amount))
        parts[block] = (divergence, delta, epsilon)
        if block:
            most = self.most.get(path, _NOTHING)
            self.most[path] = (max(most[0], divergence), max(most[1], delta), max(most[2], epsilon))


def _plus(one: Sums, other: Sums) -> Sums:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _has_room(part: Path, spent: Sums, held: Sums, amount: Sums, cap: Sums) -> bool:
    """Whether a charge fits. A population's sums must be within its cap; a quota that was lowered, and what is held for
    others, refuses only what adds to a figure that has none left."""
    before = _plus(spent, held)
    rest = (before[0] if amount[0] else 0, before[1] if amount[1] else 0, before[2])
    return _fits(_plus(rest, amount), cap) and (len(part) > 1 or _fits(_plus(spent, amount), cap))


def _fits(sums: Sums, cap: Sums) -> bool:
    divergence, delta, epsilon = sums
    if divergence > LARGEST or delta > cap[1]:
        return False
    return divergence <= cap[0] or (cap[2] < LARGEST and epsilon <= cap[2])


def _share(sums: Sums, cap: Sums) -> Fraction:
    """The larger part of deltas and of whichever of both other sums is the smaller part."""
    parts = [Fraction(size, most) if most else Fraction(bool(size)) for size, most in zip(sums, cap, strict=True)]
    unbounded = sums[2] >= LARGEST or cap[2] == LARGEST
    return max(parts[1], parts[0] if unbounded else min(parts[0], parts[2]))


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise Wrong(problem)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _path(value: list[str]) -> Path:
    _require(isinstance(value, list) and len(value) > 0 and all(map(_is_text, value)), "it names no account")
    return tuple(value)


@lru_cache(maxsize=4096)
def _lineage(path: Path, quotas_only: bool) -> tuple[Path, ...]:
    return tuple(path[:length] for length in range(2 if quotas_only else 1, len(path) + 1))


def _amount(value: list[Any]) -> tuple[Sums, str | None]:
    divergence, delta, order, *pure = value
    _require(order is None or _is_text(order), "it has an amount of no order")
    _require(len(pure) <= (order is not None) and LARGEST not in pure, "it has an amount that says nothing more")
    epsilon = divergence if order is None else [*pure, LARGEST][0]
    for figure in (divergence, delta, epsilon):
        _require(type(figure) is int and 0 <= figure <= LARGEST, "it has an amount that no budget holds")
    return (divergence, delta, epsilon), order


def _charge(value: dict[str, Any]) -> tuple[Path, Sums, str | None, str]:
    _require(value.keys() == _CHARGE and isinstance(value["block"], str), "it is not well formed")
    amount, order = _amount(value["amount"])
    return _path(value["account"]), amount, order, value["block"]


def _rule(value: dict[str, Any]) -> RecountedTerms:
    _require(value.keys() == {"cap", "start", "end", "reserve"}, "it is not well formed")
    (cap, order), reserve = _amount(value["cap"]), value["reserve"]
    start, end = (None if value[name] is None else dt.datetime.fromisoformat(value[name]) for name in ("start", "end"))
    return RecountedTerms(value, cap, order, start, end, None if reserve is None else _amount(reserve)[0])
