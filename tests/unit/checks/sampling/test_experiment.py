"""Composition, played as a game: theorems hold for every adversary tried, and too small a bill is noticed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from checks import ALARM, SeededEntropy, chi_square
from dalenius.accounting.composition import advanced_composition, optimal_composition
from dalenius.checks.sampling.experiment import Round, View, drawn, exact_views, sampled_view
from dalenius.checks.sampling.sampling import sampling_audit
from dalenius.errors import InvalidParameter, MissingNeighbours
from dalenius.privacy.divergences import Distribution, approximate_max_divergence, is_private, largest_odds
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.reals import ball, precise, upper

PEOPLE = AddRemove()
BOB, NOBODY = Counter({"bob": 1}), Counter[str]()
Adversary = Callable[[View], Round[Any]]


def presence(odds: Fraction, database: Counter[str]) -> dict[int, Fraction]:
    """Randomized response on whether Bob is in the database: (ln odds)-DP."""
    truth = database["bob"]
    return {truth: odds / (1 + odds), 1 - truth: 1 / (1 + odds)}


def count(odds: Fraction, database: Counter[str]) -> dict[int, Fraction]:
    """The number of people, kept in 0 to 3 after a step of geometric noise: (ln odds)-DP."""
    size, r = sum(database.values()), 1 / odds
    masses = {k: (1 - r) / (1 + r) * r ** abs(k - size) for k in range(1, 3)}
    return masses | {0: r**size / (1 + r), 3: r ** (3 - size) / (1 + r)}


def steady(view: View, odds: Fraction = Fraction(3, 2)) -> Round[Any]:
    """Asks whether Bob is there, again and again."""
    return Round(databases=(BOB, NOBODY), mechanism=presence, parameters=odds)


def adaptive(view: View) -> Round[Any]:
    """Changes the database, the mechanism and its parameter with the answers so far."""
    crowd = Counter({"ann": sum(view) % 3})
    pair = (crowd + BOB, crowd) if sum(view) % 2 else (crowd, crowd + BOB)
    return Round(databases=pair, mechanism=count if len(view) % 2 else presence, parameters=Fraction(2 + sum(view) % 2))


def views(adversary: Adversary, rounds: int) -> tuple[Distribution[View], Distribution[View]]:
    first, second = (exact_views(adversary, rounds=rounds, world=b, neighbours=PEOPLE) for b in (0, 1))
    return first, second


def epsilon(odds: Fraction) -> Fraction:
    with precise():
        return upper(ball(odds).log())


@pytest.mark.textbook("S6.7")
def test_the_view_is_the_law_of_all_outputs() -> None:
    first, second = views(steady, 2)
    assert first == {(1, 1): Fraction(9, 25), (1, 0): Fraction(6, 25), (0, 1): Fraction(6, 25), (0, 0): Fraction(4, 25)}
    assert dict(second) == {tuple(1 - bit for bit in view): mass for view, mass in first.items()}


@pytest.mark.textbook("S6.7")
def test_what_the_adversary_sees_decides_what_it_asks() -> None:
    """After a yes it asks a perfectly private question, after a no one that is not private at all."""

    def curious(view: View) -> Round[Any]:
        return steady(view, Fraction(3)) if not view else steady(view, Fraction(1) if view[0] else Fraction(10**9))

    first, _ = views(curious, 2)
    assert first[(1, 1)] == first[(1, 0)] == Fraction(3, 8)
    assert first[(0, 0)] / first[(0, 1)] == Fraction(1, 10**9)


@pytest.mark.textbook("S6.7", "S6.1")
@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_basic_composition_holds_for_adaptive_adversaries(rounds: int) -> None:
    first, second = views(adaptive, rounds)
    assert max(largest_odds(first, second), largest_odds(second, first)) <= 3**rounds


@pytest.mark.textbook("S6.7", "S6.1")
def test_basic_composition_is_tight() -> None:
    first, second = views(steady, 5)
    assert largest_odds(first, second) == Fraction(3, 2) ** 5
    assert not is_private(first, second, epsilon=epsilon(Fraction(3, 2)) * 4)


@pytest.mark.textbook("S6.7", "S6.3")
@pytest.mark.parametrize("adversary", [steady, adaptive])
@pytest.mark.parametrize("slack", [Fraction(1, 10), Fraction(1, 100)])
def test_advanced_composition_holds(adversary: Adversary, slack: Fraction) -> None:
    rounds = 6
    first, second = views(adversary, rounds)
    each = epsilon(Fraction(3, 2) if adversary is steady else Fraction(3))
    bound = advanced_composition(epsilon=each, count=rounds, slack=slack)
    assert is_private(first, second, epsilon=bound.epsilon, delta=bound.delta)


@pytest.mark.textbook("S6.7", "S6.6")
@pytest.mark.parametrize("delta", [Fraction(1, 5), Fraction(1, 50)])
def test_optimal_composition_is_what_the_experiment_gives(delta: Fraction) -> None:
    first, second = views(steady, 8)
    bound = optimal_composition(epsilon=epsilon(Fraction(3, 2)), count=8, target_delta=delta).epsilon
    assert float(approximate_max_divergence(first, second, delta=delta)) == pytest.approx(float(bound), rel=1e-12)


@pytest.mark.textbook("S6.7", "S6.3")
@pytest.mark.parametrize(
    ("misprint", "odds", "rounds"),
    [
        (lambda e, k, d: math.sqrt(2 * k * math.log(1 / d)) * e + k * e * (math.exp(d) - 1), Fraction(20), 8),
        (lambda e, k, d: math.sqrt(k * math.log(1 / d)) * e + e * (math.exp(e) - 1), Fraction(27, 10), 9),
        (lambda e, k, d: e, Fraction(2), 3),
    ],
    ids=["slack instead of epsilon", "without the 2 and a count", "billed once"],
)
def test_a_bill_that_is_too_small_is_noticed(
    misprint: Callable[[float, int, float], float], odds: Fraction, rounds: int
) -> None:
    delta = Fraction(1, 10)
    first, second = views(lambda view: steady(view, odds), rounds)
    claim = misprint(math.log(odds), rounds, float(delta))
    assert not is_private(first, second, epsilon=claim, delta=delta)
    true = advanced_composition(epsilon=epsilon(odds), count=rounds, slack=delta)
    assert is_private(first, second, epsilon=true.epsilon, delta=true.delta)


def test_databases_must_be_neighbours_in_every_round() -> None:
    def cheat(view: View) -> Round[Any]:
        far = Counter({"bob": 2})
        return Round(databases=(far if view else BOB, NOBODY), mechanism=presence, parameters=Fraction(2))

    assert len(exact_views(cheat, rounds=1, world=0, neighbours=PEOPLE)) == 2
    with pytest.raises(InvalidParameter, match="differ by adding or removing"):
        exact_views(cheat, rounds=2, world=0, neighbours=PEOPLE)


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"rounds": 1.5}])
def test_bad_rounds_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        exact_views(steady, **({"world": 0, "neighbours": PEOPLE} | wrong))


def test_the_neighbours_must_be_stated() -> None:
    with pytest.raises(MissingNeighbours):
        exact_views(steady, rounds=1, world=0, neighbours=None)


def sampled(adversary: Adversary, rounds: int) -> Callable[[int, int], NDArray[Any]]:
    entropy = SeededEntropy("experiment")

    def runnable(view: View) -> Round[Any]:
        move = adversary(view)
        return Round(databases=move.databases, mechanism=drawn(move.mechanism), parameters=move.parameters)

    def run(world: Any, size: int) -> NDArray[Any]:
        game = {"rounds": rounds, "world": world, "neighbours": PEOPLE, "entropy": entropy}
        return np.array([sampled_view(runnable, **game) for _ in range(size)])

    return run


@pytest.mark.textbook("S6.7")
def test_sampled_views_follow_the_exact_law() -> None:
    """False-alarm rate 1e-9; the other world's law is noticed."""
    names = {view: place for place, view in enumerate(product(range(4), repeat=2))}
    seen = [names[tuple(row)] for row in sampled(adaptive, 2)(0, 2000).tolist()]
    right, wrong = ({names[view]: float(mass) for view, mass in law.items()} for law in views(adaptive, 2))
    assert chi_square(seen, lambda place: right.get(place, 0.0)) > ALARM
    assert chi_square(seen, lambda place: wrong.get(place, 0.0)) < ALARM


@pytest.mark.textbook("S6.7", "S7.7")
def test_the_audit_notices_three_uses_that_were_billed_as_one() -> None:
    """False-alarm rate 1e-9."""
    finding = sampling_audit(
        sampled(lambda view: steady(view, Fraction(3)), 3), 0, 1, samples=2000, confidence=1 - Fraction(ALARM)
    )
    assert finding.refutes(epsilon=epsilon(Fraction(3)))
    assert not finding.refutes(epsilon=epsilon(Fraction(27)))
