"""Spending by day: the charges of a ledger, added up again from its entries alone."""

from __future__ import annotations

import datetime as dt
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from dalenius.accounting.amounts import LARGEST, Charge
from dalenius.accounting.budget import RenyiFilter
from dalenius.catalog.catalog import Population
from dalenius.ledger.accounts import AccountCharge, Entry, charge_from
from dalenius.ledger.ledger import Ledger

Sums: TypeAlias = tuple[int, int, int]
"""Divergence, delta and epsilon, in units; of what was taken over from lost copies more than any charge may be."""
_NOTHING: Sums = (0, 0, 0)


@dataclass
class Spent:
    """What was charged to one population: sums by day and block, and when it was released."""

    days: dict[dt.date, dict[str, Sums]] = field(default_factory=lambda: defaultdict(dict))
    releases: int = 0
    first: dt.datetime | None = None
    last: dt.datetime | None = None

    def share(self, renyi_filter: RenyiFilter, *, before: dt.date | None = None, block: str | None = None) -> Fraction:
        """The share of the budget that any unit bears at most, or those of one block, at the beginning of a day."""
        sums: dict[str, Sums] = {}
        for day, blocks in self.days.items():
            for name, amount in blocks.items() if before is None or day < before else ():
                sums[name] = _plus(sums.get(name, _NOTHING), amount)
        return _borne(renyi_filter, sums, block or "")

    def add(self, at: dt.datetime, charge: AccountCharge) -> None:
        blocks = self.days[at.astimezone(dt.UTC).date()]
        blocks[charge.block] = _plus(blocks.get(charge.block, _NOTHING), _units(charge.amount))

    def released(self, at: dt.datetime) -> None:
        self.releases, self.first, self.last = self.releases + 1, self.first or at, at


class Spending:
    """The spending of all populations, and the number of releases of each study; read on where it was left off."""

    def __init__(self) -> None:
        self._gate, self._seen = threading.Lock(), 0
        self._people: dict[str, Spent] = defaultdict(Spent)
        self._studies: dict[tuple[str, str], int] = defaultdict(int)

    def updated(self, ledger: Ledger) -> Spending:
        """The same, with what was written since."""
        with self._gate:
            for entry in ledger.entries(after=self._seen):
                self._take(entry)
                self._seen = entry.number
        return self

    def of(self, population: str) -> Spent:
        return self._people.get(population, Spent())

    def releases(self, population: str, study: str) -> int:
        """How many releases a study has paid for."""
        return self._studies.get((population, study), 0)

    def _take(self, entry: Entry) -> None:
        for charge in _charges(entry):
            people = self._people[charge.account.population]
            people.add(entry.at, charge)
            if entry.kind == "charge":
                people.released(entry.at)
                if len(charge.account.path) > 2:
                    self._studies[charge.account.path[0], charge.account.path[1]] += 1


def increases(entries: Iterable[Entry], people: Mapping[str, Population]) -> dict[int, dict[str, Fraction]]:
    """By how much each entry raised the share that was spent of each population's budget, or of the one block that it
    was about; by the number of the entry."""
    spent: dict[str, dict[str, Sums]] = defaultdict(dict)
    found: dict[int, dict[str, Fraction]] = defaultdict(dict)
    for entry in entries:
        for charge in _charges(entry):
            name, block = charge.account.population, charge.block
            if name in people:
                before = _borne(people[name].renyi_filter, spent[name], block)
                spent[name][block] = _plus(spent[name].get(block, _NOTHING), _units(charge.amount))
                found[entry.number][name] = _borne(people[name].renyi_filter, spent[name], block) - before
    return found


def _borne(renyi_filter: RenyiFilter, sums: Mapping[str, Sums], block: str) -> Fraction:
    """The share that the units of a block bear, or any at most."""
    whole, blocks = sums.get("", _NOTHING), {name: part for name, part in sums.items() if name}
    parts = [blocks.get(block, _NOTHING)] if block else [_NOTHING, *blocks.values()]
    return max(_share(renyi_filter, _plus(whole, part)) for part in parts)


def _share(renyi_filter: RenyiFilter, sums: Sums) -> Fraction:
    divergence, delta, epsilon = (min(LARGEST, side) for side in sums)
    spent = Charge(divergence=divergence, delta=delta, order=renyi_filter.order, epsilon=epsilon)
    return spent.share(renyi_filter.cap)


def _units(amount: Charge) -> Sums:
    return amount.divergence, amount.delta, amount.epsilon


def _plus(one: Sums, other: Sums) -> Sums:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _charges(entry: Entry) -> Iterator[AccountCharge]:
    """What an entry takes from populations. A replay takes nothing; what was taken over from a lost copy counts."""
    if entry.kind == "charge":
        yield from map(charge_from, entry.facts["charges"])
    if entry.kind == "reconciled":
        raised = map(charge_from, entry.facts["raised"])
        yield from (charge for charge in raised if len(charge.account.path) == 1)
