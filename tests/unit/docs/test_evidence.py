"""No evidence is only deep: every row, threat and planted bug has a test that `make test` or `make test-full` runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from costs import runs
from dalenius.checks.commands.planted import planted_bugs
from tests.laws import test_planted
from tests.unit.docs.test_checks_page import LATER, PAGE, TEST, rows
from tests.unit.docs.test_generated_pages import TESTS, THERE


def often(path: str, marks: Iterable[str] = ()) -> bool:
    """Whether a test there runs in `make test` or in `make test-full`."""
    folder = path.removeprefix("tests/").split("/")[0]
    return folder != "deep" and any(runs(set(marks), folder, chosen) for chosen in ("", "full"))


def lacking(tests: Mapping[str, Iterable[str]]) -> list[str]:
    """What is tested nowhere, or only where the tests are deep."""
    return [name for name, paths in tests.items() if not any(often(path) for path in paths)]


def of_rows() -> dict[str, list[str]]:
    return {row: [path for path, _ in TESTS[row]] for row in THERE}


def of_threats() -> dict[str, list[str]]:
    return {name: [path for path, _ in TEST.findall(tests)] for name, tests in rows(PAGE).items() if name not in LATER}


@pytest.mark.parametrize("tests", [of_rows(), of_threats()], ids=["rows", "threats"])
def test_every_row_and_threat_is_tested_often(tests: dict[str, list[str]]) -> None:
    assert len(tests) > 60
    assert lacking(tests) == []


def planted_often(marks: Mapping[str, Iterable[str]]) -> set[str]:
    return {name for name, on in marks.items() if often("tests/laws/test_planted.py", on)}


def marks_of_bugs() -> dict[str, set[str]]:
    marks: list[pytest.Mark] = vars(test_planted.test_a_planted_bug_is_found_and_nothing_without_it)["pytestmark"]
    (mark,) = (mark for mark in marks if mark.name == "parametrize")
    return {str(case.id): {each.name for each in case.marks} for case in mark.args[1]}


def test_every_planted_bug_is_planted_often() -> None:
    assert planted_often(marks_of_bugs()) == {bug.name for bug in planted_bugs()}


@pytest.mark.parametrize("tests", [of_rows(), of_threats()], ids=["rows", "threats"])
def test_the_tests_above_notice_what_is_only_deep(tests: dict[str, list[str]]) -> None:
    name = next(iter(tests))
    deep = [path.replace("tests/", "tests/deep/", 1) for path in tests[name]]
    assert lacking({**tests, name: deep}) == [name] == lacking({**tests, name: []})
    bug, *_ = marks_of_bugs()
    assert planted_often({**marks_of_bugs(), bug: {"deep"}}) == {each.name for each in planted_bugs()} - {bug}
