"""A bound question: rows to summarise, public or private keys, statistics, and what is done with the noisy answer.

The binder makes it from SQL or a frame. `measurements` turns it into engine passes and noisy measurements; names of
columns and clauses are for people, everything else is made by the binder.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from dalenius.query.plan.figures import combinations
from dalenius.query.plan.relations import Relation
from dalenius.query.tables import ContributionBounds
from dalenius.query.types import Domain


@dataclass(frozen=True)
class Statistic:
    """What is asked of each group; `columns` are columns of the question's relation.

    count       rows                               present     rows where the column is not NULL
    units       different units                    distinct    different values
    sum, mean, variance, stddev                    of one column (sample variance, divisor n - 1)
    covariance, correlation                        of two columns, over rows where both are not NULL (divisor n - 1)
    quantile    the p-quantile (0 is the minimum, 1/2 the median, 1 the maximum)
    mode        the most frequent value            histogram   the count of every value, with public values
    robust_quantile   the p-quantile, with noise that depends on the values
    trimmed_mean      the mean without a share p of the least and of the largest values, with such noise
    robust_scale      the interquartile range to within a factor, where it is stable
    stable_mode       the most frequent value, exactly, where it is stable
    stable_quantile   the p-quantile, exactly, where it is stable
    proposed_quantile the p-quantile, where no unit moves it by more than `bound`, in the column's units
    """

    kind: Literal[
        "count", "present", "units", "distinct", "sum", "mean", "variance", "stddev", "covariance", "correlation",
        "quantile", "mode", "histogram", "robust_quantile", "trimmed_mean", "robust_scale", "stable_mode",
        "stable_quantile", "proposed_quantile",
    ]  # fmt: skip
    columns: tuple[str, ...] = ()
    p: Fraction | None = None
    bound: Fraction | None = None


VALUES = ("quantile", "mode", "robust_quantile", "stable_mode", "stable_quantile", "proposed_quantile")
"""Kinds of statistics whose answer is a value of the column."""


@dataclass(frozen=True)
class Top:
    """The k groups with the largest count (`statistic` is the index of a count, present or units statistic), recognised
    from ORDER BY ... DESC LIMIT k. `shown` says whether the counts themselves are asked for too."""

    k: int
    statistic: int
    shown: bool


@dataclass(frozen=True)
class KeyOf:
    """The value of the key with this index."""

    index: int


@dataclass(frozen=True)
class ValueOf:
    """The noisy value of the statistic with this index."""

    index: int


@dataclass(frozen=True)
class Given:
    """A constant: None, bool, int, Fraction, str, date or datetime."""

    value: Any


@dataclass(frozen=True)
class Compute:
    """A function of noisy values, by the name of the scalar function; it sees what was released and nothing else."""

    function: str
    arguments: tuple[Post, ...]


Post: TypeAlias = KeyOf | ValueOf | Given | Compute


@dataclass(frozen=True)
class Output:
    """What is shown: named columns, which groups (`having`), in which order, and how many; all on noisy values."""

    columns: tuple[tuple[str, Post], ...]
    having: Post | None = None
    order_by: tuple[tuple[Post, bool], ...] = ()
    """Pairs (term, descending)."""
    limit: int | None = None


@dataclass(frozen=True)
class Question:
    """Statistics of the groups of a private relation.

    `relation` has the columns `keys` (named k.0, k.1, ...) and those of the statistics (x.0, x.1, ...), and no others.
    `most` is what one unit may contribute here, already lowered to what the plan allows (one row each, few keys).
    """

    relation: Relation
    keys: tuple[str, ...]
    statistics: tuple[Statistic, ...]
    most: ContributionBounds
    output: Output
    top: Top | None = None

    @property
    def key_domains(self) -> tuple[Domain, ...]:
        return tuple(self.relation.schema[key] for key in self.keys)

    @property
    def public_keys(self) -> int | None:
        """How many groups there are, if all keys are public; None if they must be found privately."""
        return combinations(list(self.key_domains))

    @property
    def public_values(self) -> int | None:
        """How many values an answer shows at most, if all keys are public: groups times columns, where a histogram is
        as many columns as it has counts."""
        rows = self.public_rows
        return None if rows is None else rows * sum(self.width(post) for _, post in self.output.columns)

    @property
    def public_rows(self) -> int | None:
        """How many rows an answer has at most, if all keys are public."""
        groups, limit = self.public_keys, self.output.limit
        return groups if groups is None or limit is None else min(groups, limit)

    def width(self, post: Post) -> int:
        """As how many columns one counts: a histogram as one for each of its counts."""
        if isinstance(post, Compute):
            return max(map(self.width, post.arguments), default=1)
        if isinstance(post, ValueOf) and self.statistics[post.index].kind == "histogram":
            return self.relation.schema[self.statistics[post.index].columns[0]].size or 1
        return 1
