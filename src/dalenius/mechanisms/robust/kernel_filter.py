"""Which calls of the kernel a confined process may make: those that computing needs, and none that carries a message.

A call stands here only if nothing that a process does with it can be seen by another one, then or later. So there are
no threads (they use up process numbers, which the next process can read), no look at the load, at free memory, at what
is in caches of files, at the times and resources of processes, nor at the state of open files.
"""

from __future__ import annotations

import ctypes
import platform
import sys

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


class Step(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("then", ctypes.c_ubyte),
        ("otherwise", ctypes.c_ubyte),
        ("k", ctypes.c_uint),
    )


class Steps(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(Step)))


def known_machine() -> bool:
    """Whether the numbers of this machine's calls stand here."""
    return sys.platform == "linux" and platform.machine() in _MACHINES and sys.maxsize > 1 << 32


def kernel_filter() -> Steps:
    """The filter in the kernel's own form. Jumps count the steps that are left out."""
    machine, calls = _MACHINES[platform.machine()]
    steps = [
        Step(_LOAD, 0, 0, _MACHINE),
        Step(_EQUAL, 1, 0, machine),
        Step(_RETURN, 0, 0, _KILL),
        Step(_LOAD, 0, 0, _NUMBER),
    ]
    for name, number in calls.items():
        verdict = _VERDICTS.get(name, [_allow()])
        steps += [Step(_EQUAL, 0, len(verdict), number), *verdict]
    steps.append(_refuse())
    return Steps(len(steps), (Step * len(steps))(*steps))


def _allow() -> Step:
    return Step(_RETURN, 0, 0, _ALLOW)


def _refuse() -> Step:
    return Step(_RETURN, 0, 0, _ERROR | _EPERM)


def _always(number: int) -> list[Step]:
    """The call is not made, and this is its answer."""
    return [Step(_RETURN, 0, 0, _ERROR | number)]


def _if_equal(argument: int, *values: int) -> list[Step]:
    tests = [step for value in values for step in (Step(_EQUAL, 0, 1, value), _allow())]
    return [Step(_LOAD, 0, 0, argument), *tests, _refuse()]


def _if_set(argument: int, bit: int) -> list[Step]:
    return [Step(_LOAD, 0, 0, argument), Step(_ANY_BIT, 0, 1, bit), _allow(), _refuse()]


def _unless_set(argument: int, bit: int) -> list[Step]:
    return [Step(_LOAD, 0, 0, argument), Step(_ANY_BIT, 0, 1, bit), _refuse(), _allow()]


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
