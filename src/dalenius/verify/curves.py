"""The delta of a finite mechanism as a function of e^epsilon: the largest of straight lines, kept exactly.

For one pair of inputs and one event S the gap P[S] - e^epsilon Q[S] is a line in e^epsilon. For every e^epsilon the
worst event holds the outcomes with a likelihood ratio above it, so a pair has as many lines as it has ratios; delta is
the largest line over all pairs, and a claim is compared with rational numbers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, TypeAlias

from dalenius.privacy.odds import Extended

Masses: TypeAlias = Mapping[Any, Fraction]


@dataclass(frozen=True, slots=True)
class Line:
    """The event of the `size` outcomes that `first` makes likeliest compared with `second`: its two probabilities."""

    mass: Fraction
    other: Fraction
    first: Hashable
    second: Hashable
    size: int

    def at(self, odds: Fraction) -> Fraction:
        return self.mass - odds * self.other


@dataclass(frozen=True, slots=True)
class Piece:
    """For e^epsilon from `start` to `end`, delta is mass - e^epsilon other; `line` says for which pair and event."""

    start: Fraction
    end: Extended
    line: Line

    @property
    def mass(self) -> Fraction:
        return self.line.mass

    @property
    def other(self) -> Fraction:
        return self.line.other


@dataclass(frozen=True, slots=True)
class Curve:
    """All lines that matter for e^epsilon >= 1, steepest first; where none is above 0, delta is 0."""

    lines: tuple[Line, ...]

    def worst(self, odds: Fraction) -> Line | None:
        """The line that is largest at e^epsilon = odds, if one is above 0 there."""
        best = max(self.lines, key=lambda line: line.at(odds), default=None)
        return best if best is not None and best.at(odds) > 0 else None

    def delta(self, odds: Fraction) -> Fraction:
        worst = self.worst(odds)
        return worst.at(odds) if worst else Fraction(0)

    def odds(self, delta: Fraction) -> Extended:
        """The least e^epsilon, not below 1, at which the curve is at most delta; infinite if there is none."""
        above = [line for line in self.lines if line.mass > delta]
        if any(not line.other for line in above):
            return math.inf
        return max([Fraction(1), *((line.mass - delta) / line.other for line in above)])

    def pieces(self) -> tuple[Piece, ...]:
        """The stretches of e^epsilon, from 1 on, on which one line is the largest and above 0."""
        found: list[Piece] = []
        for line, after in zip(self.lines, (*self.lines[1:], None), strict=False):
            start = found[-1].end if found else Fraction(1)
            end = _meeting(line, after) if after else line.mass / line.other if line.other else math.inf
            if isinstance(start, Fraction) and end > start:
                found.append(Piece(start, end, line))
        return tuple(found)


def curve(lines: Iterable[Line]) -> Curve:
    """The upper envelope of lines, for e^epsilon >= 1 and above 0."""
    steepest: dict[Fraction, Line] = {}
    for line in lines:
        known = steepest.get(line.other)
        if line.mass > line.other and (known is None or line.mass > known.mass):
            steepest[line.other] = line
    kept: list[Line] = []
    for line in sorted(steepest.values(), key=lambda line: -line.other):
        while kept and (line.at(Fraction(1)) >= kept[-1].at(Fraction(1)) or _hidden(kept, line)):
            kept.pop()
        kept.append(line)
    while len(kept) > 1 and kept[-1].other and _meeting(kept[-2], kept[-1]) >= _zero(kept[-1]):
        kept.pop()
    return Curve(tuple(kept))


def lines(first: Masses, second: Masses, names: tuple[Hashable, Hashable], missing: Fraction) -> Iterator[Line]:
    """One line for each likelihood ratio above 1; `missing` is added to every event, as the mass that is not listed."""
    mass, other, size = missing, Fraction(0), 0
    if missing:
        yield Line(mass, other, *names, size)
    likelier = (outcome for outcome in ranked(first, second) if ratio_of(first, second, outcome) > 1)
    for _, alike in groupby(likelier, key=lambda outcome: ratio_of(first, second, outcome)):
        for outcome in alike:
            mass, other, size = mass + first[outcome], other + second.get(outcome, Fraction(0)), size + 1
        yield Line(mass, other, *names, size)


def ranked(first: Masses, second: Masses) -> Sequence[Any]:
    """The outcomes of the first distribution, those first that it makes likelier by the largest factor."""
    return sorted(
        (outcome for outcome, mass in first.items() if mass),
        key=lambda outcome: ratio_of(first, second, outcome),
        reverse=True,
    )


def ratio_of(first: Masses, second: Masses, outcome: Any) -> Extended:
    other = second.get(outcome)
    return first[outcome] / other if other else math.inf


def _hidden(kept: Sequence[Line], line: Line) -> bool:
    """Whether the last line is nowhere above both the line before it and the new one."""
    return len(kept) > 1 and _meeting(kept[-2], line) <= _meeting(kept[-2], kept[-1])


def _meeting(steep: Line, flat: Line) -> Fraction:
    """Where the flatter line begins to be above the steeper one."""
    return (steep.mass - flat.mass) / (steep.other - flat.other)


def _zero(line: Line) -> Fraction:
    return line.mass / line.other
