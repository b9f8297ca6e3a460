"""Sensitivities that everybody looks up: which statistics move little when one row changes, and which move a lot.

LOW statistics move by a part of their range that vanishes as the database grows; HIGH ones may jump across a fixed part
of their range however many rows there are, so noise for their sensitivity drowns them. A row stands for one protected
thing: for a person with up to k rows in a count, take k times the figure.
Reference: Dwork & Roth 2014, Section 3.3; Nissim, Raskhodnikova & Smith 2007 (the median).
"""

from __future__ import annotations

from fractions import Fraction

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.neighbours import Neighbours, Replace, stated
from dalenius.privacy.numbers import Number, exact, not_negative, whole
from dalenius.privacy.sensitivity import Sensitivity

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
