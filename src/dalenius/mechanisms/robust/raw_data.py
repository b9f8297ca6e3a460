"""The raw-data problem: analysts look at parts of the data, agree on a statistic, and only that is released."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dalenius.accounting.composition import compose
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.door import Mechanism
from dalenius.mechanisms.robust.aggregates import StableVoteOfBlocks, VoteOfBlocks
from dalenius.mechanisms.robust.subsample import SubsampleAggregate
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, require_same
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Chosen:
    """The option on which the analysts agreed, and its private value."""

    option: Hashable
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDataProtocol:
    """b analysts who do not talk to each other each see one block, raw, and choose one of fixed statistics; if the
    choice is stable, that statistic is computed on all data and released with noise.

    `choice` is the vote: its function stands for an analyst, and its options are the names of the statistics. Each
    statistic is a function of all units, released by `mechanism` at the stated `statistic_sensitivity`. If there is no
    choice, the answer is None.

    Guarantee: the vote and one statistic, one after the other: their losses are composed.
    Proof: a unit is in one block, so it moves one analyst's choice. What is computed then depends on the data
    through the private choice alone, and through a mechanism. An analyst must choose one of the options: a free text
    from raw data would be a release without noise. Nor may analysts see what others got.
    Reference: Dwork & Roth 2014, Section 7.3.3 (closing example).
    Textbook: S11.9.
    """

    choice: SubsampleAggregate
    statistics: Mapping[Hashable, Callable[[Sequence[Any]], Any]] = field(hash=False)
    mechanism: Mechanism[Any, Any]
    statistic_sensitivity: SensitivityLike

    def __post_init__(self) -> None:
        vote = self.choice.aggregate
        if not isinstance(vote, VoteOfBlocks | StableVoteOfBlocks):
            raise InvalidParameter("choice", type(vote), allowed="aggregated by a vote")
        if set(vote.output.options) != set(self.statistics):
            raise InvalidParameter("statistics", sorted(map(str, self.statistics)), allowed="one for each option")
        require_same(choice=self.choice.neighbours, mechanism=self.mechanism.neighbours)
        object.__setattr__(self, "statistics", dict(self.statistics))

    @property
    def neighbours(self) -> Neighbours:
        return self.choice.neighbours

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        """The sensitivity is the number of units that one step changes: 1."""
        vote = self.choice.loss(sensitivity=sensitivity)
        return compose([vote, self.mechanism.loss(sensitivity=self.statistic_sensitivity)])

    def release(self, units: Sequence[Any], entropy: Entropy) -> Chosen | None:
        """The chosen statistic with noise, or None."""
        winner = self.choice.release(units, entropy)
        if winner is None:
            return None
        value = self.statistics[winner.option](units)
        return Chosen(winner.option, self.mechanism.release(value, entropy))
