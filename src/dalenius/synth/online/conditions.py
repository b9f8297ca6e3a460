"""Many conditions in SQL over the same axes, quickly: parts that are joined by AND are worked out once each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import QueryRefused
from dalenius.privacy.numbers import of_kind
from dalenius.query.expressions import Call, Expression
from dalenius.query.functions.evaluation import evaluate
from dalenius.tabular.columns import BinnedColumn, grid_of
from dalenius.tabular.domains import Columns
from dalenius.tabular.predicates import MOST_COMBINATIONS, Condition, conditions

_KEPT, _KEPT_CELLS = 4_096, 2**28
"""How many conditions are remembered, and of how many cells in all."""
_VALUE = r"(?:-?\d{1,30}(?:\.\d{1,30})?|'[^'\\\n]{0,200}')"
_ATOM = re.compile(
    rf"[a-z_][a-z_0-9]* (?:(?:=|<>|<|<=|>|>=) {_VALUE}|BETWEEN {_VALUE} AND {_VALUE}|IN \({_VALUE}(?:, {_VALUE})*\))",
    re.IGNORECASE | re.ASCII,
)
_JOIN = re.compile(r"\s+AND\s+", re.IGNORECASE)


class Conditions:
    """Reads conditions. Each is a list of parts, all of which must be true; bins must not cut through any of them."""

    def __init__(self, axes: Sequence[BinnedColumn]) -> None:
        self._axes = tuple(axes)
        self.grid = grid_of({axis.name: axis for axis in axes})
        kept = max(1, min(_KEPT, _KEPT_CELLS // self.grid.cells))
        self._read = lru_cache(kept)(self._parts)
        self._atom = lru_cache(kept)(self._worked_out)

    def read(self, text: str) -> tuple[Condition, ...]:
        """The parts of the condition of a SQL WHERE; refused where one is true for a part of a bin only."""
        return self._read(of_kind(str, condition=text))

    def columns(self, text: str) -> Columns:
        """The columns that a condition speaks of."""
        return self.grid.ordered(name for part in self.read(text) for name in part.columns)

    def true(self, text: str, columns: Columns | None = None) -> NDArray[np.bool_]:
        """For which cells it is true, of the grid of some columns that hold its own, or of the whole grid."""
        chosen = self.grid.columns if columns is None else columns
        true = np.ones(self.grid.shape(chosen), dtype=bool)
        for part in self.read(text):
            true &= part.true.reshape([self.grid.sizes[name] if name in part.columns else 1 for name in chosen])
        return true

    def _parts(self, text: str) -> tuple[Condition, ...]:
        return tuple(part for atom in _atoms(text) for part in self._atom(atom))

    def _worked_out(self, atom: str) -> tuple[Condition, ...]:
        return tuple(self._condition(each) for each in _conjuncts(conditions(atom, self._axes)))

    def _condition(self, expression: Expression) -> Condition:
        names = {_bare(name): name for name in expression.columns()}
        used = [axis for axis in self._axes if axis.name in names]
        clause = f"a condition on {' and '.join(axis.name for axis in used) or 'nothing'}"
        tried = prod(sum(map(len, axis.runs)) for axis in used)
        if tried > MOST_COMBINATIONS:
            raise QueryRefused(
                clause,
                rule=f"it has {tried} combinations of values, and at most {MOST_COMBINATIONS} are tried",
                instead="Declare larger steps, or ask about fewer columns in one part.",
            )
        true = np.zeros([axis.size for axis in used], dtype=bool)
        for places in product(*(range(axis.size) for axis in used)):
            rows = product(*(axis.runs[place] for axis, place in zip(used, places, strict=True)))
            keys = [names[axis.name] for axis in used]
            found = {evaluate(expression, dict(zip(keys, row, strict=True))) is True for row in rows}
            if len(found) > 1:
                bin_ = " and ".join(f"{axis.name} from {axis.label(at)}" for axis, at in zip(used, places, strict=True))
                raise QueryRefused(
                    clause, rule=f"it is true for a part of the bin {bin_} only", instead="Ask along the edges of bins."
                )
            true[places] = found.pop()
        return Condition(clause, tuple(axis.name for axis in used), true)


def _conjuncts(expressions: Sequence[Expression]) -> Iterator[Expression]:
    """All that must be true: NULL AND x is not true, whatever x is, so each side must be true by itself."""
    for expression in expressions:
        if isinstance(expression, Call) and expression.function == "and":
            yield from _conjuncts(expression.arguments)
        else:
            yield expression


def _atoms(text: str) -> list[str]:
    """Plain comparisons that are joined by AND, or the text itself if it is anything else.

    A comparison of a name with constants that stands alone means the same where AND follows it, because AND binds less
    tightly: each is read by itself, in full.
    """
    found, at = [], 0
    while (atom := _ATOM.match(text, at)) is not None:
        found.append(atom[0])
        if atom.end() == len(text):
            return found
        joint = _JOIN.match(text, atom.end())
        if joint is None:
            break
        at = joint.end()
    return [text]


def _bare(name: str) -> str:
    return name.rsplit(".", 1)[-1]
