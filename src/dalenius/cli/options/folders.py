"""Options of the commands that make a database and its tables."""

from __future__ import annotations

import argparse

from dalenius.cli.options.shared import Commands, as_json, asker, command, folder

_FILL_IN = """Only the names and types in the file's header are read, never a value. Bounds, steps and categories are
written into catalog.toml as question marks, and so are the types of a CSV file, which has none; the table cannot be
asked, and no row is imported, until the owner has filled them in and runs update-table (or the same command again).
A table of PostgreSQL (postgresql://reader@host/clinic#schema.table) or Spark (spark#events, local[2]#/data/events)
stays where it is, and questions run there. A password in the address goes into secrets.toml; since others on this
machine may see what is typed, rather leave it out, and let a ~/.pgpass file have it."""


def add(commands: Commands) -> None:
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
        "stay; left out, a table that stays elsewhere is looked at anew",
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
    asker(made)
    as_json(made)


def _yes(made: argparse.ArgumentParser) -> None:
    made.add_argument("--yes", action="store_true", help="do not ask first; needed where nobody can be asked")


def _partition(commands: Commands) -> None:
    made = command(
        commands, "partition", "partition", help="cut a population into blocks, each with the budget to itself",
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
        help="from which day on nothing more is charged; what was released can still be read",
    )
    made.add_argument(
        "--least-share",
        metavar="SHARE",
        default="0.001%",
        help="the least share of the budget that one question takes (default: 0.001%%, so 100,000 questions at most)",
    )
    made.add_argument("--yes", action="store_true", help="mean it, also where the budget promises little")


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
    made.add_argument("--unit", metavar="COLUMN", help="the column that says whose row it is, or a path to one")
    made.add_argument("--most-rows", metavar="N", type=int, help="of one unit, at most so many rows enter each group")
    made.add_argument(
        "--most-groups", metavar="N", type=int, help="of one unit, in at most so many groups of an answer"
    )
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
        help="a word of a CSV file that stands for no value, besides the empty field; may be repeated",
    )  # fmt: skip
    made.add_argument("--public", action="store_true", help="no row is about anybody who must be protected")
    made.add_argument(
        "--suggest-bounds",
        action="store_true",
        help="estimate bounds of the number columns privately; this is charged to the population",
    )
    made.add_argument("--epsilon", metavar="E", help="what the estimate of bounds may cost in all")
    made.add_argument(
        "--yes", action="store_true", help="estimate bounds without asking first; needed where nobody can be asked"
    )
    as_json(made)
