"""All cases in one list; a public mechanism without one is an error."""

from __future__ import annotations

from fractions import Fraction

from dalenius import mechanisms
from dalenius.verify.cases.grids import grid_cases
from dalenius.verify.cases.keys import key_cases
from dalenius.verify.cases.numeric import numeric_cases
from dalenius.verify.cases.selection import selection_cases
from dalenius.verify.cases.sparse import sparse_cases

CASES = (*numeric_cases(), *selection_cases(), *sparse_cases(), *key_cases(), *grid_cases())


def public_mechanisms() -> frozenset[type]:
    """Every mechanism that the library offers: what states a loss."""
    offered = {getattr(mechanisms, name) for name in dir(mechanisms)}
    stating = {kind for kind in offered if isinstance(kind, type) and hasattr(kind, "loss")}
    return frozenset(stating - {mechanisms.Mechanism})


def left_out() -> frozenset[type]:
    """The public mechanisms of which there is no case."""
    return public_mechanisms() - {type(case.at(Fraction(1))) for case in CASES}
