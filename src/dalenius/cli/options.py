"""Arguments that several commands have.

Options of the commands that make a database and its tables.

Options of the commands that say who may ask what.

Options of the commands that ask.

Options of the commands that show what was spent.

Options of the commands that serve, show and complete.

Options of the command by which the system checks itself.
"""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

from dalenius.checks.registry import CHECKS, Listed

Commands: TypeAlias = "argparse._SubParsersAction[Any]"


def command(commands: Commands, name: str, run: str, *, help: str, more: str = "") -> argparse.ArgumentParser:  # noqa: A002
    """One command: `run` is the name of the function in `dalenius.cli.commands` that does it."""
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=_sentence(help), epilog=more or None
    )
    made.set_defaults(run=run)
    return made


def folder(made: argparse.ArgumentParser) -> None:
    made.add_argument("folder", metavar="FOLDER", help="the folder of the database")


def principal(made: argparse.ArgumentParser) -> None:
    """Where a question goes, and who asks it."""
    made.add_argument("place", metavar="FOLDER", help="the folder of the database, or the URL of a server")
    made.add_argument("--as", dest="analyst", metavar="ANALYST", help="who asks a folder (default: the owner)")
    made.add_argument("--token-file", metavar="FILE", help="a file with the token for a server (or DALENIUS_TOKEN)")
    made.add_argument("--certificates", metavar="FILE", help="trust these certificates instead of the system's")
    made.add_argument("--insecure", action="store_true", help="send the token over plain http to another machine")


def as_json(made: argparse.ArgumentParser) -> None:
    made.add_argument("--json", action="store_true", help="write JSON, in a stable format")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


_FILL_IN = """Only the names and types in the file's header are read, never a value. Bounds, steps and categories are
written into catalog.toml as question marks, and so are the types of a CSV file, which has none; the table cannot be
asked, and no row is imported, until the owner has filled them in and runs update-table (or the same command again).
A table of PostgreSQL (postgresql://reader@host/clinic#schema.table) or Spark (spark#events, local[2]#/data/events)
stays where it is, and questions run there. A password in the address goes into secrets.toml; since others on this
machine may see what is typed, it is better to leave it out and keep it in ~/.pgpass."""


def add_folders(commands: Commands) -> None:
    """init, add-population, add-table, update-table, remove-table, partition and tables."""
    _init(commands)
    _add_population(commands)
    _add_table(commands)
    made = command(
        commands, "update-table", "update_table", help="replace the rows of a table; what was spent stays spent"
    )
    folder(made)
    made.add_argument("table", metavar="NAME", help="the table")
    made.add_argument(
        "file", metavar="FILE", nargs="?",
        help="a Parquet or CSV file with the new rows, or a place such as postgresql://...#schema.table where they "
        "stay; without it, a table that stays elsewhere is inspected again",
    )  # fmt: skip
    as_json(made)
    made = command(
        commands, "remove-table", "remove_table", help="take a table out of the catalog and grants, and drop its rows"
    )
    folder(made)
    made.add_argument("table", metavar="NAME", help="the table")
    _yes(made)
    as_json(made)
    _partition(commands)
    made = command(commands, "tables", "tables", help="list tables and columns, and what is left of the budget")
    principal(made)
    as_json(made)


def _yes(made: argparse.ArgumentParser) -> None:
    made.add_argument("--yes", action="store_true", help="do not ask first; needed where nobody can be asked")


def _partition(commands: Commands) -> None:
    made = command(
        commands, "partition", "partition", help="cut a population into blocks, each with the whole budget to itself",
        more="The column must never change for a unit. A partition is made once and never changes.",
    )  # fmt: skip
    folder(made)
    made.add_argument("column", metavar="TABLE.COLUMN", help="the column, such as visits.region")
    made.add_argument("values", metavar="VALUE", nargs="+", help="the values that are blocks")
    _yes(made)
    as_json(made)


def _init(commands: Commands) -> None:
    made = command(commands, "init", "init", help="make a new, empty database in a new folder")
    folder(made)
    made.add_argument("--population", metavar="NAME", help="declare the people that the tables are about")
    _budget(made, needed=False)
    made.add_argument(
        "--mark",
        metavar="PLACE",
        help="where the ledger's high-water mark is kept, outside the folder (default: in your state folder)",
    )
    made.add_argument(
        "--ledger",
        metavar="URL",
        help="keep the ledger in PostgreSQL (postgresql://host/database; the password comes from ~/.pgpass)",
    )
    as_json(made)


def _add_population(commands: Commands) -> None:
    made = command(
        commands,
        "add-population",
        "add_population",
        help="declare the people that some tables are about, and how much may ever be learnt about them",
    )
    folder(made)
    made.add_argument("population", metavar="NAME", help="a name for these people, such as patients")
    _budget(made, needed=True)
    as_json(made)


def _budget(made: argparse.ArgumentParser, *, needed: bool) -> None:
    made.add_argument("--epsilon", metavar="E", required=needed, help="the budget of the population; it never changes")
    made.add_argument("--delta", metavar="D", default="0", help="the delta of the budget, such as 1e-9 (default: 0)")
    made.add_argument(
        "--neighbours",
        choices=("add_remove", "replace"),
        default="add_remove",
        help="hide whether somebody takes part (default), or what the rows of somebody say",
    )
    made.add_argument("--purpose", metavar="TEXT", default="", help="what the data is used for; it is published")
    made.add_argument(
        "--retires",
        metavar="DAY",
        help="the day from which nothing more is charged; what was released can still be read",
    )
    made.add_argument(
        "--least-share",
        metavar="SHARE",
        default="0.001%",
        help="the least share of the budget that one question takes (default: 0.001%%, so 100,000 questions at most)",
    )
    made.add_argument("--yes", action="store_true", help="declare the budget even if it promises little")


def _add_table(commands: Commands) -> None:
    made = command(
        commands,
        "add-table",
        "add_table",
        help="declare a table from the header of a file, or import it",
        more=_FILL_IN,
    )
    folder(made)
    made.add_argument("table", metavar="NAME", help="a name for the table")
    made.add_argument(
        "file", metavar="FILE",
        help="a Parquet or CSV file (.parquet, .csv, .csv.gz, .tsv), or a place such as postgresql://...#schema.table",
    )  # fmt: skip
    made.add_argument("--population", metavar="NAME", help="the people that the table is about")
    made.add_argument("--unit", metavar="COLUMN", help="the column that identifies the unit of a row, or a path to it")
    made.add_argument("--max-rows", metavar="N", type=int, help="the most rows of one unit that enter each group")
    made.add_argument("--max-groups", metavar="N", type=int, help="the most groups of an answer that one unit enters")
    made.add_argument(
        "--type", metavar="COLUMN=TYPE", action="append",
        help="the type of a column: Int, Real, Category, Text, Date, Timestamp or Bool; may be repeated",
    )  # fmt: skip
    made.add_argument(
        "--rename", metavar="NAME=COLUMN", action="append",
        help="declare a column of the file under another name, such as hours=hours-per-week; may be repeated",
    )  # fmt: skip
    made.add_argument(
        "--nulls", metavar="WORD", action="append",
        help="a word of a CSV file that means NULL, besides the empty field; may be repeated",
    )  # fmt: skip
    made.add_argument("--public", action="store_true", help="no row is about anybody who must be protected")
    made.add_argument(
        "--suggest-bounds",
        action="store_true",
        help="estimate bounds of the number columns privately; this is charged to the population",
    )
    made.add_argument("--epsilon", metavar="E", help="the price of the estimate of bounds")
    made.add_argument(
        "--yes", action="store_true", help="estimate bounds without asking first; needed where nobody can be asked"
    )
    as_json(made)


def add_people(commands: Commands) -> None:
    """grant, revoke, grants, study and token."""
    _grant(commands)
    made = command(commands, "revoke", "revoke", help="take back what an analyst was granted, and the tokens")
    folder(made)
    made.add_argument("analyst", metavar="ANALYST", help="the analyst's name")
    made.add_argument("--tokens-only", action="store_true", help="end the tokens, and leave the grant as it is")
    as_json(made)
    made = command(commands, "grants", "grants", help="list who may ask what, and who holds a token until when")
    folder(made)
    as_json(made)
    _study(commands)
    _token(commands)


def _grant(commands: Commands) -> None:
    made = command(commands, "grant", "grant", help="let an analyst ask about tables, within a share of the budget")
    folder(made)
    made.add_argument("analyst", metavar="ANALYST", help="a name or mail address")
    made.add_argument("--tables", metavar="NAME", nargs="+", action="extend", required=True, help="the tables")
    made.add_argument(
        "--share",
        metavar="S",
        help="the most of the budget, inside the study if there is one (default: as before, at first 100%%)",
    )
    made.add_argument("--study", metavar="NAME", help="the study inside which the analyst asks")
    made.add_argument("--most-epsilon", metavar="E", help="the largest epsilon that one answer may have by itself")
    made.add_argument(
        "--rate", metavar="N/SECONDS", help="how often questions may be charged, such as 20/3600 (default: 1000/3600)"
    )
    made.add_argument("--until", metavar="DAY", help="the day on which the grant ends")
    made.add_argument(
        "--pays-for-replays",
        action="store_const",
        const=True,
        help="answers from the ledger count against the share too",
    )
    as_json(made)


def _study(commands: Commands) -> None:
    made = command(
        commands, "study", "study", help="open a quota that several analysts share, or change its terms",
        more="If the study exists, terms that are not mentioned stay as they were; none removes one.",
    )  # fmt: skip
    folder(made)
    made.add_argument("study", metavar="NAME", help="a name for the study")
    made.add_argument("--population", metavar="NAME", required=True, help="the people that it is about")
    made.add_argument("--share", metavar="S", required=True, help="the most of the budget that it may spend")
    made.add_argument("--reserve", metavar="S", help="the share that is held for it until its end; none frees it")
    made.add_argument("--start", metavar="DAY", help="its first day")
    made.add_argument("--end", metavar="DAY", help="the day on which it ends")
    made.add_argument("--purpose", metavar="TEXT", help="what it is for; it is published")
    as_json(made)


def _token(commands: Commands) -> None:
    made = command(
        commands, "token", "token", help="issue a token for the server; it is shown once and stored hashed",
        more="With --out it goes into a new file that only you can read; else it is the only thing on standard output.",
    )  # fmt: skip
    folder(made)
    made.add_argument("who", metavar="WHO", help="the analyst's name, or a name for an auditor or owner")
    made.add_argument("--role", choices=("analyst", "auditor", "owner"), default="analyst", help="(default: analyst)")
    made.add_argument("--out", metavar="FILE", help="write the token into a new file of mode 0600 instead")
    made.add_argument("--days", metavar="N", type=int, default=90, help="how long it is valid (default: 90 days)")
    as_json(made)


_SERVER = """FOLDER may be the URL of a server (http://host:8765). The token is then read from --token-file or from the
environment variable DALENIUS_TOKEN; it is never given on the command line, where others could see it.
SQL may be - to read it from standard input."""


def add_questions(commands: Commands) -> None:
    """ask, cost, explain and rehearse."""
    _ask(commands)
    made = _question(commands, "cost", "cost", "show what an answer would cost and which error to expect; it is free")
    _price(made, needed=True)
    _error(made)
    _weights(made)
    as_json(made)
    made = _question(
        commands, "explain", "explain", "show how an answer would be made, and why it is private; it is free"
    )
    _price(made, needed=False)
    as_json(made)
    made = _question(commands, "rehearse", "rehearse", "answer from a made-up table with the same columns; it is free")
    _price(made, needed=False)
    made.add_argument("--level", metavar="L", help="the level of the error bars (default: 95%%)")
    _forms(made)


def _question(commands: Commands, name: str, run: str, help: str) -> argparse.ArgumentParser:  # noqa: A002
    made = command(commands, name, run, help=help, more=_SERVER)
    principal(made)
    made.add_argument("sql", metavar="SQL", help="the question")
    made.add_argument("--max-rows", metavar="N", type=int, help="the most rows of one unit that enter each group")
    made.add_argument("--max-groups", metavar="N", type=int, help="the most groups of this answer that one unit enters")
    return made


def _ask(commands: Commands) -> None:
    made = _question(commands, "ask", "ask", "ask a question: the answer has error bars, and is charged")
    _price(made, needed=True)
    _error(made)
    _weights(made)
    made.add_argument("--nonnegative", action="store_true", help="show counts below zero as 0")
    made.add_argument("--digits", metavar="N", type=int, help="round to so many decimals")
    made.add_argument("--at-most", metavar="S", help="refuse if it costs more than this share of a budget, such as 1%%")
    made.add_argument("--key", metavar="KEY", help="a name for this attempt: with the same one it is charged once")
    made.add_argument("--fresh", action="store_true", help="pay for a new draw, even if the answer is in the ledger")
    made.add_argument("--yes", action="store_true", help="do not show the price first and wait for a yes")
    _forms(made)


def _price(made: argparse.ArgumentParser, *, needed: bool) -> None:
    price = made.add_mutually_exclusive_group(required=needed)
    price.add_argument("--epsilon", metavar="E", help="what this answer may lose by itself, as an epsilon such as 0.2")
    price.add_argument("--share", metavar="S", help="what to pay, as a share of the budget such as 1%%")
    if needed:
        price.add_argument(
            "--error", metavar="E", action="append",
            help="the error that is good enough, such as '50 at 95%%', or 'visits=50' for one column; may be repeated",
        )  # fmt: skip


def _error(made: argparse.ArgumentParser) -> None:
    made.add_argument("--size", metavar="N", type=int, help="how many rows a group has, where the error depends on it")
    made.add_argument("--level", metavar="L", help="the level of the error bars (default: 95%%)")


def _weights(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--weight", metavar="COLUMN=W", action="append", help="how much of the price goes to a column; may be repeated"
    )


def _forms(made: argparse.ArgumentParser) -> None:
    form = made.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write JSON, in a stable format")
    form.add_argument("--csv", action="store_true", help="write CSV")
    form.add_argument("--arrow", metavar="FILE", help="write an Arrow file")
    made.add_argument("--chart", action="store_true", help="draw bars below the table")
    made.add_argument("--plot", metavar="FILE", help="draw a chart into a file (.svg or .png)")


ACTIONS = ("show", "verify", "reconcile", "entries")


class Suggested(tuple[str, ...]):
    """Words that completion offers where others may stand as well: `ledger verify FOLDER` is understood too."""

    def __contains__(self, word: object) -> bool:
        return True


def add_ledgers(commands: Commands) -> None:
    """ledger, registry, replays, card and study-card."""
    made = command(
        commands, "ledger", "ledger", help="show who spent what; verify, or reconcile after a restore",
        more="""show       who spent what of which budget (the default)
verify     recompute the chain and every balance independently; exit code 5 if something is wrong
reconcile  after a restore, a clone or a lost mark: go on at the largest spending that is known
entries    every entry""",
    )  # fmt: skip
    folder(made)
    made.add_argument(
        "action",
        metavar="ACTION",
        choices=Suggested(ACTIONS),
        nargs="?",
        default="show",
        help=f"{', '.join(ACTIONS)} (default: show); it may also stand before the folder",
    )
    made.add_argument(
        "--yes", action="store_true", help="reconcile without asking first; needed where nobody can be asked"
    )
    as_json(made)
    _registry(commands)


def _registry(commands: Commands) -> None:
    made = command(
        commands, "registry", "registry", help="show what each population is used for and how much of it is spent",
        more="It depends on nothing private, and can be published.",
    )  # fmt: skip
    principal(made)
    form = made.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write JSON")
    form.add_argument("--csv", action="store_true", help="write CSV")
    form.add_argument("--html", metavar="FILE", help="write a page")
    made = command(commands, "replays", "replays", help="list the stored answers that are free to read, or show one")
    principal(made)
    made.add_argument("receipt", metavar="RECEIPT", nargs="?", help="the receipt of the answer to show")
    as_json(made)
    made = command(commands, "card", "card", help="show the release card of an answer: what is and is not promised")
    principal(made)
    made.add_argument("receipt", metavar="RECEIPT", help="the receipt of the answer")
    as_json(made)
    made = command(
        commands, "study-card", "study_card", help="show all releases that were charged to a study, with totals"
    )
    folder(made)
    made.add_argument("study", metavar="NAME", help="the study")
    as_json(made)


SHELLS = ("bash", "zsh", "fish")


def add_serving(commands: Commands) -> None:
    """serve, demo and completion."""
    made = command(commands, "serve", "serve", help="answer over HTTP")
    folder(made)
    made.add_argument("--host", metavar="HOST", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    made.add_argument("--port", metavar="PORT", type=int, default=8765, help="(default: 8765)")
    made.add_argument("--admin", action="store_true", help="offer the admin routes also beyond this machine")
    made.add_argument("--no-admin", action="store_true", help="do not offer them on this machine either")
    made.add_argument(
        "--workers", metavar="N", type=int, help="worker processes for questions, 2 or more (default: one a core)"
    )
    made.add_argument(
        "--certificate", metavar="FILE", help="for TLS; without it, the server listens to this machine only"
    )
    made.add_argument("--key", metavar="FILE", help="the key of the certificate")
    made.add_argument(
        "--insecure", action="store_true", help="listen without TLS: something else protects the connection"
    )
    made.add_argument(
        "--step",
        metavar="S",
        type=float,
        default=0.05,
        help="the step of the grid on which replies leave (default: 0.05 s)",
    )
    made.add_argument(
        "--headroom", metavar="X", type=float, default=1.5,
        help="an answer is due after X times what its plan should take (default: 1.5; more on a slower machine)",
    )  # fmt: skip
    made.add_argument(
        "--seconds", metavar="S", type=float, default=60, help="the most seconds that an answer may take (default: 60)"
    )
    made.add_argument("--log", metavar="FILE", help="append the log to a file (default: standard error)")
    made = command(
        commands, "demo", "demo", help="the whole loop on a real health survey: declare, ask, be refused, look it up"
    )
    made.add_argument("--keep", metavar="FOLDER", help="make the database in this new folder, and keep it")
    made = command(
        commands, "completion", "completion", help="print a script that makes a shell complete commands and options",
        more="""bash   eval "$(dalenius completion bash)", in ~/.bashrc
zsh    eval "$(dalenius completion zsh)", in ~/.zshrc
fish   dalenius completion fish | source, in ~/.config/fish/config.fish""",
    )  # fmt: skip
    made.add_argument("shell", choices=SHELLS, help="your shell")


def add_checks(commands: Commands) -> None:
    """check."""
    made = command(
        commands, "check", "check", help="check the system itself, or an engine; exit code 5 if something is wrong",
        more=_more(),
    )  # fmt: skip
    made.add_argument("what", choices=(*CHECKS, "engine", "all"), help="what to check")
    made.add_argument(
        "folder", metavar="FOLDER|URL", nargs="?",
        help="the folder of a database, whose catalog is then used with made-up rows, or the address of an engine",
    )  # fmt: skip
    number = made.add_mutually_exclusive_group()
    number.add_argument(
        "--count", "--plans", "--n", metavar="N", dest="count",
        help="how many cases: plans, draws, mutations and so on (default: enough for every change; 1e6 is understood)",
    )  # fmt: skip
    number.add_argument("--full", action="store_true", help="as many cases as the goal of each check asks for")
    made.add_argument(
        "--expressions",
        metavar="N",
        type=int,
        default=2_000,
        help="for engine: how many expressions to generate (default: 2000)",
    )
    made.add_argument("--seed", metavar="S", type=int, default=0, help="the seed of the made-up cases (default: 0)")
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
    "           sc://host:port) agrees with the reference, on made-up rows; without a URL, whether DuckDB does",
    "",
    "replay, bounding, ledger and all take a FOLDER: replay and bounding make rows up with its catalog and read none",
    "of its own, ledger recomputes its chain and every balance independently. Nothing is charged, and nothing is",
    "written but temporary files and tables. docs/checks.md says what each check shows, and for how long it runs.",
)
