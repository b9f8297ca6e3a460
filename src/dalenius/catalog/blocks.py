"""Blocks: a population cut by the value of a column, and which block a question is about.

What is charged inside one block is borne by its units alone, so the population has spent what was charged to all and
the most that was charged to one block (Theorem 3 in docs/accounting.md). It rests on three things: no unit is ever in
two blocks (the engine keeps watch over every version), a question inside a block reads no unit outside it
(`query.blocks`), and neighbours differ by adding or removing a unit, so no unit moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dalenius.catalog.catalog import Catalog, Partition, Population
from dalenius.engines.engine import Divided, Engine
from dalenius.errors import DaleniusError, InvalidParameter, LedgerRefused
from dalenius.ledger.ledger import Ledger
from dalenius.measuring.explain import written
from dalenius.privacy.neighbours import AddRemove
from dalenius.query import blocks
from dalenius.query.expressions import Call, Column, Literal
from dalenius.query.functions.functions import call, literal
from dalenius.query.functions.narrowing import scaled_column
from dalenius.query.questions import Question
from dalenius.query.rows import RowSource
from dalenius.query.tables import EachRow, Table
from dalenius.query.types import Choice, Code, Domain, Ranged

PARTITION = "partition"
"""The kind of the ledger's records of partitions."""
MOST_BLOCKS = 10_000


# ---- declaring a partition


def partition_of(catalog: Catalog, column: str, values: Iterable[Any]) -> tuple[str, Partition]:
    """The population that a column cuts, and how; refused where blocks would promise too much."""
    table, name = _place(catalog, column)
    assert table.protection is not None
    people = catalog.population(table.protection.population)
    _require_fit(people, table)
    _require_imported(people, catalog)
    return people.name, Partition(table.name, name, codes(table, name, values))


def codes(table: Table, column: str, values: Iterable[Any]) -> tuple[Code, ...]:
    """The codes of the values of a column, as people write them."""
    listed = [values] if isinstance(values, str) else list(values)
    domain = dict(table.columns)[column]
    found = tuple(_code(domain, column, value) for value in listed)
    if not found or len(set(found)) < len(found) or len(found) > MOST_BLOCKS:
        raise InvalidParameter("values", listed, allowed=f"from one to {MOST_BLOCKS:,} values, each listed once")
    return found


def values(table: Table, partition: Partition) -> tuple[Any, ...]:
    """The values of a partition as people write them; `codes` reads them again."""
    domain = dict(table.columns)[partition.column]
    return tuple(domain.decode(code) for code in partition.values)


def _place(catalog: Catalog, column: str) -> tuple[Table, str]:
    """The private table and the column that "visits.region" or "region" names."""
    table, _, name = column.rpartition(".") if isinstance(column, str) else ("", "", column)
    private = [each for each in catalog.tables.values() if each.protection and table in ("", each.name)]
    having = [each for each in private if name in dict(each.columns)]
    if len(having) != 1:
        raise InvalidParameter(
            "column", column, allowed="a column of one private table, such as 'visits.region' or 'region'"
        )
    return having[0], name


def _require_fit(people: Population, table: Table) -> None:
    if not isinstance(people.neighbours, AddRemove):
        raise InvalidParameter(
            "population",
            people.name,
            allowed="one whose neighbours are add_remove",
            hint="Where a unit is replaced by another, one may leave a block and the other enter a second one, so both "
            "would bear the loss.",
        )
    assert table.protection is not None
    if table.protection.claims:
        raise InvalidParameter(
            "population",
            people.name,
            allowed=f"cut by another table than {table.name}, whose keys several units may state",
            hint="Where several units state a key, one that comes or goes would change the blocks of others.",
        )
    if isinstance(table.protection.unit, EachRow):
        raise InvalidParameter(
            "population",
            people.name,
            allowed="one whose units have names",
            hint="Where each row is a unit, nobody can tell in which block a row of a new version was before.",
        )


def _require_imported(people: Population, catalog: Catalog) -> None:
    private = [table for table in catalog.tables.values() if table.place and table.protection]
    for table in private:
        if table.protection and table.protection.population == people.name:
            raise InvalidParameter(
                "population", people.name, allowed=f"one whose tables are all imported, and {table.name} is not",
                hint="Rows that stay elsewhere change unseen, so nobody can promise that a unit never has two values.",
            )  # fmt: skip


def _code(domain: Domain, column: str, value: Any) -> Code:
    """The code that the column has where it equals the value, by the same rules as in a question."""
    try:
        equal = call("equal", Column(domain, column), literal(value))
    except DaleniusError:
        equal = None
    if isinstance(equal, Call) and isinstance(equal.arguments[1], Literal):
        _, factor = scaled_column(equal.arguments[0])
        code = equal.arguments[1].value
        if isinstance(code, int) and factor > 1:
            code = None if code % factor else code // factor
        if code is not None and _holds(domain, code):
            return code
    raise InvalidParameter("values", value, allowed=f"values that {column} can take: {domain}")


def _holds(domain: Domain, code: Code) -> bool:
    if isinstance(domain, Ranged):
        return isinstance(code, int) and domain.lower <= code <= domain.upper
    return code in domain.values if isinstance(domain, Choice) else True


# ---- keeping it


def begin(people: Population, table: Table, ledger: Ledger, engine: Engine) -> None:
    """Let the engine keep watch over a partition, then write it down in the ledger; one that is written down must be
    the same, and must have been kept watch over.

    Guarantee: nothing is charged to a block before both are done. To begin again changes nothing.
    """
    assert people.partition is not None
    known = [facts for facts in ledger.records(PARTITION) if facts["population"] == people.name]
    if known:
        _require_kept(known[0], people, table, engine)
        return
    engine.divide(table, people.partition.column, people.partition.values)
    ledger.record(PARTITION, _facts(people.name, people.partition, table))


def _require_kept(known: Mapping[str, Any], people: Population, table: Table, engine: Engine) -> None:
    """Refuse a partition that the ledger knows otherwise, or that the engine has not kept watch over until now, as
    after a file of tables was lost or put back."""
    assert people.partition is not None
    if dict(known) != _facts(people.name, people.partition, table):
        raise LedgerRefused(
            f"the partition of {people.name!r} is not the one that the ledger has written down",
            instead="Put back its column and values as they were in the catalog; a partition never changes.",
        )
    if not _kept(engine.divided().get(people.name), people.partition, table):
        raise LedgerRefused(
            f"nobody can tell any more in which blocks the units of {people.name!r} were before",
            instead="Put back the file of tables that belongs to this ledger.",
        )


def partition_from(facts: Mapping[str, Any]) -> Partition:
    """The partition of a ledger's record."""
    return Partition(facts["table"], facts["column"], tuple(facts["values"]))


def recorded(facts: Mapping[str, Any], table: Table | None) -> Partition | None:
    """A partition that was written down; None where its table is gone, or reads the values otherwise: what is charged
    then counts for all units."""
    partition = partition_from(facts)
    if table is None or partition.column not in dict(table.columns):
        return None
    return partition if _facts(facts["population"], partition, table) == dict(facts) else None


def watched(catalog: Catalog, engine: Engine) -> Catalog:
    """The catalog without partitions that the engine has not kept watch over until now, as after a file of tables was
    lost or put back: every charge then counts for all units."""
    seen, found = engine.divided(), dict(catalog.populations)
    for people in catalog.populations.values():
        table = catalog.tables.get(people.partition.table) if people.partition else None
        if people.partition and not (table and _kept(seen.get(people.name), people.partition, table)):
            found[people.name] = replace(people, partition=None)
    return replace(catalog, populations=found)


def _kept(seen: Divided | None, partition: Partition, table: Table) -> bool:
    """Whether the engine has looked at every version up to this one."""
    place = (partition.table, partition.column)
    return seen is not None and (seen.table, seen.column) == place and seen.version >= table.version


def _facts(population: str, partition: Partition, table: Table) -> dict[str, Any]:
    """What never changes. Codes and names both: a column that is declared anew might read a code as another value."""
    names = [block_name(table, partition, code) for code in partition.values]
    place = {"population": population, "table": partition.table, "column": partition.column}
    return {"record": PARTITION, **place, "values": list(partition.values), "blocks": names}


# ---- which block a question is about


def blocks_of(question: Question | RowSource, catalog: Catalog) -> dict[str, str]:
    """The blocks that a question is about, by population; populations that it is about as a whole are left out."""
    found = {name: _block(question, catalog, name) for name in question.relation.populations}
    return {name: block for name, block in found.items() if block is not None}


def _block(question: Question | RowSource, catalog: Catalog, name: str) -> str | None:
    partition = catalog.population(name).partition
    if partition is None or question.relation.steps > 1:  # one unit changes what others have, whose block is another
        return None
    cut = blocks.PartitionedUnits(name, partition.table, partition.column, frozenset(partition.values))
    code = blocks.block_of(question, cut)
    return None if code is None else block_name(catalog.table(partition.table), partition, code)


def block_name(table: Table, partition: Partition, code: Code) -> str:
    """What a block is called: different ones differently, and never nothing, which would be the whole population."""
    domain = dict(table.columns)[partition.column]
    return f"{table.name}.{partition.column} = {written(Literal(domain, code))}"


def describe(inside: Mapping[str, str]) -> list[str]:
    """What it means that an answer is inside one block, for a derivation."""
    return [
        f"Block: every row here that belongs to {name} is of a unit with {block}, and no unit is ever in two blocks. "
        f"The charge counts for this block alone; what is spent of {name} is what was charged to all and the most "
        "that was charged to one block (parallel composition over units; adding or removing a unit touches one block)."
        for name, block in inside.items()
    ]
