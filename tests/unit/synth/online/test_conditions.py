"""Conditions part by part are the conditions themselves, on every cell."""

from __future__ import annotations

import pytest

from dalenius.errors import QueryRefused
from dalenius.query.types import Bool, Choice, Number
from dalenius.synth.online import conditions
from dalenius.synth.online.conditions import Conditions
from dalenius.tabular.columns import BinnedColumn
from dalenius.tabular.predicates import Condition

AGE = BinnedColumn("age", Number(True, 0, 99), Number(True, 0, 4, step=20))  # type: ignore[arg-type]
CITY = BinnedColumn("city", Choice(True, ("Oslo", "Bergen")), Choice(True, ("Oslo", "Bergen")))
SICK = BinnedColumn("sick", Bool(True), Bool(True))
AXES = (AGE, CITY, SICK)
TEXTS = [
    "age >= 20 AND age < 60 and city = 'Oslo'", "age BETWEEN 20 AND 59 AND city IN ('Oslo', 'Bergen')",
    "age BETWEEN 20 AND 59 AND city <> 'Oslo' OR sick", "age >= 20 AND NOT city = 'Oslo' AND sick",
    "age >= 20\n AND city = 'Oslo'", "age >= 20 AND age < 40 + 20",
    "TRUE", "FALSE", "age >= 40", "age >= 20 AND age < 60", "age >= 20 AND city = 'Oslo' AND sick",
    "age IS NULL AND NOT sick", "age BETWEEN 20 AND 59 AND (city = 'Oslo' OR sick)",
    "city IN ('Oslo', 'Bergen') AND sick AND (city <> 'Oslo' OR age < 20)", "NOT (age < 20 AND sick)",
    "age < 20 OR age >= 80 AND sick IS NULL",
]  # fmt: skip


def alike(text: str) -> bool:
    whole = Condition.read(text, AXES).weights(AXES)
    return bool((Conditions(AXES).true(text).ravel() == whole).all())


@pytest.mark.parametrize("text", TEXTS)
def test_parts_together_are_the_whole_condition(text: str) -> None:
    assert alike(text)


def test_the_test_above_notices_parts_of_an_or(monkeypatch: pytest.MonkeyPatch) -> None:
    def split(expressions: object) -> object:
        for each in expressions:  # type: ignore[attr-defined]
            yield from split(each.arguments) if getattr(each, "function", "") in ("and", "or") else [each]

    monkeypatch.setattr(conditions, "_conjuncts", split)
    assert not all(map(alike, TEXTS))


@pytest.mark.parametrize(
    ("text", "atoms"),
    [
        ("age >= 20 AND city = 'a AND b = 3'", 2), ("age BETWEEN 20 AND 59 AND b = 3", 2), ("a = 1 OR b = 2", 1),
        ("a = 1 AND b = 2 OR c = 3", 1), ("a = 1 AND b = 2 -- c", 1), ("a = 1; b = 2", 1), ("a = 1 AND (b = 2)", 1),
        ("a = 'it''s' AND b = 2", 1), ("a = 1 AND b = 2 + 3", 1), ("a = 1 AND", 1), ("a = 1 AND b IN (1, 2)", 2),
    ],
)  # fmt: skip
def test_only_plain_comparisons_are_read_one_by_one(text: str, atoms: int) -> None:
    found = conditions._atoms(text)
    assert len(found) == atoms
    assert found == [text] or " AND ".join(found) == text


def test_each_part_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    many, counted = Conditions(AXES), []
    real = conditions.evaluate
    monkeypatch.setattr(conditions, "evaluate", lambda *given: counted.append(1) or real(*given))
    many.true("age >= 40 AND city = 'Oslo'")
    first = len(counted)
    many.true("city = 'Oslo' AND age >= 40")
    many.true("age >= 40")
    assert first == len(counted) > 0


def test_columns_that_are_large_together_are_fine_in_parts_of_their_own() -> None:
    wide = [BinnedColumn(name, Number(False, 0, 9_999), Number(False, 0, 9, step=1000)) for name in "ab"]  # type: ignore[arg-type]
    assert Conditions(wide).true("a < 1000 AND b >= 2000").sum() == 8
    with pytest.raises(QueryRefused, match="combinations"):
        Conditions(wide).true("a < 1000 OR b >= 2000")


def test_a_part_of_a_bin_is_refused() -> None:
    with pytest.raises(QueryRefused, match="part of the bin age from 60"):
        Conditions(AXES).true("city = 'Oslo' AND age >= 65")


def test_fewer_conditions_are_remembered_over_larger_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is bounded in cells, not in conditions alone."""
    kept = {}
    for most in (2**28, 40 * 10, 1):
        monkeypatch.setattr(conditions, "_KEPT_CELLS", most)
        read = Conditions(AXES)
        for low in (0, 20, 40, 60, 80) * 2:
            for text in (f"age >= {low}", f"age >= {low} OR sick"):
                assert read.true(text).any()
        kept[most] = read._atom.cache_info().currsize
    assert kept == {2**28: 10, 400: 400 // read.grid.cells, 1: 1}
