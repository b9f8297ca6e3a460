"""Confined processes for functions that users hand in: what they read, write and take is bounded."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.sandbox.functions import Program as Program
    from dalenius.sandbox.functions import ShippedFunction as ShippedFunction
    from dalenius.sandbox.sandbox import Sandbox as Sandbox

_HOMES = {
    "Program": "functions",
    "Sandbox": "sandbox",
    "ShippedFunction": "functions",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
