"""Every check goes by one definition of what an observer can tell apart: where two runs lie, and whether outputs count
as one, never disagree."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dalenius.checks import observer
from dalenius.checks.observer import first_difference
from dalenius.checks.sampling import forms
from dalenius.checks.sampling.forms import form


@dataclass(frozen=True)
class Pair:
    shown: object
    hidden: object = field(default=None, repr=False, compare=False)


class Colour(Enum):
    RED = 1
    BLUE = 2


class Text(str):
    """A text with something beside it."""


def noted(note: object) -> Text:
    text = Text("a")
    text.note = note  # type: ignore[attr-defined]
    return text


MADE: tuple[Callable[[], Any], ...] = (
    lambda: None, lambda: True, lambda: 1, lambda: 1.0, lambda: 0.0, lambda: -0.0, lambda: float("nan"),
    lambda: Fraction(1), lambda: Decimal("1.0"), lambda: Decimal("1.00"), lambda: 1 + 0j, lambda: complex(0, -0.0),
    lambda: np.int64(1), lambda: np.int32(1), lambda: np.float64(1), lambda: np.bool(True), lambda: np.longdouble(1),
    lambda: "1", lambda: b"1", lambda: Text("a"), lambda: noted(1), lambda: noted(2), lambda: "a", lambda: [1, 2],
    lambda: (1, 2), lambda: {1, 2}, lambda: frozenset({1, 2}), lambda: deque([1, 2]), lambda: range(1, 3),
    lambda: [1, [2]], lambda: [[1], 2], lambda: {"a": 1, "b": 2}, lambda: {"b": 2, "a": 1},
    lambda: OrderedDict(a=1, b=2), lambda: {"a": 1}.keys(), lambda: np.array([1, 2]), lambda: np.array([1.0, 2.0]),
    lambda: np.array([[1, 2]]), lambda: np.array([1, "2"], object),
    lambda: np.ma.MaskedArray([1, 2], mask=[False, True]), lambda: np.ma.MaskedArray([1, 2], mask=[False, False]),
    lambda: pa.table({"a": [1, 2]}), lambda: pa.table({"a": [1, 3]}), lambda: pa.table({"b": [1, 2]}),
    lambda: pa.chunked_array([[1], [2]]), lambda: pa.chunked_array([[1, 2]]), lambda: pa.array([1, 2]),
    lambda: pd.DataFrame({"a": [1, 2]}), lambda: pd.Series([1, 2]), lambda: pd.Index([1, 2]),
    lambda: pd.DataFrame({"a": [1.0, 2.0]}), lambda: Pair(1), lambda: Pair(2), lambda: Pair(1, [1]),
    lambda: Pair(1, [2]), lambda: Colour.RED, lambda: Colour.BLUE, lambda: date(2024, 1, 1), lambda: date(2024, 1, 2),
    lambda: ValueError("a"), lambda: ValueError("b"), lambda: np.dtype("f8"), lambda: int,
)  # fmt: skip


def disagreements() -> list[tuple[int, int]]:
    """Pairs of things that one check would call alike and another would not."""
    known = [(first(), second()) for first, second in product(MADE, MADE)]
    return [
        divmod(place, len(MADE))
        for place, (first, second) in enumerate(known)
        if (first_difference(first, second) is None) != (form(first) == form(second))
    ]


def test_things_are_like_those_made_in_the_same_way_and_like_no_other() -> None:
    for (place, first), (other, second) in product(enumerate(MADE), enumerate(MADE)):
        assert (first_difference(first(), second()) is None) == (place == other), (first(), second())


def test_all_checks_tell_the_same_things_apart() -> None:
    assert disagreements() == []


def test_the_test_above_notices_a_form_that_overlooks_something(monkeypatch: pytest.MonkeyPatch) -> None:
    def short_sighted(thing: Any) -> observer.View | None:
        seen = observer.view(thing)
        return replace(seen, names=(), parts=list(seen.parts)[: len(seen.parts) - len(seen.names)]) if seen else None

    monkeypatch.setattr(forms, "view", short_sighted)
    overlooked = {(type(MADE[place]()), type(MADE[other]())) for place, other in disagreements()}
    assert (Pair, Pair) in overlooked
    assert (Text, Text) in overlooked


def test_what_is_overlooked_by_the_one_definition_is_overlooked_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "_attributes", lambda thing: {})
    assert first_difference(noted(1), noted(2)) is None
    assert form(noted(1)) == form(noted(2))


@pytest.mark.parametrize("thing", [lambda: lambda: 1, lambda: (row for row in [1])])
def test_what_a_run_made_and_cannot_be_looked_into_is_like_nothing_else(thing: Callable[[], Any]) -> None:
    assert "cannot be compared" in str(first_difference(thing(), thing()))
    assert observer.view(thing()) is None
