"""All cases in one list; a mechanism without one, and without an excuse, is an error."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module

from dalenius import mechanisms
from dalenius.verify.cases.excused import EXCUSED
from dalenius.verify.cases.grids import grid_cases
from dalenius.verify.cases.keys import key_cases
from dalenius.verify.cases.numeric import numeric_cases
from dalenius.verify.cases.robust import robust_cases
from dalenius.verify.cases.selection import selection_cases
from dalenius.verify.cases.sparse import sparse_cases

CASES = (*numeric_cases(), *selection_cases(), *sparse_cases(), *key_cases(), *grid_cases(), *robust_cases())


_ROOMS = ("dalenius.mechanisms", "dalenius.release", "dalenius.learn")


def public_mechanisms() -> frozenset[type]:
    """Every mechanism that the library offers or uses: what states a loss, and releases or starts something."""
    offered = {getattr(mechanisms, name) for name in dir(mechanisms)}
    stating = {kind for kind in offered if isinstance(kind, type) and hasattr(kind, "loss")}
    return frozenset(stating - {mechanisms.Mechanism}) | frozenset(_releasing())


def _releasing() -> Iterator[type]:
    """Every class with a loss and a release in the rooms of mechanisms, releases and learning, listed or not."""
    for room in map(import_module, _ROOMS):
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for name, kind in vars(import_module(found.name)).items():
                here = isinstance(kind, type) and kind.__module__ == found.name and not name.startswith("_")
                if here and not getattr(kind, "_is_protocol", False) and {"loss", "release"} <= {*dir(kind)}:
                    yield kind


def left_out() -> frozenset[type]:
    """The mechanisms of which there is no case, and no excuse."""
    listed = {type(case.at(Fraction(1))) for case in CASES}
    return frozenset(kind for kind in public_mechanisms() - listed if kind.__name__ not in EXCUSED)
