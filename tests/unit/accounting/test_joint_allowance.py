"""An allowance of several populations: every draw is taken from each of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dalenius.accounting.allowance import Allowance, JointAllowance
from dalenius.accounting.amounts import Charge
from dalenius.errors import BudgetExceeded, InvalidParameter, NeighbourMismatch
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.randomness.entropy import system_entropy

UNIT = 10**15


def parts(first: int, second: int) -> tuple[Allowance, Allowance]:
    pure = Allowance(Charge(divergence=first, order=None), neighbours=AddRemove())
    renyi = Allowance(Charge(divergence=second, order=Fraction(2)), neighbours=AddRemove())
    return pure, renyi


def test_a_draw_is_taken_from_every_part_in_its_own_order() -> None:
    pure, renyi = parts(UNIT, UNIT)
    JointAllowance(pure, renyi).draw(PureDP(Fraction(1, 2)))
    assert pure.left.divergence == UNIT // 2
    assert UNIT // 2 < renyi.left.divergence < UNIT


@pytest.mark.parametrize(("first", "second"), [(UNIT, 1), (1, UNIT)])
def test_a_draw_past_any_part_is_refused_and_draws_from_none(first: int, second: int) -> None:
    pure, renyi = parts(first, second)
    with pytest.raises(BudgetExceeded):
        JointAllowance(pure, renyi).draw(PureDP(Fraction(1, 2)))
    assert (pure.left.divergence, renyi.left.divergence) == (first, second)


def test_measurements_draw_on_all_parts_and_what_is_left_is_lost() -> None:
    pure, renyi = parts(UNIT, UNIT)
    with JointAllowance(pure, renyi) as joint:
        exact = Exact(7, sensitivity=1, neighbours=AddRemove())
        measure(DiscreteLaplace(Fraction(2), AddRemove()), exact, joint, system_entropy())
        assert pure.left.divergence < UNIT
        assert renyi.left.divergence < UNIT
    assert not pure.left
    assert not renyi.left


def test_parts_must_agree_on_their_neighbours() -> None:
    other = Allowance(Charge(divergence=1, order=None), neighbours=Replace())
    with pytest.raises(NeighbourMismatch):
        JointAllowance(parts(1, 1)[0], other)
    with pytest.raises(InvalidParameter):
        JointAllowance()
