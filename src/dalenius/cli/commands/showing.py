"""`dalenius demo`."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from dalenius.cli.demo.story import Story
from dalenius.cli.demo.survey import survey_file
from dalenius.cli.terminal import Terminal
from dalenius.errors import InvalidParameter

NAME = "survey"
"""What a temporary folder is called in what is shown."""

NEXT = """WHAT TO TRY NEXT
    $ dalenius demo --keep {folder}
    $ dalenius ask {folder} "SELECT COUNT(*) AS asthma FROM people WHERE asthma = 1" --epsilon 0.2 --as ana
    $ dalenius replays {folder} --as ana
    $ dalenius explain {folder} "SELECT AVG(sleep) AS hours FROM people"
    $ dalenius token {folder} ana --out ana.token
    $ dalenius serve {folder}
    $ dalenius tables http://127.0.0.1:8765 --token-file ana.token
Run it again: the noise is drawn anew from the operating system, and figures move within their error bars."""


def demo(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Tell the story in a temporary folder, or in one that is kept."""
    survey_file()
    if chosen.keep is None:
        with TemporaryDirectory(prefix="dalenius-demo-") as place:
            _tell(Story(Path(place) / NAME, NAME, Path(place) / "mark.sqlite"), terminal)
        text = NEXT.format(folder=NAME)
    else:
        folder = Path(chosen.keep)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidParameter("--keep", chosen.keep, allowed="a new or empty folder")
        _tell(Story(folder, chosen.keep), terminal)
        text = "\n".join(line for line in NEXT.format(folder=folder).splitlines() if " demo " not in line)
    terminal.show(text)


def _tell(story: Story, terminal: Terminal) -> None:
    for text in story.steps():
        terminal.show(text)
        terminal.flush()
