"""Aggregates for frames: what is asked of all rows of a group. A text names a column."""

from __future__ import annotations

from dalenius.privacy.numbers import Number, exact_written
from dalenius.query.frames.formulas import Formula, named
from dalenius.query.syntax import Apply, Constant


def count(column: str | Formula | None = None) -> Formula:
    """The number of rows, or of those where the column is not missing."""
    return Formula(Apply("count", () if column is None else (named(column).term,)))


def count_distinct(column: str | Formula) -> Formula:
    """The number of different units, or of different values."""
    return Formula(Apply("count", (named(column).term,), distinct=True))


def total(column: str | Formula) -> Formula:
    """The sum of a column."""
    return _of("sum", column)


def mean(column: str | Formula) -> Formula:
    """The mean of a column."""
    return _of("avg", column)


def variance(column: str | Formula) -> Formula:
    """The sample variance of a column."""
    return _of("variance", column)


def stddev(column: str | Formula) -> Formula:
    """The sample standard deviation of a column."""
    return _of("stddev", column)


def covariance(column: str | Formula, other: str | Formula) -> Formula:
    """The sample covariance of two columns."""
    return _of("covar", column, other)


def correlation(column: str | Formula, other: str | Formula) -> Formula:
    """The correlation of two columns."""
    return _of("corr", column, other)


def minimum(column: str | Formula) -> Formula:
    """The smallest value of a column."""
    return _of("min", column)


def maximum(column: str | Formula) -> Formula:
    """The largest value of a column."""
    return _of("max", column)


def median(column: str | Formula) -> Formula:
    """The median of a column."""
    return _of("median", column)


def robust_median(column: str | Formula) -> Formula:
    """The median of a column with noise as small as the values around it allow: for dense values on a wide range. Its
    noise depends on the values, so it has no error bar; `median` has one."""
    return _of("robust_median", column)


def robust_quantile(column: str | Formula, p: Number) -> Formula:
    """Another quantile than the median, as `robust_median`."""
    return Formula(Apply("robust_quantile", (named(column).term, Constant(exact_written(p=p)))))


def robust_trimmed_mean(column: str | Formula, share: Number) -> Formula:
    """The mean of a column without a share of its least and of its largest values, below 1/2 at each end, with noise as
    small as the values that are left allow."""
    return Formula(Apply("robust_trimmed_mean", (named(column).term, Constant(exact_written(share=share)))))


def robust_scale(column: str | Formula) -> Formula:
    """The interquartile range of a column to within a factor, or nothing where few units could change its size."""
    return _of("robust_scale", column)


def stable_mode(column: str | Formula) -> Formula:
    """The most frequent value of a column, exactly, or nothing where few units could change it. The values need not be
    public."""
    return _of("stable_mode", column)


def stable_median(column: str | Formula) -> Formula:
    """The median of a column, exactly, or nothing where few units could change it: for columns with many equal
    values."""
    return _of("stable_median", column)


def stable_quantile(column: str | Formula, p: Number) -> Formula:
    """Another quantile than the median, as `stable_median`."""
    return Formula(Apply("stable_quantile", (named(column).term, Constant(exact_written(p=p)))))


def proposed_median(column: str | Formula, bound: Number) -> Formula:
    """The median of a column with noise for units that move it by at most `bound`, or nothing where one could move it
    further, or few steps away from there."""
    return Formula(Apply("proposed_median", (named(column).term, Constant(exact_written(bound=bound)))))


def proposed_quantile(column: str | Formula, p: Number, bound: Number) -> Formula:
    """Another quantile than the median, as `proposed_median`."""
    given = Constant(exact_written(p=p)), Constant(exact_written(bound=bound))
    return Formula(Apply("proposed_quantile", (named(column).term, *given)))


def quantile(column: str | Formula, p: Number) -> Formula:
    """The value that a part `p` of the rows does not exceed."""
    return Formula(Apply("quantile", (named(column).term, Constant(exact_written(p=p)))))


def mode(column: str | Formula) -> Formula:
    """The most frequent value of a column."""
    return _of("mode", column)


def histogram(column: str | Formula) -> Formula:
    """The count of every value of a column that has public values."""
    return _of("histogram", column)


def _of(function: str, *columns: str | Formula) -> Formula:
    return Formula(Apply(function, tuple(named(column).term for column in columns)))
