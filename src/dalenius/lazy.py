"""Names that load on first use (PEP 562), so that `import dalenius` stays as quick as `import numpy`.

Optional packages, loaded when first needed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dalenius.errors import MissingExtra


def names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__`: each name of `homes` is taken from its module when first asked for.

    A home that has no such name is meant itself: `{"errors": "errors"}` is the module. Submodules load as well.
    """

    def load(name: str) -> object:
        home = f"{package}.{homes.get(name, name)}"
        if name not in homes and (name.startswith("_") or find_spec(home) is None):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home)
        value = getattr(module, name, module) if name in homes else module
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(homes)


def optional(module: str, *, function: str, extra: str) -> Any:
    """A module of an optional package; `MissingExtra` says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(function, package=module.split(".")[0], extra=extra) from None
