"""The dear tests of `unit/synth/online/test_rounds.py`."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import dalenius as dl
import small_sessions
from small_sessions import rich, session_of, turns

ASKER = """
    import sys
    sys.path[:0] = {paths!r}
    import dalenius as dl
    from small_sessions import session_of
    with dl.open({folder!r}) as db:
        session = session_of(db)
        print("begun", session.ask("TRUE").left, flush=True)
        while True:
            session.ask("age >= 20")
"""


def killed(folder: Path) -> str:
    """What a process says that asks and is then killed."""
    paths = [str(Path(small_sessions.__file__).parent)]
    code = textwrap.dedent(ASKER.format(paths=paths, folder=str(folder)))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
        assert said, process.stderr.read()
    return said


def test_a_killed_process_has_used_its_round_up(tmp_path: Path) -> None:
    with rich(tmp_path / "db") as db:
        session_of(db)
    assert [killed(tmp_path / "db") for _ in range(2)] == ["begun 4", "begun 3"]
    with dl.open(tmp_path / "db") as db:
        session = session_of(db)
        assert session.left == 2
        assert turns(db, session) == 2
