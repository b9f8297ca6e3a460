"""SmallDB: publish a database of few rows that answers all questions nearly as the private one does."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.release.textbook.nets import MOST_DATABASES, Net, NetMechanism
from dalenius.release.textbook.sampling_lemma import least_sample_size, sample_size, vc_sample_size
from dalenius.release.workloads.workload import Workload


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
