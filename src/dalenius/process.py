"""Which process this is: told apart after every fork, even if a process number is used again; and how many there are
places for."""

from __future__ import annotations

import os

_forks: list[None] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _forks.append(None))


def identity() -> tuple[int, int]:
    """The process number, for forks past Python's hooks, and how many forks led here, for numbers used again."""
    return os.getpid(), len(_forks)


def cores() -> int:
    """How many processes this machine runs at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
