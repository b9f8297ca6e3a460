"""`dalenius add-table` and `update-table`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from dalenius.cli.proposals.bounds import Estimate, estimated
from dalenius.cli.proposals.comments import remark
from dalenius.cli.proposals.schemas import Field, declared_types, fields
from dalenius.cli.sessions import opened
from dalenius.cli.terminal import Terminal
from dalenius.curator.databases import Database
from dalenius.curator.folder.declarations import TYPES, UNKNOWN, draft_column, draft_protection, number, unfilled
from dalenius.errors import InvalidParameter
from dalenius.query.tables import Most

_NUMBERS = ("Int", "Real")


def update_table(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Import the rows of a declared table, for the first time or anew."""
    with opened(chosen.folder) as db:
        _import(db, chosen, terminal)


def add_table(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Propose a declaration; of a table that is declared already, import the rows."""
    with opened(chosen.folder) as db:
        if chosen.table in db._curator.catalog.named_for(None):
            _import(db, chosen, terminal)
            return
        found = fields(chosen.table, Path(chosen.file))
        facts = _proposal(chosen, found)
        estimate = _estimated(db, chosen, found, facts) if chosen.suggest_bounds else None
        db._curator.draft(chosen.table, facts)
    if estimate is not None:
        remark(Path(chosen.folder), chosen.table, _remarks(estimate))
    _tell(chosen, found, facts, estimate, terminal)


def _import(db: Database, chosen: argparse.Namespace, terminal: Terminal) -> None:
    with terminal.progress("importing") as progress:
        if progress is not None:
            progress("")
        db.update_table(chosen.table, Path(chosen.file))
    if chosen.json:
        terminal.show_json({"table": chosen.table, "imported": True, "missing": []})
    else:
        terminal.show(f"{chosen.table} can be asked about now.")


# ---- a proposal


def _proposal(chosen: argparse.Namespace, found: list[Field]) -> dict[str, Any]:
    """What is known of a table, with ? for what is not."""
    types = declared_types(chosen.type or [], [field.name for field in found], TYPES)
    unit = None if chosen.public else _unit(chosen.unit, found)
    kinds = {field.name: types.get(field.name, field.type) for field in found if field.name != unit}
    columns = {name: _column(kind) for name, kind in kinds.items() if kind is not None}
    renamed = {field.name: field.source for field in found if field.name != field.source}
    return {
        **_protection(chosen, unit),
        **({"rename": {name: renamed[name] for name in renamed if name in columns or name == unit}} if renamed else {}),
        "columns": columns,
    }


def _unit(given: str | None, found: list[Field]) -> str:
    """The unit by the name that is declared: a column of the file by its own name, or a path as it is."""
    return next((field.name for field in found if given in (field.source, field.name)), given or UNKNOWN)


def _column(kind: str) -> dict[str, Any]:
    return {"type": UNKNOWN} if kind == UNKNOWN else draft_column(kind)


def _protection(chosen: argparse.Namespace, unit: str | None) -> dict[str, Any]:
    given = (chosen.population, chosen.unit, chosen.most_rows, chosen.most_groups)
    if chosen.public:
        if any(each is not None for each in given):
            raise InvalidParameter("--public", True, allowed="left out where a population, unit or most is given")
        return {"public": True}
    people = draft_protection(chosen.population, unit, None)
    if "most" in people:
        people["most"] = {"rows": chosen.most_rows or UNKNOWN, "groups": chosen.most_groups or UNKNOWN}
    return people


# ---- bounds


def _estimated(db: Database, chosen: argparse.Namespace, found: list[Field], facts: dict[str, Any]) -> Estimate:
    """Bounds of the number columns, filled into the proposal."""
    numbers = {name: each["type"] for name, each in facts["columns"].items() if each["type"] in _NUMBERS}
    _require_ready(chosen, numbers)
    used = {*numbers, facts["unit"]}
    estimate = estimated(
        db,
        chosen.table,
        Path(chosen.file),
        columns=numbers,
        epsilon=chosen.epsilon,
        population=chosen.population,
        unit=facts["unit"],
        most=Most(rows=chosen.most_rows, groups=chosen.most_groups),
        rename={name: source for name, source in facts.get("rename", {}).items() if name in used},
    )
    for name, bounds in estimate.bounds.items():
        if bounds is not None:
            facts["columns"][name] |= dict(zip(("lower", "upper"), map(number, map(Fraction, bounds)), strict=True))
    return estimate


def _require_ready(chosen: argparse.Namespace, numbers: Mapping[str, str]) -> None:
    needed = {"--epsilon": chosen.epsilon, "--population": chosen.population, "--unit": chosen.unit,
              "--most-rows": chosen.most_rows, "--most-groups": chosen.most_groups}  # fmt: skip
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise InvalidParameter("--suggest-bounds", True, allowed=f"given together with {', '.join(missing)}")
    if not numbers:
        raise InvalidParameter(
            "--suggest-bounds", True, allowed="asked of a file with number columns",
            hint="Say which columns of a CSV file are numbers: --type age=Int.",
        )  # fmt: skip


def _remarks(estimate: Estimate) -> dict[str, str]:
    found = f"estimated from noisy counts, charged {estimate.charge}; see whether it is plausible"
    nothing = "no count stood out of the noise"
    return {name: nothing if bounds is None else found for name, bounds in estimate.bounds.items()}


# ---- what is said


def _tell(
    chosen: argparse.Namespace, found: list[Field], facts: dict[str, Any], estimate: Estimate | None, terminal: Terminal
) -> None:
    missing = [f"tables.{chosen.table}.{place}" for place in unfilled(facts, but=("rename",))]
    left_out = [field.source for field in found if field.type is None]
    charge = None if estimate is None else estimate.charge
    if chosen.json:
        terminal.show_json(
            {"table": chosen.table, "imported": False, "missing": missing, "left_out": left_out, "charged": charge}
        )
        return
    terminal.show(f"Fill in what is ? in {chosen.folder}/catalog.toml:" if missing else "The declaration is complete.")
    terminal.show("\n".join(f"  {place}" for place in missing))
    if any(place.endswith(".type") for place in missing):
        kinds = [f"{kind} ({', '.join(needed)})" if needed else kind for kind, (_, needed) in TYPES.items()]
        terminal.show(f"A type is one of {', '.join(kinds)}; add nullable = true where values may be missing.")
    if left_out:
        terminal.show(f"Left out, because no type can hold them: {', '.join(left_out)}")
    if charge is not None:
        terminal.show(f"The bounds are estimates, look at them; charged {charge}.")
    terminal.show(f"Then import the rows: dalenius update-table {chosen.folder} {chosen.table} {chosen.file}")
