"""What a fit on arrays may lose: an allowance of its own, and what was promised, in words.

Settings of models written out exactly: two fits are the same request only if all their settings are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nan
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.numbers import Number
from dalenius.session.answers.answers import Answer
from dalenius.session.executor import Purchase


def exactly(value: Any) -> Any:
    """The value as something that Python writes out in full. NumPy rounds numbers when it writes them, and leaves out
    the middle of long arrays, so arrays become lists with their kind, at every depth; plain values stay."""
    if isinstance(value, np.generic):
        return "number", value.dtype.str, value.tobytes().hex() if value.dtype.kind == "f" else repr(value.item())
    if isinstance(value, BaseEstimator):
        return "model", type(value).__name__, exactly(value.get_params(deep=False))
    if isinstance(value, Mapping):
        return "mapping", sorted((repr(exactly(name)), exactly(part)) for name, part in value.items())
    if isinstance(value, AbstractSet):
        return "set", sorted(repr(exactly(part)) for part in value)
    if isinstance(value, list | tuple):
        return type(value)(map(exactly, value)) if type(value) in (list, tuple) else exactly(tuple(value))
    if hasattr(value, "__array__") and not isinstance(value, np.ndarray):
        return type(value).__name__, exactly(np.asarray(value))
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, exactly(value.ravel().tolist())
    return value


def number(value: Any) -> float:
    """A setting that should be a number, of Python's kinds or NumPy's; NaN, which no bounds hold, where it is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return nan
    try:
        return float(value)
    except OverflowError:
        return inf


RELATIONS = {"add_remove": AddRemove("row"), "replace": Replace("row")}


@dataclass(frozen=True)
class Guarantee:
    """What a fitted model promises about the rows that it was fitted to: in words, and as what a ledger would add up.

    `units` are those of a `Charge` and its order, none where nothing was lost; `delta` is that of a budget for arrays.
    """

    loss: str
    neighbours: str
    note: str = ""
    units: tuple[int, int, str | None] | None = None
    delta: str | None = None

    def __post_init__(self) -> None:
        if self.units is not None:  # a file has a list
            object.__setattr__(self, "units", tuple(self.units))

    @classmethod
    def of_budget(cls, budget: Budget, hidden: Neighbours) -> Guarantee:
        """What a fit on arrays may lose."""
        return cls(str(budget), str(hidden), units=_units(rectangle_of(budget)), delta=str(budget.delta))

    @classmethod
    def of_answer(cls, answer: Answer, bought: Purchase) -> Guarantee:
        """What was bought of a population's budget, now or before."""
        charged = "charged before, and replayed for nothing" if answer.replayed else "charged"
        note = f"{charged}: {answer.charge}; receipt {answer.receipt}"
        (amount,) = bought.charge.values()
        return cls(str(bought.loss), str(bought.question.relation.neighbours), note, _units(amount))

    @property
    def amount(self) -> Charge | None:
        """What was spent, as a ledger adds it up; None where nothing was."""
        if self.units is None:
            return None
        divergence, delta, order = self.units
        return Charge(divergence=divergence, delta=delta, order=None if order is None else Fraction(order))

    def __str__(self) -> str:
        return f"{self.loss}, hiding what comes from {self.neighbours}" + (f"; {self.note}" if self.note else "")


def _units(amount: Charge) -> tuple[int, int, str | None]:
    return amount.divergence, amount.delta, None if amount.order is None else str(amount.order)


def relation(name: str) -> Neighbours:
    """The neighbours that a parameter names."""
    if name not in RELATIONS:
        raise InvalidParameter("neighbours", name, allowed="'add_remove' or 'replace'")
    return RELATIONS[name]


def budget_of(epsilon: Number | None, delta: Number | None, budget: Budget | None) -> Budget:
    """The budget: one that is given ready, or epsilon with delta."""
    if budget is None:
        if epsilon is None:
            raise InvalidParameter("epsilon", None, allowed="a number, or a ready budget instead")
        return Budget(epsilon, delta or 0)
    if not isinstance(budget, Budget):
        raise InvalidParameter("budget", budget, allowed="a Budget, such as Budget(epsilon=1, delta='1e-6')")
    return budget


def rectangle_of(budget: Budget) -> Charge:
    """What a budget lets one fit lose, of Rényi divergence where it has a delta, with nothing set apart for events."""
    renyi_filter = RenyiFilter.of(budget, event_delta=0) if budget.delta else RenyiFilter.of(budget)
    return renyi_filter.cap.rectangle


def allowance_of(budget: Budget, neighbours: Neighbours) -> Allowance:
    """The whole budget, for one fit."""
    return Allowance(rectangle_of(budget), neighbours=neighbours, account="this fit")
