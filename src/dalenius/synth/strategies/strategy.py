"""A strategy: the integer counts that are measured with noise in the place of the questions themselves.

A strategy is a matrix A of integers with independent columns. A histogram x is released as A x plus noise of one size,
and every answer is taken from the least-squares reconstruction of x, so that all answers agree with each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from math import floor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import DIVERGENCE_UNIT
from dalenius.accounting.composition import compose
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.privacy.numbers import whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy
from dalenius.synth.strategies.estimates import Estimate, Noise
from dalenius.tabular.workloads import Integers, Ranges, Reals, Workload

Price: TypeAlias = PureDP | ZCDP
"""What a release may cost: pure prices buy Laplace noise, concentrated ones Gaussian noise."""

Norms: TypeAlias = tuple[int, int, int]
"""An l1 norm, a squared l2 norm and a largest entry."""

_SAFE = 2**62
_BATCH = 2**22
_MOST_SQUARED = 4096


class Strategy(ABC):
    """Integer counts over `cells` cells, and how a histogram is reconstructed from noisy ones.

    Guarantee: releasing `exact_counts` with the noise of `noise(price, ...)` costs at most the price, if a unit has at
    most `rows` rows. The reconstruction is without bias and linear, so its error has the covariance v (A'A)^-1, where v
    is the variance of the noise: known before anything is paid, whatever the data.
    Reference: Li, Miklau, Hay, McGregor & Rastogi 2015 (the matrix mechanism), Propositions 1 to 3.
    """

    cells: int

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, for people."""

    @property
    @abstractmethod
    def added(self) -> Norms:
        """The largest norms of a column of A: how far one row that is added moves the counts."""

    @property
    @abstractmethod
    def replaced(self) -> Norms:
        """The largest norms of the difference of two columns of A: how far one row that changes moves the counts."""

    @abstractmethod
    def counts(self, histogram: NDArray[Any]) -> NDArray[Any]:
        """A times a histogram of integers."""

    @abstractmethod
    def reconstructed(self, noisy: Reals) -> Reals:
        """The least-squares histogram of noisy counts; the last axis holds the counts."""

    @abstractmethod
    def solved(self, weights: Reals) -> Reals:
        """(A'A)^-1 times vectors over the cells; the last axis holds the cells."""

    def exact_counts(self, histogram: NDArray[Any]) -> NDArray[Any]:
        """`counts`, in Python's integers where 64 bits might not suffice."""
        flat = np.asarray(histogram).ravel()
        if flat.dtype.kind not in "iuO" or len(flat) != self.cells:
            raise InvalidParameter("histogram", "another", allowed=f"{self.cells} integers")
        most = max((abs(int(count)) for count in (flat.max(), flat.min())), default=0)
        fits = most * self.added[2] * self.cells < _SAFE
        return self.counts(flat.astype(np.int64) if fits else flat.astype(object))

    def sensitivity(self, neighbours: Neighbours, *, rows: int = 1) -> Sensitivity:
        """How far one unit with at most `rows` rows moves the counts.

        Proof: rows that are added each add a column. A unit that is replaced changes at most `rows` times one column
        into another, or adds or removes one where its number of rows differs; norms of sums are at most sums of norms.
        """
        times = whole(1, rows=rows)
        l1, l2_squared, linf = self.added
        if not isinstance(neighbours, AddRemove):
            l1, l2_squared, linf = map(max, self.added, self.replaced)
        return Sensitivity(l1=times * l1, l2_squared=times**2 * l2_squared, linf=times * linf, neighbours=neighbours)

    def noise(self, price: Price, neighbours: Neighbours, *, rows: int = 1) -> Noise:
        """The least noise that makes the counts cost no more than a price."""
        moved = self.sensitivity(neighbours, rows=rows)
        if isinstance(price, PureDP):
            return DiscreteLaplace.calibrated(sensitivity=moved, epsilon=price.epsilon, neighbours=neighbours)
        return DiscreteGaussian.calibrated(sensitivity=moved, rho=price.rho, neighbours=neighbours)

    def release(
        self,
        exact: Exact[Integers],
        allowance: Allowance,
        entropy: Entropy,
        *,
        price: Price | None = None,
        rows: int = 1,
    ) -> Estimate:
        """The reconstructed histogram, for a price or for all that is left of an allowance.

        Guarantee: it draws the price on the allowance, if the sealed histogram counts units of at most `rows` rows.
        """
        stated_rows(exact, rows)
        noise = self.noise(price or whole_price(allowance), exact.neighbours, rows=rows)
        counts = exact.map(self.exact_counts, sensitivity=self.sensitivity(exact.neighbours, rows=rows))
        noisy = measure(noise, counts, allowance, entropy)
        return Estimate(self.reconstructed(np.asarray(noisy, dtype=np.float64)), strategy=self, noise=noise)

    def variances(self, workload: Workload) -> Reals:
        """The variance of the answer to each question, as a multiple of that of the noise: w'(A'A)^-1 w."""
        self.require_over(workload)
        if isinstance(workload, Ranges) and self.cells < workload.count and self.cells <= _MOST_SQUARED:
            return _range_variances(self, workload)
        parts = [(rows * self.solved(rows)).sum(axis=-1) for rows in batches(workload)]
        found: Reals = np.concatenate(parts) / workload.denominator**2
        return found

    def expected_squares(self, workload: Workload, price: Price, neighbours: Neighbours, *, rows: int = 1) -> Reals:
        """The expected squared error of each answer, in people squared, before anything is paid."""
        found: Reals = variance(self.noise(price, neighbours, rows=rows)) * self.variances(workload)
        return found

    def require_over(self, workload: Workload) -> None:
        """Refuse a workload over another number of cells."""
        if workload.grid.cells != self.cells:
            raise InvalidParameter("workload", workload, allowed=f"over {self.cells} cells, as the strategy is")

    def __repr__(self) -> str:
        return f"<{self.title} over {self.cells} cells>"


def variance(noise: Noise) -> float:
    """The variance of one coordinate of the noise."""
    return float(noise.law.variance())


def whole_price(allowance: Allowance) -> Price:
    """All that is left of an allowance: an epsilon where it is pure, and a rho where it is of a Rényi order."""
    left = allowance.left.divergence * DIVERGENCE_UNIT
    if not left:
        raise InvalidParameter("allowance", allowance, allowed="one with something left")
    return PureDP(left) if allowance.left.order is None else ZCDP(left / allowance.left.order)


def divided(price: Price, share: Fraction, allowance: Allowance) -> tuple[Price, Price]:
    """A share of a price in whole units of the ledger that pays, and the rest: together they are charged no more than
    the price is. Refused where the allowance has less, so that nothing is drawn for the first part alone."""
    size, unit = (price.epsilon if isinstance(price, PureDP) else price.rho), DIVERGENCE_UNIT
    if isinstance(price, ZCDP):
        unit /= allowance.left.order or 1
    first = floor(size * share / unit) * unit
    if not first:
        raise InvalidParameter("price", price, allowed="enough to be divided into two parts")
    parts = type(price)(first), type(price)(size - first)
    allowance.require(compose(parts))
    return parts


def stated_rows(exact: Exact[Integers], rows: int) -> None:
    """Refuse a histogram that one unit moves further than `rows` rows can."""
    moved = exact.sensitivity.l1
    most = exact.neighbours.add_remove_steps * whole(1, rows=rows)
    if moved is None or moved > most:
        raise InvalidParameter("rows", rows, allowed="as many as the sealed histogram's l1 sensitivity is stated for")


def batches(workload: Workload) -> Iterator[Reals]:
    """The weights of all questions, some questions at a time."""
    step = max(1, _BATCH // workload.grid.cells)
    cells = np.arange(workload.grid.cells)
    for start in range(0, workload.count, step):
        stop = min(start + step, workload.count)
        if isinstance(workload, Ranges):
            first, last = workload.first[start:stop, None], workload.last[start:stop, None]
            yield ((first <= cells) & (cells <= last)).astype(np.float64)
        else:
            yield np.stack([workload.weights(question) for question in range(start, stop)]).astype(np.float64)


def _range_variances(strategy: Strategy, workload: Ranges) -> Reals:
    """Those of many ranges, by the covariance of all prefix sums."""
    whole_inverse = strategy.solved(np.eye(strategy.cells))
    prefix = np.zeros((strategy.cells + 1, strategy.cells + 1))
    prefix[1:, 1:] = whole_inverse.cumsum(axis=0).cumsum(axis=1)
    ends, starts = workload.last + 1, workload.first
    found: Reals = prefix[ends, ends] + prefix[starts, starts] - 2 * prefix[ends, starts]
    return found
