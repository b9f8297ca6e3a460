"""Small tables in a DuckDB engine, and the exact results of passes over them, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from dalenius.engines.conformance.comparing import Totals, totals_of
from dalenius.engines.duckdb.connection import QueryLimits
from dalenius.engines.duckdb.dialect import rows_table, stored, texts_table
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.privacy.exact import unseal
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.expressions import Column
from dalenius.query.plan.passes import Aggregate, Pass, Total
from dalenius.query.plan.relations import Bound, Project, Relation, Scan
from dalenius.query.tables import ContributionBounds, Protection, Table, Unit, UnitColumn, path_claims
from dalenius.query.types import Domain, Text

ONE_THREAD = QueryLimits(threads=1, memory="500MB")


def private(
    name: str, columns: Mapping[str, Domain], *, unit: Unit | None = None, above: Iterable[Table] = (), **more: Any
) -> Table:
    """A private table whose unit is the column `id`, unless another is named; `above` are tables of its path that have
    bounded claims, or lead to such."""
    find = {table.name: table for table in above}
    claims = path_claims(unit, find.__getitem__) if find else ()
    owner, most = unit or UnitColumn("id"), ContributionBounds(rows=9, groups=9)
    protection = Protection(more.pop("population", "people"), owner, AddRemove(), most, claims)
    return Table(name, tuple(columns.items()), protection, **more)


def engine_with(*tables: tuple[Table, Any], limits: QueryLimits = ONE_THREAD) -> DuckDBEngine:
    """A new engine with these tables."""
    engine = DuckDBEngine(limits=limits)
    for table, source in tables:
        engine.register(table, pa.table(source) if isinstance(source, dict) else source)
    return engine


def imported(domain: Domain, values: Any) -> list[Any]:
    """What an import makes of the values of a nullable column, in their order; texts are shown."""
    table = private("t", {"x": domain.or_null()})
    count = len(values)
    engine = engine_with((table, {"id": pa.array(range(count), pa.int64()), "x": values}))
    codes = stored_codes(engine, table, "x")
    engine.close()
    return codes


def stored_codes(engine: DuckDBEngine, table: Table, column: str) -> list[Any]:
    """A stored column, in the order of units; texts are shown."""
    index = [name for name, _ in table.columns].index(column)
    with engine._file.reading() as connection:
        if isinstance(table.columns[index][1], Text):
            joined = f"LEFT JOIN {texts_table(table, index)} t ON {stored(column)} = t.code"
            sql = f"SELECT t.value FROM {rows_table(table)} {joined}"
        else:
            sql = f"SELECT {stored(column)} FROM {rows_table(table)}"
        order = f" ORDER BY {'unit' if table.protection else '1'}"
        return [value for (value,) in connection.execute(sql + order).fetchall()]


def scanned(table: Table, **names: str) -> Project:
    """A scan with columns renamed as the binder does: scanned(t, k0='city', x0='cost') has k.0 and x.0."""
    scan = Scan(table, table.name)
    columns = {f"{new[0]}.{new[1:]}": f"{table.name}.{old}" for new, old in names.items()}
    return Project(scan, tuple((new, Column(scan.schema[old], old)) for new, old in columns.items()))


def aggregate(
    child: Relation, totals: Iterable[Total], *, keys: tuple[str, ...] = ("k.0",), rows: int = 9, groups: int | None = 9
) -> Aggregate:
    """A pass over a relation."""
    return Aggregate(Bound(child, keys, rows, groups), tuple(totals))


def exact(engine: DuckDBEngine, step: Pass) -> Totals:
    """The exact result of a pass. Only tests may open it."""
    return totals_of(unseal(engine.run(step)))
