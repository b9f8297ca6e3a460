from __future__ import annotations

import threading
from fractions import Fraction

import pytest

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import repeated
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import BudgetExceeded, InvalidParameter, MissingNeighbours
from dalenius.privacy.losses import ZCDP, ApproximateDP, PureDP
from dalenius.privacy.neighbours import AddRemove

PEOPLE = AddRemove()
STEP = ZCDP(Fraction(1, 100_000))


def make(uses: int = 50) -> tuple[PrivacyFilter, Allowance]:
    budget = PrivacyFilter(Budget(1, "1e-6"), neighbours=PEOPLE)
    return budget, budget.allow(repeated(STEP, uses))


def test_one_charge_pays_for_exactly_the_releases_it_was_made_for() -> None:
    budget, allowance = make(50)
    paid = budget.spent
    assert allowance.left == paid == budget.price(STEP) * 50
    for _ in range(50):
        allowance.draw(STEP)
    assert not allowance.left
    with pytest.raises(BudgetExceeded, match="this allowance has"):
        allowance.draw(STEP)
    assert budget.spent == paid


def test_an_allowance_that_the_budget_cannot_pay_is_not_made() -> None:
    budget, _ = make(1)
    before = budget.spent
    with pytest.raises(BudgetExceeded):
        budget.allow(repeated(STEP, 10**6))
    assert budget.spent == before


def test_other_losses_may_draw_as_long_as_they_fit() -> None:
    budget = PrivacyFilter(Budget(1, "1e-6"), neighbours=PEOPLE)
    allowance = budget.allow(budget.amount(epsilon="0.3"))
    allowance.draw(ApproximateDP("0.01", "1e-10"))
    with pytest.raises(BudgetExceeded):
        allowance.draw(ZCDP(Fraction(1)))
    allowance.draw(PureDP(Fraction(1, 100)))
    assert allowance.left == budget.amount(epsilon="0.3") - allowance.price(
        ApproximateDP("0.01", "1e-10")
    ) - allowance.price(PureDP(Fraction(1, 100)))


def test_what_is_left_at_the_end_of_the_block_is_lost() -> None:
    budget, allowance = make(50)
    paid = budget.spent
    with allowance as open_allowance:
        open_allowance.draw(STEP)
    assert not allowance.left
    assert budget.spent == paid
    with pytest.raises(BudgetExceeded):
        allowance.draw(STEP)


def test_what_is_left_after_an_error_is_lost_too() -> None:
    _, allowance = make(50)
    with pytest.raises(RuntimeError), allowance:
        raise RuntimeError
    assert not allowance.left


def test_racing_draws_never_pass_what_was_paid() -> None:
    _, allowance = make(500)
    done = [0] * 8

    def work(mine: int) -> None:
        for _ in range(100):
            try:
                allowance.draw(STEP)
                done[mine] += 1
            except BudgetExceeded:
                pass

    workers = [threading.Thread(target=work, args=(mine,)) for mine in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(done) == 500
    assert not allowance.left


def test_allowances_carry_the_neighbours_of_their_filter() -> None:
    _, allowance = make()
    assert allowance.neighbours == PEOPLE
    with pytest.raises(MissingNeighbours):
        Allowance(Charge(divergence=1, order=None))


def test_a_free_draw_is_refused() -> None:
    _, allowance = make()
    with pytest.raises(InvalidParameter, match="never free"):
        allowance.draw(PureDP(Fraction(0)))


def test_allowances_say_what_is_left() -> None:
    allowance = Allowance(Charge(divergence=10**14, order=None), neighbours=PEOPLE)
    assert repr(allowance) == f"<Allowance with epsilon = 0.1 left, neighbours by {PEOPLE}>"
