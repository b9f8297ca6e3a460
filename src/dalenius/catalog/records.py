"""What the ledger remembers of the catalog: populations for ever, and every version of a table.

The catalog is a text that its owner may change at any time. What must not change is kept in the ledger as well: the
budget and neighbours of a population, its blocks, the population and unit of a table, and which versions of it there
were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dalenius.catalog import blocks
from dalenius.catalog.blocks import PARTITION
from dalenius.catalog.catalog import Catalog, Population
from dalenius.catalog.declarations import column_facts
from dalenius.catalog.declaring import UNIQUE, parent, relation_name
from dalenius.errors import InvalidParameter
from dalenius.ledger.accounts import Account, AccountTerms, Entry, canonical, terms_from
from dalenius.ledger.ledger import Ledger
from dalenius.query.tables import Table

POPULATION, TABLE = "population", "table"


@dataclass(frozen=True)
class TableVersion:
    """A version of a table whose rows were imported: under which declaration, and the figures of a public table."""

    table: str
    version: int
    population: str | None
    unit: str | None
    declaration: str
    rows: int | None = None
    repeats: tuple[tuple[str, int], ...] = ()
    parent: int | None = None
    """The version of the table that its path led through."""

    @property
    def facts(self) -> dict[str, Any]:
        return {**vars(self), "repeats": [list(pair) for pair in self.repeats]}

    @classmethod
    def of(cls, table: Table, *, parent: int | None) -> TableVersion:
        """What is written down of a table that was imported."""
        return cls(table.name, table.version, *_people(table), declaration(table), table.rows, table.repeats, parent)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> TableVersion:
        repeats = tuple((name, number) for name, number in facts.get("repeats") or ())
        return cls(
            facts["table"], facts["version"], facts["population"], facts["unit"], facts["declaration"],
            facts.get("rows"), repeats, facts.get("parent"),
        )  # fmt: skip


@dataclass(frozen=True)
class Records:
    """What was written down up to an entry."""

    last: int = 0
    populations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tables: Mapping[str, TableVersion] = field(default_factory=dict)
    """The latest version of each table that ever was."""
    accounts: Mapping[Account, AccountTerms] = field(default_factory=dict)

    def updated(self, ledger: Ledger) -> Records:
        """The records with what was written since."""
        found = self
        entries, last = ledger.declared(after=self.last)
        for entry in entries:
            found = found._with(entry)
        return found if found.last == last else replace(found, last=last)

    def _with(self, entry: Entry) -> Records:
        facts = entry.facts
        if entry.kind == "account":
            opened = Account(tuple(facts["account"]))
            return replace(self, accounts={**self.accounts, opened: terms_from(facts["terms"])})
        kind = facts.get("record") if entry.kind == "record" else None
        if kind == POPULATION:
            return replace(self, populations={**self.populations, facts["population"]: facts})
        if kind == PARTITION:
            return replace(self, partitions={**self.partitions, facts["population"]: facts})
        if kind == TABLE:
            return replace(self, tables={**self.tables, facts["table"]: TableVersion.from_facts(facts)})
        return self

    def next_version(self, name: str) -> int:
        """The number of the next version; none is given twice, whatever became of the table."""
        return self.tables[name].version + 1 if name in self.tables else 1

    def write_down(self, catalog: Catalog, ledger: Ledger) -> Records:
        """Write what is new in a catalog into the ledger: populations, their blocks, and accounts with their terms."""
        for people in catalog.populations.values():
            if people.name not in self.populations:
                ledger.record(POPULATION, population_facts(people))
        wanted = catalog.accounts()
        for account, terms in {**self._released(wanted), **wanted}.items():
            if self.accounts.get(account) != terms:
                ledger.open(account, terms)
        return self.updated(ledger)

    def _released(self, wanted: Mapping[Account, AccountTerms]) -> dict[Account, AccountTerms]:
        """Accounts that the catalog no longer has: nothing is held for them."""
        gone = {account: terms for account, terms in self.accounts.items() if account not in wanted and terms.reserve}
        return {account: replace(terms, reserve=None) for account, terms in gone.items()}

    # ---- what contradicts

    def require_consistent(self, catalog: Catalog) -> None:
        """Refuse a catalog that says something else about what never changes."""
        for people in catalog.populations.values():
            self._require_population(people)
        for table in catalog.tables.values():
            self._require_same_people(table)
            self._require_watched(table)

    def _require_watched(self, table: Table) -> None:
        """Where a population has blocks, every row of its people is imported: rows elsewhere change unseen."""
        if table.place and table.protection and table.protection.population in self.partitions:
            raise InvalidParameter(
                f"source of {table.name}", "a place outside", allowed="imported, since its population has blocks",
                hint="Blocks promise that nobody is ever in two of them, which only an import can keep watch over.",
            )  # fmt: skip

    def _require_population(self, people: Population) -> None:
        known = self.populations.get(people.name)
        if known is not None and {"record": POPULATION, **population_facts(people)} != known:
            made = f"epsilon = {known['epsilon']}, delta = {known['delta']}, {known['neighbours']}"
            raise InvalidParameter(
                f"population {people.name}", f"{people.budget}, {relation_name(people.neighbours)}",
                allowed=f"as it was made: {made}", hint="Budget and neighbours never change; put them back.",
            )  # fmt: skip
        known = self.partitions.get(people.name)
        if people.partition is not None and (known is None or people.partition != blocks.partition_from(known)):
            made = f"as it was made, by {known['column']} of {known['table']}" if known else "left out here"
            raise InvalidParameter(
                f"partition of {people.name}", "changed", allowed=made,
                hint="Blocks are made by db.partition(...), and never change.",
            )  # fmt: skip

    def _require_same_people(self, table: Table) -> None:
        spelled = {name.lower(): name for name in self.tables}.get(table.name.lower())
        if spelled is None:
            return
        if spelled != table.name:
            raise InvalidParameter("table", table.name, allowed=f"spelled {spelled!r}, as before")
        known, (people, unit) = self.tables[spelled], _people(table)
        for what, before, now in (("population", known.population, people), ("unit", known.unit, unit)):
            if before != now:
                raise InvalidParameter(
                    f"{what} of {table.name}", now, allowed=f"{before or 'none: it was public'}, as before",
                    hint="A table never moves to other people or units; give it another name.",
                )  # fmt: skip

    # ---- what can be asked

    def applied(self, catalog: Catalog) -> Catalog:
        """The catalog with versions and figures; tables without rows under their declaration wait."""
        tables = {name: self._versioned(table) for name, table in catalog.tables.items()}
        people = {name: self._parted(each, catalog) for name, each in catalog.populations.items()}
        waiting = {name: why for name in catalog.tables if (why := self._why_not(catalog, name))}
        return replace(catalog, populations=people, tables=tables, waiting=waiting)

    def _parted(self, people: Population, catalog: Catalog) -> Population:
        """A population with its blocks, which the ledger knows even where the catalog does not say so."""
        known = self.partitions.get(people.name)
        parted = blocks.recorded(known, catalog.tables.get(known["table"])) if known else None
        return replace(people, partition=parted)

    def _versioned(self, table: Table) -> Table:
        known = self.tables.get(table.name)
        if known is None:
            return table
        if known.declaration != declaration(table):
            return replace(table, version=known.version)
        return replace(table, version=known.version, rows=known.rows, repeats=known.repeats)

    def _why_not(self, catalog: Catalog, name: str) -> str | None:
        table, known = catalog.tables[name], self.tables.get(name)
        if known is None:
            return "no rows were imported yet; update it"
        if known.declaration != declaration(table):
            return "it is declared otherwise than when its rows were imported; update it"
        above = parent(table)
        if above is not None and (self._why_not(catalog, above) or self.tables[above].version != known.parent):
            return f"the rows of {above}, which its unit leads through, were replaced since; update it too"
        return None


# ---- facts


def population_facts(people: Population) -> dict[str, Any]:
    """What never changes of a population."""
    budget = people.budget
    return {POPULATION: people.name, "epsilon": str(budget.epsilon), "delta": str(budget.delta),
            "neighbours": relation_name(people.neighbours)}  # fmt: skip


def _people(table: Table) -> tuple[str | None, str | None]:
    """The population of a table and the unit by which its rows belong to it, with the claims on its path; neither ever
    changes."""
    guard = table.protection
    if guard is None:
        return None, None
    claims = [f"{each.most} of each unit count of {each.table}.{each.key}" for each in guard.claims]
    return guard.population, "; ".join([str(guard.unit), *claims])


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a column without days and moments, which JSON does not have."""
    return {name: value if isinstance(value, int | str | list) else value.isoformat() for name, value in facts.items()}


def declaration(table: Table) -> str:
    """A name for what an import depends on and an answer relies on: columns, unit, bounds, keys, and where rows that
    are not imported stay."""
    guard = table.protection
    people = guard and [*_people(table), relation_name(guard.neighbours), str(guard.most)]
    columns = [[name, _plain(column_facts(domain))] for name, domain in table.columns]
    place = [[table.place.address, table.place.table, list(map(list, table.place.rename))]] if table.place else []
    keys = [[key, table.claims_of(key) or UNIQUE] for key in table.keys]
    return hashlib.sha256(canonical([table.name, columns, people, keys, *place]).encode()).hexdigest()
