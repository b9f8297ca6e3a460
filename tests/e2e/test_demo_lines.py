"""What the demo proposes to try next works when it is pasted as it stands."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PORT = 8765


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose `.venv` is the one that runs the tests, as after `make demo`, and not on the shell's path."""
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # the packages are there
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    return tmp_path


def test_each_line_of_what_to_try_next_runs_as_printed(clone: Path) -> None:
    lines = to_try(shell(".venv/bin/dalenius demo", clone).stdout)
    assert [shlex.split(line)[1] for line in lines] == [
        *("demo", "cost", "ask", "ask", "explain", "replays", "registry", "-m", "token", "serve", "tables", "ask")
    ]
    at = next(place for place, line in enumerate(lines) if " serve " in line)
    for line in lines[:at]:
        done = shell(line, clone)
        if " demo " in line:  # the same lines again, but for the one that it was
            assert to_try(done.stdout) == lines[1:]
    with served(lines[at], clone):
        for line in lines[at + 1 :]:
            shell(line, clone)


def test_a_line_that_a_shell_cannot_run_is_noticed(clone: Path) -> None:
    for line in ("$ .venv/bin/dalenius --help", "dalenius --help", ".venv/bin/dalenius tables survey"):
        with pytest.raises(AssertionError):
            shell(line, clone)


def to_try(text: str) -> list[str]:
    """The lines that are meant to be pasted: those that are indented."""
    return re.findall(r"(?m)^    .*", text[text.index("WHAT TO TRY NEXT") :])


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, (line, done.stderr)
    return done


@contextmanager
def served(line: str, folder: Path) -> Iterator[None]:
    """While the server of a printed line runs, whose port is the usual one."""
    until(lambda: not answers(), "another server on this machine holds the usual port")
    server = subprocess.Popen(["bash", "-c", line], cwd=folder, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        until(lambda: answers() or server.poll() is not None, "the server does not listen")
        assert server.poll() is None, line
        yield
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGINT)
            server.wait(60)


def until(there: Callable[[], bool], problem: str) -> None:
    """Wait for something, for two minutes at most."""
    end = time.monotonic() + 120
    while not there():
        assert time.monotonic() < end, problem
        time.sleep(0.2)


def answers() -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", PORT)) == 0
