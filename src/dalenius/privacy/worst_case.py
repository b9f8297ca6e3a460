"""Worst cases by enumeration: exact sensitivities and privacy figures over all small databases.

These are the referees of every formula: slow, and right by definition. A function that is given here sees one multiset
of rows at a time. Under add/remove two databases count as neighbours when both have one of the stated sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from dalenius.errors import InvalidParameter
from dalenius.privacy.databases import all_databases, size
from dalenius.privacy.distributions import Distribution
from dalenius.privacy.divergences import hockey_stick
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, exact
from dalenius.privacy.sensitivity import Sensitivity

Row = TypeVar("Row", bound=Hashable)
Candidate = TypeVar("Candidate")
Parameter = TypeVar("Parameter")
Output = TypeVar("Output", bound=Hashable)


def neighbouring(
    *, universe: Sequence[Row], sizes: Iterable[int], neighbours: Neighbours
) -> Iterator[tuple[Counter[Row], Counter[Row]]]:
    """Every ordered pair of neighbours among the databases of these sizes."""
    relation, allowed = stated(neighbours), set(sizes)
    for database in all_databases(tuple(universe), sorted(allowed)):
        for other in relation.around(database, tuple(universe)):
            if size(other) in allowed:
                yield database, other


def global_sensitivity(
    function: Callable[[Counter[Row]], Sequence[Number] | Number],
    *,
    universe: Sequence[Row],
    sizes: Iterable[int],
    neighbours: Neighbours,
) -> Sensitivity:
    """The exact sensitivity of a function, a number or a vector, over all neighbours of these sizes.

    Reference: Dwork & Roth 2014, Definitions 3.1 and 3.8.
    Textbook: S3.1, S3.2.
    """
    moves = [
        change(function(first), function(second))
        for first, second in neighbouring(universe=universe, sizes=sizes, neighbours=neighbours)
    ]
    if not moves:
        raise InvalidParameter("sizes", "no two neighbours", allowed="sizes at which neighbours exist")
    return Sensitivity(
        l1=max(sum((abs(entry) for entry in move), Fraction(0)) for move in moves),
        l2_squared=max(sum((entry * entry for entry in move), Fraction(0)) for move in moves),
        linf=max((abs(entry) for move in moves for entry in move), default=Fraction(0)),
        monotone=all(min(move, default=0) >= 0 or max(move, default=0) <= 0 for move in moves),
        neighbours=neighbours,
    )


def utility_sensitivity(
    score: Callable[[Counter[Row], Candidate], Number],
    *,
    candidates: Sequence[Candidate],
    universe: Sequence[Row],
    sizes: Iterable[int],
    neighbours: Neighbours,
) -> Sensitivity:
    """The exact sensitivity of a score over a list of candidates that is fixed before the data are seen.

    `linf` is the largest change of any one candidate's score; how scores differ between candidates does not matter.
    Reference: Dwork & Roth 2014, Section 3.4 (the sensitivity of the utility score).
    Textbook: S3.3.
    """
    if not candidates:
        raise InvalidParameter("candidates", (), allowed="a list of at least one candidate")

    def scores(database: Counter[Row]) -> list[Number]:
        return [score(database, candidate) for candidate in candidates]

    return global_sensitivity(scores, universe=universe, sizes=sizes, neighbours=neighbours)


def worst_delta(
    mechanism: Callable[[Counter[Row], Parameter], Mapping[Output, Number]],
    *,
    parameters: Sequence[Parameter],
    universe: Sequence[Row],
    sizes: Iterable[int],
    neighbours: Neighbours,
    odds: Number | None = None,
    epsilon: Number | None = None,
) -> Fraction:
    """The least delta for which a mechanism M(w, x) is (epsilon, delta)-DP, for every public parameter w.

    Guarantee: over all events and all neighbours of these sizes; exact for `odds` = e^epsilon, rounded up for
    `epsilon`. The mechanism is given by the exact distribution of its output.
    Reference: Dwork & Roth 2014, Definition 2.4 and Section 2.3.3 (auxiliary parameters).
    Textbook: S1.3.
    """
    worst = Fraction(0)
    pairs = list(neighbouring(universe=universe, sizes=sizes, neighbours=neighbours))
    public = list(parameters)
    if not pairs or not public:
        raise InvalidParameter("sizes", "nothing to check", allowed="sizes at which neighbours exist, and a parameter")
    for parameter in public:
        for first, second in pairs:
            p, q = Distribution.of(mechanism(first, parameter)), Distribution.of(mechanism(second, parameter))
            worst = max(worst, hockey_stick(p, q, odds=odds, epsilon=epsilon))
    return worst


def change(first: Sequence[Number] | Number, second: Sequence[Number] | Number) -> tuple[Fraction, ...]:
    """The difference of two values of a statistic, coordinate by coordinate."""
    return tuple(a - b for a, b in zip(_vector(first), _vector(second), strict=True))


def _vector(value: Sequence[Number] | Number) -> tuple[Fraction, ...]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(exact(value=entry) for entry in value)
    return (exact(value=value),)
