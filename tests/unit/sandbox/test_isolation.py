"""No block tells another one anything, and no code of a user runs unconfined: exploits that once worked, and twins."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import platform
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import TheoremDoesNotApply
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.robust.aggregates import MedianOfBlocks
from dalenius.mechanisms.robust.outputs import Range
from dalenius.mechanisms.robust.subsample import SubsampleAggregate
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.sandbox import confinement, interpreters
from dalenius.sandbox import confinement as kernel_filter
from dalenius.sandbox import sandbox as sandbox_module
from dalenius.sandbox.functions import Program
from dalenius.sandbox.interpreters import _loaded, one_thread
from dalenius.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.skipif(not confinement.supported(), reason="confining a process needs Linux")
PATIENT = Sandbox(seconds=Fraction(30), megabytes=64)
GRID = Range(0, 100_000, step=1)
DEFAULT = (50_000,)
ADD = AddRemove()
libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(autouse=True)
def _no_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "_wait", lambda until: None)


@pytest.fixture
def unproven() -> Iterator[None]:
    """Nothing is remembered of earlier trials, nor of those here."""
    sandbox_module._require_confinement.cache_clear()
    yield
    sandbox_module._require_confinement.cache_clear()


def run(function: Any, blocks: Any = ([1],)) -> list[tuple[int, ...]]:
    return PATIENT.outputs(function, blocks, GRID)


def outside(function: Callable[[], Any]) -> int:
    """What the function gives in a process that is not confined, or 255."""
    child = os.fork()
    if not child:
        try:
            os._exit(function())
        finally:
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# ---- code of the user before the function is called

THIEF = """
import os, sys

def attempts():
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, list) and 777 in value:
                open(FOLDER + "/rows", "w").write(repr(value))
        frame = frame.f_back
    yield lambda: open(FOLDER + "/left", "w")
    yield lambda: os.pipe()
    yield lambda: os.fork() or os._exit(0)
    yield lambda: __import__("_socket").socket()
    yield lambda: __import__("_thread").start_new_thread(int, ())

done = 0
for attempt in attempts():
    try:
        attempt()
        done += 1
    except (OSError, RuntimeError, ImportError):
        pass

def count(rows):
    return done
"""


def thief(folder: Path) -> Program:
    (folder / "user.py").write_text(f"FOLDER = {str(folder)!r}\n{THIEF}")
    return Program(str(folder / "user.py"), "count")


def test_the_code_of_a_file_outside_of_functions_sees_no_rows_and_is_confined(tmp_path: Path) -> None:
    assert run(thief(tmp_path), [[777, 778]]) == [(0,)]
    assert [each.name for each in tmp_path.iterdir()] == ["user.py"]


def test_the_thief_works_where_rows_are_read_and_files_imported_first(tmp_path: Path) -> None:
    """Twin: the order in which it was once done."""
    code = compile(Path(thief(tmp_path).path).read_text(), "user.py", "exec")

    def work() -> int:
        block = [777, 778]
        space: dict[str, Any] = {}
        exec(code, space)
        return int(space["count"](block))

    assert outside(work) == 5
    assert (tmp_path / "rows").read_text() == "[777, 778]"


def test_a_process_with_a_second_thread_is_not_confined_but_ended() -> None:
    def with_thread() -> int:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        try:
            confinement.confine(seconds=5, megabytes=64)
        except ChildProcessError:
            return 7
        return 0

    def without() -> int:
        confinement.confine(seconds=5, megabytes=64)
        return 8

    assert outside(with_thread) == 7
    assert outside(without) == 8


def test_what_a_process_started_ends_with_it() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        os.fork()  # both hold the pipe
        os.write(writing, b"x")
        time.sleep(60)
        os._exit(0)
    os.close(writing)
    seen = os.read(reading, 1) + os.read(reading, 1)
    confinement.end(child)
    assert seen == b"xx"
    assert os.read(reading, 1) == b""
    os.close(reading)


# ---- from block to block


def numbers(rows: list[int]) -> int:
    """Once, threads of one block moved the process number of the next one."""
    started = 0
    for _ in range(20 if 777 in rows else 0):
        try:
            threading.Thread(target=int).start()
            started += 1
        except RuntimeError:
            pass
    return 10_000 * started + os.getpid() + os.getppid() + threading.get_native_id()


def test_process_numbers_say_nothing_and_cannot_be_used_up() -> None:
    assert run(numbers, [[777], [2], [3]]) == run(numbers, [[1], [2], [3]]) == [(0,)] * 3


def test_process_numbers_are_a_channel_where_there_are_threads() -> None:
    """Twin: a thread takes a number."""
    seen: list[int] = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: seen.append(threading.get_native_id()))
        thread.start()
        thread.join()
    assert len({os.getpid(), *seen}) == 4
    assert numbers([777]) > 200_000


page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
page[0] = 1
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
room = ctypes.create_string_buffer(4096)
_FUTEX, _TIMES = {"x86_64": (202, 100), "aarch64": (98, 153)}.get(platform.machine(), (0, 0))


def called(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def looks(other: int) -> dict[str, Callable[[], Any]]:
    """Calls that show something of the machine, or of another process."""
    return {
        "load and free memory": lambda: called(libc.sysinfo(room)),
        "pages in memory": lambda: called(libc.mincore(ctypes.c_void_p(address), mmap.PAGESIZE, room)),
        "resources": lambda: resource.getrusage(resource.RUSAGE_SELF),
        "resources of children": lambda: resource.getrusage(resource.RUSAGE_CHILDREN),
        "times": lambda: called(libc.syscall(_TIMES, room)),
        "processor time of another process": lambda: time.clock_gettime(~other << 3 | 2),
        "whether another process is there": lambda: os.sched_getaffinity(other),
        "what a file is": lambda: os.fstat(1),
        "limits": lambda: resource.getrlimit(resource.RLIMIT_AS),
        "waking another process": lambda: called(libc.syscall(_FUTEX, ctypes.c_void_p(address), 1, 1, None, None, 0)),
        "pages thrown out": lambda: called(libc.madvise(ctypes.c_void_p(address), mmap.PAGESIZE, 21)),
    }


def open_looks(other: int) -> list[str]:
    found = []
    for name, look in looks(other).items():
        try:
            look()
            found.append(name)
        except OSError:
            continue
    return found


def test_the_machine_and_other_processes_cannot_be_looked_at() -> None:
    here = os.getpid()
    assert run(lambda rows: len(open_looks(here))) == [(0,)]


def test_the_looks_work_where_there_is_no_sandbox() -> None:
    """Twin."""
    assert open_looks(os.getpid()) == list(looks(0))


def test_clocks_locks_and_memory_of_its_own_are_left() -> None:
    def function(rows: list[int]) -> int:
        assert time.time() > time.process_time() >= 0
        assert len(os.sched_getaffinity(0)) > 0
        assert not threading.Event().wait(0.001)
        assert len(os.urandom(8)) == 8
        return int(np.ones(3_000_000).sum()) // 1000

    assert run(function) == [(3000,)]


def test_memory_that_is_shared_is_not_shared_with_a_block() -> None:
    shared = mmap.mmap(-1, 8)
    shared[0] = 5

    def function(rows: list[int]) -> int:
        shared[0] += 1
        return shared[0]

    assert run(function, [[1], [2]]) == [(6,), (6,)]
    assert shared[0] == 5
    outside(lambda: function([]))  # twin: a copy that was not isolated
    assert shared[0] == 6


def test_a_crash_leaves_no_dump_with_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor starts a program that takes it, which would be seen in process numbers."""
    machine, calls = kernel_filter._MACHINES[platform.machine()]
    seeing = {**calls, "prctl": {"x86_64": 157, "aarch64": 167}[platform.machine()]}
    monkeypatch.setitem(kernel_filter._MACHINES, platform.machine(), (machine, seeing))
    dumps = 3
    assert run(lambda rows: libc.prctl(dumps, 0, 0, 0, 0)) == [(0,)]
    assert libc.prctl(dumps, 0, 0, 0, 0) != 0


def test_every_block_costs_one_process_whatever_its_rows_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text("def one(rows):\n    return 1\n")
    program = Program(str(tmp_path / "user.py"), "one")
    monkeypatch.setattr(sandbox_module, "_require_rehearsal", lambda sandbox, program: None)
    started: list[int] = []
    real = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: (started.append(1), real(*a, **k))[1])
    assert run(program, [[1], [b"no JSON"]]) == [(1,), DEFAULT]
    assert len(started) == 2


def test_the_number_of_threads_is_what_it_was_after_a_copy_was_made() -> None:
    before = [number() for number, _ in _loaded()]
    assert before
    with one_thread, one_thread:  # as in two releases at a time
        assert [number() for number, _ in _loaded()] == [1] * len(before)
    assert [number() for number, _ in _loaded()] == before


def product(rows: list[int]) -> int:
    return int((np.ones((300, 300)) @ np.ones((300, 300)))[0, 0])


def test_large_matrices_are_multiplied_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(product) == [(300,)]
    if max(number() for number, _ in _loaded()) > 1:  # twin: a library that wants to start threads fails
        monkeypatch.setattr(sandbox_module, "one_thread", nullcontext())
        assert Sandbox(seconds=Fraction(1)).outputs(product, [[1]], GRID) == [DEFAULT]


def test_the_end_of_a_slot_has_time_for_giving_memory_back() -> None:
    slack = [Sandbox(seconds=Fraction(1), megabytes=size).total(1) - 1 for size in (1, 512, 2000)]
    assert slack == pytest.approx([0.0505, 0.306, 1.05])


# ---- what a large process has when it is copied


class Ending:
    """Garbage, such as an engine with threads, whose end would end a copy: the threads are not there."""

    def __init__(self) -> None:
        self.itself, self.process = self, os.getpid()

    def __del__(self) -> None:
        if os.getpid() != self.process:
            os._exit(1)


@pytest.fixture
def littered() -> Iterator[None]:
    old = [Ending() for _ in range(10)]
    gc.collect()
    del old  # garbage now, but old enough to be found late
    yield
    gc.collect()


def collected(rows: list[int]) -> int:
    itself: list[Any] = []
    itself.append(itself)
    del itself
    return gc.collect()


def test_garbage_of_this_process_is_not_ended_in_a_copy(littered: None, unproven: None) -> None:
    found = run(collected, [[1]] * 5)
    assert all(0 < number < 1000 for (number,) in found)


def test_garbage_would_end_a_copy(littered: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twin: what is not set aside is collected there."""
    assert run(len) == [(1,)]
    monkeypatch.setattr(gc, "freeze", lambda: None)
    assert run(collected) == [DEFAULT]


def test_a_shared_file_that_became_shorter_kills_no_copy(tmp_path: Path, unproven: None) -> None:
    with open(tmp_path / "shared", "w+b") as file:
        size = 4 * mmap.PAGESIZE
        file.truncate(size)
        with mmap.mmap(file.fileno(), size) as shared:
            shared[:3] = b"abc"
            file.truncate(mmap.PAGESIZE)
            assert run(lambda rows: shared[:3] == b"abc" and shared[-1] == 0) == [(1,)]
            shared[1:2] = b"x"
            assert run(lambda rows: shared.__setitem__(0, 7) or shared[0]) == [(7,)]
            assert shared[:3] == b"axc"


def test_a_program_needs_no_copy_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where gRPC starts its threads in every copy."""
    (tmp_path / "user.py").write_text("def one(rows):\n    return 1\n")

    def threaded(inside: Callable[[], None]) -> int:
        pytest.fail("a copy was made")

    monkeypatch.setattr(sandbox_module, "_copy", threaded)
    assert run(Program(str(tmp_path / "user.py"), "one")) == [(1,)]


# ---- where a process cannot be confined


def mechanism(function: Any = len) -> SubsampleAggregate:
    median = MedianOfBlocks(output=GRID, epsilon=Fraction(1))
    return SubsampleAggregate(function=function, blocks=2, aggregate=median, sandbox=PATIENT, neighbours=ADD)


def unwritable() -> None:
    raise OSError("read-only")


def open_filter() -> kernel_filter.BpfProgram:
    allow = kernel_filter._allow()
    return kernel_filter.BpfProgram(1, (kernel_filter.BpfInstruction * 1)(allow))


@pytest.mark.parametrize(
    ("part", "broken"),
    [("_first_to_die", unwritable), ("kernel_filter", unwritable), ("kernel_filter", open_filter)],
    ids=["read-only /proc", "no filter", "a filter without effect"],
)
def test_where_nothing_can_be_confined_that_is_said_before_anything_is_charged(
    monkeypatch: pytest.MonkeyPatch, unproven: None, part: str, broken: Any
) -> None:
    allowance = PrivacyFilter(Budget("1"), neighbours=ADD).allow(PureDP(1))
    rows = Exact([1, 2], sensitivity=Sensitivity(l1=1), neighbours=ADD)
    before = allowance.left
    with monkeypatch.context() as patch:
        patch.setattr(confinement, part, broken)
        with pytest.raises(TheoremDoesNotApply, match="nothing was charged"):
            measure(mechanism(), rows, allowance, SeededEntropy(1))
        with pytest.raises(TheoremDoesNotApply, match="nothing was charged"):
            run(len)
    assert allowance.left == before
    assert run(len) == [(1,)]
    assert measure(mechanism(), rows, allowance, SeededEntropy(1)) is not None
    assert allowance.left != before


BROKEN = """
from dalenius.sandbox import confinement as made

def unwritable():
    raise OSError("read-only")

def open_filter():
    return made.BpfProgram(1, (made.BpfInstruction * 1)(made._allow()))

made.{part} = {broken}
"""


@pytest.mark.parametrize(
    ("part", "broken"),
    [("_first_to_die", "unwritable"), ("kernel_filter", "unwritable"), ("kernel_filter", "open_filter")],
    ids=["read-only /proc", "no filter", "a filter without effect"],
)
def test_a_program_runs_no_line_where_its_interpreter_cannot_be_confined(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: str, broken: str
) -> None:
    (tmp_path / "user.py").write_text(f"open({str(tmp_path / 'left')!r}, 'w')\ndef one(rows):\n    return 1\n")
    program = Program(str(tmp_path / "user.py"), "one")
    monkeypatch.setattr(interpreters, "_START", BROKEN.format(part=part, broken=broken) + interpreters._START)
    with pytest.raises(TheoremDoesNotApply, match=r"seccomp.* nothing was charged"):
        run(program)
    monkeypatch.setattr(sandbox_module, "_require_rehearsal", lambda sandbox, program: None)
    assert run(program) == [DEFAULT]  # nor with rows
    assert [each.name for each in tmp_path.iterdir()] == ["user.py"]


@pytest.mark.parametrize(
    ("text", "name"),
    [("import numpy\ndef one(rows):\n    return 1", "one"), ("1 / 0", "one"), ("one = 1", "two")],
    ids=["a module that was not declared", "an error", "no such function"],
)
def test_a_program_that_cannot_run_is_refused_before_anything_is_charged(tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / "user.py").write_text(text)
    with pytest.raises(TheoremDoesNotApply, match="nothing was charged"):
        mechanism(Program(str(tmp_path / "user.py"), name)).loss(sensitivity=1)
