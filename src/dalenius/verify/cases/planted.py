"""Bugs that have happened, each with the claim that it would make: what every check of a claim must flag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Self

from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.mechanisms.keys.thresholding import ThresholdedCounts
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.order_statistics import SmoothQuantile
from dalenius.mechanisms.robust.smooth import SmoothCauchy
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.grouped_choice import GroupedChoice
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.losses import PureDP
from dalenius.privacy.numbers import Number, positive
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.verify.cases import grids as grid_laws
from dalenius.verify.cases import robust as robust_laws
from dalenius.verify.cases.case import ADD, REPLACE, Calibrated, Case, neighbouring
from dalenius.verify.cases.grids import of_grid
from dalenius.verify.cases.keys import key_cases
from dalenius.verify.cases.numeric import YES_NO, cell_counts, vector_law, yes_counts
from dalenius.verify.cases.robust import robust_cases, smooth
from dalenius.verify.cases.selection import index_law


class ThresholdOneTooLow(ThresholdedCounts):
    """Shows counts that pass a threshold where it should be those above it."""

    @property
    def threshold(self) -> int:
        return super().threshold - 1


class WithoutHandicap(LimitedTopK):
    """An exponential mechanism over keys found in the data."""

    @property
    def handicap(self) -> int:
        return 1


class ForAQuarter(SmoothCauchy):
    """Noise whose price leaves a factor out: the bound is smooth at four times what is stated."""

    @classmethod
    def calibrated(cls, *, epsilon: Number) -> Self:
        return super().calibrated(epsilon=4 * positive(epsilon=epsilon))

    @property
    def loss(self) -> PureDP:
        return PureDP((self.beta + 1 / self.multiple) / 4)


def planted(kind: type, mechanism: Any) -> Any:
    """The mechanism with a bug: the same fields in a broken class."""
    fields: Callable[[str], Any] = mechanism.__getattribute__
    return kind(**{name: fields(name) for name in mechanism.__dataclass_fields__})


def planted_cases() -> Iterator[Case]:
    """Bugs that have happened, each with the claim that it would make."""
    values, pairs = neighbouring(cell_counts(2), REPLACE, (0, 1))
    one, some = Sensitivity(l1=1), {"complete": False}
    yield Case(
        "replace priced as add/remove", REPLACE, one, DiscreteLaplace.calibrated, values, pairs, vector_law, **some
    )
    values, pairs = neighbouring(yes_counts, ADD, YES_NO)
    yield Case("two counts priced as one", ADD, one, DiscreteLaplace.calibrated, values, pairs, vector_law, **some)
    values, pairs = neighbouring(yes_counts, REPLACE, YES_NO)
    alone = Sensitivity(linf=Fraction(1, 2))
    kinds: list[tuple[str, Calibrated]] = [
        ("exponential without the half", ExponentialMechanism.calibrated),
        ("permute and flip without the half", PermuteAndFlip.calibrated),
        ("noisy max without the half", NoisyMax.calibrated),
    ]
    for name, calibrated in kinds:
        yield Case(name, REPLACE, alone, calibrated, values, pairs, index_law)
    values, pairs = neighbouring(grid_laws.one_group, ADD, ((0, 0, 0), (3, 3, 3)), most=3)
    yield Case("three rows priced as one", ADD, one, of_grid(("1/2",)), values, pairs, grid_laws.quantile_law)
    with_ends = of_grid(("1/2",), beta="9/10")
    values, pairs = neighbouring(grid_laws.one_group, ADD, ((1, 1, 1), (3, 3, 3)), most=3)
    yield Case("three rows and an interval priced as one", ADD, one, with_ends, values, pairs, grid_laws.quantile_law)
    values, pairs = neighbouring(grid_laws.one_group, ADD, ((2,), (6,)), most=4)
    steep = partial(grid_laws.quantile_law, steepness=Fraction(2))
    wider = of_grid(("1/2",), beta="9/10", upper=6)
    yield Case("ends without the halves", ADD, one, wider, values, pairs, steep)
    units = (((0, 0), (1, 0), (2, 0)), ((0, 1), (1, 1), (2, 1)))
    values, pairs = neighbouring(grid_laws.votes, ADD, units, most=6)
    alike = Sensitivity(linf=1, monotone=True)
    yield Case("three groups priced as one", ADD, alike, in_one_group, values, pairs, grid_laws.votes_law)
    values, pairs = neighbouring(robust_laws.in_order, ADD, (0, 1, 4), most=4)
    cheap, law = smooth(SmoothQuantile, ForAQuarter, lower=0, upper=4), robust_laws.quantile_law
    yield Case("smooth noise for a quarter of its price", ADD, 1, cheap, values, pairs, law)


def in_one_group(**parameters: Any) -> GroupedChoice:
    return GroupedChoice.calibrated(groups=1, **parameters)


PLANTED = list(planted_cases())


def planted_events() -> Iterator[Case]:
    """Bugs in the choice of keys, with the event that each would claim."""
    cases = {case.name: case for case in key_cases() if case.neighbours == ADD}
    for name, kind in [
        ("Laplace above", ThresholdOneTooLow),
        ("Gaussian above", ThresholdOneTooLow),
        ("limited top two", WithoutHandicap),
    ]:
        yield replace(cases[name], name=f"{name}, broken", calibrated=_broken(kind, cases[name].calibrated))
    single = Sensitivity.sparse(coordinates=1, each=1, monotone=True)
    yield replace(cases["geometric keys"], name="two keys priced as one", sensitivity=single)
    modes = next(case for case in robust_cases() if (case.name, case.neighbours) == ("stable mode", ADD))
    values, pairs = neighbouring(three_of_each, ADD, (0, 1), most=4)
    yield replace(modes, name="a mode of three values priced as one", values=values, pairs=pairs)


def three_of_each(units: Iterable[int]) -> ValueCounts:
    return grid_laws.value_counts(value for unit in units for value in [unit] * 3)


def _broken(kind: type, calibrated: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **parameters: planted(kind, calibrated(**parameters))


PLANTED_EVENTS = list(planted_events())
