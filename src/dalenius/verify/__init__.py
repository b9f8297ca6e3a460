"""Verification: what can be computed, and not only sampled, about a mechanism."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.verify.checked import CheckedPairs as CheckedPairs
    from dalenius.verify.checked import Piece as Piece
    from dalenius.verify.checked import finite as finite

_HOMES = {
    "CheckedPairs": "checked",
    "Piece": "checked",
    "finite": "checked",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
