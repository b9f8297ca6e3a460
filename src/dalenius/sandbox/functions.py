"""A plain function, written out for a fresh interpreter: its code, and what it uses of the place where it was made.

A function in a file, run in a fresh interpreter that is given one block and knows nothing else.
"""

from __future__ import annotations

import dis
import json
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.sandbox.interpreters import CODE, start_interpreter

_LOADED_BY_NAME = ("LOAD_GLOBAL", "LOAD_NAME")
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


@dataclass(frozen=True, slots=True)
class ShippedFunction:
    """A function of this process for a `Sandbox`, each block of which runs in an interpreter that is started anew.

    It takes along its code, its defaults, the values that it encloses and the globals that it names: numbers, texts,
    truth values, None, tuples, lists, sets and dictionaries of what can be carried, NumPy arrays, functions like it,
    and whatever an installed module has by name. So it is known by what it is: equal functions are written alike.

    Guarantee: nothing else of this process reaches the interpreter, neither its memory nor how much of that is free,
    and no line of the function runs before the interpreter is confined. Modules are imported before, and trusted.
    Textbook: S11.2.
    """

    written: bytes
    modules: tuple[str, ...]
    name: str = field(compare=False)

    @classmethod
    def of(cls, function: Callable[..., Any]) -> ShippedFunction:
        """The function written out; refused if it uses what cannot be carried."""
        writing, name = _Writing(), getattr(function, "__name__", type(function).__name__)
        try:
            first = writing.value(function, name)
            written = json.dumps([first, [writing.parts[place] for place in range(len(writing.places))]])
        except RecursionError:
            raise InvalidParameter("function", "one that uses what holds itself", allowed="plain values") from None
        return cls(written.encode(), tuple(writing.modules), name)

    @property
    def digest(self) -> str:
        """What the function is known by."""
        return sha256(repr(self.modules).encode() + self.written).hexdigest()

    @property
    def needs(self) -> str:
        """What it takes to run."""
        return f"modules that a fresh interpreter can import and that start no threads: {', '.join(self.modules)}"

    def start(self, text: bytes, writing: int, *, seconds: int, megabytes: int) -> int:
        """The process at work on rows as `text` has them; its result comes from the other end of `writing`."""
        told = ["function", str(len(self.written)), str(seconds), str(megabytes), *self.modules]
        return start_interpreter(told, self.written + text, writing)

    def rehearse(self, writing: int, *, seconds: int, megabytes: int) -> int:
        """The same without any row: the function is put together, but not called."""
        return self.start(b"", writing, seconds=seconds, megabytes=megabytes)


class _Writing:
    """Writes values as JSON has them, and each function once, in the order in which they are met."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self.places: dict[int, int] = {}
        self.parts: dict[int, Any] = {}

    def value(self, value: Any, what: str) -> Any:
        """What stands for a value: itself, or a list that begins with the name of its kind."""
        kind = type(value)
        if kind in (int, float, bool, str, type(None)):
            return value
        if kind in (tuple, list):
            return [kind.__name__, *(self.value(each, what) for each in value)]
        if kind in (set, frozenset):
            return [kind.__name__, *sorted((self.value(each, what) for each in value), key=repr)]
        if kind is dict:
            return ["dict", *([self.value(key, what), self.value(each, what)] for key, each in value.items())]
        if kind in (bytes, complex):
            return [kind.__name__, value.hex() if kind is bytes else str(value)]
        if value is ...:
            return ["ellipsis"]
        return self._object(value, what)

    def _object(self, value: Any, what: str) -> list[Any]:
        if isinstance(value, CodeType):
            return ["code", *(self.value(getattr(value, name), what) for name in CODE)]
        if isinstance(value, ModuleType) and _is_installed(value):
            self.modules[value.__name__] = None
            return ["module", value.__name__]
        if (named := _installed_name(value)) is not None:
            self.modules[named[0]] = None
            return ["attribute", *named]
        if isinstance(value, FunctionType):
            return ["function", self._function(value)]
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject and value.dtype.names is None:
            self.modules["numpy"] = None
            return ["array", value.dtype.str, list(value.shape), value.tobytes().hex()]
        raise InvalidParameter(
            "function",
            f"one that uses {what}, a {type(value).__name__}",
            allowed="one that uses plain values, arrays, functions like it and installed modules; or a Program",
        )

    def _function(self, function: FunctionType) -> int:
        if id(function) in self.places:
            return self.places[id(function)]
        place = self.places[id(function)] = len(self.places)
        code, space = function.__code__, function.__globals__
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        self.parts[place] = [
            self.value(code, function.__name__),
            self.value(function.__defaults__, "a default"),
            self.value(function.__kwdefaults__, "a default"),
            [[self.value(cell.cell_contents, name)] if _is_filled(cell) else [] for name, cell in cells],
            {name: self.value(space[name], name) for name in sorted(set(_globals_of(code)) & space.keys())},
        ]
        self._submodules(code)
        return place

    def _submodules(self, code: CodeType) -> None:
        """Parts of modules that the code may mean, such as scipy.stats: importing scipy alone may not bring them."""
        names = sorted({name for each in _inner(code) for name in each.co_names})
        waiting = list(self.modules)
        for module in waiting:
            inner = [f"{module}.{name}" for name in names if f"{module}.{name}" in sys.modules]
            self.modules.update(dict.fromkeys(inner))
            waiting += inner


def _installed_name(value: Any) -> tuple[str, str] | None:
    """The module and the name by which a class or function of an installed module is found, if it is."""
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str) or not _is_installed(sys.modules.get(module)):
        return None
    found: Any = sys.modules[module]
    for part in path.split("."):
        found = getattr(found, part, None)
    return (module, path) if found is value else None


def _is_installed(module: ModuleType | None) -> bool:
    """Whether a fresh interpreter that sees installed modules alone has it."""
    if module is None or module.__name__ == "__main__":
        return False
    path = getattr(module, "__file__", None)
    return path is None or any(Path(place) in Path(path).parents for place in _INSTALLED)


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _inner(part)


def _globals_of(code: CodeType) -> Iterator[str]:
    for each in _inner(code):
        yield from (step.argval for step in dis.get_instructions(each) if step.opname in _LOADED_BY_NAME)


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
open no connections and start no threads, and they are what this library and its checks stand on."""


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
