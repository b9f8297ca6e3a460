"""The public facts about a table: its columns, whose rows they are, and how much one unit may contribute."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from math import prod
from typing import Self, TypeAlias

from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import whole
from dalenius.query.types import Domain


@dataclass(frozen=True)
class ContributionBounds:
    """How much of one unit enters one answer: at most `rows` rows in each group, and at most `groups` groups.

    What exceeds it is scaled down (rows) or left out by a fixed public rule (groups), never refused.
    """

    rows: int
    groups: int

    def __post_init__(self) -> None:
        for name, bound in {"max_rows": self.rows, "max_groups": self.groups}.items():
            if whole(1, **{name: bound}) > 2**40:
                raise InvalidParameter(name, bound, allowed="at most 2^40")

    @classmethod
    def stated(cls, max_rows: int | None, max_groups: int | None) -> Self | None:
        """What a table or a question says; None where it says nothing. Rows alone can be in as many groups."""
        if max_rows is None and max_groups is not None:
            raise InvalidParameter(
                "max_rows", None, allowed="stated with max_groups, such as max_rows=20, max_groups=5"
            )
        return None if max_rows is None else cls(max_rows, max_rows if max_groups is None else max_groups)

    def __str__(self) -> str:
        return f"{self.rows} rows in each of {self.groups} groups"


@dataclass(frozen=True)
class UnitColumn:
    """Each row belongs to the unit that this column names. An import refuses rows where it is NULL, and a scan drops
    them anyway."""

    column: str

    def __str__(self) -> str:
        return self.column


@dataclass(frozen=True)
class ForeignKey:
    """Each row belongs to the one unit that owns its key: a unit with a row in `table` whose `key` equals this row's
    `column`. Rows whose key nobody owns are dropped.

    Where keys are declared unique no two units state the same one. Where their claims are bounded (`Claims`), each unit
    keeps the first keys that it states, and of the units that keep a key one owns it.
    """

    column: str
    table: str
    key: str

    def __str__(self) -> str:
        return f"{self.column} → {self.table}.{self.key}"

    def describe(self, known: Container[str] = ()) -> str:
        """The path for somebody who may not know its table: its name is said only if it is among the `known` ones."""
        return str(self) if self.table in known else f"{self.column} → a table of the same population"


@dataclass(frozen=True)
class Claims:
    """A key of a table that several units may state: of each unit's keys the first `most` count, in the order of the
    public hash of (unit, key), and of the units that still state a key the one with the smallest hash owns it.

    Whoever comes or goes changes who owns the keys that it keeps, and no others: at most `most` other units get or lose
    rows. That is as if it and each of these others went and came again (see docs/plans.md).
    """

    table: str
    key: str
    most: int

    @property
    def steps(self) -> int:
        """How many units come or go in effect when one does."""
        return 1 + 2 * self.most


@dataclass(frozen=True)
class EachRow:
    """Each row is a unit of its own."""

    def __str__(self) -> str:
        return "each row"


@dataclass(frozen=True)
class TableLocation:
    """Where the rows of a table stay, if they are not imported: the address of an engine, the table there, and pairs
    (declared name, name there) of columns that have another name there. It holds no secret."""

    address: str
    table: str
    rename: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.table} at {self.address}"


Unit: TypeAlias = UnitColumn | ForeignKey | EachRow


@dataclass(frozen=True)
class Protection:
    """Whom a private table protects: population, unit, neighbours and the most that a unit contributes."""

    population: str
    unit: Unit
    neighbours: Neighbours
    most: ContributionBounds | None
    """None only where each row is a unit: such a unit has one row."""
    claims: tuple[Claims, ...] = ()
    """The keys with bounded claims that the unit's path leads through, from this table on; see `path_claims`."""

    @property
    def steps(self) -> int:
        """How many units of this table come or go in effect when one does."""
        return prod(each.steps for each in self.claims)

    def __post_init__(self) -> None:
        if self.most is None and not isinstance(self.unit, EachRow):
            raise InvalidParameter(
                "max_rows",
                None,
                allowed="stated, such as max_rows=20, max_groups=5",
                hint="Say how many rows and groups of one unit enter one answer; more are scaled down, not refused.",
            )


@dataclass(frozen=True)
class Table:
    """A table as a plan sees it. `protection` is None for a public table; `size` is a declared, public row count.

    `rows` and `repeats` are counted when a public table is imported, and never for a private one: how many rows it
    has, and for each column how often its most frequent value occurs. Joins are bounded by them.
    """

    name: str
    columns: tuple[tuple[str, Domain], ...]
    protection: Protection | None = None
    size: int | None = None
    version: int = 1
    keys: tuple[str, ...] = ()
    """Columns of the source, declared or not, that other tables find their units by (`ForeignKey`); never shown."""
    claims: tuple[tuple[str, int], ...] = ()
    """Those of the keys that several units may state, and how many of them count of each unit; all others are unique:
    no two units state the same one."""
    rows: int | None = None
    repeats: tuple[tuple[str, int], ...] = ()
    place: TableLocation | None = None
    """Where its rows stay; None if they are imported."""

    def __post_init__(self) -> None:
        if self.protection is not None and (self.rows is not None or self.repeats):
            raise InvalidParameter("rows", self.name, allowed="counted for public tables alone")

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that an import reads: declared ones, keys, and the one that names the unit."""
        unit = self.protection.unit if self.protection else None
        owner = [unit.column] if isinstance(unit, UnitColumn | ForeignKey) else []
        return tuple(dict.fromkeys([*(name for name, _ in self.columns), *self.keys, *owner]))

    def claims_of(self, key: str) -> int | None:
        """How many different values of a key count of each unit; None where they are unique."""
        return dict(self.claims).get(key)

    def repeats_of(self, column: str | None) -> int | None:
        """How often the most frequent value of a column occurs in a public table, NULL aside; of None, its rows."""
        return self.rows if column is None else dict(self.repeats).get(column, self.rows)


def path_claims(unit: Unit | None, find: Callable[[str], Table]) -> tuple[Claims, ...]:
    """The keys with bounded claims that the path of a unit leads through, the nearest first."""
    if not isinstance(unit, ForeignKey):
        return ()
    parent = find(unit.table)
    most = parent.claims_of(unit.key)
    own = () if most is None else (Claims(parent.name, unit.key, most),)
    return (*own, *(parent.protection.claims if parent.protection else ()))
