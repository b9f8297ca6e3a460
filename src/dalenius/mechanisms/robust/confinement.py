"""What a process may still do while it runs code of others: compute, and write its result. Linux only.

A filter in the kernel lets through the calls that computing needs (memory, threads of its own, clocks, random bits)
and refuses all others: no files, no network, no new processes, no signals to others, no look into other processes.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from contextlib import suppress

from dalenius.errors import TheoremDoesNotApply

if sys.platform != "win32":
    import fcntl
    import resource

_X86 = {
    "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11,
    "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "select": 23, "sched_yield": 24,
    "mremap": 25, "mincore": 27, "madvise": 28, "nanosleep": 35, "getpid": 39, "exit": 60, "uname": 63,
    "gettimeofday": 96, "getrusage": 98, "sysinfo": 99, "times": 100, "getuid": 102, "getgid": 104, "geteuid": 107,
    "getegid": 108, "getppid": 110, "sigaltstack": 131, "arch_prctl": 158, "gettid": 186, "time": 201, "futex": 202,
    "sched_getaffinity": 204, "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229,
    "clock_nanosleep": 230, "exit_group": 231, "set_robust_list": 273, "get_robust_list": 274, "getcpu": 309,
    "getrandom": 318, "membarrier": 324, "rseq": 334, "pselect6": 270, "ppoll": 271, "get_mempolicy": 239,
}  # fmt: skip
_ARM = {
    "read": 63, "write": 64, "close": 57, "fstat": 80, "ppoll": 73, "lseek": 62, "mmap": 222, "mprotect": 226,
    "munmap": 215, "brk": 214, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "pselect6": 72,
    "sched_yield": 124, "mremap": 216, "mincore": 232, "madvise": 233, "nanosleep": 101, "getpid": 172, "exit": 93,
    "uname": 160, "gettimeofday": 169, "getrusage": 165, "sysinfo": 179, "times": 153, "getuid": 174, "getgid": 176,
    "geteuid": 175, "getegid": 177, "getppid": 173, "sigaltstack": 132, "gettid": 178, "futex": 98,
    "sched_getaffinity": 123, "restart_syscall": 128, "clock_gettime": 113, "clock_getres": 114,
    "clock_nanosleep": 115, "exit_group": 94, "set_robust_list": 99, "get_robust_list": 100, "getcpu": 168,
    "getrandom": 278, "membarrier": 283, "rseq": 293, "get_mempolicy": 236,
}  # fmt: skip
_MACHINES = {"x86_64": (0xC000003E, _X86, 56), "aarch64": (0xC00000B7, _ARM, 220)}
_CLONE3 = 435  # on both; its flags cannot be seen, so it is said not to exist, and threads are made by clone

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16  # places in what the kernel shows to a filter
_THREAD = 0x10000
_NO_NEW_PRIVILEGES, _SECCOMP, _PARENT_DIES, _FILTER = 38, 22, 1, 2


class _Step(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("then", ctypes.c_ubyte),
        ("otherwise", ctypes.c_ubyte),
        ("k", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Step)))


def supported() -> bool:
    """Whether this machine can confine a process."""
    return sys.platform == "linux" and platform.machine() in _MACHINES and sys.maxsize > 1 << 32


def require_support() -> None:
    if not supported():
        raise TheoremDoesNotApply(
            "running a function in a sandbox",
            needs="Linux on x86_64 or aarch64",
            given=f"{sys.platform} on {platform.machine()}",
            instead="a container with Linux",
        )


def isolate(result: int) -> None:
    """Leave the parent's session and its open files: all but one, which becomes number 3, for the result."""
    os.setsid()
    aside = fcntl.fcntl(result, fcntl.F_DUPFD, 10)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.dup2(aside, 3)
    for opened in os.listdir("/proc/self/fd"):
        if int(opened) > 3:
            with suppress(OSError):  # the listing itself was open, too
                os.close(int(opened))
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - it lives as long as the process
    sys.stdout = sys.stderr = open(1, "w", closefd=False)  # noqa: SIM115


def confine(*, seconds: int, megabytes: int) -> None:
    """From here on: at most this much processor time and new memory, and no call but those that computing needs."""
    _first_to_die()
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: _address_space() + (megabytes << 20),
    }
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, most))
    machine, calls, clone = _MACHINES[platform.machine()]
    steps = _filter(machine, sorted(calls.values()), clone)
    program = _Program(len(steps), (_Step * len(steps))(*steps))
    library = ctypes.CDLL(None, use_errno=True)
    done = [
        library.prctl(_PARENT_DIES, signal.SIGKILL, 0, 0, 0),
        library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
        library.prctl(_SECCOMP, _FILTER, ctypes.byref(program)),
    ]
    if any(done):
        os._exit(1)


def _filter(machine: int, calls: list[int], clone: int) -> list[_Step]:
    """Steps that end with a verdict; jumps count the steps that are left out."""
    head = [
        _Step(_LOAD, 0, 0, _MACHINE),
        _Step(_EQUAL, 1, 0, machine),
        _Step(_RETURN, 0, 0, _KILL),
        _Step(_LOAD, 0, 0, _NUMBER),
    ]
    listed = [step for call in calls for step in (_Step(_EQUAL, 0, 1, call), _Step(_RETURN, 0, 0, _ALLOW))]
    tail = [
        _Step(_EQUAL, 0, 1, _CLONE3),
        _Step(_RETURN, 0, 0, _ERROR | _ENOSYS),
        _Step(_EQUAL, 0, 3, clone),
        _Step(_LOAD, 0, 0, _FIRST_ARGUMENT),
        _Step(_ANY_BIT, 0, 1, _THREAD),
        _Step(_RETURN, 0, 0, _ALLOW),
        _Step(_RETURN, 0, 0, _ERROR | _EPERM),
    ]
    return [*head, *listed, *tail]


def _address_space() -> int:
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[0]) * resource.getpagesize()


def _first_to_die() -> None:
    """Where memory runs out, the kernel ends this process before others."""
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
