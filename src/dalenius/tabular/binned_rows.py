"""Rows of a private table as people on a grid: which columns in which bins, the pass that counts them, sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dalenius.accounting.amounts import Charge
from dalenius.errors import InvalidParameter
from dalenius.privacy.exact import Exact
from dalenius.privacy.numbers import positive, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.frames.formulas import col
from dalenius.query.frames.frames import Frame
from dalenius.query.plan.passes import Cells
from dalenius.query.rows import BoundRows, RowSource
from dalenius.query.syntax import Name
from dalenius.query.types import Domain, Ranged
from dalenius.session.offers import Offer
from dalenius.session.sessions import Session
from dalenius.tabular.columns import BinnedColumn, formula, grid_of, require_few, require_listed
from dalenius.tabular.counts import CellCounts, SealedCounts, summed
from dalenius.tabular.domains import CellDomain

Bins = Mapping[str, int | str]
"""For a column, about how many bins, or their width as a text."""


@dataclass(frozen=True)
class PrivateRows:
    """The rows of a frame, bound once, and the session that can buy what is made of them."""

    session: Session
    bound: BoundRows

    @classmethod
    def of(cls, rows: Frame, *, most: int | None = None) -> PrivateRows:
        """The rows of a frame, of which at most `most` of one unit count; nothing is read or spent."""
        if not isinstance(rows, Frame):
            raise InvalidParameter("rows", type(rows), allowed='rows of a private table: session.table("visits")')
        if not isinstance(rows.session, Session):
            raise InvalidParameter("rows", "of a server", allowed="rows of a database that is open in this process")
        limited = rows if most is None else rows.contributing(max_rows=whole(1, rows=most), max_groups=1)
        return cls(rows.session, rows.session.bind_rows(limited))

    def domain(self, name: str) -> Domain:
        """What a column may hold, by its name: alone, or after that of its table."""
        term = col(name).term
        assert isinstance(term, Name)
        return self.bound.domain(term)

    def plain(self, columns: Sequence[str]) -> RowSource:
        """Columns as they are, whatever values they may have."""
        return self.bound.source([col(name).term for name in columns])

    def binned(self, columns: Sequence[str] | None, bins: Bins) -> BinnedRows:
        """Named columns, or all that have declared values, with numbers and dates in bins."""
        names = tuple(columns) if columns is not None else self.bound.declared
        if isinstance(columns, str) or not names or len({str(name).lower() for name in names}) < len(names):
            raise InvalidParameter("columns", columns, allowed="a list of one or more, each named once")
        known = [name for table in self.bound.scope.relation.tables for name, _ in table.columns]
        unknown = [name for name in bins if name not in (*names, *known)]
        if unknown:
            raise InvalidParameter("bins", unknown[0], allowed=f"for some of {', '.join(names)}")
        domains = [self.domain(name) for name in names]
        for name, domain in zip(names, domains, strict=True):
            require_listed(name, domain, self.bound.table.name)
        for name, domain in zip(names, domains, strict=True):
            if name in bins and not isinstance(domain, Ranged):
                raise InvalidParameter("bins", name, allowed="for numbers and dates; other values are counted each")
        cut = [formula(name, domain, _bins(bins, name)) for name, domain in zip(names, domains, strict=True)]
        source = self.bound.source([each.term for each in cut])
        axes = tuple(BinnedColumn(*each) for each in zip(names, domains, source.domains, strict=True))
        for axis in axes:
            require_few(axis)
        return BinnedRows(self, source, axes)


@dataclass(frozen=True)
class BinnedRows:
    """Rows and the columns that they are counted by. All of it is public."""

    rows: PrivateRows
    source: RowSource
    axes: tuple[BinnedColumn, ...]

    @classmethod
    def of(cls, rows: Frame, *, columns: Sequence[str] | None, bins: Bins, most: int | None) -> BinnedRows:
        """The rows of a frame over named columns, or over all that have declared values; nothing is read or spent."""
        return PrivateRows.of(rows, most=most).binned(columns, bins)

    @property
    def session(self) -> Session:
        return self.rows.session

    @property
    def grid(self) -> CellDomain:
        return grid_of({axis.name: axis for axis in self.axes})

    def uncut(self) -> BinnedRows:
        """The same rows with every value as it is, in the steps that its column declares."""
        return replace(self, source=self.rows.plain([axis.name for axis in self.axes]))

    @property
    def delta(self) -> Fraction:
        """The delta of the budget that pays."""
        return max(each.budget.delta for each in self.session.populations(self.source).values())

    def charge(self, offer: Offer) -> dict[str, Charge]:
        """What an offer charges each population; no step has an event that a delta would pay for."""
        amounts = self.session.amounts(self.source, offer)
        return {name: replace(amount, delta=0) for name, amount in amounts.items()}

    @property
    def text(self) -> str:
        """The columns and the table, for people."""
        return f"{', '.join(axis.name for axis in self.axes)} of {self.source.relation.tables[0].name}"


def sealed_counts(source: RowSource, axes: Sequence[BinnedColumn], cells: Exact[Cells]) -> SealedCounts:
    """What the counting pass found, as sealed people on the grid of the axes.

    Proof of its sensitivities: `RowSource.kept` leaves at most `most.rows` rows of a unit, each is counted once.
    """
    grid = grid_of({axis.name: axis for axis in axes})
    unstated = Sensitivity(neighbours=source.relation.neighbours)
    sealed = cells.map(_Crowding(tuple(axes), grid).crowd, sensitivity=unstated)
    return SealedCounts(grid, sealed, source.most.rows)


class _Crowding:
    """Puts the counts of one sealed pass together, once: a sealed value is computed for every measurement. It lives
    inside an `Exact`."""

    def __init__(self, axes: tuple[BinnedColumn, ...], grid: CellDomain) -> None:
        self._axes, self._grid = axes, grid
        self._made: CellCounts | None = None

    def crowd(self, cells: Cells) -> CellCounts:
        if self._made is None:
            places = [axis.indices(codes) for axis, codes in zip(self._axes, cells.keys, strict=True)]
            self._made = summed(places, np.asarray(cells.totals[0], dtype=np.int64), self._grid)
        return self._made


def _bins(bins: Bins, name: str) -> int | Fraction | None:
    given = bins.get(name)
    return positive(bins=given) if isinstance(given, str) else None if given is None else whole(1, bins=given)
