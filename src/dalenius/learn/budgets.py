"""What a fit on arrays may lose: an allowance of its own, and what was promised, in words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Amount
from dalenius.accounting.budget import Budget, Rectangle
from dalenius.curator.answers.answers import Answer
from dalenius.curator.door import Payable
from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.numbers import Number
from dalenius.query.questions import Question

RELATIONS = {"add_remove": AddRemove("row"), "replace": Replace("row")}


@dataclass(frozen=True)
class Guarantee:
    """What a fitted model promises about the rows that it was fitted to: in words, and as what a ledger would add up.

    `units` are those of an `Amount` and its order, none where nothing was lost; `delta` is that of a budget for arrays.
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
        return cls(str(budget), str(hidden), units=_units(rectangle_of(budget).cap), delta=str(budget.delta))

    @classmethod
    def of_answer(cls, answer: Answer, bought: Payable) -> Guarantee:
        """What was bought of a population's budget, now or before."""
        charged = "charged before, and replayed for nothing" if answer.replayed else "charged"
        note = f"{charged}: {answer.charge}; receipt {answer.receipt}"
        (amount,) = bought.charge.values()
        return cls(str(bought.loss), str(hidden_in(bought.question)), note, _units(amount))

    @property
    def amount(self) -> Amount | None:
        """What was spent, as a ledger adds it up; None where nothing was."""
        if self.units is None:
            return None
        divergence, delta, order = self.units
        return Amount(divergence=divergence, delta=delta, order=None if order is None else Fraction(order))

    def __str__(self) -> str:
        return f"{self.loss}, hiding what comes from {self.neighbours}" + (f"; {self.note}" if self.note else "")


def _units(amount: Amount) -> tuple[int, int, str | None]:
    return amount.divergence, amount.delta, None if amount.order is None else str(amount.order)


def relation(name: str) -> Neighbours:
    """The neighbours that a parameter names."""
    if name not in RELATIONS:
        raise InvalidParameter("neighbours", name, allowed="'add_remove' or 'replace'")
    return RELATIONS[name]


def hidden_in(question: Question) -> Neighbours:
    """The neighbours of the private table that a question is about."""
    return next(table.protection.neighbours for table in question.relation.tables if table.protection)


def budget_of(epsilon: Number | None, delta: Number | None, budget: Budget | None) -> Budget:
    """The budget: one that is given ready, or epsilon with delta."""
    if budget is None:
        if epsilon is None:
            raise InvalidParameter("epsilon", None, allowed="a number, or a ready budget instead")
        return Budget(epsilon, delta or 0)
    if not isinstance(budget, Budget):
        raise InvalidParameter("budget", budget, allowed="a Budget, such as Budget(epsilon=1, delta='1e-6')")
    return budget


def rectangle_of(budget: Budget) -> Rectangle:
    """The budget as a ledger keeps it, with nothing set apart for events."""
    return Rectangle.of(budget, event_delta=0) if budget.delta else Rectangle.of(budget)


def allowance_of(budget: Budget, neighbours: Neighbours) -> Allowance:
    """The whole budget, for one fit."""
    return Allowance(rectangle_of(budget).cap, neighbours=neighbours, account="this fit")
