"""The sampling lemma: a few rows answer all questions nearly as well as the whole table.

SmallDB: publish a database of few rows that answers all questions nearly as the private one does.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, floor

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, certainly_positive, least, lower, precise, upper
from dalenius.tabular.workloads import Workload
from dalenius.textbook.release.nets import MOST_DATABASES, Net, NetMechanism


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


def small_database(
    workload: Workload,
    *,
    people: int,
    alpha: Number,
    epsilon: Number,
    neighbours: Neighbours,
    rows: int = 1,
    vc_dimension: int | None = None,
    most: int = MOST_DATABASES,
) -> NetMechanism:
    """The exponential mechanism over every database of the size that the sampling lemma gives for alpha.

    Guarantee: epsilon-DP. The candidates are enumerated, all of them: where there are more than `most`, it is refused,
    and never sampled, because a sample of candidates has neither the privacy nor the accuracy that is stated. With
    `vc_dimension`, which the caller vouches for, the size is the least of the forms that hold for such a class.
    Reference: Dwork & Roth 2014, Algorithm 4 and Theorems 4.2 and 4.8.
    Textbook: S9.2, S9.3.
    """
    size = least_sample_size(queries=workload.count, alpha=alpha)
    if vc_dimension is not None:
        size = min(size, vc_sample_size(dimension=vc_dimension, cells=workload.grid.cells, alpha=alpha))
    net = Net.of_size(workload.grid.cells, size, alpha=alpha, most=most)
    return NetMechanism.calibrated(net, workload, people=people, epsilon=epsilon, neighbours=neighbours, rows=rows)


def small_database_accuracy(
    *, cells: int, queries: int, people: int, alpha: Number, epsilon: Number, beta: Number
) -> Fraction:
    """The textbook's alpha + 2 (ln #X ln #Q / alpha^2 + ln(1 / beta)) / (epsilon n) for averages, rounded up.

    The size ln #Q / alpha^2 is a whole number of rows, so it is rounded up here; the number of candidates is counted
    as #X^size. `NetMechanism.error` counts them exactly, and is smaller.
    Reference: Dwork & Roth 2014, Proposition 4.4.
    Textbook: S9.2.
    """
    width = inside_unit(alpha=alpha)
    size = sample_size(queries=queries, alpha=width)
    scale = 2 / (positive(epsilon=epsilon) * whole(1, people=people))
    with precise():
        depth = size * ball(whole(1, cells=cells)).log() - ball(inside_unit(beta=beta)).log()
        return width + upper(ball(scale) * depth)


def balanced_accuracy(*, cells: int, queries: int, people: int, epsilon: Number, beta: Number) -> Fraction:
    """The alpha that SmallDB(alpha / 2) reaches: ((16 ln #X ln #Q + 4 ln(1 / beta)) / (epsilon n))^(1/3), rounded up.

    Proof: with SmallDB(alpha / 2) the error is alpha / 2 + 2 (4 ln #X ln #Q / alpha^2 + ln(1 / beta)) / (epsilon n),
    and alpha^2 <= 1 lets the second part be at most alpha / 2 for this alpha. The text's size is not rounded up; here
    the rounding, less than one row, adds ln #X to ln #X ln #Q / (alpha / 2)^2 and so 4 ln #X to the numerator.
    Reference: Dwork & Roth 2014, Theorem 4.5.
    Textbook: S9.2.
    """
    total, target = whole(1, people=people), positive(epsilon=epsilon)
    with precise():
        universe = ball(whole(2, cells=cells)).log()
        depth = 16 * universe * ball(whole(3, queries=queries)).log() + 4 * universe
        found = upper(((depth - 4 * ball(inside_unit(beta=beta)).log()) / ball(target * total)).root(3))
    if found >= 1:
        raise _too_few(
            people_for(cells=cells, queries=queries, alpha=Fraction(1, 2), epsilon=epsilon, beta=beta), total
        )
    return found


def people_for(*, cells: int, queries: int, alpha: Number, epsilon: Number, beta: Number) -> int:
    """How many people make SmallDB(alpha / 2) accurate to alpha, by the same theorem.

    Reference: Dwork & Roth 2014, Theorem 4.5, second form.
    Textbook: S9.2.
    """
    width = inside_unit(alpha=alpha)
    with precise():
        universe = ball(whole(2, cells=cells)).log()
        depth = 16 * universe * ball(whole(3, queries=queries)).log() + 4 * universe
        depth = depth - 4 * ball(inside_unit(beta=beta)).log()
        return ceil(upper(depth / ball(positive(epsilon=epsilon) * width**3)))


def _too_few(needed: int, given: int) -> InvalidParameter:
    return InvalidParameter("people", given, allowed=f"at least {needed} for an error of one half")
