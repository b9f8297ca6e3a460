"""`dalenius check e2e`: questions of many shapes to a running curator; what samples prove stays below the charge.

The whole path is audited as it is deployed: parser, planner, engine, bounding, mechanism, ledger and, over HTTP, the
server. One answer gives thousands of samples, because it has a noisy row for each of many groups.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dalenius.catalog.catalog import Population
from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.checks.sampling.outputs import gathered
from dalenius.checks.sampling.reporting import tested_at
from dalenius.checks.sampling.sampling import Violation, least_epsilon
from dalenius.checks.sampling.shapes import FEW_GROUPS, GROUPS, QuestionShape, build, shapes
from dalenius.errors import DaleniusError
from dalenius.ledger.accounts import MOST, Rate, Receipt
from dalenius.measuring.choosing import choosable, kind_of
from dalenius.mechanisms.door import Mechanism, witnessed
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ApproximateDP, Loss, RenyiCurve
from dalenius.randomness.entropy import Entropy
from dalenius.server.client.connecting import connect
from dalenius.session.answers.answers import Answer
from dalenius.session.databases import Database, create

NAME = "e2e"
SHAPES = 200
FALSE_ALARMS = Fraction(1, 10**6)
"""Of the whole check, over all shapes."""

SEEN = Fraction(1, 2)
"""What part of the charge is found somewhere: an audit that finds nothing anywhere is blind."""

ENOUGH = 10_000
"""Groups from which on that can be expected."""

ALL_MECHANISMS = 20
"""Shapes among which are all that it takes to meet every mechanism that a price can choose."""

Transport: TypeAlias = Literal["process", "http"]
Ask: TypeAlias = Callable[[QuestionShape], Answer]


@dataclass(frozen=True)
class Tried:
    """One shape, what it was charged, and what its answer proved, at that point where it proved most."""

    shape: QuestionShape
    charged: Loss
    tested: ApproximateDP
    finding: Violation

    @property
    def share(self) -> Fraction:
        return self.finding.epsilon / self.tested.epsilon

    @property
    def refuted(self) -> bool:
        return self.finding.refutes(epsilon=self.tested.epsilon)

    def __str__(self) -> str:
        return f"{self.shape}: charged {self.charged}, but {self.finding}"


def check(
    asked: CheckRequest, vias: Sequence[Transport] = ("process", "http"), groups: int = GROUPS, few: int = FEW_GROUPS
) -> Outcome:
    """Ask `count` shapes each way, and compare what the groups of an answer prove with what the ledger was charged."""
    wanted = shapes(asked.count or SHAPES, asked.seed)
    total, figures, above, met = len(wanted) * len(vias), [], [], _Met()
    for place, via in enumerate(vias):
        found = []
        with _curator(via, wanted, groups, few) as (database, ask), witnessed(met):
            for done, shape in enumerate(wanted, start=1 + place * len(wanted)):
                size, confidence = shape.groups(groups, few), 1 - FALSE_ALARMS / total
                found.append(audited(database, ask, shape, groups=size, confidence=confidence))
                asked.tick(100 * done / total)
        above += [one for one in found if one.refuted]
        figures.append(_bounds(found, via))
        if groups >= ENOUGH:
            figures.append(_sight(found))
    if "process" in vias and len(wanted) >= ALL_MECHANISMS:
        figures.append(met.figure())
    return Outcome(NAME, tuple(figures), tuple(map(str, above)))


@dataclass(frozen=True)
class _Met:
    """Stands at the door of this process and notes which mechanisms come by."""

    kinds: set[type] = field(default_factory=set)

    def released(self, mechanism: Mechanism[Any, Any], exact: Exact[Any], value: Any, entropy: Entropy, /) -> Any:
        self.kinds.add(kind_of(mechanism))
        return mechanism.release(value, entropy)

    def figure(self) -> Figure:
        every = choosable()
        missing = sorted(kind.__name__ for kind in every - self.kinds)
        found = f"all but {', '.join(missing)}" if missing else "all"
        return Figure("mechanisms that a price can choose, met at the door", len(every), found, "all", not missing)


def audited(database: Database, ask: Ask, shape: QuestionShape, *, groups: int, confidence: Fraction) -> Tried:
    """Ask one question, read its charge from the ledger, and test the even blocks of groups against the odd ones."""
    answers = [ask(part) for part in shape.parts]
    samples = [_samples(answer, shape, groups) for answer in answers]
    first, second = (list(chain.from_iterable(blocks[side::2] for blocks in samples)) for side in (0, 1))
    outputs, charged = gathered(first, second), _charged(database, shape, answers)
    points = _points(charged)
    sure = 1 - (1 - confidence) / len(points)
    tried = [
        Tried(shape, charged, point, least_epsilon(outputs, delta=point.delta, confidence=sure)) for point in points
    ]
    return max(tried, key=lambda one: one.share)


def _charged(database: Database, shape: QuestionShape, answers: list[Answer]) -> Loss:
    """What one of the parts was charged: all cost the same, and a person is in one of them."""
    receipts, populations = {receipt.id: receipt for receipt in database.history()}, database.catalog.populations
    paid = zip(shape.parts, answers, strict=True)
    (charged,) = {charge_of(receipts[answer.receipt], populations[part.population]) for part, answer in paid}
    return charged


def charge_of(receipt: Receipt, people: Population) -> Loss:
    """What the population was charged, as a loss. Whatever is charged all that a budget has keeps the budget, which is
    not what the figures of its cap say: docs/accounting.md, Theorem 1a."""
    amount = next(charge.amount for charge in receipt.charges if charge.account.path[0] == people.name)
    if amount.order is not None and amount == people.renyi_filter.cap:
        return ApproximateDP(people.budget.epsilon, people.budget.delta)
    return amount.loss


def _points(charged: Loss) -> list[ApproximateDP]:
    """Where a charge is tested: what it says by addition, if it says something, and what by divergence."""
    if isinstance(charged, RenyiCurve) and charged.epsilon is not None:
        added = ApproximateDP(charged.epsilon, charged.delta)
        return [tested_at(replace(charged, epsilon=None)), added]
    return [tested_at(charged)]


def _samples(answer: Answer, shape: QuestionShape, groups: int) -> list[tuple[Any, ...]]:
    """What was answered of each block of groups, error bars and all; one that is not shown is told too.

    Of keys in the order of their counts, a sample is the one of its block that comes first.
    """
    blocks: list[tuple[Any, ...]] = [()] * (groups // shape.span)
    for key, *values in zip(*answer.to_dict().values(), strict=True):
        block, place = divmod(shape.group(key), shape.span)
        if block < len(blocks) and not (shape.ranked and blocks[block]):
            blocks[block] += (place, *values)
    return [block or ("not shown",) for block in blocks]


@contextmanager
def _curator(via: Transport, wanted: list[QuestionShape], groups: int, few: int) -> Iterator[tuple[Database, Ask]]:
    """A database that holds the tables, and how it is asked."""
    if via == "process":
        with create() as database:
            build(database, wanted, groups=groups, few=few)
            yield (
                database,
                lambda shape: database.sql(shape.sql, max_rows=shape.most.rows, max_groups=shape.most.groups).run(
                    epsilon=shape.epsilon, share=shape.share
                ),
            )
        return
    with tempfile.TemporaryDirectory() as place, create(Path(place) / "data", mark=Path(place) / "mark") as database:
        build(database, wanted, groups=groups, few=few)
        database.grant("auditor", tables=list(database.catalog.tables), share="100%", rate=Rate(MOST, seconds=1))
        token = database.token("auditor")
        with _server(Path(place) / "data") as url, connect(url, token=token) as analyst:
            yield (
                database,
                lambda shape: analyst.sql(shape.sql, max_rows=shape.most.rows, max_groups=shape.most.groups).run(
                    epsilon=shape.epsilon, share=shape.share
                ),
            )


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """`dalenius serve` on loopback, in a process of its own, until the block ends."""
    command = [sys.executable, "-m", "dalenius", "serve", str(folder), "--port", "0", "--workers", "2"]
    process = subprocess.Popen(  # noqa: S603 - our own program
        [*command, "--seconds", "600", "--step", "0.001", "--log", os.devnull],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield _address(process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"https?://\S+?(?=[;\s])", line):
            return found[0]
    raise DaleniusError("the server ended before it answered; nothing was asked.")


def _bounds(found: list[Tried], via: Transport) -> Figure:
    above = [one for one in found if one.refuted]
    largest = max(found, key=lambda one: one.share)
    sizes = [4 * one.finding.samples for one in found]  # half of the samples are tested, of each input
    fewer = sum(size < max(sizes) for size in sizes)
    slow = f" ({fewer} slow ones: {min(sizes):,} or more)" if fewer else ""
    how = "in this process" if via == "process" else "over HTTP"
    return Figure(
        f"query shapes asked {how}, {max(sizes):,} samples each{slow}",
        len(found),
        f"{len(above)} above the ledger's charge; largest bound {float(largest.share):.3f} of it",
        f"0 above, false alarms below {float(FALSE_ALARMS):.0e} in all",
        not above,
    )


def _sight(found: list[Tried]) -> Figure:
    seen = [one for one in found if one.share >= SEEN]
    goal = f"at least one in ten, with {float(SEEN):g} of the charge or more"
    return Figure("shapes whose charge is seen", len(found), f"{len(seen)}", goal, 10 * len(seen) >= len(found))
