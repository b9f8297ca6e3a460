"""Engines side by side: the embedded one for imported tables, and those of the places where other tables stay."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from typing import Any

from dalenius.engines.addresses import SPARK, RemoteSource, is_postgres, with_secret
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.engine import AS_DECLARED, Divided, Engine, Reading, Statements
from dalenius.engines.sql import live, passes
from dalenius.engines.sql.live_engine import LiveEngine, same_source
from dalenius.errors import (
    DaleniusError,
    DataMismatch,
    EngineUnfit,
    InvalidParameter,
    MissingExtra,
    QueryRefused,
    WorkStopped,
)
from dalenius.privacy.exact import Exact
from dalenius.query.plan.passes import Cells, Pass
from dalenius.query.tables import ForeignKey, Table, TableLocation
from dalenius.query.types import Code

Log = Callable[[BaseException], object]
_WHY = "The owner's log says why."
_REACHED = 60.0
_NOTED = 100
"""How many different things are told of places while a database is open."""
_FIT: set[str] = set()
"""Engines that this process has checked, and found nothing wrong."""
_UNFIT: dict[str, tuple[float, str]] = {}
"""When another engine was checked, and what was wrong with it."""
_AGAIN = 60.0
"""Seconds after which an engine that was not fit is looked at again: its owner may have put it right."""


class Engines:
    """An engine over tables in several places.

    Guarantee: a table is read in its own place and nowhere else, and rows never leave it: a pass over tables of two
    places is refused before anything is charged. An engine outside is opened when it is first needed, and used only if
    it agrees with the reference in a short check, once per address and process.

    `secret` gives the password or token of an address, `note` is told why a question was refused because of a place.
    """

    def __init__(
        self,
        imported: DuckDBEngine,
        *,
        log: Log,
        note: Log,
        secret: Callable[[str], str | None] = lambda address: None,
        spark: Any = None,
    ) -> None:
        self.imported, self._log, self._note, self._secret = imported, log, note, secret
        self._spark, self._given = spark, dict[str, str]()
        self._live: dict[str, LiveEngine] = {}
        self._held: dict[str, list[Table]] = {}
        self._behind: set[str] = set()
        self._noted = set[str]()
        self._lock, self._turns = threading.RLock(), dict[str, threading.RLock]()

    # ---- places

    @contextmanager
    def meeting(self, place: RemoteSource) -> Iterator[None]:
        """Take over a password, token or session that an owner has handed in for a place; if what is tried with it
        fails, the password before it holds again."""
        before = self._given.get(place.address)
        self._meet(place)
        try:
            yield
        except BaseException:
            with self._lock:
                if place.secret is not None and before != place.secret:
                    self._given.pop(place.address, None)
                    if before is not None:
                        self._given[place.address] = before
                    self._forget(place.address)
            raise

    def _meet(self, place: RemoteSource) -> None:
        with self._lock:
            if place.session is not None and place.session is not self._spark:
                if SPARK in self._live:
                    raise InvalidParameter(
                        "source", "a second SparkSession", allowed="the session that this database uses already",
                        hint="Close the database and open it with the other session: dl.open(path, spark=session).",
                    )  # fmt: skip
                self._spark = place.session
            if place.secret is not None and place.secret != self._given.get(place.address):
                self._given[place.address] = place.secret
                self._forget(place.address)

    def columns(self, place: TableLocation) -> Mapping[str, str]:
        """The types of the columns of a table where it stays, by their names there. No row is read."""
        engine = self._at(place.address, place.table)
        try:
            return engine.described(place)[1]
        except DataMismatch:
            raise
        except Exception as error:
            self._log(error)
        raise DataMismatch(place.table, problem="the source could not be read", instead=_WHY)

    def remarks(self, table: Table) -> list[str]:
        """What the owner should know of a table: of its last import, or of the role that reads it where it stays and
        of the rows that are there now."""
        if table.place is None:
            return self.imported.remarks(table.name)
        with self._lock:
            found = list(getattr(self._live.get(table.place.address), "remarks", ()))
        return found + (self._at(table.place.address, table.name).shared_keys(table) if table.claims else [])

    def open_all(self) -> None:
        """Open the engines of all tables that are held, so that no question has to wait for it."""
        for address, tables in list(self._held.items()):
            try:
                self._at(address, tables[0].name)
            except DaleniusError as error:
                self._tell(error)

    def release_if_wanted(self) -> bool:
        """Let go of the imported tables if another process wants to import and no question is under way here."""
        return self.imported.release_if_wanted()

    def _at(self, address: str, table: str) -> LiveEngine:
        """The engine of an address, holding what there is to hold of it. Waiting for one place delays no other."""
        with self._turn(address):
            engine = self._live.get(address)
            if engine is not None and not engine.answers():
                self._forget(address)
                engine = None
            if engine is None:
                engine = self._live[address] = self._opened(address, table)
                self._behind.add(address)
            if address in self._behind and self._takes(engine, self._held.get(address, [])):
                self._behind.discard(address)
            return engine

    def _turn(self, address: str) -> threading.RLock:
        with self._lock:
            return self._turns.setdefault(address, threading.RLock())

    def _takes(self, engine: LiveEngine, tables: Sequence[Table]) -> bool:
        """Let an engine hold tables: one that is gone or out of reach does not take others along."""
        held = [table for table in tables if _holds(engine, table)]
        engine.hold(held)
        for table in tables:
            if not _holds(engine, table):
                try:
                    engine.hold([*held, table])
                    held.append(table)
                except DataMismatch as error:
                    self._tell(error)
        return len(held) == len(tables)

    def _opened(self, address: str, table: str) -> LiveEngine:
        problem: DaleniusError | None = None
        try:
            self._require_fit(address, table)
            return self._made(address)
        except DaleniusError as error:
            problem = error
        except Exception as error:
            self._log(error)
        # Out of the handlers: what a driver says does not travel along.
        raise problem or DataMismatch(table, problem="the place where it stays cannot be reached", instead=_WHY)

    def _require_fit(self, address: str, table: str) -> None:
        """Check an engine that is new to this process."""
        identity = self._identity(address)
        if identity in _FIT:
            return
        at, problem = _UNFIT.get(identity, (-_AGAIN, ""))
        if time.monotonic() - at >= _AGAIN:
            problem = self._checked(address)
            if not problem:
                _FIT.add(identity)
                return
            _UNFIT[identity] = time.monotonic(), problem
        raise EngineUnfit(table, problem=problem)

    def _checked(self, address: str) -> str:
        """What is wrong with an engine, if anything: found with an instance of its own, since it is lent rows."""
        checking = import_module("dalenius.engines.conformance.checking")
        with closing(self._made(address)) as trial:
            trial.fetched("SELECT 1 AS n", _REACHED, None)  # what cannot be reached is not unfit
            found: str | None = checking.quick_check(trial)
        return found or ""

    def _made(self, address: str) -> LiveEngine:
        secret = self._given.get(address) or self._secret(address)
        return live_engine(address, secret=secret, log=self._log, spark=self._spark if address == SPARK else None)

    def _identity(self, address: str) -> str:
        """What is checked once: an address, and of a session that was handed in which kind it is."""
        if address != SPARK or self._spark is None:
            return address
        return f"{SPARK} {type(self._spark).__module__} {self._spark.version}"

    def _tell(self, error: BaseException) -> None:
        """Tell the owner what is wrong with a place, once, and not more than a log should hold: whoever asks often
        must not fill it."""
        with self._lock:
            is_new = str(error) not in self._noted and len(self._noted) < _NOTED
            if is_new:
                self._noted.add(str(error))
        if is_new:
            self._note(error)

    def _forget(self, address: str) -> None:
        engine = self._live.pop(address, None)
        if engine is not None:
            engine.close()

    # ---- tables

    def register(
        self,
        table: Table,
        source: Any,
        *,
        counts: bool = False,
        reading: Reading = AS_DECLARED,
        keep_earlier: bool = False,
    ) -> None:
        """Import the rows of a table, or look at it where it stays."""
        if table.place is None:
            return self.imported.register(table, source, counts=counts, reading=reading, keep_earlier=keep_earlier)
        engine = self._at(table.place.address, table.name)
        try:
            engine.register(table, table.place, counts=counts, reading=Reading(table.place.rename))
        finally:
            self._behind.add(table.place.address)  # it may hold less than before, or more than will be written down

    def counted(self, table: Table) -> Table:
        """A public table with its figures; a private one as it is."""
        if table.place is None:
            return self.imported.counted(table)
        with self._lock:
            engine = self._live[table.place.address]
        return engine.counted(table)

    def hold(self, tables: Iterable[Table]) -> None:
        """Take over which tables count. No place is asked for them before a question needs it."""
        held = list(tables)
        self.imported.hold(table for table in held if table.place is None)
        with self._lock:
            self._held = {}
            for table in held:
                if table.place is not None:
                    self._held.setdefault(table.place.address, []).append(table)
            self._behind.update(self._live)

    def missing(self, tables: Iterable[Table]) -> list[str]:
        """The names of imported tables whose rows are not there; those elsewhere are looked for by a question."""
        return self.imported.missing(table for table in tables if table.place is None)

    def discard(self) -> None:
        """Drop imported rows of tables that are not held."""
        self.imported.discard()

    def divide(self, table: Table, column: str, values: Sequence[Code]) -> None:
        """Partition the units of an imported table's population; refused for one that stays elsewhere."""
        if table.place is not None:
            raise DataMismatch(
                table.name,
                problem="its rows stay where they are, so nobody can promise that a unit never has a second value",
                instead="Import the table to partition its population.",
            )
        self.imported.divide(table, column, values)

    def divided(self) -> Mapping[str, Divided]:
        """The partitions, by their populations."""
        return self.imported.divided()

    # ---- questions

    def compile_sql(self, step: Pass) -> str:
        """The exact text that the engine of these tables runs; refuses tables of two places, or out of reach."""
        return self._for(step).compile_sql(step)

    def describe_sql(self, step: Pass) -> str | None:
        """The same text for everybody, where it differs: tables and columns have the names that are declared, not those
        of the place."""
        engine = self._for(step)
        if not isinstance(engine, LiveEngine):
            return None
        dialect = copy.copy(engine.dialect)
        asked = {table.name for table in step.child.tables}
        dialect.staying = {
            name: _by_declared_names(dialect, each) if name in asked else _unnamed(dialect, each)
            for name, each in engine.dialect.staying.items()
        }
        return passes.compile_sql(step, dialect)

    def expected_seconds(self, step: Pass) -> float:
        """About how long a pass takes, by public facts."""
        return self._for(step).expected_seconds(step)

    def run(
        self,
        step: Pass,
        *,
        sql: str | None = None,
        seconds: float | None = None,
        tick: Callable[[float], object] | None = None,
    ) -> Exact[Cells]:
        """The result of a pass, sealed."""
        engine = self._for(step)
        place = step.child.tables[0].place
        if isinstance(engine, LiveEngine) and place is not None and is_postgres(place.address):
            self._require_same_types(engine, place.address, step.child.tables)
        return engine.run(step, sql=sql, seconds=seconds, tick=tick)

    def _for(self, step: Pass) -> Engine:
        tables = step.child.tables
        addresses = {table.place.address if table.place else None for table in tables}
        if len(addresses) > 1:
            raise QueryRefused(
                " and ".join(sorted({table.name for table in tables})),
                rule="these tables lie in two places, and rows never leave theirs",
                instead="Import them, or put both in one place; else ask about each by itself.",
            )
        (address,) = addresses
        return self.imported if address is None else self._reached(address, tables)

    def _reached(self, address: str, tables: Sequence[Table]) -> LiveEngine:
        """The engine that holds these tables; whatever keeps it from that is for the owner to read."""
        try:
            engine = self._at(address, tables[0].name)
            absent = engine.missing(tables)
        except EngineUnfit:
            raise
        except DaleniusError as error:
            self._tell(error)
            absent = [tables[0].name]
        if not absent:
            return engine
        raise QueryRefused(
            absent[0],
            rule="the place where its rows stay cannot be reached, or no longer has it as it was declared",
            instead="Try again later; the owner's log says why.",
        )

    def _require_same_types(self, engine: LiveEngine, address: str, tables: Iterable[Table]) -> None:
        """Stop where a source has other types now than those that the query is written for; the next question is
        written, or refused, for what is there then. Spark needs no such look: its views keep their types, and fail."""
        for known in list(_with_parents(engine, tables)):
            try:
                same = _alike(engine, known)
            except Exception as error:
                self._log(error)
                same = False
            if not same:
                engine.dialect.staying.pop(known.table.name, None)
                self._behind.add(address)
                raise WorkStopped

    def close(self) -> None:
        """Close all of them."""
        with self._lock, ExitStack() as stack:
            stack.callback(self.imported.close)
            for engine in self._live.values():
                stack.callback(engine.close)
            self._live = {}


def live_engine(address: str, *, secret: str | None, log: Log, spark: Any = None) -> LiveEngine:
    """The engine of an address, which is opened, or of a Spark session that there is already."""
    if is_postgres(address):
        made = _optional("dalenius.engines.postgres.engine", "a table in PostgreSQL", "psycopg", "postgres")
        return made.PostgresEngine(address, password=secret, log=log)  # type: ignore[no-any-return]
    made = _optional("dalenius.engines.spark.engine", "a table in Spark", "pyspark", "spark")
    return made.SparkEngine(spark or with_secret(address, secret), log=log)  # type: ignore[no-any-return]


def describe_sql(statements: Statements, step: Pass) -> str:
    """The text of a pass that may be shown to everybody who may ask."""
    engine = statements.engine
    described = engine.describe_sql(step) if isinstance(engine, Engines) else None
    return statements.sql(step) if described is None else described


def _holds(engine: LiveEngine, table: Table) -> bool:
    known = engine.dialect.staying.get(table.name)
    return known is not None and same_source(known.table, table)


def _with_parents(engine: LiveEngine, tables: Iterable[Table]) -> Iterator[live.Staying]:
    """What an engine holds of these tables, and of those that their units lead through."""
    for table in tables:
        yield engine.dialect.staying[table.name]
        unit = table.protection.unit if table.protection else None
        if isinstance(unit, ForeignKey):
            yield from _with_parents(engine, [engine.dialect.staying[unit.table].table])


def _by_declared_names(dialect: live.LiveDialect, known: live.Staying) -> live.Staying:
    columns = {name: live.SourceColumn(f"s.{dialect.quote(name)}", each.type) for name, each in known.columns.items()}
    return live.Staying(known.table, dialect.quote(known.table.name), columns)


def _unnamed(dialect: live.LiveDialect, known: live.Staying) -> live.Staying:
    """A table that others lead through, for somebody who may not know it."""
    columns = {
        name: live.SourceColumn(f"s.{dialect.quote(f'key {place}')}", each.type)
        for place, (name, each) in enumerate(known.columns.items())
    }
    return live.Staying(known.table, dialect.quote("a table of the same population"), columns)


def _alike(engine: LiveEngine, known: live.Staying) -> bool:
    """Whether a source still has the types, and keeps the keys unique, as when it was taken over."""
    assert known.table.place is not None
    _, types = engine.described(known.table.place)
    rename = dict(known.table.place.rename)
    same = all(types.get(rename.get(name, name)) == column.type for name, column in known.columns.items())
    return same and not engine.unkept_keys(known.table, known.table.place)


def _optional(module: str, function: str, package: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        if (error.name or "").split(".")[0] != package:
            raise
    raise MissingExtra(function, package=package, extra=extra)
