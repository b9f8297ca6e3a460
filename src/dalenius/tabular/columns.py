"""From declared columns to the cells of a grid and back: bins for numbers and dates, a place for each listed text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.query.frames.formulas import Formula, col
from dalenius.query.keys import KeySpace
from dalenius.query.types import Code, Dated, Days, Domain, Number, Ranged
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import uniform_below
from dalenius.tabular.domains import CellDomain

BINS = 32
"""How many bins a number or date is cut into, about, unless told otherwise."""
MOST_VALUES = 10_000
"""How many values a column of a synthetic table may have, after it was cut into bins."""
_DAY = 86_400_000_000
_NICE = (1, 2, 5, 10)
_DAYS = (1, 7, 14, 28, 91, 182, 365)


@dataclass(frozen=True)
class BinnedColumn:
    """A column: what it may hold (`domain`), and the bins that it is counted in (`cut`), each a run of codes."""

    name: str
    domain: Domain
    cut: Domain

    @property
    def size(self) -> int:
        return self.cut.size or 0

    def indices(self, codes: pa.Array) -> NDArray[np.int64]:
        """The place of each bin among all, or -1."""
        return KeySpace((self.cut,)).positions([codes], len(codes))

    def label(self, place: int) -> str:
        """What a place stands for, for people."""
        code = self.cut.codes()[place]
        return "NULL" if code is None else str(self.cut.decode(code))

    @cached_property
    def runs(self) -> list[Sequence[Code]]:
        """For each place, the codes of the column that it stands for."""
        return [self._run(code) for code in self.cut.codes()]

    def values(self, places: NDArray[np.int64], entropy: Entropy) -> list[Any]:
        """A value for each place: the text or truth value itself, or any value of the bin, all alike."""
        drawn: list[Any] = [None] * len(places)
        for place in np.unique(places).tolist():
            run, here = self.runs[place], np.flatnonzero(places == place)
            steps = uniform_below(len(run), len(here), entropy=entropy)
            for row, step in zip(here.tolist(), steps.tolist(), strict=True):
                drawn[row] = self.domain.decode(run[step])
        return drawn

    def _run(self, code: Code) -> Sequence[Code]:
        if self.cut == self.domain or code is None or not isinstance(self.domain, Ranged):
            return [code]
        first, last = self._ends(int(code))
        return range(max(first, self.domain.lower), min(last, self.domain.upper) + 1)

    def _ends(self, code: int) -> tuple[int, int]:
        """The first and last code that lie in a bin, whatever the column's range."""
        if isinstance(self.domain, Number) and isinstance(self.cut, Number):
            step = self.cut.step / self.domain.step
            return ceil(code * step), ceil((code + 1) * step) - 1
        assert isinstance(self.cut, Dated)
        return code, code + self.cut.grain.size - 1


def formula(name: str, domain: Domain, bins: int | Fraction | None) -> Formula:
    """A column as it is counted: in bins of about the wished number, or of a stated width."""
    column = col(name)
    if not isinstance(domain, Ranged):
        return column
    wanted = BINS if bins is None else bins
    if isinstance(wanted, Fraction):
        return column.bin(wanted)
    count = domain.upper - domain.lower + 1
    return column if count <= wanted else column.bin(_width(domain, count, wanted))


def _width(domain: Ranged, count: int, bins: int) -> Fraction:
    """A width that people like, for at most about so many bins."""
    least = Fraction(count, bins)
    if isinstance(domain, Number):
        return _nice(least * domain.step)
    days = least if isinstance(domain, Days) else least / _DAY
    return next((Fraction(days_) for days_ in _DAYS if days_ >= days), Fraction(ceil(days / 365) * 365))


def _nice(least: Fraction) -> Fraction:
    power = Fraction(1)
    while power > least:
        power /= 10
    while power * 10 <= least:
        power *= 10
    return next(power * factor for factor in _NICE if power * factor >= least)


def require_listed(name: str, domain: Domain, table: str) -> None:
    """Refuse a column whose values are not declared, with the line that would declare them."""
    if domain.size is None:
        raise QueryRefused(
            name,
            rule="its values are not declared, so it has no cells to count",
            instead=f'Declare it in catalog.toml under [tables.{table}.columns]: {name} = {{type = "Category", '
            f"values = [...]}}; other values become NULL. Or leave it out with columns=[...].",
        )


def require_few(axis: BinnedColumn) -> None:
    """Refuse a column with more values than a synthetic table can learn, and bins that nobody can be in."""
    if axis.size > MOST_VALUES:
        raise InvalidParameter(
            "bins", f"{axis.size} values of {axis.name}", allowed=f"at most {MOST_VALUES}", hint="Give fewer bins."
        )
    if not all(len(run) for run in axis.runs):
        raise InvalidParameter("bins", axis.name, allowed="at least as wide as the steps of the column")


def grid_of(axes: Mapping[str, BinnedColumn]) -> CellDomain:
    """The grid of all columns."""
    return CellDomain({name: axis.size for name, axis in axes.items()})
