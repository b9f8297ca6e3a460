from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.composition import DataPartition, compose, optimal_composition, parallel_composition, repeated
from dalenius.accounting.conversion import (
    LEAST_DELTA,
    epsilon_to_renyi,
    renyi_to_delta,
    renyi_to_epsilon,
    to_approximate,
    to_delta,
    to_pure,
    to_renyi,
    to_zcdp,
)
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.divergences import hockey_stick
from dalenius.privacy.loss_distribution import LossDistribution
from dalenius.privacy.losses import ZCDP, ApproximateDP, BoundedRange, LaplaceDP, Loss, PureDP, RenyiCurve
from dalenius.privacy.neighbours import AddRemove, Replace
from oracle import (
    DIGITS,
    parameters,
    real,
    renyi_epsilon,
    sound_and_tight,
    zcdp_delta,
    zcdp_epsilon,
)
from strategies import distributions

ROWS = DataPartition(of="row", by="value")
HALF_BIT = ({0: "0.75", 1: "0.25"}, {0: "0.25", 1: "0.75"})


@given(distributions(least=1), distributions(least=1), st.fractions(Fraction(11, 10), 20), st.fractions(0, 3))
def test_renyi_conversion_covers_the_exact_hockey_stick(
    first: object, second: object, alpha: Fraction, epsilon: Fraction
) -> None:
    loss = LossDistribution.between(first, second)  # type: ignore[arg-type]
    delta = renyi_to_delta(divergence=loss.renyi(alpha), alpha=alpha, epsilon=epsilon)
    assert hockey_stick(first, second, epsilon=epsilon) <= delta  # type: ignore[arg-type]


def test_renyi_conversion_is_attained() -> None:
    """A rare outcome that is alpha / (alpha - 1) times e^epsilon likelier makes the conversion tight."""
    alpha, epsilon, rare = Fraction(10), Fraction(1), Fraction(1, 10**7)
    ratio = Fraction("2.718281828459045") * alpha / (alpha - 1)
    first, second = {0: rare, 1: 1 - rare}, {0: rare / ratio, 1: 1 - rare / ratio}
    loss = LossDistribution.between(first, second)
    promised = renyi_to_delta(divergence=loss.renyi(alpha), alpha=alpha, epsilon=epsilon)
    # The rest of the outcomes adds its mass of nearly 1 to the moment; without it the two would be equal.
    moment = rare * ratio ** int(alpha - 1)
    assert float(hockey_stick(first, second, epsilon=epsilon) / promised) == pytest.approx(
        float(moment / (1 + moment)), rel=0.01
    )


@given(st.fractions(Fraction(1, 100), 10), st.fractions(Fraction(11, 10), 90), st.fractions(Fraction(1, 10**9), "0.5"))
def test_the_three_renyi_conversions_are_inverse(epsilon: Fraction, alpha: Fraction, delta: Fraction) -> None:
    divergence = epsilon_to_renyi(epsilon=epsilon, alpha=alpha, delta=delta)
    if divergence > 0:
        assert renyi_to_epsilon(divergence=divergence, alpha=alpha, delta=delta) == epsilon
        back = renyi_to_delta(divergence=divergence, alpha=alpha, epsilon=epsilon)
        assert float(back) == pytest.approx(float(delta))


def test_pure_losses_convert_by_the_exact_curve_of_a_randomized_bit() -> None:
    """delta at epsilon' is (e^epsilon - e^epsilon') / (1 + e^epsilon), and 0 from epsilon on."""
    with mp.workdps(50):
        truth = (mp.e - mp.exp("0.5")) / (1 + mp.e)
        figure = to_delta(PureDP(Fraction(1)), epsilon="0.5")
        assert sound_and_tight(figure, truth)
    assert to_delta(PureDP(Fraction(1)), epsilon=1) == 0
    assert to_approximate(PureDP(Fraction(1)), delta=0) == ApproximateDP(1, 0)


def test_an_approximate_loss_converts_to_itself() -> None:
    loss = ApproximateDP("0.7", "1e-6")
    assert to_approximate(loss, delta="1e-6") == loss
    assert to_delta(loss, epsilon="0.7") >= Fraction(1, 10**6)
    assert float(to_delta(loss, epsilon="0.7")) == pytest.approx(1e-6)


def test_a_delta_below_the_events_is_refused() -> None:
    for loss in (ApproximateDP("0.7", "1e-6"), compose([ApproximateDP("0.7", "1e-6"), ZCDP(Fraction(1))])):
        with pytest.raises(TheoremDoesNotApply, match="a larger delta"):
            to_approximate(loss, delta="1e-7")


def test_repeated_losses_convert_by_optimal_composition_and_never_worse_than_by_renyi() -> None:
    loss = repeated(PureDP(Fraction(1, 10)), 100)
    best = to_approximate(loss, delta="1e-9").epsilon
    assert best == optimal_composition(epsilon="0.1", count=100, target_delta="1e-9").epsilon
    assert best < to_approximate(to_renyi(loss, orders=[Fraction(k, 2) for k in range(4, 40)]), delta="1e-9").epsilon


def test_a_loss_distribution_converts_exactly() -> None:
    loss = LossDistribution.between(*HALF_BIT)
    assert to_delta(loss, epsilon=0) == Fraction(1, 2)
    with mp.workdps(50):
        assert sound_and_tight(to_pure(loss).epsilon, mp.log(3))
        assert sound_and_tight(to_approximate(loss, delta="0.25").epsilon, mp.log(2))


def test_a_known_curve_is_converted_at_its_own_orders_only() -> None:
    curve = RenyiCurve(((Fraction(2), Fraction(1, 10)), (Fraction(5), Fraction(2, 5))))
    at_orders = [renyi_to_epsilon(divergence=value, alpha=alpha, delta="1e-6") for alpha, value in curve.points]
    assert to_approximate(curve, delta="1e-6").epsilon == min(at_orders)
    mixed = compose([curve, ZCDP(Fraction(1, 100))])
    expected = min(renyi_to_epsilon(divergence=mixed.renyi(a), alpha=a, delta="1e-6") for a in (2, 5))
    assert to_approximate(mixed, delta="1e-6").epsilon == expected


def test_pure_sums_and_dearest_parts_stay_pure() -> None:
    losses = [PureDP(Fraction(1, 2)), LaplaceDP(Fraction(1, 4), steps=2), BoundedRange(Fraction(1, 8))]
    assert to_pure(compose(losses)) == PureDP(Fraction(7, 8))
    assert to_pure(parallel_composition(losses, neighbours=AddRemove("row"), partition=ROWS)).epsilon == Fraction(1, 2)
    assert to_pure(parallel_composition(losses, neighbours=Replace("row"), partition=ROWS)).epsilon == Fraction(3, 4)
    assert to_pure(ApproximateDP(1, 0)) == PureDP(Fraction(1))


def test_mixtures_of_stated_epsilons_convert_no_worse_than_by_adding_up() -> None:
    mixture = compose([PureDP(Fraction(1, 2)), PureDP(Fraction(1, 4)), ApproximateDP("0.1", "1e-6")])
    assert to_approximate(mixture, delta="1e-6") == ApproximateDP("0.85", "1e-6")
    assert to_delta(mixture, epsilon="0.85") == Fraction(1, 10**6)
    parts = parallel_composition(
        [PureDP(Fraction(1)), PureDP(Fraction(2))], neighbours=AddRemove("row"), partition=ROWS
    )
    assert to_approximate(parts, delta=0) == ApproximateDP(2, 0)


@pytest.mark.parametrize(
    "loss", [ZCDP(Fraction(1)), ApproximateDP(1, "1e-9"), RenyiCurve(((Fraction(2), Fraction(1)),))]
)
def test_what_is_not_certain_is_not_pure(loss: Loss) -> None:
    with pytest.raises(TheoremDoesNotApply, match="Laplace noise"):
        to_pure(loss)
    with pytest.raises(TheoremDoesNotApply):
        to_pure(compose([PureDP(Fraction(1)), loss]))


@given(st.fractions(Fraction(1, 50), 8), st.fractions(Fraction(21, 20), 60))
def test_pure_privacy_is_concentrated_and_the_figure_is_attained(epsilon: Fraction, alpha: Fraction) -> None:
    rho = to_zcdp(PureDP(epsilon)).rho
    assert rho <= epsilon**2 / 2
    assert PureDP(epsilon).renyi(alpha) <= alpha * rho
    near_one = Fraction(100_001, 100_000)
    assert float(PureDP(epsilon).renyi(near_one) / near_one) == pytest.approx(float(rho), rel=1e-3)


def test_concentrated_losses_add_up_and_events_are_refused() -> None:
    assert to_zcdp(compose([ZCDP(Fraction(1, 3)), ZCDP(Fraction(1, 4))])).rho == Fraction(7, 12)
    with pytest.raises(TheoremDoesNotApply):
        to_zcdp(ApproximateDP(1, "1e-9"))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, 0, 1, "1e999999", None])
def test_bad_orders_and_deltas_are_refused(bad: object) -> None:
    with pytest.raises(InvalidParameter):
        renyi_to_epsilon(divergence=1, alpha=bad, delta="1e-6")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        renyi_to_epsilon(divergence=1, alpha=2, delta=bad)  # type: ignore[arg-type]


def test_enormous_and_tiny_figures_stay_within_their_bounds() -> None:
    assert renyi_to_delta(divergence="1e999", alpha=2, epsilon=1) == 1
    assert renyi_to_delta(divergence=0, alpha=2, epsilon="1e999") == LEAST_DELTA
    assert to_delta(ZCDP(Fraction(1)), epsilon="1e999") == LEAST_DELTA
    with pytest.raises(InvalidParameter, match="at most 10"):
        to_approximate(PureDP("1e999"), delta="1e-6")  # type: ignore[arg-type]


def check_searches(cases: int, seed: int) -> None:
    ranges = {"rho": (1e-8, 20.0), "delta": (1e-40, 0.3), "epsilon": (1e-2, 20.0)}
    with mp.workdps(DIGITS):
        for case, _ in zip(parameters(seed, **ranges), range(cases), strict=False):
            rho, delta, epsilon = case["rho"], case["delta"], case["epsilon"]
            figure = to_approximate(ZCDP(rho), delta=delta).epsilon
            assert sound_and_tight(figure, zcdp_epsilon(real(rho), real(delta))), case
            figure = to_delta(ZCDP(rho), epsilon=epsilon)
            assert sound_and_tight(figure, max(zcdp_delta(real(rho), real(epsilon)), real(LEAST_DELTA))), case


def test_searches_against_the_oracle() -> None:
    check_searches(60, seed=12)


def test_the_oracle_notices_a_figure_rounded_to_the_wrong_side() -> None:
    with mp.workdps(DIGITS):
        truth = renyi_epsilon(mp.mpf(1), mp.mpf(3), mp.mpf("1e-6"))
        figure = renyi_to_epsilon(divergence=1, alpha=3, delta="1e-6")
        assert sound_and_tight(figure, truth)
        assert not sound_and_tight(figure - Fraction(1, 10**70), truth)
        assert not sound_and_tight(figure * Fraction(102, 100), truth)


def test_curves_are_composed_at_orders_that_all_of_them_know() -> None:
    short = RenyiCurve(((Fraction(2), Fraction(1)), (Fraction(4), Fraction(2))))
    long = RenyiCurve(((Fraction(2), Fraction(1)), (Fraction(64), Fraction(3))))
    both = compose([short, long])
    assert to_approximate(both, delta="1e-6").epsilon == min(
        renyi_to_epsilon(divergence=both.renyi(order), alpha=order, delta="1e-6") for order in (2, 4)
    )
