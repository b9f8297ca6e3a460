"""Synthetic tables as files: plain JSON with the noisy marginals, which anybody can read; nothing in them is run."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.contents import NoisyMarginal, NoisyMarginals
from dalenius.session.answers.encoding import decoded, encoded
from dalenius.tabular.columns import BinnedColumn
from dalenius.tabular.domains import CellDomain, Columns
from dalenius.tabular.written import array_from, array_text, axis_facts, axis_from

Made = TypeVar("Made")

VERSION = 1
_MOST_CELLS = 10**8
"""More cells than any marginal of a model has: a small file must not ask for a large memory."""
_DAMAGES = (
    DaleniusError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    zlib.error,
)


def save(path: str | Path, kind: str, facts: Mapping[str, Any]) -> None:
    """Write facts of a kind into a file, with their hash."""
    body = {"kind": kind, "version": VERSION, "sha256": _hash(facts), "facts": facts}
    Path(path).write_text(json.dumps(body, ensure_ascii=False), encoding="utf-8")


def load(path: str | Path, kind: str, made: Callable[[Mapping[str, Any]], Made]) -> Made:
    """What is made of the facts in a file of a kind; refused where it is another file, a later one, or damaged."""
    try:
        body = json.loads(Path(path).read_text(encoding="utf-8"))
        found, version, digest, facts = (body[name] for name in ("kind", "version", "sha256", "facts"))
        if (found, version) == (kind, VERSION) and digest == _hash(facts):
            return made(facts)
    except _DAMAGES:
        raise _damaged(kind) from None
    if found != kind:
        raise InvalidParameter("file", "something else", allowed=f"a {kind} that was saved")
    if version != VERSION:
        raise InvalidParameter("version", version, allowed=f"{VERSION}", hint="Load it with the release that saved it.")
    raise _damaged(kind)


def axes_facts(axes: Sequence[BinnedColumn]) -> list[dict[str, Any]]:
    """Axes as they are written; refused where they could not be read again."""
    facts = [axis_facts(axis) for axis in axes]
    for axis, written in zip(axes, facts, strict=True):
        try:
            same = axis_from(written) == axis
        except ValueError:
            same = False
        if not same:
            raise InvalidParameter("column", axis.name, allowed="one with fewer values, to be saved")
    return facts


def axes_from(facts: Sequence[Mapping[str, Any]]) -> tuple[BinnedColumn, ...]:
    axes = tuple(map(axis_from, facts))
    if len({axis.name for axis in axes}) < len(axes):
        raise ValueError("columns")
    return axes


def measured_facts(measured: Sequence[NoisyMarginal]) -> list[dict[str, Any]]:
    """Noisy marginals as they are written: exactly."""
    return [
        {"columns": part.columns, "counts": array_text(part.counts), "deviation": part.deviation} for part in measured
    ]


def measured_from(facts: Sequence[Mapping[str, Any]], grid: CellDomain) -> tuple[NoisyMarginal, ...]:
    found = []
    for part in facts:
        columns, deviation = columns_from(part["columns"], grid), float(part["deviation"])
        if grid.size(columns) > _MOST_CELLS or not 0 < deviation < 1e300:
            raise ValueError("marginal")
        found.append(NoisyMarginal(columns, array_from(part["counts"], grid.shape(columns)), deviation))
    if not found:
        raise ValueError("marginals")
    return tuple(found)


def columns_from(names: Any, grid: CellDomain) -> Columns:
    """A group of columns in the order of the grid."""
    found = grid.ordered(names)
    if not found or list(found) != list(names):
        raise ValueError("columns")
    return found


def source_text(answer: Answer) -> str:
    """What is known of a purchase besides the noisy marginals: its price, receipt and card."""
    return encoded(replace(answer, columns=(), content=None))


def source_from(text: str, measured: Sequence[NoisyMarginal]) -> Answer:
    content = NoisyMarginals(tuple(measured))
    return replace(decoded(text), columns=content.columns, content=content)


def _damaged(kind: str) -> InvalidParameter:
    return InvalidParameter("file", "damaged", allowed=f"a {kind} as it was saved", hint="Save or copy it again.")


def _hash(facts: Any) -> str:
    written = json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()
