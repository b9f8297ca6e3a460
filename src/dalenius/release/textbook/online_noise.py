"""How the noise of an online session is shared out, for those who pay for fewer updates than the worst case needs."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from dalenius.accounting.amounts import whole_units
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.mechanisms.numeric_sparse import NumericSparse
from dalenius.mechanisms.sparse_vector import AboveThreshold, Sparse
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import whole
from dalenius.privacy.reals import ball, lower, precise, upper

WASTED = Fraction(1, 10)
"""The part of all updates that noise alone may use up, in expectation."""


def noise_shares(updates: int, queries: int, beta: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """The parts of one round's epsilon for the threshold, the questions and the number: the least sum of error bars
    A t + B q + m under 1 / t + 2 / q + 1 / m = epsilon, with A and B the depths in the tails that count."""
    with precise():
        line = ball(2 * updates / beta).log().sqrt()
        own = (2 * ball(2 * whole(1, queries=queries) / beta).log()).sqrt()
        total = line + own + 1
        parts = lower(line / total).limit_denominator(1000), lower(own / total).limit_denominator(1000)
    return parts[0], parts[1], 1 - parts[0] - parts[1]


def shared_sparse(
    moves: Fraction, each: Fraction, shares: tuple[Fraction, Fraction, Fraction], count: int, neighbours: Neighbours
) -> NumericSparse:
    """A sparse vector whose rounds cost `each`, shared out like this among threshold, questions and number."""
    line, own, number = (whole_units(each * share) for share in shares)
    rounds = AboveThreshold(
        threshold_scale=moves / line, query_scale=2 * moves / own, sensitivity=moves, neighbours=neighbours
    )
    answers = DiscreteLaplace.calibrated(sensitivity=moves, epsilon=number, neighbours=neighbours)
    return NumericSparse(search=Sparse(rounds=rounds, cutoff=count), answers=answers)


def affordable_alpha(cells: int, updates: int) -> Fraction:
    """The alpha at which the rule needs no more than so many updates, rounded up; one half where it needs none."""
    with precise():
        needed = upper((ball(whole(2, cells=cells)).log() / (2 * updates)).sqrt())
    return min(Fraction(ceil(needed * 10**6), 10**6), Fraction(1, 2))


def rarely_reached(mechanism: NumericSparse, queries: int) -> int:
    """The threshold that noise alone reaches, in expectation, for a tenth of the updates among all questions.

    Each of 2 k comparisons reaches T by its own noise with probability exp(-T / scale) / 2. The threshold's noise, in
    the middle of its law, changes nothing: where it is low, it is soon drawn anew. It serves to plan, and promises
    nothing.
    """
    wasted = max(Fraction(1, 2), WASTED * mechanism.search.cutoff)
    with precise():
        return max(1, ceil(upper(ball(mechanism.search.rounds.query_scale) * ball(queries / wasted).log())))
