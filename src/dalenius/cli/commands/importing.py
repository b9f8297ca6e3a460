"""`dalenius add-table`, `update-table` and `remove-table`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from dalenius.catalog.declarations import TYPES, number, unfilled
from dalenius.cli.proposals import (
    BoundsEstimate,
    FileColumn,
    drafted,
    estimated,
    fields,
    fields_elsewhere,
    remark,
    require_alike,
)
from dalenius.cli.sessions import opened
from dalenius.cli.terminal import Terminal
from dalenius.cli.wording import FINE, REFUSED
from dalenius.engines.addresses import staying
from dalenius.errors import InvalidParameter
from dalenius.session.databases import Database

_NUMBERS = ("Int", "Real")


def update_table(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Import the rows of a declared table, for the first time or anew."""
    with opened(chosen.folder) as db:
        _import(db, chosen, terminal)


def remove_table(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """Take a table out of the catalog and drop its rows."""
    with opened(chosen.folder) as db:
        if not terminal.confirmed(f"Drop the rows of {chosen.table}?", yes=chosen.yes):
            return REFUSED
        db.remove_table(chosen.table)
    said = f"{chosen.table} is gone, also from grants; what was spent stays spent."
    terminal.report({"table": chosen.table, "removed": True}, said, as_json=chosen.json)
    return FINE


def add_table(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """Propose a declaration; of a table that is declared already, import the rows."""
    with opened(chosen.folder) as db:
        if chosen.table in db.tables():
            require_alike(chosen, db.catalog)
            _import(db, chosen, terminal)
            return FINE
        found = _fields(db, chosen)
        facts, estimate = drafted(chosen, found), None
        if chosen.suggest_bounds:
            estimate = _estimated(db, chosen, facts, lambda offer: _offered(offer, chosen, terminal))
            if estimate is None:
                return REFUSED
        db.draft_table(chosen.table, source=chosen.file if _stays(chosen) else None, **facts)
    if estimate is not None:
        remark(Path(chosen.folder), chosen.table, _remarks(estimate))
    _tell(chosen, found, facts, estimate, terminal)
    return FINE


def _stays(chosen: argparse.Namespace) -> bool:
    """Whether the rows are in no file, but in a table that stays where it is."""
    return chosen.file is not None and staying(chosen.file) is not None


def _source(chosen: argparse.Namespace) -> str | Path | None:
    return chosen.file if chosen.file is None or _stays(chosen) else Path(chosen.file)


def _fields(db: Database, chosen: argparse.Namespace) -> list[FileColumn]:
    if not _stays(chosen):
        return fields(chosen.table, Path(chosen.file))
    if chosen.nulls:
        raise InvalidParameter("--nulls", chosen.nulls, allowed="left out: a database has a NULL of its own")
    return fields_elsewhere(db.source_columns(chosen.file))


def _import(db: Database, chosen: argparse.Namespace, terminal: Terminal) -> None:
    with terminal.progress("importing") as progress:
        if progress is not None:
            progress("")
        db.update_table(chosen.table, _source(chosen))
    for known in db.remarks(chosen.table):
        terminal.tell(f"dalenius: {known}.")
    table = db.catalog.table(chosen.table)
    version, tense = table.version, ("were", "became") if table.place is None else ("are", "become")
    said = (
        f"{chosen.table} can be asked about now: version {version}. Values outside their bounds {tense[0]} moved to "
        f"the nearest one, and values that are not listed in a Category {tense[1]} NULL."
    )
    facts = {"table": chosen.table, "imported": True, "version": version, "missing": []}
    terminal.report(facts, said, as_json=chosen.json)


# ---- bounds


def _offered(offer: str, chosen: argparse.Namespace, terminal: Terminal) -> bool:
    """Show a price before it is paid; a person may decline."""
    terminal.tell(offer)
    return terminal.confirmed("Estimate the bounds?", yes=chosen.yes)


def _estimated(
    db: Database, chosen: argparse.Namespace, facts: dict[str, Any], agreed: Callable[[str], bool]
) -> BoundsEstimate | None:
    """Bounds of the number columns, filled into the proposal; None where somebody declined."""
    numbers = {name: each["type"] for name, each in facts["columns"].items() if each["type"] in _NUMBERS}
    _require_ready(chosen, facts, numbers)
    used = {*numbers, facts["unit"]}
    estimate = estimated(
        db,
        chosen.table,
        chosen.file if _stays(chosen) else Path(chosen.file),
        columns=numbers,
        epsilon=chosen.epsilon,
        agreed=agreed,
        population=chosen.population,
        unit=facts["unit"],
        max_rows=chosen.max_rows,
        max_groups=chosen.max_groups,
        rename={name: source for name, source in facts.get("rename", {}).items() if name in used},
        nulls=facts.get("nulls", ()),
    )
    for name, bounds in ({} if estimate is None else estimate.bounds).items():
        if bounds is not None:
            facts["columns"][name] |= dict(zip(("lower", "upper"), map(number, map(Fraction, bounds)), strict=True))
    return estimate


def _require_ready(chosen: argparse.Namespace, facts: Mapping[str, Any], numbers: Mapping[str, str]) -> None:
    needed = {"--epsilon": chosen.epsilon, "--population": chosen.population, "--unit": chosen.unit}
    if "max_rows" in facts:
        needed["--max-rows"] = chosen.max_rows
    missing = [name for name, value in needed.items() if value is None]
    if missing or "unit" not in facts:
        raise InvalidParameter("--suggest-bounds", True, allowed=f"given together with {', '.join(missing)}")
    if not numbers:
        raise InvalidParameter(
            "--suggest-bounds", True, allowed="asked of a file with number columns",
            hint="Say which columns of a CSV file are numbers: --type age=Int.",
        )  # fmt: skip


def _remarks(estimate: BoundsEstimate) -> dict[str, str]:
    found = f"estimated from noisy counts, charged {estimate.each}; see whether it is plausible"
    nothing = f"no count stood out of the noise, charged {estimate.each}"
    return {name: nothing if bounds is None else found for name, bounds in estimate.bounds.items()}


# ---- what is said


def _tell(
    chosen: argparse.Namespace,
    found: list[FileColumn],
    facts: dict[str, Any],
    estimate: BoundsEstimate | None,
    terminal: Terminal,
) -> None:
    missing = [f"tables.{chosen.table}.{place}" for place in unfilled(facts, but=("rename",))]
    left_out = [field.source for field in found if field.type is None]
    if chosen.json:
        terminal.show_json(
            {"table": chosen.table, "imported": False, "missing": missing, "left_out": left_out, **_charged(estimate)}
        )
        return
    terminal.show(f"Fill in what is ? in {chosen.folder}/catalog.toml:" if missing else "The declaration is complete.")
    terminal.show("\n".join(f"  {place}" for place in missing))
    if any(place.endswith(".type") for place in missing):
        kinds = [f"{kind} ({', '.join(needed)})" if needed else kind for kind, (_, needed) in TYPES.items()]
        terminal.show(f"A type is one of {', '.join(kinds)}.")
    terminal.show("Look at nullable, too: it says whether values of a column may be missing.")
    if left_out:
        terminal.show(f"Left out, because no type can hold them: {', '.join(left_out)}")
    if estimate is not None:
        terminal.show("\n".join(_bounds_told(estimate)))
    file = "" if _stays(chosen) else f" {chosen.file}"  # an address may hold a password, and catalog.toml has it
    then = "let it be asked" if _stays(chosen) else "import the rows"
    terminal.show(f"Then {then}: dalenius update-table {chosen.folder} {chosen.table}{file}")


def _charged(estimate: BoundsEstimate | None) -> dict[str, Any]:
    if estimate is None:
        return {"charged": None, "bounds": {}}
    bounds = {
        name: found and [str(number(Fraction(edge))) for edge in found] for name, found in estimate.bounds.items()
    }
    return {"charged": estimate.charge, "bounds": bounds}


def _bounds_told(estimate: BoundsEstimate) -> list[str]:
    bounds = {
        name: "no count stood out of the noise; this was charged all the same"
        if found is None
        else "lower = {}, upper = {}".format(*(number(Fraction(edge)) for edge in found))
        for name, found in estimate.bounds.items()
    }
    told = [f"  {name}: {text}" for name, text in bounds.items()]
    return [f"Bounds, estimated from noisy counts and charged {estimate.charge}; look at them:", *told]
