"""Whether a minimum is found must not depend on the rows: a fit that fails would tell of them for nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from costs import cases
from dalenius.learn.linear import minimum
from dalenius.learn.linear.losses_piecewise import Bend, Curve, Huber
from dalenius.learn.linear.minimum import TILT_BITS, Search, Tilted
from dalenius.learn.losses_tabulated import Slope
from dalenius.learn.rows import ONE, PIECE, Entries

LEAST = Fraction(1, 2)
CURVES: dict[str, Curve] = {
    "residuals": Huber(),
    "hinge": Bend(Slope("hinge", 1.0, 0.5)),
    "logistic": Bend(Slope("logistic", 0.1, 0.5)),
}


def heavy(draws: np.random.Generator, curve: Curve) -> Entries:
    """A few kinds of rows, each very often, on the corners of what is declared: where searches overshoot."""
    kinds, width = int(draws.integers(1, 30)), int(draws.integers(1, 8))
    corners = [np.array([0, ONE]), np.array([-ONE, 0, 1, ONE]), np.arange(-ONE, ONE + 1)][draws.integers(3)]
    features = draws.choice(corners, (kinds, width)).astype(np.int16)
    targets = draws.choice([-ONE, ONE] if isinstance(curve, Huber) else [0, 1], kinds)
    counts = np.minimum(PIECE, draws.integers(1, 10 ** int(draws.integers(2, 6)), kinds))
    often = int(draws.integers(1, 30))
    return Entries(*(np.repeat(each, often, axis=0) for each in (features, targets.astype(np.int64), counts)))


def searched(entries: Entries, curve: Curve, tilt: Any = 0) -> None:
    """Look for the minimum; `ArithmeticError` if none is found."""
    pulled = np.full(entries.features.shape[1], tilt, dtype=np.float64) * (1 << TILT_BITS)
    label = None if isinstance(curve, Huber) else 1
    ridge = max(LEAST, Fraction(int(entries.counts.sum()), 1 << 21))  # no less for so many rows: see `certifiable`
    on_grid = Fraction(int(ridge * 4096) + 1, 4096)
    Tilted(curve, label, on_grid, pulled.astype(np.int64)).minimum(entries, norm_squared=8 * ONE**2)


@cases("name", CURVES, fast=1)
def test_the_minimum_of_heavy_tables_is_found_in_a_part_of_the_steps(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minimum, "_TRIES", 60)  # of 200
    draws = np.random.default_rng(7)
    for _ in range(150):
        searched(heavy(draws, CURVES[name]), CURVES[name], draws.normal(0, 10 ** draws.uniform(-2, 3)))


def crowd(*, newcomer: bool) -> Entries:
    """Three kinds of rows with targets at the ends of their bounds; and one row more that sits in the middle."""
    kinds = [((0, 0, ONE, 0), -ONE, 26), ((0, ONE, 0, 0), -ONE, 5), ((ONE, 0, ONE, 0), ONE, 29)]
    rows = [(row, target, PIECE) for row, target, often in kinds for _ in range(often)]
    rows += [((0, 0, 0, 0), 0, 1)] * newcomer
    features, targets, counts = zip(*rows, strict=True)
    return Entries(np.array(features, dtype=np.int16), np.array(targets), np.array(counts))


@pytest.mark.parametrize("newcomer", [False, True])
def test_a_crowd_at_the_ends_has_a_minimum_with_and_without_one_row_more(newcomer: bool) -> None:
    for tilt in (0, 0.3, -7, 40):
        searched(crowd(newcomer=newcomer), Huber(), tilt)


@pytest.mark.parametrize("name", ["residuals", "hinge"])
def test_the_tests_above_notice_steps_that_overshoot(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: whole steps of Newton, wherever they lead."""
    monkeypatch.setattr(Search, "_downhill", lambda self, point, step, most: 0.0)
    with pytest.raises(ArithmeticError):
        test_the_minimum_of_heavy_tables_is_found_in_a_part_of_the_steps(name, monkeypatch)
