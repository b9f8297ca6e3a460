"""From estimates to the table that is shown: arithmetic on aggregates, HAVING, ORDER BY, LIMIT, and the bars.

Everything here sees released values only, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dalenius.query.estimates.bars import bars
from dalenius.query.estimates.estimates import LEVEL, Estimates
from dalenius.query.estimates.kinds import Kind
from dalenius.query.estimates.released import apply, picked, plain, sort_key, tidy
from dalenius.query.questions import Given, KeyOf, Output, Post, ValueOf
from dalenius.query.types import Code, Domain


@dataclass(frozen=True)
class Shaped:
    """Named columns, with a column of bars for each that is made of statistics, and how many groups were not shown."""

    names: tuple[str, ...]
    columns: tuple[list[Any], ...]
    errors: tuple[list[Any] | None, ...]
    domains: tuple[Domain | None, ...]
    """The domain of a column that is a key."""
    dropped: int
    """Groups that HAVING or LIMIT left out."""
    kinds: tuple[Kind, ...] = ()
    """What kind of value each column holds, whatever was released."""


@dataclass(frozen=True)
class Groups:
    """What was released of each of `count` groups: its keys, column by column, and the estimates of its statistics."""

    keys: Sequence[list[Any]]
    estimates: Sequence[Estimates | None]
    level: Fraction
    count: int

    def value(self, post: Post, row: int) -> Any:
        """The value of a term in one group."""
        match post:
            case KeyOf():
                return plain(self.keys[post.index][row])
            case ValueOf():
                found = self.estimates[post.index]
                return None if found is None else plain(found.values[row])
            case Given():
                return plain(post.value)
        return apply(post.function, [self.value(argument, row) for argument in post.arguments])

    def column(self, post: Post, rows: Sequence[int]) -> list[Any]:
        """The values of a term as people see them; a statistic or key by itself as it came."""
        if isinstance(post, KeyOf):
            return picked(self.keys[post.index], rows)
        found = self.estimates[post.index] if isinstance(post, ValueOf) else None
        return [tidy(self.value(post, row)) for row in rows] if found is None else picked(found.values, rows)


def shape(
    output: Output,
    keys: Sequence[tuple[Code, ...]],
    key_domains: Sequence[Domain],
    estimates: Sequence[Estimates | None],
    *,
    level: Fraction = LEVEL,
    nonnegative: bool = False,
    digits: int | None = None,
) -> Shaped:
    """The table of an answer: `keys` are codes in order, and each estimate has a value for each of them.

    `nonnegative` shows counts below zero as zero; `digits` rounds values that are not whole. Bars stay as they are:
    a count that was raised to zero is no farther from the truth than before.
    """
    if nonnegative:
        estimates = [found and _not_negative(found) for found in estimates]
    read = [_read(domain, [key[place] for key in keys]) for place, domain in enumerate(key_domains)]
    groups = Groups(read, estimates, level, len(keys))
    rows = _kept(output, groups)
    columns = [_rounded(groups.column(post, rows), digits) for _, post in output.columns]
    return Shaped(
        tuple(name for name, _ in output.columns),
        tuple(columns),
        tuple(bars(post, groups, rows, values) for (_, post), values in zip(output.columns, columns, strict=True)),
        tuple(key_domains[post.index] if isinstance(post, KeyOf) else None for _, post in output.columns),
        len(keys) - len(rows),
    )


def _read(domain: Domain, codes: Sequence[Code]) -> list[Any]:
    """Codes as people read them, each different one read once."""
    shown = {code: tidy(domain.shown(code)) for code in set(codes)}
    return [shown[code] for code in codes]


def _kept(output: Output, groups: Groups) -> Sequence[int]:
    """The groups that are shown, in order: NULLs last, ties in the order of the keys."""
    rows: Sequence[int] = range(groups.count)
    if output.having is not None:
        rows = [row for row in rows if groups.value(output.having, row) is True]
    for term, descending in reversed(output.order_by):
        values = {row: groups.value(term, row) for row in rows}
        known = [row for row in rows if values[row] is not None]
        known.sort(key=lambda row: sort_key(values[row]), reverse=descending)
        rows = [*known, *(row for row in rows if values[row] is None)]
    return rows if output.limit is None else rows[: output.limit]


def _not_negative(found: Estimates) -> Estimates:
    if not found.counts:
        return found
    return replace(found, values=[None if value is None else max(0, value) for value in found.values])


def _rounded(values: list[Any], digits: int | None) -> list[Any]:
    if digits is None:
        return values
    return [
        tidy(apply("round", [plain(value), digits])) if isinstance(value, float | Decimal) else value
        for value in values
    ]
