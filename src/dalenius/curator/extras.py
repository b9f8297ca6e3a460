"""Optional packages, loaded when first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dalenius.errors import MissingExtra


def optional(module: str, *, function: str, extra: str) -> Any:
    """A module of an optional package; `MissingExtra` says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(function, package=module.split(".")[0], extra=extra) from None
