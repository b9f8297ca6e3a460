"""Fresh interpreters, which know nothing of this process but what they are told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from dalenius.mechanisms.robust.one_thread import ENVIRONMENT

READY = "ready"
"""What a rehearsal says: all but the rows is there."""
CODE = (
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize", "co_flags", "co_code",
    "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_name", "co_qualname", "co_exceptiontable",
)  # fmt: skip
"""What code is, without the file and the lines where it was written."""
_START = "from dalenius.mechanisms.robust.working import work; work()"


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
