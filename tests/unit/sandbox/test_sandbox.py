"""Whatever a function does on a block, the same thing is seen: a number in the range, after the same time."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from costs import cases
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.robust.outputs import OneOf, Range, Subset
from dalenius.sandbox import confinement
from dalenius.sandbox import sandbox as sandbox_module
from dalenius.sandbox.functions import Program
from dalenius.sandbox.sandbox import Sandbox

QUICK = Sandbox(seconds=Fraction(30), megabytes=64)
ENDING = Sandbox(seconds=Fraction(4), megabytes=64)
SHORT = Sandbox(seconds=Fraction(1, 10), megabytes=64)
GRID = Range(0, 100, step=1)
DEFAULT = (50,)
pytestmark = pytest.mark.skipif(not confinement.supported(), reason="confining a process needs Linux")


@pytest.fixture(autouse=True)
def _no_padding(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Slots are long, for a busy machine: one test waits for their ends, and those of rehearsals rehearse programs."""
    if "padded" not in request.fixturenames:
        monkeypatch.setattr(sandbox_module, "_wait", lambda until: None)
    if "rehearsed" not in request.fixturenames:
        monkeypatch.setattr(sandbox_module, "_require_rehearsal", lambda sandbox, program: None)


@pytest.fixture
def padded() -> None:
    """Slots are waited for."""


@pytest.fixture
def rehearsed() -> None:
    """Programs are run without rows, first."""


def run(function: Any, blocks: Any = ([1],), output: Any = GRID, sandbox: Sandbox = QUICK) -> list[tuple[int, ...]]:
    return sandbox.outputs(function, blocks, output)


def test_a_function_gives_its_number_on_every_block() -> None:
    assert run(lambda rows: sum(rows) / len(rows), [[1, 2, 6], [40, 41], [99]]) == [(3,), (40,), (99,)]
    assert run(lambda rows: float(np.linalg.det(np.eye(60) * 2) > 0) + rows[0]) == [(2,)]
    assert run(lambda rows: np.float32(7.4)) == [(7,)]
    assert run(lambda rows: 10**30) == [(100,)]
    assert run(lambda rows: -1e300) == [(0,)]


def forever(rows: Any) -> None:
    while True:
        pass


def everything(rows: Any) -> int:
    return len([bytearray(1 << 24) for _ in range(10_000)])


def own_bytes(rows: Any) -> None:
    os.write(3, b"\0" * 7)
    os._exit(0)


def too_many_bytes(rows: Any) -> None:
    os.write(3, b"\0" * 800)


def half_and_wait(rows: Any) -> None:
    os.write(3, b"\0" * 8)
    time.sleep(60)


def crash(rows: Any) -> None:
    ctypes.string_at(0)


def recursion(rows: Any) -> Any:
    return recursion(rows) + 1


class Liar(float):
    def __float__(self) -> float:
        raise SystemExit


ATTACKS: dict[str, Any] = {
    "an error": lambda rows: rows[99],
    "an error with rows in it": lambda rows: (_ for _ in ()).throw(ValueError(rows)),
    "NaN": lambda rows: float("nan"),
    "infinity": lambda rows: float("inf"),
    "a text": lambda rows: "12",
    "nothing": lambda rows: None,
    "a list": lambda rows: [1],
    "a complex number": lambda rows: 1 + 0j,
    "a lying number": lambda rows: Liar(3),
    "sys.exit": lambda rows: sys.exit(3),
    "os._exit": lambda rows: os._exit(0),
    "an abort": lambda rows: os.abort(),
    "a crash": crash,
    "an endless loop": forever,
    "a long sleep": lambda rows: time.sleep(60),
    "all memory": everything,
    "endless recursion": recursion,
    "too few bytes of its own": own_bytes,
    "too many bytes of its own": too_many_bytes,
    "bytes, and no end": half_and_wait,
    "killing the parent": lambda rows: os.kill(os.getppid(), signal.SIGKILL),
    "killing the group": lambda rows: os.killpg(0, signal.SIGKILL),
    "a file": lambda rows: len(Path("/etc/hostname").read_text()),
    "a connection": lambda rows: socket.socket() and 1,
    "another program": lambda rows: subprocess.run(["/bin/true"]).returncode,
    "a fork": lambda rows: os.fork() and 1,
    "a lost fork": lambda rows: os.posix_spawn("/bin/true", ["true"], {}),
    "a thread": lambda rows: threading.Thread(target=int).start() or 1,
    "a keyboard interrupt": lambda rows: (_ for _ in ()).throw(KeyboardInterrupt),
}
ENDLESS = {"an endless loop", "a long sleep", "bytes, and no end"}


@pytest.mark.textbook("S11.2")
@cases("attack", ATTACKS, fast=1)
def test_every_failure_looks_the_same_and_spares_the_next_block(attack: str, capfd: Any) -> None:
    def function(rows: list[int]) -> Any:
        return ATTACKS[attack](rows) if rows[0] == 13 else rows[0]

    assert run(function, [[13], [7]], sandbox=ENDING if attack in ENDLESS else QUICK) == [DEFAULT, (7,)]
    assert capfd.readouterr() == ("", "")


def test_the_attacks_work_where_there_is_no_sandbox() -> None:
    """Twin: without confinement some of them do get through, so the check above can fail."""
    child = os.fork()
    if not child:
        try:
            ATTACKS["a file"]([])
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_printing_is_neither_seen_nor_a_failure(capfd: Any) -> None:
    def function(rows: list[int]) -> int:
        print("secret", rows)
        print("secret", file=sys.stderr, flush=True)
        os.write(1, b"secret")
        return rows[0]

    assert run(function, [[5]]) == [(5,)]
    assert capfd.readouterr() == ("", "")


STATE: list[int] = []
SHARED_ENVIRONMENT = "DALENIUS_TEST_STATE"


def test_no_state_goes_from_block_to_block() -> None:
    def function(rows: list[int]) -> int:
        STATE.append(1)
        GRID.codes(0)
        os.environ[SHARED_ENVIRONMENT] = "x"
        return len(STATE) + 10 * len(os.environ.get(SHARED_ENVIRONMENT + "2", ""))

    assert run(function, [[1]] * 4) == [(1,)] * 4
    assert STATE == []
    assert SHARED_ENVIRONMENT not in os.environ


def test_a_block_cannot_leave_a_file_or_a_shared_segment_behind(tmp_path: Path) -> None:
    def function(rows: list[int]) -> int:
        for attempt in (
            lambda: (tmp_path / "left").write_text("x"),
            lambda: os.mkdir(tmp_path / "dir"),
            lambda: multiprocessing.shared_memory.SharedMemory(create=True, size=10),  # type: ignore[attr-defined]
            lambda: os.memfd_create("left"),
            lambda: os.utime(tmp_path),
        ):
            try:
                attempt()
                return 99
            except Exception:
                continue
        return 1

    assert run(function) == [(1,)]
    assert list(tmp_path.iterdir()) == []


def test_a_slow_block_does_not_take_time_from_the_next_one_nor_show_in_the_total(
    monkeypatch: Any, padded: None
) -> None:
    """Every block waits for the end of its slot, which lies at the same place whatever the block does."""
    ends: list[float] = []
    real = sandbox_module._wait
    monkeypatch.setattr(sandbox_module, "_wait", lambda until: (ends.append(until), real(until)))
    for function in (lambda rows: 1, forever):
        ends.clear()
        begin = time.monotonic()
        run(function, [[1]] * 3, sandbox=SHORT)
        assert time.monotonic() - begin >= SHORT.total(3)
        assert np.diff(ends) == pytest.approx([SHORT.total(1)] * 2)


def test_options_and_subsets_come_out_as_codes_and_others_as_defaults() -> None:
    choice = OneOf(["a", "b", "c"])
    assert run(lambda rows: rows[0], [["b"], ["z"], [["a"]]], choice) == [(1,), (0,), (0,)]
    subset = Subset("abcd", most_chosen=2)
    found = run(lambda rows: rows[0], [["b"], [{"a", "d"}], ["abc"], ["xy"], [7]], subset)
    assert found == [(0, 1, 0, 0), (1, 0, 0, 1), (0,) * 4, (0,) * 4, (0,) * 4]
    forged = run(lambda rows: os.write(3, (b"\0" * 7 + b"\1") * 4) and os._exit(0), output=subset)
    assert forged == [(0,) * 4]
    out_of_range = run(lambda rows: os.write(3, b"\0" * 7 + b"\x7f") and os._exit(0), output=choice)
    assert out_of_range == [(0,)]


PROGRAM = """
import gc, os, time
from dataclasses import dataclass

def alone(rows):
    if any(isinstance(each, list) and each[:1] == [777] for each in gc.get_objects()):
        return "others"
    if set(os.environ.values()) - {"1", "C.UTF-8"}:
        return "environment"
    try:
        return open("/etc/hostname").read()
    except PermissionError:
        return sum(rows) / len(rows)

def forever(rows):
    time.sleep(60)

def flood(rows):
    while True:
        os.write(3, b"1" * 4096)

def letters(rows):
    return {"b"}
"""
NUMERICAL = """
import numpy as np

def mean(rows):
    return np.float64((np.ones((300, 300)) @ np.ones((300, 300)))[0, 0] - 300 + np.mean(rows))
"""
PATIENT = Sandbox(seconds=Fraction(30), megabytes=512)


def program(folder: Path, text: str, name: str, *modules: str) -> Program:
    (folder / "user.py").write_text(text)
    return Program(str(folder / "user.py"), name, modules)


@pytest.mark.textbook("S11.2")
def test_a_program_runs_in_an_interpreter_without_memory_files_or_environment(tmp_path: Path) -> None:
    others = [[777, place] for place in range(50)]
    assert run(program(tmp_path, PROGRAM, "alone", "dataclasses"), [[3, 5]], GRID, PATIENT) == [(4,)]
    assert len(others) == 50
    assert run(program(tmp_path, PROGRAM, "letters", "dataclasses"), [[1]], Subset("ab"), PATIENT) == [(0, 1)]


def test_a_program_uses_modules_that_were_declared_with_one_thread(tmp_path: Path) -> None:
    assert run(program(tmp_path, NUMERICAL, "mean", "numpy"), [[3, 5]], GRID, PATIENT) == [(4,)]


@pytest.mark.parametrize("name", ["forever", "flood", "missing"])
def test_a_program_that_does_not_end_or_floods_is_the_default(tmp_path: Path, name: str) -> None:
    assert run(program(tmp_path, PROGRAM, name, "dataclasses"), [[1]], GRID, Sandbox(seconds=Fraction(1))) == [DEFAULT]


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="path"):
        Program(str(tmp_path / "nowhere.py"), "mean")
    for other in ("numpy; import os", "antigravity", "numpy.f2py.__main__", "pytest", "os", ["os"]):
        with pytest.raises(InvalidParameter, match=r"modules .* among abc, .*numpy, .*; nothing was run or charged"):
            program(tmp_path, PROGRAM, "alone", other)  # type: ignore[arg-type]


CONFINED = """
import os, sys
from pathlib import Path
from dalenius.sandbox import working
working.isolate = lambda *_, **__: None
working.confine = lambda **_: Path({mark!r}).write_text("confined")
working.is_confined = lambda: True
sys.argv = ["", "program", {path!r} + ":one", "1", "1"]
whole = working._ProgramFile.source_to_code

def compiled(*given):
    Path({mark!r}).write_text(Path({mark!r}).read_text() + ", then compiled")
    return whole(*given)

working._ProgramFile.source_to_code = staticmethod(compiled)
working.work()
"""


def test_a_program_is_compiled_after_it_is_confined(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text("def one(rows):\n    return 1\n")
    mark = tmp_path / "mark"
    text = CONFINED.format(mark=str(mark), path=str(tmp_path / "user.py"))
    subprocess.run([sys.executable, "-c", text], check=True, stdin=subprocess.DEVNULL)
    assert mark.read_text() == "confined, then compiled"


def test_a_program_with_a_warning_runs(tmp_path: Path) -> None:
    """Python shows a warning while it compiles, for which it would open files."""
    text = 'def one(rows):\n    "\\d"\n    return 1 if 1 is 1 else 2\n'
    assert run(program(tmp_path, text, "one"), [[3]], GRID, PATIENT) == [(1,)]


def test_a_plain_function_can_see_other_rows_which_is_why_programs_exist() -> None:
    """Twin of the test above: the copy of a process holds its memory."""
    others = [[777, place] for place in range(50)]

    def look(rows: Any) -> int:
        gc.unfreeze()
        return sum(isinstance(each, list) and each[:1] == [777] for each in gc.get_objects())

    assert run(look, sandbox=PATIENT)[0][0] >= len(others)


def test_wrong_outputs_and_limits_are_refused(monkeypatch: Any) -> None:
    for wrong in [(0, 0), (1, 0)]:
        with pytest.raises(InvalidParameter):
            Range(*wrong, step=1)
    with pytest.raises(InvalidParameter):
        Range(0, 1, step="0.3")
    with pytest.raises(InvalidParameter):
        OneOf([])
    with pytest.raises(InvalidParameter):
        Subset("ab", most_chosen=3)
    with pytest.raises(InvalidParameter):
        Sandbox(seconds=Fraction(0))
    with pytest.raises(InvalidParameter, match="width"):
        run(lambda rows: (), output=Subset(range(5000)))
    monkeypatch.setattr(sys, "platform", "plan9")
    with pytest.raises(TheoremDoesNotApply, match="Linux"):
        run(lambda rows: 1)
