"""Two pieces of work that are paid for at once: parents and children, each with a part of one price."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalenius.accounting.allowance import Allowance, PartOfAllowance
from dalenius.accounting.amounts import Amount
from dalenius.accounting.composition import compose
from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.columns import Column
from dalenius.curator.door import Payable
from dalenius.privacy.losses import Loss
from dalenius.query.cells import Look
from dalenius.query.estimates.kinds import TEXT
from dalenius.query.plan.passes import Pass
from dalenius.query.questions import Question
from dalenius.randomness.entropy import Entropy

PARENT, CHILD = "parent", "child"


@dataclass(frozen=True)
class Pair:
    """Work on parents and work on children that are paid for at once. All of it is public.

    Guarantee: what both draw together is covered by the one charge, which is the sum of theirs.
    """

    parent: Payable
    child: Payable

    @property
    def question(self) -> Question:
        return self.child.question

    @property
    def terms(self) -> tuple[object, ...]:
        return "pair", self.parent.question, self.parent.terms, self.child.terms

    @property
    def charge(self) -> Mapping[str, Amount]:
        return {name: amount + self.child.charge[name] for name, amount in self.parent.charge.items()}

    @property
    def loss(self) -> Loss:
        return compose([self.parent.loss, self.child.loss])

    @property
    def steps(self) -> tuple[Any, ...]:
        return (*self.parent.steps, *self.child.steps)

    @property
    def passes(self) -> tuple[Pass, ...]:
        return (*self.parent.passes, *self.child.passes)

    def run(self, look: Look, allowance: Allowance, entropy: Entropy) -> tuple[Any, Any]:
        """What the parents' part gives, and the children's with all that is left."""
        (amount,) = self.parent.charge.values()
        with PartOfAllowance(allowance, amount) as part:
            parents = self.parent.run(look, part, entropy)
        return parents, self.child.run(look, allowance, entropy)


def stacked(parents: Callable[[Any], Answer], children: Callable[[Any], Answer]) -> Callable[[tuple[Any, Any]], Answer]:
    """How what a pair released becomes one answer: one table below the other, which have the same columns."""

    def answer(released: tuple[Any, Any]) -> Answer:
        one, other = parents(released[0]), children(released[1])
        tables = Column("table", (PARENT,) * len(one) + (CHILD,) * len(other), kind=TEXT, is_key=True)
        return Answer((tables, *(_below(*pair) for pair in zip(one.columns, other.columns, strict=True))))

    return answer


def lines_of(answer: Answer, table: str) -> Answer:
    """The lines of one of both tables."""
    here = [place for place, name in enumerate(answer["table"]) if name == table]
    return replace(answer, columns=tuple(_chosen(column, here) for column in answer.columns if column.name != "table"))


def _below(one: Column, other: Column) -> Column:
    bars = None if one.errors is None else (*one.errors, *(other.errors or ()))
    return replace(one, values=(*one.values, *other.values), errors=bars)


def _chosen(column: Column, places: Sequence[int]) -> Column:
    bars = None if column.errors is None else tuple(column.errors[place] for place in places)
    return replace(column, values=tuple(column.values[place] for place in places), errors=bars)
