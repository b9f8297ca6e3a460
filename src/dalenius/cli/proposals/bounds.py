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
from dalenius.query.tables import Most
from dalenius.query.types import Domain, Int, Real

LARGEST, SMALLEST = 12, -6
"""Powers of ten: provisional bounds are ±10^12, and numbers that are not whole are kept in steps of 10^-6."""
SURE = Fraction(999_999, 1_000_000)
"""How surely a count is above what noise alone gives, for it to be taken as one of people."""
_NEGLIGIBLE = 20


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


def edges(kind: str) -> list[Decimal]:
    """0, and 1, 2 and 5 times every power of ten up to 10^12, with both signs."""
    powers = range(0 if kind == "Int" else SMALLEST, LARGEST)
    above = [Decimal(factor).scaleb(power) for power in powers for factor in (1, 2, 5)] + [Decimal(1).scaleb(LARGEST)]
    return [*(-edge for edge in reversed(above)), Decimal(0), *above]


def around(edges: Sequence[Decimal], counts: Mapping[int, int], noise: Fraction) -> tuple[Decimal, Decimal] | None:
    """The edges around all counts that stand out of the noise, and one more on each side for values that only few have,
    but not beyond zero; an end near zero becomes zero.

    >>> around([Decimal(0), Decimal(50), Decimal(100), Decimal(200)], {0: 3, 1: 400, 2: 90, 3: -2}, Fraction(20))
    (Decimal('0'), Decimal('200'))
    """
    places = sorted(place for place, count in counts.items() if count > noise)
    if not places:
        return None
    low, high = max(places[0] - 1, 0), min(places[-1], len(edges) - 1)
    lower = edges[low] if edges[low] == 0 else edges[max(low - 1, 0)]
    upper = edges[high] if edges[high] == 0 else edges[min(high + 1, len(edges) - 1)]
    if 0 < lower * _NEGLIGIBLE <= upper:
        lower = Decimal(0)
    if lower <= upper * _NEGLIGIBLE < 0:
        upper = Decimal(0)
    return lower, upper


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
