"""`dalenius demo`.

`dalenius completion`.
"""

from __future__ import annotations

import argparse
from itertools import chain, count
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory

from dalenius.cli.demo import SMOKERS, Story, survey_file
from dalenius.cli.parser import parser, script
from dalenius.cli.terminal import Terminal
from dalenius.cli.wording import interpreter, program
from dalenius.errors import InvalidParameter

NAME = "survey"
"""What a temporary folder is called in what is shown."""

NEXT = """WHAT TO TRY NEXT: each of these lines can be pasted as it stands into a shell in this folder.
    {dalenius} demo --keep {folder}
    {dalenius} cost {folder} "{asthma}" --error "50 at 95%" --as ana
    {dalenius} ask {folder} "{asthma}" --error "50 at 95%" --as ana --yes
    {dalenius} ask {folder} "{health}" --share 1% --as ana --chart --yes
    {dalenius} explain {folder} "{asthma}" --share 1%
    {dalenius} replays {folder} --as ana
    {dalenius} registry {folder}
Over HTTP, with a few small packages more; the last line runs until it is interrupted:
    {python} -m pip install 'dalenius[server,client]'
    {dalenius} token {folder} ana --out {token}
    {dalenius} serve {folder}
In a second shell in this folder, while it runs:
    {dalenius} tables http://127.0.0.1:8765 --token-file {token}
    {dalenius} ask http://127.0.0.1:8765 "{smokers}" --error "40 at 95%" --token-file {token} --yes
Run it again: the noise is drawn anew from the operating system, and figures move within their error bars."""


def demo(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Tell the story in a temporary folder, or in one that is kept."""
    survey_file()
    if chosen.keep is None:
        with TemporaryDirectory(prefix="dalenius-demo-") as place:
            _tell(Story(Path(place) / NAME, NAME, Path(place) / "mark.sqlite"), terminal)
        terminal.show(_next(unused(NAME)))
    else:
        folder = Path(chosen.keep)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidParameter("--keep", chosen.keep, allowed="a new or empty folder")
        _tell(Story(folder, chosen.keep), terminal)
        terminal.show("\n".join(line for line in _next(chosen.keep).splitlines() if " demo --keep " not in line))


def _next(folder: str) -> str:
    return NEXT.format(
        dalenius=program(),
        python=interpreter(),
        folder=quote(folder),
        token=quote(unused(folder.rstrip("/"), ".token")),
        asthma="SELECT COUNT(*) AS asthma FROM people WHERE asthma = 1",
        health="SELECT health, COUNT(*) AS people FROM people GROUP BY health",
        smokers=SMOKERS,
    )


def unused(name: str, ending: str = "") -> str:
    """A name that no file has yet."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(f"{each}{ending}" for each in names if not Path(f"{each}{ending}").exists())


def _tell(story: Story, terminal: Terminal) -> None:
    for text in story.steps():
        terminal.show(text)
        terminal.flush()


def completion(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Print the script of a shell."""
    terminal.shown.write(script(parser(), chosen.shell))
