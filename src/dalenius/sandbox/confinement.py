"""Which calls of the kernel a confined process may make: those that computing needs, and none that carries a message.

A call stands here only if nothing that a process does with it can be seen by another one, then or later. So there are
no threads (they use up process numbers, which the next process can read), no look at the load, at free memory, at what
is in caches of files, at the times and resources of processes, nor at the state of open files.

What a process may still do while it runs code of others: compute, and write its result. Linux only.

A filter in the kernel lets through the calls that computing needs (memory, clocks, random bits) and refuses all others:
no files, no network, no new processes or threads, no signals to others, no look at other processes or at the machine.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import threading
from contextlib import suppress

from dalenius.errors import TheoremDoesNotApply

_X86 = {
    "read": 0, "write": 1, "close": 3, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
    "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "select": 23, "sched_yield": 24, "mremap": 25,
    "madvise": 28, "nanosleep": 35, "getpid": 39, "exit": 60, "uname": 63, "gettimeofday": 96, "getuid": 102,
    "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "sigaltstack": 131, "gettid": 186, "time": 201,
    "futex": 202, "sched_getaffinity": 204, "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229,
    "clock_nanosleep": 230, "exit_group": 231, "pselect6": 270, "ppoll": 271, "getrandom": 318,
}  # fmt: skip
_ARM = {
    "read": 63, "write": 64, "close": 57, "ppoll": 73, "lseek": 62, "mmap": 222, "mprotect": 226, "munmap": 215,
    "brk": 214, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "pselect6": 72, "sched_yield": 124,
    "mremap": 216, "madvise": 233, "nanosleep": 101, "getpid": 172, "exit": 93, "uname": 160, "gettimeofday": 169,
    "getuid": 174, "getgid": 176, "geteuid": 175, "getegid": 177, "getppid": 173, "sigaltstack": 132, "gettid": 178,
    "futex": 98, "sched_getaffinity": 123, "restart_syscall": 128, "clock_gettime": 113, "clock_getres": 114,
    "clock_nanosleep": 115, "exit_group": 94, "getrandom": 278,
}  # fmt: skip
_MACHINES = {"x86_64": (0xC000003E, _X86), "aarch64": (0xC00000B7, _ARM)}

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM = 1
_NUMBER, _MACHINE = 0, 4  # places in what the kernel shows to a filter
_FIRST, _SECOND, _THIRD = 16, 24, 32  # of the lower halves of arguments
_SIGN, _PRIVATE = 1 << 31, 128
_ADVICE = (0, 4, 8, 14, 15)  # normal, not needed, free, huge pages or not: nothing about pages that others have, too


class BpfInstruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("then", ctypes.c_ubyte),
        ("otherwise", ctypes.c_ubyte),
        ("k", ctypes.c_uint),
    )


class BpfProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(BpfInstruction)))


def known_machine() -> bool:
    """Whether the numbers of this machine's calls stand here."""
    return sys.platform == "linux" and platform.machine() in _MACHINES and sys.maxsize > 1 << 32


def kernel_filter() -> BpfProgram:
    """The filter in the kernel's own form. Jumps count the steps that are left out."""
    machine, calls = _MACHINES[platform.machine()]
    steps = [
        BpfInstruction(_LOAD, 0, 0, _MACHINE),
        BpfInstruction(_EQUAL, 1, 0, machine),
        BpfInstruction(_RETURN, 0, 0, _KILL),
        BpfInstruction(_LOAD, 0, 0, _NUMBER),
    ]
    for name, number in calls.items():
        verdict = _VERDICTS.get(name, [_allow()])
        steps += [BpfInstruction(_EQUAL, 0, len(verdict), number), *verdict]
    steps.append(_refuse())
    return BpfProgram(len(steps), (BpfInstruction * len(steps))(*steps))


def _allow() -> BpfInstruction:
    return BpfInstruction(_RETURN, 0, 0, _ALLOW)


def _refuse() -> BpfInstruction:
    return BpfInstruction(_RETURN, 0, 0, _ERROR | _EPERM)


def _always(number: int) -> list[BpfInstruction]:
    """The call is not made, and this is its answer."""
    return [BpfInstruction(_RETURN, 0, 0, _ERROR | number)]


def _if_equal(argument: int, *values: int) -> list[BpfInstruction]:
    tests = [step for value in values for step in (BpfInstruction(_EQUAL, 0, 1, value), _allow())]
    return [BpfInstruction(_LOAD, 0, 0, argument), *tests, _refuse()]


def _if_set(argument: int, bit: int) -> list[BpfInstruction]:
    return [BpfInstruction(_LOAD, 0, 0, argument), BpfInstruction(_ANY_BIT, 0, 1, bit), _allow(), _refuse()]


def _unless_set(argument: int, bit: int) -> list[BpfInstruction]:
    return [BpfInstruction(_LOAD, 0, 0, argument), BpfInstruction(_ANY_BIT, 0, 1, bit), _refuse(), _allow()]


_VERDICTS = {
    "getpid": _always(0),
    "getppid": _always(0),
    "gettid": _always(0),
    "clock_gettime": _unless_set(_FIRST, _SIGN),  # negative ones are the processor times of other processes
    "clock_getres": _unless_set(_FIRST, _SIGN),
    "clock_nanosleep": _unless_set(_FIRST, _SIGN),
    "sched_getaffinity": _if_equal(_FIRST, 0),  # of itself: others would tell which process numbers are in use
    "futex": _if_set(_SECOND, _PRIVATE),  # others can be waited for and woken by other processes
    "madvise": _if_equal(_THIRD, *_ADVICE),
}


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


def is_confined() -> bool:
    """Whether this process can have neither files nor threads, and its process numbers say nothing."""
    for attempt in (lambda: os.open("/", os.O_RDONLY), os.pipe, threading.Thread(target=int).start):
        try:
            attempt()
        except (OSError, RuntimeError):
            continue
        return False
    return os.getpid() == os.getppid() == 0


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
    with open("/proc/self/maps", errors="replace") as maps:
        regions = [line.split(maxsplit=5) for line in maps]
    for region, rights, *_, name in regions:
        if rights[1] == "w" and rights[3] == "s":
            start, stop = (int(edge, 16) for edge in region.split("-"))
            readable = not name.startswith("/dev/") or name.startswith(_MEMORY)
            _replace(start, stop - start, _content(start, stop - start) if readable else b"")


def _content(start: int, size: int) -> bytes:
    """What stands there, up to where the file behind it ends now: it may have become shorter since, and a process that
    reads on is killed. The kernel stops there when it writes."""
    write = ctypes.CDLL(None, use_errno=True).write
    write.restype = ctypes.c_ssize_t
    with open(os.memfd_create("aside"), "w+b", buffering=0) as aside:
        while (step := write(aside.fileno(), ctypes.c_void_p(start), ctypes.c_size_t(size))) > 0:
            start, size = start + step, size - step
        aside.seek(0)
        return aside.read()


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
