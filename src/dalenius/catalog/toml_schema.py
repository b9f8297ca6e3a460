"""The catalog as the sections of a TOML file: `[populations.*]`, `[tables.*]`, `[studies.*]`, `[grants.*]`.

What is read goes through the same checks as what is declared in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dalenius.accounting.budget import Budget
from dalenius.catalog import blocks
from dalenius.catalog.catalog import DEFAULT_RATE, LEAST_SHARE, Catalog, Draft, Grant, Partition, Population, Study
from dalenius.catalog.declarations import (
    UNKNOWN,
    Plain,
    column,
    column_facts,
    day,
    figure,
    of,
    require_names,
    share,
    texts,
    unfilled,
)
from dalenius.catalog.declaring import PATH, Keys, relation_name, written_keys
from dalenius.engines.addresses import staying
from dalenius.errors import InvalidParameter
from dalenius.ledger.accounts import Rate
from dalenius.ledger.names import as_share, column_name, moment
from dalenius.privacy.numbers import positive, whole
from dalenius.query.tables import ContributionBounds, ForeignKey, Table, Unit, UnitColumn

SECTIONS = ("populations", "tables", "studies", "grants")
_POPULATION = ("epsilon", "delta", "neighbours", "purpose", "retires", "least_share", "partition")
_TABLE = (
    "source",
    "population",
    "unit",
    "max_rows",
    "max_groups",
    "public",
    "size",
    "keys",
    "rename",
    "nulls",
    "columns",
)
_STUDY = ("population", "share", "reserve", "start", "end", "purpose")
_GRANT = ("tables", "share", "shares", "study", "most_epsilon", "rate", "until", "pays_for_replays")


class Misread(Exception):
    """Something in the file is wrong: where, and what."""

    def __init__(self, path: tuple[str, ...], problem: InvalidParameter) -> None:
        self.path, self.problem = path, problem
        super().__init__(".".join(path))


@contextmanager
def at(*path: str) -> Iterator[None]:
    """Say of every problem where it is."""
    try:
        yield
    except Misread as found:
        raise Misread((*path, *found.path), found.problem) from None
    except InvalidParameter as problem:
        raise Misread(path, problem) from None


# ---- reading


def catalog(facts: Mapping[str, Any]) -> Catalog:
    """The catalog that the sections declare; raises `Misread`."""
    found = Catalog()
    for kind, add in (("populations", _with_population), ("tables", _with_table), ("studies", _with_study),
                      ("grants", _with_grant)):  # fmt: skip
        entries = _entries(facts, kind)
        for name in _parents_first(entries) if kind == "tables" else entries:
            with at(kind, name):
                found = add(found, name, of(dict, **{kind: entries[name]}))
    return _with_partitions(found, _entries(facts, "populations"))


def _entries(facts: Mapping[str, Any], kind: str) -> Plain:
    with at(kind):
        entries: Plain = of(dict, **{kind: facts.get(kind, {})})
        return entries


def _with_population(found: Catalog, name: str, facts: Plain) -> Catalog:
    require_names(facts, _POPULATION, ("epsilon",))
    return found.with_population(
        name,
        budget=Budget(facts["epsilon"], facts.get("delta", 0)),
        neighbours=facts.get("neighbours", "add_remove"),
        purpose=of(str, purpose=facts.get("purpose", "")),
        retires=moment(retires=facts.get("retires")),
        least_share=as_share(facts.get("least_share", LEAST_SHARE)),
    )


def _with_partitions(found: Catalog, entries: Plain) -> Catalog:
    """After the tables, since the values are those of a declared column."""
    for name, facts in entries.items():
        if "partition" in facts:
            with at("populations", name, "partition"):
                found = found.with_partition(name, _partition(found, of(dict, partition=facts["partition"])))
    return found


def _partition(found: Catalog, facts: Plain) -> Partition:
    names = ("table", "column", "values")
    require_names(facts, names, names)
    table = found.table(facts["table"])
    if facts["column"] not in dict(table.columns):
        raise InvalidParameter("column", facts["column"], allowed=f"a column of {table.name}")
    codes = blocks.codes(table, facts["column"], of(list, values=facts["values"]))
    return Partition(table.name, facts["column"], codes)


def _parents_first(entries: Plain) -> list[str]:
    """The names of tables in an order in which those that a path leads through come before it."""
    order: dict[str, None] = {}

    def visit(name: str, above: tuple[str, ...] = ()) -> None:
        parent = _parent(entries[name])
        if parent in entries and parent not in above:
            visit(parent, (*above, name))
        order.setdefault(name)

    for name in entries:
        visit(name)
    return list(order)


def _parent(facts: object) -> str | None:
    unit = facts.get("unit") if isinstance(facts, Mapping) else None
    if isinstance(unit, Mapping):
        return unit.get("table")
    path = PATH.fullmatch(unit) if isinstance(unit, str) else None
    return path.group(2) if path else None


def _with_table(found: Catalog, name: str, facts: Plain) -> Catalog:
    require_names(facts, _TABLE, ("columns",))
    columns = of(dict, columns=facts["columns"])
    missing = [*unfilled(facts, but=("rename", "nulls", "columns")),
               *(f"columns.{place}" for place in unfilled(columns))]  # fmt: skip
    parent = _parent(facts)
    if parent in found.drafts:
        missing.append(f"unit (tables.{parent} is not declared in full)")
    domains = {}
    for each, written in columns.items():
        with at("columns", each):
            column_name(each)
            if not isinstance(written, Mapping) or not list(unfilled(written)):
                domains[each] = column(written)
    if missing:
        people = facts.get("population")
        return found.with_draft(Draft(name, tuple(missing), None if people == UNKNOWN else people))
    return found.with_table(
        name,
        columns=domains,
        population=facts.get("population"),
        unit=_unit(facts.get("unit")),
        most=ContributionBounds.stated(facts.get("max_rows"), facts.get("max_groups")),
        public=of(bool, public=facts.get("public", False)),
        size=facts.get("size"),
        keys=_keys(facts.get("keys", [])),
        rename=of(dict, rename=facts.get("rename", {})),
        nulls=texts(nulls=facts.get("nulls", [])),
        place=_place(facts.get("source")),
    )


def _place(written: object) -> tuple[str, str] | None:
    """Where rows stay. A secret is refused here, and not repeated: this file is read by many."""
    if written is None:
        return None
    found = staying(written) if isinstance(written, list) and all(isinstance(each, str) for each in written) else None
    if found is None:
        raise InvalidParameter(
            "source", "something else", allowed='a list such as ["postgresql://reader@host/clinic", "public.visits"]'
        )
    if found.secret is not None:
        raise InvalidParameter(
            "source", "an address with a secret", allowed="written without its password or token",
            hint="Put it into secrets.toml, by update_table(name, source) or by hand, and change it: it was readable.",
        )  # fmt: skip
    if list(found.place) != written:
        raise InvalidParameter("source", "another form", allowed=f"written as {list(found.place)}")
    return found.place


def _unit(written: object) -> str | Unit | None:
    if not isinstance(written, Mapping):
        return written  # type: ignore[return-value]  # what else it may be is refused by the catalog
    names = ("column", "table", "key")
    with at("unit"):
        require_names(written, names, names)
        return ForeignKey(*(of(str, **{name: written[name]}) for name in names))


def _keys(written: object) -> Keys:
    """A list of unique keys, or a table that says of each how many of a unit count."""
    return written if isinstance(written, Mapping) else texts(keys=written)


def _with_study(found: Catalog, name: str, facts: Plain) -> Catalog:
    require_names(facts, _STUDY, ("population", "share"))
    held = None if "reserve" not in facts else as_share(facts["reserve"])
    start, end = moment(start=facts.get("start")), moment(end=facts.get("end"))
    purpose = of(str, purpose=facts.get("purpose", ""))
    return found.with_study(Study(name, facts["population"], as_share(facts["share"]), held, start, end, purpose))


def _with_grant(found: Catalog, name: str, facts: Plain) -> Catalog:
    require_names(facts, _GRANT, ("tables",))
    tables = tuple(dict.fromkeys(texts(tables=facts["tables"])))
    grant = Grant(
        tables,
        tuple(_shares(found, tables, facts).items()),
        facts.get("study"),
        None if "most_epsilon" not in facts else positive(most_epsilon=facts["most_epsilon"]),
        _rate(facts.get("rate")),
        moment(until=facts.get("until")),
        of(bool, pays_for_replays=facts.get("pays_for_replays", False)),
    )
    return found.with_granted(name, grant)


def _shares(found: Catalog, tables: tuple[str, ...], facts: Plain) -> dict[str, Fraction]:
    """A share for each population: each by its name, or the same for all."""
    if "shares" in facts:
        if "share" in facts:
            raise InvalidParameter("share", facts["share"], allowed="left out where there are shares")
        return {name: as_share(part) for name, part in of(dict, shares=facts["shares"]).items()}
    people = dict.fromkeys(name for name in map(found.people_of, tables) if name)
    return {name: as_share(facts.get("share", 1)) for name in people}


def _rate(written: object) -> Rate:
    if written is None:
        return DEFAULT_RATE
    with at("rate"):
        names = ("count", "seconds")
        require_names(of(dict, rate=written), names, names)
        return Rate(**{name: whole(1, **{name: value}) for name, value in written.items()})  # type: ignore[attr-defined]


# ---- writing


def plain(declared: Catalog) -> dict[str, Plain]:
    """The sections of a catalog. Drafts are left out: the file itself holds them."""
    return {
        "populations": {name: _population_facts(declared, each) for name, each in declared.populations.items()},
        "tables": {name: _table_facts(declared, each) for name, each in declared.tables.items()},
        "studies": {name: _study_facts(each) for name, each in declared.studies.items()},
        "grants": {name: _grant_facts(each) for name, each in declared.grants.items()},
    }


def _population_facts(declared: Catalog, people: Population) -> Plain:
    parts = people.partition
    return _stated(
        epsilon=figure(people.budget.epsilon),
        delta=figure(people.budget.delta) if people.budget.delta else None,
        neighbours=relation_name(people.neighbours),
        purpose=people.purpose or None,
        retires=people.retires and day(people.retires),
        least_share=None if people.least_share == LEAST_SHARE else share(people.least_share),
        partition=parts and _partition_facts(declared, parts),
    )


def _partition_facts(declared: Catalog, parts: Partition) -> Plain:
    values = blocks.values(declared.table(parts.table), parts)
    spelled = [str(value) if isinstance(value, Decimal | Fraction) else value for value in values]
    return {"table": parts.table, "column": parts.column, "values": spelled}


def _table_facts(declared: Catalog, table: Table) -> Plain:
    guard, reading = table.protection, declared.reading(table.name)
    return _stated(
        source=table.place and [table.place.address, table.place.table],
        public=None if guard else True,
        population=guard and guard.population,
        unit=guard and _unit_facts(declared, guard.unit),
        max_rows=guard and guard.most and guard.most.rows,
        max_groups=guard and guard.most and guard.most.groups,
        size=table.size,
        keys=written_keys(table) or None,
        rename=dict(reading.rename) or None,
        nulls=list(reading.nulls) or None,
        columns={name: column_facts(domain) for name, domain in table.columns},
    )


def _unit_facts(declared: Catalog, unit: Unit) -> str | Plain:
    """A unit as text; a path by a key that has the name of its table's unit would be read as another one."""
    if not isinstance(unit, ForeignKey):
        return str(unit)
    guard = declared.table(unit.table).protection
    if guard and guard.unit == UnitColumn(unit.key) and unit.column != unit.key:
        return {"column": unit.column, "table": unit.table, "key": unit.key}
    return f"{unit.column} -> {unit.table}.{unit.key}"


def _study_facts(study: Study) -> Plain:
    return _stated(
        population=study.population,
        share=share(study.share),
        reserve=None if study.reserve is None else share(study.reserve),
        start=study.start and day(study.start),
        end=study.end and day(study.end),
        purpose=study.purpose or None,
    )


def _grant_facts(grant: Grant) -> Plain:
    shares = {name: share(part) for name, part in grant.shares}
    one = len(set(shares.values())) == 1
    return _stated(
        tables=list(grant.tables),
        share=next(iter(shares.values())) if one else None,
        shares=None if one else shares or None,
        study=grant.study,
        most_epsilon=None if grant.most_epsilon is None else figure(grant.most_epsilon),
        rate=None if grant.rate == DEFAULT_RATE else {"count": grant.rate.count, "seconds": grant.rate.seconds},
        until=grant.until and day(grant.until),
        pays_for_replays=grant.pays_for_replays or None,
    )


def _stated(**facts: Any) -> Plain:
    return {name: value for name, value in facts.items() if value is not None}
