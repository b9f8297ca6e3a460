from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import exp

import pytest

from dalenius.accounting.composition import optimal_composition, repeated
from dalenius.accounting.conversion import renyi_to_epsilon, to_approximate
from dalenius.accounting.filters import ORDERS, Odometer
from dalenius.errors import BudgetExceeded, InvalidParameter, MissingNeighbours
from dalenius.privacy.losses import ZCDP, ApproximateDP, Loss, PureDP, RenyiCurve
from dalenius.privacy.neighbours import AddRemove

STEP = Fraction(1, 4)
STOPS = (1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 45, 64, 90, 128)


def odometer(delta: object = "1e-6") -> Odometer:
    return Odometer(delta=delta, neighbours=AddRemove())  # type: ignore[arg-type]


def readings(delta: Fraction) -> dict[int, float]:
    meter, found = odometer(delta), {}
    for uses in range(1, max(STOPS) + 1):
        meter.record(PureDP(STEP))
        if uses in STOPS:
            found[uses] = float(meter.reading.epsilon)
    return found


def best_stopping(reading: Mapping[int, float]) -> float:
    """The largest P[S] - E_Q[e^reading; S] over all rules to stop a sequence of randomized bits, by dynamic programming
    from the last bit back to the first: at each moment, stop there or go on."""
    step, last = float(STEP), max(reading)
    true = 1 / (1 + exp(-step))

    def stop(uses: int, loss: float) -> float:
        return max(0.0, 1 - exp(reading[uses] - loss)) if uses in reading else 0.0

    value = [stop(last, (2 * right - last) * step) for right in range(last + 1)]
    for uses in range(last - 1, -1, -1):
        go_on = [true * value[right + 1] + (1 - true) * value[right] for right in range(uses + 1)]
        value = [max(stop(uses, (2 * right - uses) * step), go_on[right]) for right in range(uses + 1)]
    return value[0]


@pytest.mark.textbook("S6.8")
@pytest.mark.parametrize("delta", [Fraction(1, 20), Fraction(1, 10**4)])
def test_no_way_to_stop_beats_the_reading(delta: Fraction) -> None:
    assert 0 < best_stopping(readings(delta)) <= float(delta)


@pytest.mark.textbook("S6.8")
def test_fixed_parameter_composition_is_no_odometer() -> None:
    """The best composition theorem for a number of uses fixed beforehand, read at a moment picked by what was seen."""
    delta = Fraction(1, 20)
    naive = {uses: float(optimal_composition(epsilon=STEP, count=uses, target_delta=delta).epsilon) for uses in STOPS}
    assert best_stopping(naive) > 1.5 * float(delta)


def test_the_reading_is_the_best_order_at_its_part_of_delta() -> None:
    meter = odometer()
    for _ in range(100):
        meter.record(ZCDP(Fraction(1, 50)))
    room = Fraction(9, 10) * Fraction(1, 10**6) / len(ORDERS)
    expected = min(renyi_to_epsilon(divergence=2 * order, alpha=order, delta=room) for order in ORDERS)
    assert float(meter.reading.epsilon) == pytest.approx(float(expected), rel=1e-9)
    assert meter.reading.delta == Fraction(1, 10**6)


@pytest.mark.parametrize("rho", [Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 2), Fraction(10)])
def test_the_reading_is_within_forty_percent_of_a_cap_set_beforehand(rho: Fraction) -> None:
    meter = odometer()
    meter.record(ZCDP(rho))
    assert 1 < float(meter.reading.epsilon / to_approximate(ZCDP(rho), delta="1e-6").epsilon) < 1.4


def test_pure_releases_read_their_sum_while_that_is_less() -> None:
    meter = odometer()
    for _ in range(3):
        meter.record(PureDP(Fraction(1, 10)))
    assert meter.reading == ApproximateDP("0.3", "1e-6")
    meter.record(ZCDP(Fraction(1, 10**9)))
    assert meter.reading.epsilon > Fraction(3, 10)


@pytest.mark.parametrize("loss", [PureDP(Fraction(1, 10)), ZCDP(Fraction(1, 99)), ApproximateDP("0.1", "1e-9")])
def test_n_uses_at_once_read_as_n_uses(loss: Loss) -> None:
    together, singly = odometer(), odometer()
    together.record(repeated(loss, 20))
    for _ in range(20):
        singly.record(loss)
    difference = singly.reading.epsilon - together.reading.epsilon
    assert 0 <= difference <= Fraction(20, 10**15)


def test_the_reading_never_falls() -> None:
    meter, last = odometer(), Fraction(0)
    for loss in [PureDP(Fraction(1, 2)), ZCDP(Fraction(1, 9)), ApproximateDP("0.1", "1e-8"), PureDP(Fraction(1))] * 5:
        meter.record(loss)
        assert meter.reading.epsilon >= last
        last = meter.reading.epsilon


def test_events_are_capped_at_their_part_of_delta_and_a_refused_loss_is_not_added() -> None:
    meter = odometer("1e-6")
    meter.record(ApproximateDP("0.1", "9e-8"))
    before = meter.reading
    with pytest.raises(BudgetExceeded, match="the odometer has epsilon = 0, delta = 1e-8 left"):
        meter.record(ApproximateDP("0.1", "2e-8"))
    assert meter.reading == before
    meter.record(ApproximateDP("0.1", "1e-8"))


def test_every_event_counts_at_least_one_unit() -> None:
    meter = odometer("1e-19")  # of which a tenth, one unit, is for events
    meter.record(ApproximateDP("0.1", "1e-25"))
    with pytest.raises(BudgetExceeded):
        meter.record(ApproximateDP("0.1", "1e-25"))


def test_orders_at_which_a_loss_is_unknown_drop_out() -> None:
    meter = odometer()
    meter.record(RenyiCurve(((Fraction(5), Fraction(1, 10)),)))
    room = Fraction(9, 10) * Fraction(1, 10**6) / len(ORDERS)
    assert meter.reading.epsilon == renyi_to_epsilon(divergence=Fraction(1, 10), alpha=5, delta=room)
    with pytest.raises(InvalidParameter, match="known at some order"):
        meter.record(RenyiCurve(((Fraction(6, 5), Fraction(1, 10)),)))


@pytest.mark.parametrize("bad", [float("nan"), 0, 1, -1, None, "1e999999"])
def test_bad_deltas_are_refused(bad: object) -> None:
    with pytest.raises(InvalidParameter):
        odometer(bad)


def test_orders_and_neighbours_are_checked() -> None:
    with pytest.raises(MissingNeighbours):
        Odometer(delta="1e-6")
    for orders in ([], [1], [Fraction(1, 2), 3]):
        with pytest.raises(InvalidParameter):
            Odometer(delta="1e-6", neighbours=AddRemove(), orders=orders)
    with pytest.raises(InvalidParameter):
        odometer().record(Fraction(1))  # type: ignore[arg-type]
