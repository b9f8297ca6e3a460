"""Choices by score, with their exact laws.

The exact law of the ordered list that one-shot top-k gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import accumulate, permutations
from typing import Any

from flint import arb

from dalenius.mechanisms.noise.histogram import OneWayMarginals
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dalenius.mechanisms.selection.prefix import PrefixSearch
from dalenius.mechanisms.selection.top_k import OneShotTopK, TopK
from dalenius.privacy.reals import precise
from dalenius.randomness.laws import DiscreteLaplaceLaw
from dalenius.verify.cases.case import ADD, REPLACE, Calibrated, Case, Law, LawOf, neighbouring
from dalenius.verify.cases.numeric import YES_NO, yes_counts

Scores = tuple[int, ...]


def one_shot_law(mechanism: OneShotTopK, scores: Scores) -> dict[Scores, arb]:
    """The exact law of the ordered list, by summing over the values of the noisy scores."""
    lists = permutations(range(len(scores)), mechanism.k)
    return {listed: one_shot_chance(mechanism, listed, scores) for listed in lists}


@cache
def _pmf(scale: Fraction, noise: int) -> arb:
    return DiscreteLaplaceLaw(scale).pmf(noise)


@cache
def _cdf(scale: Fraction, noise: int) -> arb:
    return DiscreteLaplaceLaw(scale).cdf(noise)


def one_shot_chance(mechanism: OneShotTopK, listed: Scores, scores: Scores) -> arb:
    reach = int(70 * mechanism.scale) + 1
    levels = range(min(scores) - reach, max(scores) + reach + 1)
    with precise():

        def below(rival: int, own: int, level: int) -> arb:  # of equals the first comes first
            return _cdf(mechanism.scale, level - scores[rival] - (rival < own))

        last = listed[-1]
        chain = [_pmf(mechanism.scale, level - scores[last]) for level in levels]
        for rival in set(range(len(scores))) - set(listed):
            chain = [part * below(rival, last, level) for part, level in zip(chain, levels, strict=True)]
        for own, behind in zip(listed[-2::-1], listed[:0:-1], strict=True):
            so_far = list(accumulate(chain))
            usable = [arb(0), *so_far[:-1]] if behind < own else so_far
            chain = [
                _pmf(mechanism.scale, level - scores[own]) * part for part, level in zip(usable, levels, strict=True)
            ]
        return sum(chain, arb(0, 2 * len(scores) * _cdf(mechanism.scale, -reach)))


def index_law(mechanism: Any, value: tuple[int, ...]) -> Law:
    law = mechanism.probabilities(value)
    return law if isinstance(law, dict) else dict(enumerate(law))


class NameCounts(Counter[str]):
    """How often each name occurs, as a key of the table of laws."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def prefix_law(mechanism: PrefixSearch, value: NameCounts, found: str = "") -> Law:
    """By following every path: a letter leads on, no letter ends the name."""
    if len(found) == mechanism.length:
        return {found: arb(1)}
    level = ExponentialMechanism(rate=mechanism.rate, neighbours=mechanism.neighbours)
    law: Law = {}
    with precise():
        for letter, chance in zip(
            (*mechanism.alphabet, ""), level.probabilities(mechanism.scores(value, found)), strict=True
        ):
            after = prefix_law(mechanism, value, found + letter) if letter else {found: arb(1)}
            law.update({name: chance * part for name, part in after.items()})
    return law


def _three_answers(rows: Iterable[Any]) -> tuple[int, ...]:
    return tuple(OneWayMarginals(3).counts(rows))


def top_two(**parameters: Any) -> TopK:
    return TopK.calibrated(k=2, **parameters)


def one_shot(**parameters: Any) -> OneShotTopK:
    return OneShotTopK.calibrated(k=1, **parameters)


def two_of_three(**parameters: Any) -> OneShotTopK:
    return OneShotTopK.calibrated(k=2, **parameters)


def uneven(**parameters: Any) -> ExponentialMechanism:
    return ExponentialMechanism.calibrated(base=(1, 3), **parameters)


def two_letters(**parameters: Any) -> PrefixSearch:
    return PrefixSearch.calibrated(alphabet="ab", length=2, **parameters)


def selection_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        values, pairs = neighbouring(yes_counts, relation, YES_NO)
        sensitivity = OneWayMarginals(2).sensitivity(relation)
        kinds: list[tuple[str, Calibrated, LawOf]] = [
            ("exponential", ExponentialMechanism.calibrated, index_law),
            ("exponential with a base", uneven, index_law),
            ("permute and flip", PermuteAndFlip.calibrated, index_law),
            ("noisy max", NoisyMax.calibrated, index_law),
            ("top two", top_two, index_law),
            ("one shot", one_shot, one_shot_law),
        ]
        for name, calibrated, law in kinds:
            # Few candidates, so most of these bounds are approached and not attained.
            yield Case(name, relation, sensitivity, calibrated, values, pairs, law, tight=name == "permute and flip")
        values, pairs = neighbouring(_three_answers, relation, ((0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1)), most=1)
        sensitivity = OneWayMarginals(3).sensitivity(relation)
        yield Case("two in one shot", relation, sensitivity, two_of_three, values, pairs, one_shot_law, tight=False)
        values, pairs = neighbouring(NameCounts, relation, ("", "a", "ab", "b"))
        moves = 1 if relation == ADD else 2
        yield Case("prefix search", relation, moves, two_letters, values, pairs, prefix_law, tight=False)
