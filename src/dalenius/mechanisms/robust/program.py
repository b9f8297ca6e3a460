"""A function in a file, run in a fresh interpreter that is given one block and knows nothing else."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.robust.interpreters import start_interpreter

MODULES = frozenset(
    (
        *("abc", "array", "bisect", "calendar", "cmath", "collections", "collections.abc", "copy", "dataclasses"),
        *("datetime", "decimal", "enum", "fractions", "functools", "heapq", "itertools", "json", "math", "numbers"),
        *("operator", "random", "re", "statistics", "string", "struct", "textwrap", "time", "typing", "unicodedata"),
        *("numpy", "numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial", "numpy.random"),
        *("scipy", "scipy.cluster.hierarchy", "scipy.cluster.vq", "scipy.fft", "scipy.integrate", "scipy.interpolate"),
        *("scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.spatial"),
        *("scipy.special", "scipy.stats"),
    )
)
"""What a program may import: modules that compute. To be imported, they read no files but their own code and tables,
open no connections and start no threads, and they are what this library itself stands on."""


@dataclass(frozen=True, slots=True)
class Program:
    """The function `name` of the Python file `path`, for code that nobody has read.

    In a `Sandbox`, every block of it runs in an interpreter that is started anew, without this process's memory,
    files, arguments or environment. It is given the rows of its block as JSON (numbers, texts, lists and None; tuples
    become lists) and gives its result as JSON. Starting takes some tenths of a second of the block's time slot, and
    rows count towards its memory.

    Guarantee: no line of the file is compiled or run, and no row is read, before the interpreter is confined.
    So the file can import only what is there by then: `modules` names all modules that it imports. Their code runs
    before, unconfined, once for each block, so they are among `MODULES`. The file is in UTF-8.
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
        if others := [module for module in named if not isinstance(module, str) or module not in MODULES]:
            raise InvalidParameter("modules", others[0], allowed=f"among {', '.join(sorted(MODULES))}")
        object.__setattr__(self, "modules", named)

    @property
    def needs(self) -> str:
        """What it takes to run."""
        return f"a file that runs without rows and then has {self.name}, with all that it imports among its modules"

    def start(self, text: bytes, writing: int, *, seconds: int, megabytes: int) -> int:
        """The process of the interpreter at work on rows as `text` has them; its result comes from the other end of
        `writing`."""
        told = ["program", f"{self.path}:{self.name}", str(seconds), str(megabytes), *self.modules]
        return start_interpreter(told, text, writing)

    def rehearse(self, writing: int, *, seconds: int, megabytes: int) -> int:
        """The same without any row: the function is looked up, but not called, and READY comes out."""
        return self.start(b"", writing, seconds=seconds, megabytes=megabytes)


def text_of(block: Any) -> bytes:
    """The rows as JSON; what fails inside, for rows that JSON does not have."""
    try:
        return json.dumps(block).encode()
    except (TypeError, ValueError, RecursionError):
        return b"-"  # not an error here: a block that needs no process would be seen in process numbers
