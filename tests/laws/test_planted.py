"""Every planted bug is found by the check that should find it, and the same cases are quiet without it."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import patch

import pytest

from dalenius.checks.commands import planted
from dalenius.checks.commands.planted import LEAST, Caught, Planted, planted_bugs
from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.registry import CHECKS, Listed
from dalenius.errors import InvalidParameter

BUGS = planted_bugs()
PAGE = Path(__file__).resolve().parents[2] / "docs" / "checks.md"
OTHERWISE = {
    "C8": "ids are told apart at the import, before any check asks a question",
    "D7": "an average over many answers; its test has a twin that costs too little",
    "E1": "times are measured beside a running server",
    "E2": "times are measured beside a running server",
    "E3": "logs and files of a server in a process of its own are read",
    "G3": "shown by the exact law of interleaved sessions, and not by a check",
    "H4": "disks that fail; the ledgers of tests/support/faults/planted.py are the bugs",
    "J1": "synthetic tables; their tests have twins",
    "J2": "synthetic tables; their tests have twins",
    "K1": "comes with streams",
    "K2": "comes with streams",
    "K3": "comes with streams",
    "K4": "comes with streams",
    "K5": "versions of a folder; the test has a twin with a budget for each",
    "L2": "needs a PostgreSQL server",
    "L3": "needs a Spark installation",
    "L7": "limits of memory and time; nothing is told",
    "L8": "packages are compared with what is declared",
    "L9": "files on disk and texts in answers are read",
}
"""Threats for which no bug is planted, and why."""
FAST = {
    "AVG charged once",
    "delta forgotten",
    "release without noise: top two",
    "float sum",
    "NaN through the clamp",
    "quotes of constants not doubled",
    "a seed in what is public",
    "half the noise in every group",
    "permute-and-flip priced too low",
    "seeded noise",
    "counts not cut",
    "mean for sum",
}
"""A cheap bug for each check, which is planted in `make test`; the others are in `make test-full`."""


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    "bug", [pytest.param(bug, marks=() if bug.name in FAST else pytest.mark.full, id=bug.name) for bug in BUGS]
)
def test_a_planted_bug_is_found_and_nothing_without_it(bug: Planted) -> None:
    caught = bug.caught()
    assert caught.said, f"{bug.check} does not notice {bug.name}"
    assert not caught.without


def test_there_are_enough_of_them_and_each_has_its_own_name_and_threats() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= LEAST
    assert all(bug.threats and all(re.fullmatch(r"[A-L]\d", threat) for threat in bug.threats) for bug in BUGS)


def test_every_threat_has_a_planted_bug_or_a_reason_why_not() -> None:
    listed = re.findall(r"^\| ([A-L]\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    planted_for = {threat for bug in BUGS for threat in bug.threats}
    assert len(set(listed)) == len(listed) > 60
    assert set(listed) == planted_for | set(OTHERWISE)
    assert not planted_for & set(OTHERWISE), "a reason that is no longer needed"


def of(name: str, check: str, said: str, without: str = "") -> Planted:
    """A bug of which it is known what its check says."""

    class Known(Planted):
        def caught(self) -> Caught:
            return Caught(said, without)

    return Known(name, ("A1",), check, lambda: patch.object(planted, "LEAST", 1))


def test_a_bug_that_is_not_found_fails_the_check_and_so_does_a_check_that_finds_nothing() -> None:
    bugs = [of("one", "replay", "found"), of("other", "static", ""), of("noise", "rng", "found", "found too")]
    with patch.object(planted, "planted_bugs", lambda: bugs), patch.object(planted, "needed", set):
        outcome = planted.check(CheckRequest())
    assert not outcome.passed
    assert outcome.findings == (
        "other is not found by static",
        "rng finds something without noise: found too",
        "rng catches nothing",
        "static catches nothing",
    )
    assert [figure.held for figure in outcome.figures] == [True, False, False, False]


def test_a_check_without_a_bug_fails_whatever_the_others_find() -> None:
    every = [of(name, name, "found") for name in sorted(planted.needed())] * 3
    new = Listed("new", "a check that nobody has planted a bug for", "cases", 1, 1)
    with patch.object(planted, "planted_bugs", lambda: every):
        assert planted.check(CheckRequest()).passed
        with patch.dict(CHECKS, {"new": new}):
            outcome = planted.check(CheckRequest())
            assert planted.check(CheckRequest(count=5)).passed, "a few bugs alone cannot turn every check"
    assert not outcome.passed
    assert outcome.findings == ("new catches nothing",)


def test_every_check_catches_something_in_the_fast_tests() -> None:
    assert sorted(bug.check for bug in BUGS if bug.name in FAST) == sorted({bug.check for bug in BUGS})


def test_every_check_but_this_one_must_catch_something() -> None:
    assert planted.needed() == {*CHECKS, "exact"} - {"planted"} == {bug.check for bug in BUGS}


def test_few_bugs_are_not_enough() -> None:
    with patch.object(planted, "planted_bugs", lambda: [of("one", "replay", "found")]):
        assert not planted.check(CheckRequest()).passed
        assert planted.check(CheckRequest(count=1)).passed


def test_without_a_checkout_it_says_where_the_bugs_are(tmp_path: Path) -> None:
    with patch.object(planted, "BUGS", tmp_path / "none"), pytest.raises(InvalidParameter, match="tests/planted"):
        planted_bugs()
