"""`dalenius init`, `add-population`, `partition` and `tables`."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import Any

import dalenius as dl
from dalenius.accounting.budget import Budget
from dalenius.cli.sessions import AnySession, asking, opened, require_folder
from dalenius.cli.terminal import Terminal
from dalenius.cli.wording import FINE, REFUSED
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import exact, format_number
from dalenius.query.types import Number
from dalenius.session.databases import Database
from dalenius.session.offers import LARGE_EPSILON

LARGE_DELTA = Fraction(1, 10**5)
"""With such a probability, anything at all may be learnt about somebody."""


def init(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """Make a database, and its first population where one is named."""
    require_folder(chosen.folder)
    budget = _budget(chosen)
    if budget is not None and not _meant(budget, chosen, terminal):
        return REFUSED
    with dl.create(chosen.folder, mark=chosen.mark, ledger=chosen.ledger) as db:
        if budget is not None:
            _declare(db, chosen, budget)
    if chosen.json:
        terminal.show_json({"folder": chosen.folder, "population": chosen.population})
        return FINE
    terminal.show(f"{chosen.folder} is a database now; what is declared stands in {chosen.folder}/catalog.toml.")
    if budget is None:
        terminal.show(f"Next: dalenius add-population {chosen.folder} NAME --epsilon E --delta D")
    else:
        terminal.show(_declared(chosen, budget))
    return FINE


def add_population(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """Declare people and their budget."""
    budget = _budget(chosen)
    assert budget is not None
    if not _meant(budget, chosen, terminal):
        return REFUSED
    with opened(chosen.folder) as db:
        _declare(db, chosen, budget)
    facts = {"population": chosen.population, "epsilon": str(budget.epsilon), "delta": str(budget.delta)}
    terminal.report(facts, _declared(chosen, budget), as_json=chosen.json)
    return FINE


def _meant(budget: Budget, chosen: argparse.Namespace, terminal: Terminal) -> bool:
    """Whether a budget that promises little is meant, since it never changes."""
    doubts = (
        [f"epsilon = {format_number(budget.epsilon)} is above {LARGE_EPSILON}"]
        if budget.epsilon > LARGE_EPSILON
        else []
    )
    doubts += (
        [f"delta = {format_number(budget.delta)} is above {format_number(LARGE_DELTA)}"]
        if budget.delta > LARGE_DELTA
        else []
    )
    if doubts and not chosen.yes:
        terminal.tell(f"dalenius: {' and '.join(doubts)}: such a budget promises little, and it never changes.")
    return not doubts or terminal.confirmed("Is it meant?", yes=chosen.yes)


def _budget(chosen: argparse.Namespace) -> Budget | None:
    """The budget that was typed; checked before there is a folder."""
    if (chosen.population is None) != (chosen.epsilon is None):
        raise InvalidParameter("--population", chosen.population, allowed="given together with --epsilon")
    return None if chosen.epsilon is None else Budget(chosen.epsilon, chosen.delta)


def _declare(db: Database, chosen: argparse.Namespace, budget: Budget) -> None:
    db.add_population(
        chosen.population,
        budget=budget,
        neighbours=chosen.neighbours,
        purpose=chosen.purpose,
        retires=chosen.retires,
        least_share=chosen.least_share,
    )


def _declared(chosen: argparse.Namespace, budget: Budget) -> str:
    return f"{chosen.population} have a budget of {budget} ({chosen.neighbours}). It never changes."


def partition(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """Cut a population into blocks."""
    if not terminal.confirmed("A partition is made once and never changes. Make it?", yes=chosen.yes):
        return REFUSED
    with opened(chosen.folder) as db:
        db.partition(chosen.column, [_value(db, chosen.column, text) for text in chosen.values])
    said = f"{len(chosen.values)} blocks by {chosen.column}: {', '.join(chosen.values)}. They never change."
    terminal.report({"column": chosen.column, "values": chosen.values}, said, as_json=chosen.json)
    return FINE


def _value(db: Database, place: str, text: str) -> Any:
    """A value as it is typed, as the number that it is where the column holds numbers."""
    table, _, name = place.rpartition(".")
    found = [dict(each.columns)[name] for each in db.catalog.tables.values()
             if table in ("", each.name) and name in dict(each.columns)]  # fmt: skip
    if not found or not isinstance(found[0], Number):
        return text
    value = exact(values=text)
    return int(value) if value.denominator == 1 else value


def tables(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """What may be asked about, and what is left."""
    with asking(chosen) as session:
        facts = _tables(session)
        left = {name: str(balance) for name, balance in session.left().items()}
        shares = {name: str(balance.share) for name, balance in session.left().items()}
    if chosen.json:
        terminal.show_json({"tables": facts, "left": shares})
        return
    for name, each in facts.items():
        terminal.show(f"{name}: {each['about']}")
        for column, text in each["columns"].items():
            terminal.show(f"  {column}: {text}")
    for name, text in left.items():
        terminal.show(f"{name}: {text} left")
    if not facts:
        terminal.show("There is no table to ask about yet.")


def _tables(session: AnySession) -> dict[str, dict[str, Any]]:
    """The tables and their columns; those of tables that wait for the owner are not shown."""
    return {
        name: {"about": about, "columns": {} if about.startswith("cannot be asked") else session.columns(name)}
        for name, about in session.tables().items()
    }
