"""What must hold for every mechanism, whatever it does."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from flint import arb

from checks import SeededEntropy
from costs import cases
from dalenius.accounting.amounts import price
from dalenius.accounting.composition import compose, repeated
from dalenius.accounting.conversion import to_pure
from dalenius.errors import InvalidParameter, MissingNeighbours
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.privacy.losses import ZCDP, BoundedRange, Loss
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES, EXCUSED, left_out, public_mechanisms
from dalenius.verify.cases.numeric import DELTA, noise_law, vector_law
from dalenius.verify.cases.planted import PLANTED, PLANTED_EVENTS

EPSILONS = (Fraction(1, 4), Fraction(1), Fraction(2))
ORDERS = (Fraction(3, 2), Fraction(4), Fraction(32))
ROUNDING = Fraction(1, 10**12)

PURE = [case for case in CASES if case.pure]
BY_DELTA = [case for case in CASES if not case.pure and not case.targeted and not case.event]
TARGETED = [case for case in CASES if case.targeted]
EVENTS = [case for case in CASES if case.event]

every_case = pytest.mark.parametrize("case", CASES, ids=str)


@cache
def laws(case: Case, epsilon: Fraction) -> dict[Any, dict[Any, arb]]:
    return case.tables(epsilon)


def worst_loss(case: Case, epsilon: Fraction) -> Fraction:
    """The largest ln(p / q) over the outcomes of all pairs of neighbours."""
    table = laws(case, epsilon)
    with precise(128):
        return max(upper((table[x][o] / table[y][o]).log()) for x, y in case.pairs for o in table[x])


def worst_divergence(case: Case, alpha: Fraction) -> Fraction:
    """The largest Rényi divergence over all pairs of neighbours at epsilon 1, rounded down."""
    return max(_divergence(*(laws(case, Fraction(1))[value] for value in pair), alpha) for pair in case.pairs)


def _divergence(p: dict[Any, arb], q: dict[Any, arb], alpha: Fraction) -> Fraction:
    with precise(128):
        terms = [p[outcome] ** ball(alpha) * q[outcome] ** ball(1 - alpha) for outcome in p]
        return lower(sum(terms, arb(0)).log() / ball(alpha - 1))


def worst_delta(case: Case, mechanism: Any, epsilon: Fraction) -> Fraction:
    """The largest hockey stick over all pairs of neighbours, from the law of the noise far out."""
    law = noise_law if isinstance(case.values[0], int) else vector_law
    table = {value: law(mechanism, value, reach=10 + int(7 * mechanism.variance**0.5)) for value in case.values}
    with precise(128):
        odds = ball(epsilon).exp()
        sticks = [
            sum((part for o, p in table[x].items() if (part := p - odds * table[y][o]) > 0), arb(0))
            for x, y in case.pairs
        ]
        return max(map(upper, sticks))


def worst_excess(case: Case, epsilon: Fraction) -> Fraction:
    """How far the hockey stick of some pair is above what divergence and event allow it, at any of some points."""
    table, loss = laws(case, epsilon), claim(case, epsilon)
    excess = [Fraction(-1)]
    with precise(128):
        for at in (epsilon / 2, epsilon, 2 * epsilon, 4 * epsilon, Fraction(12)):
            allowed = loss.delta + min(_tail(loss.renyi(order), order, at) for order in ORDERS)
            excess += [_stick(table[x], table[y], at) - allowed for x, y in case.pairs]
    return max(excess)


def _stick(p: dict[Any, arb], q: dict[Any, arb], epsilon: Fraction) -> Fraction:
    odds = ball(epsilon).exp()
    return lower(sum((part for o in p if (part := p[o] - odds * q.get(o, arb(0))) > 0), arb(0)))


def _tail(divergence: Fraction, order: Fraction, epsilon: Fraction) -> Fraction:
    """The hockey stick that a divergence allows: docs/accounting.md, Theorem 1."""
    power = ball(order - 1)
    front = ball(1 - 1 / order) ** power / ball(order)
    return min(Fraction(1), upper(front * (power * ball(divergence - epsilon)).exp()))


def claim(case: Case, epsilon: Fraction) -> Loss:
    return case.claim(epsilon)


@every_case
def test_the_exact_law_is_a_probability(case: Case) -> None:
    for law in laws(case, Fraction(1)).values():
        with precise(128):
            total = sum(law.values(), arb(0))
        assert upper(total) > Fraction(99, 100) if case.complete else True
        assert lower(total) <= 1 + ROUNDING


@cases("case", PURE, ids=str, fast=6)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_worst_loss_never_exceeds_the_claim_and_meets_it_where_tight(case: Case, epsilon: Fraction) -> None:
    claimed, worst = to_pure(claim(case, epsilon)).epsilon, worst_loss(case, epsilon)
    assert worst <= claimed + ROUNDING
    if case.tight:
        assert worst >= claimed * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("case", PLANTED, ids=str)
def test_the_law_above_flags_planted_bugs(case: Case) -> None:
    assert worst_loss(case, Fraction(1)) > to_pure(claim(case, Fraction(1))).epsilon + Fraction(1, 10)


@pytest.mark.parametrize("case", [case for case in TARGETED if not case.pure], ids=str)
def test_the_renyi_divergence_of_gaussian_noise_meets_the_claim_where_the_order_is_whole(case: Case) -> None:
    claimed = claim(case, Fraction(1)).renyi(4)
    assert worst_divergence(case, Fraction(4)) >= claimed * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("case", BY_DELTA, ids=str)
def test_the_hockey_stick_never_exceeds_delta_and_meets_it_for_a_single_number(case: Case) -> None:
    single = isinstance(case.values[0], int)
    for epsilon in EPSILONS if single else EPSILONS[1:]:  # at the smallest, too many outcomes are near
        found = worst_delta(case, case.at(epsilon), epsilon)
        assert found <= DELTA
        assert found > DELTA * (1 - Fraction(1, 10**4)) or not single


@pytest.mark.parametrize("case", BY_DELTA, ids=str)
def test_the_law_above_flags_a_variance_without_its_factor_two(case: Case) -> None:
    enough = case.at(Fraction(1))
    assert worst_delta(case, DiscreteGaussian(enough.variance / 2, case.neighbours), Fraction(1)) > 3 * DELTA


@cases("case", [case for case in CASES if not case.event], ids=str, fast=8)
@pytest.mark.parametrize("alpha", ORDERS, ids=str)
def test_the_renyi_divergence_never_exceeds_the_claim(case: Case, alpha: Fraction) -> None:
    assert worst_divergence(case, alpha) <= claim(case, Fraction(1)).renyi(alpha) + ROUNDING


def test_the_law_above_flags_permute_and_flip_priced_as_the_exponential_mechanism() -> None:
    case = next(case for case in CASES if case.name == "permute and flip")
    assert worst_divergence(case, Fraction(4)) > BoundedRange(Fraction(1)).renyi(4) * Fraction(3, 2)


@cases("case", EVENTS, ids=str, fast=6)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_hockey_stick_never_exceeds_what_divergence_and_event_allow(case: Case, epsilon: Fraction) -> None:
    assert worst_excess(case, epsilon) <= 0


@pytest.mark.parametrize("case", PLANTED_EVENTS, ids=str)
def test_the_law_above_flags_planted_bugs_in_the_choice_of_keys(case: Case) -> None:
    assert worst_excess(case, Fraction(1)) > case.at(Fraction(1)).loss(sensitivity=case.sensitivity).delta / 10


@every_case
def test_more_noise_is_never_dearer(case: Case) -> None:
    for order in ORDERS:
        prices = [price(claim(case, epsilon), order=order).divergence for epsilon in EPSILONS]
        assert prices == sorted(prices)
        assert prices[0] < prices[-1]


@pytest.mark.parametrize("case", TARGETED, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_calibrated_is_the_least_noise(case: Case, epsilon: Fraction) -> None:
    """The loss is what was asked for: not more, and nothing of it is wasted."""
    loss = claim(case, epsilon)
    spent = loss.rho if isinstance(loss, ZCDP) else to_pure(loss).epsilon
    assert epsilon * (1 - Fraction(1, 10**6)) <= spent <= epsilon


@every_case
@pytest.mark.parametrize("count", [1, 2, 7])
def test_n_uses_cost_n_times_one_use(case: Case, count: int) -> None:
    loss = claim(case, Fraction(1))
    assert compose([loss] * count) == repeated(loss, count)
    for order in ORDERS:
        assert price(repeated(loss, count), order=order) == price(loss, order=order) * count
        assert price(loss, order=order).divergence > 0


@every_case
def test_a_missing_relation_is_refused(case: Case) -> None:
    with pytest.raises(MissingNeighbours, match="neighbours is None"):
        case.calibrated(sensitivity=case.sensitivity, epsilon=Fraction(1), neighbours=None)


@pytest.mark.parametrize("case", TARGETED, ids=str)
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "x", None])
def test_an_epsilon_that_is_not_a_positive_number_is_refused(case: Case, epsilon: Any) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        case.calibrated(sensitivity=case.sensitivity, epsilon=epsilon, neighbours=case.neighbours)


@every_case
@pytest.mark.parametrize("sensitivity", [-1, float("nan"), float("inf")])
def test_a_sensitivity_that_is_not_a_bound_is_refused(case: Case, sensitivity: float) -> None:
    with pytest.raises(InvalidParameter, match="sensitivity"):
        case.at(Fraction(1)).loss(sensitivity=sensitivity)


@every_case
def test_a_mechanism_is_a_frozen_public_fact(case: Case) -> None:
    mechanism = case.at(Fraction(1))
    assert mechanism == case.at(Fraction(1))
    assert hash(mechanism) == hash(case.at(Fraction(1)))
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        mechanism.neighbours = None


@pytest.mark.parametrize("case", [case for case in CASES if hasattr(case.at(Fraction(1)), "release")], ids=str)
def test_equal_randomness_gives_equal_releases(case: Case) -> None:
    """All randomness is handed in: nothing else moves the output."""
    mechanism, value = case.at(Fraction(1)), case.values[-1]
    first, second = (mechanism.release(value, SeededEntropy("same")) for _ in range(2))
    assert first == second


def test_no_mechanism_is_left_out_wherever_it_is() -> None:
    assert {"SubsampledStability", "LaplaceEach", "SphericalNoise"} <= {kind.__name__ for kind in public_mechanisms()}
    assert left_out() == frozenset()


def test_without_its_excuse_a_mechanism_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(EXCUSED, "SubsampledStability")
    assert {kind.__name__ for kind in left_out()} == {"SubsampledStability"}


def test_every_excuse_is_needed_and_names_tests_that_exist() -> None:
    listed = {type(case.at(Fraction(1))) for case in CASES}
    assert {kind.__name__ for kind in public_mechanisms() - listed} == set(EXCUSED)
    root = Path(__file__).parents[2]
    assert all(excuse.reason and (root / excuse.test).is_file() for excuse in EXCUSED.values())
