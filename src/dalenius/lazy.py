"""Names that load on first use (PEP 562), so that `import dalenius` stays as quick as `import numpy`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__`: each name of `homes` is taken from its module when first asked for.

    A home that has no such name is meant itself: `{"errors": "errors"}` is the module.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        value = getattr(module, name, module)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(homes)
