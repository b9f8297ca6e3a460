"""A function of the analyst, run on each block of rows in a process of its own: only its number comes out."""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Protocol, TypeAlias

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.robust.confinement import confine, isolate, require_support
from dalenius.mechanisms.robust.program import Program
from dalenius.privacy.numbers import positive, whole

Codes: TypeAlias = tuple[int, ...]
Function: TypeAlias = "Callable[[Any], Any] | Program"
_MOST_BYTES = 1 << 16
_SLACK = 0.05  # seconds of a slot that are for starting and ending the process
_MOST_CODES = 4000


class Output(Protocol):
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

    Guarantee: what stands for a block depends on that block alone. A process ends with its block, so nothing that the
    function leaves behind reaches another one: it can open no file, no connection and no process, and send no signal
    (see `confinement`). It has `seconds` of time and `megabytes` of new memory. An exception, a result of another
    kind, NaN, an exit, a crash, an endless loop or too much memory all give the same public default. Blocks follow each
    other in slots of equal length, and a slot is waited for to its end, so how long a block took cannot be seen, and
    none slows down another.
    A `Program` runs in a fresh interpreter, which never had other rows. A plain function runs in a copy of this process
    made by `fork`: quicker, and any function will do, but the copy holds the memory of this process, other rows
    included. So a plain function must be one that somebody has read: code that goes through the memory of its
    interpreter is not stopped there.
    Limits: Linux on x86_64 or aarch64. Modules must be imported before the function is called, since it can open no
    file. Leaks through caches of the processor are not stopped.
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
        return whole(blocks=blocks) * (float(self.seconds) + _SLACK)

    def outputs(self, function: Function, blocks: Iterable[Any], output: Output) -> list[Codes]:
        """The codes of the function's output on each block."""
        require_support()
        if output.width > _MOST_CODES:
            raise InvalidParameter("width", output.width, allowed=f"at most {_MOST_CODES} codes of a block")
        start, found = time.monotonic(), []
        for place, block in enumerate(blocks):
            begin = max(time.monotonic(), start + self.total(place))
            codes = self._run(function, block, output, begin + float(self.seconds))
            found.append(output.default if codes is None or not output.accepts(codes) else codes)
            _wait(start + self.total(place + 1))
        return found

    def _run(self, function: Function, block: Any, output: Output, deadline: float) -> Codes | None:
        reading, writing = os.pipe()
        try:
            if isinstance(function, Program):
                return self._in_new_interpreter(function, block, output, (reading, writing), deadline)
            return self._in_copy(function, block, output, (reading, writing), deadline)
        finally:
            os.close(reading)

    def _in_copy(
        self, function: Callable[[Any], Any], block: Any, output: Output, pipe: tuple[int, int], deadline: float
    ) -> Codes | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about forks beside threads: a copy that hangs ends with its slot
            child = os.fork()
        if not child:
            _inside(function, block, output, pipe[1], self)
        os.close(pipe[1])
        try:
            written = _received(pipe[0], 8 * output.width + 1, deadline)
        finally:
            os.kill(child, signal.SIGKILL)  # it is not reaped yet, so the number is still its own
            with suppress(ChildProcessError):
                os.waitpid(child, 0)
        return struct.unpack(f">{output.width}q", written) if len(written) == 8 * output.width else None

    def _in_new_interpreter(
        self, program: Program, block: Any, output: Output, pipe: tuple[int, int], deadline: float
    ) -> Codes | None:
        try:
            child = program.start(block, pipe[1], seconds=self._processor_seconds, megabytes=self.megabytes)
        except (TypeError, ValueError, RecursionError):  # rows that JSON does not have
            return None
        finally:
            os.close(pipe[1])
        try:
            written = _received(pipe[0], _MOST_BYTES, deadline)
        finally:
            child.kill()
            child.wait()
        try:
            return output.codes(json.loads(written))
        except Exception:
            return None

    @property
    def _processor_seconds(self) -> int:
        return ceil(self.seconds) + 1


def _inside(function: Callable[[Any], Any], block: Any, output: Output, writing: int, sandbox: Sandbox) -> None:
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
