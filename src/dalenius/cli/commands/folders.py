"""`dalenius init`, `add-population` and `tables`."""

from __future__ import annotations

import argparse
from typing import Any

import dalenius as dl
from dalenius.accounting.budget import Budget
from dalenius.cli.sessions import AnySession, asking, opened
from dalenius.cli.terminal import Terminal
from dalenius.curator.databases import Database
from dalenius.errors import InvalidParameter


def init(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Make a database, and its first population where one is named."""
    budget = _budget(chosen)
    with dl.create(chosen.folder, mark=chosen.mark, ledger=chosen.ledger) as db:
        if budget is not None:
            _declare(db, chosen, budget)
    if chosen.json:
        terminal.show_json({"folder": chosen.folder, "population": chosen.population})
        return
    terminal.show(f"{chosen.folder} is a database now; what is declared stands in {chosen.folder}/catalog.toml.")
    if budget is None:
        terminal.show(f"Next: dalenius add-population {chosen.folder} NAME --epsilon E --delta D")
    else:
        terminal.show(_declared(chosen, budget))


def add_population(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Declare people and their budget."""
    budget = _budget(chosen)
    assert budget is not None
    with opened(chosen.folder) as db:
        _declare(db, chosen, budget)
    if chosen.json:
        terminal.show_json(
            {"population": chosen.population, "epsilon": str(budget.epsilon), "delta": str(budget.delta)}
        )
    else:
        terminal.show(_declared(chosen, budget))


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
    )


def _declared(chosen: argparse.Namespace, budget: Budget) -> str:
    return f"{chosen.population} have a budget of {budget} ({chosen.neighbours}). It never changes."


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
