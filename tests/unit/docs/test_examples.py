"""The examples in README and docs run, block after block, as a reader would run them; commands are ones that exist.

The tutorials go back and forth between shell and Python: `test_tutorials.py` follows them instead.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dalenius.cli.parser import parser

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TUTORIALS = sorted((ROOT / "docs").glob("tutorial-*.md"))
DEAR = {"robust.md", "theorems.md"}
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
COMMAND = re.compile(r"^(?:\$ )?(dalenius (?:.*\\\n)*.*)$", re.MULTILINE)
FENCE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


def commands(page: Path) -> list[list[str]]:
    """The words of every `dalenius ...` that stands in a block; `>` is how a shell asks for the rest of a line."""
    found = [
        command.replace("\\\n>", " ").split(" && ")
        for fence in FENCE.findall(page.read_text())
        for command in COMMAND.findall(fence)
    ]
    lines = [shlex.split(line, comments=True)[1:] for several in found for line in several]
    return [words for words in lines if words]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.full if page.name in DEAR else (), id=page.name)
        for page in PAGES
        if blocks(page) and page not in TUTORIALS
    ],
)
def test_examples_run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in blocks(page):
        exec(compile(block, page.name, "exec"), names)
    assert capsys.readouterr().out


def test_the_prices_that_are_shown_are_those_that_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block, shown in PRINTED.findall((ROOT / "docs" / "prices.md").read_text()):
        exec(compile(block, "prices.md", "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        assert [line.rstrip() for line in printed if line.strip()] == [line for line in shown.splitlines() if line]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    for words in commands(page):
        if "..." not in words:
            parser().parse_args(words)


def anchors(page: Path) -> set[str]:
    """How headings are linked to: small letters, hyphens for spaces, no other signs."""
    titles = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link, anchor in LINK.findall(page.read_text()):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), f"{link}#{anchor}"


def test_the_index_leads_to_every_page() -> None:
    linked = {link for link, _ in LINK.findall((ROOT / "docs" / "index.md").read_text())}
    assert {page.name for page in PAGES[1:]} - {"index.md"} <= linked
