"""What a registry says about one population and one study. Shares are parts of the population's whole budget."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class StudyRecord:
    """A quota inside a population's budget. What it paid for reading stored answers counts as spent here, and does not
    count for the population."""

    name: str
    purpose: str
    quota: Fraction
    reserve: Fraction
    spent: Fraction
    start: dt.datetime | None
    end: dt.datetime | None
    releases: int


@dataclass(frozen=True)
class PopulationRecord:
    """A population: what for, who is protected, the cap, and what was spent of it.

    `weekly` is the share that was spent a
    week lately, `weekly_overall` since the first release; `exhausted` is the day on which nothing will be left at that
    rate.
    """

    name: str
    purpose: str
    tables: tuple[str, ...]
    unit: str
    neighbours: str
    epsilon: Fraction
    delta: Fraction
    spent: Fraction
    weekly: Fraction
    weekly_overall: Fraction
    exhausted: dt.date | None
    retires: dt.datetime | None
    retired: bool
    releases: int
    first: dt.datetime | None
    last: dt.datetime | None
    blocks: tuple[tuple[str, Fraction], ...] = ()
    """The share that the units of each block bear; `spent` is the largest."""
    studies: tuple[StudyRecord, ...] = ()
    removed: bool = False
    """Whether the catalog has it no longer. What was spent stays spent."""

    @property
    def left(self) -> Fraction:
        return max(Fraction(0), 1 - self.spent)
