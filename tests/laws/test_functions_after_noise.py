"""A function means the same before the noise and after it: of a row, and of values that were released.

Before, a value is computed for every row and released as a key; after, the arguments are released, and the value is
computed from them. Of floats, which have no codes, the values are those of the same numbers, but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias
from unittest.mock import patch

import pytest

from dalenius.engines.conformance.cases import CASES, tried
from dalenius.engines.conformance.edges import COLUMNS, column, edge_rows
from dalenius.engines.conformance.worlds import Draws
from dalenius.measuring import postprocess
from dalenius.measuring.estimates import LEVEL, Estimates
from dalenius.measuring.postprocess import ReleasedGroups
from dalenius.measuring.released import plain
from dalenius.query.expressions import Call, Column, Expression
from dalenius.query.functions.evaluation import MEANINGS, evaluate
from dalenius.query.functions.functions import FUNCTIONS, literal
from dalenius.query.questions import Compute, Given, KeyOf, Post, ValueOf
from dalenius.query.types import Bool, Choice, Code, Days, Domain, Moments, Number, Text

Wrap: TypeAlias = Callable[[int], Post]
ROWS = edge_rows(7, size=30)
NESTED = 6


@dataclass(frozen=True)
class Both:
    """A term over rows, and over released values."""

    before: Expression
    after: Post


def released(
    domains: Mapping[str, Domain], rows: Sequence[Mapping[str, Code]], *, floats: bool = False
) -> ReleasedGroups:
    """The columns as keys, and as statistics; as floats, if so asked."""
    codes = [[row[name] for row in rows] for name in domains]
    estimates: list[Estimates] = []
    for domain, kept in zip(domains.values(), codes, strict=True):
        shown = [domain.decode(code) for code in kept]
        shown = [None if value is None else float(value) for value in shown] if floats else shown
        estimates.append(Estimates(shown, [None] * len(rows), domain=None if floats else domain))
    return ReleasedGroups(codes, list(domains.values()), estimates, LEVEL, len(rows))


GROUPS = released(COLUMNS, ROWS)


def differences(terms: Sequence[Both], rows: Sequence[Mapping[str, Code]], groups: ReleasedGroups) -> list[str]:
    found = []
    for term in terms:
        before = [plain(term.before.domain.decode(evaluate(term.before, row))) for row in rows]
        after = groups.values(term.after, range(len(rows)))
        pairs = zip(rows, before, after, strict=True)
        found += [f"{term.after}: {x!r} before, {y!r} after, at {row}" for row, x, y in pairs if not alike(x, y)]
    return found


def alike(before: Any, after: Any) -> bool:
    if isinstance(after, float) and before is not None:
        return abs(float(before) - after) < 1e-8  # a quotient of exact numbers is rounded down to its step
    return bool(before == after) and isinstance(before, bool) == isinstance(after, bool)


def terms(name: str, wrap: Wrap) -> list[Both]:
    """The function on columns of every kind, and on what other functions give; where it is not refused."""
    draws = Draws(f"after the noise {name}")
    found = [term for case in CASES[name] for term in made(name, [leaf(each, wrap) for each in case])]
    for _ in range(NESTED):
        case, inner = draws.choice(CASES[name]), values(wrap)
        found += made(name, [draws.choice(inner[each[0]]) if each in COLUMNS else leaf(each, wrap) for each in case])
    return found


@lru_cache
def values(wrap: Wrap) -> dict[str, list[Both]]:
    """Terms of columns, by the letter that names of columns of their kind begin with."""
    found: dict[str, list[Both]] = {name[0]: [leaf(name, wrap)] for name in COLUMNS}
    kinds = {Number: "n", Text: "t", Choice: "t", Days: "d", Moments: "m", Bool: "b"}
    for name, cases in CASES.items():
        for term in made(name, [leaf(each, wrap) for each in cases[0]]):
            found[kinds[type(term.before.domain)]].append(term)  # type: ignore[index]
    return found


def leaf(value: Any, wrap: Wrap) -> Both:
    """A column by its name, or a constant."""
    if value in COLUMNS:
        return Both(column(value), wrap(list(COLUMNS).index(value)))
    return Both(literal(value), Given(value))


def made(name: str, parts: Sequence[Both]) -> list[Both]:
    """The call, unless it is refused or constant."""
    found = tried(name, *(part.before for part in parts))
    return [Both(found, Compute(name, tuple(part.after for part in parts)))] if isinstance(found, Call) else []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_released_values_is_the_released_value_of_the_function(name: str) -> None:
    for wrap in (KeyOf, ValueOf):
        assert differences(terms(name, wrap), ROWS, GROUPS) == []
    assert terms(name, ValueOf)


# ---- floats

GRIDS: dict[str, Domain] = {
    "halves": Number(True, -9, 9, Fraction(1, 2)),
    "quarters": Number(True, -21, 30, Fraction(1, 4)),
    "eighths": Number(False, -5, 77, Fraction(1, 8)),
}
"""Numbers that floats hold exactly."""
GRID_ROWS: list[dict[str, Code]] = [
    {name: Draws(f"{name} {row}").choice(domain.codes()) for name, domain in GRIDS.items()} for row in range(60)
]
CONSTANTS = [Fraction(-1, 2), Fraction(1), Fraction(2)]


def on_grids(name: str) -> list[Both]:
    """The function of numbers with fractions and of such constants, wherever it takes them."""
    columns = [Both(Column(domain, each), ValueOf(place)) for place, (each, domain) in enumerate(GRIDS.items())]
    constants = [Both(literal(value), Given(value)) for value in CONSTANTS]
    function, less = FUNCTIONS[name], made("less", columns[:2])
    lists = (columns, [columns[1], *constants], [columns[0], *constants[1:]], [*less, *columns])
    sizes = range(function.least, (function.most or function.least + 1) + 1)
    found = [term for size in sizes for parts in lists for term in made(name, parts[:size])]
    return [each for each in found if isinstance(each.after, Compute) and ValueOf in map(type, each.after.arguments)]


def float_differences(name: str) -> list[str]:
    return differences(on_grids(name), GRID_ROWS, released(GRIDS, GRID_ROWS, floats=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_floats_is_that_of_the_same_exact_numbers(name: str) -> None:
    """A function that takes numbers with fractions says what it makes of floats, and no other does."""
    assert (FUNCTIONS[name].floats is not None) == bool(on_grids(name))
    assert float_differences(name) == []


# ---- what the laws must notice

PLANTED: dict[str, Callable[..., Any]] = {
    "concat": lambda *texts: "".join(texts),  # however long
    "divide": lambda x, y, times, over: Fraction(x * times, y * over) if y else None,
    "round": lambda x, times, over: round(Fraction(x * times, over)),  # halves to even numbers
    "in": lambda x, *values: x in values,
    "day_of_year": lambda day: day % 365,
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_law_notices_another_meaning_after_the_noise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def otherwise(expression: Expression, row: Mapping[str, Code]) -> Any:
        with patch.dict(MEANINGS, {name: PLANTED[name]}):  # type: ignore[arg-type]
            return evaluate(expression, row)

    monkeypatch.setattr(postprocess, "evaluate", otherwise)
    assert differences(terms(name, KeyOf), ROWS, GROUPS)


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.floats])
def test_the_law_of_floats_notices_another_meaning(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = FUNCTIONS[name].floats
    assert right is not None
    turned = replace(FUNCTIONS[name], floats=lambda *values: _turned(right(*values)))
    monkeypatch.setitem(FUNCTIONS, name, turned)  # type: ignore[arg-type]
    assert float_differences(name)


def _turned(value: Any) -> Any:
    return not value if isinstance(value, bool) else None if value is not None else 0.0
