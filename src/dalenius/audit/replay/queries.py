"""Questions on the way that paid ones take: a price, an allowance, the engine's passes, the noise and the answer.

The data is made up and no ledger is touched; what a ledger would take is what the price says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

from dalenius.accounting.amounts import Amount
from dalenius.audit.replay.loading import Quick
from dalenius.audit.replay.replaying import Replayed, others_charged, replay
from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.encoding import encoded
from dalenius.curator.asking.asking import Asked
from dalenius.curator.asking.prices import Offer
from dalenius.curator.curator import Asker
from dalenius.curator.door import Payable, allowance, measured
from dalenius.engines.conformance.draws import Draws
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.engine import Engine
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.cells import Cells
from dalenius.query.plan.passes import Pass
from dalenius.query.pricing.pricing import Priced, priced
from dalenius.query.pricing.releasing import Released
from dalenius.query.questions import Question

_ORDERS = (None, Fraction(2), Fraction(9, 2), Fraction(16), Fraction(60))
_SIZES = (10**13, 10**14, 10**15, 4 * 10**15)
_DELTAS = (10**8, 10**12, 10**15)


def replayed(question: Priced, first: Engine, second: Engine, *, quick: bool = False) -> Replayed:
    """Replay a question between two engines that hold neighbouring databases; each pass runs once on either.

    A `quick` replay goes one way, and leaves out the answer, which is made of what was released alone. Results are
    fetched in a quicker way, but those of the first side of a whole replay in the engine's own: what the two ways make
    of neighbours may differ by no more than one unit moves. Everybody whose rows the question reads must be charged,
    and nobody else.
    """
    engines = (_quick(first) if quick else first, _quick(second))
    sides = (cast(Engine, _Remembering(engine)) for engine in engines)
    run, charge = releasing(question) if quick else answering(question), question.charge
    found = replay(run, *sides, charged=list(charge.values()), both_ways=not quick)
    return replace(found, findings=(*others_charged(charge, neighbours_of(question.question)), *found.findings))


def _quick(engine: Engine) -> Engine:
    return Quick(engine) if isinstance(engine, DuckDBEngine) else engine


def releasing(question: Priced) -> Callable[[Engine], Released]:
    """What a question releases from an engine."""
    relations = neighbours_of(question.question)

    def run(engine: Engine) -> Released:
        with allowance(question, relations) as paid:
            released: Released = measured(question, engine, paid)
            return released

    return run


def answering(question: Priced) -> Callable[[Engine], tuple[Released, Answer, str]]:
    """What a question releases from an engine, the answer that is made of it with all its texts, and what is stored."""

    def run(engine: Engine) -> tuple[Released, Answer, str]:
        unsold = _Unsold(question, engine)
        answer = unsold.run()
        return unsold.released, answer, encoded(answer)

    return run


class _Unsold(Asked):
    """A question that is answered as a paid one is, down to notes and derivation, with no ledger and no catalog."""

    released: Released

    def __init__(self, price: Priced, engine: Engine) -> None:
        alone = SimpleNamespace(blocks=lambda question: {}, curator=SimpleNamespace(engine=engine))
        super().__init__(price.question, cast(Asker, alone))
        self._price, self._engine = price, engine

    def _priced(self, offer: Offer, weights: object) -> Priced:
        return self._price

    def buy(self, price: Payable, finished: Callable[[Any], Answer], **terms: Any) -> Answer:
        """Release and finish; nothing is charged."""
        self.released = releasing(self._price)(self._engine)
        return finished(self.released)


def neighbours_of(question: Question) -> Mapping[str, Neighbours]:
    """The neighbours of each population that a question is about."""
    return {
        table.protection.population: table.protection.neighbours
        for table in question.relation.tables
        if table.protection
    }


def some_price(question: Question, seed: object) -> Priced | None:
    """The question at a price that follows from a seed; None where it is refused at any price."""
    draws, names = Draws(f"price {seed}"), question.relation.populations
    for amounts in ({name: _amount(draws) for name in names}, dict.fromkeys(names, _ENOUGH)):
        try:
            return priced(question, amounts=amounts)
        except (QueryRefused, InvalidParameter):  # a pure price finds no keys
            continue
    return None


def runs_on(question: Priced, engine: Engine) -> bool:
    """Whether an engine takes all passes of a question; what it does not is refused before anything is charged."""
    try:
        for step in question.passes:
            engine.spelled(step)
    except QueryRefused:
        return False
    return True


def _amount(draws: Draws) -> Amount:
    order, size = draws.choice(_ORDERS), draws.choice(_SIZES)
    return Amount(divergence=size, delta=draws.choice(_DELTAS) if order else 0, order=order)


_ENOUGH = Amount(divergence=10**16, delta=10**15, order=Fraction(16))


class _Remembering:
    """An engine that runs each pass once and hands the same sealed result out again."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._results, self.spelled = engine, dict[int, Exact[Cells]](), engine.spelled

    def run(self, step: Pass, **how: Any) -> Exact[Cells]:
        if id(step) not in self._results:  # the question keeps its passes; hashing them would take longer than some run
            self._results[id(step)] = self._engine.run(step, **how)
        return self._results[id(step)]
