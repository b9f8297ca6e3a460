"""Every command that a page shows can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dalenius.cli.parser import parser

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown(text: str) -> list[str]:
    """The commands in the blocks of a page, without prompts and what follows a pipe, a > or an &&."""
    joined = [re.sub(r"\\\n\s*(> )?", " ", block) for _, block in BLOCK.findall(text)]  # lines that go on below
    lines = [line.strip().removeprefix("$ ") for block in joined for line in block.splitlines()]
    parts = [part.strip() for line in lines for part in line.split(" && ")]
    return [re.split(r" [>|] ", part)[0] for part in parts if part.startswith("dalenius ")]


def misread(text: str) -> list[str]:
    """The commands of a page that cannot be typed."""
    wrong = []
    for line in shown(text):
        try:
            parser().parse_args(shlex.split(line, comments=True)[1:])
        except SystemExit:
            wrong.append(line)
    return wrong


@pytest.mark.parametrize("page", [page for page in PAGES if shown(page.read_text())], ids=lambda page: page.name)
def test_every_command_on_a_page_can_be_typed(page: Path) -> None:
    assert misread(page.read_text()) == []


def test_the_check_above_notices_a_command_that_is_not_there() -> None:
    page = "```\ndalenius ask clinic 'SELECT 1' --epsilon 1\n$ dalenius forget clinic | cat\n```\n"
    assert misread(page) == ["dalenius forget clinic"]
    assert shown((ROOT / "README.md").read_text())
