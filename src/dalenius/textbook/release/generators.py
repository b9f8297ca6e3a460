"""Base generators: synopses that answer most questions of any distribution well, made from a few noisy answers.

Each is given k questions and their exact answers, adds noise to the answers and looks at nothing else. Both need a
public number of people, and so neighbours that replace.

The generalization lemma: a short synopsis that fits enough random questions fits most questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from math import ceil, comb
from typing import Protocol, Self

import numpy as np

from dalenius.accounting.composition import repeated
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, Replace
from dalenius.privacy.numbers import Number, inside_unit, not_negative, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import uniform_below
from dalenius.tabular.workloads import Integers, Workload
from dalenius.textbook.release.syntheticizer import syntheticized


def sample_factor(*, bits: Number, eta: Number, gamma: Number) -> Fraction:
    """a = 2 (ln(1 / gamma) + m) / (m (1 - 2 eta)): how many random questions are needed for each of the m bits of a
    synopsis. Rounded up.

    Guarantee: with probability 1 - gamma over a m questions drawn from any distribution D, every synopsis of at most m
    bits that fits all of them fits at least a share of 1/2 + eta of D.
    Proof: a synopsis that is wrong on a share above p = (1/2 - eta) of D fits k questions with probability at most
    (1 - p)^k <= e^(-p k) <= gamma e^-m <= gamma 2^-m for k = a m, and there are 2^m synopses.
    Reference: Dwork & Roth 2014, Lemma 6.5.
    Textbook: S10.3.
    """
    size, half = positive(bits=bits), not_negative(eta=eta)
    if half >= Fraction(1, 2):
        raise InvalidParameter("eta", eta, allowed="at least 0 and below 1/2")
    with precise():
        return upper(2 * (ball(size) - ball(inside_unit(gamma=gamma)).log()) / ball(size * (1 - 2 * half)))


def samples_needed(*, bits: Number, eta: Number, gamma: Number) -> int:
    """a m random questions, rounded up.

    Textbook: S10.3.
    """
    return ceil(sample_factor(bits=bits, eta=eta, gamma=gamma) * positive(bits=bits))


def database_bits(*, rows: int, cells: int) -> Fraction:
    """The bits of a synthetic database: lg(#X) for each row. Rounded up.

    Textbook: S10.3.
    """
    with precise():
        each = upper(ball(whole(1, cells=cells)).log() / ball(2).log())
    return whole(1, rows=rows) * max(each, Fraction(1))


ETA = Fraction(1, 3)
"""How much more than half of all questions both generators answer well: 1/2 + 1/3."""
MOST_DATABASES = 200_000

MOST_SAMPLED = 10**7
"""The most rows that a synthetic database may have: all of them are drawn one by one."""


class BaseGenerator(Protocol):
    """A (k, lambda, eta, beta)-base synopsis generator: whatever the distribution, with probability 1 - beta its
    synopsis is within `tolerance` parts on a share of 1/2 + eta of the questions, by their weight.

    Reference: Dwork & Roth 2014, Definition 6.1.
    Textbook: S10.1.
    """

    @property
    def people(self) -> int:
        """How many there are, which is public."""

    @property
    def draws(self) -> int:
        """How many questions it is given."""

    @property
    def tolerance(self) -> int:
        """How far off an answer may be, in parts."""

    @property
    def neighbours(self) -> Neighbours:
        """The relation that it is calibrated for."""

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        """What one synopsis costs, where one person changes an exact answer by at most so many parts."""

    def synopsis(self, asked: Integers, answers: Integers, entropy: Entropy) -> Integers | None:
        """The rows of a synthetic database for questions and their exact answers in parts, or None if it failed."""

    def failure(self) -> Fraction:
        """The probability beta, or an error where no theorem gives one for these parameters."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BruteForceGenerator:
    """Try every database of n rows, and take the first that is within lambda / 2 of all k noisy answers.

    Guarantee: k answers with noise of scale b cost k uses of the Laplace mechanism. With k > 6 (n lg #X + ln(2/beta))
    and lambda at least twice what all noises stay below with probability 1 - beta / 2, it is a
    (k, lambda, 1/3, beta)-base generator.
    Proof: with probability 1 - beta / 2 the private database itself fits, so something is found, and whatever is found
    is within lambda on the k questions; by the generalization lemma it is on 5/6 of all, but for beta / 2.
    Reference: Dwork & Roth 2014, Theorem 6.6; b as in its proof, since that of its statement lacks a factor 2 sqrt(2).
    Textbook: S10.4.
    """

    workload: Workload
    people: int
    draws: int
    scale: Fraction
    tolerance: int
    beta: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        _require_replace(self.neighbours)
        count = comb(whole(1, people=self.people) + self.workload.grid.cells - 1, self.people)
        if count > MOST_DATABASES:
            raise InvalidParameter(
                "databases",
                count,
                allowed=f"at most {MOST_DATABASES} to try one by one",
                hint="Use fewer people or cells, or the LinearGenerator, whose time is polynomial.",
            )

    @classmethod
    def calibrated(
        cls,
        workload: Workload,
        *,
        people: int,
        epsilon: Number,
        delta: Number,
        beta: Number,
        neighbours: Neighbours,
    ) -> Self:
        """The generator whose synopses are each (epsilon, delta)-DP, with the least lambda that its noise allows."""
        draws = brute_force_draws(people=people, cells=workload.grid.cells, beta=beta)
        scale = base_scale(draws=draws, epsilon=epsilon, delta=delta, sensitivity=workload.column_norms()[2])
        noise, risk = DiscreteLaplace(scale, neighbours), inside_unit(beta=beta)
        tolerance = 2 * noise.error(risk / 2, count=draws)
        return cls(
            workload=workload, people=people, draws=draws, scale=scale, tolerance=tolerance, beta=risk,
            neighbours=neighbours,
        )  # fmt: skip

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        return repeated(DiscreteLaplace(self.scale, self.neighbours).loss(sensitivity=sensitivity), self.draws)

    def synopsis(self, asked: Integers, answers: Integers, entropy: Entropy) -> Integers | None:
        noisy = DiscreteLaplace(self.scale, self.neighbours).release(answers, entropy)
        databases = all_databases(self.workload.grid.cells, self.people)
        kinds, places = np.unique(asked, return_inverse=True)
        exact = np.stack([self.workload.weights(int(question)) for question in kinds]) @ databases.T
        fits = (2 * np.abs(exact[places] - noisy[:, None]) <= self.tolerance).all(axis=0)
        return databases[int(fits.argmax())] if fits.any() else None

    def failure(self) -> Fraction:
        needed = brute_force_draws(people=self.people, cells=self.workload.grid.cells, beta=self.beta)
        _require(self.draws, needed)
        noise = DiscreteLaplace(self.scale, self.neighbours)
        if self.tolerance < 2 * noise.error(self.beta / 2, count=self.draws):
            raise TheoremDoesNotApply(
                "Theorem 6.6", needs="a tolerance of twice the noise", given=f"{self.tolerance}", instead="calibrated"
            )
        return self.beta


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearGenerator:
    """Find a fractional database near k noisy answers by linear programming, and sample `sampled` rows of it.

    Guarantee: k answers with noise of scale b cost k uses of the Laplace mechanism. If all noises stay below `noise`,
    the synthetic database is within 3 `noise` of the private one on the k questions, and a sample of its rows within
    tolerance, but for beta each. With k from `linear_draws` the generalization lemma makes it a
    (k, lambda, 1/3, 3 beta)-base generator; with fewer questions it runs, and no theorem speaks for it.
    Reference: Dwork & Roth 2014, Theorem 6.8. The text's sample of ln k ln(1 / beta) / alpha^2 rows is none for k = 1;
    here it is ln(2 k / beta) / (2 alpha^2), by Hoeffding's bound and a union.
    Textbook: S10.6.
    """

    workload: Workload
    people: int
    draws: int
    scale: Fraction
    noise: int
    sampled: int
    tolerance: int
    beta: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        _require_replace(self.neighbours)
        for name in ("people", "draws", "noise", "sampled", "tolerance"):
            whole(1, **{name: getattr(self, name)})
        if self.sampled > MOST_SAMPLED:
            raise InvalidParameter(
                "sampled",
                self.sampled,
                allowed=f"at most {MOST_SAMPLED} rows, as many as answer within the noise",
                hint="Take a smaller epsilon or more draws, or state fewer rows and a larger tolerance yourself.",
            )

    @classmethod
    def calibrated(
        cls,
        workload: Workload,
        *,
        people: int,
        draws: int,
        epsilon: Number,
        delta: Number,
        beta: Number,
        neighbours: Neighbours,
    ) -> Self:
        """The generator with k draws whose synopses are each (epsilon, delta)-DP; rows are sampled as finely as the
        noise is large."""
        risk = inside_unit(beta=beta)
        scale = base_scale(draws=draws, epsilon=epsilon, delta=delta, sensitivity=workload.column_norms()[2])
        noise = max(1, DiscreteLaplace(scale, neighbours).error(risk, count=draws))
        whole_parts = whole(1, people=people) * workload.denominator
        if noise >= whole_parts:
            raise TheoremDoesNotApply(
                "Theorem 6.8",
                needs=f"more than {noise} people at this price, draws and beta",
                given=f"{whole_parts} parts",
                instead="a larger epsilon, or fewer draws",
            )
        sampled = sampled_rows(draws=draws, alpha=Fraction(noise, whole_parts), beta=risk)
        return cls(
            workload=workload, people=people, draws=draws, scale=scale, noise=noise, sampled=sampled,
            tolerance=4 * noise + 1, beta=risk, neighbours=neighbours,
        )  # fmt: skip

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        return repeated(DiscreteLaplace(self.scale, self.neighbours).loss(sensitivity=sensitivity), self.draws)

    def synopsis(self, asked: Integers, answers: Integers, entropy: Entropy) -> Integers | None:
        noisy = DiscreteLaplace(self.scale, self.neighbours).release(answers, entropy)
        found = syntheticized(self.workload, asked, noisy, people=self.people, tolerance=self.noise)
        if not found.fits:
            return None
        chosen = uniform_below(found.size, self.sampled, entropy=entropy)
        cells = np.searchsorted(found.rows.cumsum(), chosen, side="right")
        return np.bincount(cells, minlength=self.workload.grid.cells).astype(np.int64)

    def failure(self) -> Fraction:
        _require(self.draws, linear_draws(rows=self.sampled, cells=self.workload.grid.cells, beta=self.beta))
        return 3 * self.beta


def brute_force_draws(*, people: int, cells: int, beta: Number) -> int:
    """The least k above 6 (n lg #X + ln(2 / beta)).

    Reference: Dwork & Roth 2014, Theorem 6.6.
    Textbook: S10.4.
    """
    return samples_needed(
        bits=database_bits(rows=people, cells=cells), eta=ETA, gamma=inside_unit(beta=beta) / 2
    ) + 1  # fmt: skip


def linear_draws(*, rows: int, cells: int, beta: Number) -> int:
    """How many questions a sample of so many rows must fit: 6 (rows lg #X + ln(1 / beta)), rounded up.

    Textbook: S10.6.
    """
    return samples_needed(bits=database_bits(rows=rows, cells=cells), eta=ETA, gamma=beta)


def sampled_rows(*, draws: int, alpha: Number, beta: Number) -> int:
    """ln(2 k / beta) / (2 alpha^2) random rows answer k questions within a share alpha, but for beta. Rounded up.

    Textbook: S10.6.
    """
    share, risk = inside_unit(alpha=alpha), inside_unit(beta=beta)
    with precise():
        return ceil(upper(ball(2 * whole(1, draws=draws) / risk).log() / ball(2 * share**2)))


def base_scale(*, draws: int, epsilon: Number, delta: Number, sensitivity: Number) -> Fraction:
    """b = 2 rho sqrt(2 k ln(1 / delta)) / epsilon, rounded up: k answers are then (epsilon, delta)-DP.

    Reference: Dwork & Roth 2014, the proof of Theorem 6.6 and Corollary 3.21, for epsilon of at most 1.
    Textbook: S10.4, S10.6.
    """
    target, moved = positive(epsilon=epsilon), positive(sensitivity=sensitivity)
    if target > 1:
        raise TheoremDoesNotApply(
            "Corollary 3.21", needs="epsilon of at most 1", given=f"{target}", instead="a scale of your own"
        )
    with precise():
        root = (-ball(2 * whole(1, draws=draws)) * ball(inside_unit(delta=delta)).log()).sqrt()
        return Fraction(ceil(1024 * upper(2 * ball(moved) * root / ball(target))), 1024)


def textbook_tolerance(*, draws: int, scale: Number, beta: Number) -> Fraction:
    """lambda = 2 b (ln k + ln(2 / beta)), rounded up: what the theorem asks of continuous noise.

    Reference: Dwork & Roth 2014, Theorem 6.6.
    Textbook: S10.4.
    """
    count, width = whole(1, draws=draws), positive(scale=scale)
    with precise():
        return upper(2 * ball(width) * ball(2 * count / inside_unit(beta=beta)).log())


@lru_cache(maxsize=8)
def all_databases(cells: int, people: int) -> Integers:
    """All histograms of so many people, those with more in earlier cells first."""
    chosen = np.array(list(combinations_with_replacement(range(cells), people)), dtype=np.int64)
    found = np.zeros((len(chosen), cells), dtype=np.int64)
    np.add.at(found, (np.arange(len(chosen))[:, None], chosen), 1)
    found.flags.writeable = False
    return found


def _require_replace(neighbours: Neighbours) -> None:
    if not isinstance(neighbours, Replace):
        raise InvalidParameter(
            "neighbours", neighbours, allowed="Replace(): a synthetic database has a public number of people"
        )


def _require(draws: int, needed: int) -> None:
    if draws < needed:
        raise TheoremDoesNotApply(
            "Lemma 6.5", needs=f"{needed} questions in each round", given=f"{draws}", instead="more draws"
        )
