"""CHANGELOG.md is for users: four sections a version, in one order, and bullets that are read at a glance."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[3] / "CHANGELOG.md").read_text()
SECTIONS = ["Added", "Changed", "Fixed", "Guarantees"]
BULLET = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)
MOST_WORDS = 30


def problems(page: str) -> list[str]:
    """Sections that are missing, unknown or out of order, and bullets that are too long."""
    found = []
    for version in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        sections = re.findall(r"^### (.+)$", version, re.MULTILINE)
        if sections != [section for section in SECTIONS if section in sections]:
            found.append(f"sections are {sections}")
    for bullet in BULLET.findall(page):
        if len(bullet.split()) > MOST_WORDS:
            found.append(f"{len(bullet.split())} words: {' '.join(bullet.split())}")
    return found


def test_the_changelog_has_its_sections_and_short_bullets() -> None:
    assert problems(PAGE) == []
    assert len(BULLET.findall(PAGE)) == len(re.findall(r"^\s*[-*] ", PAGE, re.MULTILINE)), "a bullet is not read"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("### Fixed", "### Refusals", "sections are"),
        ("### Guarantees", "### Added", "sections are"),
        ("- `dalenius demo`", "- " + "word " * 31 + "`dalenius demo`", "words: word"),
        ("- `dalenius demo`", "- " + "word\n  " * 31 + "`dalenius demo`", "words: word"),
    ],
)
def test_the_check_above_notices(before: str, after: str, said: str) -> None:
    assert before in PAGE
    assert any(said in problem for problem in problems(PAGE.replace(before, after, 1)))
