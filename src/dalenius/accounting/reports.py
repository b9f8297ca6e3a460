"""Tight figures for reports, by privacy-loss distributions on a grid.

For reports only, never for a ledger: the sums run in floats (rounded pessimistically, but not certified), and they hold
for losses that were fixed beforehand, not for adaptively chosen ones. Needs the extra `reports`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

from dalenius.accounting.composition import parts
from dalenius.errors import MissingExtra, TheoremDoesNotApply
from dalenius.privacy.losses import ApproximateDP, LaplaceDP, Loss, PureDP
from dalenius.privacy.numbers import Number, inside_unit, not_negative, positive, whole

try:
    from dp_accounting.pld import common, privacy_loss_distribution  # type: ignore[import-untyped]
except ImportError:  # pragma: no cover - the extra is installed where tests run
    privacy_loss_distribution = None

GRID = 1e-4  # the step, in privacy loss, of the distributions' grid


@dataclass(frozen=True, slots=True)
class IntegerGaussian:
    """One integer, which a neighbour step moves by at most `sensitivity`, with discrete Gaussian noise.

    Its zCDP figure does not tell its loss distribution, so reports take the noise itself.
    """

    variance: Fraction
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(variance=self.variance))
        object.__setattr__(self, "sensitivity", whole(1, sensitivity=self.sensitivity))


Use: TypeAlias = Loss | IntegerGaussian


def reported_epsilon(uses: Mapping[Use, int], *, delta: Number) -> float:
    """The epsilon at `delta` of each use taken as many times as the mapping says."""
    return float(_distribution(uses).get_epsilon_for_delta(float(inside_unit(delta=delta))))


def reported_delta(uses: Mapping[Use, int], *, epsilon: Number) -> float:
    """The delta at `epsilon` of each use taken as many times as the mapping says."""
    return float(_distribution(uses).get_delta_for_epsilon(float(not_negative(epsilon=epsilon))))


def _distribution(uses: Mapping[Use, int]) -> Any:
    if privacy_loss_distribution is None:
        raise MissingExtra("A report by privacy-loss distributions", package="dp-accounting", extra="reports")
    counted = [
        (one, whole(1, count=count) * each)
        for use, count in uses.items()
        for one, each in (((use, 1),) if isinstance(use, IntegerGaussian) else parts(use))
    ]
    # Composed here and not by the package's accountant, which counts repeated randomized response once.
    composed = [_single(one).self_compose(count) for one, count in counted]
    empty = privacy_loss_distribution.identity(value_discretization_interval=GRID)
    return reduce(lambda first, second: first.compose(second), composed, empty)


def _single(use: Use) -> Any:
    """The distribution of one use, rounded pessimistically to the grid."""
    if isinstance(use, IntegerGaussian):
        sigma = float(use.variance) ** 0.5
        return privacy_loss_distribution.from_discrete_gaussian_mechanism(
            sigma, use.sensitivity, value_discretization_interval=GRID
        )
    if isinstance(use, LaplaceDP):
        return privacy_loss_distribution.from_discrete_laplace_mechanism(
            float(use.epsilon / use.steps), use.steps, value_discretization_interval=GRID
        )
    if isinstance(use, PureDP | ApproximateDP):
        figures = common.DifferentialPrivacyParameters(float(use.epsilon), float(use.delta))
        return privacy_loss_distribution.from_privacy_parameters(figures, value_discretization_interval=GRID)
    raise TheoremDoesNotApply(
        "A privacy-loss distribution",
        needs="pure, approximate or Laplace losses, or the Gaussian noise itself",
        given=str(use),
        instead="IntegerGaussian(variance, sensitivity), or to_approximate",
    )
