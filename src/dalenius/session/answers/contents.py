"""What a purchase leaves besides a table: arrays, as a model learns them, and noisy marginals, as a synthetic table is
made of. Each is kept as it is, and shown as a table."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import DamagedAnswer
from dalenius.measuring.postprocess import COUNT, REAL, TEXT
from dalenius.session.answers.columns import AnswerColumn

BAR = 1.96
"""How many deviations a bar is: of normal noise, 95 % lies within."""


@dataclass(frozen=True, eq=False)
class NamedArrays:
    """Named arrays of numbers."""

    parts: Mapping[str, NDArray[np.float64]]

    @property
    def columns(self) -> tuple[AnswerColumn, ...]:
        """They as a table: which array, its shape, and each number in its place."""
        sizes = [(name, array) for name, array in self.parts.items() for _ in range(array.size)]
        places = [place for array in self.parts.values() for place in range(array.size)]
        numbers = [float(number) for array in self.parts.values() for number in array.ravel()]
        return (
            AnswerColumn("array", tuple(name for name, _ in sizes), kind=TEXT, is_key=True),
            AnswerColumn("shape", tuple(" ".join(map(str, array.shape)) for _, array in sizes), kind=TEXT),
            AnswerColumn("place", tuple(places), kind=COUNT, is_key=True),
            AnswerColumn("number", tuple(numbers), kind=REAL),
        )

    def facts(self) -> dict[str, Any]:
        """They as JSON has them."""
        return {"arrays": {name: _facts(array) for name, array in self.parts.items()}}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> NamedArrays:
        found = cls({name: _array(part) for name, part in facts["arrays"].items()})
        _require_same(found, "arrays", facts)
        return found


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """Noisy counts of the cells of some columns, and the deviation of each. `table` says of which table, where several
    were paid for at once."""

    columns: tuple[str, ...]
    counts: NDArray[np.float64]
    deviation: float
    table: str = ""


@dataclass(frozen=True, eq=False)
class NoisyMarginals:
    """Noisy marginals in the order in which they were measured; one that was measured twice stands here twice."""

    parts: tuple[NoisyMarginal, ...]

    @property
    def columns(self) -> tuple[AnswerColumn, ...]:
        """They as a table: which columns, which cell, and its noisy count."""
        lines = [(part, cell) for part in self.parts for cell in range(part.counts.size)]
        counts = [int(count) for part in self.parts for count in part.counts.ravel()]
        bars = [ceil(BAR * part.deviation) for part, _ in lines]
        tables = tuple(part.table for part, _ in lines)
        return (
            *([AnswerColumn("table", tables, kind=TEXT, is_key=True)] if any(tables) else []),
            AnswerColumn("marginal", tuple(", ".join(part.columns) for part, _ in lines), kind=TEXT, is_key=True),
            AnswerColumn("cell", tuple(cell for _, cell in lines), kind=COUNT, is_key=True),
            AnswerColumn("count", tuple(counts), tuple(bars), COUNT),
            AnswerColumn("deviation", tuple(part.deviation for part, _ in lines), kind=REAL),
        )

    def facts(self) -> dict[str, Any]:
        """They as JSON has them."""
        listed = [
            {"columns": list(part.columns), "counts": _facts(part.counts), "deviation": part.deviation,
             "table": part.table}
            for part in self.parts
        ]  # fmt: skip
        return {"marginals": listed}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> NoisyMarginals:
        parts = [
            NoisyMarginal(tuple(part["columns"]), _array(part["counts"]), float(part["deviation"]), part["table"])
            for part in facts["marginals"]
        ]
        names = [name for part in parts for name in (part.table, *part.columns)]
        if not all(part.deviation > 0 for part in parts) or not all(isinstance(name, str) for name in names):
            raise DamagedAnswer("with marginals of named columns")
        found = cls(tuple(parts))
        _require_same(found, "marginals", facts)
        return found


Content: TypeAlias = NamedArrays | NoisyMarginals
KINDS: Mapping[str, type[Content]] = {"arrays": NamedArrays, "marginals": NoisyMarginals}
"""What a stored answer may hold instead of columns, by its name there."""


def _facts(array: NDArray[Any]) -> list[Any]:
    """The shape of an array and its numbers, exactly, as 64-bit floats."""
    floats = np.ascontiguousarray(array, dtype="<f8")
    return [list(array.shape), base64.b64encode(floats.tobytes()).decode()]


def _array(facts: Sequence[Any]) -> NDArray[np.float64]:
    shape, text = facts
    if not all(type(size) is int and size >= 0 for size in shape):
        raise DamagedAnswer("with arrays of whole sizes")
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64).reshape(shape)


def _require_same(found: Content, kind: str, facts: Mapping[str, Any]) -> None:
    """Refuse what is not written as it would be: there is one text for each value."""
    if found.facts()[kind] != facts[kind]:
        raise DamagedAnswer("made of values in their usual form")
