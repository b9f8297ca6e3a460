"""Exponential weights: the filter keeps its margin, doubtful cases go to exact arithmetic, bad scores are refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import SeededEntropy
from dalenius.errors import InvalidParameter, UnusableValue
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.randomness import selection
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.selection import exponential_coins, exponential_weights, integer_scores

RATES = [Fraction(1, 2), Fraction(2), Fraction(1000), Fraction(1, 3000), Fraction(7, 10**9), Fraction(3, 10**40)]


class Scripted(Entropy):
    """Hands out the given numbers in turn, whatever is asked for."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)

    def read(self, count: int) -> bytes:
        return self.numbers.pop(0).to_bytes(count, "little")

    def below(self, n: int) -> int:
        return self.numbers.pop(0) % n


def misses(gap: int, rate: Fraction) -> tuple[Fraction, Fraction]:
    """By how much the exact weight lies below and above the estimate with its margin; not positive if inside."""
    (estimate,) = selection._estimates(np.array([gap], dtype=object), rate)
    with precise():
        weight = ball(-rate * gap).exp()
    slack = Fraction(selection._MARGIN)
    return Fraction(estimate) * (1 - slack) - lower(weight), upper(weight) - Fraction(estimate) * (1 + slack)


@given(rate=st.sampled_from(RATES), reach=st.floats(0, 1), scale=st.integers(1, 44))
def test_estimates_enclose_the_exact_weight_within_their_margin(rate: Fraction, reach: float, scale: int) -> None:
    gap = int(Fraction(reach) * scale / rate)
    assert max(misses(gap, rate)) <= 0


@pytest.mark.parametrize("rate", RATES)
def test_estimates_of_negligible_weights_are_off_by_less_than_one_unit_of_64_bits(rate: Fraction) -> None:
    for factor in (46, 100, 800, 10**6):
        below, above = misses(int(factor / rate) + 1, rate)
        assert max(below, above) < Fraction(1, 2**64)


def test_the_margin_notices_an_estimate_that_is_slightly_off(monkeypatch: pytest.MonkeyPatch) -> None:
    original = selection._column
    monkeypatch.setattr(selection, "_column", lambda step, count: original(step * (1 + Fraction(1, 2**24)), count))
    selection._powers.cache_clear()
    missed = max(misses(40, Fraction(1, 2)))
    selection._powers.cache_clear()
    assert missed > 0


@pytest.mark.parametrize("size", [None, 1])
def test_a_point_between_weight_and_mass_chooses_nobody(size: int | None) -> None:
    entropy = Scripted(sum(_masses([0, 0])) - 1, 0)  # the last point of the last mass, then the first of the first
    assert exponential_weights([0, 0], 1, entropy, size=size) == 0
    assert entropy.numbers == []


@pytest.mark.parametrize("base", [None, [1, 0, 2, 7]])
def test_many_choices_follow_the_law_of_one(base: list[int] | None) -> None:
    """A correct draw fails once in 10^8 runs."""
    law = ExponentialMechanism(rate=Fraction(1, 3), neighbours=AddRemove(), base=base).probabilities([5, 9, 4, 0])
    counts = np.bincount(exponential_weights([5, 9, 4, 0], Fraction(1, 3), SeededEntropy("many"), base, size=40_000))
    for count, chance in zip(counts, (float(mass.mid()) for mass in law), strict=True):
        assert abs(count - 40_000 * chance) <= 6 * (40_000 * chance * (1 - chance)) ** 0.5


def _masses(scores: list[int]) -> list[int]:
    estimates = selection._estimates(selection._gaps(integer_scores(scores), np.int64(max(scores))), Fraction(1))
    bits = 61 - len(scores).bit_length()
    return [int(estimate * 2.0**bits * (1 + selection._MARGIN)) + 1 for estimate in estimates]


@pytest.mark.parametrize(("rest", "heads"), [(0, True), (2**64 - 1, False)])
def test_a_coin_on_the_edge_is_decided_by_further_bits(rest: int, heads: bool) -> None:
    with precise():
        threshold = int(lower(ball(-1).exp() * 2**53))  # the first 53 bits of 1/e do not decide
    words = (threshold << 11) << 64 | 0  # the better candidate's word is small: heads
    entropy = Scripted(words, rest)
    assert exponential_coins([1, 0], 1, entropy).tolist() == [True, heads]
    assert entropy.numbers == []


@given(
    scores=st.lists(st.integers(-50, 50), min_size=1, max_size=6),
    shift=st.integers(-(10**30), 10**30),
    seed=st.integers(0, 10**6),
)
def test_adding_a_constant_to_all_scores_changes_nothing(scores: list[int], shift: int, seed: int) -> None:
    moved = [score + shift for score in scores]
    for draw in (exponential_weights, exponential_coins):
        here, there = (draw(s, Fraction(1, 7), SeededEntropy(seed)) for s in (scores, moved))
        assert np.array_equal(here, there)


@given(scores=st.lists(st.integers(-9, 9), min_size=1, max_size=6), seed=st.integers(0, 10**6))
def test_every_kind_of_integers_gives_the_same_choice(scores: list[int], seed: int) -> None:
    kinds = [scores, tuple(scores), np.array(scores), np.array(scores, dtype=np.int8), [np.int64(s) for s in scores]]
    assert len({exponential_weights(kind, "0.3", SeededEntropy(seed)) for kind in kinds}) == 1


@given(seed=st.integers(0, 10**6))
def test_a_base_measure_of_equal_parts_is_none_at_all(seed: int) -> None:
    scores = [3, 1, 4, 1, 5]
    plain = exponential_weights(scores, 1, SeededEntropy(seed))
    assert exponential_weights(scores, 1, SeededEntropy(seed), base=[Fraction(1, 7)] * 5) == plain


def test_a_candidate_of_base_zero_is_never_chosen() -> None:
    for seed in range(200):
        assert exponential_weights([0, 9, 1], "0.1", SeededEntropy(seed), base=[1, 0, 2]) != 1


def test_an_extreme_base_measure_does_not_stall_the_choice() -> None:
    # The best score has a base of 10^-400: anchored at its weight, all others would be far too heavy.
    tiny = Fraction(1, 10**400)
    assert exponential_weights([10, 0, 0], 1, SeededEntropy(1), base=[tiny, 0, 1]) == 2
    assert exponential_weights([2000, 0, 0], 1, SeededEntropy(1), base=[tiny, 0, 1]) == 0


@pytest.mark.parametrize(
    "scores",
    [
        [-(2**63), 2**63 - 1],
        np.array([-(2**63), 2**63 - 1]),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        [0, 10**400],
        [-(10**400), 0],
    ],
)
def test_the_largest_scores_do_not_overflow(scores: list[int]) -> None:
    assert exponential_weights(scores, 1, SeededEntropy(3)) == 1
    assert exponential_coins(scores, 1, SeededEntropy(3)).tolist() == [False, True]


@pytest.mark.parametrize(
    "scores",
    [
        [1.0, 2.0],
        [1, float("nan")],
        np.array([0.5]),
        [True, False],
        np.array([True]),
        ["1"],
        [[1, 2]],
        [None],
        np.eye(2, dtype=int),
    ],
)
def test_scores_that_are_not_whole_numbers_are_refused(scores: list[int]) -> None:
    with pytest.raises(UnusableValue, match=r"an integer|one score for each"):
        exponential_weights(scores, 1, SeededEntropy(0))


@pytest.mark.parametrize("rate", [Fraction(10**20, 3), Fraction(10**4000)])
def test_enormous_rates_choose_the_best(rate: Fraction) -> None:
    assert exponential_weights([0, 1], rate, SeededEntropy(0)) == 1


@pytest.mark.parametrize("empty", [[], (), np.array([], dtype=np.int64)])
def test_an_empty_list_of_candidates_is_refused(empty: list[int]) -> None:
    with pytest.raises(InvalidParameter, match="candidates"):
        exponential_weights(empty, 1, SeededEntropy(0))


def test_the_message_about_bad_scores_does_not_show_them() -> None:
    with pytest.raises(InvalidParameter) as caught:
        integer_scores([31337.5])  # type: ignore[list-item]
    assert "31337" not in str(caught.value)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_a_rate_that_is_not_positive_is_refused(rate: float) -> None:
    with pytest.raises(InvalidParameter):
        exponential_weights([1, 2], rate, SeededEntropy(0))


@pytest.mark.parametrize("base", [[1], [0, 0], [1, -1], [1, 2, 3]])
def test_a_base_measure_that_does_not_fit_is_refused(base: list[int]) -> None:
    with pytest.raises(InvalidParameter, match="base"):
        exponential_weights([1, 2], 1, SeededEntropy(0), base=base)
