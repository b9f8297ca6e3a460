"""Fits on private tables: declared columns become features, rows stay sealed, and a ledger is charged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.errors import DamagedAnswer, InvalidParameter, QueryRefused
from dalenius.learn.engine_rows import MOST_FEATURES, Columns, EngineRows, Sum, passes
from dalenius.learn.rows import ONE, PIECE, Entries, Integers, SealedRows
from dalenius.learn.terms import ClampedLine, offsets
from dalenius.measuring.explain import theorem
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss, PureDP
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.frames.frames import Frame
from dalenius.query.plan.passes import Cells, Pass, RunPass
from dalenius.query.rows import RowSource
from dalenius.query.types import Ranged
from dalenius.randomness.entropy import Entropy
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.contents import NamedArrays
from dalenius.session.cards.cards import CardMeasurement
from dalenius.tabular.binned_rows import BinnedRows, Bins, PrivateRows
from dalenius.tabular.columns import BinnedColumn

if TYPE_CHECKING:
    from dalenius.learn.models import Learnt, PrivateModel, Tick

BINS = 256
"""How many values a number or date of a table is rounded to, about, unless told otherwise."""


@dataclass(frozen=True)
class Encoder:
    """Features of the declared columns of a table: a number or date from -1 to 1, an indicator for every listed text
    and truth value. Where a number is NULL its feature is 0; a NULL text has an indicator of its own."""

    axes: tuple[BinnedColumn, ...]

    @cached_property
    def tables(self) -> list[NDArray[np.int16]]:
        """For each column, the features of each of its places."""
        return [_scaled(axis) if isinstance(axis.domain, Ranged) else _indicators(axis) for axis in self.axes]

    @property
    def names(self) -> list[str]:
        """What each feature is called."""
        return [name for axis in self.axes for name in _names(axis)]

    @cached_property
    def norm_squared(self) -> int:
        """The largest norm of a row, squared, in steps of the grid."""
        return sum(int((table.astype(np.int64) ** 2).sum(axis=1).max()) for table in self.tables)

    def encoded(self, places: Sequence[Integers]) -> NDArray[np.int16]:
        """The features of rows, by the place of each row in each column."""
        return np.hstack([table[place] for table, place in zip(self.tables, places, strict=True)])

    def transform(self, table: Any) -> NDArray[np.float64]:
        """The features of rows of a table with the same columns: an Arrow table, a data frame or a mapping of lists."""
        columns = _columns(table, [axis.name for axis in self.axes])
        places = [_places(axis, columns[axis.name]) for axis in self.axes]
        return self.encoded(places) / ONE


def chosen(
    rows: Frame, target: Any, columns: Sequence[str] | None, bins: Bins
) -> tuple[BinnedRows, BinnedColumn | None]:
    """The rows of a private table over the columns to learn from, and then the one to learn, if there is one."""
    if target is not None and not isinstance(target, str):
        raise InvalidParameter("y", type(target), allowed="the name of the column to learn, as X is a private table")
    private = PrivateRows.of(rows)
    listed = private.bound.declared if columns is None else [columns] if isinstance(columns, str) else columns
    names = [name for name in listed if str(name).lower() != str(target).lower()]
    if not names:
        raise InvalidParameter("columns", columns, allowed=f"one or more besides {target}, which is learnt from them")
    wanted = [*names, *([target] if target is not None else [])]
    fine = {name: BINS for name in wanted if isinstance(private.domain(name), Ranged)}
    binned = private.binned(wanted, {**fine, **bins})
    return binned, binned.axes[-1] if target is not None else None


@dataclass(frozen=True)
class Training:
    """A fit on rows of a private table, and what it may cost. All of it is public."""

    question: RowSource
    encoder: Encoder
    target: BinnedColumn | None
    meaning: Integers | None
    model: PrivateModel
    charge: Mapping[str, Charge]
    tick: Tick | None = field(default=None, compare=False)

    @property
    def terms(self) -> tuple[object, ...]:
        return "learn", *self.model._terms(), (self.encoder.axes, self.target), self.charge

    @property
    def loss(self) -> Loss:
        """What all measurements together may lose."""
        (amount,) = self.charge.values()
        return amount.loss

    @property
    def steps(self) -> tuple[CardMeasurement, ...]:
        """In words: sums over rows, as the method needs them."""
        noise = DiscreteLaplace if isinstance(self.loss, PureDP) else DiscreteGaussian
        change = f"{self.question.most.rows} bounded rows of one unit"
        what = f"sums over rows for {type(self.model).__name__}"
        return (
            CardMeasurement(what, change, noise.__name__, theorem(noise), "a part of the whole", "a part of the price"),
        )

    @property
    def passes(self) -> tuple[Pass, ...]:
        """Sums over rows, of every form that the model asks for; or, where it needs rows, how many there are of each
        kind."""
        parts = self._sums
        return (self.question.counting,) if parts is None else passes(self.columns, parts, self.question.most.rows)

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy) -> Learnt:
        """What the model learns."""
        rows = self.rows(run_pass(self.question.counting)) if self._sums is None else self.engine_rows(run_pass)
        return self.model._learn(rows, BudgetPart(allowance), entropy, self.tick)

    def encode(self, learnt: Learnt) -> Answer:
        """What was learnt, as arrays."""
        return Answer.of(NamedArrays({name: np.asarray(array, dtype=np.float64) for name, array in learnt.items()}))

    def decode(self, answer: Answer) -> Learnt:
        """What was learnt."""
        if not isinstance(answer.content, NamedArrays):
            raise DamagedAnswer("with the arrays that were learnt")
        return answer.content.parts

    @cached_property
    def columns(self) -> Columns:
        """The rows as their engine has them."""
        line = getattr(self.model, "_target_line", None)
        return Columns.of(self.question, self.encoder.axes, self.target, line)

    @cached_property
    def _sums(self) -> Sequence[Sum] | None:
        few = len(self.encoder.names) <= MOST_FEATURES
        return self.model._sums(self.columns) if few else None

    def engine_rows(self, run_pass: RunPass) -> EngineRows:
        """The rows where they are; those without a target are left out.

        Proof of their sensitivities: as for `rows`, which has the same ones.
        """
        neighbours = self.question.relation.neighbours
        width, squared = self.columns.width, self.encoder.norm_squared
        return EngineRows(self.columns, run_pass, neighbours, width, squared, self.question.most.rows)

    def rows(self, cells: Exact[Cells]) -> SealedRows:
        """The sealed rows; those without a target are left out.

        Proof of their sensitivities: the pass keeps at most `most.rows` rows of a unit, and every row has the features
        that its own values stand for.
        """
        neighbours = self.question.relation.neighbours
        constant = self.model._intercept
        entries = cells.map(_Reading(self.encoder, self.target, self.meaning, constant).entries,
                            sensitivity=Sensitivity(neighbours=neighbours))  # fmt: skip
        squared = self.encoder.norm_squared + constant * ONE**2
        return SealedRows(entries, len(self.encoder.names) + constant, squared, self.question.most.rows)


class _Reading:
    """Puts the rows of one sealed count of cells together, once. It lives inside an `Exact`."""

    def __init__(self, encoder: Encoder, target: BinnedColumn | None, meaning: Integers | None, constant: int) -> None:
        self._encoder, self._target, self._meaning, self._constant = encoder, target, meaning, constant
        self._made: Entries | None = None

    def entries(self, cells: Cells) -> Entries:
        if self._made is None:
            self._made = self._read(cells)
        return self._made

    def _read(self, cells: Cells) -> Entries:
        axes = [*self._encoder.axes, *([self._target] if self._target else [])]
        places = [axis.indices(codes) for axis, codes in zip(axes, cells.keys, strict=True)]
        counts = np.asarray(cells.totals[0], dtype=np.int64)
        kept = np.all([place >= 0 for place in places], axis=0)
        target = np.zeros(len(counts), dtype=np.int64)
        if self._target and self._meaning is not None:
            kept &= places[-1] < len(self._meaning)
            target = self._meaning[np.minimum(places.pop(), len(self._meaning) - 1)]
        repeats = -(-counts[kept] // PIECE)
        features = self._encoder.encoded([np.repeat(place[kept], repeats) for place in places])
        ones = np.full((len(features), self._constant), ONE, dtype=np.int16)
        shares = np.concatenate([_shares(count) for count in counts[kept].tolist()] or [np.zeros(0, dtype=np.int64)])
        return Entries(np.hstack([features, ones]), np.repeat(target[kept], repeats), shares)


def middle(axis: BinnedColumn, place: int) -> Fraction | None:
    """The value that stands for a bin of numbers or dates, in codes; None for NULL."""
    run = axis.runs[place]
    if run[0] is None:
        return None
    return Fraction(int(run[0]) + int(run[-1]), 2)  # type: ignore[arg-type]


def _scaled(axis: BinnedColumn) -> NDArray[np.int16]:
    """A number or date: -1 and 1 are the ends of its declared range; 0 for NULL."""
    steps = ClampedLine.of(axis).at(offsets(axis))
    return np.append(steps, [0] * axis.cut.nullable).astype(np.int16)[:, None]


def _indicators(axis: BinnedColumn) -> NDArray[np.int16]:
    return (np.eye(axis.size) * ONE).astype(np.int16)


def _names(axis: BinnedColumn) -> list[str]:
    if isinstance(axis.domain, Ranged):
        return [axis.name]
    return [f"{axis.name}={axis.label(place)}" for place in range(axis.size)]


def _shares(count: int) -> Integers:
    """A count in pieces of at most PIECE."""
    whole, rest = divmod(count, PIECE)
    return np.array([PIECE] * whole + ([rest] if rest else []), dtype=np.int64)


def require_own(rows: Any) -> None:
    """Refuse rows of a private table where what is made of each of them would be shown."""
    if isinstance(rows, Frame):
        raise QueryRefused(
            "rows of a private table",
            rule="exact predictions, scores and features of private rows are not given",
            instead="Give rows that you have: arrays, a data frame or an Arrow table.",
        )


def _columns(table: Any, names: Sequence[str]) -> Mapping[str, list[Any]]:
    require_own(table)
    arrow = table if isinstance(table, pa.Table) else None
    if arrow is None and hasattr(table, "__arrow_c_stream__"):
        arrow = pa.table(table)
    columns = {name: arrow[name].to_pylist() for name in names if name in arrow.column_names} if arrow else table
    missing = [name for name in names if name not in columns]
    if missing:
        raise InvalidParameter("table", f"without {missing[0]}", allowed=f"with the columns {', '.join(names)}")
    return {name: list(columns[name]) for name in names}


def _places(axis: BinnedColumn, values: Sequence[Any]) -> Integers:
    """The place of each value in the bins of a column; what is not listed counts as NULL."""
    codes = [axis.domain.code(value) for value in values]
    if isinstance(axis.domain, Ranged):
        firsts = [run[0] for run in axis.runs if run[0] is not None]
        found = np.searchsorted(firsts, [firsts[0] if code is None else code for code in codes], side="right") - 1
        places = np.where([code is None for code in codes], -1, found)
    else:
        where = {run[0]: place for place, run in enumerate(axis.runs)}
        places = np.array([where.get(code, -1) for code in codes], dtype=np.int64)
    if not axis.domain.nullable and (places < 0).any():
        raise InvalidParameter(axis.name, "without a value in some rows", allowed=str(axis.domain))
    return np.where(places < 0, axis.size - 1, places)
