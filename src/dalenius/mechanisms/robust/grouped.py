"""A smooth quantile in each of many groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalenius.accounting.composition import repeated
from dalenius.errors import TheoremDoesNotApply
from dalenius.mechanisms.rank_grid import ValueCounts
from dalenius.mechanisms.robust.order_statistics import SmoothQuantile
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated
from dalenius.privacy.numbers import whole
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy

_NAME = "a smooth quantile in each group"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedQuantile:
    """In each group the quantile of its values, with noise of the size of its smooth sensitivity there.

    Guarantee: if one unit has values in at most `groups` groups, and at most `quantile.rows` in each, all quantiles
    together cost `groups` times the loss of one; where a unit is replaced, which is one step of removing and one of
    adding, twice that.
    Proof: groups are answered independently, each from its own values, and those that no unit touches do not change.
    Reference: as `SmoothQuantile`: Nissim, Raskhodnikova & Smith 2007, Sections 2 and 3.1.
    Textbook: S11.1.
    """

    quantile: SmoothQuantile
    groups: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", whole(1, groups=self.groups))
        stated(self.neighbours)
        assert isinstance(self.quantile.neighbours, AddRemove)

    @property
    def rows(self) -> int:
        """How many values one unit has in a group at most."""
        return self.quantile.rows

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        steps = self.groups * self.neighbours.add_remove_steps
        change = Sensitivity.of(sensitivity).need("l1", mechanism=_NAME)
        if change > steps * self.rows:
            raise TheoremDoesNotApply(
                _NAME,
                needs=f"at most {steps * self.rows} values to change",
                given=f"lists in which {change} can",
                instead="more groups or rows",
            )
        return repeated(self.quantile.noise.loss, steps)

    def release(self, groups: Sequence[ValueCounts], entropy: Entropy) -> tuple[int, ...]:
        """The noisy quantile of each group, given as its values and how often each occurs."""
        return tuple(self.quantile.release(group, entropy) for group in groups)
