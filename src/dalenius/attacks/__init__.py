"""Attacks: what a curious analyst would try, as code to test defences with."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.attacks.floating_point import SupportFinding as SupportFinding
    from dalenius.attacks.floating_point import porous_noise_attack as porous_noise_attack
    from dalenius.attacks.floating_point import precision_attack as precision_attack

_HOMES = {
    "SupportFinding": "floating_point",
    "porous_noise_attack": "floating_point",
    "precision_attack": "floating_point",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
