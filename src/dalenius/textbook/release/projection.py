"""The K-projected mechanism: noise on every answer, then the nearest answers that some database could give."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.tails import laplace_sum_bound
from dalenius.randomness.entropy import Entropy
from dalenius.synth.online.sealed import sealed_answers
from dalenius.tabular.workloads import Integers, Reals
from dalenius.textbook.release.per_query import LaplaceEach, PerQuery

MOST_STEPS = 20_000
"""The most steps of a projection; where they do not reach the tolerance, the gap that was reached is stated."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Projected:
    """Answers, in people, after the projection; `gap` bounds how much it can still be improved (see `projected`), and
    with probability 1 - `beta` the squared errors of all answers together are at most `squared_error`."""

    answers: Reals
    gap: float
    squared_error: Fraction
    beta: Fraction


@dataclass(frozen=True, kw_only=True, eq=False)
class ProjectedLaplace:
    """Laplace noise on every answer of `noisy`, then the closest point of n K, K the convex hull of all columns of the
    matrix of weights and their negatives: the answers that `people` people, of either sign, can give.

    Guarantee: the loss of `noisy`; the projection looks at no data. `people` must not be below the true number.
    Reference: Dwork & Roth 2014, Algorithm 18 and Theorem 12.7. The argmin is over points of n K, and the ball B1 is
    that of all vectors of norm at most 1, not of norm 1.
    Textbook: S9.15.
    """

    noisy: PerQuery
    people: int

    def __post_init__(self) -> None:
        whole(1, people=self.people)
        if not isinstance(self.noisy.mechanism, LaplaceEach):
            raise InvalidParameter("noisy", type(self.noisy.mechanism), allowed="with Laplace noise")

    def loss(self) -> Loss:
        """What a release costs."""
        return self.noisy.loss()

    def release(
        self,
        histogram: Exact[Integers],
        allowance: Allowance,
        entropy: Entropy,
        *,
        beta: Number,
        tolerance: Number = Fraction(1, 1000),
    ) -> Projected:
        """Pay, add noise, and project, until no point of n K can be better by more than `tolerance` of the bound."""
        workload = self.noisy.workload
        exact = sealed_answers(histogram, workload)
        answers = np.asarray(measure(self.noisy.mechanism, exact, allowance, entropy), dtype=np.float64)
        bound, columns = self.squared_error(beta), workload.matrix / workload.denominator
        enough = float(positive(tolerance=tolerance) * bound)
        found, gap = projected(answers / workload.denominator, columns, self.people, enough=enough)
        total = bound + Fraction(gap).limit_denominator(10**6) + Fraction(1, 10**6)
        return Projected(answers=found, gap=gap, squared_error=total, beta=inside_unit(beta=beta))

    def squared_error(self, beta: Number) -> Fraction:
        """With probability 1 - beta, the sum of the squared errors of the exact projection is at most this.

        Proof: |y - a|^2 <= <noise, y - a> for the projection y and any a in n K, hence at most 2 n times the largest
        inner product of the noise with a column, which is a weighted sum of Laplace variables. (The text has twice
        that.)
        """
        each = self.noisy.mechanism
        assert isinstance(each, LaplaceEach)
        scale, workload = each.noise.scale / self.noisy.workload.denominator, self.noisy.workload
        risk = inside_unit(beta=beta) / workload.grid.cells
        return 2 * self.people * laplace_sum_bound(scales=[scale] * workload.count, beta=risk)


def projected(answers: Reals, columns: Reals, people: int, *, enough: float) -> tuple[Reals, float]:
    """The point of n K that is nearest to some answers, and the gap: no point p of n K has <y - answers, y - p> above
    it, so that |y - nearest|^2 is at most the gap, too. It stops when the gap is `enough`.

    By accelerated steps over the weights z of the columns, |z|_1 <= people, started anew whenever they turn back.
    """
    size = float(np.linalg.norm(columns, 2)) ** 2 or 1.0
    weights = ahead = np.zeros(columns.shape[1])
    momentum, gap, found = 1.0, np.inf, np.zeros(columns.shape[0])
    for _ in range(MOST_STEPS):
        found = columns @ weights
        slope = columns.T @ (found - answers)
        gap = float(slope @ weights + people * np.abs(slope).max())
        if gap <= enough:
            break
        step = ahead - columns.T @ (columns @ ahead - answers) / size
        after = _on_ball(step, people)
        if (ahead - after) @ (after - weights) > 0:
            momentum = 1.0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = after + (momentum - 1) / faster * (after - weights)
        weights, momentum = after, faster
    return found, gap


def projected_accuracy(
    *, cells: int, queries: int, people: int, epsilon: Number, delta: Number, beta: Number
) -> Fraction:
    """The corrected bound on the sum of squared errors: 16 n k sqrt(ln(1 / delta) ln(2 #X / beta)) / epsilon.

    Guarantee: with probability 1 - beta, for k >= ln(2 #X / beta) questions and Laplace noise of scale sqrt(8 k ln(1 /
    delta)) / epsilon each (`PerQuery.textbook`). The theorem has sqrt(192) for 16, and its proof ln(#X / beta) for
    ln(2 #X / beta).
    Reference: Dwork & Roth 2014, Theorem 12.8, corrected.
    Textbook: S9.15.
    """
    count, total, size = whole(1, queries=queries), whole(1, people=people), whole(1, cells=cells)
    risk, event = inside_unit(beta=beta), inside_unit(delta=delta)
    with precise():
        depth = ball(2 * size / risk).log()
        enough = count >= upper(depth)
        figure = upper(16 * total * count * (-ball(event).log() * depth).sqrt() / ball(positive(epsilon=epsilon)))
    if not enough:
        raise TheoremDoesNotApply(
            "Theorem 12.8",
            needs="at least ln(2 #X / beta) questions",
            given=f"{count} over {size} cells",
            instead="ProjectedLaplace.squared_error, or PerQuery alone",
        )
    return figure


def _on_ball(vector: Reals, radius: float) -> Reals:
    """The nearest vector of l1 norm at most `radius`."""
    sizes = np.abs(vector)
    if sizes.sum() <= radius:
        return vector
    falling = np.sort(sizes)[::-1]
    excess = (np.cumsum(falling) - radius) / np.arange(1, len(falling) + 1)
    shift = excess[np.flatnonzero(falling > excess)[-1]]
    near: Reals = np.sign(vector) * np.maximum(sizes - shift, 0.0)
    return near
