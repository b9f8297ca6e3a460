"""Options of the command by which the system checks itself."""

from __future__ import annotations

from dalenius.audit.checks.registry import CHECKS, Listed
from dalenius.cli.options.shared import Commands, as_json, command


def add(commands: Commands) -> None:
    """check."""
    made = command(
        commands, "check", "check", help="let the system check itself, or an engine; exit code 5 if something is wrong",
        more=_more(),
    )  # fmt: skip
    made.add_argument("what", choices=(*CHECKS, "engine", "all"), help="what to check")
    made.add_argument(
        "folder", metavar="FOLDER|URL", nargs="?",
        help="the folder of a database, whose catalog is then used over made-up rows, or where an engine is",
    )  # fmt: skip
    number = made.add_mutually_exclusive_group()
    number.add_argument(
        "--count", "--plans", "--n", metavar="N", dest="count",
        help="how many cases: plans, draws, mutations and so on (default: enough for every change; 1e6 is understood)",
    )  # fmt: skip
    number.add_argument("--full", action="store_true", help="as many cases as the goal of each check asks for")
    made.add_argument(
        "--expressions", metavar="N", type=int, default=2_000, help="of engine: generated expressions (default: 2000)"
    )
    made.add_argument("--seed", metavar="S", type=int, default=0, help="which cases are made up (default: 0)")
    as_json(made)


def _more() -> str:
    widest = max(map(len, CHECKS))
    lines = [f"{name:<{widest}}  {listed.help}{_counts(listed)}" for name, listed in CHECKS.items()]
    return "\n".join([*lines, *_OTHERS])


def _counts(listed: Listed) -> str:
    if listed.push == listed.full:
        return ""
    least = f"; least: {listed.least:,}" if listed.least > 1 else ""
    return f" ({listed.push:,}; --full: {listed.full:,}{least})"


_OTHERS = (
    "all        all of these in one table; one that fails does not stop the others, and planted is left out where",
    "           the package was installed without the source",
    "engine     URL: whether PostgreSQL (postgresql://user@host/database) or Spark (spark, local[2], spark://host:port,",
    "           sc://host:port) computes what is defined, on made-up rows; without a URL, whether DuckDB does",
    "",
    "replay, bounding, ledger and all take a FOLDER: replay and bounding make rows up with its catalog and read none",
    "of its own, ledger recomputes its chain and every balance independently. Nothing is charged, and nothing is",
    "written but temporary files and tables. docs/checks.md says what each check shows, and for how long it runs.",
)
