"""Numerical libraries with one thread each, while a process is copied that may not start any.

Fresh interpreters, which know nothing of this process but what they are told.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "POLARS_MAX_THREADS")
ENVIRONMENT = dict.fromkeys(_SETTINGS, "1")
"""What tells these libraries so when they are imported."""

_LIBRARIES = re.compile(r"/[^/]*(openblas|gomp|libomp|iomp|mkl_rt|blis)[^/]*$")
_NAMES = [
    *((f"{start}openblas_get_num_threads{end}", f"{start}openblas_set_num_threads{end}")
      for start in ("", "scipy_") for end in ("", "64_", "_64")),
    ("omp_get_max_threads", "omp_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
]  # fmt: skip
_Change: TypeAlias = Callable[[int], object]


class OneThread:
    """Inside, the libraries that this process has loaded use one thread; a copy that is made here keeps that.

    Several threads of this process can be inside; the last one to leave goes back to what was before. It is not done
    for each copy anew, because a library that starts its threads again lets them spin for a while.
    """

    def __init__(self) -> None:
        self._guard, self._inside = threading.Lock(), 0
        self._before: list[tuple[_Change, int]] = []

    def __enter__(self) -> None:
        with self._guard:
            if not self._inside:
                self._before = [(change, number()) for number, change in _loaded()]
            self._inside += 1
            for change, _ in self._before:
                change(1)

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._inside -= 1
            for change, number in self._before if not self._inside else []:
                change(number)


one_thread = OneThread()


def _loaded() -> list[tuple[Callable[[], int], _Change]]:
    with open("/proc/self/maps") as maps:
        paths = {found.group() for line in maps if (found := re.search(r"/.*$", line.rstrip()))}
    libraries = [ctypes.CDLL(path) for path in sorted(paths) if _LIBRARIES.search(path)]
    return [
        (getattr(library, number), getattr(library, change))
        for library in libraries
        for number, change in _NAMES
        if hasattr(library, number) and hasattr(library, change)
    ]


READY = "ready"
"""What a rehearsal says: all but the rows is there."""
UNCONFINED = b"unconfined"
"""What an interpreter says that cannot confine itself, in place of all else. It is no JSON, so no function says it."""
CODE = (
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize", "co_flags", "co_code",
    "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_name", "co_qualname", "co_exceptiontable",
)  # fmt: skip
"""What code is, without the file and the lines where it was written."""
_START = "from dalenius.sandbox.working import work; work()"


def start_interpreter(told: Sequence[str], content: bytes, writing: int) -> int:
    """The process of an interpreter without this process's memory, files, arguments or environment. It reads `content`
    as its input, and its result comes from the other end of `writing`."""
    given = os.memfd_create("given")
    try:
        with open(given, "wb", closefd=False) as whole:
            whole.write(content)
        os.lseek(given, 0, os.SEEK_SET)
        child = subprocess.Popen(  # noqa: S603 - the interpreter itself, with a fixed text
            [sys.executable, "-I", "-B", "-c", _START, *told],
            stdin=given,
            stdout=writing,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    finally:
        os.close(given)
    child.returncode = 0  # whoever called ends it and waits for it, by its number
    return child.pid
