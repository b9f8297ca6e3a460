"""Sensitivities that everybody looks up: which statistics move little when one row changes, and which move a lot.

LOW statistics move by a part of their range that vanishes as the database grows; HIGH ones may jump across a fixed part
of their range however many rows there are, so noise for their sensitivity drowns them. A row stands for one protected
thing: for a person with up to k rows in a count, take k times the figure.
Reference: Dwork & Roth 2014, Section 3.3; Nissim, Raskhodnikova & Smith 2007 (the median).

Worst cases by enumeration: exact sensitivities and privacy figures over all small databases.

These are the referees of every formula: slow, and right by definition. A function that is given here sees one multiset
of rows at a time. Under add/remove two databases count as neighbours when both have one of the stated sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.divergences import Distribution, hockey_stick
from dalenius.privacy.neighbours import Neighbours, Replace, stated
from dalenius.privacy.numbers import Number, exact, not_negative, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.textbook.privacy.databases import all_databases, size

__all__ = [
    "average",
    "bounded_sum",
    "change",
    "cluster_centres",
    "contingency_tables",
    "count",
    "covariance",
    "global_sensitivity",
    "histogram",
    "median",
    "neighbouring",
    "order_statistic",
    "utility_sensitivity",
    "worst_delta",
]

LOW = ("count", "bounded_sum", "histogram", "contingency_tables", "average", "covariance")
HIGH = ("order_statistic", "median", "cluster_centres")


def count(neighbours: Neighbours | None) -> Sensitivity:
    """How many rows have a property, however many columns it involves: 1, also for 'both of two bits are set'.

    Textbook: S3.4.
    """
    return Sensitivity.of(1).under(neighbours)


def bounded_sum(neighbours: Neighbours | None, *, least: Number, most: Number) -> Sensitivity:
    """The sum of values in [least, most]: the largest absolute value, or the width when a row is replaced.

    Textbook: S3.4.
    """
    low, high = exact(least=least), exact(most=most)
    width = _width(low, high)
    replaces = isinstance(stated(neighbours), Replace)
    return Sensitivity.of(width if replaces else max(abs(low), abs(high))).under(neighbours)


def histogram(neighbours: Neighbours | None) -> Sensitivity:
    """The counts of disjoint cells: one cell changes by 1, or two when a row is replaced.

    Textbook: S3.4.
    """
    return contingency_tables(neighbours, tables=1)


def contingency_tables(neighbours: Neighbours | None, *, tables: int) -> Sensitivity:
    """Several contingency tables (marginals) of the same rows: each is a histogram of its own.

    Textbook: S3.4.
    """
    steps = stated(neighbours).add_remove_steps
    cells = steps * whole(1, tables=tables)
    return Sensitivity.sparse(coordinates=cells, each=1, monotone=steps == 1, neighbours=neighbours)


def average(neighbours: Neighbours | None, *, width: Number, size: int) -> Sensitivity:
    """The average of values in an interval of this width over a public number of rows: width / n.

    Textbook: S3.4, S3.1.
    """
    return Sensitivity.of(not_negative(width=width) / _public_size(neighbours, size)).under(neighbours)


def covariance(neighbours: Neighbours | None, *, widths: tuple[Number, Number], size: int) -> Sensitivity:
    """The covariance, divided by n, of two columns with these widths: the product of the widths times (n - 1) / n^2.

    Reference: moving one row changes the covariance by (n - 1) / n^2 times the change of its product of deviations from
    the means of the other rows, and that product spans at most the product of the widths.
    Textbook: S3.4.
    """
    rows = _public_size(neighbours, size)
    spread = not_negative(width=widths[0]) * not_negative(width=widths[1])
    return Sensitivity.of(spread * Fraction(rows - 1, rows * rows)).under(neighbours)


def order_statistic(neighbours: Neighbours | None, *, least: Number, most: Number) -> Sensitivity:
    """The value of a fixed rank among values in [least, most]: the whole width, whatever the number of rows.

    Textbook: S3.4.
    """
    return Sensitivity.of(_width(exact(least=least), exact(most=most))).under(neighbours)


def median(neighbours: Neighbours | None, *, least: Number, most: Number) -> Sensitivity:
    """The median of values in [least, most]: the whole width.

    Textbook: S3.4.
    """
    return order_statistic(neighbours, least=least, most=most)


def cluster_centres(neighbours: Neighbours | None, *, centres: int, dimensions: int, width: Number) -> Sensitivity:
    """The best `centres` cluster centres in a box: an upper bound, each coordinate of each may cross the box.

    One row can flip which clustering is best, so a fixed part of this is reached for every number of rows.
    Textbook: S3.4.
    """
    entries = whole(1, centres=centres) * whole(1, dimensions=dimensions)
    return Sensitivity.sparse(coordinates=entries, each=not_negative(width=width)).under(neighbours)


def _public_size(neighbours: Neighbours | None, size: int) -> int:
    if not isinstance(stated(neighbours), Replace):
        raise TheoremDoesNotApply(
            "a sensitivity that is divided by n",
            needs="neighbours by replacing, so that the number n of rows is public",
            given=str(neighbours),
            instead="noisy sums and a noisy count",
        )
    return whole(1, size=size)


def _width(least: Fraction, most: Fraction) -> Fraction:
    if least > most:
        raise InvalidParameter("least", least, allowed=f"at most {most}, the upper bound")
    return most - least


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
