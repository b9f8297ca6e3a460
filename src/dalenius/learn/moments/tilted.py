"""Least squares by objective perturbation: the minimum of Huber's loss with a ridge and a random tilt."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.linear import objective
from dalenius.learn.linear.bends import Huber
from dalenius.learn.linear.conditioning import Shape
from dalenius.learn.rows import ONE, Entries, Rows
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.purse import Purse
from dalenius.randomness.entropy import Entropy

Floats = NDArray[np.float64]
LONGEST = 4.0
"""How long rows may be, squared, counted in typical ones: few rows are longer, so few are shortened."""
_COUNTING = Fraction(1, 100)  # the share of a purse that finds out how many rows there are
_SPREADING = Fraction(1, 20)  # and the share that finds out how their features spread


def tilted_weights(rows: Rows, penalties: Floats, purse: Purse, entropy: Entropy) -> Floats:
    """Weights of a linear score, that of 1 last, in half ranges of the target; penalties are wanted for features.

    Guarantee: the theorem of `linear.objective` for slopes of both signs. It needs losses of a linear score that are
    convex, with a slope and a second derivative that are bounded whatever the weights are. The squared loss has no
    bounded slope; Huber's has: 1 at most, half of the target's range, and a second derivative of 1 at most. Where the
    best score leaves no row more than that unexplained, both losses have the same minimum.
    Reference: Kifer, Smith & Thakurta 2012, section 4; Huber 1964.
    Textbook: S14.7.
    """
    whole = with_constant(rows)
    shape = Shape.of(whole, purse, counting=_COUNTING, spreading=_SPREADING, entropy=entropy)
    centred, order = shape.centred(whole, longest=LONGEST), purse.allowance.left.order
    mechanism = objective.calibrated(
        centred,
        Huber(),
        None,
        price=purse.equal(1) * (order or 1),
        order=order,
        count=shape.count,
        penalties=(np.append(penalties, 0.0) * shape.scales**2).tolist(),
    )
    found = measure(mechanism, objective.counted(centred), purse.allowance, entropy)
    return shape.original(objective.weights_of(found[:, None]))[:, 0]


def with_constant(rows: Rows) -> Rows:
    """The rows with a last feature that is 1 everywhere."""
    entries = rows.entries.map(_with_constant, sensitivity=rows.entries.sensitivity)
    return Rows(entries, rows.width + 1, rows.norm_squared + ONE**2, rows.most)


def _with_constant(entries: Entries) -> Entries:
    ones = np.full((len(entries), 1), ONE, dtype=np.int16)
    return Entries(np.hstack([entries.features, ones]), entries.target, entries.counts)
