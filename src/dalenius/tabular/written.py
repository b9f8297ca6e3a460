"""Axes and arrays as plain JSON, for files that are published and read by anybody; nothing in them is run."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.query.calendar import Grain
from dalenius.query.types import Bool, Choice, Days, Domain, Moments, Number, Ranged, normal
from dalenius.tabular.columns import MOST_VALUES, BinnedColumn
from dalenius.tabular.workloads import Reals

_WIDEST = 10**9  # of a column in a file: more values than anybody cuts into bins


def axis_facts(axis: BinnedColumn) -> dict[str, Any]:
    """An axis as it is written."""
    return {"name": axis.name, "domain": domain_facts(axis.domain), "cut": domain_facts(axis.cut)}


def axis_from(facts: Mapping[str, Any]) -> BinnedColumn:
    """The axis that was written."""
    axis = BinnedColumn(normal(facts["name"]), domain_from(facts["domain"]), domain_from(facts["cut"]))
    if not 1 <= axis.size <= MOST_VALUES or len(axis.runs) != axis.size:
        raise ValueError(axis.name)
    return axis


def domain_facts(domain: Domain) -> dict[str, Any]:
    """The values of a column as they are written: in codes, exactly."""
    facts: dict[str, Any] = {"nullable": domain.nullable}
    if isinstance(domain, Ranged):
        facts |= {"lower": domain.lower, "upper": domain.upper}
    if isinstance(domain, Number):
        return {"kind": "number", **facts, "step": str(domain.step)}
    if isinstance(domain, Days | Moments):
        kind, grain = "days" if isinstance(domain, Days) else "moments", domain.grain
        return {"kind": kind, **facts, "grain": [grain.size, grain.offset, grain.months]}
    if isinstance(domain, Bool):
        return {"kind": "truth", **facts}
    if isinstance(domain, Choice):
        return {"kind": "texts", **facts, "values": list(domain.values)}
    raise InvalidParameter("column", str(domain), allowed="with declared values")


def domain_from(facts: Mapping[str, Any]) -> Domain:
    """The values that were written."""
    kind, nullable = facts["kind"], facts["nullable"] is True
    if kind == "truth":
        return Bool(nullable)
    if kind == "texts":
        return Choice(nullable, tuple(map(normal, facts["values"])))
    lower, upper = int(facts["lower"]), int(facts["upper"])
    if kind == "number":
        return _narrow(Number(nullable, lower, upper, Fraction(facts["step"])))
    size, offset, months = map(int, facts["grain"])
    made = {"days": Days, "moments": Moments}[kind]
    return made(nullable, lower, upper, Grain(size, offset, months))


def _narrow(domain: Number) -> Number:
    if domain.upper - domain.lower > _WIDEST or domain.step <= 0:
        raise ValueError("a range")
    return domain


def array_text(array: Reals) -> str:
    """Numbers as a text: exactly, as 64-bit floats, compressed."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array, dtype="<f8").tobytes(), 1)).decode()


def array_from(text: str, shape: Sequence[int]) -> Reals:
    """The numbers of a text, which must be as many as expected and finite; a text that unpacks to more is refused."""
    size = 8 * int(np.prod(shape))
    unpacking = zlib.decompressobj()
    found = unpacking.decompress(base64.b64decode(text, validate=True), size + 1)
    if len(found) != size:
        raise ValueError("size")
    array = np.frombuffer(found, dtype="<f8").astype(np.float64).reshape(shape)
    if not np.isfinite(array).all():
        raise ValueError("numbers")
    return array
