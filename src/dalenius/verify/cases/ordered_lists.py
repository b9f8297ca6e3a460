"""The exact law of the ordered list that one-shot top-k gives."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import accumulate, permutations

from flint import arb

from dalenius.mechanisms.top_k import OneShotTopK
from dalenius.privacy.reals import precise
from dalenius.randomness.laws import DiscreteLaplaceLaw

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
