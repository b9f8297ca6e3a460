"""Exact checks of selection on small cases: every change of scores that a neighbour can make, and the worst loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from flint import arb

from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import lower, precise, upper

ROUNDING = Fraction(1, 10**20)
"""Enclosures are far narrower than this."""

Scores = tuple[int, ...]
Law = Callable[[Scores], Any]
RELATIONS: tuple[Neighbours, ...] = (AddRemove("row"), Replace("row"))


def changes(candidates: int, neighbours: Neighbours) -> list[Scores]:
    """How one person's answers to `candidates` yes/no questions can change the counts of yes."""
    people = list(product((0, 1), repeat=candidates))
    if isinstance(neighbours, AddRemove):
        return people + [tuple(-answer for answer in person) for person in people]
    return [tuple(b - a for a, b in zip(old, new, strict=True)) for old in people for new in people]


def grid(candidates: int, most: int) -> list[Scores]:
    return list(product(range(most + 1), repeat=candidates))


def worst_loss(law: Law, scores: Iterable[Scores], moves: Sequence[Scores]) -> Fraction:
    """The largest |ln(p / q)| over all outcomes and neighbours, as its upper end; losses are never rounded down."""
    return max(abs(loss) for base in scores for move in moves for loss in losses(law, base, shifted(base, move)))


def losses(law: Law, here: Scores, there: Scores) -> list[Fraction]:
    """The privacy loss of each outcome, the end of its enclosure that is further from zero."""
    first, second = _values(law(here)), _values(law(there))
    with precise():
        ratios = [(p / q).log() for p, q in zip(first, second, strict=True)]
        return [max(upper(ratio), -lower(ratio)) * (1 if ratio > 0 else -1) for ratio in ratios]


def shifted(scores: Scores, move: Scores) -> Scores:
    return tuple(score + step for score, step in zip(scores, move, strict=True))


def remembered(law: Law) -> Law:
    """The law, computed once for each vector of scores."""
    known: dict[Scores, Any] = {}

    def lookup(scores: Scores) -> Any:
        if scores not in known:
            known[scores] = law(scores)
        return known[scores]

    return lookup


def is_law(probabilities: Iterable[arb]) -> bool:
    """Whether the enclosures are narrow and can sum to one."""
    with precise():
        total = sum(probabilities, arb(0))
        return bool(total.contains(arb(1))) and upper(total) - lower(total) < ROUNDING


def _values(law: Any) -> list[arb]:
    return list(law.values()) if isinstance(law, Mapping) else list(law)
