"""The catalog: populations, tables and grants. Everything in it is declared by the owner; nothing is read from private
data, and of public tables only how often values occur, which bounds joins."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.catalog.declaring import (
    Keys,
    declared_columns,
    declared_keys,
    declared_place,
    declared_unit,
    null_words,
    parent,
    relation,
    renamed,
    require_one_unit,
    require_path,
    require_unstated,
)
from dalenius.engines.engine import AS_DECLARED, Reading
from dalenius.errors import InvalidParameter
from dalenius.ledger.accounts import Account, AccountTerms, Rate
from dalenius.ledger.names import percent, person_name, table_name, unused
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import of_kind, whole
from dalenius.query.tables import ContributionBounds, EachRow, ForeignKey, Protection, Table, Unit, path_claims
from dalenius.query.types import Domain

Value = TypeVar("Value")

LEAST_SHARE = Fraction(1, 100_000)
"""The least share of a budget that one question takes, unless the owner says otherwise: watching how questions are
answered, and how long that takes, ends with the budget."""

DEFAULT_RATE = Rate(1000, seconds=3600)
"""How often an analyst's questions may be charged, unless the owner says otherwise."""


@dataclass(frozen=True)
class Population:
    """The people behind a unit. It owns the budget, which all tables of these people share.

    Nothing here ever changes, so a copy, a new version or a second table of the same people brings no fresh budget.
    """

    name: str
    renyi_filter: RenyiFilter
    neighbours: Neighbours
    purpose: str = ""
    """What it is used for, in the owner's words."""
    retires: dt.datetime | None = None
    """From when on nothing more is charged; what was released before can still be read."""
    partition: Partition | None = None
    least_share: Fraction = LEAST_SHARE
    """The least that one question takes of the budget: after 1 / least_share questions nothing is left."""

    @property
    def budget(self) -> Budget:
        return self.renyi_filter.budget


@dataclass(frozen=True)
class Partition:
    """Blocks of a population: its units by the value of a column of one table, which never changes for a unit."""

    table: str
    column: str
    values: tuple[Any, ...]
    """As codes of the column's domain. Units with another value, or none, are in no block."""


@dataclass(frozen=True)
class Draft:
    """A table that the owner has not declared in full: what is missing, as places such as 'columns.age.lower'."""

    name: str
    missing: tuple[str, ...]
    population: str | None = None

    def __str__(self) -> str:
        listed = ", ".join(self.missing[:6]) + (f" and {len(self.missing) - 6} more" if len(self.missing) > 6 else "")
        return f"it is not declared in full: {listed} of [tables.{self.name}] in catalog.toml must be filled in"


@dataclass(frozen=True)
class Study:
    """A quota inside a population's budget that several analysts share, for some time; `reserve` is the part of the
    population's budget that is held for it."""

    name: str
    population: str
    share: Fraction
    reserve: Fraction | None = None
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    purpose: str = ""


@dataclass(frozen=True)
class Grant:
    """What an analyst may ask: of which tables, and the largest share of each population's budget.

    Inside a `study` the analyst spends that study's quota too, and the share counts what is spent inside it.
    `most_epsilon` is the largest epsilon that one answer may have by itself, `rate` how often questions may be charged,
    `until` when the grant ends.
    """

    tables: tuple[str, ...] = ()
    shares: tuple[tuple[str, Fraction], ...] = ()
    study: str | None = None
    most_epsilon: Fraction | None = None
    rate: Rate = DEFAULT_RATE
    until: dt.datetime | None = None
    pays_for_replays: bool = False


@dataclass(frozen=True)
class Catalog:
    """All declarations at one time. To add one is to make a new catalog; the old one stays as it is.

    Textbook: S18.7.
    """

    populations: Mapping[str, Population] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    studies: Mapping[str, Study] = field(default_factory=dict)
    grants: Mapping[str, Grant] = field(default_factory=dict)
    readings: Mapping[str, Reading] = field(default_factory=dict)
    """How the source of each table is read, now and when its rows are replaced."""
    drafts: Mapping[str, Draft] = field(default_factory=dict)
    """Tables that are not declared in full."""
    waiting: Mapping[str, str] = field(default_factory=dict)
    """Tables that are declared and cannot be asked, and why: no rows were imported under this declaration."""

    def with_population(
        self,
        name: str,
        *,
        budget: Budget,
        neighbours: object,
        purpose: str = "",
        retires: dt.datetime | None = None,
        least_share: Fraction = LEAST_SHARE,
    ) -> Catalog:
        """The catalog with one population more."""
        unused("population", table_name(name), self.populations)
        renyi_filter = RenyiFilter.of(of_kind(Budget, budget=budget))
        added = Population(name, renyi_filter, relation(neighbours), purpose, retires, least_share=least_share)
        return replace(self, populations={**self.populations, name: added})

    def with_table(
        self,
        name: str,
        *,
        columns: Mapping[str, Domain],
        population: str | None,
        unit: str | Unit | None,
        most: ContributionBounds | None,
        public: bool,
        size: int | None,
        keys: Keys = (),
        rename: Mapping[str, str] | None = None,
        nulls: Iterable[str] = (),
        place: tuple[str, str] | None = None,
    ) -> Catalog:
        """The catalog with one table more; `InvalidParameter` if the declaration is not complete or not consistent.

        `place` is the address and the table where its rows stay, if they are not imported.
        """
        unused("table", table_name(name), [*self.tables, *(draft for draft in self.drafts if draft != name)])
        protection = self._protection(population, unit, most, public)
        declared = declared_columns(columns, protection)
        if protection and isinstance(protection.unit, ForeignKey):
            require_path(protection.population, protection.unit, self.table)
        rows = None if size is None else whole(1, size=size)
        listed, claims = declared_keys(keys, protection)
        table = Table(name, declared, protection, rows, keys=listed, claims=claims)
        reading = Reading(renamed(rename or {}, table), null_words(nulls))
        table = replace(table, place=declared_place(place, reading))
        tables, readings = {**self.tables, name: table}, {**self.readings, name: reading}
        return replace(self, tables=tables, readings=readings, drafts=_without(self.drafts, name))

    def with_place(self, name: str, place: tuple[str, str] | None) -> Catalog:
        """The catalog where the rows of a table stay elsewhere, or, without a place, are imported."""
        moved = replace(self.table(name), place=declared_place(place, self.reading(name)))
        return replace(self, tables={**self.tables, name: moved})

    def with_draft(self, draft: Draft) -> Catalog:
        """The catalog with a table that is not declared in full."""
        unused("table", table_name(draft.name), [*self.tables, *self.drafts])
        return replace(self, drafts={**self.drafts, draft.name: draft})

    def with_waiting(self, waiting: Mapping[str, str]) -> Catalog:
        """The catalog where these tables cannot be asked, for the reasons given."""
        return replace(self, waiting=dict(waiting))

    def without_table(self, name: str) -> Catalog:
        """The catalog without a table, also in grants. Its people, budget and versions stay known to the ledger."""
        if name not in self.drafts:
            self._require_unneeded(self.table(name))
        grants = {analyst: self._without_access(grant, name) for analyst, grant in self.grants.items()}
        kept = {field: _without(getattr(self, field), name) for field in ("tables", "drafts", "readings", "waiting")}
        return replace(self, grants={analyst: grant for analyst, grant in grants.items() if grant.tables}, **kept)

    def _without_access(self, grant: Grant, name: str) -> Grant:
        tables = tuple(other for other in grant.tables if other != name)
        people = set(map(self.people_of, tables))
        shares = tuple((each, share) for each, share in grant.shares if each in people)
        return replace(grant, tables=tables, shares=shares, study=grant.study if shares else None)

    def _require_unneeded(self, table: Table) -> None:
        children = [other.name for other in self.tables.values() if parent(other) == table.name]
        blocks = [people.name for people in self.populations.values() if _parted_by(people, table.name)]
        if children or blocks:
            raise InvalidParameter("table", table.name, allowed=f"one that {(children + blocks)[0]} does not need")

    def with_partition(self, name: str, partition: Partition) -> Catalog:
        """The catalog where a population is cut into blocks; this never changes."""
        people = self.population(name)
        if people.partition not in (None, partition):
            raise InvalidParameter("partition", partition.column, allowed="the existing one: it never changes")
        return replace(self, populations={**self.populations, name: replace(people, partition=partition)})

    def with_study(self, study: Study) -> Catalog:
        """The catalog with a study, or with new terms for one that is there."""
        unused("study", table_name(study.name), (other for other in self.studies if other != study.name))
        self.population(study.population)
        if study.name in self.grants:
            raise InvalidParameter("study", study.name, allowed="a name that no analyst has")
        if study.reserve is not None and study.reserve > study.share:
            raise InvalidParameter("reserve", study.reserve, allowed="at most the study's share")
        self._require_unheld(study)
        self._require_same_place(study)
        return replace(self, studies={**self.studies, study.name: study})

    def _require_unheld(self, study: Study) -> None:
        """All studies together hold no more than there is: whoever is not in one could never ask."""
        others = [each for each in self.studies.values() if each.name != study.name]
        held = sum((each.reserve or Fraction(0) for each in others if each.population == study.population), Fraction(0))
        if study.reserve and held + study.reserve > 1:
            raise InvalidParameter(
                "reserve", percent(study.reserve), allowed=f"at most {percent(1 - held)}, which no other study holds",
                hint="Declare a study that has ended again, with the reserve none, to free what is held for it.",
            )  # fmt: skip

    def _require_same_place(self, study: Study) -> None:
        """Whoever asks inside a study was granted tables of its population."""
        inside = [analyst for analyst, grant in self.grants.items() if grant.study == study.name]
        if inside and self.studies[study.name].population != study.population:
            raise InvalidParameter(
                "population", study.population,
                allowed=f"{self.studies[study.name].population}, as long as {inside[0]} asks inside the study",
            )  # fmt: skip

    def with_grant(self, analyst: str, *, tables: Iterable[str], share: Fraction | None, **terms: Any) -> Catalog:
        """The catalog with more tables for an analyst, and a new share of the budgets of these tables' populations;
        without one it stays as it was, and is all of a new one. `terms` are the other fields of a grant."""
        granted = [tables] if isinstance(tables, str) else list(tables)
        before = self.grants.get(analyst, Grant()) if isinstance(analyst, str) else Grant()
        names = tuple(dict.fromkeys([*before.tables, *granted]))
        shares = dict(before.shares)
        for name in map(self.people_of, granted):
            if name:
                shares[name] = share or shares.get(name, Fraction(1))
        if not granted:
            raise InvalidParameter("tables", tables, allowed="one table or more")
        return self.with_granted(analyst, replace(before, tables=names, shares=tuple(shares.items()), **terms))

    def with_granted(self, analyst: str, grant: Grant) -> Catalog:
        """The catalog with a grant as it stands; whatever was granted before is forgotten."""
        if person_name(analyst) in self.studies:
            raise InvalidParameter("analyst", analyst, allowed="a name that no study has")
        unused("analyst", analyst, (other for other in self.grants if other != analyst))
        if not grant.tables:
            raise InvalidParameter("tables", list(grant.tables), allowed="one table or more")
        people = tuple(dict.fromkeys(name for name in map(self.people_of, grant.tables) if name))
        shares = dict(grant.shares)
        if set(shares) != set(people):
            raise InvalidParameter("shares", list(shares), allowed=f"given for {', '.join(people) or 'nobody'}")
        ordered = replace(grant, shares=tuple((name, shares[name]) for name in people))
        self._require_study(ordered)
        return replace(self, grants={**self.grants, analyst: ordered})

    def people_of(self, name: str) -> str | None:
        """The population of a table; None of a public one, and of a draft that does not say."""
        if name in self.drafts:
            return self.drafts[name].population
        protection = self.table(name).protection
        return protection.population if protection else None

    def _require_study(self, grant: Grant) -> None:
        """A grant inside a study is about the study's population alone."""
        if grant.study is None:
            return
        if grant.study not in self.studies:
            raise InvalidParameter("study", grant.study, allowed=_listed(self.studies))
        about = self.studies[grant.study].population
        if [name for name, _ in grant.shares] != [about]:
            raise InvalidParameter("tables", grant.tables, allowed=f"tables of {about}, which the study is about")

    def without_grant(self, analyst: str) -> Catalog:
        """The catalog after a grant was revoked; what was spent stays spent."""
        if analyst not in self.grants:
            raise InvalidParameter("analyst", analyst, allowed=_listed(self.grants))
        return replace(self, grants=_without(self.grants, analyst))

    def account(self, population: str, analyst: str | None) -> Account:
        """Who pays: the analyst's quota, inside a study if there is one, or the population itself for the owner."""
        if analyst is None:
            return Account((population,))
        study = self.grants.get(analyst, Grant()).study
        return Account((population, analyst) if study is None else (population, study, analyst))

    def accounts(self) -> dict[Account, AccountTerms]:
        """All accounts, populations before the quotas inside them, with what each allows."""
        found: dict[Account, AccountTerms] = {}
        for people in self.populations.values():
            found[Account((people.name,))] = AccountTerms(people.renyi_filter.cap, end=people.retires)
        for study in self.studies.values():
            renyi_filter = self.population(study.population).renyi_filter
            reserve = None if study.reserve is None else renyi_filter.part(share=study.reserve)
            terms = AccountTerms(renyi_filter.part(share=study.share), study.start, study.end, reserve)
            found[Account((study.population, study.name))] = terms
        for analyst, grant in self.grants.items():
            for name, share in grant.shares:
                cap = self.population(name).renyi_filter.part(share=share)
                found[self.account(name, analyst)] = AccountTerms(cap, end=grant.until)
        return found

    def population(self, name: str) -> Population:
        """The population of this name."""
        if name not in self.populations:
            raise InvalidParameter(
                "population", name, allowed=_listed(self.populations), hint="Declare it with add_population first."
            )
        return self.populations[name]

    def table(self, name: str) -> Table:
        """The table of this name, which is declared in full."""
        if name in self.drafts:
            places = [f"tables.{name}.{place}" for place in self.drafts[name].missing]
            raise InvalidParameter(
                "table", name, allowed="declared in full", hint=f"Fill in {', '.join(places)} in catalog.toml."
            )
        if name not in self.tables:
            raise InvalidParameter("table", name, allowed=_listed(self.tables), hint="Declare it with add_table first.")
        return self.tables[name]

    def reading(self, name: str) -> Reading:
        """How the source of a table is read."""
        return self.readings.get(name, AS_DECLARED)

    def tables_for(self, analyst: str | None) -> Mapping[str, Table]:
        """The tables that somebody may ask; None is the owner, who may ask all whose rows are there."""
        names = self.named_for(analyst)
        return {name: self.tables[name] for name in names if name not in self.waiting and name not in self.drafts}

    def named_for(self, analyst: str | None) -> tuple[str, ...]:
        """The tables that somebody knows of, also those that cannot be asked for now."""
        return (*self.tables, *self.drafts) if analyst is None else self.grants.get(analyst, Grant()).tables

    def why_not(self, name: str) -> str | None:
        """Why a table cannot be asked, for its owner; None if it can."""
        return str(self.drafts[name]) if name in self.drafts else self.waiting.get(name)

    def _protection(
        self, population: str | None, unit: str | Unit | None, most: ContributionBounds | None, public: bool
    ) -> Protection | None:
        if public:
            require_unstated(population, unit, most)
            return None
        if population is None:
            raise InvalidParameter(
                "population",
                None,
                allowed="stated, or public=True",
                hint="Say whose data this is, or that no row of it is about anybody who must be protected.",
            )
        people = self.population(population)
        owner = declared_unit(unit, self.table)
        require_one_unit(people.name, owner, self.tables.values())
        if isinstance(owner, EachRow) and most is not None:
            raise InvalidParameter("max_rows", most.rows, allowed="left out where each row is a unit: it has one row")
        return Protection(people.name, owner, people.neighbours, most, path_claims(owner, self.table))


def _parted_by(people: Population, table: str) -> bool:
    return people.partition is not None and people.partition.table == table


def _without(mapping: Mapping[str, Value], name: str) -> dict[str, Value]:
    return {other: value for other, value in mapping.items() if other != name}


def _listed(names: Iterable[str]) -> str:
    return "one of " + (", ".join(names) or "none so far")
