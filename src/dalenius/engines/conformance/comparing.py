"""What expressions mean for many rows at once: each function is applied once to each combination of codes that occurs.

The meaning itself is `evaluation.apply`, one combination at a time; nothing is defined here. Rows hold few different
codes, and generated expressions share their parts, so millions of rows take seconds instead of hours.

Where an engine differs from the reference: in the value of an expression, or in the result of a pass.

Results come the way that questions take, as the engine's own text of a pass and what it fetches for it, over tables
that were made up and registered here. A pass gives the values of many expressions back, exactly, because they are the
keys that it groups by, after the number of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dalenius.engines.conformance import edges
from dalenius.engines.conformance.cases import parts, written
from dalenius.engines.conformance.plans import Generated
from dalenius.engines.conformance.worlds import ORDER, Database, World, apart
from dalenius.engines.reference.engine import ReferenceEngine
from dalenius.engines.sql.passes import cells
from dalenius.errors import QueryRefused
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.evaluation import apply
from dalenius.query.plan.passes import Aggregate, Cells, Pass, Total
from dalenius.query.plan.relations import Bound, Project
from dalenius.query.tables import Table
from dalenius.query.types import Bool, Code, Domain, Ranged

_NARROW = 2**63


@dataclass(frozen=True)
class Codes:
    """A column: the different codes, and for each row the place of its code among them."""

    codes: tuple[Code, ...]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, codes: Sequence[Code]) -> Codes:
        """A column from the code of each row."""
        numbers = {code: place for place, code in enumerate(dict.fromkeys(codes))}
        return cls(tuple(numbers), np.array([numbers[code] for code in codes], dtype=np.int64))

    def array(self, domain: Domain) -> pa.Array:
        """The column as an engine's result has it (see `Cells`)."""
        kind = result_type(domain)
        codes = [Decimal(int(code)) if code is not None and pa.types.is_decimal(kind) else code for code in self.codes]
        return pa.array(codes, kind).take(pa.array(self.places))


def result_type(domain: Domain) -> pa.DataType:
    """The type in which a result has codes of a domain."""
    if isinstance(domain, Ranged):
        return pa.int64() if max(abs(domain.lower), abs(domain.upper)) < _NARROW else pa.decimal128(38, 0)
    return pa.bool_() if isinstance(domain, Bool) else pa.string()


class Meanings:
    """The codes of expressions over fixed rows; parts that expressions share are computed once."""

    def __init__(self, columns: Mapping[str, Sequence[Code]]) -> None:
        self._columns = {name: Codes.of(codes) for name, codes in columns.items()}
        self._rows = len(next(iter(columns.values())))
        self._known: dict[int, tuple[Expression, Codes]] = {}  # by identity: comparing deep expressions takes long

    def of(self, expression: Expression) -> Codes:
        """The codes of an expression, row by row."""
        if id(expression) not in self._known:
            self._known[id(expression)] = expression, self._computed(expression)
        return self._known[id(expression)][1]

    def _computed(self, expression: Expression) -> Codes:
        if isinstance(expression, Column):
            return self._columns[expression.name]
        if isinstance(expression, Literal):
            return Codes((expression.value,), np.zeros(self._rows, dtype=np.int64))
        assert isinstance(expression, Call)
        arguments = [self.of(argument) for argument in expression.arguments]
        rows, places = _combinations(arguments)
        found = Codes.of([apply(expression.function, each) for each in _taken(arguments, rows)])
        return Codes(found.codes, found.places[places])


def _combinations(arguments: Iterable[Codes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A row for each combination of codes that occurs, and for each row the place of its combination."""
    numbers: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    many = 1
    for argument in arguments:
        if many * len(argument.codes) >= _NARROW:
            different, numbers = np.unique(numbers, return_inverse=True)
            many = len(different)
        numbers, many = numbers * len(argument.codes) + argument.places, many * len(argument.codes)
    _, rows, places = np.unique(numbers, return_index=True, return_inverse=True)
    return rows, places


def _taken(arguments: Sequence[Codes], rows: NDArray[np.int64]) -> Iterable[list[Code]]:
    columns = [[argument.codes[place] for place in argument.places[rows].tolist()] for argument in arguments]
    return map(list, zip(*columns, strict=True))


Key: TypeAlias = tuple[Code, ...]
Totals: TypeAlias = Mapping[Key, tuple[int, ...]]
"""The result of one pass: integers for each key; after a `Values` pass the value is the key's last part."""
SECONDS = 600.0
"""After which a pass counts as failed."""
_LONGEST = 300


class CheckedEngine(Protocol):
    """What a check needs of an engine."""

    def register(self, table: Table, source: Any) -> None: ...

    def hold(self, tables: Iterable[Table]) -> None: ...

    def compile_sql(self, step: Pass) -> str: ...

    def fetched(self, sql: str, seconds: float, tick: Callable[[float], object] | None) -> pa.Table: ...


@dataclass(frozen=True)
class Difference:
    """Something in which an engine differs: in public words, and with the made-up values at which it does."""

    what: str
    details: str

    def __str__(self) -> str:
        return f"{self.what}: {_short(self.details)}"


def results(engine: CheckedEngine, step: Pass) -> Cells:
    """The exact result of a pass over made-up tables."""
    return cells(step, engine.fetched(engine.compile_sql(step), SECONDS, None))


def totals_of(found: Cells) -> Totals:
    """The result of a pass, key by key."""
    columns = [[_plain(code) for code in column.to_pylist()] for column in found.keys]
    numbers = [[int(number) for number in total.tolist()] for total in found.totals]
    keys: list[Key] = list(zip(*columns, strict=True)) if columns else [()] * len(numbers[0])
    totals = dict(zip(keys, zip(*numbers, strict=True), strict=True))
    assert len(totals) == len(keys), "a key occurs twice"
    return totals


def _plain(code: Any) -> Code:
    return code if code is None or isinstance(code, bool | str) else int(code)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


# ---- expressions


class Edges:
    """The table of edge values in an engine, and the meaning of expressions over it."""

    def __init__(self, engine: CheckedEngine, *, rows: int, seed: int = 0) -> None:
        self._engine, self._source = engine, edges.source(seed, rows)
        engine.hold(())
        engine.register(edges.EDGES, self._source)
        self._codes = edges.codes(self._source)
        self._meanings = Meanings(self._codes)
        self._numbers = pa.array(range(rows), pa.int64())

    def forget(self) -> None:
        """Drop what is known of expressions that will not come again."""
        self._meanings = Meanings(self._codes)

    def differences(self, expressions: Sequence[Expression]) -> Iterator[Difference]:
        """What differs in these expressions, computed in one pass; if it fails, in two, until one is to blame."""
        try:
            found = results(self._engine, values_of(expressions))
        except Exception as error:
            yield from self._failed(expressions, error)
            return
        if not found.keys[0].equals(self._numbers):
            yield Difference("rows are lost, doubled or out of order", f"{len(found.keys[0])} of {len(self._numbers)}")
            return
        for expression, column in zip(expressions, found.keys[1:], strict=True):
            yield from self._compared(expression, column)

    def _failed(self, expressions: Sequence[Expression], error: Exception) -> Iterator[Difference]:
        if len(expressions) == 1:
            yield Difference(f"{self._blamed(expressions[0])} fails", f"{error} in {written(expressions[0])}")
            return
        middle = len(expressions) // 2
        for half in (expressions[:middle], expressions[middle:]):
            yield from self.differences(half)

    def _compared(self, expression: Expression, given: pa.Array) -> Iterator[Difference]:
        meant = self._meanings.of(expression).array(expression.domain)
        if given.equals(meant):
            return
        if given.type != result_type(expression.domain):
            what = f"{self._blamed(expression)} gives another type than defined"
            yield Difference(what, f"{given.type} in {written(expression)}")
            return
        both_null = pc.and_(given.is_null(), meant.is_null())
        place = pc.index(pc.or_(both_null, pc.fill_null(pc.equal(given, meant), False)), False).as_py()
        row = {name: self._source[name][place].as_py() for name in dict.fromkeys(expression.columns())}
        values = f"gives {given[place].as_py()!r}, meant {meant[place].as_py()!r} for {row}"
        yield Difference(
            f"{self._blamed(expression)} gives other values than defined", f"{values} in {written(expression)}"
        )

    def _blamed(self, expression: Expression) -> str:
        """The function of the innermost part that differs, or the column."""
        for part in parts(expression):
            if part is expression or any(True for _ in self.differences([part])):
                return part.function
        assert isinstance(expression, Column)
        return f"reading {edges.source_type(expression.name)} as {type(expression.domain).__name__.lower()}"


def values_of(expressions: Sequence[Expression]) -> Pass:
    """A pass whose keys are the number of each row and the values of these expressions."""
    row = f"k.{edges.ROW}"
    named = [(f"x.{place}", expression) for place, expression in enumerate(expressions)]
    columns = ((row, Column(edges.ROWS.schema[row], row)), *named)
    keys = tuple(name for name, _ in columns)
    return Aggregate(Bound(Project(edges.ROWS, columns), keys, 1, None), (Total("rows"),))


# ---- plans


class ComparedTables:
    """The tables of a world in an engine, and in the reference."""

    def __init__(self, engine: CheckedEngine, here: World, rows: Database, names: Sequence[str] = ORDER) -> None:
        tables = {name: table for name, table in apart(here).items() if name in names}
        self._engine, self._reference = engine, ReferenceEngine(tables.values(), rows)
        engine.hold(())
        for name in names:
            engine.register(tables[name], here.arrow(rows, name))

    def differences(self, plan: Generated) -> Iterator[Difference]:
        """What differs in the passes of a plan over these tables; what the engine refuses before it reads anything does
        not."""
        for step in plan.program.passes:
            what = f"a pass ({type(step).__name__} over {_shape(step)})"
            try:
                given = totals_of(results(self._engine, step))
            except QueryRefused:
                return
            except Exception as error:
                yield Difference(f"{what} fails", f"plan {plan.seed}: {error}")
                continue
            meant = {key: tuple(numbers) for key, numbers in self._reference.result(step).items()}
            if given != meant:
                yield Difference(f"{what} gives other totals than defined", f"plan {plan.seed}: {_first(given, meant)}")


def _shape(step: Pass) -> str:
    """The nodes of a pass, from the outermost on."""
    waiting, found = list(step.child.children), []
    while waiting:
        node = waiting.pop(0)
        waiting += node.children
        found.append(type(node).__name__)
    return ", ".join(dict.fromkeys(found))


def _first(given: Totals, meant: Totals) -> str:
    key = next(key for key in (*given, *meant) if given.get(key) != meant.get(key))
    return f"gives {given.get(key)}, meant {meant.get(key)} for {key}"
