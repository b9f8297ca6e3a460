"""What a fresh interpreter does: it puts a function together, confines itself, and only then reads rows."""

from __future__ import annotations

import builtins
import importlib
import json
import os
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from importlib.abc import InspectLoader
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from dalenius.sandbox.confinement import confine, is_confined, isolate
from dalenius.sandbox.interpreters import CODE, READY, UNCONFINED

_CODE = (lambda: None).__code__


def work() -> None:
    """Say READY, or what the function gives on the rows, or UNCONFINED; it never returns."""
    try:
        kind, what, seconds, megabytes, *modules = sys.argv[1:]
        isolate(1, rows=0)
        source = _ProgramFile(what) if kind == "program" else _Carried(_read(int(what)))
        for module in modules:
            importlib.import_module(module)
        if not _confines(int(seconds), int(megabytes)):
            os.write(3, UNCONFINED)
            return
        function = source.function()
        text = sys.stdin.buffer.read()
        os.write(3, json.dumps(_plain(function(source.rows(json.loads(text)))) if text else READY).encode())
    except BaseException:  # noqa: S110 - the default stands for it, whatever it is
        pass
    finally:
        os._exit(0)


def _confines(seconds: int, megabytes: int) -> bool:
    """Whether nothing but computing is left to this process from here on; silent where a module has started a thread,
    which is no fault of the system."""
    try:
        confine(seconds=seconds, megabytes=megabytes)
    except ChildProcessError:
        raise
    except OSError:
        return False
    return is_confined()


def _read(size: int) -> bytes:
    """The first bytes of the input, and not one more: rows come after them."""
    found = b""
    while len(found) < size and (piece := os.read(0, size - len(found))):
        found += piece
    return found


class _ProgramFile(InspectLoader):
    """A file that is read at once, but compiled and run later; files of compiled code beside it are not looked at."""

    def __init__(self, told: str) -> None:
        self._path, self._name = told.rsplit(":", 1)
        self._text = Path(self._path).read_bytes()

    def get_source(self, fullname: str) -> None:
        return None

    def get_code(self, fullname: str) -> CodeType:
        warnings.simplefilter("ignore")  # to show one, files would be opened
        return self.source_to_code(self._text, self._path)

    def function(self) -> Any:
        module = sys.modules["program"] = ModuleType("program")
        self.exec_module(module)
        return getattr(module, self._name)

    def rows(self, rows: Any) -> Any:
        return rows


class _Carried:
    """A function that another process wrote out; see `carried`."""

    def __init__(self, written: bytes) -> None:
        self._first, self._parts = json.loads(written)
        self._made: dict[int, FunctionType] = {}

    def function(self) -> Any:
        return self._value(self._first)

    def rows(self, rows: Any) -> Any:
        """Rows as a function of the same process would have them: a list of tuples."""
        return [tuple(row) if isinstance(row, list) else row for row in rows]

    def _value(self, told: Any) -> Any:
        if not isinstance(told, list):
            return told
        kind, *parts = told
        made = getattr(self, f"_{kind}", None)
        if made:
            return made(*parts)
        values = [self._value(part) for part in parts]
        return {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind](values)

    def _dict(self, *pairs: Any) -> dict[Any, Any]:
        return {self._value(key): self._value(each) for key, each in pairs}

    def _bytes(self, text: str) -> bytes:
        return bytes.fromhex(text)

    def _complex(self, text: str) -> complex:
        return complex(text)

    def _ellipsis(self) -> Any:
        return ...

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(name)

    def _attribute(self, module: str, path: str) -> Any:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return found

    def _array(self, kind: str, shape: list[int], content: str) -> Any:
        numpy = importlib.import_module("numpy")
        return numpy.frombuffer(bytes.fromhex(content), kind).reshape(shape).copy()[()]

    def _code(self, *parts: Any) -> CodeType:
        return _CODE.replace(**dict(zip(CODE, map(self._value, parts), strict=True)))

    def _function(self, place: int) -> FunctionType:
        if place not in self._made:
            code, defaults, named, enclosed, space = self._parts[place]
            cells = tuple(CellType() for _ in enclosed)
            made = self._made[place] = FunctionType(self._value(code), {"__builtins__": builtins}, closure=cells)
            for cell, told in zip(cells, enclosed, strict=True):
                if told:
                    cell.cell_contents = self._value(told[0])
            made.__globals__.update({name: self._value(told) for name, told in space.items()})
            made.__defaults__, made.__kwdefaults__ = self._value(defaults), self._value(named)
        return self._made[place]


def _plain(result: Any) -> Any:
    """Numbers of any kind and sets, as JSON has them."""
    if isinstance(result, set | frozenset | tuple):
        return list(result)
    found = result.item() if hasattr(result, "item") else result
    return float(found) if isinstance(found, Decimal | Fraction) else found
