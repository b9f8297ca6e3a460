"""The query classes of the textbook as finite, exact objects: what they answer and how far one neighbour moves them.

A row stands for one protected thing: where a person has many rows, the person with all of them is the row here (see
`databases.by_unit`), and sensitivities hold for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Self, TypeAlias

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace, stated
from dalenius.privacy.numbers import Number, probability, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.textbook.privacy.databases import MOST_CELLS

Row: TypeAlias = Any  # hashable; a database of one kind of rows fits a query over the same kind
Bits: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LinearQuery:
    """A weight in [0, 1] for every row of a finite universe; on a database it gives their sum or their average.

    Textbook: S1.6.
    """

    name: str
    weights: Mapping[Row, Fraction]

    def __init__(self, name: str, weights: Mapping[Row, Number]) -> None:
        object.__setattr__(self, "name", name)
        exact = {row: probability(weight=weight) for row, weight in weights.items()}
        object.__setattr__(self, "weights", exact)

    @classmethod
    def counting(cls, name: str, predicate: Callable[[Row], bool], universe: Iterable[Row]) -> Self:
        """How many rows have a property: weight 1 where it holds, 0 elsewhere."""
        return cls(name, {row: int(bool(predicate(row))) for row in universe})

    @property
    def is_counting(self) -> bool:
        """Whether every weight is 0 or 1."""
        return set(self.weights.values()) <= {0, 1}

    def sum(self, database: Mapping[Row, int]) -> Fraction:
        """The total weight of the rows."""
        if not database.keys() <= self.weights.keys():
            raise InvalidParameter("database", "one with other rows", allowed="rows of the query's universe only")
        return sum((count * self.weights[row] for row, count in database.items()), Fraction(0))

    def average(self, database: Mapping[Row, int]) -> Fraction:
        """The average weight of the rows of a database that is not empty."""
        rows = sum(database.values())
        if not rows:
            raise InvalidParameter("database", "empty", allowed="a database with at least one row")
        return self.sum(database) / rows

    def __hash__(self) -> int:
        return hash((self.name, frozenset(self.weights.items())))


@dataclass(frozen=True, slots=True)
class LinearQueries:
    """Several linear queries over one universe, asked together.

    Textbook: S1.6.
    """

    queries: tuple[LinearQuery, ...]

    def __post_init__(self) -> None:
        if not self.queries:
            raise InvalidParameter("queries", (), allowed="at least one query")
        if any(query.weights.keys() != self.queries[0].weights.keys() for query in self.queries):
            raise InvalidParameter("queries", len(self.queries), allowed="queries over the same universe")

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[LinearQuery]:
        return iter(self.queries)

    @property
    def universe(self) -> tuple[Row, ...]:
        """Every possible row."""
        return tuple(self.queries[0].weights)

    def sums(self, database: Mapping[Row, int]) -> tuple[Fraction, ...]:
        """The total of every query."""
        return tuple(query.sum(database) for query in self.queries)

    def averages(self, database: Mapping[Row, int]) -> tuple[Fraction, ...]:
        """The average of every query."""
        return tuple(query.average(database) for query in self.queries)

    def sum_sensitivity(self, neighbours: Neighbours | None) -> Sensitivity:
        """The exact sensitivity of all sums together: at most 1 for each query.

        Adding a row adds its column of weights; replacing a row adds the difference of two columns. Weights are not
        negative, so additions only raise sums (monotone); a replacement can raise one and lower another.
        Textbook: S1.6, S3.1, S3.2.
        """
        columns = [tuple(query.weights[row] for query in self.queries) for row in self.universe]
        if isinstance(stated(neighbours), AddRemove):
            return _largest(columns, monotone=True).under(neighbours)
        moves = [tuple(a - b for a, b in zip(x, y, strict=True)) for x, y in combinations(columns, 2)]
        return _largest(moves or [(Fraction(0),)], monotone=len(self) == 1).under(neighbours)

    def average_sensitivity(self, neighbours: Neighbours | None, *, size: int) -> Sensitivity:
        """The exact sensitivity of all averages over `size` rows: that of the sums divided by the size.

        Guarantee: only for replacing, where the number of rows is public. Adding a row changes the divisor too.
        Textbook: S1.6, S3.1.
        """
        if not isinstance(stated(neighbours), Replace):
            raise TheoremDoesNotApply(
                "the sensitivity 1/n of an average",
                needs="neighbours by replacing, so that the number n of rows is public",
                given=str(neighbours),
                instead="a noisy sum and a noisy count",
            )
        sums, rows = self.sum_sensitivity(neighbours), whole(1, size=size)
        assert sums.l1 is not None
        assert sums.l2_squared is not None
        assert sums.linf is not None
        return Sensitivity(
            l1=sums.l1 / rows, l2_squared=sums.l2_squared / rows**2, linf=sums.linf / rows, monotone=sums.monotone
        ).under(neighbours)


def _largest(moves: Sequence[tuple[Fraction, ...]], *, monotone: bool) -> Sensitivity:
    return Sensitivity(
        l1=max(sum((abs(entry) for entry in move), Fraction(0)) for move in moves),
        l2_squared=max(sum((entry * entry for entry in move), Fraction(0)) for move in moves),
        linf=max(abs(entry) for move in moves for entry in move),
        monotone=monotone,
    )


def cube(features: int) -> tuple[Bits, ...]:
    """All rows of `features` bits."""
    _affordable(queries=1, rows=2 ** whole(1, features=features))
    return tuple(product((0, 1), repeat=features))


def monotone_conjunctions(features: int) -> LinearQueries:
    """How many rows have all features of a set, for each of the 2^d sets.

    Reference: Dwork & Roth 2014, Example 4.1.
    Textbook: S1.6.
    """
    _affordable(queries=2 ** whole(1, features=features), rows=2**features)
    return LinearQueries(tuple(_conjunction(chosen, cube(features)) for chosen in _subsets(features)))


def conjunctions(features: int) -> LinearQueries:
    """Conjunctions in which features may be negated: monotone ones over 2d features, the second half negated.

    All 2^{2d} of them, also the contradictory ones, which count nobody.
    Reference: Dwork & Roth 2014, Example 4.1.
    Textbook: S1.6.
    """
    _affordable(queries=4 ** whole(1, features=features), rows=2**features)
    doubled = {row + tuple(1 - bit for bit in row): row for row in cube(features)}
    queries = (_conjunction(chosen, tuple(doubled)) for chosen in _subsets(2 * features))
    return LinearQueries(tuple(LinearQuery(q.name, {doubled[row]: w for row, w in q.weights.items()}) for q in queries))


def marginals(features: int, *, ways: int) -> LinearQueries:
    """The monotone conjunctions of exactly `ways` features, C(d, k) of them.

    Reference: Dwork & Roth 2014, Example 4.1.
    Textbook: S1.6.
    """
    if not 0 <= ways <= features:
        raise InvalidParameter("ways", ways, allowed=f"between 0 and {features}, the number of features")
    return LinearQueries(tuple(_conjunction(chosen, cube(features)) for chosen in combinations(range(features), ways)))


def intervals(universe: Sequence[int]) -> LinearQueries:
    """How many rows lie in [a, b], for every pair a <= b of the universe, and in the empty interval.

    Textbook: S1.6.
    """
    points = sorted(universe)
    ends = [(a, b) for i, a in enumerate(points) for b in points[i:]]
    empty = LinearQuery("the empty interval", dict.fromkeys(points, 0))
    return LinearQueries((empty, *(LinearQuery(f"[{a}, {b}]", _inside(a, b, points)) for a, b in ends)))


def histogram_query(cells: Mapping[str, Iterable[Row]]) -> LinearQueries:
    """How many rows lie in each of a list of disjoint cells, fixed before the data are seen.

    Reference: Dwork & Roth 2014, Example 3.2.
    Textbook: S1.6.
    """
    parts = {name: tuple(rows) for name, rows in cells.items()}
    universe = [row for rows in parts.values() for row in rows]
    if len(set(universe)) != len(universe):
        raise InvalidParameter("cells", sorted(parts), allowed="disjoint cells")
    return LinearQueries(
        tuple(LinearQuery.counting(name, set(rows).__contains__, universe) for name, rows in parts.items())
    )


def _conjunction(chosen: tuple[int, ...], rows: Sequence[Bits]) -> LinearQuery:
    name = " and ".join(f"x{feature + 1}" for feature in chosen) or "everybody"
    return LinearQuery(name, {row: int(all(row[feature] for feature in chosen)) for row in rows})


def _subsets(features: int) -> Iterator[tuple[int, ...]]:
    return (chosen for size in range(features + 1) for chosen in combinations(range(features), size))


def _inside(least: int, most: int, points: Sequence[int]) -> dict[Row, int]:
    return {row: int(least <= row <= most) for row in points}


def _affordable(*, queries: int, rows: int) -> None:
    if queries * rows > MOST_CELLS:
        raise InvalidParameter(
            "features",
            f"{queries} queries over {rows} rows",
            allowed=f"few enough for {MOST_CELLS} weights",
            hint="Choose some of the queries, or fewer features.",
        )
