"""Questions on the way that paid ones take: a price, an allowance, the engine's passes, the noise and the answer.

The data is made up and no ledger is touched; what a ledger would take is what the price says.

Failing pairs of databases, made small: rows are taken away from both as long as they still fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, cast

from dalenius.accounting.amounts import UNBOUNDED, Charge
from dalenius.checks.replay.loading import Quick
from dalenius.checks.replay.replaying import Replayed, others_charged, replay
from dalenius.engines.conformance.worlds import Database, Draws, RawRow
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.engine import Engine, Statements
from dalenius.engines.several import describe_sql
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.measuring.pricing import Priced, priced
from dalenius.measuring.releasing import Released
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.plan.passes import Cells, Pass
from dalenius.query.questions import Question
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.encoding import encoded
from dalenius.session.executor import QueryPurchase, allowance, measured

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
            released: Released = measured(question, Statements(engine), paid)
            return released

    return run


def answering(question: Priced) -> Callable[[Engine], tuple[Released, Answer, str]]:
    """What a question releases from an engine, the answer that is made of it with notes and derivation, and what is
    stored of that: all as for a paid one, with no ledger and no catalog."""

    def run(engine: Engine) -> tuple[Released, Answer, str]:
        shown = QueryPurchase(question, question.explain(partial(describe_sql, Statements(engine))), False, None)
        released = releasing(question)(engine)
        answer = shown.encode(released)
        return released, answer, encoded(answer)

    return run


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
            engine.compile_sql(step)
    except QueryRefused:
        return False
    return True


def _amount(draws: Draws) -> Charge:
    """Of epsilon alone, of divergence, or, where only what is pure may be bought, of both."""
    order, size = draws.choice(_ORDERS), draws.choice(_SIZES)
    delta = draws.choice(_DELTAS) if order else 0
    return Charge(divergence=size, delta=delta, order=order, epsilon=draws.choice((UNBOUNDED, UNBOUNDED, size)))


_ENOUGH = Charge(divergence=10**16, delta=10**15, order=Fraction(16))


class _Remembering:
    """An engine that runs each pass once and hands the same sealed result out again."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._results, self.compile_sql = engine, dict[int, Exact[Cells]](), engine.compile_sql

    def run(self, step: Pass, **how: Any) -> Exact[Cells]:
        if id(step) not in self._results:  # the question keeps its passes; hashing them would take longer than some run
            self._results[id(step)] = self._engine.run(step, **how)
        return self._results[id(step)]


Pair: TypeAlias = tuple[Database, Database]
_LONGEST = 400


def shrunk(pair: Pair, fails: Callable[[Database, Database], bool], *, tries: int = 40) -> Pair:
    """A smaller pair that still fails, after so many tries at most.

    A row that both have goes from both, so that they stay neighbours: they differ in rows of the same unit, or in none,
    and then nothing fails.
    """
    left, size = _rows(pair), max(1, len(_rows(pair)) // 2)
    while tries > 0:
        place, smaller = 0, False
        while place < len(left) and tries > 0:
            fewer, tries = [*left[:place], *left[place + size :]], tries - 1
            if fails(*_kept(pair, fewer)):
                left, smaller = fewer, True
            else:
                place += size
        if size == 1 and not smaller:
            break
        size = max(1, size // 2)
    return _kept(pair, left)


def _rows(pair: Pair) -> list[int]:
    """The rows of both, each named once."""
    return list(dict.fromkeys(id(row) for rows in pair for each in rows.values() for row in each))


def _kept(pair: Pair, names: Iterable[int]) -> Pair:
    here = set(names)
    first, second = ({name: [row for row in rows if id(row) in here] for name, rows in side.items()} for side in pair)
    return first, second


def describe(pair: Pair) -> str:
    """A small pair in words: the rows that both have, and those that only one has."""
    first, second = pair
    mine, theirs = ({id(row) for rows in side.values() for row in rows} for side in pair)
    both = [(name, row) for name, rows in first.items() for row in rows if id(row) in theirs]
    parts = {
        "in both": both,
        "before": [(name, row) for name, rows in first.items() for row in rows if id(row) not in theirs],
        "after": [(name, row) for name, rows in second.items() for row in rows if id(row) not in mine],
    }
    return "; ".join(f"{where} {_listed(rows)}" for where, rows in parts.items())


def _listed(rows: list[tuple[str, RawRow]]) -> str:
    shown = ", ".join(f"{name} {row}" for name, row in rows)
    return f"{len(rows)} rows" + (f": {shown if len(shown) <= _LONGEST else shown[:_LONGEST] + ' ...'}" if rows else "")
