"""Which process this is: told apart after every fork, even if a process number is used again."""

from __future__ import annotations

import os

_forks: list[None] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _forks.append(None))


def identity() -> tuple[int, int]:
    """The process number, for forks past Python's hooks, and how many forks led here, for numbers used again."""
    return os.getpid(), len(_forks)
