"""What expressions mean for many rows at once: each function is applied once to each combination of codes that occurs.

The meaning itself is `evaluation.apply`, one combination at a time; nothing is defined here. Rows hold few different
codes, and generated expressions share their parts, so millions of rows take seconds instead of hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.evaluation import apply
from dalenius.query.types import Bool, Code, Domain, Ranged

_NARROW = 2**63


@dataclass(frozen=True)
class Codes:
    """A column: the different codes, and for each row the place of its code among them."""

    codes: tuple[Code, ...]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, codes: Sequence[Code]) -> Codes:
        """A column from the code of each row."""
        numbers = {code: place for place, code in enumerate(dict.fromkeys(codes))}
        return cls(tuple(numbers), np.array([numbers[code] for code in codes], dtype=np.int64))

    def array(self, domain: Domain) -> pa.Array:
        """The column as an engine's result has it (see `Cells`)."""
        kind = result_type(domain)
        codes = [Decimal(int(code)) if code is not None and pa.types.is_decimal(kind) else code for code in self.codes]
        return pa.array(codes, kind).take(pa.array(self.places))


def result_type(domain: Domain) -> pa.DataType:
    """The type in which a result has codes of a domain."""
    if isinstance(domain, Ranged):
        return pa.int64() if max(abs(domain.lower), abs(domain.upper)) < _NARROW else pa.decimal128(38, 0)
    return pa.bool_() if isinstance(domain, Bool) else pa.string()


class Meanings:
    """The codes of expressions over fixed rows; parts that expressions share are computed once."""

    def __init__(self, columns: Mapping[str, Sequence[Code]]) -> None:
        self._columns = {name: Codes.of(codes) for name, codes in columns.items()}
        self._rows = len(next(iter(columns.values())))
        self._known: dict[int, tuple[Expression, Codes]] = {}  # by identity: comparing deep expressions takes long

    def of(self, expression: Expression) -> Codes:
        """The codes of an expression, row by row."""
        if id(expression) not in self._known:
            self._known[id(expression)] = expression, self._computed(expression)
        return self._known[id(expression)][1]

    def _computed(self, expression: Expression) -> Codes:
        if isinstance(expression, Column):
            return self._columns[expression.name]
        if isinstance(expression, Literal):
            return Codes((expression.value,), np.zeros(self._rows, dtype=np.int64))
        assert isinstance(expression, Call)
        arguments = [self.of(argument) for argument in expression.arguments]
        rows, places = _combinations(arguments)
        found = Codes.of([apply(expression.function, each) for each in _taken(arguments, rows)])
        return Codes(found.codes, found.places[places])


def _combinations(arguments: Iterable[Codes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A row for each combination of codes that occurs, and for each row the place of its combination."""
    numbers: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    many = 1
    for argument in arguments:
        if many * len(argument.codes) >= _NARROW:
            different, numbers = np.unique(numbers, return_inverse=True)
            many = len(different)
        numbers, many = numbers * len(argument.codes) + argument.places, many * len(argument.codes)
    _, rows, places = np.unique(numbers, return_index=True, return_inverse=True)
    return rows, places


def _taken(arguments: Sequence[Codes], rows: NDArray[np.int64]) -> Iterable[list[Code]]:
    columns = [[argument.codes[place] for place in argument.places[rows].tolist()] for argument in arguments]
    return map(list, zip(*columns, strict=True))
