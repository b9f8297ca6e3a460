"""What is shown to be typed starts the same program again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dalenius.cli import wording


@pytest.mark.parametrize(
    ("typed", "path", "shown"),
    [
        ("bin/dalenius", "", "bin/dalenius"),
        ("bin/dalenius", "{here}/bin", "dalenius"),
        ("{here}/bin/dalenius", "{here}/bin", "dalenius"),
        ("{here}/bin/dalenius", "", "bin/dalenius"),
        ("{here}/bin/dalenius", "{here}/other", "bin/dalenius"),
        ("{elsewhere}/dalenius", "", "'{elsewhere}/dalenius'"),
        ("dalenius", "", "./dalenius"),
        ("{here}/src/dalenius/__main__.py", "{here}/bin", "env/python -m dalenius"),
    ],
)
def test_commands_are_shown_as_they_can_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, path: str, shown: str
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "else where"
    for folder in (here, here / "bin", here / "other", elsewhere):
        folder.mkdir(exist_ok=True)
        (folder / "dalenius").touch(mode=0o755)
    typed, path, shown = (text.format(here=here, elsewhere=elsewhere) for text in (typed, path, shown))
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", path)
    monkeypatch.setattr(sys, "argv", [typed, "demo"])
    monkeypatch.setattr(sys, "executable", str(here / "env" / "python"))
    assert wording.program() == shown
