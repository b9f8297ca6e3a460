"""A function in a file, run in a fresh interpreter that is given one block and knows nothing else."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.abc import InspectLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.robust.confinement import confine, isolate
from dalenius.mechanisms.robust.one_thread import ENVIRONMENT

READY = "ready"
_START = "from dalenius.mechanisms.robust.program import work; work()"


@dataclass(frozen=True, slots=True)
class Program:
    """The function `name` of the Python file `path`, for code that nobody has read.

    In a `Sandbox`, every block of it runs in an interpreter that is started anew, without this process's memory,
    files, arguments or environment. It is given the rows of its block as JSON (numbers, texts, lists and None; tuples
    become lists) and gives its result as JSON. Starting takes some tenths of a second of the block's time slot, and
    rows count towards its memory.

    Guarantee: no line of the file runs, and no row is read, before the interpreter is confined.
    So the file can import only what is there by then: `modules` names all modules that it imports, of Python itself or
    installed. Those are trusted as this library is: they are imported before, and their code runs unconfined, once for
    each block. One that starts a thread is refused.
    Textbook: S11.2.
    """

    path: str
    name: str
    modules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", os.path.abspath(self.path))
        if not Path(self.path).is_file() or not self.name.isidentifier():
            raise InvalidParameter("path", self.path, allowed="a Python file, with the name of a function in it")
        named = (self.modules,) if isinstance(self.modules, str) else tuple(self.modules)
        if not all(part.isidentifier() for module in named for part in module.split(".")):
            raise InvalidParameter("modules", named, allowed="names of modules, such as numpy or scipy.stats")
        object.__setattr__(self, "modules", named)

    def start(self, text: bytes, writing: int, *, seconds: int, megabytes: int) -> int:
        """The process of the interpreter at work on rows as `text` has them; its result comes from the other end of
        `writing`."""
        return self._start(text, writing, "run", seconds, megabytes)

    def rehearse(self, writing: int, *, seconds: int, megabytes: int) -> int:
        """The same without any row: the function is looked up, but not called, and READY comes out."""
        return self._start(b"", writing, "rehearse", seconds, megabytes)

    def _start(self, text: bytes, writing: int, task: str, seconds: int, megabytes: int) -> int:
        rows = os.memfd_create("rows")
        try:
            with open(rows, "wb", closefd=False) as whole:
                whole.write(text)
            os.lseek(rows, 0, os.SEEK_SET)
            told = [task, self.path, self.name, str(seconds), str(megabytes), *self.modules]
            child = subprocess.Popen(  # noqa: S603 - the interpreter itself, with a fixed text
                [sys.executable, "-I", "-B", "-c", _START, *told],
                stdin=rows,
                stdout=writing,
                stderr=subprocess.DEVNULL,
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(rows)
        child.returncode = 0  # whoever called ends it and waits for it, by its number
        return child.pid


def work() -> None:
    """What the fresh interpreter does: it never returns."""
    try:
        task, path, name, seconds, megabytes, *modules = sys.argv[1:]
        isolate(1, rows=0)
        text = _Text(path)
        for module in modules:
            importlib.import_module(module)
        confine(seconds=int(seconds), megabytes=int(megabytes))
        function = _function(text, name)
        result = READY if task == "rehearse" else _plain(function(json.loads(sys.stdin.buffer.read())))
        os.write(3, json.dumps(result).encode())
    except BaseException:  # noqa: S110 - the default stands for it, whatever it is
        pass
    finally:
        os._exit(0)


class _Text(InspectLoader):
    """A file that is read and compiled at once, but run later; files of compiled code beside it are not looked at."""

    def __init__(self, path: str) -> None:
        self._code = self.source_to_code(Path(path).read_bytes(), path)

    def get_source(self, fullname: str) -> None:
        return None

    def get_code(self, fullname: str) -> CodeType:
        return self._code


def _function(text: _Text, name: str) -> Any:
    module = sys.modules["program"] = ModuleType("program")
    text.exec_module(module)
    return getattr(module, name)


def text_of(block: Any) -> bytes:
    """The rows as JSON; nothing, which fails inside, for rows that JSON does not have."""
    try:
        return json.dumps(block).encode()
    except (TypeError, ValueError, RecursionError):
        return b""  # not an error here: a block that needs no process would be seen in process numbers


def _plain(result: Any) -> Any:
    """Numbers of NumPy and sets, as JSON has them."""
    if isinstance(result, set | frozenset | tuple):
        return list(result)
    return result.item() if hasattr(result, "item") else result
