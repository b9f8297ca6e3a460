"""The sampling lemma: a few rows answer all questions nearly as well as the whole table."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, floor

from dalenius.errors import TheoremDoesNotApply
from dalenius.privacy.decisions import certainly_positive, least
from dalenius.privacy.numbers import Number, inside_unit, whole
from dalenius.privacy.reals import ball, lower, precise, upper


def sample_size(*, queries: int, alpha: Number) -> int:
    """ln(#Q) / alpha^2 rows, rounded up: some database of that size answers all questions within alpha.

    Guarantee: for more than two linear questions with weights in [0, 1] and any database there is one of this size with
    all averages within alpha. For two questions or fewer the proof's 2 / #Q is not below 1.
    Reference: Dwork & Roth 2014, Lemma 4.3 and Theorem 4.2, rounded up and with the condition that the text leaves out.
    Textbook: S9.1.
    """
    count, width = whole(1, queries=queries), inside_unit(alpha=alpha)
    if count <= 2:
        raise TheoremDoesNotApply(
            "Lemma 4.3", needs="more than two questions", given=f"{count}", instead="least_sample_size"
        )
    with precise():
        return ceil(upper(ball(count).log() / ball(width**2)))


def least_sample_size(*, queries: int, alpha: Number) -> int:
    """The least m with 2 #Q exp(-2 m alpha^2) < 1, which is what the proof needs: at most `sample_size` for #Q > 2.

    Reference: the proof of Dwork & Roth 2014, Lemma 4.3.
    Textbook: S9.1.
    """
    count, width = whole(1, queries=queries), inside_unit(alpha=alpha)
    with precise():
        return floor(lower(ball(2 * count).log() / ball(2 * width**2))) + 1


def sampling_failure(*, queries: int, size: int, alpha: Number) -> Fraction:
    """A bound on the chance that `size` random rows answer some question with an error above alpha, rounded up.

    Reference: Dwork & Roth 2014, Theorem 3.1 for both sides and a union over all questions.
    Textbook: S9.1.
    """
    count, rows, width = whole(1, queries=queries), whole(1, size=size), inside_unit(alpha=alpha)
    with precise():
        return min(Fraction(1), upper(2 * count * (-ball(2 * rows * width**2)).exp()))


def most_distinct_queries(*, dimension: int, cells: int) -> int:
    """The most different counting questions that a class of this VC dimension can have over that many cells.

    Reference: the Sauer-Shelah lemma.
    Textbook: S9.3.
    """
    size = whole(1, cells=cells)
    return sum(comb(size, part) for part in range(min(whole(0, dimension=dimension), size) + 1))


def vc_sample_size(*, dimension: int, cells: int, alpha: Number) -> int:
    """How many rows suffice for all counting questions of a class of this VC dimension, however many there are.

    The text has O(dimension / alpha^2) and no constant. Two forms have one, and the smaller figure is given: the
    sampling lemma for the most questions that the class can have over the cells, and the least m with
    4 (2 e m / dimension)^dimension exp(-m alpha^2 / 8) < 1, which does not depend on the cells.
    Reference: Dwork & Roth 2014, Theorem 4.8; Vapnik & Chervonenkis 1971, Theorem 2, with the Sauer-Shelah lemma.
    Textbook: S9.3.
    """
    most = most_distinct_queries(dimension=dimension, cells=cells)
    return min(
        least_sample_size(queries=most, alpha=alpha),
        _free_of_cells(whole(1, dimension=max(dimension, 1)), inside_unit(alpha=alpha)),
    )


def _free_of_cells(dimension: int, width: Fraction) -> int:
    """The least m, from the point on where the bound falls, that is 8 dimension / alpha^2."""
    turn = max(dimension, ceil(8 * dimension / width**2))

    def enough(size: int) -> bool:
        return size >= turn and certainly_positive(
            lambda: (
                ball(size * width**2 / 8)
                - ball(4).log()
                - dimension * (1 + (2 * ball(Fraction(size, dimension))).log())
            )
        )

    return least(enough, guess=turn)
