"""How rich a class of queries is, and how many queries can be answered at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, least, precise, upper
from dalenius.textbook.privacy.queries import LinearQueries, LinearQuery, Row


def shatters(workload: LinearQueries, points: Sequence[Row]) -> bool:
    """Whether every subset of the points is picked out by some counting query.

    Reference: Dwork & Roth 2014, Definition 4.1.
    Textbook: S7.8.
    """
    if not all(query.is_counting for query in workload):
        raise InvalidParameter("workload", "linear queries", allowed="counting queries", hint="Use fat_shatters.")
    patterns = {tuple(query.weights[point] for point in points) for query in workload}
    return len(patterns) == 1 << len(points)


def vc_dimension(workload: LinearQueries) -> int:
    """The size of the largest set of points that is shattered, found by trying all.

    Reference: Dwork & Roth 2014, Definition 4.2.
    Textbook: S7.8.
    """
    return _largest(workload, lambda points: shatters(workload, points))


def vc_bound(count: int) -> int:
    """The most that the VC dimension of `count` queries can be: log2(count), rounded down. Not the natural logarithm.

    Reference: Dwork & Roth 2014, Lemma 4.7.
    Textbook: S7.8.
    """
    return whole(1, count=count).bit_length() - 1


def fat_shatters(workload: LinearQueries, points: Sequence[Row], *, margin: Number) -> bool:
    """Whether there are levels r such that every subset of the points is picked out with a margin.

    That is, for every subset some query is at least r + margin on its points and at most r - margin on the others.
    If any levels do, levels of the form (weight of a query) + margin do, so only these are tried.
    Reference: Kearns & Schapire 1994; Bartlett, Long & Williamson 1996 (fat-shattering dimension).
    Textbook: S7.8.
    """
    width = positive(margin=margin)
    levels = [{query.weights[point] + width for query in workload} for point in points]
    return any(_separated(workload, points, choice, width) for choice in product(*levels))


def _separated(workload: LinearQueries, points: Sequence[Row], levels: Iterable[Fraction], width: Fraction) -> bool:
    at = tuple(zip(points, levels, strict=True))
    patterns = {pattern for query in workload if (pattern := _pattern(query, at, width)) is not None}
    return len(patterns) == 1 << len(points)


def _pattern(query: LinearQuery, at: Sequence[tuple[Row, Fraction]], width: Fraction) -> tuple[bool, ...] | None:
    gaps = [query.weights[point] - level for point, level in at]
    return tuple(gap > 0 for gap in gaps) if all(abs(gap) >= width for gap in gaps) else None


def fat_shattering_dimension(workload: LinearQueries, *, margin: Number) -> int:
    """The size of the largest set of points that is shattered with a margin, found by trying all.

    For counting queries and any margin of at most 1/2 it is the VC dimension.
    Textbook: S7.8.
    """
    return _largest(workload, lambda points: fat_shatters(workload, points, margin=margin))


def _largest(workload: LinearQueries, shattered: Callable[[Sequence[Row]], bool]) -> int:
    # Subsets of a shattered set are shattered, so the search stops at the first size without any.
    size = 0
    while any(shattered(points) for points in combinations(workload.universe, size + 1)):
        size += 1
    return size


def laplace_error(*, queries: int, epsilon: Number, delta: Number, beta: Number) -> Fraction:
    """The largest error of that many counting queries, each with its own Laplace noise, except with probability beta.

    Noise of scale sqrt(8 k ln(1/delta)) / epsilon for each makes all together (epsilon, delta)-DP; the largest of k
    such values is below ln(k / beta) times the scale. Rounded up.
    Reference: Dwork & Roth 2014, Corollary 3.21 and Theorem 3.8.
    Textbook: S6.10.
    """
    count, target, event = whole(1, queries=queries), positive(epsilon=epsilon), inside_unit(delta=delta)
    failure = inside_unit(beta=beta)
    if target >= 1 or event > Fraction(1, 2):
        raise TheoremDoesNotApply(
            "the corollary of advanced composition",
            needs="epsilon below 1 and delta of at most 1/2",
            given=f"epsilon = {float(target):g}, delta = {float(event):g}",
            instead="a smaller epsilon, or the calibration in dalenius.accounting",
        )
    with precise():
        scale = (8 * count * ball(1 / event).log()).sqrt() / ball(target)
        return upper(scale * ball(count / failure).log())


def most_queries(*, error: Number, epsilon: Number, delta: Number, beta: Number) -> int:
    """How many counting queries can be answered within `error` by independent Laplace noise; 0 if not even one.

    On n rows an error of a small part of n allows about n^2 queries (up to logarithms), an error below the sampling
    error sqrt(n) about n. Correlated noise can answer exponentially many.
    Reference: Dwork & Roth 2014, Section 3.5.2, after Example 3.7.
    Textbook: S6.10.
    """
    target = positive(error=error)

    def too_many(count: int) -> bool:
        return count > 0 and laplace_error(queries=count, epsilon=epsilon, delta=delta, beta=beta) > target

    return least(too_many, guess=1) - 1
