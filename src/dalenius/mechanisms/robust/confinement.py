"""What a process may still do while it runs code of others: compute, and write its result. Linux only.

A filter in the kernel lets through the calls that computing needs (memory, clocks, random bits) and refuses all others:
no files, no network, no new processes or threads, no signals to others, no look at other processes or at the machine.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from contextlib import suppress

from dalenius.errors import TheoremDoesNotApply
from dalenius.mechanisms.robust.kernel_filter import kernel_filter, known_machine

if sys.platform != "win32":
    import fcntl
    import mmap
    import resource

_PARENT_DIES, _DUMPS, _SECCOMP, _NO_NEW_PRIVILEGES = 1, 4, 22, 38
_FILTER = 2
_FIXED = 0x10
_MEMORY = ("/dev/zero", "/dev/shm")  # noqa: S108 - names of shared memory; other devices are not memory to be read


def supported() -> bool:
    """Whether this kind of machine can confine a process."""
    return known_machine()


def require_support() -> None:
    if not supported():
        raise TheoremDoesNotApply(
            "running a function in a sandbox",
            needs="Linux on x86_64 or aarch64",
            given=f"{sys.platform} on {platform.machine()}",
            instead="a container with Linux",
        )


def isolate(result: int, *, rows: int | None = None) -> None:
    """Leave the parent's session, its open files and the memory that it shares with others.

    Two files stay: `result`, which becomes number 3, and `rows`, which becomes number 0.
    """
    with suppress(PermissionError):  # it leads a session already
        os.setsid()
    _kernel("prctl", _PARENT_DIES, signal.SIGKILL, 0, 0, 0)
    aside = fcntl.fcntl(result, fcntl.F_DUPFD, 10)
    nothing = os.open(os.devnull, os.O_RDWR)
    given = nothing if rows is None else fcntl.fcntl(rows, fcntl.F_DUPFD, 10)
    for standard, opened in enumerate((given, nothing, nothing, aside)):
        os.dup2(opened, standard)
    for number in os.listdir("/proc/self/fd"):
        if int(number) > 3:
            with suppress(OSError):  # the listing itself was open, too
                os.close(int(number))
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - it lives as long as the process
    sys.stdout = sys.stderr = open(1, "w", closefd=False)  # noqa: SIM115
    _own_memory()


def confine(*, seconds: int, megabytes: int) -> None:
    """From here on: at most this much processor time and new memory, and no call but those that computing needs.

    It must be the only thread, since another one would not be confined. A crash leaves no dump: a dump would hold rows,
    and the program that takes it would be seen in process numbers.
    """
    if len(os.listdir("/proc/self/task")) != 1:
        raise ChildProcessError("a thread that would not be confined")
    _first_to_die()
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: _address_space() + (megabytes << 20),
    }
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, most))
    steps = kernel_filter()
    _kernel("prctl", _DUMPS, 0, 0, 0, 0)
    _kernel("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _kernel("prctl", _SECCOMP, _FILTER, ctypes.byref(steps), 0, 0)


def end(child: int) -> None:
    """Kill a process of ours, and all that it started, and wait until it is gone and its memory is free."""
    for kill in (os.killpg, os.kill):  # it is not reaped yet, so the number is still its own
        with suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(child, 0)


def _kernel(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        raise OSError(ctypes.get_errno(), name)


def _own_memory() -> None:
    """A copy of what stands in memory that is shared with other processes, in its place: nobody else sees changes."""
    with open("/proc/self/maps") as maps:
        regions = [line.split(maxsplit=5) for line in maps]
    for region, rights, *_, name in regions:
        if rights[1] == "w" and rights[3] == "s":
            start, stop = (int(edge, 16) for edge in region.split("-"))
            readable = not name.startswith("/dev/") or name.startswith(_MEMORY)
            _replace(start, stop - start, ctypes.string_at(start, stop - start) if readable else b"")


def _replace(start: int, size: int, content: bytes) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED
    rights = mmap.PROT_READ | mmap.PROT_WRITE
    placed = library.mmap(ctypes.c_void_p(start), ctypes.c_size_t(size), rights, flags, -1, ctypes.c_long(0))
    if placed != start:
        raise OSError(ctypes.get_errno(), "mmap")
    ctypes.memmove(start, content, len(content))


def _address_space() -> int:
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[0]) * resource.getpagesize()


def _first_to_die() -> None:
    """Where memory runs out, the kernel ends this process before others."""
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
