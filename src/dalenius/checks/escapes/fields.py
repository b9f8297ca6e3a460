"""Every place where somebody can write a text: for each, how a text gets in there and as far as it comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.csv as pa_csv

from dalenius.accounting.budget import Budget
from dalenius.query.frames.aggregates import count
from dalenius.query.frames.formulas import col
from dalenius.query.types import Category, Int, Text
from dalenius.session.databases import Database, create

Field: TypeAlias = Callable[[Database, str], object]

PRICE = "0.05"

_FRAMES = {
    "a whole question": "{}",
    "a term": "SELECT {} FROM visits",
    "a table": "SELECT COUNT(*) FROM {}",
    "a second table": "SELECT COUNT(*) FROM visits, {}",
    "behind a table": "SELECT COUNT(*) FROM visits {}",
    "a joined table": "SELECT COUNT(*) FROM visits JOIN {} ON TRUE",
    "a condition": "SELECT COUNT(*) FROM visits WHERE {}",
    "what is compared": "SELECT COUNT(*) FROM visits WHERE age = {}",
    "a key": "SELECT city, COUNT(*) FROM visits GROUP BY {}",
    "a bare alias": "SELECT COUNT(*) AS {} FROM visits",
    "an order": "SELECT COUNT(*) FROM visits ORDER BY {}",
    "a limit": "SELECT COUNT(*) FROM visits LIMIT {}",
    "an inner question": "WITH x AS ({}) SELECT COUNT(*) FROM x",
    "an argument": "SELECT SUM(ABS({})) FROM visits",
}
_QUOTED = {
    "a constant": ("SELECT COUNT(*) FROM visits WHERE icd = '{}'", "'"),
    "a pattern": ("SELECT COUNT(*) FROM visits WHERE icd LIKE '%{}%'", "'"),
    "a list of constants": ("SELECT COUNT(*) FROM visits WHERE icd IN ('a', '{}')", "'"),
    "a constant in a formula": ("SELECT COUNT(*) FROM visits WHERE CONCAT(icd, '{}') = REPLACE(icd, '{}', 'x')", "'"),
    "a quoted alias": ('SELECT COUNT(*) AS "{}" FROM visits', '"'),
    "a quoted name": (
        'SELECT "{}", COUNT(*) FROM (SELECT patient_id, city AS "{}" FROM visits) AS t GROUP BY "{}"', '"'
    ),
    "a quoted table": ('SELECT COUNT(*) FROM "{}"', '"'),
    "a quoted column": ('SELECT COUNT("{}") FROM visits', '"'),
}  # fmt: skip


def _sql(frame: str, quote: str = "") -> Field:
    def ask(db: Database, text: str) -> object:
        return db.sql(frame.replace("{}", text.replace(quote, quote * 2) if quote else text)).run(epsilon=PRICE)

    return ask


ANALYSTS: Mapping[str, Field] = {
    **{f"SQL: {name}": _sql(frame) for name, frame in _FRAMES.items()},
    **{f"SQL: {name}": _sql(frame, quote) for name, (frame, quote) in _QUOTED.items()},
    "Python: a table": lambda db, text: db.table(text).count().run(epsilon=PRICE),
    "Python: a column": lambda db, text: db.table("visits").where(col(text) == 1).count().run(epsilon=PRICE),
    "Python: a constant": lambda db, text: db.table("visits").where(col("icd") == text).count().run(epsilon=PRICE),
    "Python: a name of a result": lambda db, text: db.table("visits").agg(**{text: count()}).run(epsilon=PRICE),
    "Python: a name of a table": lambda db, text: db.table("visits").called(text).count().run(epsilon=PRICE),
    "a price": lambda db, text: db.table("visits").count().cost(epsilon=text),
    "an error": lambda db, text: db.table("visits").count().cost(error=text),
    "a level": lambda db, text: db.table("visits").count().cost(epsilon=PRICE, level=text),
    "the name of an attempt": lambda db, text: db.table("visits").count().run(epsilon=PRICE, key=text),
    "a receipt": lambda db, text: db.replay(text),
    "an analyst": lambda db, text: db.as_analyst(text),
}
"""What analysts write. Nothing of it may reach the engine but as a constant."""

ANSWERED = frozenset(
    {
        *(f"SQL: {name}" for name in (*_QUOTED, "a bare alias")),
        "Python: a constant", "Python: a name of a result", "Python: a name of a table", "the name of an attempt",
    }
)  # fmt: skip
"""Fields that take nearly any text, so that nearly every question is run."""

_PEOPLE = Budget(epsilon=3, delta="1e-6")


def _declared(**changes: object) -> Field:
    """A new database in which something is called by the text, and a question about it."""

    def declare(db: Database, text: str) -> object:
        names = {"population": "p", "table": "t", "column": "c", "value": "v", "purpose": "", "unit": "u"}
        names |= dict.fromkeys(changes, text)
        made = create()
        try:
            made.add_population(names["population"], budget=_PEOPLE, purpose=names["purpose"])
            rows = pa.table({names["unit"]: [1, 2], names["column"]: ["v", names["value"]], "n": [1, 2]})
            made.add_table(
                names["table"], rows, population=names["population"], unit=names["unit"], max_rows=1, max_groups=1,
                columns={names["column"]: Category("v", names["value"] + " "), "n": Int(0, 9)},
            )  # fmt: skip
            table = made.table(names["table"])
            return table.group_by(col(names["column"])).agg(n=count()).run(epsilon=1)
        finally:
            made.close()

    return declare


def file_named(folder: Path, text: str) -> object:
    """Import a file that is called by the text, as far as a file can be."""
    name = text.replace("/", "∕").replace("\0", "0").encode("utf-8", "replace").decode()[:60] or "x"
    path = folder / f"{name}.csv"
    made = create()
    try:
        pa_csv.write_csv(pa.table({"u": [1, 2], "word": ["a", "b"]}), path)
        made.add_population("p", budget=_PEOPLE)
        made.add_table(
            "t", path, population="p", unit="u", max_rows=1, max_groups=1, columns={"word": Text()}
        )  # fmt: skip
        return made.table("t").count().run(epsilon=1)
    finally:
        made.close()
        path.unlink(missing_ok=True)


OWNERS: Mapping[str, Field] = {
    "a population": _declared(population=True),
    "a table's name": _declared(table=True),
    "a column's name": _declared(column=True),
    "a unit's column": _declared(unit=True),
    "a value of a public list": _declared(value=True),
    "a purpose": _declared(purpose=True),
}
"""What owners write. It may name things, and read or write nothing beyond them."""
