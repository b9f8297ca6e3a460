"""Functions that are carried to a fresh interpreter: they work there, are known by what they are, and see no other
rows, nor room that these left."""

from __future__ import annotations

import math
import os
import statistics
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.robust.outputs import Range
from dalenius.sandbox import confinement
from dalenius.sandbox import sandbox as sandbox_module
from dalenius.sandbox.functions import ShippedFunction
from dalenius.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.skipif(not confinement.supported(), reason="confining a process needs Linux")
PATIENT = Sandbox(seconds=Fraction(30), megabytes=512)
NARROW = Sandbox(seconds=Fraction(30), megabytes=1)
GRID = Range(0, 10_000, step=1)
DEFAULT = (5000,)
WEIGHTS = np.array([[1, 2], [3, 4]])


@pytest.fixture(autouse=True)
def _no_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "_wait", lambda until: None)


def run(function: Any, blocks: Any = ([(3, "a"), (5, "b")],), sandbox: Sandbox = PATIENT) -> list[tuple[int, ...]]:
    return sandbox.outputs(ShippedFunction.of(function), blocks, GRID)


def doubled(value: float, times: int = 2) -> float:
    return value * times


def factorial(number: int) -> int:
    return 1 if number < 2 else number * factorial(number - 1)


def above(least: Any) -> Callable[[list[Any]], Any]:
    def counted(rows: list[Any], *, more: int = 1) -> Any:
        return sum(row[0] > least for row in rows) + more if rows else counted([(least,)])

    return counted


def test_a_function_takes_along_what_it_uses() -> None:
    functions: dict[int, Any] = {
        13: lambda rows: doubled(rows[0][0]) + WEIGHTS.sum() - 3,
        24: lambda rows: factorial(4),
        2: above(4),
        4: lambda rows: statistics.mean(number for number, _ in rows),
        5: lambda rows: Counter({row: row[0] for row in rows}).most_common(1)[0][1],
        7: lambda rows: Decimal("7.2"),
        9: lambda rows: math.isqrt(81) + len({..., b"x", 1j, (None, True)}) - 4,
    }
    assert {number: run(function) for number, function in functions.items()} == {
        number: [(number,)] for number in functions
    }
    assert run(len) == [(2,)]


def test_what_fails_is_the_default_and_no_state_goes_from_block_to_block() -> None:
    seen: list[int] = []

    def function(rows: list[Any]) -> Any:
        seen.append(1)
        return len(seen) / rows[0]

    assert run(function, [[0], [1], [1]]) == [DEFAULT, (1,), (1,)]
    assert seen == []
    assert run(lambda rows: len(os.listdir("/"))) == [DEFAULT]


def test_equal_functions_are_known_again_and_others_are_not() -> None:
    assert ShippedFunction.of(above(4)).digest == ShippedFunction.of(above(4)).digest
    zeros, one = np.zeros(3000), np.zeros(3000)
    one[1500] = 1e-12
    told = [above(4), above(5), above(4.0), above(zeros), above(one), doubled, lambda rows: 4, lambda rows: 5]
    assert len({ShippedFunction.of(each).digest for each in told}) == len(told)


def test_a_helper_that_changes_makes_another_function(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ShippedFunction.of(lambda rows: doubled(1))
    monkeypatch.setitem(globals(), "doubled", lambda value: value)
    assert before != ShippedFunction.of(lambda rows: doubled(1))


class Own:
    def __call__(self, rows: list[Any]) -> int:
        return 1


def test_what_cannot_be_carried_is_refused_and_named() -> None:
    own, held = Own(), [1]
    held.append(held)  # type: ignore[arg-type]
    for function, told in ((lambda rows: own, "own, a Own"), (Own(), "a Own"), (above(held), "holds itself")):
        with pytest.raises(InvalidParameter, match=told):
            ShippedFunction.of(function)
    with pytest.raises(InvalidParameter, match="confinement, a module"):
        ShippedFunction.of(lambda rows: confinement and 1)


def test_a_function_that_cannot_start_there_is_refused_before_anything_is_charged() -> None:
    lost = ShippedFunction(ShippedFunction.of(len).written, ("no_such_module",), "len")
    with pytest.raises(TheoremDoesNotApply, match="nothing was charged"):
        PATIENT.require(lost)


def room(rows: list[Any]) -> int:
    """How many things fit, in hundreds: it looks harmless, and reads nobody else's rows."""
    kept: Any = []
    try:
        while len(kept) < 900_000:
            kept.append(bytes(400))
    except MemoryError:
        pass
    found, kept = len(kept) // 100, None
    return int(found)


def rooms(function: Any) -> list[int]:
    """How much fits before and after this process held many rows and let most of them go."""
    before = NARROW.outputs(function, [[1]], GRID)[0][0]
    rows = [bytes(400) for _ in range(100 * before + 60_000)][::50]  # more than what was free
    after = NARROW.outputs(function, [[1]], GRID)[0][0]
    del rows
    return [before, after]


@pytest.mark.textbook("S11.2")
def test_how_many_rows_others_have_cannot_be_told_from_free_memory() -> None:
    few, many = rooms(ShippedFunction.of(room))
    assert abs(few - many) <= 3


def test_the_room_in_a_copy_tells_which_is_why_functions_on_private_tables_are_carried() -> None:
    """Twin: a copy of this process finds the room that rows left."""
    few, many = rooms(room)
    assert many > few + 100
