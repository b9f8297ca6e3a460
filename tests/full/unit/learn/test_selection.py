"""The dear tests of `unit/learn/test_selection.py`."""

from __future__ import annotations

from pathlib import Path

from dalenius.learn import (
    learning_curve,
)
from tests.unit.learn.test_selection import X, Y, model


def test_a_curve_has_a_mean_for_every_epsilon(tmp_path: Path) -> None:
    curve = learning_curve(model(), X, Y, epsilons=("0.1", "50"), runs=2)
    assert curve.means[1] > curve.means[0] - 0.1
    assert str(curve).count("\n") == 2
    curve.plot(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 0
