"""The same measurements give the same marginals as the field's library, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.session.answers.contents import NoisyMarginal
from dalenius.synth.inference.beliefs import Array
from dalenius.synth.inference.fitting import fit
from dalenius.tabular.domains import Columns
from small_models import GRID, LOOPS, joint_of, measured_of

TOTAL = 500.0


def by_mbi(measured: list[NoisyMarginal], steps: int) -> dict[Columns, Array]:
    jax = pytest.importorskip("jax")
    mbi = pytest.importorskip("mbi")
    jax.config.update("jax_enable_x64", True)
    parts = [mbi.LinearMeasurement(part.counts.ravel(), part.columns, part.deviation) for part in measured]
    domain = mbi.Domain(GRID.columns, GRID.shape())
    model = mbi.estimation.MirrorDescent().estimate(domain, parts, known_total=TOTAL, iters=steps)
    return {part.columns: np.asarray(model.project(part.columns).datavector(flatten=False)) for part in measured}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("groups", LOOPS[:4])
def test_marginals_agree_with_mbi(groups: list[Columns]) -> None:
    """Within a tenth of the least deviation, after a thousand of its steps; counts that are twice as large are seen."""
    random = np.random.default_rng(11)
    measured = measured_of(joint_of(GRID, {GRID.columns: random.normal(0, 1, GRID.shape())}), groups, 11)
    theirs = by_mbi(measured, 1_000)
    ours = fit(GRID, measured, total=TOTAL, gap=0.001, steps=20_000)
    within = 0.1 * min(part.deviation for part in measured)
    for group, counts in theirs.items():
        assert np.abs(counts - ours.counts(group)).max() < within
        assert np.abs(2 * counts - ours.counts(group)).max() > within
