"""`dalenius check ledger` and `dalenius check engine`."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from dalenius.cli.commands.ledgers import verify
from dalenius.cli.exits import FINE, LEDGER, REFUSED
from dalenius.cli.terminal import Terminal
from dalenius.engines.addresses import is_address, public_address
from dalenius.engines.conformance.checking import MOST, Report
from dalenius.engines.conformance.checking import check as compared
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.several import live_engine
from dalenius.errors import DaleniusError, DataMismatch, InvalidParameter

_ROWS, _BAR = 5_000, 24


def check(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """The checks of the database itself, and of the engines that it asks."""
    if chosen.what == "engine":
        return _engine(chosen, terminal)
    if chosen.folder is None:
        raise InvalidParameter("FOLDER", None, allowed="the folder of the database whose ledger is to be checked")
    return verify(chosen, terminal)


def _engine(chosen: argparse.Namespace, terminal: Terminal) -> int:
    for name in ("expressions", "plans"):
        if getattr(chosen, name) < 0:
            raise InvalidParameter(f"--{name}", getattr(chosen, name), allowed="a whole number, 0 or more")
    failures: list[BaseException] = []
    with closing(_opened(chosen.folder, failures)) as engine, terminal.progress("checking") as progress:
        tick = None if progress is None else lambda percent: progress(_bar(percent))
        try:
            report = compared(engine, expressions=chosen.expressions, rows=_ROWS, plans=chosen.plans, tick=tick)
        except DataMismatch as mismatch:  # of made-up rows, so that the engine's own words may be shown
            terminal.tell(f"dalenius: the engine cannot be checked: {failures[-1] if failures else mismatch.problem}")
            return REFUSED
    terminal.report(_facts(report), "\n".join(_told(report)), as_json=chosen.json)
    return FINE if report.passed else LEDGER


def _opened(url: str | None, failures: list[BaseException]) -> Any:
    """The engine that is checked: the one that runs inside, or another that an address names."""
    if url is None:
        return DuckDBEngine(log=failures.append)
    if not is_address(url):
        raise InvalidParameter(
            "URL", "an address", allowed="postgresql://user@host/database, spark, local[2], spark://host:port or "
            "sc://host:port, or left out to check DuckDB"
        )  # fmt: skip
    address, secret = public_address(url)
    try:
        return live_engine(address, secret=secret, log=failures.append)
    except DaleniusError:
        raise
    except Exception as error:
        failures.append(error)
    raise InvalidParameter("URL", address, allowed="the address of an engine that can be reached")


def _bar(percent: float) -> str:
    done = min(_BAR, int(_BAR * percent / 100))
    return f"{'█' * done}{'▒' * (_BAR - done)} {percent:.0f} %"


def _facts(report: Report) -> dict[str, Any]:
    return {
        "fit": report.passed,
        "cases": report.cases,
        "expressions": report.expressions,
        "rows": report.rows,
        "plans": report.plans,
        "differences": report.differences,
    }


def _told(report: Report) -> list[str]:
    if report.passed:
        looked = [
            f"{report.cases:,} known cases and {report.expressions:,} generated expressions over {report.rows:,} rows"
        ]
        done = [*(looked if report.rows else []), *([f"{report.plans:,} generated plans"] if report.plans else [])]
        return [f"The engine is fit: {', and '.join(done) or 'nothing'} gave what is defined, cell by cell."]
    more = ["  and it was not looked further"] if len(report.differences) >= MOST else []
    return ["The engine is not fit:", *(f"  {difference}" for difference in report.differences), *more]
