"""The events that may be chosen follow from the samples that choose, whatever the tested ones are."""

from __future__ import annotations

import numpy as np
import pytest

from costs import cases
from dalenius.checks.sampling.events import _orders
from dalenius.checks.sampling.outputs import gathered

SIZE = 400


def events(between: int, seed: int) -> list[frozenset[tuple[int, ...]]]:
    """Every candidate, as far as it consists of outputs that the ranking samples saw; some tested outputs lie between
    those."""
    draws = np.random.default_rng(seed)
    sides = [draws.integers(0, 40, (SIZE, 2)) * 10 + shift for shift in (0, 20)]
    tested = [side + between * draws.integers(0, 2, (SIZE, 2)) for side in sides]
    outputs = gathered(*(np.concatenate(both) for both in zip(sides, tested, strict=True)))
    high, low = outputs.counts(0, SIZE)
    seen = np.flatnonzero(high + low)
    names = {place: tuple(outputs.outcomes[place].tolist()) for place in seen}
    candidates = [order.event(int(end))[0] for order in _orders(outputs, high, low) for end in order.ends]
    return [frozenset(names[place] for place in seen if members[place]) for members in candidates]


@cases("seed", range(3), fast=1)
@pytest.mark.parametrize("between", [1, 3])
def test_no_tested_output_changes_which_events_may_be_chosen(between: int, seed: int) -> None:
    assert events(between, seed) == events(0, seed)
