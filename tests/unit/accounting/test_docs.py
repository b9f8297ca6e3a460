"""The figures that docs/accounting.md prints are the ones that the code gives."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT, price
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.accounting.filters import PrivacyFilter
from dalenius.privacy.losses import ZCDP, LaplaceDP
from dalenius.privacy.neighbours import AddRemove

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "accounting.md").read_text()
ROWS = re.findall(r"^\| ([\d.]+) \| (1e-\d+) \| ([\d.]+) \| ([\d.]+) \| (1e-\d+) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_the_table_of_rectangles_is_right(row: tuple[str, ...]) -> None:
    epsilon, delta, alpha, divergence, events = row
    cap = RenyiFilter.of(Budget(epsilon, delta)).cap
    assert cap.order == Fraction(alpha)
    assert f"{float(cap.divergence * DIVERGENCE_UNIT):.4f}" == divergence
    assert cap.delta * DELTA_UNIT == Fraction(events)


def test_the_table_was_found() -> None:
    assert len(ROWS) == 5


def test_a_tenth_of_epsilon_takes_the_share_that_the_page_names() -> None:
    renyi_filter = RenyiFilter.of(Budget(1, "1e-5"))
    share = float(100 * renyi_filter.share(renyi_filter.amount(epsilon="0.1")))
    assert f"a tenth of ε takes {share:.1f} % of the budget" in " ".join(PAGE.split())


LAPLACE = re.findall(r"^\| ([\d.]+) \| ([\d.]+) % \| ([\d.]+) % \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("row", LAPLACE, ids=" ".join)
def test_the_table_of_laplace_releases_is_right(row: tuple[str, ...]) -> None:
    cap = RenyiFilter.of(Budget(1, "1e-6")).cap
    charge = price(LaplaceDP(Fraction(row[0]), steps=1), order=cap.order)
    shares = Fraction(charge.epsilon, cap.epsilon), Fraction(charge.divergence, cap.divergence)
    assert tuple(f"{float(100 * share):.1f}" for share in shares) == row[1:]


def test_the_table_of_laplace_releases_was_found() -> None:
    assert len(LAPLACE) == 5


def test_half_of_epsilon_and_a_gaussian_take_what_the_page_names() -> None:
    for delta, named in (("1e-6", "makes it 90 % at once"), ("1e-9", "at δ = 10⁻⁹ it is 93 %")):
        budget = PrivacyFilter(Budget(1, delta), neighbours=AddRemove())
        budget.charge(LaplaceDP(Fraction(1, 2), steps=1))
        assert budget.renyi_filter.share(budget.spent) == Fraction(1, 2)
        budget.charge(ZCDP(Fraction(1, 10**9)))
        assert f"{float(100 * budget.renyi_filter.share(budget.spent)):.0f} %" in named
        assert named in " ".join(PAGE.split())


GAUSSIANS = re.findall(r"^\| (\d+)(?: Gaussian release)? \| ([\d.]+) \| [\d.]+ \| [\d.]+ \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("row", GAUSSIANS, ids=" ".join)
def test_the_variance_that_the_rectangle_pays_for_is_right(row: tuple[str, str]) -> None:
    count, variance = row
    cap = RenyiFilter.of(Budget(1, "1e-6")).cap
    assert cap.order is not None
    rho = cap.divergence * DIVERGENCE_UNIT / cap.order / int(count)
    assert float(1 / (2 * rho)) == pytest.approx(float(variance), rel=2e-3)


def test_the_table_of_gaussian_releases_was_found() -> None:
    assert len(GAUSSIANS) == 3
