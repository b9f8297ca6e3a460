"""The syntheticizer: from noisy answers to a synthetic database, by linear programming."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.errors import InvalidParameter
from dalenius.lazy import optional
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP, PureDP
from dalenius.privacy.neighbours import Replace
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.randomness.entropy import Entropy
from dalenius.synth.online.sealed import exact_answers
from dalenius.tabular.workloads import Integers, Reals, Workload

optimize, sparse = (
    optional(f"scipy.{name}", function="The syntheticizer", extra="checks") for name in ("optimize", "sparse")
)

MOST_CELLS = 20_000
"""The most cells of a linear program."""
_SLACK = 1e-6
"""A share of the tolerance within which a solution of the linear program counts as one."""


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A synthetic database of whole rows, and how far it is from the answers that it was made from.

    `worst` is the largest distance that the best fractional database has from an answer, in parts; where it is above
    `tolerance`, no database at all is within the tolerance, because some noise was larger than that.
    """

    rows: Integers
    people: int
    worst: float
    tolerance: Fraction

    @property
    def fits(self) -> bool:
        """Whether a fractional database within the tolerance exists: the condition of the accuracy theorem."""
        return self.worst <= float(self.tolerance) * (1 + _SLACK)

    @property
    def size(self) -> int:
        """How many rows it has."""
        return int(self.rows.sum())

    @property
    def histogram(self) -> Reals:
        """As a histogram of as many people as the private one has."""
        found: Reals = self.rows.astype(np.float64) * (self.people / self.size)
        return found

    def answers(self, workload: Workload) -> Integers:
        """Answers in whole parts, scaled to the number of people and rounded."""
        return scaled_answers(workload, self.rows, people=self.people)

    def __str__(self) -> str:
        if self.fits:
            return f"{self.size} synthetic rows, within {self.worst:.4g} parts of every noisy answer"
        return (
            f"{self.size} synthetic rows; no database is within {float(self.tolerance):.4g} parts of all noisy answers,"
            f" because the noise was larger, and this one is within {self.worst:.4g}: the theorem's bound does not hold"
        )


def syntheticized(
    workload: Workload, asked: Integers, answers: NDArray[np.int64], *, people: int, tolerance: Number
) -> Synthetic:
    """A synthetic database near noisy answers, in parts, to the questions `asked`.

    Guarantee: it is post-processing. If all answers are within the tolerance of those of a database of `people` rows,
    then the synthetic one is within 3 times the tolerance of that database on all questions asked.
    Proof: the linear program finds the least t for which non-negative weights of total `people` are within t of all
    answers. The database itself is feasible for t = tolerance, so the weights are within 2 tolerances of it. They are
    rounded to multiples of one in people #X denominator / tolerance, down, and what is missing in all is given to the
    largest remainders: whole rows, whose weights still add up, and move an answer by at most half a tolerance.
    Reference: Dwork & Roth 2014, Theorem 6.7. The text rounds down alone, which loses up to `tolerance` of the weight.
    Textbook: S10.5.
    """
    width, total = positive(tolerance=tolerance), whole(1, people=people)
    workload.grid.require_small(most=MOST_CELLS, use="a linear program", instead="a synthesizer by marginals")
    kinds, places = np.unique(asked, return_inverse=True)
    matrix = np.stack([workload.weights(int(question)) for question in kinds])[places].astype(np.float64)
    weights, worst = _nearest(matrix, np.asarray(answers, dtype=np.float64), total)
    units = ceil(workload.grid.cells * total * workload.denominator / width)
    return Synthetic(_whole_rows(weights / total, units), total, worst, width)


def release_synthetic(
    exact: Exact[Integers],
    workload: Workload,
    allowance: Allowance,
    entropy: Entropy,
    *,
    people: int,
    price: PureDP | ZCDP,
    beta: Number = Fraction(1, 20),
    rows: int = 1,
) -> Synthetic:
    """Efficient synthetic data where cells and questions are few: noise on all answers, then the syntheticizer.

    Guarantee: it draws the price, if the sealed histogram counts units of at most `rows` rows; with probability
    1 - beta all answers are within 3 times `tolerance` of the exact ones. The time is polynomial in the numbers of
    cells and questions.
    Reference: Dwork & Roth 2014, Section 9.1, with Theorem 6.7.
    Textbook: S9.18.
    """
    if not isinstance(exact.neighbours, Replace):
        raise InvalidParameter(
            "neighbours", exact.neighbours, allowed="Replace(): a synthetic database has a public number of people"
        )
    moved = workload.sensitivity(exact.neighbours, rows=rows)
    limit = exact.sensitivity.l1
    if limit is None or limit > 2 * rows:
        raise InvalidParameter("rows", rows, allowed="as many as the sealed histogram's l1 sensitivity is stated for")
    noise: DiscreteLaplace | DiscreteGaussian
    if isinstance(price, PureDP):
        noise = DiscreteLaplace.calibrated(sensitivity=moved, epsilon=price.epsilon, neighbours=exact.neighbours)
    else:
        noise = DiscreteGaussian.calibrated(sensitivity=moved, rho=price.rho, neighbours=exact.neighbours)
    tolerance = max(1, noise.error(beta, count=workload.count))
    answers = exact.map(lambda counts: exact_answers(workload, counts), sensitivity=moved)
    noisy = measure(noise, answers, allowance, entropy)
    return syntheticized(workload, np.arange(workload.count), noisy, people=people, tolerance=tolerance)


def scaled_answers(workload: Workload, rows: Integers, *, people: int) -> Integers:
    """The answers of a database of other size, in whole parts, scaled to a number of people and rounded."""
    size = int(rows.sum())
    exact = np.asarray(workload.answers(rows), dtype=object) * people
    found: Integers = ((2 * exact + size) // (2 * size)).astype(np.int64)
    return found


def _nearest(matrix: Reals, answers: Reals, people: int) -> tuple[Reals, float]:
    """Weights of total `people` whose largest distance from the answers is least, and that distance."""
    questions, cells = matrix.shape
    both = np.block([[matrix, -np.ones((questions, 1))], [-matrix, -np.ones((questions, 1))]])
    found = optimize.linprog(
        np.append(np.zeros(cells), 1.0),
        A_ub=sparse.csr_array(both),
        b_ub=np.concatenate([answers, -answers]),
        A_eq=np.append(np.ones(cells), 0.0)[None, :],
        b_eq=[float(people)],
        method="highs",
    )
    weights = np.maximum(found.x[:cells], 0)
    weights *= people / weights.sum()
    return weights, float(np.abs(matrix @ weights - answers).max())


def _whole_rows(shares: Reals, units: int) -> Integers:
    """Whole numbers of total `units` in proportion to shares of total 1: rounded down, the rest to the largest
    remainders."""
    exact = shares * units
    rows = np.floor(exact).astype(np.int64)
    missing = units - int(rows.sum())
    order = np.argsort(rows - exact, kind="stable")
    rows[order[:missing]] += 1
    return rows
