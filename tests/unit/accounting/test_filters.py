from __future__ import annotations

import copy
import multiprocessing
import pickle
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.allowance import BudgetCounter
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.accounting.composition import basic_composition, compose, repeated
from dalenius.accounting.conversion import to_approximate
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import BudgetExceeded, InvalidParameter, MissingNeighbours, TheoremDoesNotApply
from dalenius.privacy.losses import ZCDP, ApproximateDP, LaplaceDP, Loss, PureDP
from dalenius.privacy.neighbours import AddRemove, Replace

PEOPLE = AddRemove()


def pure(epsilon: object = 1) -> PrivacyFilter:
    return PrivacyFilter(Budget(epsilon), neighbours=PEOPLE)  # type: ignore[arg-type]


def approximate() -> PrivacyFilter:
    return PrivacyFilter(Budget(1, "1e-6"), neighbours=PEOPLE)


@pytest.mark.textbook("S6.8")
def test_the_third_count_of_the_pinq_example_is_refused_and_costs_nothing() -> None:
    budget = pure(1.0)
    budget.charge(PureDP(0.01))  # type: ignore[arg-type]
    budget.charge(PureDP(0.10))  # type: ignore[arg-type]
    with pytest.raises(BudgetExceeded, match="nothing was run or charged") as refusal:
        budget.charge(PureDP(1.00))  # type: ignore[arg-type]
    assert budget.spent == Charge(divergence=11 * 10**13, order=None)
    assert refusal.value.left == budget.left == Charge(divergence=89 * 10**13, order=None)
    assert "costs epsilon = 1, but this budget has epsilon = 0.89 left" in str(refusal.value)
    budget.charge(PureDP("0.89"))  # type: ignore[arg-type]
    assert not budget.left


@pytest.mark.textbook("S6.8")
@pytest.mark.parametrize("views", [8, 3])
def test_uniform_views_cost_their_number_times_epsilon(views: int) -> None:
    """The slides' eight cumulative counts and three marginals at the same epsilon: 8 epsilon and 3 epsilon."""
    each = PureDP(Fraction(1, 10))
    budget = pure(views * each.epsilon)
    for _ in range(views):
        budget.charge(each)
    assert basic_composition([repeated(each, views)]).epsilon == views * each.epsilon
    assert not budget.left
    with pytest.raises(BudgetExceeded):
        budget.charge(PureDP("1e-300"))  # type: ignore[arg-type]


@pytest.mark.textbook("S6.8")
@given(st.lists(st.fractions(Fraction(1, 1000), "0.3"), max_size=30))
def test_a_heterogeneous_ledger_holds_what_is_left_of_the_global_epsilon(epsilons: list[Fraction]) -> None:
    budget, spent = pure(), Fraction(0)
    for epsilon in epsilons:
        fits = spent + -(-epsilon // Fraction(1, 10**15)) * Fraction(1, 10**15) <= 1
        if fits:
            budget.charge(PureDP(epsilon))
            spent += -(-epsilon // Fraction(1, 10**15)) * Fraction(1, 10**15)
        else:
            with pytest.raises(BudgetExceeded):
                budget.charge(PureDP(epsilon))
    assert budget.left.divergence == (1 - spent) * 10**15


@pytest.mark.parametrize(
    "loss", [ZCDP(Fraction(1, 5000)), LaplaceDP(Fraction(1, 50), steps=1), ApproximateDP("0.02", "1e-9")]
)
def test_what_was_charged_until_the_refusal_is_within_the_promise(loss: Loss) -> None:
    budget, uses = approximate(), 0
    try:
        while True:
            budget.charge(loss)
            uses += 1
    except BudgetExceeded:
        pass
    assert uses > 10
    assert to_approximate(repeated(loss, uses), delta="1e-6").epsilon <= 1


def test_divergence_and_events_are_never_traded() -> None:
    budget = approximate()
    budget.charge(Charge(divergence=0, delta=budget.left.delta, order=budget.renyi_filter.order))
    with pytest.raises(BudgetExceeded):
        budget.charge(ApproximateDP(0, "1e-20"))
    budget.charge(Charge(divergence=budget.left.divergence, order=budget.renyi_filter.order))
    with pytest.raises(BudgetExceeded):
        budget.charge(ZCDP("1e-300"))  # type: ignore[arg-type]


def test_a_refusal_in_one_side_charges_neither() -> None:
    budget = approximate()
    with pytest.raises(BudgetExceeded):
        budget.charge(compose([ZCDP(Fraction(1, 10**6)), ApproximateDP(0, "1e-3")]))
    assert not budget.spent


def test_prices_charge_nothing_and_are_what_is_charged() -> None:
    budget = approximate()
    loss = compose([ZCDP(Fraction(1, 1000)), ApproximateDP("0.01", "1e-12")])
    quoted = budget.price(loss)
    assert not budget.spent
    assert budget.charge(loss) == quoted == budget.spent
    assert budget.share(loss) == budget.share(quoted) == budget.renyi_filter.share(quoted)
    assert budget.amount(epsilon="0.5") == budget.renyi_filter.amount(epsilon="0.5")


@pytest.mark.parametrize(
    "free", [PureDP(Fraction(0)), ZCDP(Fraction(0)), ApproximateDP(0, 0), Charge(divergence=0, order=None)]
)
def test_a_free_release_is_refused(free: Loss | Charge) -> None:
    budget = pure() if isinstance(free, Charge) else approximate()
    with pytest.raises(InvalidParameter, match="never free"):
        budget.charge(free)


def test_gaussian_noise_and_events_cannot_be_paid_from_a_pure_budget() -> None:
    for loss in (ZCDP(Fraction(1, 100)), ApproximateDP("0.1", "1e-9")):
        with pytest.raises(TheoremDoesNotApply, match="delta > 0"):
            pure().charge(loss)


@pytest.mark.parametrize("neighbours", [None, "add_remove", AddRemove])
def test_the_neighbours_must_be_stated(neighbours: object) -> None:
    with pytest.raises(MissingNeighbours):
        PrivacyFilter(Budget(1), neighbours=neighbours)  # type: ignore[arg-type]


def test_a_filter_says_what_it_is() -> None:
    budget = PrivacyFilter(RenyiFilter.of(Budget(2)), neighbours=Replace("row"), account="the survey")
    assert repr(budget) == "<Filter with epsilon = 2 left of epsilon = 2, neighbours by replacing one row>"
    with pytest.raises(BudgetExceeded, match="the survey has"):
        budget.charge(PureDP(Fraction(3)))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, "1e999"])
def test_abuse_of_numbers_spends_nothing(bad: object) -> None:
    budget = approximate()
    for make in (PureDP, ZCDP, lambda number: ApproximateDP(number, number), lambda number: number):
        with pytest.raises(InvalidParameter):
            budget.charge(make(bad))  # type: ignore[operator]
    assert not budget.spent


def hammer(budget: PrivacyFilter, loss: Loss, threads: int, attempts: int) -> int:
    """How many charges succeed when many threads race for them."""
    done, start = [0] * threads, threading.Barrier(threads)

    def work(mine: int) -> None:
        start.wait()
        for _ in range(attempts):
            try:
                budget.charge(loss)
                done[mine] += 1
            except BudgetExceeded:
                pass

    workers = [threading.Thread(target=work, args=(mine,)) for mine in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.setswitchinterval(interval)
    return sum(done)


@pytest.mark.parametrize("loss", [PureDP(Fraction(1, 3000)), ZCDP(Fraction(1, 50_000))])
def test_racing_threads_never_pass_the_cap_and_leave_less_than_one_price(loss: Loss) -> None:
    budget = approximate()
    each = budget.price(loss)
    done = hammer(budget, loss, threads=8, attempts=400)
    assert budget.spent == each * done
    assert done == min(8 * 400, budget.renyi_filter.cap.divergence // each.divergence)


class SlowCap(int):
    """A cap that lets other threads run while something is compared with it."""

    def __ge__(self, other: int) -> bool:
        time.sleep(1e-4)
        return int(self) >= other


def race(lock: AbstractContextManager[object]) -> int:
    """How many of 160 charges of one unit succeed in eight threads, where fifty are allowed."""
    budget = pure()
    cap = Charge(divergence=50, order=None)
    object.__setattr__(cap, "divergence", SlowCap(50))
    budget._tally = BudgetCounter(cap, account="a race")
    budget._tally._lock = lock  # type: ignore[assignment]
    return hammer(budget, PureDP("1e-15"), threads=8, attempts=20)  # type: ignore[arg-type]


def test_check_and_charge_are_one_step() -> None:
    assert race(threading.Lock()) == 50


def test_the_race_above_notices_a_missing_lock() -> None:
    assert race(nullcontext()) > 50


def test_any_number_of_colluding_analysts_meets_one_cap() -> None:
    """THREATS G5: allowances of any number of analysts come out of the same budget."""
    budget, loss = approximate(), ZCDP(Fraction(1, 10**5))
    allowances, drawn = [], 0
    while True:
        try:
            allowances.append(budget.allow(budget.renyi_filter.part(share=Fraction(1, 45)).rectangle))
        except BudgetExceeded:
            break
    for allowance in allowances:
        while allowance.price(loss) <= allowance.left:
            allowance.draw(loss)
            drawn += 1
    assert len(allowances) == 45
    assert budget.price(loss) * drawn <= budget.spent <= budget.renyi_filter.cap.rectangle
    assert to_approximate(repeated(loss, drawn), delta="1e-6").epsilon <= 1


def test_a_copy_is_the_same_account_and_pickling_fails() -> None:
    budget = pure()
    for twin in (copy.copy(budget), copy.deepcopy(budget)):
        twin.charge(PureDP(Fraction(1, 10)))
    assert budget.spent.divergence == 2 * 10**14
    with pytest.raises(TypeError):
        pickle.dumps(budget)


def _child_charges(budget: PrivacyFilter, queue: multiprocessing.Queue[str]) -> None:
    try:
        budget.charge(PureDP(Fraction(1, 10)))
        queue.put("charged")
    except BudgetExceeded as refusal:
        queue.put(str(refusal))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_a_forked_process_has_nothing_to_spend() -> None:
    context = multiprocessing.get_context("fork")
    budget, queue = pure(), context.Queue()
    child = context.Process(target=_child_charges, args=(budget, queue))
    child.start()
    answer = queue.get(timeout=30)
    child.join()
    assert "this budget has epsilon = 0 left" in answer
    assert not budget.spent
