"""`dalenius check`: what the system says of itself, as a table and as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import closing
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from dalenius.checks.outcomes import CheckRequest, Figure, Outcome, Tick
from dalenius.checks.registry import CHECKS, Listed
from dalenius.cli.commands.ledgers import verify
from dalenius.cli.sessions import require_folder
from dalenius.cli.terminal import Terminal
from dalenius.cli.wording import FINE, LEDGER, REFUSED
from dalenius.engines.addresses import is_address, public_address
from dalenius.engines.conformance.checking import MOST, ConformanceReport
from dalenius.engines.conformance.checking import check as compared
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.several import live_engine
from dalenius.errors import DaleniusError, DataMismatch, InvalidParameter
from dalenius.session.progress import bar

_ROWS, _PLANS, _WIDEST, _SHOWN = 5_000, 200, 60, 20
_HEADINGS = ("check", "what was tried", "tried", "found", "goal", "")


def check(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """The checks of the system by itself, and of the engines that it asks."""
    if chosen.what == "engine":
        chosen.count = _count(chosen.count, least=0)
        return _engine(chosen, terminal)
    listed = [*CHECKS.values()] if chosen.what == "all" else [CHECKS[chosen.what]]
    most_needed = max(listed, key=lambda each: each.least)
    chosen.count = _count(chosen.count, least=most_needed.least, what=f" for {most_needed.name}")
    if chosen.what == "ledger" and chosen.folder is not None:
        return verify(chosen, terminal)
    return _checked(listed, chosen, terminal)


def _count(text: str | None, *, least: int, what: str = "") -> int | None:
    """A number of cases as people write it: 50000, 50_000 or 5e4."""
    if text is None:
        return None
    try:
        number = Decimal(text)
        if number == number.to_integral_value() and least <= number < 10**12:
            return int(number)
    except InvalidOperation:
        pass
    name, allowed = "--count (or --plans, --n)", f"a whole number, {least:,} or more{what}, such as 2000 or 1e6"
    raise InvalidParameter(name, text, allowed=allowed)


# ---- the checks of the registry


def _checked(listed: Sequence[Listed], chosen: argparse.Namespace, terminal: Terminal) -> int:
    folder = _folder(listed, chosen, terminal)
    left_out = [each.name for each in listed if chosen.what == "all" and not each.runs_here]
    with terminal.progress("checking") as progress:
        outcomes = [
            _outcome(each, CheckRequest(folder, chosen.count, chosen.seed, _ticks(each.name, progress)), chosen)
            for each in listed
            if each.name not in left_out
        ]
    passed = all(outcome.passed for outcome in outcomes)
    facts: Any = [_outcome_facts(outcome) for outcome in outcomes]
    if chosen.what != "all":
        (facts,) = facts
    else:
        facts = {"passed": passed, "checks": facts, "not_run": left_out}
    said = [f"Not run: {name}, which needs a checkout of the source." for name in left_out]
    terminal.report(facts, "\n".join([*_outcome_lines(outcomes), *said]), as_json=chosen.json)
    return FINE if passed else LEDGER


def _folder(listed: Sequence[Listed], chosen: argparse.Namespace, terminal: Terminal) -> Path | None:
    if chosen.folder is None:
        return None
    alone = [each.name for each in listed if not each.catalog]
    if alone and chosen.what != "all":
        takers = ", ".join(name for name, each in CHECKS.items() if each.catalog)
        allowed = f"left out for {chosen.what}, which looks at the product itself; {takers}, engine and all take one"
        raise InvalidParameter("folder", chosen.folder, allowed=allowed)
    require_folder(chosen.folder)
    if not Path(chosen.folder).is_dir():  # said before the first of many checks is run
        raise InvalidParameter("folder", chosen.folder, allowed="the folder of a database, which has a catalog.toml")
    if alone:
        terminal.tell(f"dalenius: {', '.join(alone)} look at the product itself, and not at your catalog.")
    return Path(chosen.folder)


def _ticks(name: str, progress: Callable[[Any], None] | None) -> Tick:
    return (lambda percent: None) if progress is None else lambda percent: progress(f"{name} {bar(percent)}")


def _outcome(listed: Listed, asked: CheckRequest, chosen: argparse.Namespace) -> Outcome:
    """What a check says; one among many that breaks is a finding, and the others go on."""
    try:
        return listed.run(asked, full=chosen.full)
    except (Exception, RecursionError) as error:
        if chosen.what != "all":
            raise
        said = str(error) if isinstance(error, DaleniusError) else f"it ended with {type(error).__name__}"
        broken = Figure(listed.help, 0, "could not be run", "to be run", held=False)
        return Outcome(listed.name, (broken,), (f"{said}; see `dalenius check {listed.name}`",))


def _outcome_facts(outcome: Outcome) -> dict[str, Any]:
    figures = [
        {"what": each.what, "tried": each.tried, "found": each.found, "goal": each.goal, "held": each.held}
        for each in outcome.figures
    ]
    return {
        "check": outcome.check, "passed": outcome.passed, "figures": figures, "findings": list(outcome.findings)
    }  # fmt: skip


def _outcome_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each figure, then what was found wrong, then how it ended."""
    rows = [
        (outcome.check, each.what, f"{each.tried:,}", each.found, each.goal, "held" if each.held else "NOT HELD")
        for outcome in outcomes
        for each in outcome.figures
    ]
    found = [f"{outcome.check}: {finding}" for outcome in outcomes for finding in outcome.findings]
    more = [f"... and {len(found) - _SHOWN:,} more; --json lists them all"] if len(found) > _SHOWN else []
    failed = [outcome.check for outcome in outcomes if not outcome.passed]
    end = f"Failed: {', '.join(failed)}." if failed else "Passed."
    return [*_table(rows), *(["", "findings:", *found[:_SHOWN], *more] if found else []), "", end]


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [_HEADINGS, *rows]
    widths = [min(_WIDEST, max(len(line[place]) for line in lines)) for place in range(len(_HEADINGS))]
    written = ["  ".join(_cell(text, widths[place], place) for place, text in enumerate(line)) for line in lines]
    return [written[0].rstrip(), "─" * min(120, len(written[0])), *(line.rstrip() for line in written[1:])]


def _cell(text: str, width: int, place: int) -> str:
    short = text if len(text) <= width else text[: width - 1] + "…"
    return short.rjust(width) if place == _HEADINGS.index("tried") else short.ljust(width)


# ---- one engine


def _engine(chosen: argparse.Namespace, terminal: Terminal) -> int:
    if chosen.expressions < 0:
        raise InvalidParameter("--expressions", chosen.expressions, allowed="a whole number, 0 or more")
    plans = _PLANS if chosen.count is None else chosen.count
    failures: list[BaseException] = []
    with closing(_opened(chosen.folder, failures)) as engine, terminal.progress("checking") as progress:
        tick = None if progress is None else lambda percent: progress(bar(percent))
        try:
            report = compared(
                engine, expressions=chosen.expressions, rows=_ROWS, plans=plans, seed=chosen.seed, tick=tick
            )
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


def _facts(report: ConformanceReport) -> dict[str, Any]:
    return {
        "fit": report.passed,
        "cases": report.cases,
        "expressions": report.expressions,
        "rows": report.rows,
        "plans": report.plans,
        "differences": report.differences,
    }


def _told(report: ConformanceReport) -> list[str]:
    if report.passed:
        looked = [
            f"{report.cases:,} known cases and {report.expressions:,} generated expressions over {report.rows:,} rows"
        ]
        done = [*(looked if report.rows else []), *([f"{report.plans:,} generated plans"] if report.plans else [])]
        return [f"The engine is fit: {', and '.join(done) or 'nothing'} gave what is defined, cell by cell."]
    more = ["  and it was not looked further"] if len(report.differences) >= MOST else []
    return ["The engine is not fit:", *(f"  {difference}" for difference in report.differences), *more]
