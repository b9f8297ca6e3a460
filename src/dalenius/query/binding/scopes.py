"""What names mean while a question is bound: columns, the unit, and keys of a path to it.

Names are looked up without regard to capital letters. The unit is not an expression: nothing here ever gives a
column for it, so no expression can be computed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn, TypeAlias

from dalenius.errors import QueryRefused, UnknownName
from dalenius.query.expressions import Column
from dalenius.query.plan.relations import Relation, Scan
from dalenius.query.rendering import text
from dalenius.query.syntax import Name, QueryTree
from dalenius.query.tables import ContributionBounds, ForeignKey, Table, UnitColumn
from dalenius.query.types import Identifier

MOST_TABLES = 32
"""How often tables may be read in one question."""


@dataclass(frozen=True)
class Field:
    """A column of the relation, by its internal name."""

    column: str


@dataclass(frozen=True)
class TheUnit:
    """Whose row it is."""


@dataclass(frozen=True)
class PathKey:
    """A column that leads along a declared path to the unit; `paths` are the ends (table, key) that it belongs to.

    `column` is its internal name, or None if the owner did not declare it as a column.
    """

    table: str
    column: str | None
    paths: frozenset[tuple[str, str]]
    end: str = "a table of the same population"
    """Where a path leads, by name only where the principal may ask about that table."""


Meaning: TypeAlias = Field | TheUnit | PathKey


@dataclass(frozen=True)
class Visible:
    """A name that can be used, alone or after the name of its table."""

    name: str
    table: str | None
    meaning: Meaning
    merged: bool = False
    """Equal to a column of the same name on the other side of a join: found only with its table's name."""

    def answers(self, name: Name) -> bool:
        if name.table is None:
            return not self.merged and self.name.lower() == name.name.lower()
        return (self.table or "").lower() == name.table.lower() and self.name.lower() == name.name.lower()


@dataclass(frozen=True)
class Scope:
    """A relation and the names by which its columns and its unit can be used."""

    relation: Relation
    names: tuple[Visible, ...]

    def has(self, name: Name) -> bool:
        """Whether the name is known here, be it once or several times."""
        return any(visible.answers(name) for visible in self.names)

    def find(self, name: Name) -> Meaning:
        """What the name means; refused if that is nothing, or not only one thing."""
        found = list(dict.fromkeys(visible.meaning for visible in self.names if visible.answers(name)))
        if not found:
            self._refuse_unknown(name)
        if len(found) > 1:
            tables = sorted({visible.table or "a subquery" for visible in self.names if visible.answers(name)})
            raise QueryRefused(
                text(name),
                rule=f"the name can mean several columns (of {', '.join(tables)})",
                instead=f"Write it with its table: {tables[0]}.{name.name}.",
            )
        return found[0]

    def column(self, name: Name) -> Column:
        """The column that the name means, with its present domain; the unit and path keys are refused."""
        meaning = self.find(name)
        if isinstance(meaning, TheUnit):
            refuse_unit(name)
        if isinstance(meaning, PathKey):
            refuse_key(name, meaning)
        return Column(self.relation.schema[meaning.column], meaning.column)

    def is_unit(self, name: object) -> bool:
        """Whether this is a name of the unit."""
        return isinstance(name, Name) and self.has(name) and isinstance(self.find(name), TheUnit)

    @property
    def unit_name(self) -> str | None:
        """How the unit can be called here, if it can."""
        return next((visible.name for visible in self.names if isinstance(visible.meaning, TheUnit)), None)

    def called(self, alias: str | None) -> Scope:
        """The same rows and names, after the name of a table or subquery."""
        return replace(self, names=tuple(replace(visible, table=alias, merged=False) for visible in self.names))

    def starred(self, table: str | None) -> list[Visible]:
        """What * or table.* stands for: the unit and all columns, without keys of paths."""
        listed = [
            visible
            for visible in self.names
            if not isinstance(visible.meaning, PathKey)
            and (not visible.merged if table is None else (visible.table or "").lower() == table.lower())
        ]
        if not listed:
            raise UnknownName("table", table or "*", known=self._tables())
        return listed

    def _refuse_unknown(self, name: Name) -> NoReturn:
        tables = self._tables()
        if name.table is not None and name.table.lower() not in {table.lower() for table in tables}:
            raise UnknownName("table in FROM", name.table, known=tables)
        near = [each for each in self.names if name.table is None or (each.table or "").lower() == name.table.lower()]
        raise UnknownName("column", text(name), known=dict.fromkeys(visible.name for visible in near))

    def _tables(self) -> list[str]:
        return list(dict.fromkeys(visible.table for visible in self.names if visible.table))


def refuse_unit(name: Name) -> NoReturn:
    """The unit says whose row it is, and that is what must stay hidden."""
    raise QueryRefused(
        text(name),
        rule="it says whose row this is, and can only be counted, joined on, or grouped by in an inner query",
        instead=f"Use COUNT(DISTINCT {text(name)}), or leave it out.",
    )


def refuse_key(name: Name, key: PathKey) -> NoReturn:
    """A key of a path is for joins along that path."""
    raise QueryRefused(
        text(name),
        rule="it is a key that leads to whose row this is, and can only be joined on",
        instead=f"Use it in JOIN ... ON along its path to {key.end}, or leave it out.",
    )


@dataclass
class InternalNames:
    """Internal names, numbered in order of appearance. None of them comes from the question."""

    labels: set[str] = field(default_factory=lambda: {"d", "k", "x", "c", "p", "unit"})
    count: int = 0
    tables: int = 0

    def label(self, table: Table) -> str:
        """A label for one more scan of the table: its name in the catalog, then name_2, ..."""
        self.tables += 1
        if self.tables > MOST_TABLES:
            raise QueryRefused(
                table.name,
                rule=f"a question reads at most {MOST_TABLES} tables, each use counted",
                instead="Ask about fewer tables at once.",
            )
        tried = _numbered(table.name)
        label = next(name for name in tried if name.lower() not in self.labels)
        self.labels.add(label.lower())
        return label

    def derived(self) -> str:
        """A name for one more computed column."""
        self.count += 1
        return f"d.{self.count - 1}"


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in range(2, MOST_TABLES * 2 + 10):
        yield f"{name}_{number}"


@dataclass(frozen=True)
class Setting:
    """What a query is bound in: tables, WITH names, internal names, limits, and how inner queries are bound."""

    tables: Mapping[str, Table]
    names: InternalNames
    most: ContributionBounds | None
    inner: Callable[[QueryTree, Setting], Scope]
    common: Mapping[str, tuple[QueryTree, Setting]] = field(default_factory=dict)

    def including(self, common: tuple[tuple[str, QueryTree], ...]) -> Setting:
        """With more WITH names; each sees those before it, and hides a table of the same name."""
        setting = self
        for name, query in common:
            setting = replace(setting, common={**setting.common, name.lower(): (query, setting)})
        return setting


def scanned(table: Table, alias: str | None, setting: Setting) -> Scope:
    """A table of the catalog: its unit, keys of paths, and columns."""
    scan = Scan(table, setting.names.label(table))
    hidden = {visible.name.lower(): visible for visible in _identifiers(table, scan.label, setting.tables)}
    fields = [
        Visible(name, None, Field(f"{scan.label}.{name}"))
        for name, domain in table.columns
        if name.lower() not in hidden and not isinstance(domain, Identifier)
    ]
    return Scope(scan, (*hidden.values(), *fields)).called(alias or table.name)


def _identifiers(table: Table, label: str, tables: Mapping[str, Table]) -> Iterator[Visible]:
    """The names that say whose rows these are: keys of paths, and the unit, which wins over a key of its name."""
    declared = {name.lower(): f"{label}.{name}" for name, _ in table.columns}
    for column, paths in _path_keys(table, tables).items():
        key = PathKey(table.name, declared.get(column.lower()), paths)
        known = [f"{table}.{key}" for table, key in sorted(paths) if table in tables]
        yield Visible(column, None, replace(key, end=known[0]) if known else key)
    unit = _unit_name(table, tables)
    if unit is not None:
        yield Visible(unit, None, TheUnit())


def _unit_name(table: Table, tables: Mapping[str, Table]) -> str | None:
    """The unit's column, also at the end of a path."""
    for _ in range(len(tables) + 1):
        unit = table.protection.unit if table.protection else None
        if isinstance(unit, UnitColumn):
            return unit.column
        if not isinstance(unit, ForeignKey) or unit.table.lower() not in tables:
            return None
        table = tables[unit.table.lower()]
    return None


def _path_keys(table: Table, tables: Mapping[str, Table]) -> dict[str, frozenset[tuple[str, str]]]:
    """The table's own key of a path, and the keys by which paths of other tables lead into it."""
    found: dict[str, frozenset[tuple[str, str]]] = {}
    for other in [table, *tables.values()]:
        via = other.protection.unit if other.protection else None
        if not isinstance(via, ForeignKey):
            continue
        end = (via.table.lower(), via.key.lower())
        ours = [via.column] if other.name == table.name else []
        ours += [via.key] if via.table.lower() == table.name.lower() else []
        for column in ours:
            found[column.lower()] = found.get(column.lower(), frozenset()) | {end}
    return found
