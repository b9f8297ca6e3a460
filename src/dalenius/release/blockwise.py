"""Any function on a private table: blocks of units in a sandbox, and a private aggregate, charged like any question."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import DELTA_UNIT, Amount, price
from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.columns import Column
from dalenius.curator.asking.asking import Asked, Cost
from dalenius.curator.asking.prices import Offer
from dalenius.curator.asking.progress import Progress
from dalenius.curator.cards.cards import Step
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.robust.aggregates import (
    Aggregate,
    FeaturesOfBlocks,
    MedianOfBlocks,
    StableVoteOfBlocks,
    VoteOfBlocks,
)
from dalenius.mechanisms.robust.carried import Carried
from dalenius.mechanisms.robust.outputs import Choice, Range, Subset
from dalenius.mechanisms.robust.program import Program
from dalenius.mechanisms.robust.sandbox import MOST_CODES, Function, Sandbox
from dalenius.mechanisms.robust.subsample import AggregatedBlocks, BlockRows
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.cells import Cells, Look
from dalenius.query.estimates.kinds import REAL, TEXT
from dalenius.query.expressions import Column as Named
from dalenius.query.frames.frames import Frame
from dalenius.query.keys import key_tuples
from dalenius.query.plan.passes import Pass, UnitBlocks
from dalenius.query.plan.relations import Bound, Project
from dalenius.query.pricing.explain import theorem
from dalenius.query.pricing.offers import least_affordable, rounded_down
from dalenius.query.questions import Question
from dalenius.query.types import Domain
from dalenius.randomness.entropy import Entropy
from dalenius.release.carrier import asked_for

Output: TypeAlias = Range | Choice | Subset
_PLAIN = (str, int, float, bool)
_LATE = Fraction(1, 20)


@dataclass(frozen=True)
class Blockwise:
    """A function on blocks of units, and what it may cost. All of it is public."""

    question: Question
    domains: tuple[Domain, ...]
    mechanism: AggregatedBlocks = field(compare=False)
    name: str
    charge: Mapping[str, Amount]

    @property
    def terms(self) -> tuple[object, ...]:
        """What decides the answer: the function by the name of its code, not by where it is in memory."""
        made = self.mechanism
        return "subsample", self.name, made.blocks, made.aggregate, made.sandbox, self.charge

    @property
    def sensitivity(self) -> Sensitivity:
        """How many blocks change when one unit does."""
        relation = self.mechanism.neighbours
        return Sensitivity(l1=relation.add_remove_steps, linf=1, neighbours=relation)

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss(sensitivity=self.sensitivity)

    @property
    def steps(self) -> tuple[Step, ...]:
        """In words: one function on blocks, and the aggregate of its outputs."""
        aggregate, change = type(self.mechanism.aggregate), "all rows of one unit, which are in one block"
        what = f"a function on {self.mechanism.blocks} blocks of units"
        return (Step(what, change, aggregate.__name__, theorem(aggregate), str(self.loss), "the whole price"),)

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The rows of all blocks, which stay sealed."""
        relation = self.question.relation
        names = tuple(statistic.columns[0] for statistic in self.question.statistics)
        kept = Project(relation, tuple((name, Named(relation.schema[name], name)) for name in names))
        return (UnitBlocks(Bound(kept, names, self.question.most.rows, None), self.mechanism.blocks),)

    def run(self, look: Look, allowance: Allowance, entropy: Entropy) -> Any:
        """The private aggregate of what the function gives."""
        (step,) = self.passes
        return measure(self.mechanism, look(step).map(self.rows, sensitivity=self.sensitivity), allowance, entropy)

    def rows(self, cells: Cells) -> BlockRows:
        """The rows of each block, in an order that says nothing but what they are."""
        blocks: list[list[Any]] = [[] for _ in range(self.mechanism.blocks)]
        (counts,) = cells.totals
        for key, count in zip(key_tuples(cells.keys, len(counts)), counts.tolist(), strict=True):
            row = tuple(_plain(domain.shown(code)) for domain, code in zip(self.domains, key[:-1], strict=True))
            blocks[int(key[-1] or 0)].extend([row] * count)
        return BlockRows(tuple(map(tuple, blocks)))

    def answer(self, released: Any) -> Answer:
        """What was released, as a table."""
        made = self.mechanism.aggregate
        if isinstance(made, FeaturesOfBlocks):
            return Answer((Column("chosen", tuple(map(str, released)), kind=TEXT),))
        if isinstance(made, MedianOfBlocks):
            return Answer((Column("value", (float(released),), kind=REAL),))
        return Answer((Column("choice", (None if released is None else str(released.option),), kind=TEXT),))


@dataclass(frozen=True)
class Subsample:
    """A function to run on a private table, block by block; see `Session.subsample`.

    Each unit is in one block, by a public hash of the unit, with all of its rows. The function runs on the rows of each
    block in a `Sandbox`: whatever it does, a block gives one value of `output`, after the same time. Numbers are
    aggregated by their private median, options by a private vote, and sets of options by noisy counts. With `exact` a
    vote is released exactly where many blocks would have to change to change it, and else is NULL: that needs a delta.

    Every block runs in a fresh interpreter, which never had other rows: a plain function is `Carried` there. A function
    is known by its code and by what it uses, and a `Program` by its file's content, so an equal request is answered
    from the ledger for nothing.
    Textbook: S11.2, S11.3.
    """

    function: Function
    columns: Sequence[str]
    output: Output
    blocks: int = 16
    seconds: Number = 2
    megabytes: int = 512
    exact: bool = False

    def cost(self, rows: Frame, *, epsilon: Number | None = None, share: Number | None = None) -> Cost:
        """What it would cost, and how long it would take; nothing is read or spent."""
        asked, made = self.planned(rows, Offer(epsilon, share))
        cost = asked.cost_of(made, epsilon=epsilon)
        notes = [
            cost.note,
            f"the function's part takes {made.mechanism.seconds:.1f} s, whatever the data are",
            *self._told(made),
        ]
        return replace(cost, note="; ".join(note for note in notes if note))

    def run(
        self,
        rows: Frame,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
        progress: Callable[[Progress], object] | None = None,
    ) -> Answer:
        """Charge, run the function on every block, and release the aggregate. A trial without rows comes first: where
        blocks cannot be confined, nothing is charged."""
        asked, made = self.planned(rows, Offer(epsilon, share))
        text = f"SUBSAMPLE {', '.join(self.columns)} of {made.question.relation.tables[0].name}"
        return asked.buy(made, made.answer, text=text, key=key, fresh=fresh, progress=progress)

    def planned(self, rows: Frame, offer: Offer) -> tuple[Asked, Blockwise]:
        """The question that carries the rows, and what is done with them for a price; nothing is read or spent."""
        self._require_sound()
        offer.require_one()
        asked, domains = asked_for(rows, tuple(self.columns))
        tables = asked.question.relation.tables
        neighbours = next(table.protection.neighbours for table in tables if table.protection)
        offers = asked.bought(epsilon=offer.epsilon, share=offer.share)
        given = self.function
        function = given if isinstance(given, Program | Carried) else Carried.of(given)
        made = self._mechanism(function, list(offers.values()), neighbours)
        if 2 * made.seconds > asked.most_seconds:  # the rest is for reading, so that no unit's rows make it late
            raise InvalidParameter(
                "blocks", self.blocks, allowed=f"fewer, or shorter ones: {asked.most_seconds / 2:.0f} s in all"
            )
        loss = made.loss(sensitivity=neighbours.add_remove_steps)
        charge = {name: price(loss, order=amount.order) for name, amount in offers.items()}
        if not all(cost <= offers[name] for name, cost in charge.items()):
            raise InvalidParameter("epsilon", offer.epsilon, allowed="larger: this buys no aggregate")
        return asked, Blockwise(asked.question, domains, made, _name(function), charge)

    def _require_sound(self) -> None:
        if isinstance(self.columns, str) or not self.columns or len(set(self.columns)) < len(self.columns):
            raise InvalidParameter("columns", self.columns, allowed="a list of one or more, each named once")
        if not isinstance(self.output, Range | Choice | Subset):
            raise InvalidParameter("output", type(self.output), allowed="a Range, a Choice or a Subset")
        if self.exact and not isinstance(self.output, Choice):
            raise InvalidParameter("exact", self.exact, allowed="for a Choice: numbers are never exact")
        if self.output.width > MOST_CODES:
            raise InvalidParameter("output", f"{self.output.width} options", allowed=f"at most {MOST_CODES}")
        options = () if isinstance(self.output, Range) else self.output.options
        if not all(isinstance(option, _PLAIN) for option in options):
            raise InvalidParameter("options", "other things", allowed="texts, numbers and truth values")
        if not (callable(self.function) or isinstance(self.function, Program | Carried)):
            raise InvalidParameter("function", type(self.function), allowed="a function or a Program")

    def _mechanism(
        self, function: Program | Carried, offers: Sequence[Amount], neighbours: Neighbours
    ) -> AggregatedBlocks:
        sandbox = Sandbox(seconds=positive(seconds=self.seconds), megabytes=self.megabytes)
        blocks, steps = whole(2, blocks=self.blocks), neighbours.add_remove_steps
        delta = self._delta(offers)

        def made(size: Fraction, event: Fraction = delta) -> AggregatedBlocks:
            return AggregatedBlocks(
                function=function,
                blocks=blocks,
                aggregate=self._aggregate(size, event),
                sandbox=sandbox,
                neighbours=neighbours,
            )

        made(Fraction(1)).loss(sensitivity=steps)  # the trial
        if not delta:
            return made(rounded_down(least_affordable(offers, lambda size: made(size).loss(sensitivity=steps))))
        # What two steps do to a delta does not change its size by more than this, at what a price can buy.
        spare = [replace(offer, delta=2**63 - 1) for offer in offers]
        epsilon = rounded_down(least_affordable(spare, lambda size: made(size).loss(sensitivity=steps)))
        growth = made(epsilon).loss(sensitivity=steps).delta / delta
        return made(epsilon, Fraction(int(delta / growth * 10**30), 10**30))

    def _delta(self, offers: Sequence[Amount]) -> Fraction:
        if not self.exact:
            return Fraction(0)
        units = min(offer.delta for offer in offers)
        if not units:
            raise InvalidParameter(
                "exact",
                self.exact,
                allowed="False at this price, which has no delta: the test of what is stable may fail",
            )
        return units * DELTA_UNIT

    def _aggregate(self, epsilon: Fraction, delta: Fraction) -> Aggregate:
        if isinstance(self.output, Range):
            return MedianOfBlocks(output=self.output, epsilon=epsilon)
        if isinstance(self.output, Subset):
            return FeaturesOfBlocks(output=self.output, epsilon=epsilon)
        if self.exact:
            return StableVoteOfBlocks(output=self.output, epsilon=epsilon, delta=delta)
        return VoteOfBlocks(output=self.output, epsilon=epsilon)

    def _told(self, made: Blockwise) -> list[str]:
        """How far the aggregate is off, in blocks."""
        aggregate = made.mechanism.aggregate
        if isinstance(aggregate, MedianOfBlocks):
            off = int(aggregate.rank_error(_LATE))
            return [f"the value is the median of {self.blocks} blocks but for {off} of them, at 95 %"]
        if isinstance(aggregate, VoteOfBlocks):
            return [f"the winner has at most {aggregate.error(_LATE)} votes of blocks less than the best, at 95 %"]
        return []


def _name(function: Program | Carried) -> str:
    """What a function is known by."""
    if isinstance(function, Carried):
        return f"function {function.digest}"
    code = hashlib.sha256(Path(function.path).read_bytes()).hexdigest()
    return f"program {code} {function.name} {' '.join(function.modules)}"


def _plain(value: Any) -> Any:
    """A value as every program knows it: numbers, texts, truth values and None."""
    if isinstance(value, Decimal | Fraction):
        return float(value)
    return value.isoformat() if isinstance(value, dt.date) else value
