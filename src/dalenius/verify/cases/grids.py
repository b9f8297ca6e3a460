"""Quantiles on a grid and choices within groups, with their exact laws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dalenius.mechanisms.grouped_choice import GroupedChoice
from dalenius.mechanisms.quantiles import PrivateQuantiles
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.verify.cases import grid_laws
from dalenius.verify.cases.case import ADD, REPLACE, Case, neighbouring


def of_grid(targets: tuple[Any, ...], upper: int = 3, **more: Any) -> Callable[..., PrivateQuantiles]:
    return lambda **parameters: PrivateQuantiles.calibrated(targets=targets, lower=0, upper=upper, **more, **parameters)


def grid_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        steps = relation.add_remove_steps
        values, pairs = neighbouring(grid_laws.one_group, relation, ((0,), (1, 1), (1, 3), (3,), (2, 3)))
        for name, calibrated in [
            ("median", of_grid(("1/2",))),
            ("first decile", of_grid(("1/10",))),
            ("least value", of_grid((0,))),
            ("three quartiles", of_grid(("1/4", "1/2", "3/4"))),
            ("least and largest value", of_grid((0, 1))),
            ("median with an interval", of_grid(("1/2",), beta="1/10")),
            ("least value and median with intervals", of_grid((0, "1/2"), beta="1/2")),
        ]:
            change = Sensitivity(l1=2 * steps)
            yield Case(name, relation, change, calibrated, values, pairs, grid_laws.quantile_law, tight=False)
        units = (((0, 0),), ((0, 1), (1, 1)), ((1, 0), (2, 1)), ((2, 1),))
        values, pairs = neighbouring(grid_laws.votes, relation, units)
        change = Sensitivity(linf=1, monotone=relation == ADD)
        yield Case("choices", relation, change, in_two_groups, values, pairs, grid_laws.votes_law, tight=False)


def in_two_groups(**parameters: Any) -> GroupedChoice:
    return GroupedChoice.calibrated(groups=2, **parameters)
