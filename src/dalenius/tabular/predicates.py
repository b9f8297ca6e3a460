"""Conditions in SQL as cells of a grid: which cells a counting question counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import QueryRefused
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.binding.binder import bind
from dalenius.query.expressions import Expression
from dalenius.query.functions.evaluation import evaluate
from dalenius.query.plan.relations import Filter, Relation
from dalenius.query.sql.reader import read
from dalenius.query.syntax import Select
from dalenius.query.tables import EachRow, Protection, Table
from dalenius.query.types import Code
from dalenius.tabular.columns import BinnedColumn, grid_of
from dalenius.tabular.domains import Columns
from dalenius.tabular.workloads import Integers, MatrixWorkload

MOST_COMBINATIONS = 10**6
"""How many combinations of values of its columns a condition is tried on."""
_ROWS = "rows"
_ALL = "SELECT COUNT(*) AS n FROM rows"


@dataclass(frozen=True)
class Condition:
    """A condition, the columns that it speaks of, and for which of their combinations of bins it is true."""

    text: str
    columns: Columns
    true: NDArray[np.bool_]

    @classmethod
    def read(cls, text: str, axes: Sequence[BinnedColumn]) -> Condition:
        """The condition of a SQL WHERE; refused where it is true for a part of a bin only."""
        labelled = conditions(text, axes)
        named = {name.rsplit(".", 1)[-1] for condition in labelled for name in condition.columns()}
        used = [axis for axis in axes if axis.name in named]
        runs = [axis.runs for axis in used]
        tried = prod(sum(map(len, axis)) for axis in runs)
        if tried > MOST_COMBINATIONS:
            raise QueryRefused(
                text,
                rule=f"its columns have {tried} combinations of values, and at most {MOST_COMBINATIONS} are tried",
                instead="Declare larger steps, or ask about fewer columns in one condition.",
            )
        true = np.zeros([len(axis) for axis in runs], dtype=bool)
        for places in product(*(range(len(axis)) for axis in runs)):
            found = {
                all(evaluate(condition, row) is True for condition in labelled)
                for row in _rows(labelled, used, [axis[place] for axis, place in zip(runs, places, strict=True)])
            }
            if len(found) > 1:
                cut = " and ".join(
                    f"{axis.name} from {axis.label(place)}" for axis, place in zip(used, places, strict=True)
                )
                raise QueryRefused(
                    text, rule=f"it is true for a part of the bin {cut} only", instead="Ask along the edges of bins."
                )
            true[places] = found.pop()
        return cls(text, tuple(axis.name for axis in used), true)

    def weights(self, axes: Sequence[BinnedColumn]) -> Integers:
        """One for every cell of the whole grid for which it is true, else zero."""
        grid = grid_of({axis.name: axis for axis in axes})
        shape = [axis.size if axis.name in self.columns else 1 for axis in axes]
        return np.broadcast_to(self.true.reshape(shape), grid.shape()).astype(np.int64).ravel()


def predicates(axes: Sequence[BinnedColumn], texts: Sequence[str]) -> MatrixWorkload:
    """A workload of counting questions, each given by a SQL condition."""
    grid = grid_of({axis.name: axis for axis in axes})
    return MatrixWorkload(
        grid, np.stack([Condition.read(text, axes).weights(axes) for text in texts]), titles=list(texts)
    )


def conditions(text: str, axes: Sequence[BinnedColumn]) -> list[Expression]:
    """A text as typed conditions over the declared columns, all of which must be true."""
    guard = Protection("people", EachRow(), AddRemove(), None)
    table = Table(_ROWS, tuple((axis.name, axis.domain) for axis in axes), guard)
    asked = read(f"{_ALL} WHERE {text}")  # parsed, and run nowhere
    if not isinstance(asked, Select) or replace(asked, where=None) != read(_ALL):
        raise QueryRefused(text, rule="it is more than a condition", instead="Write what follows WHERE.")
    question = bind(asked, {_ROWS: table})
    found, node = [], question.relation
    while node.children:
        found += [node.condition] if isinstance(node, Filter) else []
        node = _only(node, text)
    return found


def _only(node: Relation, text: str) -> Relation:
    if len(node.children) > 1:
        raise QueryRefused(text, rule="it speaks of other rows", instead="Compare columns of one row with constants.")
    return node.children[0]


def _rows(
    conditions: Sequence[Expression], axes: Sequence[BinnedColumn], runs: Sequence[Sequence[Code]]
) -> list[dict[str, Code]]:
    """Every combination of values of some bins, under the names that conditions use."""
    names = {name.rsplit(".", 1)[-1]: name for condition in conditions for name in condition.columns()}
    return [{names[axis.name]: code for axis, code in zip(axes, row, strict=True)} for row in product(*runs)]
