"""Making the card of a release from the priced question, before anything is charged or read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

import dalenius
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget
from dalenius.accounting.conversion import known_orders, max_divergence, renyi_to_epsilon, to_pure
from dalenius.catalog.catalog import Population
from dalenius.ledger.names import percent
from dalenius.measuring.explain import TRUST, mechanism_text, norms, theorem
from dalenius.privacy.group import group_privacy, statement
from dalenius.privacy.losses import ApproximateDP, PureDP
from dalenius.privacy.neighbours import Neighbours, Replace
from dalenius.privacy.numbers import format_number
from dalenius.query.expressions import Column
from dalenius.query.plan.relations import Project
from dalenius.query.questions import Question
from dalenius.query.rows import RowSource
from dalenius.query.tables import ContributionBounds, EachRow, ForeignKey, Protection, Table
from dalenius.query.types import Ranged
from dalenius.session.cards.cards import Card, CardMeasurement, CardPopulation, CardTable
from dalenius.session.executor import Payer, Purchase, QueryPurchase

TRUST_MODEL = TRUST.replace("Trust: whoever", "Trust model: central curator. Whoever")
_ORDERS = tuple(1 + Fraction(step, 4) * 2**power for power in range(9) for step in (4, 5, 6, 7))
_DELTA = re.compile(r"delta = (\d+(?:\.\d+)?)")
GROUPS = (2, 5, 10)
"""How many people together a card says something about."""

DECLARED = (
    "What the owner declared: the tables and their columns, ranges, categories, steps and contribution bounds, and the "
    "budgets. It is meant to be known; if it was copied from the data, it gives that away.",
    "The questions: which were asked, when, by how many, at which price, and whether each was answered. The ledger "
    "holds them, and a refusal for want of budget follows from it.",
    "How long an answer took, as far as whoever asked could see, and whether the work failed: both can depend on rows.",
    "When rows were replaced by a new version.",
)


def card(
    priced: Purchase, asked: str, people: Mapping[str, Population], payer: Payer, shares: Mapping[str, Fraction]
) -> Card:
    """The card of a release that nobody has paid for yet, which takes these shares; `Card.of` adds the receipt.

    Guarantee: all of it is known before anything is charged or read.
    """
    question, names = priced.question, priced.question.relation.populations
    delta = min(people[name].budget.delta for name in names)
    told = statement(priced.loss if delta else to_pure(priced.loss), _relation(question), thing=_thing(question))
    return Card(
        receipt="",
        at="",
        asked=asked,
        software=f"Dalenius {dalenius.__version__}",
        trust=TRUST_MODEL,
        loss=str(priced.loss),
        contribution=f"at most {_contribution(question.most)}; more is scaled down or left out by a fixed public rule"
        f"{_shared(question)}",
        sources=tuple(_source(table) for table in question.relation.tables),
        people=tuple(_people(people[name], priced, payer, shares[name]) for name in names),
        steps=tuple(_steps(priced)),
        bounds=tuple(_bounds(question)),
        promised=(
            *told.promised,
            f"This release alone is differentially private with {alone(priced, delta)}.",
            *(line for name in names for line in composed(people[name])),
        ),
        not_promised=told.not_promised,
        unprotected=tuple(_unprotected(question)),
    )


def alone(purchase: Purchase, delta: Fraction) -> ApproximateDP | PureDP:
    """What a release promises by itself in the usual terms, at the delta of a budget: the least of what adding up says,
    what was asked for, and what its Rényi divergences imply, of which every order gives a valid figure."""
    loss, room = purchase.loss, delta - purchase.loss.delta
    pure, known = max_divergence(loss), list[Fraction]()
    if room > 0:
        orders = known_orders(loss) or _ORDERS
        known = [renyi_to_epsilon(divergence=loss.renyi(order), alpha=order, delta=room) for order in orders]
    if isinstance(purchase, QueryPurchase) and purchase.priced.promise:
        known.append(purchase.priced.promise.epsilon)
    if pure is not None and room >= 0 and pure <= min(known, default=pure):
        return ApproximateDP(pure, loss.delta) if loss.delta else PureDP(pure)
    return ApproximateDP(min(known), delta)


def composed(people: Population) -> Iterator[str]:
    """What all releases about a population promise together, to one and to several at once."""
    budget = people.budget
    yield (
        f"All releases about {people.name} together, this one and every other, earlier or later, are differentially "
        f"private with {budget}: what would exceed it is refused."
    )
    yield f"Of several at once: {'; '.join(_group(budget, size) for size in GROUPS)}."


def _group(budget: Budget, size: int) -> str:
    loss = ApproximateDP(budget.epsilon, budget.delta) if budget.delta else PureDP(budget.epsilon)
    grown = group_privacy(loss, size=size)
    return f"for {size}, {'nothing is promised' if grown.delta >= 1 else grown}"


def _relation(question: Question | RowSource) -> Neighbours:
    """The relation, of rows where each row is a unit: a card for rows must not speak of people."""
    guard = next(table.protection for table in question.relation.tables if table.protection)
    return replace(guard.neighbours, protects="row") if isinstance(guard.unit, EachRow) else guard.neighbours


def _thing(question: Question | RowSource) -> str:
    """Who is protected, in the owner's words."""
    guards = {table.protection.population: table.protection for table in question.relation.tables if table.protection}
    if any(isinstance(guard.unit, EachRow) for guard in guards.values()):
        return "one row"
    return " or ".join(f"one unit of {name}" for name in sorted(guards))


def _unit(protection: Protection) -> str:
    """The unit; the table that a path leads through is not named, since not everybody may know it."""
    return protection.unit.describe() if isinstance(protection.unit, ForeignKey) else str(protection.unit)


def _source(table: Table) -> CardTable:
    guard = table.protection
    return CardTable(table.name, str(table.version), f"{guard.population} by {_unit(guard)}" if guard else "public")


def _people(people: Population, priced: Purchase, payer: Payer, share: Fraction) -> CardPopulation:
    tables = priced.question.relation.tables
    guards = [table.protection for table in tables if table.protection and table.protection.population == people.name]
    amount, renyi_filter, path = priced.charge[people.name], people.renyi_filter, payer.accounts[people.name].path
    return CardPopulation(
        population=people.name,
        purpose=people.purpose,
        unit=", ".join(dict.fromkeys(map(_unit, guards))),
        neighbours=str(_relation(priced.question)),
        epsilon=_exact(people.budget.epsilon),
        delta=_exact(people.budget.delta),
        share=percent(share),
        alone=str(alone(priced, people.budget.delta)),
        charged=_told(amount),
        cap=_told(renyi_filter.cap),
        study=path[1] if len(path) > 2 else "",
        block=payer.blocks.get(people.name, ""),
    )


def _told(amount: Charge) -> str:
    """An amount, with its delta in the form that the budget's has."""
    return _DELTA.sub(lambda found: f"delta = {_exact(Fraction(found[1]))}", str(amount))


def _contribution(most: ContributionBounds) -> str:
    rows = "1 row" if most.rows == 1 else f"{most.rows} rows"
    return f"{rows} in 1 group" if most.groups == 1 else f"{rows} in each of {most.groups} groups"


def _shared(question: Question | RowSource) -> str:
    """How many others one unit changes, where several may state the keys by which rows find their units."""
    others = question.relation.steps // 2
    return f"; one unit changes what up to {others:,} others have, which the noise covers" if others else ""


def _exact(value: Fraction) -> str:
    """All digits where there is an end to them, else a fraction."""
    text = format_number(value)
    return text if Fraction(text) == value else str(value)


def _steps(priced: Purchase) -> Iterator[CardMeasurement]:
    """The measurements, each in words or as it was priced."""
    for step in priced.steps:
        if isinstance(step, CardMeasurement):
            yield step
            continue
        charged = "; ".join(f"{name}: {_told(amount)}" for name, amount in step.charge.items())
        part, mechanism = step.measurement, step.mechanism
        yield CardMeasurement(
            part.title,
            norms(part.sensitivity),
            mechanism_text(mechanism),
            theorem(mechanism),
            str(step.loss),
            charged,
        )


def _bounds(question: Question | RowSource) -> Iterator[str]:
    """The public ranges that values are moved into before they are summed or counted."""
    relation = question.relation
    computed = dict(relation.columns) if isinstance(relation, Project) else {}
    named = (
        question.columns
        if isinstance(question, RowSource)
        else (name for statistic in question.statistics for name in statistic.columns)
    )
    for name in dict.fromkeys(named):
        domain, term = relation.schema[name], computed.get(name)
        if isinstance(domain, Ranged):
            told = term.name.rsplit(".", 1)[-1] if isinstance(term, Column) else "a computed column"
            yield f"Values of {told} are moved into their public range: {domain}."


def _unprotected(question: Question | RowSource) -> Iterator[str]:
    yield from DECLARED
    for table in question.relation.tables:
        if table.protection is None:
            yield f"All rows of {table.name}: the owner declared it public."
        elif table.size:
            yield f"How many rows {table.name} has, about: the owner declared {table.size}."
        if table.protection and isinstance(table.protection.neighbours, Replace):
            yield f"How many units {table.protection.population} has: neighbours differ by replacing one."
        if table.place:
            yield (
                f"That {table.name} stays in a database of its owner's: its rows may change at any time, and its "
                "version does not tell which ones were read."
            )
