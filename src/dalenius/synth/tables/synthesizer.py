"""The synthesizer: fit a private table once, then sample from the model and ask it as often as you like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from dalenius.accounting.amounts import Charge
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, of_kind, whole
from dalenius.query.frames.frames import Frame
from dalenius.session.offers import Offer
from dalenius.session.purchases import Cost
from dalenius.synth.tables.adaptive import Settings, require_enough
from dalenius.synth.tables.constraints import Constraints
from dalenius.synth.tables.fits import Fit
from dalenius.synth.tables.journal import keeping
from dalenius.synth.tables.tables import SyntheticTable
from dalenius.tabular.binned_rows import BinnedRows, Bins
from dalenius.tabular.columns import BinnedColumn
from dalenius.tabular.domains import CellDomain, Columns
from dalenius.tabular.workloads import Marginals

_PARTS_OF_MODEL = 20
_MOST_TOGETHER = 5
"""How many columns one group may have: every part of every group is looked at in every round."""


@dataclass(frozen=True)
class Synthesizer:
    """Makes a synthetic table of a private one.

    `columns` are those of the table to keep, all that have declared values if none are named; `bins` cuts a number or
    date into about so many bins, or into bins of a width given as text ('5'). `order` says which questions the table
    is made for: all combinations of so many columns; or name the groups of columns in `groups`. `rows` is how many rows
    of one unit are counted, as declared for the table if it is not given.

    What is public besides: `impossible` lists SQL conditions that are true for no row (`age < 15 AND married`), and
    `total` is the number of rows, if it is known. The model and its rows keep to both, whatever the data hold.
    """

    columns: Sequence[str] | None = None
    bins: Bins = field(default_factory=dict)
    order: int = 3
    groups: Sequence[Sequence[str]] | None = None
    rows: int | None = None
    impossible: Sequence[str] = ()
    total: int | None = None
    settings: Settings = field(default_factory=Settings)

    def cost(self, rows: Frame, *, epsilon: Number | None = None, share: Number | None = None) -> Cost:
        """What a fit would cost, with a note of how exact its first counts are; nothing is read or spent."""
        binned = self._binned(rows)
        fit = self._fit(binned, Offer(epsilon, share))
        cost, bar = binned.session.cost_of(fit, epsilon=epsilon), fit.first_bar
        exact = f"counts of single columns come first, within ± {bar} rows at 95 %: 1 % of all rows takes {100 * bar}"
        return replace(cost, note="; ".join(note for note in (cost.note, exact) if note))

    def fit(
        self,
        rows: Frame,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
        progress: Callable[[float], object] | None = None,
    ) -> SyntheticTable:
        """Charge, measure, and fit a model. The price is what `epsilon` or `share` says, whatever the data are.

        An equal fit that was paid for before is taken from the ledger, for nothing; `fresh` pays for a new one. `key`
        is your own name for this attempt: if it is interrupted or its process dies, the same call with the same key
        goes on where it stopped, for nothing, if the database is in a folder. `progress` is told the percent of the
        price that was used; if it raises an error, the table is made of what was measured by then.
        """
        binned = self._binned(rows)
        fit = self._fit(binned, Offer(epsilon, share), progress)
        kept = keeping(binned.session, key, lambda outcomes: replace(fit, outcomes=outcomes))
        answer = binned.session.buy(fit, text=f"SYNTHESIZE {binned.text}", key=key, fresh=fresh, kept=kept)
        return SyntheticTable.from_answer(answer, fit)

    def _binned(self, rows: Frame) -> BinnedRows:
        return BinnedRows.of(rows, columns=self.columns, bins=self.bins, most=self.rows)

    def _fit(self, binned: BinnedRows, offer: Offer, progress: Callable[[float], object] | None = None) -> Fit:
        return self.planned(binned, binned.charge(offer), progress)

    def planned(
        self, binned: BinnedRows, charge: Mapping[str, Charge], progress: Callable[[float], object] | None = None
    ) -> Fit:
        """The fit of bound rows for a price; nothing is read or spent."""
        if progress is not None and not callable(progress):
            raise InvalidParameter("progress", type(progress), allowed="a function that is told a percentage")
        settings, groups = self._settings(binned.axes), self._groups(binned.grid)
        for amount in charge.values():
            require_enough(amount, binned.grid, settings)
        fit = Fit(binned.source, binned.axes, groups, settings, charge, progress)
        if self.total is not None and self.total <= fit.first_bar:
            raise InvalidParameter(
                "total", self.total, allowed=f"more than {fit.first_bar} rows: the first counts are off by so much",
                hint="Pay more, count fewer rows of one unit, or leave out columns.",
            )  # fmt: skip
        return fit

    def _settings(self, axes: Sequence[BinnedColumn]) -> Settings:
        """The settings with what was declared; conditions may take up as much of the model as a first marginal."""
        of_kind(Settings, settings=self.settings)
        largest = self.settings.largest // _PARTS_OF_MODEL
        stated = Constraints.declared(axes, self.impossible, self.total, largest=largest)
        return replace(self.settings, constraints=stated)

    def _groups(self, grid: CellDomain) -> tuple[Columns, ...]:
        """The groups that the table is made for, of which some must fit into the model."""
        order = whole(1, order=self.order)
        listed = combinations(grid.columns, min(order, len(grid.columns))) if self.groups is None else self.groups
        groups = Marginals(grid, listed).groups
        widest = max(map(len, groups))
        if max(order, widest) > _MOST_TOGETHER:
            raise InvalidParameter("order", max(order, widest), allowed=f"at most {_MOST_TOGETHER} columns together")
        least = min(map(grid.size, groups))
        if widest > 1 and least > self.settings.largest:
            raise InvalidParameter(
                "bins",
                f"{least} cells in the smallest group of columns",
                allowed=f"at most {self.settings.largest} in a model",
                hint="Give fewer bins, or order=1 for columns by themselves.",
            )
        return groups
