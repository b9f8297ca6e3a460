"""docs/checks.md links every threat to tests and checks that exist."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

from dalenius.checks.commands.planted import planted_bugs
from dalenius.checks.registry import CHECKS

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "checks.md").read_text()
LAST = {"A": 5, "B": 4, "C": 8, "D": 8, "E": 3, "F": 5, "G": 5, "H": 7, "I": 3, "J": 6, "K": 5, "L": 9}
IDS = [f"{letter}{number}" for letter, last in LAST.items() for number in range(1, last + 1)]
LATER = {f"K{n}": "streams" for n in range(1, 5)}
ROW = re.compile(r"^\| ([A-L]\d) \| (.+?) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
CHECK = re.compile(r"`check (\w+)`")


def rows(page: str) -> dict[str, str]:
    """What tests each threat."""
    return {name: tests for name, _, tests in ROW.findall(page)}


@lru_cache
def _names_in(path: str) -> frozenset[str]:
    if not (ROOT / path).exists():
        return frozenset()
    return frozenset(
        node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)
    )


def problems(page: str) -> list[str]:
    """Threats without a test, and tests and checks that do not exist."""
    linked = rows(page)
    found = [f"{name} has no row" for name in IDS if name not in linked]
    for name, tests in linked.items():
        named, checks = TEST.findall(tests), CHECK.findall(tests)
        if name in LATER:
            found += [] if tests == f"comes with {LATER[name]}" else [f"{name} does not say that it comes later"]
            continue
        found += [] if named else [f"{name} has no test"]
        found += [f"{path}::{test} is not there" for path, test in named if test not in _names_in(path)]
        found += [f"there is no check {check}" for check in checks if check not in CHECKS]
    return found


def test_every_threat_has_a_test_that_exists() -> None:
    assert problems(PAGE) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("| A1 |", "| A0 |", "A1 has no row"),
        ("::test_float_noise_leaves", "::test_nothing_leaves", "is not there"),
        ("tests/full/laws/test_http_timing.py", "tests/full/laws/test_nothing.py", "is not there"),
        ("`check rng`", "`check dice`", "there is no check dice"),
        ("comes with streams", "`check rng`", "does not say that it comes later"),
    ],
)
def test_the_check_above_notices_what_is_missing(before: str, after: str, said: str) -> None:
    assert before in PAGE
    assert any(said in problem for problem in problems(PAGE.replace(before, after, 1)))


def test_every_check_is_described() -> None:
    described = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert set(described) == {*CHECKS, "engine"}


def test_planted_bugs_name_threats_that_are_on_the_page() -> None:
    assert {threat for bug in planted_bugs() for threat in bug.threats} <= set(rows(PAGE))
