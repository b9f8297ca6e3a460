"""Rehearsals: the same question, run on made-up tables. No data is read and nothing is charged."""

from __future__ import annotations

from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.notes import notes
from dalenius.curator.asking.made_up import made_up
from dalenius.curator.catalog import Catalog
from dalenius.curator.door import allowance, measured
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.query.pricing.pricing import Priced

MADE_UP = "A rehearsal: the rows are made up, so the values mean nothing. Nothing was read or charged."


def rehearsed(priced: Priced, catalog: Catalog) -> Answer:
    """The answer on made-up tables with the public schema."""
    tables = {table.name: table for table in priced.question.relation.tables}
    relations = {name: catalog.population(name).neighbours for name in priced.question.relation.populations}
    engine = DuckDBEngine()
    try:
        for name, rows in made_up(tables, catalog).items():
            engine.register(catalog.table(name), rows)
        with allowance(priced, relations) as free:
            shaped = priced.answer(measured(priced, engine, free))
    finally:
        engine.close()
    return Answer.from_shaped(shaped, level=priced.level, notes=(MADE_UP, *notes(priced, shaped)))
