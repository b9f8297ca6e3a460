"""What every engine offers: tables in, sealed integers out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dalenius.privacy.exact import Exact
from dalenius.query.plan.passes import Cells, Pass
from dalenius.query.tables import Table
from dalenius.query.types import Code


@dataclass(frozen=True)
class Reading:
    """How a source is read: pairs (declared name, name in the source) for columns that have another name there, and
    words of a CSV file that stand for NULL, besides the empty one."""

    rename: tuple[tuple[str, str], ...] = ()
    nulls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Divided:
    """A partition that the engine keeps watch over: by which column of which table, and the last version looked at."""

    table: str
    column: str
    version: int


AS_DECLARED = Reading()
"""Names are those declared, and only an empty field of a CSV file is NULL."""


class Engine(Protocol):
    """Holds snapshots of tables as codes, and runs passes over them.

    Guarantee: a pass means what its docstring in `plan` says, for every content of the tables; `compile_sql` depends on
    public facts alone and reads nothing; a failed pass raises `WorkStopped` without a word about the reason.
    """

    def register(
        self,
        table: Table,
        source: Any,
        *,
        counts: bool = False,
        reading: Reading = AS_DECLARED,
        keep_earlier: bool = False,
    ) -> None:
        """Import the rows of a table once, checked against its declaration; raises `DataMismatch` and keeps nothing.

        `counts` adds numbers of rows to that error, for an owner who asks for them. `keep_earlier` drops no earlier
        version of any table: questions that were paid for may still need them.
        """

    def counted(self, table: Table) -> Table:
        """A public table that was registered, with its figures: how many rows it has, and how often the most frequent
        value of each column occurs. A private table is given back as it is, and nothing is counted."""

    def hold(self, tables: Iterable[Table]) -> None:
        """Take over which versions of tables count; an import replaces what was left behind of any other."""

    def discard(self) -> None:
        """Drop the rows of tables that are not held any more, now if that can be done, else with the next import."""

    def missing(self, tables: Iterable[Table]) -> list[str]:
        """The names of those tables whose rows are not there in their version."""

    def divide(self, table: Table, column: str, values: Sequence[Code]) -> None:
        """Partition the units of a table's population by these values of a column, beginning with its present rows.

        Guarantee: from now on, over all versions of the table, no unit ever has two of the values; rows that would
        give it a second one are left out of a version, and raise `DataMismatch` here. An earlier partition of the
        population is forgotten, so call it only while nothing was charged to a block.
        """

    def divided(self) -> Mapping[str, Divided]:
        """The partitions that are kept watch over, by their populations."""

    def compile_sql(self, step: Pass) -> str:
        """The exact text that the engine runs. Raises `QueryRefused` for what it cannot run without overflow, so
        call it before anything is charged."""

    def expected_seconds(self, step: Pass) -> float:
        """About how long a pass takes, by public facts: the plan, and the size class of each table."""

    def run(
        self,
        step: Pass,
        *,
        sql: str | None = None,
        seconds: float | None = None,
        tick: Callable[[float], object] | None = None,
    ) -> Exact[Cells]:
        """The result, sealed and with no sensitivity stated: whoever made the plan maps it with the right one. `sql` is
        the text of the pass, where it is written already.

        `tick` is called as time goes by with the percent of rows done, which is for the owner alone.
        """

    def close(self) -> None:
        """Let go of files and memory."""


class Statements:
    """The SQL of the passes of one question, each written once: for the derivation, the check that it can run, and the
    run itself."""

    def __init__(self, engine: Engine, passes: Iterable[Pass] = ()) -> None:
        self.engine, self._texts = engine, dict[Pass, str]()
        for step in passes:
            self.sql(step)  # refuses what cannot run

    def sql(self, step: Pass) -> str:
        """The exact text that the engine runs."""
        if step not in self._texts:
            self._texts[step] = self.engine.compile_sql(step)
        return self._texts[step]

    def run(self, step: Pass, **how: Any) -> Exact[Cells]:
        """The result of a pass, sealed."""
        return self.engine.run(step, sql=self.sql(step), **how)
