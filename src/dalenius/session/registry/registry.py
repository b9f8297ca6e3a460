"""The epsilon registry: use, unit, cap, spending, burn rate and forecast of every population.

It is made of the catalog and the ledger, both public, and can be published: no row and no analyst has a part in it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.catalog.catalog import Catalog, Population, Study
from dalenius.catalog.declaring import relation, relation_name
from dalenius.catalog.records import Records
from dalenius.ledger.accounts import Account
from dalenius.ledger.ledger import Ledger
from dalenius.query.tables import Table
from dalenius.session.registry.forms import csv_text, json_text, page, text
from dalenius.session.registry.records import PopulationRecord, StudyRecord
from dalenius.session.registry.spending import Spending, Spent

RECENT = dt.timedelta(weeks=4)
"""How far back the present rate looks."""
WEEK = dt.timedelta(weeks=1)
_FURTHEST = dt.timedelta(days=365_000)


@dataclass(frozen=True)
class Registry:
    """What each population is used for, and how much of its budget was spent, how fast, and until when it lasts; also
    of those that were taken out of the catalog.

    Guarantee: it depends on the catalog, the ledger and the clock alone, and names no analyst. Sums and rates are
    exact; only the forecast is rounded, to a day.
    Textbook: S18.5.
    """

    at: dt.datetime
    populations: tuple[PopulationRecord, ...]

    def to_json(self) -> str:
        """For programs: exact figures as texts."""
        return json_text(self.at, self.populations)

    def to_csv(self) -> str:
        """For spreadsheets: a line for each population, block and study."""
        return csv_text(self.populations)

    def to_html(self) -> str:
        """A page of its own, without scripts or anything from elsewhere."""
        return page(self.at, self.populations)

    def __str__(self) -> str:
        return text(self.at, self.populations)

    __repr__ = __str__

    def __getitem__(self, name: str) -> PopulationRecord:
        """The record of a population."""
        return {each.name: each for each in self.populations}[name]


def registry(catalog: Catalog, records: Records, ledger: Ledger, spending: Spending) -> Registry:
    """The registry as of now; `spending` is read on from the ledger."""
    now, spent = ledger.now(), spending.updated(ledger)
    people = sorted([*catalog.populations.values(), *_removed(catalog, records)], key=lambda each: each.name)
    return Registry(now, tuple(_Population(each, catalog, ledger, spent, now).record() for each in people))


def _removed(catalog: Catalog, records: Records) -> Iterator[Population]:
    """Populations that only the ledger still knows: whoever takes one out of the catalog does not undo its spending."""
    for name, facts in records.populations.items():
        if name not in catalog.populations:
            budget = Budget(facts["epsilon"], facts["delta"])
            yield Population(name, RenyiFilter.of(budget), relation(facts["neighbours"]))


@dataclass(frozen=True)
class _Population:
    """One population, while its record is made."""

    people: Population
    catalog: Catalog
    ledger: Ledger
    spending: Spending
    now: dt.datetime

    def record(self) -> PopulationRecord:
        people, spent = self.people, self.spending.of(self.people.name)
        share, tables = spent.share(people.renyi_filter), list(self._tables())
        recent, overall = self._recent(spent), self._overall(spent)
        return PopulationRecord(
            name=people.name,
            purpose=people.purpose,
            tables=tuple(table.name for table in tables),
            unit=", ".join(dict.fromkeys(str(table.protection.unit) for table in tables if table.protection)),
            neighbours=relation_name(people.neighbours),
            epsilon=people.budget.epsilon,
            delta=people.budget.delta,
            spent=share,
            weekly=recent,
            weekly_overall=overall,
            exhausted=forecast(share, recent or overall, self.now),
            retires=people.retires,
            retired=people.retires is not None and self.now >= people.retires,
            releases=spent.releases,
            first=spent.first,
            last=spent.last,
            blocks=tuple(self._blocks(spent)),
            studies=tuple(self._study(each) for each in self._own_studies()),
            removed=people.name not in self.catalog.populations,
        )

    def _tables(self) -> Iterator[Table]:
        for table in sorted(self.catalog.tables.values(), key=lambda table: table.name):
            if table.protection and table.protection.population == self.people.name:
                yield table

    # ---- how fast

    def _recent(self, spent: Spent) -> Fraction:
        """What was spent a week since the day four weeks ago, or since the first release if that came later."""
        since = (self.now - RECENT).astimezone(dt.UTC).date()
        start = dt.datetime.combine(since, dt.time(), dt.UTC)
        renyi_filter = self.people.renyi_filter
        lately = spent.share(renyi_filter) - spent.share(renyi_filter, before=since)
        return lately / self._weeks(max(start, spent.first or start))

    def _overall(self, spent: Spent) -> Fraction:
        return spent.share(self.people.renyi_filter) / self._weeks(spent.first or self.now)

    def _weeks(self, since: dt.datetime) -> Fraction:
        """The weeks since a moment, at least one: what was spent within a day is no rate for a year."""
        return Fraction(max(self.now - since, WEEK) // dt.timedelta.resolution, WEEK // dt.timedelta.resolution)

    # ---- parts

    def _blocks(self, spent: Spent) -> Iterator[tuple[str, Fraction]]:
        names = {name for blocks in spent.days.values() for name in blocks} - {""}
        yield from ((name, spent.share(self.people.renyi_filter, block=name)) for name in sorted(names))

    def _own_studies(self) -> list[Study]:
        found = [study for study in self.catalog.studies.values() if study.population == self.people.name]
        return sorted(found, key=lambda study: study.name)

    def _study(self, study: Study) -> StudyRecord:
        renyi_filter = self.people.renyi_filter
        spent = self.ledger.spent(Account((study.population, study.name)))
        return StudyRecord(
            name=study.name,
            purpose=study.purpose,
            quota=study.share,
            reserve=study.reserve or Fraction(0),
            spent=renyi_filter.share(spent),
            start=study.start,
            end=study.end,
            releases=self.spending.releases(study.population, study.name),
        )


def forecast(spent: Fraction, weekly: Fraction, now: dt.datetime) -> dt.date | None:
    """The day on which nothing will be left at this rate; None where that is not in sight."""
    if spent >= 1:
        return now.date()
    if not weekly:
        return None
    # Limited before it becomes a span, which holds no more.
    days = float(min((1 - spent) / weekly * 7, Fraction(_FURTHEST.days + 1)))
    try:
        return (now + dt.timedelta(days=days)).date() if days <= _FURTHEST.days else None
    except OverflowError:
        return None
