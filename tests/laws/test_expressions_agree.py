"""Every engine gives every expression the value that it means, over rows with all that engines differ in."""

from __future__ import annotations

import re
from typing import Any

import pytest

from costs import cases
from dalenius.engines.conformance.checking import check, quick_check
from opened_engines import DIALECTS, ENGINES, engine


@cases("name", ENGINES, fast=1)
def test_an_engine_that_agrees_is_fit(name: str) -> None:
    assert quick_check(engine(name)) is None


# ---- what the check must notice

PLANTED: dict[str, tuple[str, Any]] = {
    "trim": ("trimmed", lambda d, text: f"trim({text})"),  # tabs and line ends stay
    "starts_with": ("starts_with", lambda d, text, piece: d.contains(text, piece)),
}
"""By the function that is to blame: a method of a dialect, and a wrong spelling of it."""


def planted(name: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, spelling = PLANTED[wrong]
    monkeypatch.setattr(DIALECTS[name], method, spelling)


@cases("name", ["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.deep)], fast=1)
def test_the_check_notices_a_wrong_spelling(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(name, "trim", monkeypatch)
    report = check(engine(name), expressions=1, rows=200, plans=0)
    assert not report.passed
    assert {difference.split()[0] for difference in report.differences} == {"trim"}


@cases("name", ENGINES, fast=1)
@pytest.mark.parametrize("wrong", PLANTED)
def test_an_engine_with_a_wrong_spelling_is_refused_with_the_function_and_no_value(
    name: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(name, wrong, monkeypatch)
    assert quick_check(engine(name)) == f"{wrong} gives other values than defined"


@cases("name", ["duckdb", "postgres"], fast=1)
def test_an_engine_that_fails_is_refused_with_the_function_and_no_value(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DIALECTS[name], "read_integer", lambda d, text: f"CAST({text} AS BIGINT)")
    assert quick_check(engine(name)) == "to_int fails"


def test_a_column_that_is_read_otherwise_is_named_by_its_types(monkeypatch: pytest.MonkeyPatch) -> None:
    right = DIALECTS["postgres"].code
    monkeypatch.setattr(
        DIALECTS["postgres"], "code", lambda d, domain, column: _shifted(right(d, domain, column), domain)
    )
    reason = quick_check(engine("postgres"))
    assert reason is not None
    assert re.fullmatch(r"reading \w+(\(\d+, \d+\))?(\[.*\])? as \w+ gives other values than defined", reason)


def _shifted(code: str | None, domain: Any) -> str | None:
    return f"({code}) + 1" if code is not None and getattr(domain, "upper", 0) == 120 else code
