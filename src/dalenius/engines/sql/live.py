"""Tables that stay where they are: every question turns their values into codes on the way.

An import checks a table once; a table that stays may change at any time. So a scan keeps what the declaration promises
by itself: a value becomes a code of its domain, and a row that has no unit, or no value in a column that is declared
to have one, does not count. Each of these looks at one row alone, so the stability of a scan stays 1.

How ids are told apart follows from types alone: the units of a population are whole numbers if all its tables in this
engine name them by whole numbers, else texts, and whole numbers stand for the texts that print them. Likewise the two
ends of a path.

Each key belongs to one unit: where it is declared unique the source itself keeps it so, and where the claims of units
are bounded every scan says whose it is, by the rule of `engines.claims`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dalenius.engines.hashing import unique_keys
from dalenius.engines.sql.dialect import Dialect, SQLRelation, listed
from dalenius.engines.sql.hashes import owned_keys
from dalenius.query.plan.relations import Relation, Scan
from dalenius.query.tables import EachRow, ForeignKey, Table, UnitColumn
from dalenius.query.types import LONGEST_KEPT, Choice, Domain, Text

Kind: TypeAlias = Literal["integer", "text"]

_CONTENT, _COPY, _ROW = "dalenius_content", "dalenius_copy", "dalenius_row"
"""Columns beside those of a source; where a source has one of them, engines refuse the name as ambiguous."""


@dataclass(frozen=True)
class SourceColumn:
    """A column where a table stays: its quoted name and the engine's type."""

    name: str
    type: str


@dataclass(frozen=True)
class Staying:
    """A table that stays: its declaration, what stands for it in a FROM, and its columns by their declared names."""

    table: Table
    source: str
    columns: Mapping[str, SourceColumn]


class LiveDialect(Dialect):
    """A dialect that scans tables where they stay."""

    changing = True

    def __init__(self) -> None:
        self.staying: dict[str, Staying] = {}

    @abstractmethod
    def code(self, domain: Domain, column: SourceColumn) -> str | None:
        """SQL for the code of a value (texts stay texts), as `reference.canonical` defines it; total. None if a column
        of this type cannot hold the domain. A `Choice` is treated like any text: what is not listed is left to
        `scan`."""

    @abstractmethod
    def id_kind(self, column: SourceColumn) -> Kind | None:
        """What kind of ids a column holds; None if neither: floats and dates name nobody."""

    @abstractmethod
    def integer_id(self, column: SourceColumn) -> str:
        """An id of kind "integer" as a narrow integer; NULL beyond 63 bits."""

    @abstractmethod
    def text_id(self, column: SourceColumn) -> str:
        """An id of either kind as text: NFC, NULL where it has a NUL character, whole numbers in decimal."""

    def scan(self, relation: Scan) -> SQLRelation:
        """The rows of a table as codes."""
        found, names = self.staying[relation.table.name], [name for name, _ in relation.table.columns]
        codes = [
            f"{self._code(domain, found.columns[name])} AS {self._named(relation, name)}"
            for name, domain in relation.table.columns
        ]
        unit = [self.owner] if relation.private else []
        columns = [self._named(relation, name) for name in names]
        inner = f"SELECT {listed([*self._unit(found), *codes])} FROM {self._owned(found)}"
        conditions = list(self._conditions(relation))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return SQLRelation(f"SELECT {listed([*unit, *columns])} FROM ({inner}) a{where}")

    def checked(self, table: str, what: str, name: str) -> str:
        """What is NULL in the rows that a scan leaves out because of one column: its unit, or its code."""
        found = self.staying[table]
        if what == "unit":
            return self.text_id(found.columns[name])
        return self._code(dict(found.table.columns)[name], found.columns[name])

    def _named(self, relation: Scan, name: str) -> str:
        return self.quote(f"{relation.label}.{name}")

    def _conditions(self, relation: Scan) -> Iterator[str]:
        unit = relation.table.protection.unit if relation.table.protection else None
        if unit is not None and not isinstance(unit, EachRow):
            yield f"{self.owner} IS NOT NULL"
        yield from (
            f"{self._named(relation, name)} IS NOT NULL"
            for name, domain in relation.table.columns
            if not domain.nullable
        )

    def _code(self, domain: Domain, column: SourceColumn) -> str:
        code = self._kept(domain, column)
        if not isinstance(domain, Choice):
            return code
        values = ", ".join(map(self.text_literal, domain.values))
        return f"CASE WHEN {code} IN ({values}) THEN {code} END"

    def _kept(self, domain: Domain, column: SourceColumn) -> str:
        """The code of a value, of a text no more than is kept; of a `Choice` any text."""
        code = self.code(domain, column)
        assert code is not None, "checked when the table was registered"
        cut = isinstance(domain, Text) and not isinstance(domain, Choice)
        return self.substring(code, "1", str(LONGEST_KEPT)) if cut else code

    # ---- whose rows they are

    def _unit(self, found: Staying) -> list[str]:
        protection = found.table.protection
        if protection is None:
            return []
        if isinstance(protection.unit, UnitColumn):
            column = found.columns[protection.unit.column]
            return [f"{self._id(column, self.kind_of_units(protection.population))} AS {self.owner}"]
        # A column of the source may have the unit's name as well.
        return [f"{f'p.{self.owner}' if isinstance(protection.unit, ForeignKey) else f's.{_ROW}'} AS {self.owner}"]

    def _owned(self, found: Staying) -> str:
        """The rows of a table, with their unit where no column of theirs names it."""
        unit = found.table.protection.unit if found.table.protection else None
        if isinstance(unit, EachRow):
            return self._each_row(found)
        if isinstance(unit, ForeignKey):
            parent = self.staying[unit.table]
            kind = self._kind_of_key(found.columns[unit.column], parent.columns[unit.key])
            owned = self._owned_keys(parent, unit.key, kind)
            return f"{found.source} s JOIN ({owned}) p ON {self._id(found.columns[unit.column], kind)} = p.via"
        return f"{found.source} s"

    def _owned_keys(self, parent: Staying, key: str, kind: Kind) -> str:
        """Each key of a table with the unit that owns it; as `via` in the kind in which it is compared."""
        most = parent.table.claims_of(key)
        if most is None:
            written = self._unique_id(parent, key, kind)
            pairs = f"SELECT DISTINCT {written} AS via, {self._unit(parent)[0]} FROM {self._owned(parent)}"
            return f"SELECT * FROM ({pairs}) w WHERE {self.owner} IS NOT NULL"
        stated, sizes = self.stated(parent.table.name, key, kind), self._sizes(parent, key)
        return f"SELECT via, {self.owner} FROM ({owned_keys(self, stated, **sizes, most=most)}) o"

    def stated(self, table: str, key: str, kind: Kind | None = None) -> str:
        """The different pairs of a unit and a key that it states: as `claim` in the key's own kind, by which all tables
        behind it agree on who owns it, and as `via` in the kind in which it is compared."""
        found = self.staying[table]
        column, own = found.columns[key], self._kind_of_key(found.columns[key])
        terms = f"{self._id(column, own)} AS claim, {self._id(column, kind or own)} AS via, {self._unit(found)[0]}"
        pairs = f"SELECT DISTINCT {terms} FROM {self._owned(found)}"
        return f"SELECT * FROM ({pairs}) w WHERE claim IS NOT NULL AND {self.owner} IS NOT NULL"

    def _sizes(self, found: Staying, key: str) -> dict[str, str]:
        """The integer types of a table's units and of a key in its own kind."""
        assert found.table.protection is not None
        kinds = self.kind_of_units(found.table.protection.population), self._kind_of_key(found.columns[key])
        unit, claim = (self.narrow if kind == "integer" else self.wide for kind in kinds)
        return {"unit_size": unit, "key_size": claim}

    def _unique_id(self, found: Staying, key: str, kind: Kind) -> str:
        """The id of a key that is declared unique."""
        column = found.columns[key]
        written, kept = self._id(column, kind), key in unique_keys(found.table) and self.id_kind(column) == "text"
        return f"CASE WHEN {self.is_normal(column)} THEN {written} END" if kept else written

    def is_normal(self, column: SourceColumn) -> str:
        """Whether a text is written as ids are compared. What a source takes for two texts may be one id, so a key that
        is written in another way belongs to nobody where only the source keeps keys apart."""
        return f"{column.name} IS NOT NULL"

    def _each_row(self, found: Staying) -> str:
        """Each row's id: the hash of what it holds, and how many equal rows were counted before it."""
        codes = [(domain, self._kept(domain, found.columns[name])) for name, domain in found.table.columns]
        texts = [
            self.substring(code, "1", str(LONGEST_KEPT)) if isinstance(domain, Text) else self.written(code)
            for domain, code in codes
        ]
        parts = [f"coalesce({self.written(self.length(text))} || ':' || {text}, 'null')" for text in texts]
        content = " || ',' || ".join([self.text_literal(found.table.name), *parts])
        numbered = f"SELECT *, row_number() OVER (PARTITION BY {_CONTENT} ORDER BY {_CONTENT}) AS {_COPY}"
        rows = f"{numbered} FROM (SELECT s.*, {content} AS {_CONTENT} FROM {found.source} s) c"
        named = self.identity(f"{_CONTENT} || '#' || {self.written(_COPY)}")
        return f"(SELECT *, {named} AS {_ROW} FROM ({rows}) n) s"

    def unit_size(self, relation: Relation) -> str:
        tables = [self.staying[table.name] for table in relation.tables if table.protection]
        rows = any(each.table.protection and isinstance(each.table.protection.unit, EachRow) for each in tables)
        one = len(relation.populations) == 1 and self.kind_of_units(relation.populations[0]) == "integer"
        return self.narrow if one and not rows else self.wide

    def kind_of_units(self, population: str) -> Kind:
        """How the units of a population are told apart in this engine."""
        kinds = {
            self.id_kind(each.columns[each.table.protection.unit.column])
            for each in list(self.staying.values())
            if each.table.protection
            and each.table.protection.population == population
            and isinstance(each.table.protection.unit, UnitColumn)
        }
        return "integer" if kinds == {"integer"} else "text"

    def _kind_of_key(self, *ends: SourceColumn) -> Kind:
        return "integer" if {self.id_kind(end) for end in ends} == {"integer"} else "text"

    def _id(self, column: SourceColumn, kind: Kind) -> str:
        return self.integer_id(column) if kind == "integer" else self.identity(self.text_id(column))
