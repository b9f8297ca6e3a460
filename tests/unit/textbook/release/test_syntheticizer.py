"""The syntheticizer: synthetic rows within three tolerances, and a clear word where noise was too large."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.errors import InvalidParameter
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Marginals, MatrixWorkload
from dalenius.textbook.release import syntheticizer
from dalenius.textbook.release.syntheticizer import Synthetic, release_synthetic, syntheticized

PEOPLE = 500
GRID = CellDomain({"a": 2, "b": 3, "c": 2})
WORKLOAD = MatrixWorkload(GRID, np.random.default_rng(9).integers(0, 11, size=(30, 12)), denominator=10)
RNG = np.random.default_rng(1)


def database() -> np.ndarray:
    return RNG.multinomial(PEOPLE, RNG.dirichlet(np.full(12, 0.5)))


def made(noise: int) -> tuple[np.ndarray, Synthetic]:
    truth = WORKLOAD.answers(database())
    noisy = truth + RNG.integers(-noise, noise + 1, size=30)
    return truth, syntheticized(WORKLOAD, np.arange(30), noisy, people=PEOPLE, tolerance=40)


def farthest() -> float:
    found = 0.0
    for _ in range(20):
        truth, synthetic = made(noise=40)
        assert synthetic.fits
        found = max(found, float(np.abs(WORKLOAD.answers(synthetic.histogram) - truth).max()))
    return found


@pytest.mark.textbook("S10.5")
def test_answers_are_within_three_tolerances_whatever_the_noise_within_one() -> None:
    assert 20 < farthest() <= 3 * 40


@pytest.mark.textbook("S10.5")
def test_the_check_above_notices_a_program_without_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    uniform = np.full(12, PEOPLE / 12)
    monkeypatch.setattr(syntheticizer, "_nearest", lambda matrix, answers, people: (uniform, 0.0))
    assert farthest() > 3 * 40


@pytest.mark.textbook("S10.5")
def test_rows_are_whole_and_no_weight_is_lost() -> None:
    _, synthetic = made(noise=40)
    assert synthetic.rows.dtype == np.int64
    assert synthetic.rows.min() >= 0
    assert synthetic.size == int(np.ceil(12 * PEOPLE * 10 / 40))
    assert synthetic.histogram.sum() == pytest.approx(PEOPLE)


@pytest.mark.textbook("S10.5")
def test_rounding_moves_an_answer_by_at_most_half_a_tolerance_and_rounding_down_by_up_to_one() -> None:
    shares = np.full(12, 1 / 12)
    for units in (11, 100, 1001):
        rows = syntheticizer._whole_rows(shares, units)
        assert rows.sum() == units
        assert np.clip(rows / units - shares, 0, None).sum() <= 12 / 2 / units
    assert np.floor(shares * 11).sum() == 0  # rounded down alone, all weight is lost


@pytest.mark.textbook("S10.5")
def test_noise_beyond_the_tolerance_is_said_plainly() -> None:
    same = MatrixWorkload(GRID, np.full((2, 12), 10), denominator=10)
    apart = syntheticized(same, np.arange(2), np.array([5000, 5200]), people=PEOPLE, tolerance=40)
    assert not apart.fits
    assert "no database is within 40 parts" in str(apart)
    assert apart.worst == pytest.approx(200)
    near = syntheticized(same, np.arange(2), np.array([5000, 5030]), people=PEOPLE, tolerance=40)
    assert near.fits
    assert "synthetic rows, within" in str(near)


def budget_part(relation: Neighbours, order: Fraction | None) -> Allowance:
    return Allowance(Charge(divergence=10**15, order=order), neighbours=relation)


@pytest.mark.textbook("S9.18", "S10.5")
@pytest.mark.parametrize(("price", "order"), [(PureDP(Fraction(1)), None), (ZCDP(Fraction(1, 16)), Fraction(16))])
def test_small_tables_get_synthetic_rows_within_the_stated_error(price: PureDP | ZCDP, order: Fraction | None) -> None:
    """All answers are within 3 tolerances but for beta = 10^-6; the allowance is used up."""
    workload, truth = Marginals.all(GRID, 2), database()
    exact = Exact(truth, sensitivity=Sensitivity(l1=2), neighbours=Replace())
    for run in range(3):
        paid = budget_part(Replace(), order)
        found = release_synthetic(
            exact, workload, paid, SeededEntropy(run), people=PEOPLE, price=price, beta=Fraction(1, 10**6)
        )
        assert paid.left.divergence < 10**9
        assert np.abs(found.answers(workload) - workload.answers(truth)).max() <= 3 * found.tolerance
        assert found.fits


@pytest.mark.textbook("S9.18")
def test_a_synthetic_table_needs_a_public_number_of_people_and_stated_rows() -> None:
    workload = Marginals.all(GRID, 2)
    with pytest.raises(InvalidParameter, match="Replace"):
        release_synthetic(
            Exact(database(), sensitivity=Sensitivity(l1=1), neighbours=AddRemove()),
            workload, budget_part(AddRemove(), None), SeededEntropy(1), people=PEOPLE, price=PureDP(Fraction(1)),
        )  # fmt: skip
    with pytest.raises(InvalidParameter, match="rows"):
        release_synthetic(
            Exact(database(), sensitivity=Sensitivity(l1=6), neighbours=Replace()),
            workload, budget_part(Replace(), None), SeededEntropy(1), people=PEOPLE, price=PureDP(Fraction(1)),
        )  # fmt: skip


@pytest.mark.textbook("S10.5")
def test_a_grid_that_is_too_large_is_refused_with_what_would_work() -> None:
    large = CellDomain({"x": 10**6})
    workload = Marginals.all(large, 1)
    with pytest.raises(InvalidParameter, match="marginals"):
        syntheticized(workload, np.arange(3), np.zeros(3, dtype=np.int64), people=5, tolerance=1)
