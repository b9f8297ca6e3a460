"""Randomized response: exact probabilities, a tight loss, and an estimate that is right on average."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import SeededEntropy
from dalenius.errors import InvalidParameter, MissingNeighbours, NeighbourMismatch
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.noise.randomized_response import CoinResponse, RandomizedResponse, Response
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.reals import ball, precise
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy

oracle = mpmath.mp.clone()
oracle.dps = 40
EPSILONS = st.fractions(Fraction(1, 20), 6).filter(bool)
COINS = CoinResponse(neighbours=Replace())


class Words(Entropy):
    """Hands out the given 64-bit words, and zeros when they are used up."""

    def __init__(self, *words: int) -> None:
        self._bytes = b"".join(word.to_bytes(8, "little") for word in words)

    def read(self, count: int) -> bytes:
        head, self._bytes = self._bytes[:count], self._bytes[count:]
        return head.ljust(count, b"\0")


def response(epsilon: Any, choices: int = 2) -> RandomizedResponse:
    return RandomizedResponse(epsilon, Replace(), choices)


def expected(mechanism: Response, answers: list[int], figure: Callable[[list[int]], float]) -> float:
    """The mean of a figure over all reports, weighted with their exact probabilities."""
    total = 0.0
    for reports in product(range(mechanism.choices), repeat=len(answers)):
        chances = [float(mechanism.chance(answer=a, report=r)) for a, r in zip(answers, reports, strict=True)]
        total += float(np.prod(chances)) * figure(list(reports))
    return total


@pytest.mark.textbook("S4.1")
def test_two_coins_tell_the_truth_three_times_in_four() -> None:
    """Tails: the truth. Heads: the second coin decides, and heads is yes; so no becomes yes on heads, heads."""
    for truth in (0, 1):
        reports = [
            truth if first == "tails" else int(second == "heads")
            for first, second in product(("tails", "heads"), repeat=2)
        ]
        for report in (0, 1):
            chance = Fraction(reports.count(report), 4)
            assert COINS.chance(answer=truth, report=report).contains(ball(chance))
            assert chance == (COINS.probability if report == truth else 1 - COINS.probability)


@pytest.mark.textbook("S4.1")
def test_two_coins_cost_the_logarithm_of_three() -> None:
    loss = COINS.loss(sensitivity=1)
    assert COINS.probability / (1 - COINS.probability) == 3
    excess = oracle.mpf(loss.epsilon.numerator) / loss.epsilon.denominator - oracle.log(3)
    assert abs(excess) < 1e-38
    with precise(512):
        assert ball(3).log() < ball(loss.epsilon)  # rounded up, never down
    assert COINS.loss(sensitivity=4) == PureDP(4 * loss.epsilon)


@pytest.mark.textbook("S4.1")
def test_the_coin_estimate_is_twice_the_yes_answers_minus_a_half() -> None:
    for reports in ([1, 0, 0, 1, 1], [0, 0, 0], [1]):
        shares = COINS.estimate(reports)
        assert shares.estimates[1] == pytest.approx(2 * np.mean(reports) - 0.5)
        assert shares.standard_errors[1] == pytest.approx((3 / 16) ** 0.5 * 2 / len(reports) ** 0.5)


@pytest.mark.textbook("S4.2")
@given(epsilon=EPSILONS, choices=st.integers(2, 6))
def test_the_worst_loss_over_all_answers_and_reports_is_exactly_epsilon(epsilon: Fraction, choices: int) -> None:
    mechanism, codes = response(epsilon, choices), range(choices)
    with precise():
        chances = [[mechanism.chance(answer=a, report=r) for r in codes] for a in codes]
        losses = [(chances[a][r] / chances[b][r]).log() for a in codes for b in codes for r in codes]
        assert all(loss <= ball(epsilon) + 1e-60 for loss in losses)
        assert any(abs(loss - ball(epsilon)) < 1e-60 for loss in losses)
        assert all(abs(sum(row, start=ball(0)) - 1) < 1e-60 for row in chances)
    assert mechanism.loss() == mechanism.loss(sensitivity=1) == PureDP(epsilon)
    assert mechanism.loss(sensitivity=3) == PureDP(3 * epsilon)


@pytest.mark.textbook("S4.2")
def test_the_truth_is_kept_with_the_stated_probability() -> None:
    for epsilon, choices in ((Fraction(1), 2), (Fraction(1, 3), 5)):
        odds = oracle.exp(oracle.mpf(epsilon.numerator) / epsilon.denominator)
        kept = response(epsilon, choices).chance(answer=0, report=0)
        assert float(kept) == pytest.approx(float(odds / (odds + choices - 1)), rel=1e-15)


@pytest.mark.textbook("S4.2")
@pytest.mark.parametrize("mechanism", [COINS, response(1), response("0.3"), response(2, 3)], ids=repr)
@pytest.mark.parametrize("answers", [[0, 1, 1, 0, 1], [1, 1, 1], [0, 0]], ids=str)
def test_the_estimate_is_unbiased_and_its_standard_error_right(mechanism: Response, answers: list[int]) -> None:
    for code in range(mechanism.choices):

        def miss(reports: list[int], code: int = code) -> float:
            return float(mechanism.estimate(reports).estimates[code]) - answers.count(code) / len(answers)

        assert expected(mechanism, answers, miss) == pytest.approx(0, abs=1e-9)
        if mechanism.choices == 2:
            spread = expected(mechanism, answers, lambda reports: miss(reports) ** 2) ** 0.5
            assert mechanism.estimate(answers).standard_errors[code] == pytest.approx(spread)


@pytest.mark.textbook("S4.2")
@given(epsilon=EPSILONS, n=st.integers(1, 10**6))
def test_the_standard_error_for_yes_and_no_is_that_of_the_formula(epsilon: Fraction, n: int) -> None:
    e = oracle.mpf(epsilon.numerator) / epsilon.denominator
    formula = oracle.exp(e / 2) / ((oracle.exp(e) - 1) * oracle.sqrt(n))
    reports = np.zeros(n, dtype=np.int64) if n < 1000 else np.arange(n) % 2
    assert response(epsilon).estimate(reports).standard_errors == pytest.approx([float(formula)] * 2)


@pytest.mark.textbook("S4.2")
@pytest.mark.parametrize("epsilon", ["1/10", "1/2", "1"])
def test_a_share_costs_root_n_more_by_randomized_response_than_by_a_trusted_curator(epsilon: str) -> None:
    """Standard errors 1 / (epsilon sqrt(n)) against sqrt(2) / (epsilon n), both from exact variances."""
    size, sizes = float(Fraction(epsilon)), [100, 10_000, 1_000_000]

    def local(n: int) -> float:
        return float(response(epsilon).estimate(np.zeros(n, dtype=np.int64)).standard_errors[1])

    def trusted(n: int) -> float:
        noise = DiscreteLaplace.calibrated(sensitivity=1, epsilon=epsilon, neighbours=Replace())
        return float(noise.law.variance()) ** 0.5 / n

    for n in sizes:
        assert local(n) == pytest.approx(1 / (size * n**0.5), rel=size**2 / 20)
        assert trusted(n) == pytest.approx(2**0.5 / (size * n), rel=size**2 / 20)
        assert local(n) / trusted(n) == pytest.approx((n / 2) ** 0.5, rel=size**2 / 10)
    for few, many in pairwise(sizes):
        assert local(few) / local(many) == pytest.approx((many / few) ** 0.5)
        assert trusted(few) / trusted(many) == pytest.approx(many / few)


def test_the_standard_error_for_many_choices_follows_the_shares() -> None:
    mechanism, n = response(1, 4), 10**6
    truth, other = (float(mechanism.chance(answer=0, report=r)) for r in (0, 1))
    reports = np.repeat(np.arange(4), [int(n * (truth / 2 + other / 2))] * 2 + [int(n * other)] * 2)
    shares = mechanism.estimate(reports)
    assert shares.estimates == pytest.approx([0.5, 0.5, 0, 0], abs=1e-4)
    spread = (truth * (1 - truth) + other * (1 - other)) / 2
    assert shares.standard_errors[0] == pytest.approx((spread / reports.size) ** 0.5 / (truth - other), rel=1e-3)


@pytest.mark.textbook("S4.2")
def test_clipping_each_answer_before_averaging_is_flagged_as_biased() -> None:
    """Estimates of single answers lie outside of [0, 1]; clipped there, the average is off however large the crowd."""
    mechanism, answers = response("0.5"), [0, 0, 0, 0, 1]

    def clipped_early(reports: list[int]) -> float:
        return float(np.mean([np.clip(mechanism.estimate([report]).estimates[1], 0, 1) for report in reports]))

    assert abs(expected(mechanism, answers, clipped_early) - 0.2) > 0.15
    assert mechanism.estimate([0, 0, 0]).estimates[1] < 0
    assert mechanism.estimate([0, 0, 0]).clipped() == pytest.approx([1, 0])


@pytest.mark.parametrize("mechanism", [response(1), response(1, 4)], ids=repr)
def test_the_error_bar_holds(mechanism: Response) -> None:
    """Its failure rate, over all reports of a small crowd, is at most beta; and it is Hoeffding's."""
    answers, beta = [1, 0, 1, 1, 0, 0], Fraction(1, 3)
    width = float(mechanism.error(beta, count=6))
    missed = expected(
        mechanism, answers, lambda reports: float(abs(mechanism.estimate(reports).estimates[1] - 0.5) > width)
    )
    assert 0 < missed <= beta
    above = float(mechanism.error(beta, count=6, two_sided=False))
    over = expected(mechanism, answers, lambda reports: float(mechanism.estimate(reports).estimates[1] - 0.5 > above))
    assert over <= beta
    truth, other = (float(mechanism.chance(answer=0, report=r)) for r in (0, 1))
    assert width == pytest.approx(float(oracle.sqrt(oracle.log(6) / 12)) / (truth - other))


def test_an_undecided_coin_is_decided_by_more_bits() -> None:
    """The first 64 bits of a uniform number equal those of the probability: the next 64 must decide."""
    mechanism = response(1)
    with precise(512):
        chance = 1 / (1 + ball(-1).exp())
        digits = int((chance * ball(2**128)).floor().unique_fmpz())
    first, second = digits >> 64, digits & (2**64 - 1)
    assert mechanism.release([1], Words(first - 1)) == [1]
    assert mechanism.release([1], Words(first + 1)) == [0]
    assert mechanism.release([1], Words(first, second - 1)) == [1]
    assert mechanism.release([1], Words(first, second + 1)) == [0]


def test_a_lie_is_never_the_truth() -> None:
    mechanism, always_lies = response("0.01", 5), 2**64 - 1
    answers = list(range(5))
    reports = mechanism.release(answers, Words(*[always_lies] * 5, 0, 1, 2, 3, 3))
    assert all(report != answer for report, answer in zip(reports, answers, strict=True))
    assert set(reports) <= set(range(5))


@pytest.mark.parametrize("epsilon", ["1e-12", "1", "50", "1000"])
def test_every_epsilon_can_be_released(epsilon: str) -> None:
    reports = response(epsilon, 3).release(np.array([0, 1, 2] * 50), SeededEntropy(epsilon))
    assert set(reports.tolist()) <= {0, 1, 2}
    if Fraction(epsilon) >= 50:
        assert reports.tolist() == [0, 1, 2] * 50


def test_kinds_and_shapes_are_kept() -> None:
    mechanism, source = response(1, 3), SeededEntropy(0)
    assert type(mechanism.release(2, source)) is int
    assert type(mechanism.release([0, 1], source)) is list
    assert type(mechanism.release((0, 1), source)) is tuple
    assert mechanism.release(np.zeros((2, 3), dtype=np.int8), source).shape == (2, 3)
    assert mechanism.release([], source) == []
    assert set(response(1).release(np.array([True, False] * 20), source).tolist()) == {0, 1}
    assert response(1).estimate(np.array([True, True])).estimates[1] > 1


@pytest.mark.textbook("S4.2")
def test_calibrated_divides_epsilon_among_the_answers_of_one_person() -> None:
    mechanism = RandomizedResponse.calibrated(epsilon=2, sensitivity=4, choices=3, neighbours=Replace())
    assert mechanism == RandomizedResponse(Fraction(1, 2), Replace(), 3)
    assert mechanism.loss(sensitivity=4) == PureDP(Fraction(2))


@pytest.mark.parametrize("value", [2, -1, [0, 5], 0.5, "1", np.array([0.0]), 2**70])
def test_what_is_no_answer_is_refused_without_showing_it(value: Any) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        response(1).release(value, SeededEntropy(0))
    assert repr(value) not in str(refusal.value).replace("from 0 to 1", "")


@pytest.mark.parametrize(
    "make",
    [
        lambda: response(0),
        lambda: response(-1),
        lambda: response("nan"),
        lambda: response(1, 1),
        lambda: CoinResponse(Fraction(1, 2), Replace()),
        lambda: CoinResponse(Fraction(1), Replace()),
        lambda: response(1).estimate([]),
        lambda: response(1).error("0.1", count=0),
        lambda: response(1).error(0, count=5),
        lambda: RandomizedResponse.calibrated(epsilon=1, sensitivity=0, neighbours=Replace()),
        lambda: response(1).loss(sensitivity=-1),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_only_replacement_is_protected() -> None:
    for make in (CoinResponse, RandomizedResponse):
        with pytest.raises(NeighbourMismatch):
            make(Fraction(3, 4), AddRemove())
        with pytest.raises(MissingNeighbours):
            make(Fraction(3, 4))


def test_a_step_that_changes_several_answers_costs_each_of_them() -> None:
    mechanism = RandomizedResponse(Fraction(1), Replace())
    assert mechanism.loss(sensitivity=Sensitivity(l1=3, linf=1)).epsilon == 3
