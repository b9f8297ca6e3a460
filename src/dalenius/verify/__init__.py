"""Verification: what can be computed, and not only sampled, about a mechanism."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.verify.checked import Checked as Checked
    from dalenius.verify.checked import finite as finite
    from dalenius.verify.curves import Piece as Piece

__getattr__, __dir__ = names(__name__, {"Checked": "checked", "Piece": "curves", "finite": "checked"})
