"""A function of the analyst, run on each block of rows in a process of its own: only its number comes out."""

from __future__ import annotations

import gc
import json
import os
import select
import struct
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any, Protocol, TypeAlias

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.numbers import positive, whole
from dalenius.sandbox.confinement import confine, end, is_confined, isolate, require_support
from dalenius.sandbox.functions import Program, ShippedFunction, text_of
from dalenius.sandbox.interpreters import READY, UNCONFINED, one_thread

Codes: TypeAlias = tuple[int, ...]
Separate: TypeAlias = Program | ShippedFunction
"""What runs in an interpreter of its own."""
Function: TypeAlias = Callable[[Any], Any] | Separate
_MOST_BYTES = 1 << 16
_SLACK = 0.05  # seconds of a slot that are for starting and ending the process
_SLACK_OF_A_MEGABYTE = 0.0005  # and for taking its memory back: ten times of what that takes on a machine at rest
_REHEARSAL = 30  # seconds, on a busy machine
_KNOWN = (271_828,)
MOST_CODES = 4000
"""How many codes an output may have."""


class OutputForm(Protocol):
    """What a function may give, as whole numbers from 0 on."""

    @property
    def width(self) -> int:
        """How many codes an output has."""

    @property
    def default(self) -> Codes:
        """What stands for an output that did not come, or is of another kind."""

    def codes(self, result: Any, /) -> Codes:
        """The codes of an output; whatever is not one raises."""

    def accepts(self, codes: Codes, /) -> bool:
        """Whether these are codes of an output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Runs a function on block after block, each in a process of its own, in a time slot of its own.

    Guarantee: what stands for a block depends on that block alone, and on how fast the machine is at the time. A
    process ends with its block, and nothing that the function leaves behind reaches another one: it can open no file,
    no connection, no process and no thread, send no signal, and change no memory that others have, too; it sees no
    process numbers, load, free memory or times of other processes (see `confinement`). Every block costs one process
    number, whatever happens in it. It has `seconds` of time and `megabytes` of new memory. An exception, a result of
    another kind, NaN, an exit, a crash, an endless loop or too much memory all give the same public default. Blocks
    follow each other in slots of equal length, and a slot is waited for to its end, so how long a block took cannot
    be seen, and none takes time from another. The slack of a slot grows with `megabytes`, which take time to be freed.
    A `Program` runs in a fresh interpreter, which never had other rows, as does a `ShippedFunction`.
    A plain function runs in a copy of this process made by `fork`: quicker, and any function will do, but the copy
    holds the memory of this process, other rows and earlier results included, and has more room where these were freed.
    So a plain function must be one that somebody has read: code that goes through the memory of its interpreter, or
    measures how much is free, is not stopped there.
    Limits: Linux on x86_64 or aarch64; a trial without rows must show that processes can be confined, else nothing is
    run or charged. Modules must be imported before the function is called, since it can open no file; numerical
    libraries use one thread. Not stopped: leaks through the speed of the machine, which code can measure (caches of the
    processor and of files, throttling), and a slot that is too short, where that speed decides what is late.
    Reference: Mohan, Thakurta, Shi, Song & Culler 2012 (GUPT), Sections 3 and 6.
    Textbook: S11.2.
    """

    seconds: Fraction
    megabytes: int = 512

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", positive(seconds=self.seconds))
        object.__setattr__(self, "megabytes", whole(1, megabytes=self.megabytes))

    def total(self, blocks: int) -> float:
        """How long so many blocks take, whatever happens in them."""
        return whole(blocks=blocks) * (float(self.seconds) + _SLACK + _SLACK_OF_A_MEGABYTE * self.megabytes)

    def require(self, function: Function) -> None:
        """Refuse, unless a first run without rows shows that a block of this function can be confined here."""
        require_support()
        if isinstance(function, Separate):
            _require_rehearsal(self, function)
        else:
            _require_confinement()

    def outputs(self, function: Function, blocks: Iterable[Any], output: OutputForm) -> list[Codes]:
        """The codes of the function's output on each block."""
        self.require(function)
        if output.width > MOST_CODES:
            raise InvalidParameter("width", output.width, allowed=f"at most {MOST_CODES} codes of a block")
        if isinstance(function, Separate):  # texts first: how long that takes would lengthen a slot
            return self._in_slots(function, list(map(text_of, blocks)), output)
        with one_thread:
            return self._in_slots(function, blocks, output)

    def _in_slots(self, function: Function, blocks: Iterable[Any], output: OutputForm) -> list[Codes]:
        start, found = time.monotonic(), []
        for place, block in enumerate(blocks):
            begin = max(time.monotonic(), start + self.total(place))
            codes = self._run(function, block, output, begin + float(self.seconds))
            found.append(output.default if codes is None or not output.accepts(codes) else codes)
            _wait(start + self.total(place + 1))
        return found

    def _run(self, function: Function, block: Any, output: OutputForm, deadline: float) -> Codes | None:
        if isinstance(function, Separate):
            return self._in_new_interpreter(function, block, output, deadline)
        return self._in_copy(function, block, output, deadline)

    def _in_copy(self, function: Callable[[Any], Any], block: Any, output: OutputForm, deadline: float) -> Codes | None:
        written = _written(
            lambda writing: _copy(lambda: _inside(function, block, output, writing, self)),
            most=8 * output.width + 1,
            deadline=deadline,
        )
        return struct.unpack(f">{output.width}q", written) if len(written) == 8 * output.width else None

    def _in_new_interpreter(self, program: Separate, text: bytes, output: OutputForm, deadline: float) -> Codes | None:
        written = _written(
            lambda writing: program.start(text, writing, seconds=self._processor_seconds, megabytes=self.megabytes),
            most=_MOST_BYTES,
            deadline=deadline,
        )
        try:
            return output.codes(json.loads(written))
        except Exception:
            return None

    @property
    def _processor_seconds(self) -> int:
        return ceil(self.seconds) + 1


def _inside(function: Callable[[Any], Any], block: Any, output: OutputForm, writing: int, sandbox: Sandbox) -> None:
    """What the copy does: it never returns."""
    try:
        isolate(writing)
        confine(seconds=sandbox._processor_seconds, megabytes=sandbox.megabytes)
        codes = output.codes(function(block))
        os.write(3, struct.pack(f">{output.width}q", *codes))
    except BaseException:  # noqa: S110 - the default stands for it, whatever it is
        pass
    finally:
        os._exit(0)


@cache
def _require_confinement() -> None:
    """One copy of this process must say that nothing but computing is left to it. Only success is remembered."""
    trial = Sandbox(seconds=Fraction(_REHEARSAL), megabytes=16)
    if trial._in_copy(_confined, _KNOWN, _Known(), time.monotonic() + _REHEARSAL) != _KNOWN:
        raise _unconfined(
            ", and libraries that start no threads in a copy of this process, as gRPC does unless "
            "GRPC_ENABLE_FORK_SUPPORT=0 is set before",
            instead="a Program, which needs no copy, ",
        )


def _unconfined(more: str = "", *, instead: str = "") -> TheoremDoesNotApply:
    return TheoremDoesNotApply(
        "running a function in a sandbox",
        needs=f"a system that lets a process confine itself (filters of seccomp, /proc/self/oom_score_adj){more}",
        given="one where a trial without rows did not come back confined; nothing was charged",
        instead=f"{instead}a container that allows this, or another machine",
    )


@cache
def _require_rehearsal(sandbox: Sandbox, program: Separate) -> None:
    """Silence would be an error of the program for which every block would have the default. Only success is
    remembered."""
    deadline = time.monotonic() + float(sandbox.seconds) + _REHEARSAL
    written = _written(
        lambda writing: program.rehearse(
            writing, seconds=sandbox._processor_seconds + _REHEARSAL, megabytes=sandbox.megabytes
        ),
        most=_MOST_BYTES,
        deadline=deadline,
    )
    if written == UNCONFINED:
        raise _unconfined()
    if written != json.dumps(READY).encode():
        raise TheoremDoesNotApply(
            "running a program in a sandbox",
            needs=program.needs,
            given=f"{program.name} with modules={program.modules}; nothing was charged",
            instead="a Program with modules=(...): the names of all that its file imports, and only those,",
        )


@dataclass(frozen=True, slots=True)
class _Known:
    width: int = 1
    default: Codes = (0,)

    def codes(self, result: Any) -> Codes:
        return (result,)

    def accepts(self, codes: Codes) -> bool:
        return True


def _confined(known: Codes) -> int:
    return known[0] if is_confined() else 0


def _copy(inside: Callable[[], None]) -> int:
    """The number of a copy of this process, which never leaves `inside`.

    What is garbage here is never collected there: to end a connection, an engine or a pool that lost its threads in the
    copy makes it crash or hang, and would speak for this process over a line that both have open.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about forks beside threads: a copy that hangs ends with its slot
        gc.collect(0)  # so that the next time is far off when the copy begins
        child = os.fork()
        if not child:
            gc.freeze()
            inside()
    return child


def _written(start: Callable[[int], int], *, most: int, deadline: float) -> bytes:
    """What a process writes that is started with a place to write to; it is gone afterwards, whatever it did."""
    reading, writing = os.pipe()
    try:
        try:
            child = start(writing)
        finally:
            os.close(writing)
        try:
            return _received(reading, most, deadline)
        finally:
            end(child)
    finally:
        os.close(reading)


def _received(reading: int, most: int, deadline: float) -> bytes:
    """What is written until the other end closes, until the deadline, or until it is too much."""
    data, ready = b"", select.poll()
    ready.register(reading, select.POLLIN)
    while len(data) < most:
        left = deadline - time.monotonic()
        if left <= 0 or not ready.poll(ceil(1000 * left)):
            return b""  # late: what came before does not count
        piece = os.read(reading, most - len(data))
        if not piece:
            return data
        data += piece
    return b""


def _wait(until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        time.sleep(left)
