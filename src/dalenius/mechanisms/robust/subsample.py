"""Subsample and aggregate: any function on blocks of the data, and a private value of what it gives.

The raw-data problem: analysts look at parts of the data, agree on a statistic, and only that is released.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dalenius.accounting.composition import compose, parts, repeated
from dalenius.errors import InvalidParameter, UnusableValue
from dalenius.mechanisms.door import Mechanism
from dalenius.mechanisms.robust.aggregates import BlockAggregate, StableVoteOfBlocks, VoteOfBlocks
from dalenius.mechanisms.robust.stability import one_step
from dalenius.privacy.group import group_privacy
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, Replace, require_same, stated
from dalenius.privacy.numbers import of_kind, whole
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import uniform_below
from dalenius.sandbox.sandbox import Function, Sandbox


@dataclass(frozen=True)
class BlockRows:
    """The rows of blocks of units: all rows of a unit are in one block, which depends on that unit alone."""

    blocks: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnBlocks:
    """A function for a sandbox, the number of blocks that it runs on, and how its outputs are aggregated."""

    function: Function
    blocks: int
    aggregate: BlockAggregate
    sandbox: Sandbox
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", whole(2, blocks=self.blocks))
        of_kind(Sandbox, sandbox=self.sandbox)
        stated(self.neighbours)

    @property
    def seconds(self) -> float:
        """How long the function runs in all, on any data."""
        return self.sandbox.total(self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatedBlocks(_OnBlocks):
    """Run a function in a sandbox on each of `blocks` given blocks of units, and aggregate privately.

    Guarantee: what the aggregate states for one output that becomes another one, if all rows of a unit are in one block
    that depends on that unit alone, be they one or ten thousand. Where a unit is replaced by another one, which may be
    in another block, the loss towards a group of two.
    Proof: one unit more or less changes one block, so at most one output, to another one in the public range. One that
    is replaced leaves a block and enters one.
    Reference: Nissim, Raskhodnikova & Smith 2007, Section 4; Mohan et al. 2012 (GUPT); Dwork & Roth 2014, Section 7.1.
    Textbook: S11.2, S11.3.
    """

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        """The sensitivity is the number of blocks that change. Where blocks cannot be confined this is refused."""
        steps = self.neighbours.add_remove_steps
        one_step(sensitivity, mechanism="a function on given blocks", most=steps)
        self.sandbox.require(self.function)
        return compose([repeated(group_privacy(loss, size=steps), count) for loss, count in parts(self.aggregate.loss)])

    def release(self, rows: BlockRows, entropy: Entropy) -> Any:
        """The private aggregate. The function's part takes `seconds` of time, whatever the data are."""
        if len(rows.blocks) != self.blocks:
            raise UnusableValue("blocks", "another number", allowed=f"{self.blocks}, as stated")
        outputs = self.sandbox.outputs(self.function, map(list, rows.blocks), self.aggregate.output)
        return self.aggregate.release(outputs, entropy)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampleAggregate(_OnBlocks):
    """Divide the units at random into `blocks` blocks, run a function on each in a sandbox, and aggregate privately.

    What is released is a list of units: each entry is all that one unit has, a row or a list of rows. An entry goes to
    a block that is drawn without looking at it: each on its own where units are added or removed, a shuffled deck cut
    into equal parts where they are replaced. The function may be anything; it is not trusted to be private, to end, or
    to give a number (see `Sandbox` for what it is trusted with).

    Guarantee: what the aggregate states for one output that becomes another one.
    Proof: fix how entries are divided; it does not depend on what they say. One entry more, less or replaced then
    changes one block, so at most one output, to another one in the public range. Mixing over the divisions keeps
    the guarantee.
    Accuracy: that of the function on n / m rows, and of the aggregate on m numbers; there is no general bound.
    Estimators whose outputs on parts of the data lie close together do well.
    Reference: Nissim, Raskhodnikova & Smith 2007, Section 4; Mohan et al. 2012 (GUPT); Dwork & Roth 2014, Section 7.1.
    Textbook: S11.2, S11.3.
    """

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        """The sensitivity is the number of entries that one step adds, removes or replaces: 1.

        Where blocks cannot be confined there is no guarantee, and this is refused before anything is charged.
        """
        one_step(sensitivity, mechanism="subsample and aggregate")
        self.sandbox.require(self.function)
        return self.aggregate.loss

    def release(self, units: Sequence[Any], entropy: Entropy) -> Any:
        """The private aggregate. The function's part takes `seconds` of time, whatever the data are."""
        outputs = self.sandbox.outputs(self.function, self.divided(units, entropy), self.aggregate.output)
        return self.aggregate.release(outputs, entropy)

    def divided(self, units: Sequence[Any], entropy: Entropy) -> list[list[Any]]:
        """The blocks; entries keep their order inside of one."""
        count = len(units)
        if isinstance(self.neighbours, Replace):
            places = [place % self.blocks for place in range(count)]
            for last in range(count - 1, 0, -1):
                other = entropy.below(last + 1)
                places[last], places[other] = places[other], places[last]
        else:
            places = uniform_below(self.blocks, count, entropy=entropy).tolist()
        blocks: list[list[Any]] = [[] for _ in range(self.blocks)]
        for unit, place in zip(units, places, strict=True):
            blocks[place].append(unit)
        return blocks


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
