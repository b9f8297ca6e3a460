"""The figures that docs/accounting.md prints are the ones that the code gives."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT
from dalenius.accounting.budget import Budget, RenyiFilter

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
