from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.composition import (
    Composition,
    advanced_composition,
    basic_composition,
    compose,
    optimal_composition,
    optimal_delta,
    repeated,
    tight_advanced_composition,
)
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.divergences import Distribution, is_private, max_divergence
from dalenius.privacy.loss_distribution import RandomizedBits
from dalenius.privacy.losses import ZCDP, ApproximateDP, BoundedRange, LaplaceDP, Loss, PureDP, RenyiCurve
from oracle import DIGITS, advanced, bits_delta, parameters, real, sound_and_tight, tight_advanced

SLACK = Fraction("1.2664165549094176e-14")  # e^-32
LOSSES: list[Loss] = [
    PureDP(Fraction(1, 3)),
    LaplaceDP(Fraction(1, 2), steps=3),
    BoundedRange(Fraction(1)),
    ApproximateDP("0.1", "1e-7"),
    ZCDP(Fraction(1, 7)),
    RenyiCurve(((Fraction(2), Fraction(1, 9)), (Fraction(8), Fraction(1, 2))), event=Fraction(1, 10**6)),
    repeated(PureDP(Fraction(1, 5)), 3),
]
each_loss = st.sampled_from(LOSSES)


@given(st.lists(each_loss, max_size=6), st.integers(0, 6))
def test_composition_does_not_depend_on_grouping_or_order(losses: list[Loss], cut: int) -> None:
    grouped = compose([compose(losses[:cut]), compose(losses[cut:])])
    assert grouped == compose(losses) == compose(reversed(losses))


@given(each_loss, st.integers(1, 9))
def test_n_uses_at_once_are_n_compositions(loss: Loss, count: int) -> None:
    one_by_one = compose([])
    for _ in range(count):
        one_by_one = compose([one_by_one, loss])
    assert repeated(loss, count) == one_by_one == compose([loss] * count)
    assert repeated(loss, count).renyi(2) == count * loss.renyi(2)
    assert repeated(loss, count).delta == count * loss.delta


def test_composing_nothing_costs_nothing() -> None:
    assert compose([]) == PureDP(Fraction(0))


def test_events_of_a_composition_never_exceed_certainty() -> None:
    assert repeated(ApproximateDP(1, "0.3"), 5).delta == 1


@pytest.mark.parametrize("stranger", [1.0, "PureDP(1)", None, object(), (Fraction(1), Fraction(0))])
def test_unknown_losses_are_refused(stranger: object) -> None:
    with pytest.raises(InvalidParameter, match="a loss such as"):
        compose([PureDP(Fraction(1)), stranger])  # type: ignore[list-item]
    with pytest.raises(InvalidParameter, match="a loss such as"):
        repeated(stranger, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, -1, 1.5, True, None])
def test_only_positive_whole_counts_are_taken(count: object) -> None:
    with pytest.raises(InvalidParameter):
        repeated(PureDP(Fraction(1)), count)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        Composition(((PureDP(Fraction(1)), count),))  # type: ignore[arg-type]


@pytest.mark.textbook("S6.1")
def test_basic_composition_adds_epsilons_and_deltas() -> None:
    losses = [PureDP(Fraction(1, 10)), ApproximateDP("0.2", "1e-6"), ApproximateDP("0.3", "1e-6")]
    assert basic_composition(losses) == ApproximateDP("0.6", "2e-6")
    assert basic_composition([repeated(PureDP(Fraction(1, 10)), 8)]) == PureDP(Fraction(8, 10))


@pytest.mark.textbook("S6.1")
def test_basic_composition_is_tight_and_covers_a_second_release_that_depends_on_the_first() -> None:
    """Two randomized bits, the odds of the second chosen by the first: the worst loss is the sum, and no more."""

    def views(truth: int) -> Distribution[tuple[int, int]]:
        first = Distribution({truth: Fraction(3, 4), 1 - truth: Fraction(1, 4)})
        keep = {0: Fraction(4, 5), 1: Fraction(2, 3)}  # odds of 4 or 2
        return Distribution(
            {(a, b): first[a] * (keep[a] if b == truth else 1 - keep[a]) for a, b in product((0, 1), repeat=2)}
        )

    with mp.workdps(50):
        total = Fraction(mp.nstr(mp.log(12), 40, strip_zeros=False)) + Fraction(1, 10**39)
    assert is_private(views(0), views(1), epsilon=total)
    assert not is_private(views(0), views(1), epsilon=total - Fraction(1, 10**6))
    assert abs(max_divergence(views(0), views(1)) - total) < Fraction(1, 10**6)


@pytest.mark.textbook("S6.1")
def test_basic_composition_refuses_losses_without_an_epsilon() -> None:
    with pytest.raises(TheoremDoesNotApply, match="compose"):
        basic_composition([PureDP(Fraction(1)), ZCDP(Fraction(1))])


@pytest.mark.textbook("S6.3")
def test_advanced_composition_gives_the_figure_of_the_theorem() -> None:
    """k = 10^4 uses of 0.1 at the slack of the slide: 157.7, and 52.6 in the slide's broken form."""
    slack = Fraction(1, 10**6)
    total = advanced_composition(epsilon="0.1", count=10_000, slack=slack)
    assert float(total.epsilon) == pytest.approx(157.7, abs=0.05)
    assert total.delta == slack
    assert advanced_composition(epsilon="0.1", count=10, slack=slack, delta="1e-9").delta == slack + Fraction(1, 10**8)


def broken_slide_form(epsilon: float, count: int, slack: float) -> float:
    """Source text 0: the last exponent is the slack."""
    return float(mp.sqrt(2 * count * mp.log(1 / slack)) * epsilon + count * epsilon * (mp.exp(slack) - 1))


def broken_notes_form(epsilon: float, count: int, slack: float) -> float:
    """Source text 1: the factor 2 and a count are lost."""
    return float(mp.sqrt(count * mp.log(1 / slack)) * epsilon + epsilon * (mp.exp(epsilon) - 1))


@pytest.mark.textbook("S6.3")
@pytest.mark.parametrize("broken", [broken_slide_form, broken_notes_form])
def test_the_exact_loss_flags_the_broken_forms_and_not_the_theorem(broken: object) -> None:
    epsilon, count, slack = Fraction(1, 10), 10_000, Fraction(1, 10**6)
    bits = RandomizedBits(epsilon, count)
    claimed = Fraction(broken(float(epsilon), count, float(slack)))  # type: ignore[operator]
    assert bits.delta_at(epsilon=claimed) > slack
    honest = advanced_composition(epsilon=epsilon, count=count, slack=slack)
    assert bits.delta_at(epsilon=honest.epsilon) <= slack
    assert float(broken_slide_form(0.1, 10_000, 1e-6)) == pytest.approx(52.6, abs=0.05)


@pytest.mark.textbook("S6.4")
def test_the_tighter_form_is_tighter_and_still_covers_the_worst_case() -> None:
    for epsilon, count in [(Fraction(1, 100), 1000), (Fraction(1, 2), 50), (Fraction(2), 7)]:
        tight = tight_advanced_composition(epsilon=epsilon, count=count, slack="1e-6")
        assert tight.epsilon < advanced_composition(epsilon=epsilon, count=count, slack="1e-6").epsilon
        assert RandomizedBits(epsilon, count).delta_at(epsilon=tight.epsilon) <= Fraction(1, 10**6)


@pytest.mark.textbook("S6.4")
def test_the_slack_in_the_root_is_the_extra_delta_and_not_the_delta_of_one_use() -> None:
    """The source prints ln(1/delta): with a large delta of each use that understates the loss."""
    epsilon, count, delta, slack = Fraction(1, 10), 100, Fraction(1, 100), Fraction(1, 10**6)
    with mp.workdps(DIGITS):
        broken = Fraction(str(mp.nstr(tight_advanced(real(epsilon), count, real(delta)), 30)))
    honest = tight_advanced_composition(epsilon=epsilon, count=count, slack=slack, delta=delta)
    assert RandomizedBits(epsilon, count).delta_at(epsilon=broken) > slack
    assert RandomizedBits(epsilon, count).delta_at(epsilon=honest.epsilon) <= slack


@pytest.mark.textbook("S6.4")
def test_for_small_epsilon_the_drift_is_half_of_epsilon_squared() -> None:
    spread = advanced_composition(epsilon="1e-6", count=10**6, slack="0.5").epsilon - Fraction(1, 10**6)
    drift = tight_advanced_composition(epsilon="1e-6", count=10**6, slack="0.5").epsilon - spread
    assert float(drift) == pytest.approx(0.5e-6, rel=1e-4)


@pytest.mark.textbook("S6.6")
def test_the_lifetime_example_needs_more_than_the_theorem_gives() -> None:
    """10^4 databases and e^-32: the text's 1/801 gives 1.0143 by its own theorem, which needs 1/812.4."""

    def total(inverse: str) -> Fraction:
        return advanced_composition(epsilon=1 / Fraction(inverse), count=10_000, slack=SLACK).epsilon

    assert float(total("801")) == pytest.approx(1.0143, abs=5e-5)
    assert total("812.3") > 1 >= total("812.4")


@pytest.mark.textbook("S6.6", "S6.4")
def test_the_lifetime_example_by_the_tighter_form() -> None:
    def total(inverse: str) -> Fraction:
        return tight_advanced_composition(epsilon=1 / Fraction(inverse), count=10_000, slack=SLACK).epsilon

    assert total("806.2") > 1 >= total("806.3")


@pytest.mark.textbook("S6.6")
def test_the_lifetime_claim_itself_holds_exactly() -> None:
    exceeds = RandomizedBits(Fraction(1, 801), 10_000).exceeds(epsilon=1)
    assert float(exceeds) == pytest.approx(9.2e-16, rel=0.01)
    assert exceeds < SLACK
    assert optimal_delta(epsilon=Fraction(1, 801), count=10_000, target_epsilon=1) < exceeds
    assert optimal_composition(epsilon=Fraction(1, 801), count=10_000, target_delta=SLACK).epsilon < 1


def test_optimal_composition_and_optimal_delta_are_inverse() -> None:
    for count, delta in [(1, "0"), (2, "0.01"), (9, "1e-6")]:
        total = optimal_composition(epsilon="0.3", count=count, target_delta="0.1", delta=delta)
        back = optimal_delta(epsilon="0.3", count=count, target_epsilon=total.epsilon, delta=delta)
        assert float(back) == pytest.approx(0.1, rel=1e-9)
        assert back <= Fraction(1, 10) + Fraction(1, 10**60)


def test_optimal_composition_ends_at_basic_composition_and_at_zero() -> None:
    assert optimal_composition(epsilon="0.3", count=4, target_delta=0).epsilon == Fraction(12, 10)
    assert optimal_composition(epsilon="0.3", count=4, target_delta=1).epsilon == 0
    assert optimal_composition(epsilon=0, count=4, target_delta=0).epsilon == 0
    assert optimal_composition(epsilon="1e-300", count=7, target_delta="1e-305").epsilon <= Fraction("7e-300")


def test_optimal_composition_refuses_a_delta_that_events_alone_exceed() -> None:
    with pytest.raises(TheoremDoesNotApply, match="target_delta of at least"):
        optimal_composition(epsilon=1, count=10, target_delta="0.01", delta="0.01")


@pytest.mark.parametrize("name", ["epsilon", "slack", "delta"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, "1e999", "1e999999", None, "abc"])
def test_bad_numbers_are_refused(name: str, bad: object) -> None:
    good: dict[str, object] = {"epsilon": 1, "slack": "1e-6", "delta": 0, "count": 3} | {name: bad}
    for theorem in (advanced_composition, tight_advanced_composition):
        with pytest.raises(InvalidParameter):
            theorem(**good)  # type: ignore[arg-type]


def check_root_theorems(cases: int, seed: int) -> None:
    ranges = {"epsilon": (1e-5, 5.0), "count": (1.0, 1e6), "slack": (1e-40, 0.9)}
    with mp.workdps(DIGITS):
        for case, _ in zip(parameters(seed, **ranges), range(cases), strict=False):
            epsilon, count, slack = case["epsilon"], int(case["count"]), case["slack"]
            given_ = real(epsilon), count, real(slack)
            figure = advanced_composition(epsilon=epsilon, count=count, slack=slack).epsilon
            assert sound_and_tight(figure, advanced(*given_)), case
            figure = tight_advanced_composition(epsilon=epsilon, count=count, slack=slack).epsilon
            assert sound_and_tight(figure, tight_advanced(*given_)), case


def check_optimal(cases: int, seed: int) -> None:
    ranges = {"epsilon": (1e-4, 4.0), "count": (1.0, 60.0), "target": (1e-3, 10.0), "delta": (1e-12, 1e-3)}
    with mp.workdps(DIGITS):
        for case, _ in zip(parameters(seed, **ranges), range(cases), strict=False):
            epsilon, count, target, delta = case["epsilon"], int(case["count"]), case["target"], case["delta"]
            truth = bits_delta(real(epsilon), count, real(target), real(delta))
            figure = optimal_delta(epsilon=epsilon, count=count, target_epsilon=target, delta=delta)
            assert sound_and_tight(figure, truth), case
            if figure < 1 and target < count * epsilon:
                back = optimal_composition(epsilon=epsilon, count=count, target_delta=figure, delta=delta).epsilon
                at_back = bits_delta(real(epsilon), count, real(back), real(delta))
                assert at_back <= real(figure), case
                assert back <= target * (1 + Fraction(1, 10**30)), case


def test_root_theorems_against_the_oracle() -> None:
    check_root_theorems(300, seed=1)


def test_optimal_composition_against_the_oracle() -> None:
    check_optimal(150, seed=2)
