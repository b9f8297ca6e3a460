"""A robust statistic in each of many groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dalenius.accounting.composition import repeated
from dalenius.errors import TheoremDoesNotApply
from dalenius.mechanisms.robust.order_statistics import SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.robust.propose_test_release import ProposedQuantile
from dalenius.mechanisms.robust.scale import InterquartileScale
from dalenius.mechanisms.robust.stable_answers import StableMode, StableQuantile
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.group import group_privacy
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated
from dalenius.privacy.numbers import whole
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy

RobustStatistic: TypeAlias = (
    SmoothQuantile | SmoothTrimmedMean | ProposedQuantile | InterquartileScale | StableMode | StableQuantile
)

_NAME = "a robust statistic in each group"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedStatistic:
    """In each group a robust statistic of its values: a mechanism for neighbours that add or remove `rows` values.

    Guarantee: if one unit has values in at most `groups` groups, and at most `statistic.rows` in each, all releases
    together cost `groups` times the loss of one. Where a unit is replaced, which is one step of removing and one of
    adding, they cost `groups` times the loss towards a group of two.
    Proof: groups are answered independently, each from its own values, and those that no unit touches do not change.
    If both units have values in one group, this group is two steps away, which is group privacy and not composition:
    there is one release only. If they share none, twice as many groups are one step away each; two such releases, at
    the same epsilon and delta, lose no more than one at twice epsilon and the delta of two steps.
    Reference: as the statistics: Nissim, Raskhodnikova & Smith 2007; Dwork & Roth 2014, Sections 7.2 and 7.3.
    Textbook: S11.1, S11.4, S11.5, S11.6.
    """

    statistic: RobustStatistic
    groups: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", whole(1, groups=self.groups))
        stated(self.neighbours)
        assert isinstance(self.statistic.neighbours, AddRemove)

    @property
    def rows(self) -> int:
        """How many values one unit has in a group at most."""
        return self.statistic.rows

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        steps = self.neighbours.add_remove_steps
        change, most = Sensitivity.of(sensitivity).need("l1", mechanism=_NAME), steps * self.groups * self.rows
        if change > most:
            raise TheoremDoesNotApply(
                _NAME,
                needs=f"at most {most} values to change",
                given=f"lists in which {change} can",
                instead="more groups or rows",
            )
        one = self.statistic.loss(sensitivity=self.rows)
        return repeated(group_privacy(one, size=steps), self.groups)

    def release(self, groups: Sequence[ValueCounts], entropy: Entropy) -> tuple[Any, ...]:
        """The released statistic of each group, given as its values and how often each occurs."""
        return tuple(self.statistic.release(group, entropy) for group in groups)
