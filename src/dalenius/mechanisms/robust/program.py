"""A function in a file, run in a fresh interpreter that is given one block and knows nothing else."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.robust.confinement import confine, isolate

_START = "from dalenius.mechanisms.robust.program import work; work()"


@dataclass(frozen=True, slots=True)
class Program:
    """The function `name` of the Python file `path`, for code that nobody has read.

    In a `Sandbox`, every block of it runs in an interpreter that is started anew, without this process's memory,
    files, arguments or environment. It is given the rows of its block as JSON (numbers, texts, lists and None; tuples
    become lists) and gives its result as JSON. Starting takes some tenths of a second of the block's time slot.
    Textbook: S11.2.
    """

    path: str
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", os.path.abspath(self.path))
        if not Path(self.path).is_file() or not self.name.isidentifier():
            raise InvalidParameter("path", self.path, allowed="a Python file, with the name of a function in it")

    def start(self, block: Any, writing: int, *, seconds: int, megabytes: int) -> subprocess.Popen[bytes]:
        """The interpreter at work; its result comes from the other end of `writing`."""
        rows = os.memfd_create("rows")
        try:
            with open(rows, "wb", closefd=False) as text:
                text.write(json.dumps(block).encode())
            os.lseek(rows, 0, os.SEEK_SET)
            limits = [self.path, self.name, str(seconds), str(megabytes)]
            return subprocess.Popen(  # noqa: S603 - the interpreter itself, with a fixed text
                [sys.executable, "-I", "-c", _START, *limits],
                stdin=rows,
                stdout=writing,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
            )
        finally:
            os.close(rows)


def work() -> None:
    """What the fresh interpreter does: it never returns."""
    try:
        path, name, seconds, megabytes = sys.argv[1:]
        block = json.loads(sys.stdin.buffer.read())
        isolate(1)
        function = _function(path, name)
        confine(seconds=int(seconds), megabytes=int(megabytes))
        os.write(3, json.dumps(_plain(function(block))).encode())
    except BaseException:  # noqa: S110 - the default stands for it, whatever it is
        pass
    finally:
        os._exit(0)


def _function(path: str, name: str) -> Any:
    spec = importlib.util.spec_from_file_location("program", path)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def _plain(result: Any) -> Any:
    """Numbers of NumPy and sets, as JSON has them."""
    if isinstance(result, set | frozenset | tuple):
        return list(result)
    return result.item() if hasattr(result, "item") else result
