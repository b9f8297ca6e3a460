from __future__ import annotations

import sys
import threading
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT, LARGEST, Charge, price
from dalenius.accounting.composition import compose, repeated
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.losses import ZCDP, ApproximateDP, BoundedRange, LaplaceDP, Loss, PureDP, RenyiCurve
from dalenius.privacy.reals import ball, precise

ORDER = Fraction(18)
LOSSES: list[Loss] = [
    PureDP(Fraction(1, 3)),
    LaplaceDP(Fraction(1, 7), steps=2),
    BoundedRange(Fraction(1)),
    ApproximateDP("0.1", "1e-7"),
    ZCDP(Fraction(1, 7)),
    RenyiCurve(((Fraction(20), Fraction(1, 9)),), event=Fraction(1, 3 * 10**6)),
]


@given(st.sampled_from(LOSSES), st.integers(1, 1000))
def test_n_uses_cost_exactly_n_times_one_use(loss: Loss, count: int) -> None:
    one = price(loss, order=ORDER)
    assert price(repeated(loss, count), order=ORDER) == one * count
    assert price(compose([loss] * 3), order=ORDER) == one + one + one


@given(st.sampled_from(LOSSES))
def test_charges_are_rounded_up_by_less_than_a_unit(loss: Loss) -> None:
    amount = price(loss, order=ORDER)
    assert 0 <= amount.divergence * DIVERGENCE_UNIT - loss.renyi(ORDER) < DIVERGENCE_UNIT
    assert 0 <= amount.delta * DELTA_UNIT - loss.delta < DELTA_UNIT


@given(st.fractions(Fraction(1, 1000), 10), st.fractions(Fraction(1001, 1000), 5))
def test_more_noise_is_never_dearer(size: Fraction, more: Fraction) -> None:
    for family in (PureDP, ZCDP, BoundedRange, lambda epsilon: LaplaceDP(epsilon, steps=4)):
        for order in (Fraction(3, 2), ORDER):
            noisy, clear = price(family(size / more), order=order), price(family(size), order=order)
            assert noisy.divergence <= clear.divergence
    assert price(PureDP(size / more), order=None) <= price(PureDP(size), order=None)


@pytest.mark.parametrize("tiny", ["1e-300", "1e-17", Fraction(1, 10**18)])
def test_any_positive_loss_costs_at_least_a_unit(tiny: object) -> None:
    for loss in (PureDP(tiny), ZCDP(tiny)):  # type: ignore[arg-type]
        assert price(loss, order=ORDER).divergence == 1
    assert price(PureDP(tiny), order=None).divergence == 1  # type: ignore[arg-type]
    assert price(ApproximateDP(0, "1e-300"), order=ORDER) == Charge(divergence=0, delta=1, order=ORDER, epsilon=0)


def test_a_pure_ledger_adds_epsilon_and_refuses_what_is_not_pure() -> None:
    assert (
        price(compose([PureDP(Fraction(1, 10)), LaplaceDP(Fraction(1, 5), steps=1)]), order=None).divergence
        == 3 * 10**14
    )
    for loss in (ZCDP(Fraction(1)), ApproximateDP(1, "1e-9")):
        with pytest.raises(TheoremDoesNotApply, match="a budget with delta > 0"):
            price(loss, order=None)


@pytest.mark.parametrize("huge", ["1e999", 10_000, Fraction(10**30)])
def test_what_does_not_fit_into_64_bits_is_refused(huge: object) -> None:
    with pytest.raises(InvalidParameter, match="2\\^63"):
        price(PureDP(huge), order=None)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="2\\^63"):
        price(ZCDP(huge), order=ORDER)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="2\\^63"):
        price(ApproximateDP(1, "0.5"), order=ORDER)
    with pytest.raises(InvalidParameter, match="2\\^63"):
        Charge(divergence=LARGEST, order=None) + Charge(divergence=1, order=None)


@pytest.mark.parametrize("bad", [-1, 1.5, True, None, "7", float("nan")])
def test_amounts_are_whole_and_not_negative(bad: object) -> None:
    with pytest.raises(InvalidParameter):
        Charge(divergence=bad, order=None)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        Charge(divergence=1, delta=bad, order=None)  # type: ignore[arg-type]


def test_amounts_of_different_orders_do_not_mix() -> None:
    one, other = Charge(divergence=1, order=ORDER), Charge(divergence=1, order=Fraction(2))
    for mix in (lambda: one + other, lambda: one - other, lambda: one <= other):
        with pytest.raises(InvalidParameter, match="order"):
            mix()


def test_amounts_say_what_they_are() -> None:
    assert str(Charge(divergence=89 * 10**13, order=None)) == "epsilon = 0.89"
    text = str(Charge(divergence=10**14, delta=10**10, order=ORDER))
    assert text == "Rényi divergence 0.1 of order 18, delta = 0.0000000001"
    assert str(Charge(divergence=10**15 + 1, order=None)) == "epsilon = 1.000000000000001"


def test_whatever_is_no_loss_has_no_price() -> None:
    with pytest.raises(InvalidParameter):
        price(Fraction(1), order=None)  # type: ignore[arg-type]


def test_prices_do_not_depend_on_what_other_threads_compute() -> None:
    losses = [LaplaceDP(Fraction(1, 3), steps=steps) for steps in range(1, 30)]
    alone = [loss.renyi(ORDER) for loss in losses]
    seen: list[list[Fraction]] = []

    def work(bits: int) -> None:
        for _ in range(20):
            with precise(bits):
                ball(Fraction(1, 3)).exp()
            seen.append([loss.renyi(ORDER) for loss in losses])

    workers = [threading.Thread(target=work, args=(bits,)) for bits in (30, 64, 256, 1000)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.setswitchinterval(interval)
    assert len(seen) == 80
    assert all(prices == alone for prices in seen)
