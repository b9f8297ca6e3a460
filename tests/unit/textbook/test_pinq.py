"""The example of PINQ, from rows to noisy counts: a budget of 1.0, and counts at epsilon 0.01, 0.10 and 1.00."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from checks import SeededEntropy
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import BudgetExceeded
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity

PEOPLE = AddRemove()
AGES = tuple(range(18, 78)) * 20
Row = int


class Analyst:
    """Counts rows through the one door, and notes which of the counting functions ever ran."""

    def __init__(self, epsilon: str) -> None:
        self.ledger = PrivacyFilter(Budget(epsilon), neighbours=PEOPLE)
        self.rows = Exact(AGES, sensitivity=Sensitivity(l1=1), neighbours=PEOPLE)
        self.opened: list[str] = []

    def count(self, name: str, matches: Callable[[Row], bool], epsilon: str) -> int:
        def counted(rows: tuple[Row, ...]) -> int:
            self.opened.append(name)
            return sum(map(matches, rows))

        noise = DiscreteLaplace.calibrated(sensitivity=1, epsilon=epsilon, neighbours=PEOPLE)
        allowance = self.ledger.allow(noise.loss(sensitivity=1))
        noisy = measure(noise, self.rows.map(counted, sensitivity=1), allowance, SeededEntropy(name))
        assert not allowance.left
        return noisy


def tolerance(epsilon: str) -> int:
    return DiscreteLaplace.calibrated(sensitivity=1, epsilon=epsilon, neighbours=PEOPLE).error("1e-9")


@pytest.mark.textbook("S6.8", "S6.1")
def test_the_third_count_is_refused_unopened_and_uncharged() -> None:
    analyst = Analyst("1.0")
    everybody = analyst.count("everybody", lambda age: True, "0.01")
    assert abs(everybody - 1200) <= tolerance("0.01")
    over_forty = analyst.count("over forty", lambda age: age > 40, "0.10")
    assert abs(over_forty - 740) <= tolerance("0.10") < tolerance("0.01")
    spent = Charge(divergence=11 * 10**13, order=None)
    assert analyst.ledger.spent == spent

    with pytest.raises(BudgetExceeded, match=r"costs epsilon = 1, but this budget has epsilon = 0\.89 left"):
        analyst.count("over sixty", lambda age: age > 60, "1.00")
    assert analyst.opened == ["everybody", "over forty"]
    assert analyst.ledger.spent == spent

    over_sixty = analyst.count("over sixty", lambda age: age > 60, "0.89")  # what is left buys a noisier count
    assert abs(over_sixty - 340) <= tolerance("0.89")
    assert analyst.opened[-1] == "over sixty"
    assert not analyst.ledger.left


@pytest.mark.textbook("S6.8", "S6.1")
def test_an_allowance_that_is_too_small_opens_and_draws_nothing() -> None:
    """The same at the door itself: paying for 0.89 does not buy a count at 1.00."""
    analyst = Analyst("1.0")
    allowance = analyst.ledger.allow(analyst.ledger.amount(epsilon="0.89"))
    sealed = analyst.rows.map(lambda rows: analyst.opened.append("count") or len(rows), sensitivity=1)
    noise = DiscreteLaplace(Fraction(1), neighbours=PEOPLE)
    with pytest.raises(BudgetExceeded):
        measure(noise, sealed, allowance, SeededEntropy(0))
    assert analyst.opened == []
    assert allowance.left == Charge(divergence=89 * 10**13, order=None)
