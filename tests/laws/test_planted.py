"""Every planted bug is found by the check that should find it, and the same cases are quiet without it."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import patch

import pytest

from dalenius.audit.checks import planted
from dalenius.audit.checks.outcomes import Asked
from dalenius.audit.checks.planted import LEAST, planted_bugs
from dalenius.audit.checks.planting import Caught, Planted
from dalenius.errors import InvalidParameter

BUGS = planted_bugs()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found_and_nothing_without_it(bug: Planted) -> None:
    caught = bug.caught()
    assert caught.said, f"{bug.check} does not notice {bug.name}"
    assert not caught.without


def test_there_are_enough_of_them_and_each_has_its_own_name_and_threats() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= LEAST
    assert all(bug.threats and all(re.fullmatch(r"[A-L]\d", threat) for threat in bug.threats) for bug in BUGS)


def of(name: str, check: str, said: str, without: str = "") -> Planted:
    """A bug of which it is known what its check says."""

    class Known(Planted):
        def caught(self) -> Caught:
            return Caught(said, without)

    return Known(name, ("A1",), check, lambda: patch.object(planted, "LEAST", 1))


def test_a_bug_that_is_not_found_fails_the_check_and_so_does_a_check_that_finds_nothing() -> None:
    bugs = [of("one", "replay", "found"), of("other", "static", ""), of("noise", "rng", "found", "found too")]
    with patch.object(planted, "planted_bugs", lambda: bugs):
        outcome = planted.check(Asked())
    assert not outcome.passed
    assert outcome.findings == (
        "other is not found by static",
        "rng finds something without noise: found too",
        "rng catches nothing",
        "static catches nothing",
    )
    assert [figure.held for figure in outcome.figures] == [True, False, False, False]


def test_few_bugs_are_not_enough() -> None:
    with patch.object(planted, "planted_bugs", lambda: [of("one", "replay", "found")]):
        assert not planted.check(Asked()).passed
        assert planted.check(Asked(count=1)).passed


def test_without_a_checkout_it_says_where_the_bugs_are(tmp_path: Path) -> None:
    with patch.object(planted, "_PLACE", tmp_path / "none"), pytest.raises(InvalidParameter, match="tests/planted"):
        planted_bugs()
