"""Recounting: what a ledger's entries alone say was spent, by code that shares nothing with the ledger's own.

Every entry is taken in order, with the terms as they stood at that moment. Amounts are pairs of plain integers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str, ...]
Pair: TypeAlias = tuple[int, int]
LARGEST = 2**63 - 1
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
    cap: Pair
    order: str | None
    start: dt.datetime | None
    end: dt.datetime | None
    reserve: Pair | None


@dataclass(slots=True)
class Recount:
    """All that the entries up to one of them say."""

    name: str | None = None
    rules: dict[Path, RecountedTerms] = field(default_factory=dict)
    reserving: dict[Path, set[Path]] = field(default_factory=dict)  # by the account that they lie in
    spent: dict[Path, dict[str, Pair]] = field(default_factory=dict)
    most: dict[Path, Pair] = field(default_factory=dict)  # of any block; sums only rise
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

    def total(self, path: Path, block: str = "") -> Pair:
        """What was spent of an account: by all and by one block, or by all and by the block that spent most."""
        parts = self.spent.get(path, {})
        whole = parts.get("", (0, 0))
        more = parts.get(block, (0, 0)) if block else self.most.get(path, (0, 0))
        return whole[0] + more[0], whole[1] + more[1]

    def totals(self) -> dict[tuple[Path, str], Pair]:
        """What was spent of each account and block."""
        return {(path, block): pair for path, parts in self.spent.items() for block, pair in parts.items()}

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
            _require((known.cap, known.order) == (rule.cap, rule.order), "it changes a population's cap")
        outer = [self.rules.get(path[:length]) for length in range(1, len(path))]
        _require(all(each is not None and each.order == rule.order for each in outer), "its account lies in none")
        self.rules[path] = rule
        held = self.reserving.setdefault(path[:-1], set())
        held.add(path) if rule.reserve else held.discard(path)

    def _charged(self, charges: Sequence[dict[str, Any]], *, quotas_only: bool) -> None:
        found = [_charge(charge) for charge in charges]
        _require(len({path[0] for path, *_ in found}) == len(found) > 0, "it charges a population twice, or none")
        for path, amount, order, block in found:
            _require(amount != (0, 0), "it charges nothing")
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

    def _require_room(self, part: Path, payer: Path, amount: Pair, order: str | None, block: str) -> None:
        rule = self.rules.get(part)
        if rule is None:
            raise Wrong("it charges an account that was not opened")
        _require(rule.order == order, "it charges in another unit than its account's")
        assert self.at is not None
        _require(rule.start is None or self.at >= rule.start, "it charges an account before its start")
        _require(rule.end is None or self.at < rule.end, "it charges an account after its end")
        spent, cap = self.total(part, block), rule.cap
        held = self._held(part, payer) if self.reserving.get(part) else (0, 0)
        over = spent[0] > cap[0] or spent[1] > cap[1]
        left = max(0, cap[0] - spent[0] - held[0]), max(0, cap[1] - spent[1] - held[1])
        fits = amount[0] <= left[0] and amount[1] <= left[1]
        _require(fits and not (over and len(part) == 1), "it charges more than was left")

    def _held(self, part: Path, payer: Path) -> Pair:
        divergence, delta = 0, 0
        for path in self.reserving.get(part, ()):
            rule, spent = self.rules[path], self.total(path)
            if path != payer[: len(path)] and rule.reserve and self._open(rule):
                divergence += max(0, rule.reserve[0] - spent[0])
                delta += max(0, rule.reserve[1] - spent[1])
        return divergence, delta

    def _open(self, rule: RecountedTerms) -> bool:
        assert self.at is not None
        return rule.end is None or self.at < rule.end

    def _add(self, path: Path, block: str, amount: Pair) -> None:
        parts = self.spent.setdefault(path, {})
        before = parts.get(block, (0, 0))
        parts[block] = now = (min(LARGEST, before[0] + amount[0]), min(LARGEST, before[1] + amount[1]))
        if block:
            most = self.most.get(path, (0, 0))
            self.most[path] = (max(most[0], now[0]), max(most[1], now[1]))


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


def _amount(value: list[Any]) -> tuple[Pair, str | None]:
    divergence, delta, order = value
    for side in (divergence, delta):
        _require(type(side) is int and 0 <= side <= LARGEST, "it has an amount that no budget holds")
    _require(order is None or _is_text(order), "it has an amount of no order")
    return (divergence, delta), order


def _charge(value: dict[str, Any]) -> tuple[Path, Pair, str | None, str]:
    _require(value.keys() == _CHARGE and isinstance(value["block"], str), "it is not well formed")
    amount, order = _amount(value["amount"])
    return _path(value["account"]), amount, order, value["block"]


def _rule(value: dict[str, Any]) -> RecountedTerms:
    _require(value.keys() == {"cap", "start", "end", "reserve"}, "it is not well formed")
    (cap, order), reserve = _amount(value["cap"]), value["reserve"]
    start, end = (None if value[name] is None else dt.datetime.fromisoformat(value[name]) for name in ("start", "end"))
    return RecountedTerms(value, cap, order, start, end, None if reserve is None else _amount(reserve)[0])
