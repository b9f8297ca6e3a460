"""Evaluating a synthetic table against the data it was made of: how wrong its marginals are, noisy and paid for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.errors import InvalidParameter
from dalenius.measuring.explain import theorem
from dalenius.measuring.postprocess import COUNT, REAL, TEXT
from dalenius.mechanisms.budget_parts import BudgetPart, Noise, deviation
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.losses import Loss, PureDP
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.frames.frames import Frame
from dalenius.query.plan.passes import Pass, RunPass
from dalenius.query.rows import RowSource
from dalenius.query.types import Dated, Days, Number, Ranged
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.integers import integer_array
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.contents import BAR
from dalenius.session.answers.displays import html_table, text_table
from dalenius.session.cards.cards import CardMeasurement
from dalenius.synth.inference.fitting import Fitted
from dalenius.synth.tables.choosing import FINENESS, distance, rounded
from dalenius.synth.tables.fits import Fit
from dalenius.tabular.binned_rows import BinnedRows, sealed_counts
from dalenius.tabular.columns import BinnedColumn
from dalenius.tabular.counts import CellCounts, Counts, SealedCounts
from dalenius.tabular.domains import Columns

_SCALES = 2.9958
"""How many scales a bar is: of Laplace noise, 95 % lies within."""
_DAY = 86_400_000_000


@dataclass(frozen=True)
class Comparison:
    """How far a model's counts are from the data, for each group of columns: what can be paid for. All of it is public.

    `told` are the model's counts of each group as whole numbers of the finest part; `name` stands for all of them.
    """

    fit: Fit
    told: tuple[Counts, ...] = field(compare=False)
    rows: int = field(compare=False)
    """How many rows the model has: distances are shown as shares of them."""

    @property
    def name(self) -> str:
        digest = hashlib.sha256()
        for counts in self.told:
            digest.update(np.ascontiguousarray(counts, dtype="<i8").tobytes())
        return digest.hexdigest()

    @property
    def question(self) -> RowSource:
        return self.fit.question

    @property
    def terms(self) -> tuple[object, ...]:
        return "evaluation", self.fit.axes, self.fit.groups, self.name, self.rows, self.charge

    @property
    def charge(self) -> Mapping[str, Charge]:
        return self.fit.charge

    @property
    def loss(self) -> Loss:
        return self.fit.loss

    @property
    def steps(self) -> tuple[CardMeasurement, ...]:
        """One measurement, of all distances together."""
        kind = DiscreteLaplace if isinstance(self.loss, PureDP) else DiscreteGaussian
        change = f"{self.question.most.rows} rows in each of {len(self.fit.groups)} distances"
        return (
            CardMeasurement(
                "distances of marginals", change, kind.__name__, theorem(kind), "as it is bought", "all of it"
            ),
        )

    @property
    def passes(self) -> tuple[Pass, ...]:
        return self.fit.passes

    def encode(self, released: tuple[list[int], float]) -> Answer:
        """The noisy distances, as shares of the rows."""
        noisy, bar = released
        unit = FINENESS * max(1, self.rows)
        errors = AnswerColumn("error", tuple(number / unit for number in noisy), (bar / unit,) * len(noisy), REAL)
        names = AnswerColumn("columns", tuple(map(", ".join, self.fit.groups)), kind=TEXT, is_key=True)
        return Answer((names, errors))

    def decode(self, answer: Answer) -> Answer:
        """The table of errors."""
        return answer

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy) -> tuple[list[int], float]:
        """The noisy distances in the finest parts, and the bar of each."""
        rows, budget_part = sealed_counts(self.question, self.fit.axes, run_pass(self.passes[0])), BudgetPart(allowance)
        change = distances_change(rows, self.fit.groups)
        exact = rows.computed(lambda crowd: distances(crowd, self.fit.groups, self.told), sensitivity=change)
        noise = budget_part.noise(budget_part.left, change)
        noisy = measure(noise, exact, allowance, entropy)
        return [int(number) for number in noisy], _bar(noise)


def distances(crowd: CellCounts, groups: Sequence[Columns], told: Sequence[Counts]) -> Counts:
    """For each group, the l1 distance of the model's counts from the data, in the finest parts."""
    pairs = zip(groups, told, strict=True)
    return integer_array([distance(crowd.marginal(group), counts) for group, counts in pairs])


def distances_change(rows: SealedCounts, groups: Sequence[Columns]) -> Sensitivity:
    """How far one unit moves the distances.

    Proof: by the triangle inequality a distance moves by no more than the counts of its group do in l1 norm; each of
    the distances may move so far at once.
    """
    each = [FINENESS * rows.change([group]).need("l1", mechanism="a distance") for group in groups]
    squares = sum((step * step for step in each), Fraction(0))
    return Sensitivity(l1=sum(each), l2_squared=squares, linf=max(each), neighbours=rows.neighbours)


@dataclass(frozen=True)
class Evaluation:
    """How wrong a synthetic table is, measured on the data. `answer` has for each group of columns its error: the sum
    over all cells of how far the table's counts are from the true ones, as a share of the rows (0 is right, 2 is all
    wrong), with bars at 95 %. An error may come out below 0: noise was added to it."""

    answer: Answer

    @property
    def errors(self) -> dict[Columns, float]:
        """The error of each group."""
        groups = (tuple(text.split(", ")) for text in self.answer["columns"])
        return dict(zip(groups, self.answer["error"], strict=True))

    @property
    def bar(self) -> float:
        """How far each error can be from the true one, at 95 %."""
        return float(self.answer["error ±"][0])

    @property
    def table(self) -> tuple[AnswerColumn, ...]:
        """By how many columns are combined: groups, and their mean error with its bar."""
        orders = sorted({len(group) for group in self.errors})
        parts = [[error for group, error in self.errors.items() if len(group) == order] for order in orders]
        bars = tuple(self.bar / sqrt(len(part)) for part in parts)
        return (
            AnswerColumn("columns combined", tuple(orders), kind=COUNT, is_key=True),
            AnswerColumn("groups", tuple(map(len, parts)), kind=COUNT),
            AnswerColumn("mean error", tuple(float(np.mean(part)) for part in parts), bars, REAL),
        )

    @property
    def _footer(self) -> list[str]:
        return [
            "Errors are sums over all cells of a group, as shares of the rows (0 is right, 2 is all wrong), measured "
            f"on the data with noise, for {self.answer.charge}."
        ]

    def __str__(self) -> str:
        return text_table(self.table, footer=self._footer)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.table, footer=self._footer)


def carried(rows: Frame, axes: Sequence[BinnedColumn], most: int) -> BinnedRows:
    """The rows of a frame on axes that are known already; refused where its columns are declared in another way."""
    found = BinnedRows.of(rows, columns=[axis.name for axis in axes], bins=bins_of(axes), most=most)
    require_same_axes(found.axes, axes)
    return found


def bins_of(axes: Sequence[BinnedColumn]) -> dict[str, int | str]:
    """How the bins of known axes are asked for again."""
    return {axis.name: given for axis in axes if (given := _bins(axis)) is not None}


def require_same_axes(found: Sequence[BinnedColumn], wanted: Sequence[BinnedColumn]) -> None:
    """Refuse rows whose columns are declared in another way than those that a synthetic table was made of."""
    if tuple(found) != tuple(wanted):
        names = [axis.name for axis in found]
        raise InvalidParameter("rows", names, allowed="rows with the columns that the synthetic table was made of")


def compared(fit: Fit, model: Fitted, groups: tuple[Columns, ...], *, rows: int) -> Comparison:
    """A comparison of the rows of a fit with a model, at the fit's price; nothing is read or spent."""
    told = tuple(rounded(model.total * shares) for shares in model.beliefs.marginals(groups))
    return Comparison(replace(fit, groups=groups), told, rows)


def _bar(noise: Noise) -> float:
    """What the noise stays within at 95 %."""
    return BAR * deviation(noise) if isinstance(noise, DiscreteGaussian) else _SCALES * float(noise.scale)


def _bins(axis: BinnedColumn) -> int | str | None:
    """How the bins of an axis are asked for again."""
    if not isinstance(axis.domain, Ranged):
        return None
    if axis.cut == axis.domain:
        return axis.domain.upper - axis.domain.lower + 1
    if isinstance(axis.cut, Number):
        return str(axis.cut.step)
    assert isinstance(axis.cut, Dated)
    return str(Fraction(axis.cut.grain.size, 1 if isinstance(axis.domain, Days) else _DAY))
