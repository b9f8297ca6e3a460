"""Bounds of number columns, estimated privately: how many units' values lie between powers of ten, and their 2- and
5-fold.

It is an ordinary question about a provisional table, with bounds that are declared beforehand and the same for every
file. It is priced, charged and answered like any other, through the one door; what is made of the noisy counts is
post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dalenius.curator.answers.answers import Answer
from dalenius.curator.databases import Database
from dalenius.curator.names import percent
from dalenius.query.estimates.ranges import LARGEST, SMALLEST, around, edges
from dalenius.query.tables import Most
from dalenius.query.types import Domain, Int, Real

SURE = Fraction(999_999, 1_000_000)
"""How surely a count is above what noise alone gives, for it to be taken as one of people."""


@dataclass(frozen=True)
class Estimate:
    """Bounds by column, None where nothing stood out of the noise, and what it cost in all and for each column."""

    bounds: Mapping[str, tuple[Decimal, Decimal] | None]
    charge: str
    each: str


def estimated(
    db: Database,
    table: str,
    source: str | Path,
    *,
    columns: Mapping[str, str],
    epsilon: str,
    population: str,
    unit: str,
    most: Most | None,
    rename: Mapping[str, str],
    nulls: Sequence[str] = (),
    agreed: Callable[[str], bool] = lambda offer: True,
) -> Estimate | None:
    """Bounds of Int and Real columns, for `epsilon` in all; None if the price, which is free to see, is not agreed."""
    name = _unused(f"{table[:40]}_provisional", db.tables())
    wide = {column: _wide(kind) for column, kind in columns.items()}
    db.add_table(name, source, population=population, unit=unit, most=most, columns=wide, rename=rename, nulls=nulls)
    try:
        # One row of a unit is enough to see where its values lie, and keeps the noise as small as it can be.
        one = None if most is None else Most(rows=1, groups=1)
        return _asked(db, name, columns, population, epsilon, agreed, one)
    finally:
        db.remove_table(name)


def _asked(
    db: Database,
    table: str,
    columns: Mapping[str, str],
    population: str,
    epsilon: str,
    agreed: Callable[[str], bool],
    most: Most | None,
) -> Estimate | None:
    questions = {column: db.sql(question(table, column, kind), most=most) for column, kind in columns.items()}
    # Equal parts of what epsilon buys: a part of the budget adds up exactly, a part of epsilon does not.
    whole = next(iter(questions.values())).cost(epsilon=epsilon).shares[population]
    share, found = whole / len(questions), {}
    charge = f"{percent(whole)} of {population} (epsilon = {epsilon})"
    if not agreed(f"bounds of {', '.join(columns)} cost {charge}"):
        return None
    for column, asked in questions.items():
        noise = Fraction(asked.expected_error(share=share, level=SURE)["units"].fixed)
        answer = asked.run(share=share, fresh=True)
        found[column] = around(edges(columns[column]), _counts(answer), noise)
    return Estimate(found, charge, f"{percent(share)} of {population}")


def question(table: str, column: str, kind: str) -> str:
    """How many rows there are between any two edges that follow each other."""
    arms = " ".join(f"WHEN {column} < {edge:f} THEN {place}" for place, edge in enumerate(edges(kind)))
    bins = f"CASE {arms} ELSE {len(edges(kind))} END"
    return f"SELECT {bins} AS place, COUNT(*) AS units FROM {table} WHERE {column} IS NOT NULL GROUP BY place"  # noqa: S608


def _counts(answer: Answer) -> dict[int, int]:
    return {row["place"]: row["units"] for row in answer}


def _wide(kind: str) -> Domain:
    end = 10**LARGEST
    if kind == "Int":
        return Int(-end, end, nullable=True)
    return Real(-end, end, step=Decimal(1).scaleb(SMALLEST), nullable=True)


def _unused(name: str, known: Iterable[Any]) -> str:
    taken, made, count = {str(each).lower() for each in known}, name, 1
    while made.lower() in taken:
        count += 1
        made = f"{name}_{count}"
    return made
