"""Spending by day: the charges of a ledger, added up again from its entries alone."""

from __future__ import annotations

import datetime as dt
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from dalenius.accounting.budget import RenyiFilter
from dalenius.ledger.accounts import AccountCharge, Entry, charge_from
from dalenius.ledger.ledger import Ledger


@dataclass
class Spent:
    """What was charged to one population: sums of divergence and delta by day and block, and when it was released."""

    days: dict[dt.date, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))
    releases: int = 0
    first: dt.datetime | None = None
    last: dt.datetime | None = None

    def share(self, renyi_filter: RenyiFilter, *, before: dt.date | None = None, block: str | None = None) -> Fraction:
        """The share of the budget that any unit bears at most, or those of one block, at the beginning of a day."""
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for day, blocks in self.days.items():
            for name, amount in blocks.items() if before is None or day < before else ():
                sums[name] = [one + other for one, other in zip(sums[name], amount, strict=True)]
        whole = sums.pop("", [0, 0])
        parts = [sums[block]] if block is not None else list(sums.values())
        most = [max((part[side] for part in parts), default=0) for side in (0, 1)]
        cap = (renyi_filter.cap.divergence, renyi_filter.cap.delta)
        return max(Fraction(whole[side] + most[side], cap[side] or 1) for side in (0, 1))

    def add(self, at: dt.datetime, charge: AccountCharge) -> None:
        known = self.days[at.astimezone(dt.UTC).date()].setdefault(charge.block, [0, 0])
        known[0] += charge.amount.divergence
        known[1] += charge.amount.delta

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


def _charges(entry: Entry) -> Iterator[AccountCharge]:
    """What an entry takes from populations. A replay takes nothing; what was taken over from a lost copy counts."""
    if entry.kind == "charge":
        yield from map(charge_from, entry.facts["charges"])
    if entry.kind == "reconciled":
        raised = map(charge_from, entry.facts["raised"])
        yield from (charge for charge in raised if len(charge.account.path) == 1)
