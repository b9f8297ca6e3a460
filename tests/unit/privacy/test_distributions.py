"""Distributions are exact, and nothing that is done to an output makes two of them easier to tell apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.privacy.divergences import Distribution, epsilon_distance, is_private, kl_divergence, max_divergence
from strategies import distributions, odds


def test_masses_are_read_exactly_and_only_the_support_is_kept() -> None:
    read = Distribution({"a": 0.1, "b": "0.2", "c": Fraction(7, 10), "d": 0})
    assert dict(read) == {"a": Fraction(1, 10), "b": Fraction(1, 5), "c": Fraction(7, 10)}
    assert read.mass("d") == 0
    assert read == {"c": Fraction(7, 10), "b": Fraction(1, 5), "a": Fraction(1, 10)}
    assert hash(read) == hash(Distribution(dict(reversed(list(read.items())))))


@pytest.mark.parametrize("masses", [{"a": 0.9}, {"a": "0.6", "b": "0.6"}, {"a": 1.5, "b": -0.5}, {}])
def test_masses_that_do_not_add_up_to_one_are_refused(masses: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        Distribution(masses)


def test_weights_are_scaled_exactly_and_must_not_all_be_zero() -> None:
    assert dict(Distribution.weighted({"a": 1, "b": 2})) == {"a": Fraction(1, 3), "b": Fraction(2, 3)}
    assert dict(Distribution.uniform("xyz")) == dict.fromkeys("xyz", Fraction(1, 3))
    with pytest.raises(InvalidParameter, match="at least one is positive"):
        Distribution.weighted({"a": 0})
    with pytest.raises(InvalidParameter):
        Distribution.uniform([])


def test_probabilities_means_and_pairs() -> None:
    die = Distribution.uniform(range(1, 7))
    assert die.probability(lambda face: face % 2 == 0) == Fraction(1, 2)
    assert die.mean(lambda face: face) == Fraction(7, 2)
    assert die.times(die).mapped(sum).mass(7) == Fraction(1, 6)


@pytest.mark.textbook("S1.7")
@given(distributions(), distributions(), st.lists(distributions(outcomes=3), min_size=4, max_size=4), odds())
def test_post_processing_never_makes_outputs_easier_to_tell_apart(
    p: Distribution[int], q: Distribution[int], channel: list[Distribution[int]], ratio: Fraction
) -> None:
    after_p, after_q = p.through(channel.__getitem__), q.through(channel.__getitem__)
    assert epsilon_distance(after_p, after_q, odds=ratio) <= epsilon_distance(p, q, odds=ratio)
    assert max_divergence(after_p, after_q) <= max_divergence(p, q)
    rounding = Fraction(1, 2**200)
    assert kl_divergence(after_p, after_q) <= kl_divergence(p, q) + rounding


@pytest.mark.textbook("S1.7")
def test_a_map_that_looks_at_the_data_is_not_post_processing() -> None:
    coin = {"heads": Fraction(1, 2), "tails": Fraction(1, 2)}
    outputs = {"x": Distribution.of(coin), "y": Distribution.of(coin)}

    def peek(database: str) -> Mapping[str, Fraction]:
        return outputs[database].mapped(lambda side: side + database)

    assert is_private(outputs["x"], outputs["y"], epsilon=0)
    assert max_divergence(peek("x"), peek("y")) == math.inf
