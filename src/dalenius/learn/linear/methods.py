"""The ways to learn weights, each at the expense of a whole purse: by objective, output or gradient perturbation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.learn.linear import batches, objective, output
from dalenius.learn.linear.bends import Bend
from dalenius.learn.linear.conditioning import Shape
from dalenius.learn.linear.gradient import Descent, Weights, descended
from dalenius.learn.models import Tick
from dalenius.learn.rows import Rows
from dalenius.learn.slopes import Slope
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.purse import Purse
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.randomness.entropy import Entropy

METHODS = ("objective", "output", "gradient")
_MANY = 1000
_COUNTING = Fraction(1, 100)  # the share of a purse that finds out how many rows there are
_SPREADING = Fraction(1, 20)  # and the share that finds out how their features spread


def method_of(name: str, *, pure: bool, width: int) -> str:
    """The method that a parameter names. `auto` goes by the budget and the number of features alone: a tilted objective
    is paid for once, but looking for its minimum takes a time that grows with the cube of the features; where they are
    many and the budget is not pure, noisy gradients do, whose sum the Rényi curve makes cheap."""
    if name == "auto":
        return "gradient" if width > _MANY and not pure else "objective"
    if name not in METHODS:
        raise InvalidParameter("method", name, allowed="'auto', 'objective', 'output' or 'gradient'")
    return name


def require(name: str, batch: float | None, *, pure: bool, width: int, most: int, neighbours: Neighbours) -> None:
    """Refuse a method, and batches, that no rows can be learnt by; by public facts, before anything is charged."""
    method = method_of(name, pure=pure, width=width)
    if batch is None:
        return
    if method != "gradient":
        raise InvalidParameter("batch", batch, allowed="None, or a share of the rows with method='gradient'")
    batches.rate_of(batch)
    if pure or most > 1 or not isinstance(neighbours, AddRemove):
        allowed = "None, unless there is a delta and neighbours differ by one row, added or removed"
        raise InvalidParameter("batch", batch, allowed=allowed)


def learnt_weights(
    method: str,
    rows: Rows,
    labels: int,
    slope: Slope,
    purse: Purse,
    entropy: Entropy,
    tick: Tick | None = None,
    batch: float | None = None,
) -> Weights:
    """Weights of a score for each of the labels 1, 2, ... against all others; for more than one score, the labels
    0, 1, ... against all others."""
    if batch is not None:
        return batches.descended(rows, labels, slope, Descent(), batch, purse, entropy, tick)
    if method == "gradient":
        return descended(rows, labels, slope, Descent(), purse, entropy, tick)
    by_label = _by_objective if method == "objective" else _by_output
    shape = Shape.of(rows, purse, counting=_COUNTING, spreading=_SPREADING, entropy=entropy)
    return shape.original(by_label(shape, shape.centred(rows), _places(labels), Bend(slope), purse, entropy, tick))


def _places(labels: int) -> range:
    return range(1, 2) if labels == 1 else range(labels)


def _by_objective(
    shape: Shape, rows: Rows, places: range, bend: Bend, purse: Purse, entropy: Entropy, tick: Tick | None
) -> Weights:
    """Every label pays the same part of the purse."""
    order = purse.allowance.left.order
    price = purse.equal(len(places)) * (order or 1)
    found = []
    for place in places:
        mechanism = objective.calibrated(rows, bend, place, price=price, order=order, count=shape.count)
        found.append(measure(mechanism, objective.counted(rows), purse.allowance, entropy))
        if tick:
            tick(100 * len(found) / len(places))
    return objective.weights_of(np.stack(found, axis=1))


def _by_output(
    shape: Shape, rows: Rows, places: range, bend: Bend, purse: Purse, entropy: Entropy, tick: Tick | None
) -> Weights:
    """The ridge fits the noisy count of the rows; every label pays the same part of the purse."""
    part = purse.equal(len(places))
    ridge = output.fitting_ridge(rows, bend, int(shape.count), price=part, pure=purse.pure)
    found = []
    for place in places:
        exact = output.minimum(rows, bend, place, ridge)
        noise = output.noise(exact.sensitivity, part, pure=purse.pure, neighbours=rows.neighbours)
        found.append(measure(noise, exact, purse.allowance, entropy))
        if tick:
            tick(100 * len(found) / len(places))
    return objective.weights_of(np.stack(found, axis=1))
