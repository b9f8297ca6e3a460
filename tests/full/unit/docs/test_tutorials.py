"""Both tutorials are followed to the letter, from an empty folder to an answer, as a reader would.

A page says with ordinary words and fences what is done: a block `console` has commands after `$ ` (and `> ` where one
goes on) and what they print; a block `python` is typed into one Python session, and a block `text` right behind it is
what it prints. "Save this as `file`:" before a block makes a file, and "In `file`, ...:" before a block `toml` replaces
the table with which the block begins. What is printed must be what the page shows. Only what noise and the clock decide
may differ: a value by a few of its bars, a bar of an average a little, receipts, hashes and moments altogether. A line
`...` stands for lines that the page leaves out.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import pytest

import dalenius

ROOT = Path(__file__).resolve().parents[4]
TUTORIALS = sorted((ROOT / "docs").glob("tutorial-*.md"))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"Save this as `([\w./]+)`:$")
EDITED = re.compile(r"^In `([\w./]+)`,.*:$", re.DOTALL)
CHANGES = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}|\d{4}-\d\d-\d\d(T[\d:+]+)?|\d\d:\d\d|\d{4}-\d\d-\d\d \d\d:\d\d")
"""Receipts, hashes and moments."""
SLACK = 8
"""How many bars two draws of a figure may lie apart: never, in effect, where a bar covers 95 %."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the paragraph before it."""

    language: str
    text: str
    lead: str
    follows: bool
    """Whether nothing but white space lies between it and the block before."""


def blocks(page: str) -> list[Block]:
    found, end = [], 0
    for fence in FENCE.finditer(page):
        between = page[end : fence.start()].strip()
        found.append(Block(fence[1], fence[2], between.rsplit("\n\n", 1)[-1], follows=not between))
        end = fence.end()
    return found


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a block `console`, each with what the page says that it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *rest = part.split("\n")
        while rest and rest[0].startswith("> "):
            command += "\n" + rest.pop(0)[2:]
        yield command, "\n".join(rest)


@dataclass
class Reader:
    """Somebody in a folder with a shell and one Python session."""

    folder: Path
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__main__"})

    def shell(self, command: str) -> str:
        """What a command prints; it fails where it says that something was refused, and nowhere else."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        source = os.pathsep.join([str(Path(dalenius.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": source},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert (done.returncode != 0) == done.stdout.startswith("dalenius: "), done.stdout
        return done.stdout

    def python(self, text: str) -> str:
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(text, "tutorial", "exec"), self.names)
        return out.getvalue()

    def edit(self, name: str, text: str) -> None:
        """Put a table of a TOML file in place of the one with the same header, which ends at the next or the file."""
        file, header = self.folder / name, text.splitlines()[0]
        before, after = file.read_text().split(f"{header}\n")
        end = re.search(r"^\[", after, re.MULTILINE)
        file.write_text(before + text + (f"\n{after[end.start() :]}" if end else ""))


def followed(page: str, reader: Reader) -> Iterator[tuple[str, str, str]]:
    """Do what a page says: what was done, what the page shows of it, and what came of it."""
    every = blocks(page)
    for block, then in zip_longest(every, every[1:]):
        shown = then.text if then and then.follows and then.language == "text" else ""
        if saved := SAVED.search(block.lead):
            (reader.folder / saved[1]).write_text(block.text)
        elif block.language == "python":
            yield block.text, shown, reader.python(block.text)
        elif block.language == "console":
            for command, printed in commands(block.text):
                yield command, printed, reader.shell(command)
        elif block.language == "toml":
            edited = EDITED.search(block.lead)
            assert edited, f"it is not said which file has {block.text}"
            reader.edit(edited[1], block.text)
        else:
            assert block.language == "text", f"it is not said what to do with {block.text}"
            assert block.follows, f"nothing prints {block.text}"


def differences(shown: str, real: str) -> list[str]:
    """The lines that differ in more than what noise and the clock decide."""
    pages, lines, header = shown.strip().splitlines(), real.strip().splitlines(), list[str]()
    found = []
    while pages and lines:
        page = pages.pop(0)
        if page == "...":
            while lines and not (pages and alike(pages[0], lines[0], header)):
                lines.pop(0)
            continue
        line = lines.pop(0)
        if not alike(page, line, header):
            found.append(f"{page!r} is shown, but it is {line!r}")
        header = cells(line) if line.rstrip().endswith("±") else header if line else []
    pages = [page for page in pages if page != "..."]
    return found + [f"{line!r} is missing" for line in pages] + [f"{line!r} is not shown" for line in lines]


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def alike(page: str, line: str, header: list[str]) -> bool:
    if set(line.strip()) <= {"─", " "}:
        return set(page.strip()) <= {"─", " "} and len(cells(page)) == len(cells(line))
    if "█" in page:
        page, line = (re.sub(r"[█▒]+", "", re.sub(r" ± ", "  ", each)) for each in (page, line))
        header = ["", "value", "±"]
    shown, real = cells(page), cells(line)
    if page.strip() == line.strip() or masked(page) == masked(line):
        return True
    if len(shown) != len(real) or len(real) != len(header):
        return False
    columns = enumerate(zip(shown, real, header, strict=True))
    return all(near(*pair, bars=real[place:], name=name) for place, (*pair, name) in columns)


def masked(line: str) -> str:
    return " ".join("*" if CHANGES.fullmatch(word) else word for word in line.split())


def near(shown: str, real: str, *, bars: list[str], name: str) -> bool:
    """Whether two draws of a figure lie within a few bars; `bars` begins with the figure, and its bar comes next."""
    if shown == real:
        return True
    figures = [each.replace(",", "") for each in (shown, real, *bars[1:2])]
    if not all(re.fullmatch(r"-?\d+(\.\d+)?", each) for each in figures):
        return False
    if name.endswith("±"):  # of an average: it depends on a noisy count
        return "." in shown and abs(float(figures[1]) / float(figures[0]) - 1) < 0.25
    return len(figures) == 3 and abs(float(figures[0]) - float(figures[1])) < SLACK * float(figures[2])


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.name)
def test_a_tutorial_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers = 0
    for done, shown, real in followed(page.read_text(), Reader(tmp_path)):
        assert differences(shown, real) == [], done
        answers += "charged" in real and "receipt" in real
    assert answers >= 3


TABLE = """
city    visits  visits ±   cost  cost ±
──────  ──────  ────────  ─────  ──────
Oslo    19,868       100  303.7     3.6

± at 95 % · charged 1.43% of patients · receipt cb73a35b622ecf91d40274f2d7ee003b
Oslo    ███████████████████▒  19,868 ± 100
"""


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("Oslo    19,868", "Oslo    20,012", True),
        ("19,868 ± 100", "20,012 ± 100", True),
        ("303.7     3.6", "298.04    3.91", True),
        ("cb73a35b622ecf91d40274f2d7ee003b", "0ab45bcaaa769fbe8fead1bca5d4a8c7", True),
        ("Oslo    19,868", "Bergen  19,868", False),
        ("Oslo    19,868", "Oslo    21,868", False),
        ("19,868       100", "19,868       101", False),
        ("19,868 ± 100", "21,868 ± 100", False),
        ("303.7     3.6", "303.7     7.9", False),
        ("visits ±", "number ±", False),
        ("1.43%", "1.44%", False),
        ("\n\n±", "\n±", False),
    ],
)
def test_the_comparison_sees_what_noise_cannot_do(before: str, after: str, kept: bool) -> None:
    assert before in TABLE
    assert (differences(TABLE, TABLE.replace(before, after, 1)) == []) is kept


def test_lines_that_are_left_out_are_marked() -> None:
    assert differences("first\n...\nlast\n", "first\nsecond\nthird\nlast\n") == []
    assert differences("first\n...", "first\nsecond") == []
    assert differences("first\nlast", "first\nsecond\nlast") != []
    assert differences("first\n...\nlost\n", "first\nsecond\nlast\n") != []
