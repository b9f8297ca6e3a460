"""The catalog: populations, tables and grants. Everything in it is declared by the owner; nothing is read from private
data, and of public tables only how often values occur, which bounds joins."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

from dalenius.accounting.budget import Budget, Rectangle
from dalenius.curator.declaring import (
    declared_columns,
    declared_keys,
    null_words,
    relation,
    renamed,
    require_unstated,
)
from dalenius.curator.ledger.accounts import Account, Rate, Terms
from dalenius.curator.names import column_name, person_name, table_name, unused
from dalenius.engines.engine import AS_DECLARED, Reading
from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import of_kind, whole
from dalenius.query.tables import EachRow, Most, Protection, Table, Unit, UnitColumn, Via
from dalenius.query.types import Domain

PATH = re.compile(r"\s*(\w+)\s*(?:->|→)\s*(\w+)\s*\.\s*(\w+)\s*")

Value = TypeVar("Value")


@dataclass(frozen=True)
class Population:
    """The people behind a unit. It owns the budget, which all tables of these people share.

    Nothing here ever changes, so a copy, a new version or a second table of the same people brings no fresh budget.
    """

    name: str
    rectangle: Rectangle
    neighbours: Neighbours
    purpose: str = ""
    """What it is used for, in the owner's words."""
    retires: dt.datetime | None = None
    """From when on nothing more is answered."""
    partition: Partition | None = None

    @property
    def budget(self) -> Budget:
        return self.rectangle.budget


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
    """What an analyst may ask: of which tables, and the largest share of each population's budget in all.

    Inside a `study` the analyst spends that study's quota too. `most_epsilon` is the most that one question may cost,
    `rate` how often questions may be charged, `until` when the grant ends.
    """

    tables: tuple[str, ...] = ()
    shares: tuple[tuple[str, Fraction], ...] = ()
    study: str | None = None
    most_epsilon: Fraction | None = None
    rate: Rate | None = None
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
        self, name: str, *, budget: Budget, neighbours: object, purpose: str = "", retires: dt.datetime | None = None
    ) -> Catalog:
        """The catalog with one population more."""
        unused("population", table_name(name), self.populations)
        rectangle = Rectangle.of(of_kind(Budget, budget=budget))
        added = Population(name, rectangle, relation(neighbours), purpose, retires)
        return replace(self, populations={**self.populations, name: added})

    def with_table(
        self,
        name: str,
        *,
        columns: Mapping[str, Domain],
        population: str | None,
        unit: str | Unit | None,
        most: Most | None,
        public: bool,
        size: int | None,
        keys: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        nulls: Iterable[str] = (),
    ) -> Catalog:
        """The catalog with one table more; `InvalidParameter` if the declaration is not complete or not consistent."""
        unused("table", table_name(name), [*self.tables, *(draft for draft in self.drafts if draft != name)])
        protection = self._protection(population, unit, most, public)
        declared = declared_columns(columns, protection)
        if protection and isinstance(protection.unit, Via):
            self._require_path(protection.population, protection.unit)
        rows = None if size is None else whole(1, size=size)
        table = Table(name, declared, protection, rows, keys=declared_keys(keys, protection))
        reading = Reading(renamed(rename or {}, table), null_words(nulls))
        tables, readings = {**self.tables, name: table}, {**self.readings, name: reading}
        return replace(self, tables=tables, readings=readings, drafts=_without(self.drafts, name))

    def with_draft(self, draft: Draft) -> Catalog:
        """The catalog with a table that is not declared in full."""
        unused("table", table_name(draft.name), [*self.tables, *self.drafts])
        return replace(self, drafts={**self.drafts, draft.name: draft})

    def with_version(self, table: Table) -> Catalog:
        """The catalog with the rows of a table: a version and, of a public table, its figures. It can be asked."""
        self.table(table.name)
        tables, waiting = {**self.tables, table.name: table}, _without(self.waiting, table.name)
        return replace(self, tables=tables, waiting=waiting)

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
            raise InvalidParameter("partition", partition.column, allowed="the one that is there: it never changes")
        return replace(self, populations={**self.populations, name: replace(people, partition=partition)})

    def with_study(self, study: Study) -> Catalog:
        """The catalog with a study, or with new terms for one that is there."""
        table_name(study.name)
        self.population(study.population)
        if study.name in self.grants:
            raise InvalidParameter("study", study.name, allowed="another name than an analyst's")
        if study.reserve is not None and study.reserve > study.share:
            raise InvalidParameter("reserve", study.reserve, allowed="at most the study's share")
        return replace(self, studies={**self.studies, study.name: study})

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
            raise InvalidParameter("analyst", analyst, allowed="another name than a study's")
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

    def accounts(self) -> dict[Account, Terms]:
        """All accounts, populations before the quotas inside them, with what each allows."""
        found: dict[Account, Terms] = {}
        for people in self.populations.values():
            found[Account((people.name,))] = Terms(people.rectangle.cap, end=people.retires)
        for study in self.studies.values():
            rectangle = self.population(study.population).rectangle
            reserve = None if study.reserve is None else rectangle.part(share=study.reserve)
            terms = Terms(rectangle.part(share=study.share), study.start, study.end, reserve)
            found[Account((study.population, study.name))] = terms
        for analyst, grant in self.grants.items():
            for name, share in grant.shares:
                cap = self.population(name).rectangle.part(share=share)
                found[self.account(name, analyst)] = Terms(cap, end=grant.until)
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
        self, population: str | None, unit: str | Unit | None, most: Most | None, public: bool
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
        owner = self._unit(unit)
        self._require_one_unit(people.name, owner)
        if isinstance(owner, EachRow) and most is not None:
            raise InvalidParameter("most", most, allowed="left out where each row is a unit: it has one row")
        limit = None if most is None else of_kind(Most, most=most)
        return Protection(people.name, owner, people.neighbours, limit)

    def _unit(self, unit: str | Unit | None) -> Unit:
        if isinstance(unit, UnitColumn | Via):
            column_name(unit.column)
        if isinstance(unit, UnitColumn | Via | EachRow):
            return unit
        if not isinstance(unit, str):
            raise InvalidParameter(
                "unit",
                unit,
                allowed="a column such as 'patient_id', a path such as 'order_id -> orders.customer_id', or EachRow()",
            )
        if unit == str(EachRow()):
            return EachRow()
        path = PATH.fullmatch(unit)
        return self._path(*map(column_name, path.groups())) if path else UnitColumn(column_name(unit))

    def _path(self, column: str, name: str, owner: str) -> Via:
        """'order_id -> orders.customer_id': rows belong to the customers of the orders with the same order_id.

        'order_id -> orders.id' names the key that order_id refers to, where that is not called order_id.
        """
        table = self.table(name)
        reached = table.protection.unit if table.protection else None
        if owner in table.keys and reached != UnitColumn(owner):
            return Via(column, name, owner)
        if not (isinstance(reached, UnitColumn) and reached.column == owner):
            raise InvalidParameter(
                "unit",
                f"{column} -> {name}.{owner}",
                allowed=f"a path to the unit of {name}, which is {reached or 'none: it is public'}",
                hint=f"Write Via({column!r}, {name!r}, key=...) where {name} is itself reached by a path.",
            )
        return Via(column, name, column)

    def _require_path(self, population: str, unit: Via) -> None:
        """A path leads through a private table of the same population, by a column that it lists among its keys: keys
        are stored as they are, while a declared column is clamped, which would make strangers' keys equal."""
        table = self.table(unit.table)
        if table.protection is None or table.protection.population != population:
            raise InvalidParameter("unit", str(unit), allowed=f"a path through a table of {population}")
        if isinstance(table.protection.unit, EachRow):
            raise InvalidParameter("unit", str(unit), allowed="a path to a table whose unit has a name")
        if unit.key not in table.keys:
            raise InvalidParameter(
                "key", unit.key, allowed=f"a key of {table.name}", hint=f"Add {table.name} with keys=[{unit.key!r}]."
            )

    def _require_one_unit(self, population: str, unit: Unit) -> None:
        """Rows as units and people as units do not mix, and rows of two tables are not the same units."""
        others = [table for table in self.tables.values() if _of(table, population)]
        by_row = [table for table in others if table.protection and isinstance(table.protection.unit, EachRow)]
        if by_row or (others and isinstance(unit, EachRow)):
            raise InvalidParameter(
                "unit",
                str(unit),
                allowed=f"the unit of the other tables of {population}, and that not each row",
                hint="A population whose units are rows has one table; name a column to protect people across tables.",
            )


def parent(table: Table) -> str | None:
    """The table that a path leads through, if there is one."""
    unit = table.protection.unit if table.protection else None
    return unit.table if isinstance(unit, Via) else None


def _parted_by(people: Population, table: str) -> bool:
    return people.partition is not None and people.partition.table == table


def _without(mapping: Mapping[str, Value], name: str) -> dict[str, Value]:
    return {other: value for other, value in mapping.items() if other != name}


def _of(table: Table, population: str) -> bool:
    return table.protection is not None and table.protection.population == population


def _listed(names: Iterable[str]) -> str:
    return "one of " + (", ".join(names) or "none so far")
