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
from dalenius.accounting.amounts import DELTA_UNIT, Charge, price
from dalenius.errors import InvalidParameter
from dalenius.measuring.explain import theorem
from dalenius.measuring.postprocess import REAL, TEXT
from dalenius.measuring.robust import least_affordable, rounded_down
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.robust.aggregates import (
    BlockAggregate,
    FeaturesOfBlocks,
    MedianOfBlocks,
    StableVoteOfBlocks,
    VoteOfBlocks,
)
from dalenius.mechanisms.robust.outputs import OneOf, Range, Subset
from dalenius.mechanisms.robust.subsample import AggregatedBlocks, BlockRows
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.expressions import Column as Named
from dalenius.query.frames.frames import Frame
from dalenius.query.keys import key_tuples
from dalenius.query.plan.passes import Cells, Pass, RunPass, UnitBlocks
from dalenius.query.plan.relations import Bound, Project
from dalenius.query.rows import RowSource
from dalenius.query.types import Domain
from dalenius.randomness.entropy import Entropy
from dalenius.sandbox.functions import Program, ShippedFunction
from dalenius.sandbox.sandbox import MOST_CODES, Function, Sandbox
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.cards.cards import CardMeasurement
from dalenius.session.offers import Offer
from dalenius.session.progress import Progress
from dalenius.session.purchases import Cost
from dalenius.session.sessions import Session
from dalenius.tabular.binned_rows import PrivateRows

Output: TypeAlias = Range | OneOf | Subset
_PLAIN = (str, int, float, bool)
_LATE = Fraction(1, 20)


@dataclass(frozen=True)
class Blockwise:
    """A function on blocks of units, and what it may cost. All of it is public."""

    question: RowSource
    domains: tuple[Domain, ...]
    mechanism: AggregatedBlocks = field(compare=False)
    name: str
    charge: Mapping[str, Charge]

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
    def steps(self) -> tuple[CardMeasurement, ...]:
        """In words: one function on blocks, and the aggregate of its outputs."""
        aggregate, change = type(self.mechanism.aggregate), "all rows of one unit, which are in one block"
        what = f"a function on {self.mechanism.blocks} blocks of units"
        return (
            CardMeasurement(what, change, aggregate.__name__, theorem(aggregate), str(self.loss), "the whole price"),
        )

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The rows of all blocks, which stay sealed."""
        relation, names = self.question.relation, self.question.columns
        kept = Project(relation, tuple((name, Named(relation.schema[name], name)) for name in names))
        return (UnitBlocks(Bound(kept, names, self.question.most.rows, None), self.mechanism.blocks),)

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy) -> Any:
        """The private aggregate of what the function gives."""
        (step,) = self.passes
        return measure(self.mechanism, run_pass(step).map(self.rows, sensitivity=self.sensitivity), allowance, entropy)

    def rows(self, cells: Cells) -> BlockRows:
        """The rows of each block, in an order that says nothing but what they are."""
        blocks: list[list[Any]] = [[] for _ in range(self.mechanism.blocks)]
        (counts,) = cells.totals
        for key, count in zip(key_tuples(cells.keys, len(counts)), counts.tolist(), strict=True):
            row = tuple(_plain(domain.decode(code)) for domain, code in zip(self.domains, key[:-1], strict=True))
            blocks[int(key[-1] or 0)].extend([row] * count)
        return BlockRows(tuple(map(tuple, blocks)))

    def decode(self, answer: Answer) -> Answer:
        """The table."""
        return answer

    def encode(self, released: Any) -> Answer:
        """What was released, as a table."""
        made = self.mechanism.aggregate
        if isinstance(made, FeaturesOfBlocks):
            return Answer((AnswerColumn("chosen", tuple(map(str, released)), kind=TEXT),))
        if isinstance(made, MedianOfBlocks):
            return Answer((AnswerColumn("value", (float(released),), kind=REAL),))
        return Answer((AnswerColumn("choice", (None if released is None else str(released.option),), kind=TEXT),))


@dataclass(frozen=True)
class Subsample:
    """A function to run on a private table, block by block: it runs on blocks of units, in a sandbox, and a private
    aggregate of what it gives is charged, released and stored.

    `function` takes a list of rows, each a tuple of the values of `columns`; it may be a `Program`. `output` is a
    `Range` of numbers, a `OneOf` of options or a `Subset` of them. Each block has `seconds` and `megabytes`.
    Each unit is in one block, by a public hash of the unit, with all of its rows. The function runs on the rows of each
    block in a `Sandbox`: whatever it does, a block gives one value of `output`, after the same time. Numbers are
    aggregated by their private median, options by a private vote, and sets of options by noisy counts. With `exact` a
    vote is released exactly where many blocks would have to change to change it, and else is NULL: that needs a delta.

    Every block runs in a fresh interpreter, which never had other rows: a plain function is shipped there. A function
    is known by its code and by what it uses, and a `Program` by its file's content, so an equal request is answered
    from the ledger for nothing.
    Textbook: S11.2, S11.3, S18.2.
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
        session, made = self.planned(rows, Offer(epsilon, share))
        cost = session.cost_of(made, epsilon=epsilon)
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
        session, made = self.planned(rows, Offer(epsilon, share))
        text = f"SUBSAMPLE {', '.join(self.columns)} of {made.question.relation.tables[0].name}"
        return session.buy(made, text=text, key=key, fresh=fresh, progress=progress)

    def planned(self, rows: Frame, offer: Offer) -> tuple[Session, Blockwise]:
        """The session, and what is done with the rows for a price; nothing is read or spent."""
        self._require_sound()
        private = PrivateRows.of(rows)
        session, source = private.session, private.plain(self.columns)
        neighbours = source.relation.neighbours
        offers = session.amounts(source, offer)
        given = self.function
        function = given if isinstance(given, Program | ShippedFunction) else ShippedFunction.of(given)
        made = self._mechanism(function, list(offers.values()), neighbours)
        if 2 * made.seconds > session.most_seconds:  # the rest is for reading, so that no unit's rows make it late
            raise InvalidParameter(
                "blocks", self.blocks, allowed=f"fewer, or shorter ones: {session.most_seconds / 2:.0f} s in all"
            )
        loss = made.loss(sensitivity=neighbours.add_remove_steps)
        charge = {name: price(loss, order=amount.order) for name, amount in offers.items()}
        if not all(cost <= offers[name] for name, cost in charge.items()):
            raise InvalidParameter("epsilon", offer.epsilon, allowed="larger: this buys no aggregate")
        return session, Blockwise(source, source.domains, made, _name(function), charge)

    def _require_sound(self) -> None:
        if isinstance(self.columns, str) or not self.columns or len(set(self.columns)) < len(self.columns):
            raise InvalidParameter("columns", self.columns, allowed="a list of one or more, each named once")
        if not isinstance(self.output, Range | OneOf | Subset):
            raise InvalidParameter("output", type(self.output), allowed="a Range, a OneOf or a Subset")
        if self.exact and not isinstance(self.output, OneOf):
            raise InvalidParameter("exact", self.exact, allowed="for a OneOf: numbers are never exact")
        if self.output.width > MOST_CODES:
            raise InvalidParameter("output", f"{self.output.width} options", allowed=f"at most {MOST_CODES}")
        options = () if isinstance(self.output, Range) else self.output.options
        if not all(isinstance(option, _PLAIN) for option in options):
            raise InvalidParameter("options", "other things", allowed="texts, numbers and truth values")
        if not (callable(self.function) or isinstance(self.function, Program | ShippedFunction)):
            raise InvalidParameter("function", type(self.function), allowed="a function or a Program")

    def _mechanism(
        self, function: Program | ShippedFunction, offers: Sequence[Charge], neighbours: Neighbours
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

    def _delta(self, offers: Sequence[Charge]) -> Fraction:
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

    def _aggregate(self, epsilon: Fraction, delta: Fraction) -> BlockAggregate:
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


def _name(function: Program | ShippedFunction) -> str:
    """What a function is known by."""
    if isinstance(function, ShippedFunction):
        return f"function {function.digest}"
    code = hashlib.sha256(Path(function.path).read_bytes()).hexdigest()
    return f"program {code} {function.name} {' '.join(function.modules)}"


def _plain(value: Any) -> Any:
    """A value as every program knows it: numbers, texts, truth values and None."""
    if isinstance(value, Decimal | Fraction):
        return float(value)
    return value.isoformat() if isinstance(value, dt.date) else value
